"""What became of an index, as text: a headline, a row per column, and what else is to be said."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bloomify.commands.index.options import command_line
from bloomify.console.table import Heading, table
from bloomify.console.text import count, labelled, name, rate, safe
from bloomify.exits import ExitCode
from bloomify.indexing_outcomes import outcome, verb_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bloomify.views.documents import Document
    from parquet_bloomwriter.index.report import IndexColumn, IndexReport

_LISTED = 10
"""Files that are named in one remark; the others are counted."""

_INDENT = 11
_BUILDING = ("create", "refresh", "optimize")
"""Actions that make a new version."""

_HEADINGS = (
    Heading(title="column", is_text=True),
    Heading(title="FPP asked"),
    Heading(title="bytes"),
    Heading(title="parts", is_extra=True),
    Heading(title="global NDV"),
    Heading(title="global bytes"),
    Heading(title="global FPP"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexText:
    """How the report of an action is shown on one stream."""

    table: str
    """As it was named."""

    home: str | None
    columns: int | None
    """Width of the terminal; None where there is none."""

    def of(self, report: IndexReport) -> str:
        """The whole report."""
        parts = [f"{click.style(f'{safe(report.name)}:', bold=True)} {outcome(report)}"]
        is_new = report.changed and verb_of(report) in _BUILDING
        if is_new and report.columns:
            parts.append(columns_table(report.columns, columns=self.columns))
        parts.append(remarks_text(self._remarks(report), columns=self.columns))
        return "\n\n".join(filter(None, parts))

    def _remarks(self, report: IndexReport) -> Iterator[tuple[str, str]]:
        yield from _unindexed(report)
        yield from _left_out(report)
        if report.changed and verb_of(report) in _BUILDING:
            yield from no_global(report.columns)
        for note in report.notes:
            yield "note", safe(note)
        if report.state == "DELETED":
            yield "next", f"{self._type('restore', report)} brings it back"
            yield "", f"{self._type('vacuum', report)} removes its files for good"

    def _type(self, verb: str, report: IndexReport) -> str:
        return safe(command_line(verb, self.table, name=report.name, home=self.home))


def columns_table(indexed: Sequence[IndexColumn], *, columns: int | None) -> str:
    """One row for each column of an index."""
    return table(_HEADINGS, [_row(column) for column in indexed], columns=columns)


def remarks_text(remarks: Iterable[tuple[str, str]], *, columns: int | None) -> str:
    """What is to be said below a table."""
    return "\n".join(
        labelled(label, text, columns=columns, indent=_INDENT) for label, text in remarks
    )


def no_global(columns: Sequence[IndexColumn]) -> Iterator[tuple[str, str]]:
    """Why columns have no global filter, each reason once."""
    reasons: dict[str, list[str]] = defaultdict(list)
    for column in columns:
        if column.no_global:
            reasons[column.no_global].append(name(column.name))
    for reason, names in reasons.items():
        yield "no global", f"{', '.join(names)}: {safe(reason)}"


def report_code(report: IndexReport) -> ExitCode:
    """Files that lookups can never exclude are failures; all other files are done."""
    failed = {one.path for one in report.left_out} | without_filters(report)
    return ExitCode.SOME_FAILED if failed else ExitCode.OK


def without_filters(report: IndexReport) -> set[str]:
    """Files that the action gave no filter at all."""
    missing: dict[str, set[str]] = defaultdict(set)
    for one in report.unindexed:
        missing[one.path].add(one.column)
    names = {column.name for column in report.columns}
    return {path for path, columns in missing.items() if names <= columns}


def report_document(report: IndexReport) -> Document:
    """The same for programs."""
    from parquet_bloomwriter.index.report import plain

    return {"index": plain(report)}


def _row(column: IndexColumn) -> list[str]:
    has_global = column.global_bytes is not None
    return [
        name(column.name),
        rate(column.fpp),
        f"{column.part_bytes:,}",
        f"{column.num_parts:,}",
        f"{column.global_ndv:,}" if has_global else "-",
        f"{column.global_bytes:,}" if has_global else "-",
        rate(column.global_fpp),
    ]


def _unindexed(report: IndexReport) -> Iterator[tuple[str, str]]:
    """Files without filters, grouped by column and reason."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    columns: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in report.unindexed:
        columns[one.path, one.reason].append(one.column)
    every = [column.name for column in report.columns]
    for (path, reason), names in columns.items():
        concerned = "" if set(names) == set(every) else ", ".join(map(name, names))
        found[concerned, reason].append(path)
    for (concerned, reason), paths in found.items():
        where = f"{_listed(paths)}{f', {concerned}' if concerned else ''}"
        yield "no filter", f"{where}: {safe(reason)}"


def _left_out(report: IndexReport) -> Iterator[tuple[str, str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for one in report.left_out:
        found[one.reason].append(one.path)
    for reason, paths in found.items():
        yield "left out", f"{_listed(paths)}: {safe(reason)}"


def _listed(paths: Sequence[str]) -> str:
    named = ", ".join(map(safe, paths[:_LISTED]))
    more = len(paths) - _LISTED
    return f"{named} and {count(more, 'other file')}" if more > 0 else named
