"""The view of changes to a table: its commits, a row for each column, remarks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bloomify.console.table import paragraphs, remarks_text, table
from parquet_bloomwriter.reports.summary import Remark
from parquet_bloomwriter.rewrite.report import added_table
from parquet_bloomwriter.text import count, growth, safe, size

if TYPE_CHECKING:
    from parquet_bloomwriter import TableReport

_MOST_REMARKS = 20


def table_text(report: TableReport, *, columns: int | None) -> str:
    """Return the headline, the table of columns, and the remarks."""
    head = f"{safe(report.table)}: {report.headline}"
    if report.bytes_before and report.dry_run:
        head += f"; {size(report.bytes_before)} to be written anew"
    elif report.bytes_before:
        head += f", {growth(report.bytes_before, report.bytes_after)}"
    remarks = report.remarks()
    if report.asked_by_table:
        remarks.insert(0, Remark("asked for", "by the table's own properties"))
    below = remarks_text(remarks[:_MOST_REMARKS], columns=columns)
    if (more := len(remarks) - _MOST_REMARKS) > 0:
        below += f"\nand {count(more, 'remark')} more: see --json"
    return paragraphs(head, table(added_table(report.totals), columns=columns), below)
