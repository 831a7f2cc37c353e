"""The view of `advise`: a row for each column, and the notes below."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import click

from bloomify.console.table import cut, paragraphs, remarks_text, table
from bloomify.views.base import View
from parquet_bloomwriter.advising.report import advice_table, notes_of
from parquet_bloomwriter.reports.summary import Remark, picked, plain
from parquet_bloomwriter.text import count, name, percent, safe, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bloomify.views.base import Document
    from parquet_bloomwriter.advising.report import AdviseReport, ColumnAdvice

_MOST_REASONS = 4
"""Most reasons of a long list of columns, which often differ in their figures only."""

_FIGURES = re.compile(r"[\d.,]+")


@dataclass(kw_only=True)
class AdviseView(View["AdviseReport"]):
    """The view of columns that deserve filters; all files are judged together."""

    command: ClassVar[str] = "advise"
    inputs: tuple[str, ...]
    """The inputs as they were given: the recommended command names these, not every file."""

    reports: list[AdviseReport] = field(default_factory=list)
    _together: AdviseReport | None = None
    """Cached result of `together`; None after a further report was added."""

    def headline(self, report: AdviseReport) -> str:
        """Return the sizes of one file, or of many together."""
        parts = [
            count(report.num_files, "file"),
            f"{count(report.num_rows, 'row')} in {count(report.num_row_groups, 'row group')}",
            size(report.size),
        ]
        if len(report.paths) == 1:
            first = safe(report.paths[0])
            parts = parts[1:] if report.num_files == 1 else parts
        else:
            first, *parts = parts
        return f"{click.style(f'{first}:', bold=True)} {', '.join(parts)}"

    def details(self, report: AdviseReport, *, columns: int | None) -> str:
        """Return the table, the reasons below it, and the notes."""
        model = advice_table(report).without("type", "absent", "reason")
        reasons = [Remark("reason", text) for text in _reasons(report)]
        return paragraphs(
            table(model, columns=columns),
            remarks_text([*reasons, *notes_of(report)], columns=columns),
        )

    def collect(self, report: AdviseReport) -> None:
        """Keep the report, to be merged with the others."""
        self.reports.append(report)
        self._together = None

    def summary(self, *, columns: int | None) -> str:
        """Return headline, table and notes on all files together."""
        report = self.together()
        return paragraphs(self.headline(report), self.details(report, columns=columns))

    def tally(self) -> str:
        """Return how many columns would get filters, and the cost of the filters."""
        report = self.together()
        if not report.added:
            return _none_added(report)
        cost = f"{size(report.num_filter_bytes)}, {percent(report.share)} of all bytes"
        return f"{count(len(report.added), 'column')} would get filters, {cost}"

    def document(self, report: AdviseReport) -> Document:
        """Return one file's entry of `files` in the JSON."""
        return {"path": report.paths[0], **picked(report, "size", "num_rows", "num_row_groups")}

    def overall(self) -> Document:
        """Return the advice for the JSON; empty if no file could be read."""
        return plain(self.together()) if self.reports else {}

    def together(self) -> AdviseReport:
        """Return the advice on all files together."""
        from parquet_bloomwriter.verbs.advise import merge_advice

        if self._together is None:
            self._together = merge_advice(self.reports, paths=self.inputs)
        return self._together


def _reasons(report: AdviseReport) -> Iterator[str]:
    """Yield the reason of each column; of many columns, each reason once, with its first column."""
    shown, rest = cut(report.ranked, "column")
    if not rest:
        yield from (f"{name(one.name)}: {one.reason}" for one in shown)
        return
    alike: dict[str, list[ColumnAdvice]] = defaultdict(list)
    for one in report.ranked:
        alike[_FIGURES.sub("", one.reason)].append(one)
    for first, *others in list(alike.values())[:_MOST_REASONS]:
        more = f" (and {count(len(others), 'column')} like it)" if others else ""
        yield f"{name(first.name)}{more}: {first.reason}"
    if len(alike) > _MOST_REASONS:
        yield f"{count(len(alike) - _MOST_REASONS, 'more reason')}; --verbose lists them"


def _none_added(report: AdviseReport) -> str:
    considered = sum(column.verdict == "CONSIDER" for column in report.columns)
    if not considered:
        has_some = any(column.verdict == "HAS_FILTER" for column in report.columns)
        return "No other column deserves a filter" if has_some else "No column deserves a filter"
    return f"No column surely deserves a filter; {count(considered, 'column')} might, see above"


def names_file_urls(inputs: Sequence[str]) -> bool:
    """Return whether any input is a URL of a local file, which is only rewritten by its path."""
    return any(given.lower().startswith("file:") for given in inputs)
