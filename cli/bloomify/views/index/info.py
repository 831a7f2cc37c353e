"""The views of `list`, a table's indexes, and of `show`, one index in full."""

from __future__ import annotations

import shlex
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bloomify.console.table import paragraphs, remarks_text, table
from bloomify.views.index import command_line
from parquet_bloomwriter.index.report import (
    OF_ALL_VALUES,
    PIECES,
    column_table,
    info_table,
    moment,
)
from parquet_bloomwriter.text import count, name, percent, safe, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from parquet_bloomwriter.index.report import IndexColumn, IndexInfo, IndexReport

_INDENT = 11
"""Number of columns before the text of a remark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InfosText:
    """Information on indexes, as text."""

    table: str
    """Table as the command line names it."""

    home: str | None
    columns: int | None
    """Width of the terminal; None where there is none."""

    def of_all(self, infos: Sequence[IndexInfo]) -> str:
        """Return a row for each index, and the problems of indexes."""
        remarks = [(label, f"{safe(i.name)}: {t}") for i in infos for label, t in self._troubles(i)]
        listed = table(info_table(infos), columns=self.columns, option=None)
        return paragraphs(listed, remarks_below(remarks, columns=self.columns))

    def of_one(self, info: IndexInfo) -> str:
        """Return one index in full."""
        listed = columns_table(info.columns, columns=self.columns, in_full=True)
        no_joins = no_global(info, table_=self.table, home=self.home)
        remarks = [*no_joins, *self._changes(info), *self._troubles(info)]
        return paragraphs(_headline(info), listed, remarks_below(remarks, columns=self.columns))

    def _changes(self, info: IndexInfo) -> Iterator[tuple[str, str]]:
        from parquet_bloomwriter.index.config import are_slices_wanted

        if info.options.get("source"):
            yield "made from", safe(info.options["source"])
        if info.options.get("contract") == "immutable":
            yield "contract", "immutable: files are not looked at, and lookups list nothing"
        if not are_slices_wanted(info.options):
            yield "slices", "none are written"
        if info.action:
            yield "since", f"{moment(info.created_ms)}, {safe(info.action)}"
        if info.appended is None or info.deleted is None:
            return
        if not info.appended and not info.deleted:
            yield "changes", "none: the index knows all files of the table as they are now"
            return
        new = f"{count(info.appended, 'new file')}, {size(info.appended_bytes or 0)}"
        gone = f"{count(info.deleted, 'file')} gone or replaced"
        yield "changes", f"{new}; {gone}: {self._type('refresh', info)}"

    def _troubles(self, info: IndexInfo) -> Iterator[tuple[str, str]]:
        if info.problem:
            yield "problem", safe(info.problem)
        if info.busy is not None:
            since = moment(info.busy_since_ms or 0)
            words = self._type("cancel", info)
            yield "busy", f"{info.busy} since {since}; if that command has died: {words}"

    def _type(self, verb: str, info: IndexInfo) -> str:
        return safe(command_line(verb, self.table, name=info.name, home=self.home))


def nothing_there(table_: str, home: str | None) -> str:
    """Return a text: the table has no index, and where indexes are, or how to create one."""
    from parquet_bloomwriter.index import indexes
    from parquet_bloomwriter.index.homes import find_homes
    from parquet_bloomwriter.index.table.ref import TableRef

    own = TableRef.of(table_).path
    others = [] if home else [one for one in find_homes(own) if indexes(table_, home=one)]
    if others:
        tables = ", ".join(other.rpartition("/")[0] or "/" for other in others)
        return f"{table_}: there is no index here, but there are indexes of {tables}."
    words = command_line("create", table_, name=None, home=home)
    return f"{table_}: there is no index. Type: {words} --columns ..."


def columns_table(
    indexed: Sequence[IndexColumn], *, columns: int | None, in_full: bool = False
) -> str:
    """Return the table of an index's columns.

    Args:
        indexed: The columns.
        columns: Width of the terminal; None where there is none.
        in_full: Whether to say what the index consists of, too.
    """
    model = column_table(indexed)
    if not in_full:
        model = model.without(*PIECES)
        if all(column.global_bytes is None for column in indexed):
            model = model.without(*OF_ALL_VALUES)
    return table(model, columns=columns)


def remarks_below(remarks: Iterable[tuple[str, str]], *, columns: int | None) -> str:
    """Return labelled remarks, to stand below a table."""
    return remarks_text(remarks, columns=columns, indent=_INDENT)


def no_global(
    of: IndexInfo | IndexReport, *, table_: str, home: str | None
) -> Iterator[tuple[str, str]]:
    """Yield each reason why columns have no filter of all values, and the command that helps.

    Args:
        of: The index.
        table_: The table as the command line names it.
        home: The folder of the index, if the command line names it.
    """
    from parquet_bloomwriter.index.build.global_filter import FROM_VALUES

    reasons: dict[str, list[str]] = defaultdict(list)
    for column in of.columns:
        if column.no_global:
            reasons[column.no_global].append(column.name)
    for reason, names in reasons.items():
        why, remedy = reason.removesuffix(f"; {FROM_VALUES}"), ""
        if why != reason:
            words = command_line("create", table_, name=f"{of.name}-values", home=home)
            listed = shlex.quote(",".join(names))
            remedy = f" To get one, type: {safe(words)} --columns {listed} --from values"
        shown = ", ".join(map(name, names))
        yield "joins", f"no filter for joins on Spark: {shown} ({safe(why)}).{remedy}"


def of_data(index_bytes: int, source_bytes: int) -> str:
    """Return the size of an index, as in "1.2 MiB for 1.1 GiB of data (0.1 %)"."""
    share = f" ({percent(index_bytes / source_bytes)})" if source_bytes else ""
    return f"{size(index_bytes)} for {size(source_bytes)} of data{share}"


def _headline(info: IndexInfo) -> str:
    title = click.style(f"{safe(info.name)}:", bold=True)
    if info.state is None:
        return f"{title} no version is in force, {safe(info.folder)}"
    files = count(info.num_files, "file")
    sizes = of_data(info.index_bytes, info.source_bytes)
    return f"{title} {info.state}, {files} of {safe(info.root)}, {sizes}"
