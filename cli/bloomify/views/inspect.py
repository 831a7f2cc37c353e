"""The filters that `inspect` found: by column, one by one, and what is unusual about them.

JSON has no infinity: an infinite NDV, which means that all bits are set, is null.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import click

from bloomify.console.glyphs import share_bar
from bloomify.console.table import Heading, labelled, table
from bloomify.views.base import View, facts_of
from parquet_bloomwriter.text import count, name, percent, rate, safe, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bloomify.console.glyphs import Glyphs
    from bloomify.views.base import Document
    from parquet_bloomwriter.reports.figures import ColumnFigures
    from parquet_bloomwriter.reports.inspection import ColumnFilters, FileFilters, FilterFacts

_FEW_FILTERS = 16
"""Largest number of filters of a file that are listed one by one by default."""

_COLUMN_HEADINGS = (
    Heading(title="column", is_text=True),
    Heading(title="row groups"),
    Heading(title="NDV"),
    Heading(title="bytes"),
    Heading(title="of file", is_extra=True),
    Heading(title="bits/value", is_extra=True),
    Heading(title="fill", is_text=True),
    Heading(title="worst FPP"),
    Heading(title="place", is_text=True),
)

_FILTER_HEADINGS = (
    Heading(title="column", is_text=True),
    Heading(title="row group"),
    Heading(title="values", is_extra=True),
    Heading(title="NDV"),
    Heading(title="bytes"),
    Heading(title="bits/value", is_extra=True),
    Heading(title="fill", is_text=True),
    Heading(title="FPP"),
    Heading(title="place", is_text=True),
    Heading(title="trust", is_text=True, colors={"problem": "red"}),
)


@dataclass(kw_only=True)
class InspectView(View["FileFilters"]):
    """The filters of files."""

    command: ClassVar[str] = "inspect"
    glyphs: Glyphs
    every_filter: bool
    """Whether filters are listed one by one, however many."""

    files: list[FileFilters] = field(default_factory=list)

    def headline(self, report: FileFilters) -> str:
        """Return how many filters the file has, and their bytes."""
        path = click.style(f"{safe(report.path or '')}:", bold=True)
        groups = count(report.num_row_groups, "row group")
        if not report.filters:
            return f"{path} no filters in {groups}"
        share = f"{size(report.num_filter_bytes)}, {percent(report.share)} of the file"
        return f"{path} {count(len(report.filters), 'filter')} in {groups}, {share}"

    def lack(self, report: FileFilters) -> str:
        """Return that the file has no filters, if so."""
        return "" if report.filters else "no filters"

    def details(self, report: FileFilters, *, columns: int | None) -> str:
        """Return the table of columns, the table of filters, and the remarks."""
        parts = [self._by_column([report], columns=columns)]
        if self.every_filter or len(report.filters) <= _FEW_FILTERS:
            parts.append(self._one_by_one(report, columns=columns))
        parts.append(_remarks([report], columns=columns))
        return "\n\n".join(filter(None, parts))

    def collect(self, report: FileFilters) -> None:
        """Keep the report for the table of all files."""
        self.files.append(report)

    def summary(self, *, columns: int | None) -> str:
        """Return the table of all files' columns, and the remarks."""
        parts = [
            self._by_column(self.files, columns=columns),
            _remarks(self.files, columns=columns),
        ]
        return "\n\n".join(filter(None, parts))

    def tally(self) -> str:
        """Return how many filters all files have, and their bytes."""
        filters = sum(len(file.filters) for file in self.files)
        num_bytes = sum(file.num_filter_bytes for file in self.files)
        return f"{count(filters, 'filter')}, {size(num_bytes)}"

    def document(self, report: FileFilters) -> Document:
        """Return one file's entry of `files` in the JSON."""
        return {
            **facts_of(report, "path", "size", "num_rows", "num_row_groups", "created_by"),
            "num_filters": len(report.filters),
            **facts_of(report, "num_filter_bytes", "share"),
            "columns": [_column_document(column) for column in report.columns],
        }

    def _by_column(self, files: Sequence[FileFilters], *, columns: int | None) -> str:
        from parquet_bloomwriter.reports.figures import figures_of

        total = sum(file.size for file in files)
        rows = [self._column(one, total) for one in figures_of(files)]
        return table(_COLUMN_HEADINGS, rows, columns=columns) if rows else ""

    def _column(self, one: ColumnFigures, total: int) -> list[str]:
        places = dict.fromkeys(str(placed.facts.place) for placed in one.filters)
        return [
            name(one.name),
            f"{len(one.filters):,} of {one.num_row_groups:,}",
            self._ndv(one.ndv),
            f"{one.num_filter_bytes:,}" if one.filters else "-",
            percent(one.num_filter_bytes / total) if one.filters else "-",
            "-" if one.bits_per_value is None else f"{one.bits_per_value:,.1f}",
            self._fill(one.mean_fill),
            rate(one.worst_fpp),
            ", ".join(places) or "-",
        ]

    def _one_by_one(self, report: FileFilters, *, columns: int | None) -> str:
        rows = [self._filter(one) for one in report.filters]
        is_sound = all(one.problem is None for one in report.filters)
        shown = -1 if is_sound else len(_FILTER_HEADINGS)
        rows, headings = [row[:shown] for row in rows], _FILTER_HEADINGS[:shown]
        return table(headings, rows, columns=columns) if rows else ""

    def _filter(self, one: FilterFacts) -> list[str]:
        return [
            name(one.column),
            str(one.row_group),
            f"{one.num_values:,}",
            self._ndv(one.ndv),
            "-" if one.length is None else f"{one.length:,}",
            "-" if one.bits_per_value is None else f"{one.bits_per_value:,.1f}",
            self._fill(one.fill),
            rate(one.fpp),
            str(one.place),
            "ok" if one.problem is None else "problem",
        ]

    def _ndv(self, number: float | None) -> str:
        if number is None:
            return "-"
        return self.glyphs.infinity if number == float("inf") else f"{number:,.0f}"

    def _fill(self, share: float | None) -> str:
        return "-" if share is None else f"{share_bar(share, glyphs=self.glyphs)} {share:4.0%}"


def _remarks(files: Sequence[FileFilters], *, columns: int | None) -> str:
    """Return each problem and oddity once, with the row groups that it is about."""
    from parquet_bloomwriter.reports.inspection import remarks_on

    return "\n".join(
        labelled(remark.label, remark.sentence, columns=columns) for remark in remarks_on(files)
    )


def _column_document(column: ColumnFilters) -> Document:
    names = ("name", "ordinal", "physical_type", "type", "num_row_groups", "num_compressed_bytes")
    return {
        **facts_of(column, *names),
        "filters": [_filter_document(one) for one in column.filters],
    }


def _filter_document(one: FilterFacts) -> Document:
    facts = dataclasses.asdict(one)
    ndv = None if one.ndv is None or not math.isfinite(one.ndv) else one.ndv
    return {**facts, "ndv": ndv, "bits_per_value": one.bits_per_value}
