"""The summaries of an index's reports: of lookups, of actions, and of an index as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.reports.markup import identifier
from parquet_bloomwriter.reports.summary import Heading, Remark, Summary, Table, passed_over_remarks
from parquet_bloomwriter.text import clipped, count, rate, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.index.report import IndexColumn, IndexInfo, IndexReport, LookupReport
    from parquet_bloomwriter.reports.markup import Content

_COLUMNS = (
    Heading(title="column", is_text=True),
    Heading(title="FPP", hint="Asked for, of the filter of each file"),
    Heading(title="parts", hint="Files of the index that hold the filters of data files"),
    Heading(title="bytes", hint="Of these parts"),
    Heading(title="bytes of slices"),
    Heading(title="NDV", hint="Distinct values of the whole table, estimated"),
    Heading(title="FPP of all values", hint="Exact rate of the filter of the whole table"),
)


def summary_of_lookup(report: LookupReport) -> Summary:
    """Return the summary of a lookup: the files that might match."""
    skipped = size(report.num_bytes - report.kept_bytes)
    files = f"{report.num_kept:,} of {count(report.num_files, 'file')} might match"
    unknown = Remark(label="note", sentence=report.unknown_note)
    return Summary(
        paths=(report.root,),
        headline=f"{clipped(report.predicate)}: {files}; {skipped} need not be read",
        table=Table(
            caption="Files that might match",
            headings=(Heading(title="file", is_text=True),),
            rows=([identifier(path)] for path in report.paths),
            num_rows=len(report.paths),
            noun="file",
        ),
        remarks=(
            *(Remark(label=f"index {use.name}", sentence=use.outcome) for use in report.indexes),
            *([unknown] if unknown.sentence else []),
            *passed_over_remarks(report.passed_over),
        ),
    )


def summary_of_action(report: IndexReport) -> Summary:
    """Return the summary of what an action did to an index."""
    return Summary(
        paths=(report.root,),
        headline=f"index {report.name}: {report.outcome}",
        table=_table(report.columns),
        remarks=(
            *(Remark(label="left out", sentence=str(one)) for one in report.left_out),
            *(
                Remark(label="no filter", sentence=f"{one.path}: {one.reason}")
                for one in report.unindexed
            ),
            *(Remark(label="note", sentence=note) for note in report.notes),
            *passed_over_remarks(report.passed_over),
        ),
    )


def summary_of_index(info: IndexInfo) -> Summary:
    """Return the summary of an index as it is."""
    return Summary(
        paths=(info.root or info.folder,),
        headline=f"index {info.name}: {info.status}",
        table=_table(info.columns),
    )


def _table(columns: Sequence[IndexColumn]) -> Table:
    return Table(
        caption="Columns of the index",
        headings=_COLUMNS,
        rows=map(_row, columns),
        num_rows=len(columns),
        noun="column",
    )


def _row(column: IndexColumn) -> list[Content]:
    return [
        identifier(column.name),
        rate(column.fpp),
        f"{column.num_parts:,}",
        f"{column.part_bytes:,}",
        "-" if column.slice_bytes is None else f"{column.slice_bytes:,}",
        "-" if column.global_ndv is None else f"{column.global_ndv:,}",
        rate(column.global_fpp),
    ]
