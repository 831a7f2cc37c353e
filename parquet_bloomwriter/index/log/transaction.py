"""The transaction around every action on an index: begin, work, commit, each in the log.

    stable entry -> entry n: REFRESHING -> the work, in a new folder `v__=n` -> entry n + 1: ACTIVE

The process that writes entry n may work; other processes get an error that names its action. The
work changes no file that the stable entry refers to. Queries use the stable entry until the commit,
and go on to use it if the work fails.

    the work fails          its folder is removed, then CANCELLING, then the stable entry again
    its process is killed   the log stays as it is: others are refused until the action is cancelled
    it is cancelled         another process writes entry n + 1; the commit finds that out, and fails

Every attempt at an action has a random id, which its entries carry. A process that lost the race
for entry n therefore never takes the winner's entry for its own, and never undoes its work.

A version has the number of the entry that announces it. A number is never used twice, so files left
by a process that seemed dead never collide with files of another process.
"""

# ruff: noqa: PTH119  paths are strings, as in the log
from __future__ import annotations

import contextlib
import os
import secrets
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import (
    IndexBusy,
    IndexNotFound,
    IndexProblem,
    InvalidArgument,
    Proposal,
    Way,
)
from parquet_bloomwriter.index.entry import STABLE, Entry, State
from parquet_bloomwriter.index.layout import version_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_bloomwriter.index.log.log import IndexLog


def load_stable(log: IndexLog) -> Entry | None:
    """Return the newest stable entry if no action is changing the index; None if the log is empty.

    Raises:
        IndexBusy: If an action is at work, or its process died.
        IndexProblem: If the newest entry cannot be understood.
    """
    latest = log.latest()
    if latest is not None and latest.state not in STABLE:
        raise IndexBusy(
            f'the index "{latest.name}" is {latest.state} since {_moment(latest.created_ms)}',
            path=log.folder,
            remedy=(
                f"Wait for {latest.action or 'it'} to end; if its process has died, ",
                Proposal(Way.CANCEL, "cancel it"),
                ".",
            ),
        )
    return latest


def load_existing(log: IndexLog, *, states: frozenset[State], to: str) -> Entry:
    """Return the stable entry of an index, and check that an action can begin from its state.

    Args:
        log: The index's log.
        states: The states that the action can begin from.
        to: What the action does, as a participle: "deleted".

    Raises:
        IndexBusy: As `load_stable`.
        IndexNotFound: If the index does not exist, or no longer.
        IndexProblem: As `load_stable`.
        InvalidArgument: If the index is in another state.
    """
    stable = load_stable(log)
    if stable is None or stable.state is State.DOES_NOT_EXIST:
        problem = "the index does not exist any more" if stable else "there is no index"
        raise IndexNotFound(problem, path=log.folder, remedy=CREATE_IT)
    if stable.state not in states:
        remedy = "Restore it first." if stable.state is State.DELETED else ""
        problem = f'the index "{stable.name}" is {stable.state}, and cannot be {to}'
        raise InvalidArgument(problem, path=log.folder, remedy=remedy)
    return stable


def next_id(stable: Entry | None) -> int:
    """Return the id of the entry that follows a stable entry; 0 in an empty log."""
    return 0 if stable is None else stable.id + 1


@contextlib.contextmanager
def fail_if_overtaken(log: IndexLog, stable: Entry) -> Iterator[None]:
    """Guard the reading of a version before an action begins: the body of the `with` statement.

    Raises:
        IndexBusy: If the body fails because another action has begun since `stable` was loaded.
        Exception: What the body raises, if no other action has begun.
    """
    try:
        yield
    except (IndexProblem, OSError) as error:
        if log.ids()[-1:] != [stable.id]:
            raise _overtaken(log) from error
        raise


CREATE_IT = (Proposal(Way.CREATE_INDEX, "Create it"), ".")


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """An action on an index that has begun."""

    log: IndexLog
    begun: Entry
    """The log entry that announces the action."""

    stable: Entry | None
    """The log entry that queries use while the action is at work."""

    @property
    def version(self) -> int:
        """Number of the version that the action builds, if it builds a version."""
        return self.begun.id

    @property
    def folder(self) -> str:
        """Absolute path of the folder of this version."""
        return version_folder(self.log.folder, self.version)

    def make_folder(self) -> str:
        """Make the version's folder if it is not there, and return it.

        Raises:
            IndexProblem: If a symbolic link stands in its place.
        """
        self.log.storage.make_version(self.log.folder, self.folder)
        return self.folder

    def check_not_cancelled(self) -> None:
        """Check that the action was not cancelled.

        Raises:
            IndexBusy: If another process has cancelled it.
        """
        if self.log.ids()[-1] != self.begun.id:
            raise _cancelled(self)

    def commit(self, entry: Entry) -> Entry:
        """Write the entry that ends the action, and return it; the last step of the work.

        Args:
            entry: The entry to write; id, time and attempt are filled in.

        Raises:
            IndexBusy: If another process has cancelled the action.
            OSError: If the entry cannot be written.
        """
        final = _stamped(entry, self.begun.id + 1, attempt=self.begun.attempt)
        if not self.log.write(final):
            raise _cancelled(self)
        return final


@contextlib.contextmanager
def run_transaction(log: IndexLog, stable: Entry | None, begin: Entry) -> Iterator[Transaction]:
    """Announce an action; the body of the `with` statement does the work, and commits it.

    If the body fails, its work is undone and the stable entry is written again.

    Args:
        log: The index's log.
        stable: The entry that the action starts from, as `load_stable` returned it.
        begin: The entry to begin with, in its transient state; id, time and attempt are filled in.

    Raises:
        IndexBusy: If another action has begun since `stable` was loaded.
        OSError: If the entry cannot be written.
        Exception: What the body raises.
    """
    log.storage.make_log(log.log_folder, is_new=stable is None)
    begun = _stamped(begin, next_id(stable), attempt=_new_attempt())
    transaction = Transaction(log=log, begun=begun, stable=stable)
    try:
        if not log.write(begun):
            raise _overtaken(log)  # noqa: TRY301  the entry may have been written all the same
        yield transaction
    except BaseException:
        with contextlib.suppress(OSError, IndexProblem):  # the first failure is the one to report
            _roll_back(transaction)
        raise


def cancel_action(
    log: IndexLog, latest: Entry, stable: Entry | None, *, cancelling_id: int
) -> Entry:
    """End an action that has begun: remove its work, and write the stable entry again.

    An index without a stable entry does not exist afterwards; neither does an index whose
    vacuuming had already removed some of its files.

    Args:
        log: The index's log.
        latest: The newest entry that can be read.
        stable: The newest stable entry; None if there is none.
        cancelling_id: Id of the entry that announces the cancelling, the first free one.

    Returns:
        The entry that counts now.

    Raises:
        IndexBusy: If another process has changed the log meanwhile.
        OSError: If an entry cannot be written.
    """
    action = latest.action.removeprefix("cancel ")
    begin = replace(latest, state=State.CANCELLING, action=f"cancel {action}")
    cancelling = _stamped(begin, cancelling_id, attempt=_new_attempt())
    if not log.write(cancelling):
        raise _changed_meanwhile(log, cancelling)
    if stable is not None and stable.state is State.DELETED and not log.is_intact(stable):
        stable = None
    numbers = range(0 if stable is None else stable.id, cancelling_id)
    log.storage.discard_versions(log.folder, numbers)
    after = nonexistent(cancelling) if stable is None else stable
    after = replace(after, action=cancelling.action)
    final = _stamped(after, cancelling_id + 1, attempt=cancelling.attempt)
    if not log.write(final):
        raise _changed_meanwhile(log, final)
    return final


def nonexistent(entry: Entry) -> Entry:
    """Return the entry of an index that does not exist any more."""
    return replace(
        entry,
        state=State.DOES_NOT_EXIST,
        columns=(),
        manifest=None,
        version=-1,
        num_files=0,
        source_bytes=0,
    )


def never_written(log: IndexLog, entry_id: int) -> Entry:
    """Return an entry to replace the first entry, whose writer died before it was complete."""
    return Entry(
        id=entry_id,
        name=os.path.basename(log.folder),
        state=State.CREATING,
        version=-1,
        root=None,
        columns=(),
        action="create",
    )


def _roll_back(transaction: Transaction) -> None:
    """Undo the work of a transaction, unless the log shows that it never began or was committed."""
    log, begun = transaction.log, transaction.begun
    ids = log.ids()
    if not ids or ids[-1] < begun.id or not log.holds(begun):
        return  # the action never began
    if ids[-1] == begun.id:
        if not log.storage.is_remote:  # frees disk space for the entry, as `cancel_action` does
            with contextlib.suppress(OSError):
                log.storage.remove_version(transaction.folder)
        # On a store, the entry that commits the action may still be on its way: nothing is removed
        # before its id is taken.
        cancel_action(log, begun, transaction.stable, cancelling_id=begun.id + 1)
    elif log.get(begun.id + 1).state is State.CANCELLING:
        # else the action was committed, before writing the entry failed
        log.storage.remove_version(transaction.folder)


def _overtaken(log: IndexLog) -> IndexBusy:
    return IndexBusy(
        "another action on the index has begun meanwhile",
        path=log.folder,
        remedy="Try again when it has ended.",
    )


def _cancelled(transaction: Transaction) -> IndexBusy:
    action = transaction.begun.action
    return IndexBusy(
        f"the action ({action}) was cancelled by another process while it was at work",
        path=transaction.log.folder,
    )


def _changed_meanwhile(log: IndexLog, entry: Entry) -> IndexBusy:
    return IndexBusy(
        f'another process has changed the index "{entry.name}" meanwhile',
        path=log.folder,
        remedy="Look at the index, and cancel again if need be.",
    )


def _stamped(entry: Entry, entry_id: int, *, attempt: str) -> Entry:
    now = time.time_ns() // 1_000_000
    return replace(entry, id=entry_id, created_ms=now, attempt=attempt)


def _new_attempt() -> str:
    return secrets.token_hex(16)


def _moment(milliseconds: int) -> str:
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
