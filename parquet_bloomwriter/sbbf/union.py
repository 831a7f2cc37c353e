"""The union of filters of any sizes: one filter that contains what they contain.

A hash belongs to block floor(h z / 2**32) of a filter of z blocks, where h is its upper half. If
every block is repeated k times, the hash belongs to block floor(h k z / 2**32) of k z blocks, and

    floor(floor(h k z / 2**32) / k) = floor(h z / 2**32)

so each hash finds its bits where they were. Repeating blocks keeps the rate as it is. Of two sizes
neither of which divides the other, filters are folded to the greatest common divisor first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter import kernels
from parquet_bloomwriter.sbbf import folding
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.filter import Sbbf
from parquet_bloomwriter.sbbf.sizing import MIN_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


class FilterUnion:
    """The union of filters that are added one after the other.

    Filters of one size are joined at once: memory grows with the number of sizes, not of filters.
    """

    def __init__(self, max_bytes: int | None = None) -> None:
        """Begin with an empty union.

        Args:
            max_bytes: Fold every filter to a power of two of at most so many bytes; by default,
                filters keep their sizes.
        """
        self._most = None
        if max_bytes is not None:
            self._most = 1 << (max_bytes // BYTES_PER_BLOCK).bit_length() - 1
        self._by_size: dict[int, NDArray[np.uint32]] = {}

    def of_size(self, num_blocks: int) -> NDArray[np.uint32]:
        """Return the union of the filters of one size, shape (num_blocks, 8), to insert into."""
        if num_blocks not in self._by_size:
            self._by_size[num_blocks] = Sbbf.empty(num_blocks).blocks
        return self._by_size[num_blocks]

    def add(self, blocks: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Add a filter, shape (z, 8); return the union of the filters of its size."""
        num_blocks = self._allowed(len(blocks))
        if num_blocks < len(blocks):
            blocks = folding.fold(blocks, factor=len(blocks) // num_blocks)
        union = self.of_size(len(blocks))
        kernels.unite(union, np.ascontiguousarray(blocks))
        return union

    def take(self, blocks: NDArray[np.uint32]) -> None:
        """Add a filter, shape (z, 8), whose array may become the union's: it may be changed.

        A filter that is the first of its size is not copied.
        """
        num_blocks = len(blocks)
        if self._allowed(num_blocks) == num_blocks and num_blocks not in self._by_size:
            self._by_size[num_blocks] = blocks
        else:
            self.add(blocks)

    def _allowed(self, num_blocks: int) -> int:
        """Return the number of blocks to which a filter is folded before it is added."""
        return num_blocks if self._most is None else min(num_blocks & -num_blocks, self._most)

    def estimated_ndv(self) -> float:
        """Estimate the distinct values, rather too many than too few; infinite if unknown."""
        return math.fsum(
            folding.estimate_ndv(folding.count_bits(blocks), num_blocks)
            for num_blocks, blocks in self._by_size.items()
        )

    def joined(self, num_blocks: int | None = None) -> Sbbf:
        """Return one filter of the union; nothing can be added afterwards.

        Args:
            num_blocks: Blocks of the filter; by default as many as the largest filter added.
        """
        if num_blocks is None:
            num_blocks = max(self._by_size, default=MIN_BYTES["pow2"] // BYTES_PER_BLOCK)
        joined = self.of_size(num_blocks)
        del self._by_size[num_blocks]
        while self._by_size:
            size, blocks = self._by_size.popitem()
            common = math.gcd(size, num_blocks)
            folded = blocks if common == size else folding.fold(blocks, factor=size // common)
            kernels.unite(joined, folded)
        return Sbbf(joined)


def united(
    filters: Iterable[NDArray[np.uint32]], num_blocks: int, *, limit: float = 1.0
) -> NDArray[np.uint32] | None:
    """Join filters, each of shape (z, 8), in one of `num_blocks` blocks.

    Returns:
        Shape (num_blocks, 8); None as soon as the rate is seen to be at `limit` or above.
    """
    union = FilterUnion()
    for number, blocks in enumerate(filters, 1):
        same_size = union.add(blocks)
        if number.bit_count() == 1 and folding.exact_rate(same_size) >= limit:
            return None
    return union.joined(num_blocks).blocks
