"""Which columns deserve filters, and what those cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.html.inspection import quantity
from parquet_bloomwriter.html.summary import Remark, Summary
from parquet_bloomwriter.html.table import Heading, Table
from parquet_bloomwriter.reports.markup import identifier
from parquet_bloomwriter.text import count, name, percent, rate, size

if TYPE_CHECKING:
    from parquet_bloomwriter.reports.advice import AdviseReport, ColumnAdvice
    from parquet_bloomwriter.reports.markup import Content

_HEADINGS = (
    Heading(title="column", is_text=True),
    Heading(title="type", is_text=True, hint="Physical type"),
    Heading(title="advice", is_text=True),
    Heading(title="NDV", hint="Distinct values per row group, estimated from a sample"),
    Heading(title="bytes", hint="Headers and bitsets that would be added"),
    Heading(title="read now", hint="Share of row groups that statistics leave to a lookup"),
    Heading(title="with filters", hint="The same with filters, for a value that is there"),
    Heading(title="absent", hint="The same with filters, for a value that is nowhere"),
    Heading(title="reason", is_text=True, is_long=True),
)


def advised(report: AdviseReport) -> Summary:
    """One row per column, and the command to run."""
    remarks = [
        Remark(label="note", sentence=f"{name(column.name)}: {note}")
        for column in report.ranked
        for note in column.notes
    ]
    if report.command:
        remarks.insert(0, Remark(label="to run", sentence=report.command))
    paths = report.paths if len(report.paths) == 1 else (count(report.num_files, "file"),)
    return Summary(
        paths=paths if report.paths else (None,),
        headline=_headline(report),
        table=Table(
            caption="Advice by column",
            headings=_HEADINGS,
            rows=map(_row, report.ranked),
            num_rows=len(report.columns),
            noun="column",
        ),
        remarks=tuple(remarks),
    )


def _headline(report: AdviseReport) -> str:
    if not report.added:
        return "no column deserves new filters"
    verb = "deserves" if len(report.added) == 1 else "deserve"
    cost = f"{size(report.num_filter_bytes)} ({percent(report.share)})"
    asked = rate(report.fpp)
    return f"{count(len(report.added), 'column')} {verb} filters, {cost} at an FPP of {asked}"


def _row(column: ColumnAdvice) -> list[Content]:
    return [
        identifier(column.name),
        column.physical_type,
        column.verdict.value,
        quantity(column.ndv),
        "-" if column.num_filter_bytes is None else f"{column.num_filter_bytes:,}",
        _rest(column.skipped_by_statistics),
        _rest(column.skipped_present),
        _rest(column.skipped_absent),
        column.reason,
    ]


def _rest(skipped: float | None) -> str:
    """The share of row groups that is read."""
    return "-" if skipped is None else percent(1 - skipped)
