"""The profile of a column: figures from footers and samples, which can be added up over files.

A sample of one row group is the hashes of its first values. Three things are kept of a sample:

- n, the values read; d, the distinct values among them; and how d grew from the first half to all.
  If d grew as when each value is drawn from D equally frequent ones, D (1 - exp(-n / D)), this is
  carried on to the N values of a whole row group. Otherwise the exponent of the growth is:
  d (N / n)**growth.
- A *sketch*: the smallest of the distinct hashes. Hashes are uniform, so the hashes of two row
  groups below a common limit are fair samples of their distinct values, and can be compared.
- A few keys, the values of the smallest hashes, to be compared with the statistics.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.predicate.bound import Key, Order

SKETCH_HASHES = 128
"""Most hashes in the sketch of a sample."""

_MAX_SAMPLES = 24
"""Most samples that are kept of one column, over all files."""

_ALL_HASHES = 1 << 64


def drawn(num_values: float, num_equal: float) -> float:
    """Return how many distinct values to expect if each is drawn from equally frequent ones.

    Args:
        num_values: Values drawn, n.
        num_equal: Values to draw from, D; `math.inf` if there is no end of them.
    """
    if math.isinf(num_equal):
        return num_values
    return -num_equal * math.expm1(-num_values / num_equal)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowGroupSample:
    """A sample of the values of one column chunk."""

    num_read: int
    """Number of values read, nulls left out, n; at least 1."""

    num_distinct: int
    """Number of distinct values among the values read, d."""

    growth: float
    """Exponent with which d grows with n, in [0, 1]."""

    num_equal: float | None = None
    """Number of equally frequent values, D, from which the values read may have been drawn; None if
    they were not drawn in this way. `math.inf` if no value was read twice."""

    is_sorted: bool = False
    """Whether the values ascend or descend, in the order in which they are stored."""

    num_values: int
    """Number of values of the whole chunk, nulls left out, N."""

    sketch: NDArray[np.uint64]
    """The smallest distinct hashes, ascending, shape (at most `SKETCH_HASHES`,)."""

    keys: tuple[Key, ...]
    """Some of the values; empty where the column's statistics have no order."""

    has_fractions: bool = False
    """Whether some values are floating-point numbers with a fraction."""

    def ndv(self, num_values: int | None = None) -> float:
        """Estimate the distinct values of a row group like this with `num_values`; None: with N."""
        values = self.num_values if num_values is None else num_values
        if self.num_equal is not None:
            return drawn(values, self.num_equal)
        return min(values, self.num_distinct * math.pow(values / self.num_read, self.growth))

    @property
    def limit(self) -> int:
        """Upper limit of hashes: the sketch holds all distinct hashes of the sample below it."""
        return _ALL_HASHES if self.num_distinct <= len(self.sketch) else int(self.sketch[-1]) + 1

    def share_in(self, other: RowGroupSample) -> float | None:
        """Estimate the share of the distinct values that another row group holds; None if unknown.

        The values that were not read of the other row group are taken to be like those read.
        """
        last = np.uint64(min(self.limit, other.limit) - 1)
        mine = self.sketch[: self.sketch.searchsorted(last, side="right")]
        if not len(mine):
            return None
        places = other.sketch.searchsorted(mine)
        common = np.count_nonzero(other.sketch.take(places, mode="clip") == mine) / len(mine)
        return float(min(1.0, common * max(1.0, other.ndv() / other.num_distinct)))

    def is_like(self, other: RowGroupSample) -> bool:
        """Return whether both row groups certainly were read in full and have the same values.

        Their sketches must be full: of few values, it may be chance that two row groups have them.
        """
        return (
            self.growth == other.growth == 0
            and len(self.sketch) == SKETCH_HASHES
            and np.array_equal(self.sketch, other.sketch)
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnProfile:
    """The profile of one column over all row groups with values, R row groups."""

    unsupported: str | None
    """Why columns of this type get no filter; None if they can."""

    unreadable: str | None
    """Why some row group could not be sampled; None if all could."""

    notes: tuple[str, ...]
    """Facts that readers of filters of this type should know."""

    is_floating: bool
    """Whether the values are floating-point numbers."""

    order: Order | None
    """Order of the values in statistics; None if there is none."""

    num_values: NDArray[np.int64]
    """Number of values without nulls of each row group, shape (R,)."""

    num_compressed_bytes: int
    """Compressed size of all chunks, bytes."""

    has_filter: NDArray[np.bool_]
    """Whether each row group has a filter that seems sound, shape (R,)."""

    num_dictionaries: int
    """Number of row groups whose data pages are all dictionary-encoded."""

    lows: tuple[Any, ...]
    """Minima of the row groups with statistics, ascending."""

    highs: tuple[Any, ...]
    """Maxima of the row groups with statistics, ascending."""

    samples: tuple[RowGroupSample, ...]

    @property
    def num_row_groups(self) -> int:
        """Number of row groups that have values, R."""
        return len(self.num_values)

    def ndv(self, num_values: int | None = None) -> float:
        """Estimate the distinct values of a row group of `num_values`; None: of those sampled."""
        return math.fsum(one.ndv(num_values) for one in self.samples) / len(self.samples)

    def num_within_bounds(self) -> float:
        """Estimate the row groups that statistics leave to read for a value that is stored."""
        unbounded = self.num_row_groups - len(self.lows)
        counts = [
            bisect_right(self.lows, key) - bisect_left(self.highs, key)
            for one in self.samples
            for key in one.keys
        ]
        if not counts:
            return float(self.num_row_groups)
        return unbounded + max(0.0, math.fsum(counts) / len(counts))

    def num_holding(self) -> float:
        """Estimate the row groups that hold a value that is stored."""
        shares = [one.share_in(other) for one, other in permutations(self.samples, 2)]
        known = [share for share in shares if share is not None]
        repeated = math.fsum(known) / len(known) if known else 0.0
        return 1 + (self.num_row_groups - 1) * repeated


def merge_profiles(parts: Sequence[ColumnProfile]) -> ColumnProfile:
    """Merge the profiles of a column in several files, as if all row groups were in one file.

    Statistics are used only of files whose values compare as in the first file with values.
    """
    first = next((part for part in parts if part.num_row_groups), parts[0])
    comparable = [part for part in parts if part.order is first.order]
    samples = [one for part in comparable for one in part.samples]
    count = min(len(samples), _MAX_SAMPLES)
    return ColumnProfile(
        unsupported=next((part.unsupported for part in parts if part.unsupported), None),
        unreadable=next((part.unreadable for part in parts if part.unreadable), None),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        is_floating=first.is_floating,
        order=first.order,
        num_values=np.concatenate([part.num_values for part in parts]),
        num_compressed_bytes=sum(part.num_compressed_bytes for part in parts),
        has_filter=np.concatenate([part.has_filter for part in parts]),
        num_dictionaries=sum(part.num_dictionaries for part in parts),
        lows=tuple(sorted(low for part in comparable for low in part.lows)),
        highs=tuple(sorted(high for part in comparable for high in part.highs)),
        samples=tuple(samples[(2 * i + 1) * len(samples) // (2 * count)] for i in range(count)),
    )
