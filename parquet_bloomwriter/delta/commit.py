"""A new entry of the log, created exclusively, that replaces files by equal ones.

    the table was read at version N    entry N+1 is created, unless it exists
    entry N+1 exists, and is ours      an answer was lost: the commit was made
    entry N+1 is another program's     all newer entries are read; replacements that no longer hold
                                       are dropped; the next number is tried

Files that the log may know are never deleted here: after a commit was tried, they may be in use.

A replacement holds as long as its old file is in the table with the same deletion vector. No other
commit contradicts it: the new file has the same rows at the same positions, and its action says
`dataChange: false`. Fields that the old file's `add` got meanwhile, such as row ids, are copied to
the new file's `add`. Only a changed schema ends a run, because the columns may then differ from the
requested columns.

Checkpoints, `_last_checkpoint` and version checksums are left to the table's own engines. They
write checkpoints by the table's properties, with the columns for statistics that a table may want
in them; and a wrong one would damage every version after it. A checksum file is one that writers
SHOULD write; its histograms and counts need the whole state, and readers do without it.

Source: Delta protocol, "Add File and Remove File", "Commit Provenance Information", "In-Commit
Timestamps", "Row Tracking", "Creation of New Log Entries"; Delta's `AddFile.removeWithTimestamp`,
`RowId.assignFreshRowIds` and `OptimizeTableCommand`.
"""

from __future__ import annotations

import json
import random
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from parquet_bloomwriter.delta.actions import Add, Commit, Metadata
from parquet_bloomwriter.delta.log import entry_name, version_of
from parquet_bloomwriter.delta.snapshot import (
    advance,
    read_commit,
    read_to_change,
    read_whole_commit,
)
from parquet_bloomwriter.errors import OutcomeUnknown, TableChanged, TableProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from parquet_bloomwriter.delta.snapshot import Snapshot

    Action: TypeAlias = dict[str, Any]
    """An action with its name: {"add": {...}}."""

    Build: TypeAlias = "Callable[[Snapshot, int], list[Action]]"
    """Returns the actions of a commit on a version, but for `commitInfo`, at a time in
    milliseconds; none if there is nothing to commit."""

_MS_PER_S = 1000
_TRIES = 100
"""Maximum number of versions that are tried before a commit fails because other commits always come
first."""

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 2.0

_OWN_FIELDS = ("path", "size", "modificationTime", "dataChange")
"""Fields of the action `add` that describe the new file instead of the old file."""

_MAPPING_MODE = "delta.columnMapping.mode"
_ROW_TRACKING = "rowTracking"
_ROW_FIELDS = ("baseRowId", "defaultRowCommitVersion")
_IN_COMMIT_TIMESTAMP = "inCommitTimestamp"


@dataclass(frozen=True)
class AddReplacement:
    """A data file of the table, and the new file that replaces it."""

    old: Add
    new: Mapping[str, Any]
    """Fields of the new file's `add` (`new_add`)."""


@dataclass(frozen=True, kw_only=True)
class LogCommit:
    """The result of a commit."""

    version: int
    """Number of the new version; that of `snapshot` if no version was made."""

    snapshot: Snapshot
    """The table after the commit."""

    kept: tuple[AddReplacement, ...] = ()
    dropped: tuple[tuple[AddReplacement, str], ...] = ()
    """Replacements that were dropped, with the reasons; their new files are in no version."""


def new_add(
    old: Add,
    *,
    uri: str,
    size: int,
    modified_ms: int,
    tags: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the `add` of a new file with the same rows and deletion vector as an old file.

    Args:
        old: The old file.
        uri: URI of the new file, as the log stores it.
        size: Size of the new file, bytes.
        modified_ms: Time at which the new file was written, milliseconds since 1970 UTC.
        tags: All tags of the new file; None for the tags of the old file.
    """
    new = dict(old.raw)
    new.update(path=uri, size=size, modificationTime=modified_ms, dataChange=False)
    if tags is not None:
        new["tags"] = dict(tags)
        if not tags:
            del new["tags"]
    return new


def remove_of(old: Add, now_ms: int) -> dict[str, Any]:
    """Return the `remove` of an old file that a new file in the same commit replaces.

    Args:
        old: The file.
        now_ms: When it is removed, milliseconds since the epoch: VACUUM counts from then.
    """
    carried = ("tags", "deletionVector", *_ROW_FIELDS, "stats")
    return {
        "path": old.path,
        "deletionTimestamp": now_ms,
        "dataChange": False,
        "extendedFileMetadata": True,
        "partitionValues": old.partition_values,
        "size": old.size,
        **{name: old.raw[name] for name in carried if old.raw.get(name) is not None},
    }


def replace_files(  # noqa: PLR0913  what the log says of a commit
    snapshot: Snapshot,
    replacements: Sequence[AddReplacement],
    *,
    operation_parameters: Mapping[str, Any] | None = None,
    metrics: Mapping[str, Any] | None = None,
    attempt: str | None = None,
    engine_info: str | None = None,
    on_attempt: Callable[[int], object] | None = None,
) -> LogCommit:
    """Replace data files by new files, in one commit.

    Args:
        snapshot: The table, as the replacements were made for.
        replacements: The replacements, each of a different file.
        operation_parameters: The request, for the history of the table.
        metrics: Further metrics for the history, besides numbers and bytes of files.
        attempt: Random id of the commit; by default a new one.
        engine_info: Name and version of the program; by default this one's.
        on_attempt: Called with the number of each entry just before it is tried.

    Raises:
        UnsupportedTable: If the table has a feature by now that must not be touched.
        TableChanged: If another program changed the table's schema.
        TableProblem: If the log is damaged, or others commit all the time.
        UnsafeTarget: If no entry can be created exclusively where the table lies.
        OutcomeUnknown: If it cannot be found out whether the commit was made. Attributes `version`
            and `attempt` have the number of the entry, and the id that it carries if it was.
        StoreProblem, OSError: If the log cannot be read or written; nothing was committed.
    """
    work = _Replacing(replacements)
    committer = _Committer(
        snapshot,
        attempt=attempt,
        engine_info=engine_info,
        on_attempt=on_attempt,
    )
    parameters = {"predicate": "[]", "zOrderBy": "[]", "clusterBy": "[]", "auto": False}
    made = committer.commit(
        work.actions,
        lambda: {
            "operation": "OPTIMIZE",
            "operationParameters": {**parameters, **(operation_parameters or {})},
            "isolationLevel": "SnapshotIsolation",
            "isBlindAppend": False,
            "operationMetrics": {
                **work.metrics(),
                **{k: str(v) for k, v in (metrics or {}).items()},
            },
        },
    )
    if made.found is not None:
        work.settle(made.found)
    return LogCommit(
        version=made.snapshot.version,
        snapshot=made.snapshot,
        kept=tuple(work.kept),
        dropped=tuple(work.dropped),
    )


def set_properties(
    snapshot: Snapshot,
    properties: Mapping[str, str],
    *,
    attempt: str | None = None,
    engine_info: str | None = None,
) -> LogCommit:
    """Set properties of the table by one commit, and keep all other properties.

    Raises:
        As `replace_files`.
    """

    def actions(current: Snapshot, now_ms: int) -> list[Action]:  # noqa: ARG001  a `Build`
        if properties.items() <= current.metadata.properties.items():
            return []
        configuration = {**current.metadata.properties, **properties}
        return [{"metaData": {**current.metadata.raw, "configuration": configuration}}]

    committer = _Committer(snapshot, attempt=attempt, engine_info=engine_info)
    made = committer.commit(
        actions,
        lambda: {
            "operation": "SET TBLPROPERTIES",
            "operationParameters": {"properties": json.dumps(dict(properties))},
            "isolationLevel": "Serializable",
            "isBlindAppend": True,
            "operationMetrics": {},
        },
    )
    return LogCommit(version=made.snapshot.version, snapshot=made.snapshot)


def check_unchanged(base: Snapshot, current: Snapshot) -> None:
    """Check that a table still has the schema for which replacements were prepared.

    Raises:
        TableChanged: If its schema, or how columns are found, is another one.
        UnsupportedTable: If it has a feature by now that must not be touched.
    """
    old, new = base.metadata, current.metadata
    if new is old and current.protocol is base.protocol:
        return
    changed = [
        what
        for what, differs in (
            ("identity", old.id != new.id),
            ("schema", old.schema != new.schema),
            ("partitioning", old.partition_columns != new.partition_columns),
            ("column mapping", _mapping(old) != _mapping(new)),
        )
        if differs
    ]
    if changed:
        raise TableChanged(
            f"another program changed the table's {' and '.join(changed)}",
            path=current.place.root,
            remedy="Run the command again.",
        )
    current.check_replaceable()


class _Replacing:
    """Replacements, checked against each version that a commit is tried on."""

    def __init__(self, replacements: Sequence[AddReplacement]) -> None:
        self._all = replacements
        self.kept: list[AddReplacement] = []
        self.dropped: list[tuple[AddReplacement, str]] = []

    def actions(self, current: Snapshot, now_ms: int) -> list[Action]:
        """Return the actions for the replacements that hold on a version."""
        self.kept, self.dropped = [], []
        paths = {key.path for key in current.files}
        removes: list[Action] = []
        adds: list[Action] = []
        for one in self._all:
            now = current.files.get(one.old.key)
            why = _why_not(one, now, current, paths)
            if now is None or why is not None:
                self.dropped.append((one, why or ""))
                continue
            self.kept.append(one)
            removes.append({"remove": remove_of(now, now_ms)})
            adds.append({"add": _rebased(one, now, current)})
        return [*removes, *adds]

    def settle(self, made: Commit) -> None:
        """Determine which replacements are in an entry of ours that was found in the log."""
        paths = {add.path for add in made.adds}
        self.kept = [one for one in self._all if one.new["path"] in paths]
        why = "it did not hold when the commit was made"
        self.dropped = [(one, why) for one in self._all if one.new["path"] not in paths]

    def metrics(self) -> dict[str, str]:
        """Return the counts of the last version, under the names in Delta's history."""
        numbers = {
            "numAddedFiles": len(self.kept),
            "numRemovedFiles": len(self.kept),
            "numAddedBytes": sum(int(one.new["size"]) for one in self.kept),
            "numRemovedBytes": sum(one.old.size for one in self.kept),
        }
        return {name: str(number) for name, number in numbers.items()}


def _why_not(
    one: AddReplacement, now: Add | None, current: Snapshot, paths: set[str]
) -> str | None:
    """Return why a replacement does not hold on a version, or None if it holds."""
    old = one.old
    if now is None:
        if old.path in paths:
            return "another program deleted rows of it"
        return "another program removed it"
    if one.new["path"] in paths:
        return "the new file is in the table already"
    if _tracks_rows(current) and now.raw.get("baseRowId") is None:
        return "it has no row ids yet, though the table tracks rows"
    return None


def _rebased(one: AddReplacement, now: Add, current: Snapshot) -> dict[str, Any]:
    """Return the new file's `add`, with changes that other commits made to the old file's `add`."""
    rebased = {**now.raw, **{name: one.new[name] for name in _OWN_FIELDS}}
    before, wanted = one.old.tags, one.new.get("tags") or {}
    tags = {name: text for name, text in now.tags.items() if name in wanted or name not in before}
    tags.update({name: text for name, text in wanted.items() if before.get(name) != text})
    rebased.pop("tags", None)
    if tags:
        rebased["tags"] = tags
    if _is_suspended(current):
        for name in _ROW_FIELDS:
            rebased.pop(name, None)
    return rebased


class _Made(NamedTuple):
    """The table after a commit."""

    snapshot: Snapshot
    found: Commit | None = None
    """Our entry as found in the log after a lost answer; None if it was made just now."""


class _Committer:
    """One commit, tried on one version after the other."""

    def __init__(
        self,
        snapshot: Snapshot,
        *,
        attempt: str | None,
        engine_info: str | None,
        on_attempt: Callable[[int], object] | None = None,
    ) -> None:
        self._current = snapshot
        self._base = snapshot
        self._attempt = attempt or str(uuid.uuid4())
        self._engine_info = engine_info or _this_program()
        self._on_attempt = on_attempt

    def commit(self, build: Build, describe: Callable[[], Action]) -> _Made:
        """Commit the actions that `build` returns; if there are none, make no commit.

        Args:
            build: The actions on a version.
            describe: Returns fields of `commitInfo`; called after `build`.
        """
        self._base.check_replaceable()
        for pause in _pauses():
            time.sleep(pause)
            found = self._catch_up()
            if found is not None:
                return found
            current = self._current
            now_ms = self._now(current)
            actions = build(current, now_ms)
            if not actions:
                return _Made(current)
            info = self._info(current, now_ms, describe())
            if self._create(current.version + 1, [{"commitInfo": info}, *actions]):
                return _Made(advance(current, _as_commit(current.version + 1, info, actions)))
        raise TableProblem(
            f"other programs have committed {_TRIES} times while this one tried to commit",
            path=self._base.place.root,
            remedy="Run the command again when there is less going on.",
        )

    def _create(self, version: int, actions: list[Action]) -> bool:
        if self._on_attempt is not None:
            self._on_attempt(version)
        place = self._current.place
        lines = (
            json.dumps(action, separators=(",", ":"), default=dict) + "\n" for action in actions
        )
        try:
            return place.create_entry(
                entry_name(version), "".join(lines).encode(), attempt=self._attempt
            )
        except OutcomeUnknown as error:
            error.__dict__.update(version=version, attempt=self._attempt)
            error.remedy = (
                f"See the table's history: the commit was made if version {version} has the "
                f'txnId "{self._attempt}". Then run the command again; {error.remedy}'
            )
            raise

    def _info(self, current: Snapshot, now_ms: int, described: Action) -> Action:
        info: Action = {"timestamp": now_ms}
        if _has_in_commit_timestamps(current):
            info[_IN_COMMIT_TIMESTAMP] = now_ms
        operation = {k: described.pop(k) for k in ("operation", "operationParameters")}
        info |= {**operation, "readVersion": current.version, **described}
        if _tracks_rows(current):
            info["tags"] = {"delta.rowTracking.preserved": "true"}
        return {**info, "engineInfo": self._engine_info, "txnId": self._attempt}

    @staticmethod
    def _now(current: Snapshot) -> int:
        """Return the time for a commit on a version, milliseconds since 1970 UTC.

        A clock that goes back does not make it earlier than the version before.

        Raises:
            TableProblem: If that one must have a time, and has none.
        """
        now = int(time.time() * _MS_PER_S)
        if current.timestamp_ms is not None:
            return max(now, current.timestamp_ms + 1)
        if not _has_in_commit_timestamps(current):
            return now
        before = read_commit(current.place, current.version)
        stamp = None if before is None else before.info.get(_IN_COMMIT_TIMESTAMP)
        if stamp is None:
            raise TableProblem(
                f"version {current.version} has no in-commit timestamp, though the table has them",
                path=current.place.root,
            )
        return max(now, int(stamp) + 1)

    # ------------------------------------------------------------ what others committed

    def _catch_up(self) -> _Made | None:
        """Read all entries that were committed since; return the result if one is our own attempt.

        The log is listed, because entry N+1 could also be missing because it was removed after many
        further commits: an entry that is created there then would never be read.

        Raises:
            TableProblem: If an entry is damaged.
            UnsupportedTable, TableChanged: If the table's schema or protocol has changed.
        """
        place, before = self._base.place, self._current
        names = [one.name for one in place.list_log(f"{before.version:020}")]
        newest = max((one for one in map(version_of, names) if one is not None), default=-1)
        if newest < 0:
            raise TableProblem(
                f"version {before.version}, which was read before, is not in the log any more",
                path=place.root,
            )
        current = before
        while current.version < newest:
            commit = read_whole_commit(place, current.version + 1)
            if commit is None:  # removed after a checkpoint
                current = read_to_change(place)
                break
            current = advance(current, commit)
            if commit.info.get("txnId") == self._attempt:
                return _Made(current, commit)
        self._current = current
        if current is not before:
            check_unchanged(self._base, current)
        return None


def _as_commit(version: int, info: Action, actions: list[Action]) -> Commit:
    """Return the entry of a commit in the form in which it would be read."""
    metadata = [action["metaData"] for action in actions if "metaData" in action]
    return Commit(
        version=version,
        info=info,
        protocol=None,
        metadata=Metadata(metadata[0]) if metadata else None,
        adds=tuple(Add(action["add"]) for action in actions if "add" in action),
        removes=tuple(action["remove"] for action in actions if "remove" in action),
        others=(),
    )


def _mapping(metadata: Metadata) -> str:
    return metadata.properties.get(_MAPPING_MODE, "none").lower()


def _is_on(snapshot: Snapshot, name: str) -> bool:
    return snapshot.metadata.properties.get(name, "").lower() == "true"


def _has(snapshot: Snapshot, feature: str) -> bool:
    return not snapshot.protocol.writer_features.isdisjoint((feature, f"{feature}-preview"))


def _has_in_commit_timestamps(snapshot: Snapshot) -> bool:
    has = _has(snapshot, _IN_COMMIT_TIMESTAMP)
    names = ("delta.enableInCommitTimestamps", "delta.enableInCommitTimestamps-preview")
    return has and any(_is_on(snapshot, name) for name in names)


def _tracks_rows(snapshot: Snapshot) -> bool:
    return _has(snapshot, _ROW_TRACKING) and not _is_suspended(snapshot)


def _is_suspended(snapshot: Snapshot) -> bool:
    return _has(snapshot, _ROW_TRACKING) and _is_on(snapshot, "delta.rowTrackingSuspended")


def _this_program() -> str:
    from parquet_bloomwriter import __version__

    return f"parquet-bloomwriter/{__version__}"


def _pauses() -> list[float]:
    """Return the seconds to wait before each try."""
    waits = (min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2**n) for n in range(_TRIES - 1))
    return [0.0, *(wait * random.uniform(0.5, 1.0) for wait in waits)]  # noqa: S311  no secret
