"""A table at one version: its files, its schema and its properties.

Paths in the log are URIs. Two spellings of one path (`a%20b` and `a b`) name one file.

Source: Delta protocol, "Action Reconciliation".
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from parquet_bloomwriter.delta.actions import (
    Add,
    Commit,
    FileKey,
    Metadata,
    protocol_of,
    vector_id,
    without_nulls,
)
from parquet_bloomwriter.delta.checkpoint import State, read_checkpoint
from parquet_bloomwriter.delta.features import check_readable
from parquet_bloomwriter.delta.log import entry_name, segment_of
from parquet_bloomwriter.errors import TableProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from parquet_bloomwriter.delta.actions import Protocol
    from parquet_bloomwriter.delta.place import TablePlace

_ENTRIES_AT_ONCE = 16
"""Entries that are read from a store at the same time."""


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
    segment = segment_of(place, version)
    state = read_checkpoint(place, segment.checkpoint) if segment.checkpoint else State()
    replay = _Replay(state.adds, state.protocol, state.metadata)
    timestamp: int | None = None
    for commit in _commits(place, segment.entries):
        replay.take(commit)
        timestamp = _timestamp_of(commit)
    if segment.checkpoint and not segment.entries:
        timestamp = _timestamp_at(place, segment.version)
    if replay.protocol is None or replay.metadata is None:
        lacking = "protocol" if replay.protocol is None else "metaData"
        raise TableProblem(f"no entry of the log has the action {lacking}", path=place.root)
    check_readable(replay.protocol, place.root)
    return Snapshot(
        place=place,
        version=segment.version,
        protocol=replay.protocol,
        metadata=replay.metadata,
        files=replay.files(),
        timestamp_ms=timestamp,
    )


def read_commit(place: TablePlace, version: int) -> Commit | None:
    """Read one entry of the log; None if there is none of this version.

    Raises:
        TableProblem: If it is no entry.
        StoreProblem, OSError: If it cannot be read.
    """
    try:
        data = place.read_log(entry_name(version))
    except FileNotFoundError:
        return None
    return parse_commit(data, version, place.root)


def parse_commit(data: bytes, version: int, root: str) -> Commit:
    """Parse an entry of the log.

    Raises:
        TableProblem: If it is none.
    """
    found: dict[str, list[Any]] = {}
    others: list[Mapping[str, Any]] = []
    try:
        for line in data.splitlines():
            if not line.strip():
                continue
            for kind, fields in json.loads(line).items():
                if kind in _KNOWN and fields is not None:
                    found.setdefault(kind, []).append(without_nulls(fields))
                else:
                    others.append({kind: fields})
        return Commit(
            version=version,
            info=found.get("commitInfo", [{}])[0],
            protocol=protocol_of(found["protocol"][-1]) if "protocol" in found else None,
            metadata=Metadata(found["metaData"][-1]) if "metaData" in found else None,
            adds=tuple(map(Add, found.get("add", ()))),
            removes=tuple(found.get("remove", ())),
            others=tuple(others),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TableProblem(
            f"{entry_name(version)} of the log is no entry that can be read: {error}", path=root
        ) from error


_KNOWN = frozenset(("commitInfo", "protocol", "metaData", "add", "remove"))


def advance(snapshot: Snapshot, commit: Commit) -> Snapshot:
    """Return the table after the next version's entry ("Action Reconciliation").

    Raises:
        TableProblem: If it is not the next version's.
        UnsupportedTable: If the table cannot be read from there on.
    """
    if commit.version != snapshot.version + 1:
        raise TableProblem(
            f"version {commit.version:,} does not follow {snapshot.version:,}",
            path=snapshot.place.root,
        )
    replay = _Replay(snapshot.files.values(), snapshot.protocol, snapshot.metadata)
    replay.take(commit)
    if commit.protocol is not None:
        check_readable(commit.protocol, snapshot.place.root)
    return replace(
        snapshot,
        version=commit.version,
        protocol=commit.protocol or snapshot.protocol,
        metadata=commit.metadata or snapshot.metadata,
        files=replay.files(),
        timestamp_ms=_timestamp_of(commit),
    )


class _Replay:
    """The state of a table while entries are applied to it."""

    def __init__(
        self, adds: Iterable[Add], protocol: Protocol | None, metadata: Metadata | None
    ) -> None:
        self.protocol = protocol
        self.metadata = metadata
        self._files = {_same(one.path, one.key.deletion_vector): one for one in adds}

    def take(self, commit: Commit) -> None:
        """Apply an entry: removals first, for one path may be removed and added by one entry."""
        self.protocol = commit.protocol or self.protocol
        self.metadata = commit.metadata or self.metadata
        for remove in commit.removes:
            vector = vector_id(remove.get("deletionVector"))
            self._files.pop(_same(str(remove["path"]), vector), None)
        for add in commit.adds:
            self._files[_same(add.path, add.key.deletion_vector)] = add

    def files(self) -> dict[FileKey, Add]:
        """Return the active files by their keys as the log has them."""
        return {one.key: one for one in self._files.values()}


def _same(path: str, vector: str | None) -> FileKey:
    """Return a key in which all spellings of a path are one."""
    return FileKey(unquote(path) if "%" in path else path, vector)


def _commits(place: TablePlace, versions: Iterable[int]) -> Iterable[Commit]:
    """Read entries in order; from a store, several at once."""

    def read(version: int) -> Commit:
        found = read_commit(place, version)
        if found is None:
            raise TableProblem(f"the log lacks {entry_name(version)}", path=place.root)
        return found

    if "://" not in place.root:
        yield from map(read, versions)
        return
    with ThreadPoolExecutor(_ENTRIES_AT_ONCE, thread_name_prefix="bloomify") as pool:
        yield from pool.map(read, versions)


def _timestamp_of(commit: Commit) -> int | None:
    found = commit.info.get("inCommitTimestamp")
    return found if isinstance(found, int) else None


def _timestamp_at(place: TablePlace, version: int) -> int | None:
    """Return the in-commit timestamp of a version whose entry may be gone."""
    commit = read_commit(place, version)
    return None if commit is None else _timestamp_of(commit)
