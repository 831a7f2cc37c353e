"""The view of `lookup`: the files that might match, and what each index excluded."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bloomify.console.table import cut, wrapped
from bloomify.views.index import command_line, partition_hint
from parquet_bloomwriter.iceberg.names import is_iceberg
from parquet_bloomwriter.index.layout import HOME
from parquet_bloomwriter.index.report import Code
from parquet_bloomwriter.text import count, percent, safe, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_bloomwriter.index.report import IndexUse, LookupReport
    from parquet_bloomwriter.predicate.expression import Expression

# ruff: noqa: PTH100, PTH110, PTH118, PTH119, PTH120  paths stay spelled as they were given

_HARMLESS = frozenset(
    {
        Code.NOTHING_EXCLUDED,
        Code.MISSING_INDEXED_COL,
        Code.INDEX_NOT_ACTIVE,
        Code.NO_USABLE_CONDITION,
    }
)
"""Reasons of an index that cause no warning if another index has answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupText:
    """The report of a lookup, as text."""

    table: str
    """Table as the command line names it."""

    columns: int | None
    """Width of the terminal; None where there is none."""

    def of(self, report: LookupReport) -> str:
        """Return the whole report."""
        shown, rest = cut(list(paths_as_given(report, self.table)), "file", option="--files")
        paths = "\n".join(["  " + line for line in (*map(safe, shown), rest) if line])
        text = " ".join(_totals(report))
        totals = "\n".join(wrapped(text, self.columns))
        return "\n\n".join(filter(None, [headline(report), paths, totals]))


def headline(report: LookupReport) -> str:
    """Return the number of files that might match, in one line."""
    files = count(report.num_files, "file")
    if report.paths:
        what = f"{report.num_kept:,} of {files} might"
    else:
        what = f"none of {files} can" if report.num_files > 1 else "no file can"
    return click.style(f"{what} match {safe(report.predicate)}", bold=True)


def paths_as_given(report: LookupReport, table: str) -> Iterator[str]:
    """Yield the files that might match, below the table as the command line spells it."""
    below = report.root.rstrip(os.sep) + os.sep
    is_path = os.path.exists(table)
    for path in report.paths:
        if is_path and path == report.root:
            yield table
        elif is_path and path.startswith(below):
            yield os.path.join(table, path.removeprefix(below))
        else:
            yield path


def warnings(
    report: LookupReport,
    condition: Expression,
    *,
    table: str,
    home: str | None,
    is_of_past: bool = False,
) -> Iterator[str]:
    """Yield why indexes do not exclude more files, and what to do about it.

    Args:
        report: What was found.
        condition: What was asked for.
        table: The table as the command line names it.
        home: The folder of indexes, if one is named.
        is_of_past: Whether a certain state of the table was asked about.
    """
    relevant = [use for use in report.indexes if not _is(use, Code.MISSING_INDEXED_COL)]
    has_answer = any(use.num_excluded or _is(use, Code.NOTHING_EXCLUDED) for use in report.indexes)
    for use in relevant:
        if use.reason is not None and not (has_answer and use.reason.code in _HARMLESS):
            what_next, text = "", use.reason.text
            if use.reason.code == Code.NO_COMMON_FILES and is_of_past:
                text = "the index is of other files than this state of the table has"
            elif use.reason.code == Code.NO_COMMON_FILES:
                what_next = f" Type: {_refresh(use, table, home)}"
            why = f"{text} ({use.reason.code})."
            yield f"{table}: index {use.name}: {why}{what_next}"
    if not relevant:
        yield f"{table}: {_not_indexed(report, condition, table=table)}"
    yield from _unknown(report, table, home)


def _not_indexed(report: LookupReport, condition: Expression, *, table: str) -> str:
    """Return a sentence: no index has the columns of a condition."""
    from parquet_bloomwriter.predicate import columns_of

    asked = columns_of(condition)
    indexed = list(dict.fromkeys(name for use in report.indexes for name in use.columns))
    if not asked:
        what = "the condition compares no column with a value, such as 42, 'text' or '2026-01-31'"
        return f"{what} ({Code.MISSING_INDEXED_COL})."
    hint = partition_hint(asked, table)
    named, there = ", ".join(asked), ", ".join(indexed)
    return f"no index has filters of {named}, only of {there} ({Code.MISSING_INDEXED_COL}).{hint}"


def _unknown(report: LookupReport, table: str, home: str | None) -> Iterator[str]:
    asked = [use for use in report.indexes if use.num_known]
    if report.num_unknown and asked:
        files = count(report.num_unknown, "file")
        words = _refresh(asked[0], table, home)
        yield f"{table}: {files} unknown to the index might match. Type: {words}"


def _refresh(use: IndexUse, table: str, home: str | None) -> str:
    return command_line("refresh", _table_of(use, table), name=use.name, home=home)


def _is(use: IndexUse, code: Code) -> bool:
    return use.reason is not None and use.reason.code == code


def _table_of(use: IndexUse, table: str) -> str:
    """Return the table of an index: the named one, or one above it; Iceberg has names only."""
    home = os.path.dirname(use.folder)
    if is_iceberg(table) or os.path.basename(home) != HOME:
        return table
    root = os.path.dirname(home)
    return table if root == os.path.abspath(table) else root


def _totals(report: LookupReport) -> Iterator[str]:
    skipped = report.num_bytes - report.kept_bytes
    if skipped:
        yield f"{percent(skipped / report.num_bytes)} of {size(report.num_bytes)} need not be read;"
    uses = "; ".join(_use(use) for use in report.indexes)
    yield f"{uses}."


def _use(use: IndexUse) -> str:
    if not use.num_known:
        return f"index {safe(use.name)} was not used"
    return f"index {safe(use.name)} excluded {use.num_excluded:,} of {use.num_known:,}"
