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

Engines differ where all values of the row groups are in small dictionaries: Spark, Trino,
ClickHouse and this library look at those, so that filters save nothing; DuckDB and DataFusion do
not, and gain as much as elsewhere. For any engine, such columns are to be considered. Spark reads
large dictionaries, too, before it asks filters.

A file whose row groups are large cannot skip much, whatever filters it has. Then a note says what
row groups of `ROWS` rows would do. Nothing is estimated where no reader would look up values.
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
    from parquet_bloomwriter.advising.queries import ColumnUse

ENGINES = {
    "any": "any engine",
    "clickhouse": "ClickHouse",
    "datafusion": "DataFusion",
    "duckdb": "DuckDB",
    "polars": "Polars",
    "spark": "Spark",
    "trino": "Trino",
}
"""Engines for which advice can be given."""

_READ_DICTIONARIES = {
    "clickhouse": "ClickHouse",
    "polars": "scan_polars, which reads for Polars,",
    "spark": "Spark",
    "trino": "Trino",
}
"""Engines that look values up in small dictionaries where there is no filter, by their names here.
This was measured, except for Trino: see its `TupleDomainParquetPredicate`."""

ROWS = 100_000
"""Rows of a row group that costs a lookup little, and that readers still read at full speed."""

_LARGE = 2.5
"""From so many times `ROWS` on, a row group is large."""

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


def judge(
    profile: ColumnProfile, *, fpp: float, engine: str = "any", use: ColumnUse | None = None
) -> Judgement:
    """Judge one column.

    Args:
        profile: The column.
        fpp: False positive probability that filters are sized for.
        engine: The engine that will look up values, of `ENGINES`.
        use: How queries ask for the column; None if no queries are known.

    Raises:
        InvalidArgument: If `fpp` is out of range.
    """
    settled = _settle(profile, use)
    if settled is not None:
        return settled
    figures = _Figures.of(profile, fpp)
    verdict, reason = _verdict(profile, figures, engine, use)
    notes = (*profile.notes, *_notes(profile, figures, engine, use))
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


def _settle(profile: ColumnProfile, use: ColumnUse | None) -> Judgement | None:
    """Return a judgement that needs no estimated figures; None if it needs them."""
    reason = _why_no_candidate(profile, use)
    if reason is not None:
        return Judgement(verdict=Advice.SKIP, reason=reason)
    if profile.has_filter.all():
        reason = "every row group that has values has a filter"
        return Judgement(verdict=Advice.HAS_FILTER, reason=reason)
    reason = _why_not_judged(profile, use)
    return None if reason is None else Judgement(verdict=Advice.SKIP, reason=reason)


def _why_no_candidate(profile: ColumnProfile, use: ColumnUse | None) -> str | None:
    no_values = None if profile.num_row_groups else "it has no values"
    return profile.unsupported or no_values or _why_not_asked(use)


def _why_not_asked(use: ColumnUse | None) -> str | None:
    if use is None or use.num_equal:
        return None
    if not use.num_other:
        return "no query asks for it"
    ways = "by <, BETWEEN, LIKE, a function or a join, not by = or IN with values"
    return f"asked for in {use.num_other:,} of {use.num_queries:,} queries, but {ways}"


def _why_not_judged(profile: ColumnProfile, use: ColumnUse | None) -> str | None:
    if not profile.samples:
        return profile.unreadable or "it has no values where samples were taken"
    if use is None and any(sample.has_fractions for sample in profile.samples):
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

    asked: float
    """False positive probability that filters are sized for."""

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
            asked=fpp,
            num_filter_bytes=size,
        )


def _verdict(
    profile: ColumnProfile, figures: _Figures, engine: str, use: ColumnUse | None
) -> tuple[Advice, str]:
    """Return the verdict and its reason."""
    count = profile.num_row_groups
    if figures.ndv < _ALMOST_ONE and len(profile.lows) == count:
        return Advice.SKIP, "a single value per row group, which statistics tell"
    in_dictionaries = _is_in_small_dictionaries(profile, figures)
    if in_dictionaries and engine in _READ_DICTIONARIES:
        return Advice.SKIP, (
            f"{_about(figures.ndv)} per row group, all in dictionaries: "
            f"{_READ_DICTIONARIES[engine]} looks at those, and skips as much"
        )
    verdict, reason = _verdict_on_rows(profile, figures, use)
    if in_dictionaries and engine == "any" and verdict is not Advice.SKIP:
        return Advice.CONSIDER, (
            f"{reason}, if DuckDB or DataFusion reads; Spark, Trino and ClickHouse look at "
            "dictionaries, which have all values here, and skip as much without filters"
        )
    return verdict, reason


def _is_in_small_dictionaries(profile: ColumnProfile, figures: _Figures) -> bool:
    is_in_all = profile.num_dictionaries == profile.num_row_groups
    return is_in_all and figures.ndv <= SMALL_DICTIONARY


def _verdict_on_rows(
    profile: ColumnProfile, figures: _Figures, use: ColumnUse | None
) -> tuple[Advice, str]:
    """Return the verdict for engines that do not look at dictionaries, and its reason."""
    count = profile.num_row_groups
    if count == 1:
        return _verdict_on_one(profile, figures, use)
    before = _roughly(figures.left / count)
    after = _roughly((figures.left - figures.saved) / count)
    if figures.is_worth_it:
        promise = f"a lookup reads {after} of the row groups instead of {before}"
        doubt = _doubt(profile, figures, use)
        return (Advice.CONSIDER, f"{promise}, but {doubt}") if doubt else (Advice.ADD, promise)
    if figures.left <= max(_ALMOST_ONE, _SMALL_SHARE * count):
        return Advice.SKIP, f"sorted: by statistics, a lookup reads {before} of the row groups"
    return Advice.SKIP, f"a lookup would read {after} of the row groups, and {before} without"


def _verdict_on_one(
    profile: ColumnProfile, figures: _Figures, use: ColumnUse | None
) -> tuple[Advice, str]:
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
    doubt = _doubt(profile, figures, use)
    if doubt is None and figures.ndv * _MOST_REPEATS < profile.num_values[0]:
        doubt = "values that repeat so often are held by many files"
    return (Advice.CONSIDER, f"{promise}, but {doubt}") if doubt else (Advice.ADD, promise)


def _doubt(profile: ColumnProfile, figures: _Figures, use: ColumnUse | None) -> str | None:
    """Return why filters that save enough may not be worth it, a clause; None if they are."""
    if profile.is_floating and use is None:
        return "floating-point numbers are rarely looked up by equality"
    if figures.num_filter_bytes > profile.num_compressed_bytes:
        return "the filters would take more bytes than the column"
    if profile.num_row_groups > 1 and figures.saved < _STRONG_SHARE_SAVED * figures.left:
        return "that is not much less"
    return None


def _notes(
    profile: ColumnProfile, figures: _Figures, engine: str, use: ColumnUse | None
) -> Iterator[str]:
    if use is not None:
        yield f"asked for by = or IN in {use.num_equal:,} of {use.num_queries:,} queries"
    yield from _larger_lever(profile, figures)
    are_most = 2 * profile.num_dictionaries > profile.num_row_groups
    is_said = _is_in_small_dictionaries(profile, figures)
    if engine in {"any", "spark"} and are_most and not is_said:
        yield (
            "values are in dictionaries, which Spark reads before it asks filters, so it gains "
            "little, unless parquet.filter.dictionary.enabled is false there; other engines gain"
        )
    if profile.has_filter.any():
        yield f"{int(profile.has_filter.sum())} row groups have a filter already"
    if profile.unreadable is not None:
        yield f"some row groups cannot be read: {profile.unreadable}"


def _larger_lever(profile: ColumnProfile, figures: _Figures) -> Iterator[str]:
    """Yield what smaller row groups would do, if they would do more than filters alone."""
    total = int(profile.num_values.sum())
    now = (figures.left - figures.saved) / profile.num_row_groups
    if total > _LARGE * ROWS * profile.num_row_groups and figures.holding <= _ALMOST_ONE:
        count = math.ceil(total / ROWS)
        ndv = profile.ndv(ROWS)
        absent = expected_fpp(ndv, num_blocks_for(math.ceil(ndv), figures.asked))
        then = (1 + (count - 1) * absent) / count
        yield (
            f"row groups are large, which costs most: with filters, a lookup reads {_roughly(now)} "
            f"of the rows, and {percent(round(then, 3))} in row groups of {ROWS:,}. These come by "
            f"row_group_size={ROWS} (pyarrow, pandas, Polars), ROW_GROUP_SIZE {ROWS} (DuckDB's "
            "COPY), or a smaller parquet.block.size (Spark)"
        )
    elif profile.num_row_groups == 1:
        yield (
            "there is a single row group: filters let readers skip the whole file, or nothing; "
            "write smaller row groups first, if you can"
        )


def _roughly(share: float) -> str:
    """Write an estimated share in whole percents, where these are exact enough."""
    return percent(round(share, 2) if share >= _ONE_PERCENT else share)


def _about(ndv: float) -> str:
    """Write a number of distinct values with two significant digits."""
    number = max(1, round(ndv))
    digits = max(0, len(str(number)) - 2)
    rounded = round(number, -digits)
    return f"about {rounded:,} distinct value{'' if rounded == 1 else 's'}"
