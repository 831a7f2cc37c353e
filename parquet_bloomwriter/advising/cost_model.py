"""From evidence to a verdict: what would filters let readers skip, and is it worth their bytes?

Of the R row groups with values, for one lookup of a value that is there, let

    E   be those that statistics leave to read,         R if there are none
    H   be those that hold it,                          at least 1
    f   be the rate of the filters.

With filters, H + (E - H) f row groups are read instead of E. For a value that is nowhere, though
among the others in order, E f are read. Filters are worth it if they save at least half a row group
and a fifth of E per lookup of a value that is there: values that are asked for mostly are. They are
recommended if they save at least two fifths of E, at no doubtful price.

With a single row group there is nothing to choose between. Filters let readers skip the whole file,
as one of many; whether there are many is not known here. They are recommended for values that are
as many as keys are.

Columns whose values are all in dictionaries are not recommended: Spark reads those first, whatever
filters there are. Nothing is estimated where no reader would look up values.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.reports.advice import Advice
from parquet_bloomwriter.sbbf import encode_header, expected_fpp, num_blocks_for
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.text import percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_bloomwriter.advising.column_profile import ColumnEvidence

FEW_DISTINCT = 100
"""Distinct values per row group that are few: absent ones are hardly ever asked for."""

SMALL_DICTIONARY = 1000
"""Values up to which reading a whole dictionary is no more work than reading a filter."""

_LEAST_SAVED = 0.5
"""Row groups per lookup."""

_LEAST_SHARE_SAVED = 0.2
"""Of the row groups that statistics leave."""

_STRONG_SHARE_SAVED = 0.4
"""The same, for filters that are recommended: two row groups with a key each save nearly a half."""

_ALMOST_ONE = 1.25
"""Row groups, or distinct values, that are as good as one."""

_ONE_PERCENT = 0.01

_MOST_REPEATS = 20
"""Values for each distinct one, up to which a column of a single row group is like a key."""

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
    notes = (*evidence.notes, *_notes(evidence))
    count = evidence.num_row_groups
    return Judgement(
        verdict=verdict,
        reason=reason,
        notes=() if verdict is Advice.SKIP else notes,
        ndv=figures.ndv,
        num_filter_bytes=figures.num_filter_bytes,
        read_by_statistics=figures.left / count,
        holding=figures.holding / count,
        skipped_present=1 - (figures.left - figures.saved) / count,
        skipped_absent=1 - figures.left * figures.rate / count,
    )


def _settle(evidence: ColumnEvidence) -> Judgement | None:
    """Judge without any figure, if that is possible."""
    reason = _why_no_candidate(evidence)
    if reason is not None:
        return Judgement(verdict=Advice.SKIP, reason=reason)
    if evidence.has_filter.all():
        reason = "every row group that has values has a filter"
        return Judgement(verdict=Advice.HAS_FILTER, reason=reason)
    reason = _why_not_judged(evidence)
    return None if reason is None else Judgement(verdict=Advice.SKIP, reason=reason)


def _why_no_candidate(evidence: ColumnEvidence) -> str | None:
    no_values = None if evidence.num_row_groups else "it has no values"
    return evidence.unsupported or no_values


def _why_not_judged(evidence: ColumnEvidence) -> str | None:
    if not evidence.samples:
        return evidence.unreadable or "it has no values where samples were taken"
    if any(sample.has_fractions for sample in evidence.samples):
        return "floating-point numbers with fractions are hardly ever looked up by equality"
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

    @property
    def is_worth_it(self) -> bool:
        """Whether filters save a lookup anything to speak of."""
        return self.saved >= max(_LEAST_SAVED, _LEAST_SHARE_SAVED * self.left)

    @classmethod
    def of(cls, evidence: ColumnEvidence, fpp: float) -> _Figures:
        size, rates = 0, 0.0
        lacking = Counter(evidence.num_values[~evidence.has_filter].tolist())
        for num_values, times in lacking.items():
            ndv = evidence.ndv(num_values)
            blocks = num_blocks_for(math.ceil(ndv), fpp)
            num_bytes = blocks * BYTES_PER_BLOCK
            size += times * (num_bytes + len(encode_header(num_bytes)))
            rates += times * expected_fpp(ndv, blocks)
        left = max(1.0, evidence.num_within_bounds())
        return cls(
            ndv=evidence.ndv(),
            left=left,
            holding=min(left, evidence.num_holding()),
            rate=rates / lacking.total(),
            num_filter_bytes=size,
        )


def _verdict(evidence: ColumnEvidence, figures: _Figures) -> tuple[Advice, str]:
    """The verdict and its reason."""
    count = evidence.num_row_groups
    if figures.ndv < _ALMOST_ONE and len(evidence.lows) == count:
        return Advice.SKIP, "a single value per row group, which statistics tell"
    if evidence.num_dictionaries == count and figures.ndv <= SMALL_DICTIONARY:
        return Advice.SKIP, (
            f"{_about(figures.ndv)} per row group, all in dictionaries: "
            "readers that look at those (Spark does) skip as much"
        )
    if count == 1:
        return _verdict_on_one(evidence, figures)
    before = _roughly(figures.left / count)
    after = _roughly((figures.left - figures.saved) / count)
    if figures.is_worth_it:
        promise = f"a lookup reads {after} of the row groups instead of {before}"
        doubt = _doubt(evidence, figures)
        return (Advice.CONSIDER, f"{promise}, but {doubt}") if doubt else (Advice.ADD, promise)
    if figures.left <= max(_ALMOST_ONE, _SMALL_SHARE * count):
        return Advice.SKIP, f"sorted: by statistics, a lookup reads {before} of the row groups"
    return Advice.SKIP, f"a lookup would read {after} of the row groups, and {before} without"


def _verdict_on_one(evidence: ColumnEvidence, figures: _Figures) -> tuple[Advice, str]:
    """The same for a single row group."""
    values = f"{_about(figures.ndv)} in a single row group"
    if figures.ndv <= FEW_DISTINCT:
        return Advice.SKIP, f"only {values}"
    promise = f"{values}: a lookup skips the file unless it holds the value"
    doubt = _doubt(evidence, figures)
    if doubt is None and figures.ndv * _MOST_REPEATS < evidence.num_values[0]:
        doubt = "values that repeat so often are held by many files"
    return (Advice.CONSIDER, f"{promise}, but {doubt}") if doubt else (Advice.ADD, promise)


def _doubt(evidence: ColumnEvidence, figures: _Figures) -> str | None:
    """Why filters that save something may not pay, a clause; None if they should."""
    if evidence.is_floating:
        return "floating-point numbers are rarely looked up by equality"
    if figures.num_filter_bytes > evidence.num_compressed_bytes:
        return "the filters would take more bytes than the column"
    if 2 * evidence.num_dictionaries > evidence.num_row_groups:
        return "its values are in dictionaries, which Spark reads before it asks filters"
    if evidence.num_row_groups > 1 and figures.saved < _STRONG_SHARE_SAVED * figures.left:
        return "that is not much less"
    return None


def _notes(evidence: ColumnEvidence) -> Iterator[str]:
    if evidence.num_row_groups == 1:
        yield "there is a single row group: filters let readers skip the whole file, or nothing"
    if evidence.has_filter.any():
        yield f"{int(evidence.has_filter.sum())} row groups have a filter already"
    if evidence.unreadable is not None:
        yield f"some row groups cannot be read: {evidence.unreadable}"


def _roughly(share: float) -> str:
    """A share that was estimated, in whole percents where that says enough."""
    return percent(round(share, 2) if share >= _ONE_PERCENT else share)


def _about(ndv: float) -> str:
    """So many distinct values, to two digits."""
    number = max(1, round(ndv))
    digits = max(0, len(str(number)) - 2)
    rounded = round(number, -digits)
    return f"about {rounded:,} distinct value{'' if rounded == 1 else 's'}"
