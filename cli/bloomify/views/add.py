"""What `add` did: a row for each column, remarks, and the plan if it was asked for."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bloomify.console.table import Heading, labelled, table
from bloomify.views.base import View, facts_of
from bloomify.views.new_file import heading, new_file_document, plan_document, plan_table
from parquet_bloomwriter.reports.figures import BITS_PER_BYTE
from parquet_bloomwriter.reports.rewriting import ADDED_HEADINGS, listed_names, remark_on
from parquet_bloomwriter.text import count, growth, growth_warning, name, ranges, rate, safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bloomify.views.base import Document
    from parquet_bloomwriter import AddReport, ColumnReport

_HEADINGS = tuple(Heading(title=one.title, is_text=one.is_text) for one in ADDED_HEADINGS)

Remark = tuple[str, str]
"""A label of one word, and the reason."""


@dataclass(kw_only=True)
class AddView(View["AddReport"]):
    """Filters added to files."""

    command: ClassVar[str] = "add"
    with_plan: bool = False
    """Whether the pieces of each new file are shown."""

    is_dry: bool = False
    """Whether nothing was written."""

    totals: tuple[ColumnTotals, ...] = ()
    size_before: int = 0
    """Bytes of all files; so is the next."""

    size_after: int = 0

    def headline(self, report: AddReport) -> str:
        """Return how many filters were added, and the sizes of the file."""
        filters = count(report.num_built, "filter")
        if report.dry_run:
            done = f"{filters} would be added"
        elif report.num_built:
            done = f"{filters} added"
        elif report.written:
            done = "copied without new filters"
        else:
            return f"{heading(report)} no filter to add; the file stays as it is"
        return f"{heading(report)} {done}, {growth(report.size_before, report.size_after)}"

    def details(self, report: AddReport, *, columns: int | None) -> str:
        """Return the table, the remarks below it, and the plan if it was asked for."""
        parts = [_totals_table(map(ColumnTotals.of, report.columns), columns=columns)]
        remarks = _remarks(report)
        if report.fallback:
            remarks.append(("note", f"filters go to the end of the file: {report.fallback}"))
        if report.left_bytes:
            left = count(report.left_bytes, "byte")
            remarks.append(("note", f"{left} of replaced filters stay in the file, unused"))
        remarks += [("warning", _with_options(text)) for text in report.warnings]
        parts.append("\n".join(labelled(*remark, columns=columns) for remark in remarks))
        if self.with_plan and report.num_built:
            names = {column.ordinal: column.name for column in report.columns}
            parts.append(plan_table(report.pieces, names.__getitem__, columns=columns))
        return "\n\n".join(filter(None, parts))

    def document(self, report: AddReport) -> Document:
        """Return one file's entry of `files` in the JSON."""
        facts = ("num_rows", "num_row_groups", "num_built", "placement", "fallback", "left_bytes")
        return {
            **new_file_document(report),
            **facts_of(report, *facts),
            "warnings": list(report.warnings),
            "columns": [_column_document(column) for column in report.columns],
            **plan_document(report),
        }

    def collect(self, report: AddReport) -> None:
        """Add one file's columns and bytes to the totals."""
        self.is_dry = report.dry_run
        self.size_before += report.size_before
        self.size_after += report.size_after
        self.totals = merge(self.totals, map(ColumnTotals.of, report.columns))

    def summary(self, *, columns: int | None) -> str:
        """Return the table of all files, and the remarks below it."""
        grouped: dict[Remark, list[str]] = defaultdict(list)
        for column in self.totals:
            for remark, number in column.remarks.items():
                grouped[remark].append(f"{name(column.name)} ({count(number, 'row group')})")
            for note in column.notes:
                grouped["note", note].append(name(column.name))
            for text in column.warnings:
                grouped["warning", _with_options(text)].append(name(column.name))
        lines = [
            labelled(label, f"{listed_names(names)}: {safe(reason)}", columns=columns)
            for (label, reason), names in grouped.items()
        ]
        warning = growth_warning(self.size_before, self.size_after)
        if warning is not None:
            lines.append(labelled("warning", _with_options(warning), columns=columns))
        parts = [_totals_table(self.totals, columns=columns), "\n".join(lines)]
        return "\n\n".join(filter(None, parts))

    def tally(self) -> str:
        """Return how many filters were added to all files."""
        done = "would be added" if self.is_dry else "added"
        return f"{count(sum(column.num_built for column in self.totals), 'filter')} {done}"

    @property
    def passed(self) -> bool:
        """Whether any column got a filter, had a filter, or needs none."""
        remarks = [remark for column in self.totals for remark in column.remarks]
        none_built = not any(column.num_built or column.num_kept for column in self.totals)
        return not (none_built and any(label == "skipped" for label, _ in remarks))


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnTotals:
    """One column, summed over the row groups of one file or of many: a row of the table."""

    name: str
    """Dotted path."""

    asked_fpp: float
    num_row_groups: int
    num_built: int = 0
    """Row groups with a new filter."""

    num_kept: int = 0
    """Row groups whose filter stays."""

    ndv: int = 0
    """Distinct values of the row groups with a new filter, summed."""

    num_bytes: int = 0
    """New filters, headers and bitsets."""

    num_bitset_bytes: int = 0
    worst_fpp: float | None = None
    """Of all filters, new and kept; None without any."""

    remarks: Counter[Remark]
    """Remarks on row groups, with the number of row groups."""

    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, column: ColumnReport) -> ColumnTotals:
        """Sum up one column of one file."""
        return cls(
            name=column.name,
            asked_fpp=column.asked_fpp,
            num_row_groups=len(column.chunks),
            num_built=len(column.built),
            num_kept=sum(chunk.status == "kept" for chunk in column.chunks),
            ndv=column.ndv,
            num_bytes=column.bytes_added,
            num_bitset_bytes=sum(chunk.num_bytes for chunk in column.built),
            worst_fpp=column.achieved_fpp,
            remarks=Counter(remark for chunk in column.chunks if (remark := remark_on(chunk))),
            notes=column.notes,
            warnings=column.warnings,
        )

    @property
    def bits_per_value(self) -> float | None:
        """Bits of bitset per distinct value; None without new filters."""
        return BITS_PER_BYTE * self.num_bitset_bytes / self.ndv if self.ndv else None

    def __add__(self, other: ColumnTotals) -> ColumnTotals:
        rates = [rate for rate in (self.worst_fpp, other.worst_fpp) if rate is not None]
        return ColumnTotals(
            name=self.name,
            asked_fpp=self.asked_fpp,
            num_row_groups=self.num_row_groups + other.num_row_groups,
            num_built=self.num_built + other.num_built,
            num_kept=self.num_kept + other.num_kept,
            ndv=self.ndv + other.ndv,
            num_bytes=self.num_bytes + other.num_bytes,
            num_bitset_bytes=self.num_bitset_bytes + other.num_bitset_bytes,
            worst_fpp=max(rates, default=None),
            remarks=self.remarks + other.remarks,
            notes=tuple(dict.fromkeys(self.notes + other.notes)),
            warnings=tuple(dict.fromkeys(self.warnings + other.warnings)),
        )


def merge(known: Iterable[ColumnTotals], more: Iterable[ColumnTotals]) -> tuple[ColumnTotals, ...]:
    """Add up columns of the same name and asked rate, in the order of their first occurrence."""
    merged: dict[tuple[str, float], ColumnTotals] = {}
    for column in (*known, *more):
        key = (column.name, column.asked_fpp)
        merged[key] = merged[key] + column if key in merged else column
    return tuple(merged.values())


def _totals_table(totals: Iterable[ColumnTotals], *, columns: int | None) -> str:
    return table(_HEADINGS, [_row(column) for column in totals], columns=columns)


def _row(column: ColumnTotals) -> list[str]:
    bits = column.bits_per_value
    return [
        name(column.name),
        _progress(column),
        f"{column.ndv:,}" if column.num_built else "-",
        f"{column.num_bytes:,}" if column.num_built else "-",
        "-" if bits is None else f"{bits:,.1f}",
        rate(column.asked_fpp),
        rate(column.worst_fpp),
    ]


def _progress(column: ColumnTotals) -> str:
    if column.num_kept and not column.num_built:
        return f"{column.num_kept:,} kept"
    return f"{column.num_built:,} of {column.num_row_groups:,}"


def _remarks(report: AddReport) -> list[Remark]:
    """Group the remarks on one file by reason and row groups; return labels and sentences."""
    grouped: dict[tuple[str, str, tuple[int, ...]], list[str]] = defaultdict(list)
    for column in report.columns:
        places: dict[Remark, list[int]] = defaultdict(list)
        for chunk in column.chunks:
            if remark := remark_on(chunk):
                places[remark].append(chunk.row_group)
        for (label, reason), row_groups in places.items():
            grouped[label, reason, tuple(row_groups)].append(name(column.name))
        for note in column.notes:
            grouped["note", note, tuple(range(report.num_row_groups))].append(name(column.name))
    return [
        (label, f"{listed_names(names)}{_among(row_groups, report.num_row_groups)}: {safe(reason)}")
        for (label, reason, row_groups), names in grouped.items()
    ]


def _among(row_groups: Sequence[int], total: int) -> str:
    if len(row_groups) == total:
        return ""
    noun = "row group" if len(row_groups) == 1 else "row groups"
    return f" ({noun} {ranges(row_groups)})"


def _with_options(text: str) -> str:
    """Name the options of the command in a warning that names arguments of the library."""
    proposal = "a higher --fpp, a smaller --max-bytes"
    return text.replace(": max_bytes is", ": --max-bytes is").replace(
        "a higher fpp, a smaller max_bytes", proposal
    )


def _column_document(column: ColumnReport) -> Document:
    rates = ("asked_fpp", "achieved_fpp", "ndv", "bytes_added", "bits_per_value")
    return {
        **facts_of(column, "name", "ordinal", "physical_type", *rates),
        "notes": list(column.notes),
        "row_groups": [dataclasses.asdict(chunk) for chunk in column.chunks],
    }
