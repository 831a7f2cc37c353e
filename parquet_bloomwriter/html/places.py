"""Where row groups stand: those of all files, one file after the other."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from parquet_bloomwriter.text import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.reports.inspection import FileFilters

_MOST_RULES = 24
"""Boundaries between files that are drawn; of more, none is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Positions of row groups, 0-based, and the files that they belong to."""

    starts: tuple[int, ...]
    """Position of the first row group of each file."""

    total: int
    """Row groups of all files."""

    @classmethod
    def of(cls, files: Sequence[FileFilters]) -> Places:
        """Count through the files."""
        stops = list(accumulate((file.num_row_groups for file in files), initial=0))
        return cls(starts=tuple(stops[:-1]), total=stops[-1])

    @property
    def rules(self) -> tuple[int, ...]:
        """Positions at which a file begins, apart from the first, unless they are too many."""
        between = tuple(sorted({start for start in self.starts if 0 < start < self.total}))
        return between if len(between) <= _MOST_RULES else ()

    def told(self, start: int, stop: int) -> str:
        """Name the row groups from `start` up to `stop`, as the files number them."""
        if len(self.starts) > 1:
            first, last = self._within(start), self._within(stop - 1)
            return first if first == last else f"{first} to {last}"
        if stop - start == 1:
            return f"row group {start:,}"
        return f"row groups {start:,}-{stop - 1:,}"

    def extent(self) -> str:
        """Say what stands from left to right."""
        if len(self.starts) > 1:
            return f"{count(self.total, 'row group')} of {count(len(self.starts), 'file')}"
        return self.told(0, self.total) if self.total else "no row group"

    def _within(self, position: int) -> str:
        file = bisect_right(self.starts, position) - 1
        return f"file {file + 1:,} row group {position - self.starts[file]:,}"
