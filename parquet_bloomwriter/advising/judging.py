"""From evidence to a verdict: what would filters let readers skip, and is it worth their bytes?

Of the R row groups with values, for one lookup of a value that is there, let

    E   be those that statistics leave to read,         R if there are none
    H   be those that hold it,                          at least 1
    f   be the rate of the filters.

With filters, H + (E - H) f row groups are read instead of E. For a value that is nowhere, though
among the others in order, E f are read. Filters are worth it if they save at least half a row group
and a fifth of E per lookup of a value that is there: values that are asked for mostly are.

With a single row group there is nothing to choose between. Filters let readers skip the whole file,
as one of many; whether there are many is not known here, so only few distinct values speak against.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.reports.advice import Advice
from parquet_bloomwriter.sbbf import encode_header, expected_fpp, num_blocks_for
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.wording import percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_bloomwriter.advising.evidence import ColumnEvidence

FEW_DISTINCT = 100
"""Distinct values per row group that are few: absent ones are hardly ever asked for."""

SMALL_DICTIONARY = 1000
"""Values up to which reading a whole dictionary is no more work than reading a filter."""

_LEAST_SAVED = 0.5
"""Row groups per lookup."""

_LEAST_SHARE_SAVED = 0.2
"""Of the row groups that statistics leave."""

_ALMOST_ONE = 1.25
"""Row groups, or distinct values, that are as good as one."""

_SMALL_SHARE = 0.5
"""Of the row groups: what statistics leave of a column that is sorted, or nearly so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What is advised for one column, and the figures that say so."""

    verdict: Advice
    reason: str
    notes: tuple[str, ...] = ()
    ndv: float | None = None
    num_filter_bytes: int | None = None
    read_by_statistics: float | None = None
    holding: float | None = None
    skipped_present: float | None = None
    skipped_absent: float | None = None


def judge(evidence: ColumnEvidence, *, fpp: float) -> Judgement:
    """Judge one column.

    Args:
        evidence: What is known of it.
        fpp: False positive probability that filters are sized for.

    Raises:
        InvalidArgument: If `fpp` is out of range.
    """
    settled = _settle(evidence)
    if settled is not None:
        return settled
    figures = _Figures.of(evidence, fpp)
    verdict, reason = _verdict(evidence, figures)
    notes = (*evidence.notes, *_notes(evidence, figures))
    count = evidence.num_row_groups
    return Judgement(
        verdict=verdict,
        reason=reason,
        notes=notes if verdict is Advice.ADD else (),
        ndv=figures.ndv,
        num_filter_bytes=figures.num_filter_bytes,
        read_by_statistics=figures.left / count,
        holding=figures.holding / count,
        skipped_present=1 - (figures.left - figures.saved) / count,
        skipped_absent=1 - figures.left * figures.rate / count,
    )


def _settle(evidence: ColumnEvidence) -> Judgement | None:
    """Judge without any figure, if that is possible."""
    if evidence.unsupported is not None:
        return Judgement(verdict=Advice.SKIP, reason=evidence.unsupported)
    count = evidence.num_row_groups
    if not count:
        return Judgement(verdict=Advice.SKIP, reason="it has no values")
    if evidence.has_filter.all():
        return Judgement(
            verdict=Advice.HAS_FILTER, reason="every row group that has values has a filter"
        )
    if not evidence.samples:
        reason = evidence.unreadable or "it has no values where samples were taken"
        return Judgement(verdict=Advice.SKIP, reason=reason)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Figures:
    """Row groups, expected for one lookup; and what the filters would be."""

    ndv: float
    left: float
    """By statistics, E."""

    holding: float
    """H."""

    rate: float
    """Expected of the filters, f."""

    num_filter_bytes: int

    @property
    def saved(self) -> float:
        """By filters, for a value that is there."""
        return (self.left - self.holding) * (1 - self.rate)

    @classmethod
    def of(cls, evidence: ColumnEvidence, fpp: float) -> _Figures:
        size, rates = 0, []
        for num_values in evidence.num_values[~evidence.has_filter].tolist():
            ndv = evidence.ndv(num_values)
            blocks = num_blocks_for(math.ceil(ndv), fpp)
            num_bytes = blocks * BYTES_PER_BLOCK
            size += num_bytes + len(encode_header(num_bytes))
            rates.append(expected_fpp(ndv, blocks))
        left = max(1.0, evidence.num_within_bounds())
        return cls(
            ndv=evidence.ndv(),
            left=left,
            holding=min(left, evidence.num_holding()),
            rate=math.fsum(rates) / len(rates),
            num_filter_bytes=size,
        )


def _verdict(evidence: ColumnEvidence, figures: _Figures) -> tuple[Advice, str]:
    """The verdict and its reason."""
    is_worth_it = figures.saved >= max(_LEAST_SAVED, _LEAST_SHARE_SAVED * figures.left)
    others_tell = _what_else_tells(evidence, figures, is_worth_it=is_worth_it)
    if others_tell is not None:
        return Advice.SKIP, others_tell
    count = evidence.num_row_groups
    values = _about(figures.ndv)
    if count == 1 and figures.ndv > FEW_DISTINCT:
        return Advice.ADD, f"{values} in a single row group: filters skip the whole file"
    if count == 1:
        return Advice.SKIP, f"{values} only"
    left, holding = (percent(share / count) for share in (figures.left, figures.holding))
    if is_worth_it:
        return Advice.ADD, (
            f"{values} per row group; for one that is there, statistics leave {left} of the row "
            f"groups to read, and {holding} hold it"
        )
    if figures.left <= max(_ALMOST_ONE, _SMALL_SHARE * count):
        return Advice.SKIP, f"sorted: statistics already leave only {left} of the row groups"
    return Advice.SKIP, (
        f"{values} per row group; one that is there is in {holding} of the row groups, and "
        f"statistics leave {left}"
    )


def _what_else_tells(
    evidence: ColumnEvidence, figures: _Figures, *, is_worth_it: bool
) -> str | None:
    """What readers can ask instead of a filter, at no higher cost; None if nothing."""
    count = evidence.num_row_groups
    if figures.ndv < _ALMOST_ONE and len(evidence.lows) == count:
        return "a single value per row group, which statistics tell"
    if evidence.num_dictionaries < count or figures.ndv > SMALL_DICTIONARY:
        return None
    others = "; name the column if yours does not" if is_worth_it else ""
    return (
        f"{_about(figures.ndv)} per row group, all in dictionaries: "
        f"a reader that looks at those (Spark does) skips as much{others}"
    )


def _notes(evidence: ColumnEvidence, figures: _Figures) -> Iterator[str]:
    if evidence.num_row_groups == 1:
        yield "there is a single row group: filters let readers skip the whole file, or nothing"
    if evidence.has_filter.any():
        yield f"{int(evidence.has_filter.sum())} row groups have a filter already"
    if evidence.num_dictionaries == evidence.num_row_groups:
        yield "dictionary-encoded throughout: Spark reads dictionaries before filters"
    if figures.num_filter_bytes > evidence.num_compressed_bytes:
        yield "the filters would take more bytes than the column"
    if evidence.unreadable is not None:
        yield f"some row groups cannot be read: {evidence.unreadable}"


def _about(ndv: float) -> str:
    """So many distinct values, to two digits."""
    number = max(1, round(ndv))
    digits = max(0, len(str(number)) - 2)
    rounded = round(number, -digits)
    return f"about {rounded:,} distinct value{'' if rounded == 1 else 's'}"
