"""The view of `explain`: how indexes answer a condition, and each comparison in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bloomify.console.table import paragraphs, table
from bloomify.views.index.lookup import headline
from parquet_bloomwriter.index.report import Code, IndexAnswer, use_table
from parquet_bloomwriter.reports.summary import picked, plain

if TYPE_CHECKING:
    from bloomify.views.base import Document
    from parquet_bloomwriter.index.report import LookupReport

_ELSEWHERE = frozenset({Code.MISSING_INDEXED_COL, Code.INDEX_NOT_ACTIVE, Code.INDEX_BROKEN})
"""Reasons without a row of a condition: they are in the table of indexes."""

_LISTED = (
    "The table was listed on the store to see that its files are as they were indexed: an index "
    "with the contract immutable saves that."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The reports of lookups of a condition and of its parts."""

    whole: LookupReport
    parts: tuple[LookupReport, ...]
    """Report of each comparison in the condition; empty if it has only one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationText:
    """An explanation as text."""

    columns: int | None
    """Width of the terminal; None where there is none."""

    def of(self, explanation: Explanation) -> str:
        """Return the whole report."""
        whole = explanation.whole
        model = use_table([IndexAnswer(whole.predicate, use) for use in whole.indexes])
        answers = [one for part in explanation.parts for one in _relevant(part)]
        was_listed = whole.was_listed and "://" in whole.root
        return paragraphs(
            headline(whole),
            table(model.without("condition"), columns=self.columns),
            table(use_table(answers).without("columns", "files known"), columns=self.columns),
            _LISTED if was_listed else "",
        )


def explanation_document(explanation: Explanation) -> Document:
    """Return the explanation for the JSON."""
    conditions = [
        picked(part, "predicate", "num_excluded", "indexes") for part in explanation.parts
    ]
    return {**plain(explanation.whole), "conditions": conditions}


def _relevant(part: LookupReport) -> list[IndexAnswer]:
    """Return the answers of indexes that have the column of a comparison; one if none has."""
    answers = [
        IndexAnswer(part.predicate, use)
        for use in part.indexes
        if use.reason is None or use.reason.code not in _ELSEWHERE
    ]
    return answers or [IndexAnswer(part.predicate, None)]
