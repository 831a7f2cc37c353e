"""What indexes make of a condition and of each comparison in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bloomify.console.table import Heading, table
from bloomify.views.index.lookup import headline
from parquet_bloomwriter.index.report import Code
from parquet_bloomwriter.text import name as shown
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bloomify.views.base import Document
    from parquet_bloomwriter.index.report import IndexUse, LookupReport

_ELSEWHERE = frozenset({Code.MISSING_INDEXED_COL, Code.INDEX_NOT_ACTIVE, Code.INDEX_BROKEN})
"""Reasons that get no row of a condition: they stand in the table of indexes."""

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


_LISTED = (
    "The table was listed on the store to see that its files are as they were indexed: an index "
    "with the contract immutable saves that."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What lookups of a condition and of its parts found."""

    whole: LookupReport
    parts: tuple[LookupReport, ...]
    """One for each comparison in the condition; empty if it has only one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationText:
    """The explanation as text."""

    columns: int | None
    """Width of the terminal; None where there is none."""

    def of(self, explanation: Explanation) -> str:
        """Return the whole report."""
        whole = explanation.whole
        parts = [headline(whole)]
        parts.append(self._table(_INDEX_HEADINGS, map(_index_row, whole.indexes)))
        rows = [row for part in explanation.parts for row in _condition_rows(part)]
        if rows:
            parts.append(self._table(_CONDITION_HEADINGS, rows))
        if whole.was_listed and "://" in whole.root:
            parts.append(_LISTED)
        return "\n\n".join(parts)

    def _table(
        self, headings: Sequence[Heading], rows: Iterator[list[str]] | list[list[str]]
    ) -> str:
        return table(headings, list(rows), columns=self.columns)


def explanation_document(explanation: Explanation) -> Document:
    """Return the explanation for the JSON."""
    from parquet_bloomwriter.index.report import plain

    conditions = [
        {"predicate": part.predicate, "num_excluded": part.num_excluded, "indexes": indexes}
        for part in explanation.parts
        for indexes in [plain(part)["indexes"]]
    ]
    return {**plain(explanation.whole), "conditions": conditions}


def _index_row(use: IndexUse) -> list[str]:
    names = ", ".join(map(shown, use.columns))
    return [safe(use.name), names or "-", f"{use.num_known:,}", _excluded(use), _why_not(use)]


def _condition_rows(part: LookupReport) -> Iterator[list[str]]:
    """Yield a row for each index that has the column of a comparison; one row if none has."""
    condition, relevant = safe(part.predicate), False
    for use in part.indexes:
        code = None if use.reason is None else use.reason.code
        if code not in _ELSEWHERE:
            relevant = True
            yield [condition, safe(use.name), _excluded(use), _why_not(use)]
    if not relevant:
        why = f"{Code.MISSING_INDEXED_COL}: no index that can be used is about it"
        yield [condition, "-", "-", why]


def _excluded(use: IndexUse) -> str:
    return f"{use.num_excluded:,}" if use.num_known else "-"


def _why_not(use: IndexUse) -> str:
    return "" if use.reason is None else f"{use.reason.code}: {safe(use.reason.text)}"
