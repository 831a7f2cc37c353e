"""Figures of columns, summed over all row groups of all files, in the order of the files.

If a value is absent from row group i, a lookup still reads the row group with a probability p(i).
This is the exact rate of the row group's filter, or 1 if there is no filter that can be trusted. Of
N row groups, of b(i) bytes each, with F bytes of filters that can be trusted, the lookup reads

                                 row groups                bytes
    without filters              N                         sum b(i)
    with, the value is absent    sum p(i)                  F + sum p(i) b(i)
    with, one row group has it   1 + (1 - 1/N) sum p(i)    F + sum b(i)/N + (1 - 1/N) sum p(i) b(i)

on average, if each row group is equally likely to hold the value. Footers are read in any case, so
they are not counted. Statistics and dictionaries, which may exclude row groups, are not counted
either.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parquet_bloomwriter.reports.inspection import ColumnFilters, FileFilters, FilterFacts

BITS_PER_BYTE = 8

_FEW_DISTINCT = 100
"""Distinct values of a row group that are few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedFilter:
    """A filter, and the position of its row group among the row groups of all files."""

    position: int
    """Position among the row groups of all files, one file after the other, counted from 0."""

    file: int
    """Ordinal of the file, counted from 0."""

    facts: FilterFacts

    @property
    def is_trusted(self) -> bool:
        """Whether a lookup may trust the filter."""
        return self.facts.problem is None and self.facts.fpp is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupCost:
    """The mean cost of one lookup by equality."""

    row_groups: float
    """Number of row groups that are read."""

    num_bytes: float
    """Compressed size of these row groups, and length of the filters that are read, bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFigures:
    """The figures of one column in all files."""

    name: str
    """Dotted path of the column."""

    types: tuple[str, ...]
    """Types of the column; several types if files disagree."""

    num_row_groups: int
    """Number of row groups of all files, with filters or without."""

    row_group_bytes: tuple[int, ...] = field(repr=False)
    """Compressed size of each row group, all columns, bytes; by position."""

    filters: tuple[PlacedFilter, ...]
    """The filters, by position."""

    @property
    def num_filter_bytes(self) -> int:
        """Length of all filters, headers and bitsets, bytes."""
        return sum(one.facts.length or 0 for one in self.filters)

    @property
    def ndv(self) -> float | None:
        """Number of distinct values per row group, summed; None if no number is known."""
        return _total(one.facts.ndv for one in self.filters)

    @property
    def has_few_values(self) -> bool:
        """Whether a value is surely in many row groups, as each has few, and repeats them."""
        distinct = mean(one.facts.ndv for one in self.filters)
        values = mean(one.facts.num_values for one in self.filters) or 0.0
        return distinct is not None and distinct < min(_FEW_DISTINCT, values / 2)

    @property
    def bits_per_value(self) -> float | None:
        """Bits of bitset per distinct value; None if no number is known."""
        sized = [one.facts for one in self.filters if one.facts.bits_per_value is not None]
        values = sum(facts.ndv or 0.0 for facts in sized)
        bits = BITS_PER_BYTE * sum(facts.num_bytes or 0 for facts in sized)
        return bits / values if values else None

    @property
    def mean_fill(self) -> float | None:
        """Mean share of bits that are set, in [0, 1]."""
        return mean(one.facts.fill for one in self.filters)

    @property
    def mean_fpp(self) -> float | None:
        """Mean exact rate of the filters that can be trusted."""
        return mean(one.facts.fpp for one in self.filters if one.is_trusted)

    @property
    def worst_fpp(self) -> float | None:
        """Highest exact rate of the filters that can be trusted."""
        rates = [one.facts.fpp for one in self.filters if one.is_trusted]
        return max((rate for rate in rates if rate is not None), default=None)

    @property
    def num_problems(self) -> int:
        """Filters that must not be trusted."""
        return sum(one.facts.problem is not None for one in self.filters)

    @property
    def without_filters(self) -> LookupCost:
        """The cost without filters."""
        return LookupCost(row_groups=self.num_row_groups, num_bytes=sum(self.row_group_bytes))

    @property
    def absent(self) -> LookupCost:
        """The cost if no row group holds the value."""
        trusted = [one for one in self.filters if one.is_trusted]
        spared = [(1 - (one.facts.fpp or 0.0), one) for one in trusted]
        num_bytes = sum(share * self.row_group_bytes[one.position] for share, one in spared)
        filters = sum(one.facts.length or 0 for one in trusted)
        return LookupCost(
            row_groups=self.num_row_groups - sum(share for share, _ in spared),
            num_bytes=sum(self.row_group_bytes) - num_bytes + filters,
        )

    @property
    def present(self) -> LookupCost:
        """The cost if one row group holds the value."""
        if not self.num_row_groups:
            return self.without_filters
        every, absent, number = self.without_filters, self.absent, self.num_row_groups
        filters = sum(one.facts.length or 0 for one in self.filters if one.is_trusted)
        by_mistake = (absent.num_bytes - filters) * (1 - 1 / number)
        return LookupCost(
            row_groups=1 + absent.row_groups * (1 - 1 / number),
            num_bytes=filters + every.num_bytes / number + by_mistake,
        )

    @property
    def read_share(self) -> float:
        """Share of row groups that a lookup of an absent value reads, in [0, 1]."""
        return self.absent.row_groups / self.num_row_groups if self.num_row_groups else 0.0


def figures_of(files: Sequence[FileFilters]) -> tuple[ColumnFigures, ...]:
    """Sum up columns by name; columns of the same name in one file are distinguished by order."""
    found: dict[tuple[str, int], list[PlacedFilter]] = {}
    types: dict[tuple[str, int], dict[str, None]] = {}
    sizes = tuple(span.num_bytes for file in files for span in file.row_groups)
    start = 0
    for ordinal, file in enumerate(files):
        seen: Counter[str] = Counter()
        for column in file.columns:
            key = (column.name, seen[column.name])
            seen[column.name] += 1
            found.setdefault(key, []).extend(_placed(column, file=ordinal, start=start))
            types.setdefault(key, {})[column.type] = None
        start += file.num_row_groups
    return tuple(
        ColumnFigures(
            name=key[0],
            types=tuple(types[key]),
            num_row_groups=start,
            row_group_bytes=sizes,
            filters=tuple(sorted(filters, key=lambda one: one.position)),
        )
        for key, filters in found.items()
    )


def share_of_bytes(files: Iterable[FileFilters]) -> float:
    """Return the share of all bytes that are filters, in [0, 1]."""
    known = tuple(files)
    size = sum(file.size for file in known)
    return sum(file.num_filter_bytes for file in known) / size if size else 0.0


def mean(numbers: Iterable[float | None]) -> float | None:
    """Return the mean of the numbers that are known and finite; None without any."""
    known = [number for number in numbers if number is not None and math.isfinite(number)]
    return math.fsum(known) / len(known) if known else None


def _total(numbers: Iterable[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return math.fsum(known) if known else None


def _placed(column: ColumnFilters, *, file: int, start: int) -> list[PlacedFilter]:
    return [
        PlacedFilter(position=start + facts.row_group, file=file, facts=facts)
        for facts in column.filters
    ]
