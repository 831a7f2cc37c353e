"""The frame of every action: begin, work, end, each in the log.

    at rest -> entry n: REFRESHING -> the work, in its own folder `v__=n` -> entry n + 1: ACTIVE

Whoever writes entry n may work; the others are told who does. The work changes nothing that the
stable entry refers to, so that queries go on with it, whatever becomes of the work.

    the work fails        its folder is removed, then CANCELLING, then the stable entry again
    its process is killed the log stays as it is: others are refused until somebody cancels
    somebody cancels it   the entry n + 1 is his, and the work finds that out when it ends

Every attempt at an action has a random id, which its entries carry. So a process that lost the race
for entry n never takes the winner's entry for its own, and never undoes the winner's work.

Versions are numbered by the entries that announce them. So a number is never given twice, and what
a process leaves behind that was taken for dead can never be in the way of another.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from parquet_bloomwriter.durable import make_folders, remove_tree, sync_folder
from parquet_bloomwriter.errors import IndexBusy, IndexProblem, Proposal, Way
from parquet_bloomwriter.index.log.entry import STABLE, Entry, State
from parquet_bloomwriter.index.log.vacuum import discard_versions, is_intact, version_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from parquet_bloomwriter.index.log.log import IndexLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """An index that nobody is changing."""

    stable: Entry | None
    """The entry in force; None if there is none at all."""

    next_id: int
    """Of the next entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """An action that has begun."""

    log: IndexLog
    begun: Entry
    """The entry that says so."""

    stable: Entry | None
    """The entry in force meanwhile."""

    @property
    def version(self) -> int:
        """The number of the version that it makes, if it makes one."""
        return self.begun.id

    @property
    def folder(self) -> str:
        """That version's folder, absolute."""
        return version_folder(self.log.folder, self.version)

    def make_folder(self) -> str:
        """Make that folder, if it is not made, and return it.

        Raises:
            FileExistsError: If somebody has put a link to another folder in its place.
        """
        try:
            os.mkdir(self.folder)  # noqa: PTH102  paths are strings, as in the log
        except FileExistsError:
            if os.path.islink(self.folder):  # noqa: PTH114  as above
                raise
            return self.folder
        sync_folder(self.log.folder)
        return self.folder

    def check_not_cancelled(self) -> None:
        """Stop if somebody has cancelled the action.

        Raises:
            IndexBusy: If so.
        """
        if self.log.ids()[-1] != self.begun.id:
            raise _cancelled(self)


def at_rest(log: IndexLog) -> Rest:
    """Find the entry in force, and that nobody is at work.

    Raises:
        IndexBusy: If somebody is at work, or was and died.
        IndexProblem: If the newest entry cannot be understood.
    """
    ids = log.ids()
    if not ids:
        return Rest(stable=None, next_id=0)
    latest = log.get(ids[-1])
    if latest.state not in STABLE:
        raise IndexBusy(
            f'the index "{latest.name}" is {latest.state} since {_moment(latest.created_ms)}',
            path=log.folder,
            remedy=(
                f"Wait for {latest.action or 'it'} to end; if its process has died, ",
                Proposal(Way.CANCEL, "cancel it"),
                ".",
            ),
        )
    return Rest(stable=latest, next_id=latest.id + 1)


@contextlib.contextmanager
def looking_at(log: IndexLog, rest: Rest) -> Iterator[None]:
    """Look at an index before an action begins, in the body of the `with` statement.

    Raises:
        IndexBusy: If something is not there as the log said, because somebody has gone on with it.
    """
    try:
        yield
    except (IndexProblem, OSError) as error:
        if log.ids()[-1:] != ([] if rest.stable is None else [rest.stable.id]):
            raise _overtaken(log) from error
        raise


def perform(log: IndexLog, rest: Rest, begin: Entry, op: Callable[[Work], Entry]) -> Entry:
    """Do an action.

    Args:
        log: The index's.
        rest: How the index was found; if it is no longer so, the action does not begin.
        begin: The entry to begin with, in its transient state; its id, its time and the attempt
            are filled in.
        op: The work; returns the entry to end with, of which the same is filled in.

    Returns:
        The entry that is in force now.

    Raises:
        IndexBusy: If somebody else has begun an action, or has cancelled this one.
        Exception: What the work raises. The entry in force is the one it was before, again.
    """
    make_folders(log.log_folder)
    if rest.stable is None:
        _make_lasting(log)
    begun = _stamped(begin, rest.next_id, attempt=_new_attempt())
    work = Work(log=log, begun=begun, stable=rest.stable)
    with _given_up_on_failure(work):
        if not log.write(begun):
            raise _overtaken(log)
        final = _stamped(op(work), begun.id + 1, attempt=begun.attempt)
        if not log.write(final):
            raise _cancelled(work)
    return final


def end_cancelling(log: IndexLog, cancelling: Entry, stable: Entry | None) -> Entry:
    """Remove what was made since the stable entry, and write that entry again.

    An index without a stable entry exists no more; neither does one whose vacuuming had removed
    some of its files.

    Raises:
        IndexBusy: If somebody else has gone on with the log.
    """
    lost = stable is not None and not is_intact(log.folder, stable)
    vanished = stable is None or (lost and stable.state is State.DELETED)
    first = 0 if vanished or stable is None else stable.id
    discard_versions(log.folder, range(first, cancelling.id))
    after = blank(cancelling) if vanished or stable is None else stable
    final = _stamped(
        replace(after, action=cancelling.action), cancelling.id + 1, attempt=cancelling.attempt
    )
    if not log.write(final):
        problem = f'somebody else has changed the index "{final.name}" meanwhile'
        raise IndexBusy(problem, path=log.folder, remedy="Look at it, and cancel again if need be.")
    return final


def blank(entry: Entry) -> Entry:
    """Make the entry of an index that does not exist any more."""
    return replace(
        entry,
        state=State.DOES_NOT_EXIST,
        columns=(),
        manifest=None,
        version=-1,
        num_files=0,
        source_bytes=0,
    )


def unborn(log: IndexLog, entry_id: int) -> Entry:
    """Make the entry of an index whose first entry was never written."""
    return Entry(
        id=entry_id,
        name=os.path.basename(log.folder),  # noqa: PTH119  as in `creating`
        state=State.CREATING,
        version=-1,
        root=None,
        columns=(),
        action="create",
    )


def cancelling_entry(latest: Entry, next_id: int) -> Entry:
    """Make the entry that begins to cancel."""
    action = latest.action.removeprefix("cancel ")
    begin = replace(latest, state=State.CANCELLING, action=f"cancel {action}")
    return _stamped(begin, next_id, attempt=_new_attempt())


def _make_lasting(log: IndexLog) -> None:
    """Sync the names of the folders: who made them may have been killed before he did."""
    folder = log.log_folder
    for _ in ("_log", "the index", "its home"):
        folder = os.path.dirname(folder)  # noqa: PTH120  paths are strings, as in the log
        sync_folder(folder)


@contextlib.contextmanager
def _given_up_on_failure(work: Work) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError, IndexProblem):  # the first failure is the one to report
            _give_up(work)
        raise


def _give_up(work: Work) -> None:
    """Undo what the work has done, as far as the log says that it is ours to undo."""
    log, begun = work.log, work.begun
    ids = log.ids()
    if not ids or ids[-1] < begun.id or not log.holds(begun):
        return  # it never began
    if ids[-1] == begun.id:
        with contextlib.suppress(OSError):
            remove_tree(work.folder)
        cancelling = cancelling_entry(begun, begun.id + 1)
        if log.write(cancelling):
            end_cancelling(log, cancelling, work.stable)
    elif log.get(begun.id + 1).state is State.CANCELLING:
        remove_tree(work.folder)  # else the end was written before writing it failed


def _overtaken(log: IndexLog) -> IndexBusy:
    return IndexBusy(
        "another action on the index has begun meanwhile",
        path=log.folder,
        remedy="Try again when it has ended.",
    )


def _cancelled(work: Work) -> IndexBusy:
    return IndexBusy(
        f"the action ({work.begun.action}) was cancelled by somebody else while it was at work",
        path=work.log.folder,
    )


def _stamped(entry: Entry, entry_id: int, *, attempt: str) -> Entry:
    now = time.time_ns() // 1_000_000
    return replace(entry, id=entry_id, created_ms=now, attempt=attempt)


def _new_attempt() -> str:
    return secrets.token_hex(16)


def _moment(milliseconds: int) -> str:
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
