"""A snapshot of operation `replace` that puts new files in the place of equal old ones.

    the branch's head was S     manifests are written for a snapshot on S, and the catalog swaps it
    the catalog refuses         another snapshot came first: the table is loaded anew, replacements
                                that no longer hold are dropped, and the commit is tried on the rest
    no answer, or unclear       the table is loaded anew, and its snapshots are searched for our id

Each snapshot of ours has a random id of the commit in its summary. All tries of a commit have the
same id, and each try asks the catalog to replace exactly the snapshot that was read. So at most one
try can succeed: if an answer was lost, trying again is safe, and a snapshot with our id is ours. If
the catalog does not answer in the end, it is unknown whether the commit was made; then no file is
deleted.

A changed schema or partition spec does not matter: the new files hold the same rows and field ids.
If the table got a format version that gives rows ids, the commit is refused.

Source: Iceberg specification, "Snapshots", "Manifests", "Sequence Number Inheritance", "Optimistic
Concurrency"; Iceberg's `BaseRewriteFiles` and `MergingSnapshotProducer`.
"""

from __future__ import annotations

import random
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import (
    BloomwriterError,
    OutcomeUnknown,
    TableChanged,
    TableProblem,
    Unfinished,
    UnsupportedTable,
)
from parquet_bloomwriter.iceberg.catalog import metadata_errors, one_line
from parquet_bloomwriter.iceberg.new_snapshot import EntryReplacement, NewSnapshot
from parquet_bloomwriter.iceberg.snapshot import MAIN, check_replaceable, read_again, reload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

    from parquet_bloomwriter.iceberg.snapshot import IcebergSnapshot

ATTEMPT = "bloomify.attempt"
"""Key in a snapshot's summary of the random id of the commit."""

COMMITTED = "committed"
"""Name of the attribute of a `KeyboardInterrupt` or `SystemExit` that came after the commit was
made: a `SnapshotCommit`."""

_TRIES = 100
"""Maximum number of snapshots that are tried before a commit fails because other commits always
come first."""

_UNCLEAR_TRIES = 4
"""Maximum number of lost or unclear answers to one commit."""

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 2.0
_READ_BACK_AFTER_S = (0.0, 0.5, 2.0, 5.0)
"""Seconds to wait before each try to load the table after an unclear answer."""


@dataclass(frozen=True, kw_only=True)
class SnapshotCommit:
    """The result of a commit."""

    snapshot: IcebergSnapshot
    """The branch after the commit."""

    snapshot_id: int | None
    """Id of the new snapshot; None if no snapshot was made."""

    dropped: tuple[tuple[EntryReplacement, str], ...] = ()
    """Replacements that were dropped, with the reasons; their new files are in no snapshot of
    ours."""


def replace_files(
    snapshot: IcebergSnapshot,
    replacements: Sequence[EntryReplacement],
    *,
    parameters: Mapping[str, str],
    attempt: str | None = None,
) -> SnapshotCommit:
    """Replace data files by new files, in one snapshot on the branch.

    Args:
        snapshot: The branch, as the replacements were made for.
        replacements: The replacements, each of a different file.
        parameters: Further properties of the snapshot's summary, by key.
        attempt: Random id of the commit; by default a new one.

    Raises:
        UnsupportedTable: If the table has a format version by now that must not be touched.
        TableChanged: If another table has its name by now, or the branch is gone.
        TableProblem: If the catalog refuses or does not answer, or others commit all the time;
            nothing was committed.
        OutcomeUnknown: If it cannot be found out whether the commit was made.
        Unfinished: If it was made, and the table cannot be read afterwards.
        KeyboardInterrupt, SystemExit: At any time. If the commit was made all the same, the
            exception has the attribute `COMMITTED`, a `SnapshotCommit`.
    """
    return _Commit(snapshot, replacements, parameters, attempt or str(uuid.uuid4())).run()


def set_properties(snapshot: IcebergSnapshot, properties: Mapping[str, str]) -> IcebergSnapshot:
    """Set properties of the table, and keep all other properties. No snapshot is made.

    Returns:
        The branch, with the properties.

    Raises:
        TableChanged: If another table has the name by now.
        TableProblem: If the catalog refuses or does not answer.
    """
    from pyiceberg.exceptions import CommitFailedException
    from pyiceberg.table.update import AssertTableUUID, SetPropertiesUpdate

    name = snapshot.name
    for pause in _pauses():
        time.sleep(pause)
        table = reload(snapshot)
        if not properties.items() <= table.metadata.properties.items():
            with metadata_errors(name):
                try:
                    table._do_commit(  # noqa: SLF001  as pyiceberg's own transactions
                        (SetPropertiesUpdate(updates=dict(properties)),),
                        (AssertTableUUID(uuid=table.metadata.table_uuid),),
                    )
                except CommitFailedException:
                    continue
        return read_again(snapshot, table)
    raise _always_late(name)


class _Commit:
    """One commit, tried on the branch's head, and again on each newer head."""

    def __init__(
        self,
        snapshot: IcebergSnapshot,
        replacements: Sequence[EntryReplacement],
        parameters: Mapping[str, str],
        attempt: str,
    ) -> None:
        self._base = snapshot
        self._current = snapshot
        self._branch = snapshot.branch or MAIN
        self._replacements = replacements
        self._parameters = parameters
        self._attempt = attempt
        self._num_unclear = 0
        self._unclear_parents: set[int] = set()
        self._was_asked = False
        """Whether the catalog was asked to make the commit."""

        self._is_unread = False
        """Whether the catalog was asked, and the table has not been loaded since."""

    def run(self) -> SnapshotCommit:
        """See `replace_files`."""
        try:
            return self._run()
        except (KeyboardInterrupt, SystemExit) as error:
            if self._was_asked:
                with suppress(BloomwriterError):
                    table = reload(self._base)
                    found = self._found_in(table)
                    if found is not None:
                        error.__dict__[COMMITTED] = self._settled(table, found)
            raise

    def _run(self) -> SnapshotCommit:
        for pause in _pauses():
            time.sleep(pause)
            try:
                table = self._reload()
                found = self._found_in(table)
                if found is not None:
                    return self._settled(table, found)
                self._forget_hopeless(table)
                draft = self._draft(table)
            except UnsupportedTable:
                raise  # the table was read: no earlier try was made, and none can be by now
            except TableProblem as error:
                # A table that is not found may have been renamed, and may have our snapshot.
                if self._unclear_parents or self._is_unread:
                    raise self._unknown() from error
                raise
            if isinstance(draft, SnapshotCommit):
                return draft
            committed = self._try(table, draft)
            if committed is not None:
                return committed
        if self._unclear_parents:
            raise self._unknown()
        raise _always_late(self._base.name)

    def _reload(self) -> Table:
        """Load the table; after an unclear answer, wait for the catalog a little."""
        problem: TableProblem | None = None
        for pause in _READ_BACK_AFTER_S if self._unclear_parents else (0.0,):
            time.sleep(pause)
            try:
                return reload(self._base)
            except TableChanged:
                raise
            except TableProblem as error:
                problem = error
        raise problem or TableProblem("the catalog does not answer", path=self._base.name)

    def _found_in(self, table: Table) -> Snapshot | None:
        """Return the snapshot that this commit made, if one of its tries did."""
        for one in reversed(table.metadata.snapshots):
            if one.summary is not None and one.summary.get(ATTEMPT) == self._attempt:
                return one
        return None

    def _forget_hopeless(self, table: Table) -> None:
        """Forget unclear tries whose parent snapshot is no longer the head: they cannot succeed."""
        self._is_unread = False
        head = table.metadata.snapshot_by_name(self._branch)
        self._unclear_parents &= set() if head is None else {head.snapshot_id}

    def _draft(self, table: Table) -> NewSnapshot | SnapshotCommit:
        """Return the new snapshot with the replacements that hold; if none holds, the result."""
        current = self._current = read_again(self._current, table)
        check_replaceable(current)
        if self._was_asked and any(one.path in current.files for one in self._replacements):
            raise self._made("its snapshot has expired already")
        kept: dict[str, EntryReplacement] = {}
        dropped: list[tuple[EntryReplacement, str]] = []
        for one in self._replacements:
            why = _why_not(one, current)
            if why is None:
                kept[one.old.path] = one
            else:
                dropped.append((one, why))
        if not kept or current.snapshot is None:
            return SnapshotCommit(snapshot=current, snapshot_id=None, dropped=tuple(dropped))
        return NewSnapshot(current, kept, dropped, self._summary_of())

    def _summary_of(self) -> dict[str, str]:
        from importlib.metadata import PackageNotFoundError, version

        program = {"engine-name": "bloomify"}
        with suppress(PackageNotFoundError):
            program["engine-version"] = version("parquet-bloomwriter")
        return {**self._parameters, **program, ATTEMPT: self._attempt}

    def _try(self, table: Table, draft: NewSnapshot) -> SnapshotCommit | None:
        """Write metadata and ask the catalog to commit; return None if another try is needed."""
        from pyiceberg.exceptions import CommitFailedException

        name = self._base.name
        try:
            with metadata_errors(name):
                updates, requirements = draft.write(self._branch)
        except BaseException:
            draft.remove()  # the catalog was not asked
            raise
        self._was_asked = self._is_unread = True
        try:
            table._do_commit(updates, requirements)  # noqa: SLF001  as pyiceberg's transactions
        except CommitFailedException:
            # Refused, unless a layer in between asked twice: the next round looks for our id first.
            self._is_overtaken(draft)
            return None
        except Exception as error:  # noqa: BLE001
            # pyiceberg raises what its catalogs' libraries raise.
            if _is_refusal(error) or type(error) is ValueError:
                # If a commit to another branch has taken the sequence number, some catalogs, and
                # pyiceberg, reject the request as invalid.
                if self._is_overtaken(draft):
                    return None
                if _is_refusal(error):
                    return self._after_refusal(error)
            self._num_unclear += 1
            self._unclear_parents.add(draft.parent_id)
            if self._num_unclear < _UNCLEAR_TRIES:
                return None
            return self._last_look(error)
        try:
            after = read_again(self._current, table)
        except BloomwriterError as error:
            raise self._made("the table cannot be read afterwards") from error
        return SnapshotCommit(
            snapshot=after, snapshot_id=draft.snapshot_id, dropped=tuple(draft.dropped)
        )

    def _is_overtaken(self, draft: NewSnapshot) -> bool:
        """Return whether another commit came first, so that a refused try can no longer be made.

        What the try wrote is removed then. Else it stays: it may be in a snapshot.
        """
        from pyiceberg.table.metadata import TableMetadataV1

        with suppress(BloomwriterError):
            table = reload(self._base)
            metadata = table.metadata
            head = metadata.snapshot_by_name(self._branch)
            has_moved = head is None or head.snapshot_id != draft.parent_id
            if not isinstance(metadata, TableMetadataV1):
                has_moved = has_moved or metadata.last_sequence_number >= draft.sequence_number
            if has_moved and self._found_in(table) is None:
                draft.remove()
                return True
        return False

    def _after_refusal(self, error: Exception) -> SnapshotCommit:
        """Raise the catalog's refusal as an error, unless an earlier try was made after all."""
        try:
            table = self._reload()
        except TableProblem:
            if self._unclear_parents:
                raise self._unknown() from error
        else:
            found = self._found_in(table)
            if found is not None:
                return self._settled(table, found)
            self._forget_hopeless(table)
        if self._unclear_parents:
            raise self._unknown() from error
        raise TableProblem(
            f"the catalog refuses the commit: {one_line(error)}", path=self._base.name
        ) from error

    def _last_look(self, error: Exception) -> SnapshotCommit:
        try:
            table = self._reload()
            found = self._found_in(table)
        except TableProblem:
            raise self._unknown() from error
        if found is None:
            raise self._unknown() from error
        return self._settled(table, found)

    def _settled(self, table: Table, found: Snapshot) -> SnapshotCommit:
        """Return the result of a commit whose snapshot was found in the table."""
        try:
            with metadata_errors(self._base.name):
                added = {
                    entry.data_file.file_path
                    for manifest in found.manifests(table.io)
                    if manifest.added_snapshot_id == found.snapshot_id
                    for entry in manifest.fetch_manifest_entry(table.io)
                    if entry.snapshot_id == found.snapshot_id
                }
            after = read_again(self._current, table)
        except BloomwriterError as error:
            raise self._made("the table cannot be read afterwards") from error
        why = "it did not hold when the commit was made"
        return SnapshotCommit(
            snapshot=after,
            snapshot_id=found.snapshot_id,
            dropped=tuple((one, why) for one in self._replacements if one.path not in added),
        )

    def _made(self, but: str) -> Unfinished:
        """Return the error for a commit that was made, but whose result cannot be read."""
        return Unfinished(
            f"the commit {self._attempt} was made, but {but}",
            path=self._base.name,
            remedy="Run the command again: it goes on where this run ended.",
        )

    def _unknown(self) -> OutcomeUnknown:
        return OutcomeUnknown(
            f"the catalog did not say whether it made the commit {self._attempt}",
            path=self._base.name,
            remedy=f'If a snapshot of the table has {ATTEMPT} = "{self._attempt}" in its summary, '
            "it was made. Run the command again when the catalog answers.",
        )


def _why_not(one: EntryReplacement, current: IcebergSnapshot) -> str | None:
    """Return why a replacement does not hold on the branch's head, or None if it holds."""
    now = current.files.get(one.old.path)
    if now is None:
        return "another program removed it"
    old = one.old
    if (now.size, now.num_rows, now.data_sequence_number, now.spec_id, now.partition) != (
        old.size,
        old.num_rows,
        old.data_sequence_number,
        old.spec_id,
        old.partition,
    ):
        return "another program changed its entry"
    if one.path in current.files:
        return "the new file is in the table already"
    return now.why_kept


def _is_refusal(error: Exception) -> bool:
    """Return whether a catalog refused a commit for another reason than a conflict."""
    from pyiceberg.exceptions import (
        AuthorizationExpiredError,
        BadRequestError,
        ForbiddenError,
        NoSuchTableError,
        OAuthError,
        TooManyRequestsError,
        UnauthorizedError,
    )

    return isinstance(
        error,
        (
            AuthorizationExpiredError,
            BadRequestError,
            ForbiddenError,
            NoSuchTableError,
            NotImplementedError,  # of catalogs that pyiceberg only reads
            OAuthError,
            TooManyRequestsError,
            UnauthorizedError,
        ),
    )


def _always_late(name: str) -> TableProblem:
    return TableProblem(
        f"other programs have committed {_TRIES} times while this one tried to commit",
        path=name,
        remedy="Run the command again when there is less going on.",
    )


def _pauses() -> Iterator[float]:
    """Yield seconds to wait before each try: 0 first, then longer and longer random times."""
    yield 0.0
    for number in range(_TRIES - 1):
        yield random.uniform(0.5, 1) * min(_FIRST_PAUSE_S * 2**number, _LONGEST_PAUSE_S)  # noqa: S311
