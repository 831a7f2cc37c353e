"""The view of `inspect`: filters by column and one by one, and their oddities."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import click

from bloomify.console.table import paragraphs, remarks_text, table
from bloomify.views.base import View
from parquet_bloomwriter.reports.inspection import column_table, filter_table, remarks_on
from parquet_bloomwriter.text import count, percent, safe, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bloomify.console.console import Glyphs
    from parquet_bloomwriter.reports.inspection import FileFilters

_FEW_FILTERS = 16
"""Largest number of filters of a file that are listed one by one by default."""

_FILTER_COLUMNS = (
    *("column", "row group", "values", "NDV", "bytes", "bits/value"),
    *("fill", "FPP", "place", "trust"),
)


@dataclass(kw_only=True)
class InspectView(View["FileFilters"]):
    """The view of the filters of files."""

    command: ClassVar[str] = "inspect"
    glyphs: Glyphs
    every_filter: bool
    """Whether filters are listed one by one, whatever their number."""

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
        """Return "no filters", or the like, for a file that has none; else ""."""
        return "" if report.filters else "no filters"

    def details(self, report: FileFilters, *, columns: int | None) -> str:
        """Return the table of columns, the table of filters, and the remarks."""
        model = filter_table([report]).only(*_FILTER_COLUMNS)
        if all(one.problem is None for one in report.filters):
            model = model.without("trust")
        is_short = self.every_filter or len(report.filters) <= _FEW_FILTERS
        return paragraphs(
            self._by_column([report], columns=columns),
            table(model, columns=columns, glyphs=self.glyphs, option=None) if is_short else "",
            remarks_text(remarks_on([report]), columns=columns),
        )

    def collect(self, report: FileFilters) -> None:
        """Keep the report for the table of all files."""
        self.files.append(report)

    def summary(self, *, columns: int | None) -> str:
        """Return the table of all files' columns, and the remarks."""
        listed = self._by_column(self.files, columns=columns)
        return paragraphs(listed, remarks_text(remarks_on(self.files), columns=columns))

    def tally(self) -> str:
        """Return how many filters all files have, and their bytes."""
        filters = sum(len(file.filters) for file in self.files)
        num_bytes = sum(file.num_filter_bytes for file in self.files)
        return f"{count(filters, 'filter')}, {size(num_bytes)}"

    def _by_column(self, files: Sequence[FileFilters], *, columns: int | None) -> str:
        model = column_table(files).without("type", "mean FPP", "problems")
        return table(model, columns=columns, glyphs=self.glyphs)
