"""Verdicts in words: whether a row group can hold a matching row, and by what evidence.

Unknown is never "no": what cannot be read, decoded or trusted might match, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from parquet_bloomwriter.text import count, listed, safe


class Verdict(StrEnum):
    """Whether a row group, or a file, can hold a matching row."""

    MIGHT_MATCH = "MIGHT_MATCH"
    CANNOT_MATCH = "CANNOT_MATCH"


class Evidence(StrEnum):
    """The ground of a verdict."""

    STATISTICS = "statistics"
    """Minimum and maximum, or the count of nulls, in the footer."""

    BLOOM = "bloom"
    """The Bloom filter."""

    DICTIONARY = "dictionary"
    """The dictionary page of a chunk that is dictionary-encoded throughout."""

    LITERAL = "literal"
    """No such column can hold the value: out of range, or not a multiple of its unit."""

    NONE = "none"
    """Nothing is known; the reason says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The verdict on one condition in one row group."""

    text: str
    """The condition: `id = 42`."""

    column: str | None
    """Dotted path of the column; None for a condition that is not about a single column."""

    verdict: Verdict
    evidence: Evidence
    reason: str = ""
    """Why nothing is known, or why a filter was not trusted; "" without a reason."""

    def __str__(self) -> str:
        """Return one line."""
        reason = f": {safe(self.reason)}" if self.reason else ""
        return f"{safe(self.text)}: {self.verdict} by {self.evidence}{reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroupVerdict:
    """The verdict on one row group."""

    JSON: ClassVar = ("row_group", "num_rows", "num_bytes", "verdict", "evidence", "checks")
    row_group: int
    """Ordinal of the row group, 0-based."""

    num_rows: int
    num_bytes: int
    """Compressed size of its column chunks, bytes."""

    verdict: Verdict
    checks: tuple[Check, ...]
    """Verdicts on all conditions, in the order of the predicate, from which the verdict follows."""

    @property
    def evidence(self) -> Evidence:
        """The evidence that decided; with several conditions, the evidence of the last step."""
        found = [check.evidence for check in self.checks if check.verdict is self.verdict]
        ranks = list(Evidence)
        known = [one for one in found if one is not Evidence.NONE]
        return max(known, key=ranks.index, default=Evidence.NONE)

    def __str__(self) -> str:
        """Return one line, and one for each condition."""
        rows = f"row group {self.row_group}, {count(self.num_rows, 'row')}"
        return listed(f"{rows}: {self.verdict}", map(str, self.checks))
