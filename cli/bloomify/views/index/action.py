"""The view of an action on an index: one line, a row for each column, and remarks.

Actions are `create`, `refresh`, `optimize`, `delete`, `restore`, `vacuum` and `cancel`.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bloomify.console.table import paragraphs
from bloomify.exits import ExitCode
from bloomify.views.index import command_line
from bloomify.views.index.info import columns_table, no_global, of_data, remarks_below
from parquet_bloomwriter.text import count, name, safe, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parquet_bloomwriter.index.report import IndexColumn, IndexReport

_LISTED = 10
"""Most files that are named in one remark; the others are counted."""

_BUILDING = ("create", "refresh", "optimize")
"""Actions that write a new version of the index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionText:
    """The report of an action on an index, as text."""

    table: str
    """Table as the command line names it."""

    home: str | None
    columns: int | None
    """Width of the terminal; None where there is none."""

    def of(self, report: IndexReport) -> str:
        """Return the whole report."""
        parts = [f"{click.style(f'{safe(report.name)}:', bold=True)} {_outcome(report)}"]
        is_new = report.changed and _verb_of(report) in _BUILDING
        if is_new and report.columns:
            parts.append(columns_table(report.columns, columns=self.columns))
        return paragraphs(*parts, remarks_below(self._remarks(report), columns=self.columns))

    def _remarks(self, report: IndexReport) -> Iterator[tuple[str, str]]:
        yield from _unindexed(report)
        yield from _left_out(report)
        if report.changed and _verb_of(report) in _BUILDING:
            if _verb_of(report) != "create":
                yield from no_global(report, table_=self.table, home=self.home)
            yield from self._next(report)
        for note in report.notes:
            yield "note", safe(note)
        if report.state == "DELETED":
            yield "next", f"{self._type('restore', report)} brings it back"
            yield "", f"{self._type('vacuum', report)} removes its files for good"

    def _next(self, report: IndexReport) -> Iterator[tuple[str, str]]:
        """Yield the commands to type after a new version was made."""
        full = ", ".join(name(one.name) for one in report.columns if _is_too_full(one))
        if full and _verb_of(report) == "create":
            made = "the filter of all values is made of the files' own filters, and misses its rate"
            better = (
                "an index made --from values does not; lookups do not use it, joins on Spark do"
            )
            yield "note", f"{full}: {made}; {better}"
        elif full and not report.action.endswith("full"):
            again = f"{self._type('refresh', report)} --mode full"
            yield "note", f"{full}: the filter of all values grows full: {safe(again)}"
        if _verb_of(report) == "create" and report.columns:
            words = command_line("lookup", self.table, name=None, home=self.home)
            yield "next", safe(f"{words} --where {_example(report.columns[0].name)}")

    def _type(self, verb: str, report: IndexReport) -> str:
        return safe(command_line(verb, self.table, name=report.name, home=self.home))


def _example(column: str) -> str:
    """Return a condition on a column for the user to complete, quoted for a shell."""
    from parquet_bloomwriter.predicate.to_sql import spell_name

    return shlex.quote(f"{spell_name(column)} = ...")


def _is_too_full(column: IndexColumn) -> bool:
    return column.global_fpp is not None and column.global_fpp > column.fpp


def report_code(report: IndexReport) -> ExitCode:
    """Return the exit code: files that lookups can never exclude count as failed."""
    return ExitCode.SOME_FAILED if _never_excluded(report) else ExitCode.OK


def complaint(report: IndexReport) -> str:
    """Return the reason of an exit code that is not 0, files never excluded; "" if it is 0."""
    reasons = _never_excluded(report)
    if not reasons:
        return ""
    first, reason = next(iter(reasons.items()))
    more = f" and {count(len(reasons) - 1, 'other file')}" if len(reasons) > 1 else ""
    have = "have" if more else "has"
    return (
        f"every lookup has to name {safe(first)}{more}, which {have} no filter at all: "
        f"{safe(reason)}."
    )


def _never_excluded(report: IndexReport) -> dict[str, str]:
    """Return the files for which the action wrote no filter at all, with the reasons."""
    missing: dict[str, dict[str, str]] = defaultdict(dict)
    for one in report.unindexed:
        missing[one.path][one.column] = one.reason
    names = {column.name for column in report.columns}
    lacking = {
        path: next(iter(reasons.values()))
        for path, reasons in missing.items()
        if names <= reasons.keys()
    }
    return {one.path: one.reason for one in report.left_out} | lacking


def _unindexed(report: IndexReport) -> Iterator[tuple[str, str]]:
    """Yield the files without filters, grouped by column and reason."""
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


def _outcome(report: IndexReport) -> str:
    """Return the result of the action, in one line."""
    say = _DONE.get(_verb_of(report), _other) if report.changed else _unchanged
    return say(report)


def _verb_of(report: IndexReport) -> str:
    """Return the action without its mode, as in "refresh"."""
    return report.action.partition(" ")[0]


def _created(report: IndexReport) -> str:
    return f"created; {count(report.num_files, 'file')} indexed, {_sizes(report)}"


def _refreshed(report: IndexReport) -> str:
    added, gone = count(report.appended, "file"), count(report.deleted, "file")
    return f"refreshed; {added} indexed, {gone} forgotten, {_sizes(report)}"


def _optimized(report: IndexReport) -> str:
    parts = sum(column.num_parts for column in report.columns)
    return f"optimized; {count(parts, 'part')}, {_sizes(report)}"


def _vacuumed(report: IndexReport) -> str:
    left = f"; the index does not exist any more, its log stays in {safe(report.folder)}"
    removed = f"{count(report.removed_files, 'file')} of the index removed"
    done = f"vacuumed; {removed}, {size(report.removed_bytes)}"
    return done if report.state == "ACTIVE" else f"{done}{left}"


def _deleted(report: IndexReport) -> str:
    return f"deleted; lookups do without it, and its files stay in {safe(report.folder)}"


def _restored(report: IndexReport) -> str:
    return f"restored; {count(report.num_files, 'file')} known to it"


def _cancelled(report: IndexReport) -> str:
    if report.state == "DOESNOTEXIST":
        return "cancelled; there is no index of this name"
    return f"cancelled; the last stable version is in force, {report.state}"


def _unchanged(report: IndexReport) -> str:
    because = _NOTHING.get(_verb_of(report))
    if report.left_out:
        because = "the index knows all files that can be indexed"
    return f"nothing to do{f'; {because}' if because else ''}"


def _other(report: IndexReport) -> str:
    return f"{report.action}: {report.state}"


def _sizes(report: IndexReport) -> str:
    return of_data(report.index_bytes, report.source_bytes)


_DONE = {
    "create": _created,
    "refresh": _refreshed,
    "optimize": _optimized,
    "vacuum": _vacuumed,
    "delete": _deleted,
    "restore": _restored,
    "cancel": _cancelled,
}

_NOTHING = {
    "refresh": "the index knows all files as they are",
    "optimize": "there are few parts, and all filters are of files that are there",
    "vacuum": "all files of the index are needed",
    "cancel": "no other command is changing the index",
}
