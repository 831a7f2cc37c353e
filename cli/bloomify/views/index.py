"""What became of an index, as text: a headline, a row per column, and what else is to be said.

What an action came to, in one line.

Indexes as they are, as text: the list of a table's, and one of them in full.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from bloomify.console.table import Heading, table
from bloomify.console.text import count, labelled, name, percent, rate, safe, size
from bloomify.exits import ExitCode
from bloomify.views.index_hints import command_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bloomify.views.documents import Document
    from parquet_bloomwriter.index.report import IndexColumn, IndexInfo, IndexReport


def outcome(report: IndexReport) -> str:
    """Say what was done."""
    say = _DONE.get(verb_of(report), _other) if report.changed else _unchanged
    return say(report)


def verb_of(report: IndexReport) -> str:
    """The action without its mode, as in "refresh"."""
    return report.action.partition(" ")[0]


def of_data(report_bytes: int, source_bytes: int) -> str:
    """Say how large an index is: "1.2 MiB for 1.1 GiB of data (0.1 %)"."""
    share = f" ({percent(report_bytes / source_bytes)})" if source_bytes else ""
    return f"{size(report_bytes)} for {size(source_bytes)} of data{share}"


def _created(report: IndexReport) -> str:
    return f"created; {count(report.num_files, 'file')} indexed, {_sizes(report)}"


def _refreshed(report: IndexReport) -> str:
    added, gone = count(report.appended, "file"), count(report.deleted, "file")
    return f"refreshed; {added} indexed, {gone} forgotten, {_sizes(report)}"


def _optimized(report: IndexReport) -> str:
    parts = sum(column.num_parts for column in report.columns)
    return f"optimized; {count(parts, 'part')}, {_sizes(report)}"


def _vacuumed(report: IndexReport) -> str:
    left = "" if report.state == "ACTIVE" else "; the index does not exist any more"
    removed = f"{count(report.removed_files, 'file')} of the index removed"
    return f"vacuumed; {removed}, {size(report.removed_bytes)}{left}"


def _deleted(_report: IndexReport) -> str:
    return "deleted; lookups do without it"


def _restored(report: IndexReport) -> str:
    return f"restored; {count(report.num_files, 'file')} known to it"


def _cancelled(report: IndexReport) -> str:
    if report.state == "DOESNOTEXIST":
        return "cancelled; there is no index of this name"
    return f"cancelled; the last stable version is in force, {report.state}"


def _unchanged(report: IndexReport) -> str:
    because = _NOTHING.get(verb_of(report))
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
    "cancel": "nobody is changing the index",
}


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


_INFO_HEADINGS = (
    Heading(title="index", is_text=True),
    Heading(
        title="state", is_text=True, colors={"ACTIVE": "green", "DELETED": "yellow", "-": "red"}
    ),
    Heading(title="columns", is_text=True),
    Heading(title="files"),
    Heading(title="of data"),
    Heading(title="bytes"),
    Heading(title="since", is_text=True, is_extra=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InfosText:
    """How indexes are shown on one stream."""

    table: str
    """As it was named."""

    home: str | None
    columns: int | None
    """Width of the terminal; None where there is none."""

    def of_all(self, infos: Sequence[IndexInfo]) -> str:
        """One row for each, and what is wrong with them."""
        if not infos:
            return ""
        listed = table(_INFO_HEADINGS, [_info_row(info) for info in infos], columns=self.columns)
        remarks = [(label, f"{safe(i.name)}: {t}") for i in infos for label, t in self._troubles(i)]
        return "\n\n".join(filter(None, [listed, remarks_text(remarks, columns=self.columns)]))

    def of_one(self, info: IndexInfo) -> str:
        """One index in full."""
        listed = columns_table(info.columns, columns=self.columns) if info.columns else ""
        remarks = [*no_global(info.columns), *self._changes(info), *self._troubles(info)]
        parts = [_headline(info), listed, remarks_text(remarks, columns=self.columns)]
        return "\n\n".join(filter(None, parts))

    def _changes(self, info: IndexInfo) -> Iterator[tuple[str, str]]:
        if info.options.get("source"):
            yield "made from", safe(info.options["source"])
        if info.options.get("contract") == "immutable":
            yield "contract", "immutable: files are not looked at, and lookups list nothing"
        if info.action:
            yield "since", f"{_moment(info.created_ms)}, {safe(info.action)}"
        if info.appended is None or info.deleted is None:
            return
        if not info.appended and not info.deleted:
            yield "up to date", "it knows all files as they are"
            return
        new = f"{count(info.appended, 'new file')}, {size(info.appended_bytes or 0)}"
        gone = f"{count(info.deleted, 'file')} gone or replaced"
        yield "changes", f"{new}; {gone}: {self._type('refresh', info)}"

    def _troubles(self, info: IndexInfo) -> Iterator[tuple[str, str]]:
        if info.problem:
            yield "problem", safe(info.problem)
        if info.busy is not None:
            since = _moment(info.busy_since_ms or 0)
            words = self._type("cancel", info)
            yield "busy", f"{info.busy} since {since}; if nobody is at work any more: {words}"

    def _type(self, verb: str, info: IndexInfo) -> str:
        return safe(command_line(verb, self.table, name=info.name, home=self.home))


def infos_document(infos: Sequence[IndexInfo]) -> Document:
    """The list for programs."""
    from parquet_bloomwriter.index.report import plain

    return {"indexes": [plain(info) for info in infos]}


def info_document(info: IndexInfo) -> Document:
    """One index for programs."""
    from parquet_bloomwriter.index.report import plain

    return {"index": plain(info)}


def nothing_there(table_: str, home: str | None) -> str:
    """Say that a table has no index, and where there are some, or how to make one."""
    from parquet_bloomwriter.index.layout import find_homes

    others = [] if home else find_homes(table_)
    if others:
        tables = ", ".join(other.rpartition("/")[0] or "/" for other in others)
        return f"{table_}: there is no index here. There are some of {tables}."
    words = command_line("create", table_, name=None, home=home)
    return f"{table_}: there is no index. Type: {words} --columns ..."


def _info_row(info: IndexInfo) -> list[str]:
    return [
        safe(info.name),
        str(info.state or "-"),
        ", ".join(name(column.name) for column in info.columns) or "-",
        f"{info.num_files:,}",
        size(info.source_bytes),
        f"{info.index_bytes:,}",
        _moment(info.created_ms) if info.created_ms else "-",
    ]


def _headline(info: IndexInfo) -> str:
    title = click.style(f"{safe(info.name)}:", bold=True)
    if info.state is None:
        return f"{title} no version is in force, {safe(info.folder)}"
    files = count(info.num_files, "file")
    sizes = of_data(info.index_bytes, info.source_bytes)
    return f"{title} {info.state}, {files} of {safe(info.root)}, {sizes}"


def _moment(milliseconds: int) -> str:
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
