"""From the entry in force to the report on what led there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.index.layout import root_of
from parquet_bloomwriter.index.log.vacuum import bytes_of
from parquet_bloomwriter.index.report import IndexReport, column_report

if TYPE_CHECKING:
    from parquet_bloomwriter.index.actions.lifecycle import Outcome
    from parquet_bloomwriter.index.log.entry import Entry
    from parquet_bloomwriter.index.log.log import IndexLog


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
