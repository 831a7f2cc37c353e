"""The actions that build nothing: delete, restore, vacuum, cancel.

From the entry in force to the report on what led there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.durable import remove_files, remove_leftovers, sync_folder
from parquet_bloomwriter.errors import (
    IndexBusy,
    IndexNotFound,
    IndexProblem,
    InvalidArgument,
    Proposal,
    Way,
)
from parquet_bloomwriter.index.layout import root_of
from parquet_bloomwriter.index.log.entry import STABLE, OtherFormat, State
from parquet_bloomwriter.index.log.transaction import (
    at_rest,
    blank,
    cancelling_entry,
    end_cancelling,
    looking_at,
    perform,
    unborn,
)
from parquet_bloomwriter.index.log.vacuum import (
    bytes_of,
    is_intact,
    remove_empty_folders,
    unreferenced,
)
from parquet_bloomwriter.index.report import IndexReport, column_report

if TYPE_CHECKING:
    from parquet_bloomwriter.index.log.entry import Entry
    from parquet_bloomwriter.index.log.log import IndexLog
    from parquet_bloomwriter.index.log.transaction import Rest, Work

_CREATE = (Proposal(Way.CREATE_INDEX, "Create it"), ".")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an action came to."""

    entry: Entry
    """In force now."""

    changed: bool
    removed_files: int = 0
    removed_bytes: int = 0


def existing(log: IndexLog, rest: Rest, *, states: frozenset[State], to: str) -> Entry:
    """Return the entry in force, if an action can begin from its state.

    Raises:
        IndexNotFound: If there is no index, or no more.
        InvalidArgument: If it is in another state.
    """
    stable = rest.stable
    if stable is None or stable.state is State.DOES_NOT_EXIST:
        problem = "the index does not exist any more" if stable else "there is no index"
        raise IndexNotFound(problem, path=log.folder, remedy=_CREATE)
    if stable.state not in states:
        remedy = "Restore it first." if stable.state is State.DELETED else ""
        problem = f'the index "{stable.name}" is {stable.state}, and cannot be {to}'
        raise InvalidArgument(problem, path=log.folder, remedy=remedy)
    return stable


def delete(log: IndexLog) -> Outcome:
    """Stop queries from using the index; all its files stay."""
    rest = at_rest(log)
    stable = existing(log, rest, states=frozenset({State.ACTIVE}), to="deleted")
    begin = replace(stable, state=State.DELETING, action="delete")
    return Outcome(
        entry=perform(log, rest, begin, lambda _: replace(begin, state=State.DELETED)), changed=True
    )


def restore(log: IndexLog) -> Outcome:
    """Let queries use a deleted index again."""
    rest = at_rest(log)
    stable = existing(log, rest, states=frozenset({State.DELETED}), to="restored")
    with looking_at(log, rest):
        if not is_intact(log.folder, stable):
            problem, remedy = "some files of the index are gone", "Vacuum it, and create it."
            raise IndexProblem(problem, path=log.folder, remedy=remedy)
    begin = replace(stable, state=State.RESTORING, action="restore")
    return Outcome(
        entry=perform(log, rest, begin, lambda _: replace(begin, state=State.ACTIVE)), changed=True
    )


def vacuum(log: IndexLog) -> Outcome:
    """Remove what the entry in force does not need: of a deleted index, everything."""
    rest = at_rest(log)
    states = frozenset({State.ACTIVE, State.DELETED})
    stable = existing(log, rest, states=states, to="vacuumed")
    begin = replace(stable, state=State.VACUUMING, action="vacuum")
    final = blank(begin) if stable.state is State.DELETED else replace(begin, state=State.ACTIVE)
    with looking_at(log, rest):
        waste = unreferenced(log.folder, final, before=rest.next_id)
    remove_leftovers(log.log_folder)
    if not waste and stable.state is State.ACTIVE:
        remove_empty_folders(log.folder, before=rest.next_id)
        return Outcome(entry=stable, changed=False)

    def remove(work: Work) -> Entry:
        for path, _ in waste:
            work.check_not_cancelled()
            remove_files([path])
        remove_empty_folders(log.folder, before=work.begun.id)
        sync_folder(log.folder)  # no entry refers to them any more: they must not come back
        return final

    return Outcome(
        entry=perform(log, rest, begin, remove),
        changed=True,
        removed_files=len(waste),
        removed_bytes=sum(size for _, size in waste),
    )


def cancel(log: IndexLog) -> Outcome:
    """End what somebody has begun and not ended, and put the last stable version in force again."""
    ids = log.ids()
    if not ids:
        raise IndexNotFound("there is no index", path=log.folder, remedy=_CREATE)
    latest = _newest(log, ids)
    if latest.id == ids[-1] and latest.state in STABLE:
        remove_leftovers(log.log_folder)
        return Outcome(entry=latest, changed=False)
    stable = _stable(log)
    cancelling = cancelling_entry(latest, ids[-1] + 1)
    if not log.write(cancelling):
        problem = f'somebody else has changed the index "{latest.name}" meanwhile'
        raise IndexBusy(problem, path=log.folder, remedy="Look at it, and cancel again if need be.")
    entry = end_cancelling(log, cancelling, stable)
    remove_leftovers(log.log_folder)
    return Outcome(entry=entry, changed=True)


def _newest(log: IndexLog, ids: list[int]) -> Entry:
    """Read the newest entry that is whole."""
    for entry_id in reversed(ids):
        try:
            return log.get(entry_id)
        except OtherFormat:
            raise
        except IndexProblem:
            continue
    if log.is_only_claimed():
        return unborn(log, ids[-1])
    raise IndexProblem(
        "no entry of the index's log can be read",
        path=log.log_folder,
        remedy="Remove the index's folder, and create it anew.",
    )


def _stable(log: IndexLog) -> Entry | None:
    try:
        return log.latest_stable()
    except OtherFormat:
        raise
    except IndexProblem:
        return None


def report_on(log: IndexLog, outcome: Outcome, *, action: str) -> IndexReport:
    """Report on an action that built nothing."""
    return report_of(
        log,
        outcome.entry,
        action=action,
        changed=outcome.changed,
        removed_files=outcome.removed_files,
        removed_bytes=outcome.removed_bytes,
    )


def report_of(
    log: IndexLog,
    entry: Entry,
    *,
    action: str,
    changed: bool,
    **facts: Any,  # noqa: ANN401  fields of the report
) -> IndexReport:
    """Report on an action, of which `facts` tells what the entry does not."""
    return IndexReport(
        action=action,
        name=entry.name,
        folder=log.folder,
        root=root_of(log.folder, entry),
        changed=changed,
        state=entry.state,
        log_id=entry.id,
        version=entry.version,
        num_files=entry.num_files,
        source_bytes=entry.source_bytes,
        index_bytes=bytes_of(entry),
        columns=tuple(column_report(column) for column in entry.columns),
        **facts,
    )
