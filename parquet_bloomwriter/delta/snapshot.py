"""A table at one version: its files, its schema and its properties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parquet_bloomwriter.delta.actions import Add, Commit, FileKey, Metadata, Protocol
    from parquet_bloomwriter.delta.place import TablePlace


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """A table at one version."""

    place: TablePlace
    version: int
    protocol: Protocol
    metadata: Metadata
    files: Mapping[FileKey, Add]
    """The active files, in the order in which the log names them."""

    timestamp_ms: int | None
    """In-commit timestamp of the version, if it has one, milliseconds since the epoch."""


def read_snapshot(place: TablePlace, version: int | None = None) -> Snapshot:
    """Read a table at a version, by default the last one.

    Raises:
        InvalidArgument: If there is no table, or no such version of it (any more).
        TableProblem: If the log is damaged or contradicts itself.
        UnsupportedTable: If a feature must be understood to read the table, and is not.
        StoreProblem, OSError: If the log cannot be read.
    """
    raise NotImplementedError


def read_commit(place: TablePlace, version: int) -> Commit | None:
    """Read one entry of the log; None if there is none of this version."""
    raise NotImplementedError


def advance(snapshot: Snapshot, commit: Commit) -> Snapshot:
    """Return the table after the next version's entry ("Action Reconciliation")."""
    raise NotImplementedError
