"""What a lookup found, as text: the files that might match, and what the indexes had to say.

What indexes make of each part of a condition, found out by asking them for each.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bloomify.console.table import Heading, table
from bloomify.console.text import count, percent, safe, size, wrapped
from bloomify.console.text import name as shown
from bloomify.views.index_hints import command_line
from parquet_bloomwriter.index.layout import HOME

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bloomify.views.documents import Document
    from parquet_bloomwriter.index.report import IndexUse, LookupReport
    from parquet_bloomwriter.predicate.expression import Expression

# ruff: noqa: PTH100, PTH110, PTH118, PTH119, PTH120  paths stay spelled as they were given


MISSING = "MISSING_INDEXED_COL"
_TRUE = "NOTHING_EXCLUDED"
_HARMLESS = frozenset({_TRUE, MISSING, "INDEX_NOT_ACTIVE", "NO_USABLE_CONDITION"})
"""What is no reason to complain of one index, if another has answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupText:
    """How the report is shown on one stream."""

    table: str
    """As it was named."""

    columns: int | None
    """Width of the terminal; None where there is none."""

    def of(self, report: LookupReport) -> str:
        """The whole report."""
        paths = "\n".join(f"  {safe(path)}" for path in paths_as_given(report, self.table))
        text = " ".join(_totals(report))
        totals = text if self.columns is None else "\n".join(wrapped(text, self.columns))
        return "\n\n".join(filter(None, [headline(report), paths, totals]))


def headline(report: LookupReport) -> str:
    """How many files might match."""
    files = count(report.num_files, "file")
    if report.paths:
        what = f"{report.num_kept:,} of {files} might"
    else:
        what = f"none of {files} can" if report.num_files > 1 else "no file can"
    return click.style(f"{what} match {safe(report.predicate)}", bold=True)


def paths_as_given(report: LookupReport, table: str) -> Iterator[str]:
    """The files that might match, below the table as the command line spells it."""
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
    report: LookupReport, condition: Expression, *, table: str, home: str | None
) -> Iterator[str]:
    """Say what keeps indexes from being of more use, and what to do."""
    relevant = [use for use in report.indexes if not _is(use, MISSING)]
    has_answer = any(use.num_excluded or _is(use, _TRUE) for use in report.indexes)
    for use in relevant:
        if use.reason is not None and not (has_answer and use.reason.code in _HARMLESS):
            yield f"{table}: index {use.name}: {use.reason.text} ({use.reason.code})."
    if not relevant:
        yield f"{table}: {not_indexed(report.indexes, condition, table=table)}"
    yield from quote_hints(report.indexes, condition, table=table)
    yield from _unknown(report, table, home)


def quote_hints(uses: Sequence[IndexUse], condition: Expression, *, table: str) -> Iterator[str]:
    """Say how strings are written, of names in double quotes that no index and no folder has."""
    from bloomify.views.index_hints import partition_hint
    from parquet_bloomwriter.predicate.to_sql import quoted_columns, single_quotes

    indexed = {name.lower() for use in uses for name in use.columns}
    for name in dict.fromkeys(quoted_columns(condition)):
        if name.lower() not in indexed and not partition_hint([name], table):
            yield f"{table}: {single_quotes(name)}"


def not_indexed(uses: Sequence[IndexUse], condition: Expression, *, table: str) -> str:
    """Say that no index is about a condition, and what may have been meant."""
    from bloomify.views.index_hints import did_you_mean, partition_hint
    from parquet_bloomwriter.predicate import columns_of

    asked = columns_of(condition)
    indexed = list(dict.fromkeys(name for use in uses for name in use.columns))
    if not asked:
        return f"the condition compares no column with a value ({MISSING})."
    hint = partition_hint(asked, table) or did_you_mean(asked, indexed)
    named, there = ", ".join(asked), ", ".join(indexed)
    return f"no index has filters of {named}, only of {there} ({MISSING}).{hint}"


def lookup_document(report: LookupReport) -> Document:
    """The same for programs."""
    from parquet_bloomwriter.index.report import plain

    return plain(report)


def _unknown(report: LookupReport, table: str, home: str | None) -> Iterator[str]:
    asked = [use for use in report.indexes if use.num_known]
    if report.num_unknown and asked:
        words = command_line("refresh", _table_of(asked[0], table), name=asked[0].name, home=home)
        files = count(report.num_unknown, "file")
        yield f"{table}: {files} unknown to the index might match. Type: {words}"


def _is(use: IndexUse, code: str) -> bool:
    return use.reason is not None and use.reason.code == code


def _table_of(use: IndexUse, table: str) -> str:
    """The table that an index is of: the one that was named, or one above it."""
    home = os.path.dirname(use.folder)
    if os.path.basename(home) != HOME:
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


_ELSEWHERE = frozenset({MISSING, "INDEX_NOT_ACTIVE", "INDEX_BROKEN"})
"""What is said in the table of indexes, or is not worth a row."""

_WHY = Heading(title="why not", is_text=True, is_sentence=True)

_INDEX_HEADINGS = (
    Heading(title="index", is_text=True),
    Heading(title="columns", is_text=True, is_extra=True),
    Heading(title="files known"),
    Heading(title="excluded"),
    _WHY,
)

_CONDITION_HEADINGS = (
    Heading(title="condition", is_text=True),
    Heading(title="index", is_text=True),
    Heading(title="excluded"),
    _WHY,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A condition, and each of its parts."""

    whole: LookupReport
    parts: tuple[LookupReport, ...]
    """One for each comparison in it; empty if it is only one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationText:
    """How it is shown on one stream."""

    columns: int | None
    """Width of the terminal; None where there is none."""

    def of(self, explanation: Explanation) -> str:
        """The whole report."""
        whole = explanation.whole
        parts = [headline(whole)]
        parts.append(self._table(_INDEX_HEADINGS, map(_index_row, whole.indexes)))
        rows = [row for part in explanation.parts for row in _condition_rows(part)]
        if rows:
            parts.append(self._table(_CONDITION_HEADINGS, rows))
        return "\n\n".join(parts)

    def _table(
        self, headings: Sequence[Heading], rows: Iterator[list[str]] | list[list[str]]
    ) -> str:
        return table(headings, list(rows), columns=self.columns)


def explain(
    given: str, condition: Expression, *, name: str | None, home: str | None
) -> Explanation:
    """Look a condition up, and each comparison in it.

    Raises:
        BloomwriterError: If the table cannot be looked at.
    """
    from parquet_bloomwriter.index import lookup

    whole = lookup(given, condition, name=name, home=home)
    atoms = list(dict.fromkeys(_atoms(condition)))
    parts = atoms if len(atoms) > 1 else []
    found = tuple(lookup(given, part, name=name, home=home) for part in parts)
    return Explanation(whole=whole, parts=found)


def explanation_document(explanation: Explanation) -> Document:
    """The same for programs."""
    from parquet_bloomwriter.index.report import plain

    conditions = [
        {"predicate": part.predicate, "num_excluded": part.num_excluded, "indexes": indexes}
        for part in explanation.parts
        for indexes in [plain(part)["indexes"]]
    ]
    return {**plain(explanation.whole), "conditions": conditions}


def _atoms(expression: Expression) -> Iterator[Expression]:
    """The comparisons that a condition is made of, in order."""
    from parquet_bloomwriter.predicate.expression import And, Or

    if isinstance(expression, And | Or):
        for operand in expression.operands:
            yield from _atoms(operand)
    else:
        yield expression


def _index_row(use: IndexUse) -> list[str]:
    names = ", ".join(map(shown, use.columns))
    return [safe(use.name), names or "-", f"{use.num_known:,}", _excluded(use), _why_not(use)]


def _condition_rows(part: LookupReport) -> Iterator[list[str]]:
    """What the indexes say that a comparison concerns; one row if there is none."""
    condition, relevant = safe(part.predicate), False
    for use in part.indexes:
        code = None if use.reason is None else use.reason.code
        if code not in _ELSEWHERE:
            relevant = True
            yield [condition, safe(use.name), _excluded(use), _why_not(use)]
    if not relevant:
        yield [condition, "-", "-", f"{MISSING}: no index that can be used is about it"]


def _excluded(use: IndexUse) -> str:
    return f"{use.num_excluded:,}" if use.num_known else "-"


def _why_not(use: IndexUse) -> str:
    return "" if use.reason is None else f"{use.reason.code}: {safe(use.reason.text)}"
