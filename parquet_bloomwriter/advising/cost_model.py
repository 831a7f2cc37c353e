"""The cost model of advice: the reads that filters save, compared with their bytes.

Of the R row groups with values, for one lookup of a value that is stored, let

    E   be those that statistics leave to read,         R if there are no statistics
    H   be those that hold the value,                   at least 1
    f   be the rate of the filters.

With filters, H + (E - H) f row groups are read instead of E. For a value that is not stored, though
between others in order, E f are read. Filters are worth it if they save at least half a row group
and a fifth of E per lookup of a value that is stored: most lookups are for such values. Filters are
recommended if they save at least two fifths of E, at no doubtful price.

With a single row group, filters let readers skip the whole file or nothing. Whether there are many
files is not known here, so filters are recommended for values that are nearly all distinct, as keys
are, and in no order.

Where most values are in dictionaries, a note says so: Spark reads those first, whatever filters
there are; other engines gain as much as elsewhere. Nothing is estimated where no reader would look
up values.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.advising.report import Advice
from parquet_bloomwriter.sbbf import encode_header, expected_fpp, num_blocks_for
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.text import percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_bloomwriter.advising.column_profile import ColumnProfile

FEW_DISTINCT = 100
"""Most distinct values per row group that count as few: absent values are hardly ever looked up."""

SMALL_DICTIONARY = 1000
"""Most values of a dictionary that is read as quickly as a filter."""

_LEAST_SAVED = 0.5
"""Row groups per lookup that filters must save to be worth it."""

_LEAST_SHARE_SAVED = 0.2
"""Share of the row groups left by statistics that filters must save to be worth it."""

_STRONG_SHARE_SAVED = 0.4
"""The share that recommended filters save: for keys in two row groups, nearly a half."""

_ALMOST_ONE = 1.25
"""Most expected row groups, or distinct values, that count as practically a single one."""

_ONE_PERCENT = 0.01

_MOST_REPEATS = 20
"""Most repeats of each value with which a column of a single row group is like a key."""

_SMALL_SHARE = 0.5
"""Largest share of row groups left by statistics for which a column is nearly sorted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The advice for one column, and the figures behind it."""

    verdict: Advice
    reason: str
    notes: tuple[str, ...] = ()
    ndv: float | None = None
    num_filter_bytes: int | None = None
    read_by_statistics: float | None = None
    holding: float | None = None
    skipped_present: float | None = None
    skipped_absent: float | None = None


def judge(profile: ColumnProfile, *, fpp: float) -> Judgement:
    """Judge one column.

    Args:
        profile: The column.
        fpp: False positive probability that filters are sized for.

    Raises:
        InvalidArgument: If `fpp` is out of range.
    """
    settled = _settle(profile)
    if settled is not None:
        return settled
    figures = _Figures.of(profile, fpp)
    verdict, reason = _verdict(profile, figures)
    notes = (*profile.notes, *_notes(profile))
    count = profile.num_row_groups
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


def _settle(profile: ColumnProfile) -> Judgement | None:
    """Return a judgement that needs no estimated figures; None if it needs them."""
    reason = _why_no_candidate(profile)
    if reason is not None:
        return Judgement(verdict=Advice.SKIP, reason=reason)
    if profile.has_filter.all():
        reason = "every row group that has values has a filter"
        return Judgement(verdict=Advice.HAS_FILTER, reason=reason)
    reason = _why_not_judged(profile)
    return None if reason is None else Judgement(verdict=Advice.SKIP, reason=reason)


def _why_no_candidate(profile: ColumnProfile) -> str | None:
    no_values = None if profile.num_row_groups else "it has no values"
    return profile.unsupported or no_values


def _why_not_judged(profile: ColumnProfile) -> str | None:
    if not profile.samples:
        return profile.unreadable or "it has no values where samples were taken"
    if any(sample.has_fractions for sample in profile.samples):
        return "floating-point numbers with fractions are hardly ever looked up by equality"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Figures:
    """Expected numbers of row groups for one lookup, and the size of the filters."""

    ndv: float
    left: float
    """Expected row groups that statistics leave to read, E."""

    holding: float
    """Expected row groups that hold the value, H."""

    rate: float
    """Expected false positive rate of the filters, f."""

    num_filter_bytes: int

    @property
    def saved(self) -> float:
        """Expected row groups that filters save for a stored value."""
        return (self.left - self.holding) * (1 - self.rate)

    @property
    def is_worth_it(self) -> bool:
        """Return whether filters save enough row groups."""
        return self.saved >= max(_LEAST_SAVED, _LEAST_SHARE_SAVED * self.left)

    @classmethod
    def of(cls, profile: ColumnProfile, fpp: float) -> _Figures:
        size, rates = 0, 0.0
        lacking = Counter(profile.num_values[~profile.has_filter].tolist())
        for num_values, times in lacking.items():
            ndv = profile.ndv(num_values)
            blocks = num_blocks_for(math.ceil(ndv), fpp)
            num_bytes = blocks * BYTES_PER_BLOCK
            size += times * (num_bytes + len(encode_header(num_bytes)))
            rates += times * expected_fpp(ndv, blocks)
        left = max(1.0, profile.num_within_bounds())
        return cls(
            ndv=profile.ndv(),
            left=left,
            holding=min(left, profile.num_holding()),
            rate=rates / lacking.total(),
            num_filter_bytes=size,
        )


def _verdict(profile: ColumnProfile, figures: _Figures) -> tuple[Advice, str]:
    """Return the verdict and its reason."""
    count = profile.num_row_groups
    if figures.ndv < _ALMOST_ONE and len(profile.lows) == count:
        return Advice.SKIP, "a single value per row group, which statistics tell"
    if profile.num_dictionaries == count and figures.ndv <= SMALL_DICTIONARY:
        return Advice.SKIP, (
            f"{_about(figures.ndv)} per row group, all in dictionaries: "
            "readers that look at those (Spark does) skip as much"
        )
    if count == 1:
        return _verdict_on_one(profile, figures)
    before = _roughly(figures.left / count)
    after = _roughly((figures.left - figures.saved) / count)
    if figures.is_worth_it:
        promise = f"a lookup reads {after} of the row groups instead of {before}"
        doubt = _doubt(profile, figures)
        return (Advice.CONSIDER, f"{promise}, but {doubt}") if doubt else (Advice.ADD, promise)
    if figures.left <= max(_ALMOST_ONE, _SMALL_SHARE * count):
        return Advice.SKIP, f"sorted: by statistics, a lookup reads {before} of the row groups"
    return Advice.SKIP, f"a lookup would read {after} of the row groups, and {before} without"


def _verdict_on_one(profile: ColumnProfile, figures: _Figures) -> tuple[Advice, str]:
    """Return the verdict on a column of a single row group."""
    values = f"{_about(figures.ndv)} in a single row group"
    if figures.ndv <= FEW_DISTINCT:
        return Advice.SKIP, f"only {values}"
    if all(one.is_sorted for one in profile.samples):
        return Advice.SKIP, (
            "sorted, in a single row group: minimum and maximum exclude as much as filters where "
            "there are several row groups or files"
        )
    promise = f"{values}: a lookup reads all of the file if the value is there, else nothing"
    doubt = _doubt(profile, figures)
    if doubt is None and figures.ndv * _MOST_REPEATS < profile.num_values[0]:
        doubt = "values that repeat so often are held by many files"
    return (Advice.CONSIDER, f"{promise}, but {doubt}") if doubt else (Advice.ADD, promise)


def _doubt(profile: ColumnProfile, figures: _Figures) -> str | None:
    """Return why filters that save enough may not be worth it, a clause; None if they are."""
    if profile.is_floating:
        return "floating-point numbers are rarely looked up by equality"
    if figures.num_filter_bytes > profile.num_compressed_bytes:
        return "the filters would take more bytes than the column"
    if profile.num_row_groups > 1 and figures.saved < _STRONG_SHARE_SAVED * figures.left:
        return "that is not much less"
    return None


def _notes(profile: ColumnProfile) -> Iterator[str]:
    if 2 * profile.num_dictionaries > profile.num_row_groups:
        yield (
            "values are in dictionaries, which Spark reads before it asks filters, so it gains "
            "little, unless parquet.filter.dictionary.enabled is false there; other engines gain"
        )
    if profile.num_row_groups == 1:
        yield (
            "there is a single row group: filters let readers skip the whole file, or nothing; "
            "write smaller row groups first, if you can"
        )
    if profile.has_filter.any():
        yield f"{int(profile.has_filter.sum())} row groups have a filter already"
    if profile.unreadable is not None:
        yield f"some row groups cannot be read: {profile.unreadable}"


def _roughly(share: float) -> str:
    """Write an estimated share in whole percents, where these are exact enough."""
    return percent(round(share, 2) if share >= _ONE_PERCENT else share)


def _about(ndv: float) -> str:
    """Write a number of distinct values with two significant digits."""
    number = max(1, round(ndv))
    digits = max(0, len(str(number)) - 2)
    rounded = round(number, -digits)
    return f"about {rounded:,} distinct value{'' if rounded == 1 else 's'}"
