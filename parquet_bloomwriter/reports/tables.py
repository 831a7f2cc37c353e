"""What was done to one file: filters added, taken out, repaired."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from parquet_bloomwriter.html.summary import Remark, Summary
from parquet_bloomwriter.html.table import Heading, Table
from parquet_bloomwriter.reports.markup import identifier
from parquet_bloomwriter.reports.rewriting import Status
from parquet_bloomwriter.text import count, growth, name, rate, row_groups, size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parquet_bloomwriter.reports.markup import Content
    from parquet_bloomwriter.reports.rewriting import (
        AddReport,
        ChunkReport,
        ColumnReport,
        RepairReport,
        StripReport,
    )

_NAMES_LISTED = 12
"""Columns named in one remark; the others are counted."""

_ADDED = (
    Heading(title="column", is_text=True),
    Heading(title="row groups", hint="With a new filter, of all"),
    Heading(title="NDV", hint="Distinct values per row group, summed"),
    Heading(title="bytes", hint="Headers and bitsets"),
    Heading(title="bits/value", hint="Bits of bitset per distinct value"),
    Heading(title="FPP asked"),
    Heading(title="achieved", hint="Worst exact rate of any filter, new or kept"),
)

_SENTENCES = {
    Status.KEPT: "the filters that are there contain every value",
    Status.EMPTY: "no values, so no filter",
}


def added(report: AddReport) -> Summary:
    """Filters added."""
    remarks = _remarks_on(report)
    if report.fallback:
        sentence = f"filters go to the end of the file: {report.fallback}"
        remarks.append(Remark(label="note", sentence=sentence))
    if report.left_bytes:
        sentence = f"{size(report.left_bytes)} of replaced filters stay in the file, unused"
        remarks.append(Remark(label="note", sentence=sentence))
    return Summary(
        paths=(report.path, report.output),
        headline=_added_headline(report),
        table=Table(
            caption="Filters added, by column",
            headings=_ADDED,
            rows=map(_added_row, report.columns),
            num_rows=len(report.columns),
            noun="column",
        ),
        remarks=tuple(remarks),
    )


def stripped(report: StripReport) -> Summary:
    """Filters taken out."""
    remarks = []
    if report.columns:
        remarks.append(Remark(label="columns", sentence=_listed(map(name, report.columns))))
    if report.left_bytes:
        left = f"{size(report.left_bytes)} stay in the file"
        reason = "it is not certain that they belong to a filter alone"
        remarks.append(Remark(label="note", sentence=f"{left}: {reason}"))
    headline = "there is no filter to take out"
    if report.num_filters:
        done = "would be taken out" if report.dry_run else "taken out"
        headline = f"{count(report.num_filters, 'filter')} {done}, {_growth(report)}"
    paths = (report.path, report.output)
    return Summary(paths=paths, headline=headline, remarks=tuple(remarks))


def repaired(report: RepairReport) -> Summary:
    """Lengths filled in."""
    headline = "no length of a filter is missing"
    if report.num_repaired:
        done = "would be filled in" if report.dry_run else "filled in"
        lengths = f"{count(report.num_repaired, 'length')} of filters"
        headline = f"{lengths} {done}, {_growth(report)}"
    return Summary(
        paths=(report.path, report.output),
        headline=headline,
        remarks=tuple(Remark(label="doubtful", sentence=where) for where in report.unrepaired),
    )


def _added_headline(report: AddReport) -> str:
    filters = count(report.num_built, "filter")
    if report.dry_run:
        return f"{filters} would be added, {_growth(report)}"
    if report.num_built:
        return f"{filters} added, {_growth(report)}"
    if report.written:
        return f"copied without new filters, {_growth(report)}"
    return "no filter to add; the file stays as it is"


def _growth(report: AddReport | StripReport | RepairReport) -> str:
    return growth(report.size_before, report.size_after).replace("->", "→")


def _added_row(column: ColumnReport) -> list[Content]:
    bits = column.bits_per_value
    return [
        identifier(column.name),
        _progress(column),
        f"{column.ndv:,}" if column.built else "-",
        f"{column.bytes_added:,}" if column.built else "-",
        "-" if bits is None else f"{bits:,.1f}",
        rate(column.asked_fpp),
        rate(column.achieved_fpp),
    ]


def _progress(column: ColumnReport) -> str:
    num_kept = column.count(Status.KEPT)
    if num_kept and not column.built:
        return f"{num_kept:,} kept"
    return f"{len(column.built):,} of {len(column.chunks):,}"


def _remarks_on(report: AddReport) -> list[Remark]:
    """Group what is to be said by reason and row groups."""
    grouped: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for column in report.columns:
        places: dict[tuple[str, str], list[int]] = defaultdict(list)
        for chunk in column.chunks:
            if said := _said_of(chunk):
                places[said].append(chunk.row_group)
        for (label, reason), ordinals in places.items():
            is_everywhere = len(ordinals) == report.num_row_groups
            where = "" if is_everywhere else f" ({row_groups(ordinals)})"
            grouped[label, reason, where].append(name(column.name))
        for note in column.notes:
            grouped["note", note, ""].append(name(column.name))
    return [
        Remark(label=label, sentence=f"{_listed(names)}{where}: {reason}")
        for (label, reason, where), names in grouped.items()
    ]


def _said_of(chunk: ChunkReport) -> tuple[str, str] | None:
    """A label and a reason, if there is anything to say about a chunk."""
    if chunk.status is Status.BUILT:
        return ("replaced", chunk.reason) if chunk.reason else None
    return chunk.status.value, _SENTENCES.get(chunk.status, chunk.reason)


def _listed(names: Iterable[str]) -> str:
    known = list(names)
    more = len(known) - _NAMES_LISTED
    listed = ", ".join(known[:_NAMES_LISTED])
    return f"{listed} and {more:,} more" if more > 0 else listed
