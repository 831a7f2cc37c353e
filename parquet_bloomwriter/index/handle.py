"""The handle of an index: its table, its home, its name and its log."""

# ruff: noqa: PTH118, PTH120  paths are strings, as in the log
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import IndexNotFound, InvalidArgument, Proposal, Way
from parquet_bloomwriter.index.describe import describe, names_with_states
from parquet_bloomwriter.index.entry import State
from parquet_bloomwriter.index.homes import find_homes, index_folders
from parquet_bloomwriter.index.layout import HOME, check_name
from parquet_bloomwriter.index.log.log import IndexLog
from parquet_bloomwriter.index.storage.base import storage_of

if TYPE_CHECKING:
    from typing import Self

    from parquet_bloomwriter.errors import Remedy
    from parquet_bloomwriter.index.report import IndexInfo
    from parquet_bloomwriter.index.table.ref import TableRef

    StrPath = str | os.PathLike[str]

_SHOWN = 5
"""Maximum number of names that an error lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexHandle:
    """A handle of an index of a table, which may or may not exist."""

    table: TableRef
    log: IndexLog

    @classmethod
    def new(
        cls, table: TableRef, name: str, home: StrPath | None, *, one_writer: bool = False
    ) -> Self:
        """Return the handle of an index that need not exist.

        Raises:
            InvalidArgument: If the name is malformed, or there is no such table.
        """
        folder = os.path.join(table.home(home), check_name(name))
        return cls(table=table, log=IndexLog(folder, one_writer=one_writer))

    @classmethod
    def find(
        cls,
        table: TableRef,
        name: str | None,
        home: StrPath | None,
        *,
        passes_over_deleted: bool = False,
        one_writer: bool = False,
    ) -> Self:
        """Find an index by its name; without a name, find the table's only index.

        Args:
            table: The table.
            name: Name of the index, which may have been vacuumed.
            home: Folder of the index; None for the usual one.
            passes_over_deleted: Without a name, deleted indexes count only if there are no others.
            one_writer: As for `IndexLog`.

        Raises:
            IndexNotFound: If there is no such index.
            InvalidArgument: If none is named, and there are several; if the name is malformed, or
                there is no such table.
        """
        if name is None:
            meant = indexes_meant(table, home, passes_over_deleted=passes_over_deleted)
            if not meant:
                raise IndexNotFound(
                    "the table has no index",
                    path=table.given,
                    remedy=(Proposal(Way.CREATE_INDEX, "Create one first"), "."),
                )
            if len(meant) > 1:
                names = names_with_states(meant)
                raise InvalidArgument(f"say which index with name=; there are {names}")
            name = meant[0].name
        found = cls.new(table, name, home, one_writer=one_writer)
        if not found.log.storage.has_log(found.folder):
            raise not_found(found.home, name, above=None if home is not None else table)
        return found

    @property
    def folder(self) -> str:
        """Absolute path of the index's folder."""
        return self.log.folder

    @property
    def home(self) -> str:
        """Absolute path of the folder that contains the index's folder."""
        return os.path.dirname(self.log.folder)

    @property
    def is_inside(self) -> bool:
        """Whether the index is in its table's own home, so that both can be moved together."""
        return self.home == os.path.join(self.table.root, HOME)


def indexes_meant(
    table: TableRef, home: StrPath | None, *, passes_over_deleted: bool
) -> list[IndexInfo]:
    """Return the indexes that a call without an index's name can mean: exactly one, if it is clear.

    Indexes of other tables that share the folder are left out.

    Args:
        table: The table.
        home: The folder of its indexes; None for the usual one.
        passes_over_deleted: Whether deleted indexes are meant only if there are no others.

    Raises:
        InvalidArgument: If there is no such table.
    """
    infos = [one for one in indexes_in(table.home(home)) if one.root in {"", table.root}]
    others = [info for info in infos if info.state != State.DELETED]
    return others if passes_over_deleted and others else infos


def indexes_in(home: str) -> list[IndexInfo]:
    """Describe the indexes in a home, sorted by name, without vacuumed indexes."""
    return [info for info in map(describe, index_folders(home)) if info is not None]


def not_found(home: str, name: str, *, above: TableRef | None = None) -> IndexNotFound:
    """Return the error for an index that does not exist; the message names the existing indexes."""
    names = [info.name for info in indexes_in(home)]
    remedy: Remedy = (Proposal(Way.CREATE_INDEX, "Create it first"), ".")
    if names:
        remedy = f"There are: {', '.join(names[:_SHOWN])}."
    for other in [] if above is None else find_homes(above.path):
        if storage_of(other).has_log(os.path.join(other, name)):
            remedy = f'There is one of that name of the table "{os.path.dirname(other)}".'
    return IndexNotFound(f'there is no index "{name}"', path=home, remedy=remedy)
