"""Figures of columns, summed over all row groups of all files, in the order of the files.

A lookup of a value that is absent from a row group reads the row group nevertheless with the
probability `fpp` of its filter, and always where there is no filter that can be trusted. So of N
row groups it reads the share

    (N - k + sum of the k exact rates) / N

where k is the number of filters that can be trusted. Statistics and dictionaries, which may spare
some of these row groups, are not counted.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parquet_bloomwriter.reports.inspection import ColumnFilters, FileFilters, FilterFacts

BITS_PER_BYTE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedFilter:
    """A filter, and the position of its row group among those of all files."""

    position: int
    """0-based; row groups of all files, one file after the other."""

    file: int
    """0-based ordinal of its file."""

    facts: FilterFacts

    @property
    def is_trusted(self) -> bool:
        """Whether a lookup may rely on it."""
        return self.facts.problem is None and self.facts.fpp is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFigures:
    """The figures of one column in all files."""

    name: str
    """Dotted path."""

    types: tuple[str, ...]
    """More than one if files disagree."""

    num_row_groups: int
    """Row groups of all files, with filter or without."""

    filters: tuple[PlacedFilter, ...]
    """By position."""

    @property
    def num_filter_bytes(self) -> int:
        """Headers and bitsets, bytes."""
        return sum(one.facts.length or 0 for one in self.filters)

    @property
    def ndv(self) -> float | None:
        """Distinct values per row group, summed; None if no number is known."""
        return _total(one.facts.ndv for one in self.filters)

    @property
    def bits_per_value(self) -> float | None:
        """Bits of bitset per distinct value."""
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
    def num_trusted(self) -> int:
        """Filters that a lookup may rely on."""
        return sum(one.is_trusted for one in self.filters)

    @property
    def num_problems(self) -> int:
        """Filters that must not be trusted."""
        return sum(one.facts.problem is not None for one in self.filters)

    @property
    def read_row_groups(self) -> float:
        """Expected number of row groups that a lookup of an absent value reads."""
        rates = sum(one.facts.fpp or 0.0 for one in self.filters if one.is_trusted)
        return self.num_row_groups - self.num_trusted + rates

    @property
    def read_share(self) -> float:
        """Share of row groups that a lookup of an absent value reads, in [0, 1]."""
        return self.read_row_groups / self.num_row_groups if self.num_row_groups else 0.0


def figures_of(files: Sequence[FileFilters]) -> tuple[ColumnFigures, ...]:
    """Sum up columns by name; columns of equal name in one file are distinguished by order."""
    found: dict[tuple[str, int], list[PlacedFilter]] = {}
    types: dict[tuple[str, int], dict[str, None]] = {}
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
