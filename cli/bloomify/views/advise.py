"""What `advise` recommends: a row for each column, and the notes below."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import click

from bloomify.console.table import Heading, labelled, table
from bloomify.views.base import View, facts_of
from parquet_bloomwriter.text import count, name, percent, safe, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bloomify.views.base import Document
    from parquet_bloomwriter.reports.advice import AdviseReport, ColumnAdvice

_WIDE = 130
"""Columns of a terminal that is wide enough for reasons in the table; else they stand below it."""

_HEADINGS = (
    Heading(title="column", is_text=True),
    Heading(title="advice", is_text=True, colors={"ADD": "green", "CONSIDER": "yellow"}),
    Heading(title="NDV/row group"),
    Heading(title="adds bytes"),
    Heading(title="of file"),
    Heading(title="read now"),
    Heading(title="with filters"),
    Heading(title="reason", is_sentence=True),
)


@dataclass(kw_only=True)
class AdviseView(View["AdviseReport"]):
    """Columns that deserve filters; all files are judged together."""

    command: ClassVar[str] = "advise"
    inputs: tuple[str, ...]
    """The inputs as they were given: the recommended command names these, not every file."""

    reports: list[AdviseReport] = field(default_factory=list)
    _together: AdviseReport | None = None
    """What `together` returned; None since another report came."""

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
        """Return the table, and the notes below it."""
        is_wide = columns is None or columns >= _WIDE
        shown = len(_HEADINGS) if is_wide else -1
        rows = [_row(column, report.size)[:shown] for column in report.ranked]
        listed = table(_HEADINGS[:shown], rows, columns=columns) if rows else ""
        remarks = [*([] if is_wide else _reasons(report)), *_notes(report)]
        lines = [labelled(*remark, columns=columns) for remark in remarks]
        return "\n\n".join(filter(None, [listed, "\n".join(lines)]))

    def collect(self, report: AdviseReport) -> None:
        """Keep the report, to be merged with the others."""
        self.reports.append(report)
        self._together = None

    def summary(self, *, columns: int | None) -> str:
        """Return headline, table and notes on all files together."""
        report = self.together()
        parts = [self.headline(report), self.details(report, columns=columns)]
        return "\n\n".join(filter(None, parts))

    def tally(self) -> str:
        """Return how many columns would get filters, and what those cost."""
        report = self.together()
        if not report.added:
            return _none_added(report)
        cost = f"{size(report.num_filter_bytes)}, {percent(report.share)} of all bytes"
        return f"{count(len(report.added), 'column')} would get filters, {cost}"

    def document(self, report: AdviseReport) -> Document:
        """Return one file's entry of `files` in the JSON."""
        return {"path": report.paths[0], **facts_of(report, "size", "num_rows", "num_row_groups")}

    def overall(self) -> Document:
        """Return the advice for the JSON; empty if no file could be read."""
        if not self.reports:
            return {}
        report = self.together()
        sizes = ("num_files", "size", "num_rows", "num_row_groups")
        return {
            **facts_of(report, *sizes, "fpp", "num_filter_bytes", "share"),
            "shell_command": report.command,
            "columns": [_column_document(column) for column in report.ranked],
        }

    def together(self) -> AdviseReport:
        """Return the advice on all files together."""
        from parquet_bloomwriter.verbs.advise import merge_advice

        if self._together is None:
            self._together = merge_advice(self.reports, paths=self.inputs)
        return self._together


def _none_added(report: AdviseReport) -> str:
    considered = sum(column.verdict == "CONSIDER" for column in report.columns)
    if not considered:
        has_some = any(column.verdict == "HAS_FILTER" for column in report.columns)
        return "No other column deserves a filter" if has_some else "No column deserves a filter"
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
    """Yield each distinct note once, with the columns that it is about."""
    notes: dict[str, list[str]] = defaultdict(list)
    for column in report.ranked:
        for note in column.notes:
            notes[note].append(name(column.name))
    for note, names in notes.items():
        yield "note", f"{', '.join(names)}: {safe(note)}"


def _rest(skipped: float | None) -> str:
    """Return the share of row groups that is read."""
    return "-" if skipped is None else percent(1 - skipped)


def names_file_urls(inputs: Sequence[str]) -> bool:
    """Return whether any input is a URL of a local file, which is only rewritten by its path."""
    return any(given.lower().startswith("file:") for given in inputs)


def _column_document(column: ColumnAdvice) -> Document:
    names = [field.name for field in dataclasses.fields(column) if field.compare]
    return facts_of(column, *names, "skipped_by_statistics")
