"""What `advise` recommends, as text: one line for each column, and the command that does it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from bloomify.console.table import Heading, table
from bloomify.console.text import count, labelled, name, percent, safe, size
from bloomify.views import documents
from bloomify.views.base import ReadingView

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bloomify.views.documents import Document
    from parquet_bloomwriter.reports.advice import AdviseReport, ColumnAdvice

_WIDE = 130
"""Columns of a terminal on which reasons stand in the table, and not below it."""

_HEADINGS = (
    Heading(title="column", is_text=True),
    Heading(title="advice", is_text=True, colors={"ADD": "green", "CONSIDER": "yellow"}),
    Heading(title="NDV"),
    Heading(title="adds bytes"),
    Heading(title="of file"),
    Heading(title="read now"),
    Heading(title="with filters"),
    Heading(title="reason", is_sentence=True),
)


@dataclass(kw_only=True)
class AdviseView(ReadingView):
    """Columns that deserve filters; files are judged together."""

    inputs: tuple[str, ...]
    """As they were given: the command names these, and not every file."""

    command: str = "advise"
    reports: list[AdviseReport] = field(default_factory=list)
    merged: AdviseReport | None = None
    """All of them, as far as they have been taken together."""

    def headline(self, report: AdviseReport) -> str:
        """One line for one file, or for many together."""
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
        """The table, and the notes below it."""
        is_wide = columns is None or columns >= _WIDE
        shown = len(_HEADINGS) if is_wide else -1
        rows = [_row(column, report.size)[:shown] for column in report.ranked]
        listed = table(_HEADINGS[:shown], rows, columns=columns) if rows else ""
        remarks = [*([] if is_wide else _reasons(report)), *_notes(report)]
        lines = [labelled(*remark, columns=columns) for remark in remarks]
        return "\n\n".join(filter(None, [listed, "\n".join(lines)]))

    def collect(self, report: AdviseReport) -> None:
        """Keep it, to be judged with the others."""
        self.reports.append(report)
        self.merged = None

    def summary(self, *, columns: int | None) -> str:
        """All that is to be said, but for the conclusion."""
        report = self.together()
        parts = [self.headline(report), self.details(report, columns=columns)]
        return "\n\n".join(filter(None, parts))

    def tally(self) -> str:
        """The conclusion."""
        report = self.together()
        if not report.added:
            return _none_added(report)
        cost = f"{size(report.num_filter_bytes)}, {percent(report.share)} of all bytes"
        return f"{count(len(report.added), 'column')} would get filters, {cost}"

    def document(self, report: AdviseReport) -> Document:
        """The same for programs."""
        return documents.advised_file_document(report)

    def overall(self) -> Document:
        """The advice."""
        return documents.advise_document(self.together()) if self.reports else {}

    def together(self) -> AdviseReport:
        """The advice on all files together."""
        from parquet_bloomwriter.verbs.advise import merge_advice

        if self.merged is None:
            self.merged = merge_advice(self.reports, paths=self.inputs)
        return self.merged


def _none_added(report: AdviseReport) -> str:
    considered = sum(column.verdict == "CONSIDER" for column in report.columns)
    if not considered:
        return "No column deserves a filter"
    return f"No column surely deserves a filter; {count(considered, 'column')} might, see above"


def _row(column: ColumnAdvice, total: int) -> list[str]:
    cost: int | None = column.num_filter_bytes
    return [
        name(column.name),
        str(column.verdict),
        "-" if column.ndv is None else f"{column.ndv:,.0f}",
        "-" if not cost else f"{cost:,}",
        "-" if not cost or not total else percent(cost / total),
        _rest(column.skipped_by_statistics),
        _rest(column.skipped_present),
        safe(column.reason),
    ]


def _reasons(report: AdviseReport) -> Iterator[tuple[str, str]]:
    for column in report.ranked:
        yield "reason", f"{name(column.name)}: {safe(column.reason)}"


def _notes(report: AdviseReport) -> Iterator[tuple[str, str]]:
    """What else there is to know, each once, with the columns that it is about."""
    notes: dict[str, list[str]] = defaultdict(list)
    for column in report.ranked:
        for note in column.notes:
            notes[note].append(name(column.name))
    for note, names in notes.items():
        yield "note", f"{', '.join(names)}: {safe(note)}"


def _rest(skipped: float | None) -> str:
    """The share of row groups that is read."""
    return "-" if skipped is None else percent(1 - skipped)


def names_urls(inputs: Sequence[str]) -> bool:
    """Whether an input is a URL: filters are added to local files only."""
    return any("://" in given for given in inputs)
