"""Indexes as they are, as text: the list of a table's, and one of them in full."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from bloomify.commands.index.options import command_line
from bloomify.console.table import Heading, table
from bloomify.console.text import count, name, safe, size
from bloomify.indexing_outcomes import of_data
from bloomify.views.index import columns_table, no_global, remarks_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bloomify.views.documents import Document
    from parquet_bloomwriter.index.report import IndexInfo

_HEADINGS = (
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
        listed = table(_HEADINGS, [_row(info) for info in infos], columns=self.columns)
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


def _row(info: IndexInfo) -> list[str]:
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
