"""The actions that build nothing: delete, restore, vacuum, cancel."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import IndexNotFound, IndexProblem
from parquet_bloomwriter.index.describe import report_on
from parquet_bloomwriter.index.entry import STABLE, OtherFormat, State
from parquet_bloomwriter.index.log.transaction import (
    CREATE_IT,
    cancel_action,
    fail_if_overtaken,
    load_existing,
    never_written,
    next_id,
    nonexistent,
    run_transaction,
)

if TYPE_CHECKING:
    from parquet_bloomwriter.index.entry import Entry
    from parquet_bloomwriter.index.log.log import IndexLog
    from parquet_bloomwriter.index.report import IndexReport


def delete(log: IndexLog) -> IndexReport:
    """Stop queries from using the index; all its files stay."""
    log.check_writable()
    stable = load_existing(log, states=frozenset({State.ACTIVE}), to="deleted")
    begin = replace(stable, state=State.DELETING, action="delete")
    with run_transaction(log, stable, begin) as transaction:
        final = transaction.commit(replace(begin, state=State.DELETED))
    return report_on(log, final, action="delete")


def restore(log: IndexLog) -> IndexReport:
    """Let queries use a deleted index again."""
    log.check_writable()
    stable = load_existing(log, states=frozenset({State.DELETED}), to="restored")
    with fail_if_overtaken(log, stable):
        if not log.is_intact(stable):
            problem, remedy = "some files of the index are gone", "Vacuum it, and create it."
            raise IndexProblem(problem, path=log.folder, remedy=remedy)
    begin = replace(stable, state=State.RESTORING, action="restore")
    with run_transaction(log, stable, begin) as transaction:
        final = transaction.commit(replace(begin, state=State.ACTIVE))
    return report_on(log, final, action="restore")


def vacuum(log: IndexLog) -> IndexReport:
    """Remove the files that the stable entry does not need; of a deleted index, all files."""
    log.check_writable()
    stable = load_existing(log, states=frozenset({State.ACTIVE, State.DELETED}), to="vacuumed")
    first_id = next_id(stable)
    begin = replace(stable, state=State.VACUUMING, action="vacuum")
    is_deleted = stable.state is State.DELETED
    end = nonexistent(begin) if is_deleted else replace(begin, state=State.ACTIVE)
    with fail_if_overtaken(log, stable):
        waste = log.unreferenced_files(end, before=first_id)
    log.storage.remove_leftovers(log.log_folder)
    if not waste and not is_deleted:
        log.storage.finish_removal(log.folder, before=first_id)
        return report_on(log, stable, action="vacuum", changed=False)
    with run_transaction(log, stable, begin) as transaction:
        paths = [path for path, _ in waste]
        step = log.storage.removed_at_once
        for start in range(0, len(paths), step):
            transaction.check_not_cancelled()
            log.storage.remove_files(paths[start : start + step])
        # No entry refers to the files any more: they must not come back.
        log.storage.finish_removal(log.folder, before=first_id)
        final = transaction.commit(end)
    return report_on(
        log,
        final,
        action="vacuum",
        removed_files=len(waste),
        removed_bytes=sum(size for _, size in waste),
    )


def cancel(log: IndexLog) -> IndexReport:
    """End an unfinished action, and make the last stable version the newest one again."""
    log.check_writable()
    ids = log.ids()
    if not ids:
        raise IndexNotFound("there is no index", path=log.folder, remedy=CREATE_IT)
    entry = _newest_readable(log, ids)
    is_at_work = entry.id != ids[-1] or entry.state not in STABLE
    if is_at_work:
        entry = cancel_action(log, entry, _stable_or_none(log), cancelling_id=ids[-1] + 1)
    log.storage.remove_leftovers(log.log_folder)
    return report_on(log, entry, action="cancel", changed=is_at_work)


def _newest_readable(log: IndexLog, ids: list[int]) -> Entry:
    """Read the newest log entry that is not damaged."""
    for entry_id in reversed(ids):
        try:
            return log.get(entry_id)
        except OtherFormat:
            raise
        except IndexProblem:
            continue
    if log.is_only_claimed():
        return never_written(log, ids[-1])
    raise IndexProblem(
        "no entry of the index's log can be read",
        path=log.log_folder,
        remedy="Remove the index's folder, and create it anew.",
    )


def _stable_or_none(log: IndexLog) -> Entry | None:
    """Read the newest stable log entry; return None if there is none that can be read."""
    try:
        return log.latest_stable()
    except OtherFormat:
        raise
    except IndexProblem:
        return None
