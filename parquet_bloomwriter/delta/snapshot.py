"""A Delta table at one version: its files, schema and properties."""

from __future__ import annotations

import posixpath
import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from parquet_bloomwriter.delta.actions import (
    Add,
    Commit,
    FileKey,
    Metadata,
    Protocol,
    parse_actions,
    vector_id,
)
from parquet_bloomwriter.delta.features import check_readable, check_replaceable
from parquet_bloomwriter.delta.log import entry_name, find_segment, last_version
from parquet_bloomwriter.errors import TableProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from parquet_bloomwriter.delta.place import TablePlace

ENTRIES_AT_ONCE = 16
"""Number of threads that read entries: they mostly wait for stores."""

_FEW = 4
"""Number of entries up to which no threads are started."""

_WHOLE_AFTER_S = (0.05, 0.2, 0.5, 1.0, 2.0)
"""Seconds to wait for a writer that has created an entry but not yet filled it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """A Delta table at one version."""

    place: TablePlace
    version: int
    protocol: Protocol
    metadata: Metadata
    files: Mapping[FileKey, Add]
    """The active files by key, in the order in which the log names them."""

    timestamp_ms: int | None
    """In-commit timestamp of the version, milliseconds since 1970 UTC; None without one."""

    @cached_property
    def spellings(self) -> Mapping[FileKey, FileKey]:
        """Canonical key -> key in `files`, for files whose paths have an unusual spelling."""
        unusual = (key for key in self.files if not _is_plain(key.path))
        return {_canonical(key): key for key in unusual}

    def check_replaceable(self) -> None:
        """Check that files of the table can be replaced by equal ones.

        Raises:
            UnsupportedTable: If not, or if that is not known; names the version, feature, property
                or file that is the reason.
        """
        root = self.place.root
        check_replaceable(self.protocol, self.metadata, self.files.values(), root)


def read_snapshot(place: TablePlace, version: int | None = None) -> Snapshot:
    """Read a table at a version, by default the last one.

    Raises:
        InvalidArgument: If there is no table, or no such version of it (any more).
        TableProblem: If the log is damaged or contradicts itself.
        UnsupportedTable: If a feature must be understood to read the table, and is not.
        StoreProblem, OSError: If the log cannot be read.
    """
    segment = find_segment(place, version)
    replay = _Replay()
    if segment.checkpoint is not None:
        # Imported here: entries are read without pyarrow.
        from parquet_bloomwriter.delta.checkpoint import read_checkpoint

        state = read_checkpoint(place, segment.checkpoint)
        if state.protocol is not None:
            replay.protocol = Protocol.of(state.protocol)
            check_readable(replay.protocol)
        if state.metadata is not None:
            replay.metadata = Metadata(state.metadata)
        replay.put(state.adds)
    info: Mapping[str, Any] = {}
    for commit in _read_entries(place, segment.entries):
        replay.apply(commit)
        info = commit.info
    if replay.protocol is None or replay.metadata is None:
        lacking = "protocol" if replay.protocol is None else "metadata"
        raise TableProblem(
            f"the log names no {lacking} up to version {segment.version}",
            path=place.root,
            remedy="Restore the log from a backup.",
        )
    check_readable(replay.protocol)
    properties = replay.metadata.properties
    if not segment.entries and segment.has_entry and _has_own_time(properties):
        commit_at = read_commit(place, segment.version)
        info = {} if commit_at is None else commit_at.info
    return Snapshot(
        place=place,
        version=segment.version,
        protocol=replay.protocol,
        metadata=replay.metadata,
        files=replay.files(),
        timestamp_ms=_own_time(info, properties),
    )


def read_to_change(place: TablePlace) -> Snapshot:
    """Read the last version of a table whose files will be replaced.

    Readers may pass over an entry that is not filled yet. Who writes must know what it removes: its
    rows would come back with a file that is put in the place of another.

    Raises:
        TableProblem: As `read_snapshot`; and if the last entry stays empty.
        InvalidArgument, UnsupportedTable, StoreProblem, OSError: As `read_snapshot`.
    """
    version = last_version(place)
    read_whole_commit(place, version)
    return read_snapshot(place, version)


def read_commit(place: TablePlace, version: int) -> Commit | None:
    """Read the log entry of a version; return None if there is no such entry.

    Raises:
        TableProblem: If it is damaged.
        StoreProblem, OSError: If it cannot be read.
    """
    name = entry_name(version)
    try:
        data = place.read_log(name)
    except FileNotFoundError:
        return None
    info: Mapping[str, Any] = {}
    protocol: Protocol | None = None
    metadata: Metadata | None = None
    adds: list[Add] = []
    removes: list[Mapping[str, Any]] = []
    others: list[Mapping[str, Any]] = []
    for kind, fields in parse_actions(data, name=name, root=place.root):
        if kind == "add":
            adds.append(Add(fields))
        elif kind == "remove":
            removes.append(fields)
        elif kind == "commitInfo":
            info = fields
        elif kind == "protocol":
            protocol = Protocol.of(fields)
        elif kind == "metaData":
            metadata = Metadata(fields)
        else:
            others.append({kind: fields})
    return Commit(
        version=version,
        info=info,
        protocol=protocol,
        metadata=metadata,
        adds=tuple(adds),
        removes=tuple(removes),
        others=tuple(others),
    )


def read_whole_commit(place: TablePlace, version: int) -> Commit | None:
    """Read the log entry of a version; wait for a writer that may not have filled it yet.

    Raises:
        TableProblem: If it stays empty, or is damaged.
        StoreProblem, OSError: If it cannot be read.
    """
    problem: TableProblem | None = None
    for pause in (0.0, *_WHOLE_AFTER_S):
        time.sleep(pause)
        try:
            commit = read_commit(place, version)
        except TableProblem as error:
            problem = error
            continue
        if commit is None or not commit.is_empty:
            return commit
    raise problem or TableProblem(
        f"the entry of version {version} is empty: the program that wrote it may have died",
        path=place.root,
        remedy=f"See that nobody is writing it, and remove _delta_log/{entry_name(version)}.",
    )


def advance(snapshot: Snapshot, commit: Commit) -> Snapshot:
    """Return the table after the next version's entry ("Action Reconciliation").

    Raises:
        UnsupportedTable: If the entry asks for a feature that is not understood.
    """
    if commit.version != snapshot.version + 1:
        raise ValueError(f"version {commit.version} does not follow {snapshot.version}")
    replay = _Replay(snapshot)
    replay.apply(commit)
    metadata = commit.metadata or snapshot.metadata
    if commit.protocol is not None:
        check_readable(commit.protocol)
    following = Snapshot(
        place=snapshot.place,
        version=commit.version,
        protocol=commit.protocol or snapshot.protocol,
        metadata=metadata,
        files=replay.files(),
        timestamp_ms=_own_time(commit.info, metadata.properties),
    )
    following.__dict__["spellings"] = replay.spellings()
    return following


class _Replay:
    """The state of a table while entries are applied to it.

    Within one entry, actions have no order: a file that it removes and adds is there afterwards.
    """

    def __init__(self, base: Snapshot | None = None) -> None:
        self.protocol: Protocol | None = None
        self.metadata: Metadata | None = None
        self._files: dict[FileKey, Add] = {} if base is None else dict(base.files)
        self._spellings: dict[FileKey, FileKey] = {} if base is None else dict(base.spellings)
        """The spellings of the version, see `Snapshot.spellings`."""

    def put(self, adds: Iterable[Add]) -> None:
        files, spellings = self._files, self._spellings
        for add in adds:
            key = add.key
            is_plain = _is_plain(key.path)
            if is_plain and not spellings:
                files.pop(key, None)
            else:
                self._take_out(key)
            if not is_plain:
                spellings[_canonical(key)] = key
            files[key] = add

    def apply(self, commit: Commit) -> None:
        if commit.protocol is not None:
            self.protocol = commit.protocol
        if commit.metadata is not None:
            self.metadata = commit.metadata
        for remove in commit.removes:
            key = FileKey(str(remove["path"]), vector_id(remove.get("deletionVector")))
            self._take_out(key)
        self.put(commit.adds)

    def _take_out(self, key: FileKey) -> None:
        canonical = _canonical(key)
        spelled = self._spellings.pop(canonical, None)
        if spelled is not None:
            del self._files[spelled]
        elif _is_plain(canonical.path):  # Otherwise it could be the spelling of another file.
            self._files.pop(canonical, None)

    def files(self) -> dict[FileKey, Add]:
        return self._files

    def spellings(self) -> dict[FileKey, FileKey]:
        return self._spellings


def _canonical(key: FileKey) -> FileKey:
    return key if _is_plain(key.path) else FileKey(canonical_uri(key.path), key.deletion_vector)


_UNUSUAL = re.compile(r"[%:]|/[./]|^[./]")


def _is_plain(uri: str) -> bool:
    return _UNUSUAL.search(uri) is None


def canonical_uri(uri: str) -> str:
    """Return the canonical spelling of a URI, by which files are compared.

    Spark compares paths that are qualified and normalised: ./a is a, /a is file:/a. Here file:///a
    is that too, and what is escaped is the same as what is not.
    """
    scheme, colon, rest = uri.partition(":")
    if not colon or not _SCHEME.fullmatch(scheme):
        scheme, rest = ("file", uri) if uri.startswith("/") else ("", uri)
    path = unquote(rest, errors="surrogateescape")
    if not scheme:
        return posixpath.normpath(path)
    if scheme.lower() == "file":
        path = "/" + path.removeprefix("//localhost").lstrip("/")
    return f"{scheme.lower()}:{path}"


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")


def _read_entries(place: TablePlace, versions: range) -> Iterator[Commit]:
    def read(version: int) -> Commit:
        commit = read_commit(place, version)
        if commit is None:
            raise TableProblem(
                f"the entry of version {version} went away while the log was read",
                path=place.root,
                remedy="Try again.",
            )
        return commit

    if len(versions) <= _FEW:
        yield from map(read, versions)
        return
    with ThreadPoolExecutor(ENTRIES_AT_ONCE, thread_name_prefix="log") as pool:
        yield from pool.map(read, versions)


def _has_own_time(properties: Mapping[str, str]) -> bool:
    return properties.get("delta.enableInCommitTimestamps", "").lower() == "true"


def _own_time(info: Mapping[str, Any], properties: Mapping[str, str]) -> int | None:
    found = info.get("inCommitTimestamp")
    return found if _has_own_time(properties) and isinstance(found, int) else None
