"""The two loops over matrices of bits: the transpose of filters into slices, and the AND of slices.

    filters    one row of c bytes for each of t filters          shape (t, c)
    slices     one row of t bits for each bit of a filter        shape (8 c, t / 8)

Bit i of byte b of filter k becomes bit k % 8 of byte k // 8 of slice 8 b + i. As the words of a
filter are little-endian, slice 8 b + i belongs to block b // 32 of the filter, to word b % 32 // 4
of the block, and to bit 8 (b % 4) + i of the word.

Both matrices are taken as little-endian numbers of 64 bits. 64 numbers, one under the other, are a
matrix of 64 x 64 bits, which six exchanges turn (H. S. Warren, Hacker's Delight, 2nd edition, 7-3).
Each exchange is made for many such matrices at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_BITS = 64
"""Number of bits in one number."""

_BYTES = 8

_EXCHANGES = (
    (32, np.uint64(0x00000000FFFFFFFF)),
    (16, np.uint64(0x0000FFFF0000FFFF)),
    (8, np.uint64(0x00FF00FF00FF00FF)),
    (4, np.uint64(0x0F0F0F0F0F0F0F0F)),
    (2, np.uint64(0x3333333333333333)),
    (1, np.uint64(0x5555555555555555)),
)
"""Distance d, in rows and in bits; and the mask of the bits of a row that are exchanged with row +
d, which has them d bits higher up."""

_ACROSS, _DOWN = 64, 16
"""Number of 64 x 64 matrices that are transposed together: 512 KiB, which fit into the processor's
cache."""


def transpose(filters: NDArray[np.uint8], slices: NDArray[np.uint8]) -> None:
    """Turn filters into slices.

    Args:
        filters: Shape (t, c), multiples of 64 and 8, contiguous.
        slices: The array for the result, shape (8 c, t / 8), contiguous.
    """
    num_filters, num_bytes = filters.shape
    above, across = num_filters // _BITS, num_bytes // _BYTES
    source = filters.view("<u8").reshape(above, _BITS, across)
    result = slices.view("<u8").reshape(across, _BITS, above)
    for top in range(0, above, _DOWN):
        for left in range(0, across, _ACROSS):
            turned = source[top : top + _DOWN, :, left : left + _ACROSS].copy()
            _turn(turned)
            result[left : left + _ACROSS, :, top : top + _DOWN] = turned.transpose(2, 1, 0)


def and_rows(rows: Iterable[NDArray[np.uint64]], result: NDArray[np.uint64]) -> bool:
    """Write the AND of rows of bits into `result`, and return whether any bit is left.

    Rows are taken as long as any bit is left: those behind need not be read.

    Args:
        rows: Rows of bits, at least one, each of the shape of `result`.
        result: Shape (n,); what it held is overwritten.
    """
    result[:] = np.uint64(0xFFFFFFFFFFFFFFFF)
    for row in rows:
        result &= row
        if not result.any():
            return False
    return True


def _turn(numbers: NDArray[np.uint64]) -> None:
    """Turn matrices of 64 x 64 bits in place; shape (a, 64, b), one in each column of each a."""
    above, _, across = numbers.shape
    scratch = np.empty(numbers.size // 2, np.uint64)
    for distance, bits in _EXCHANGES:
        pairs = numbers.reshape(above, _BITS // (2 * distance), 2, distance * across)
        upper, lower = pairs[:, :, 0], pairs[:, :, 1]
        moved, shift = scratch.reshape(upper.shape), np.uint64(distance)
        np.right_shift(upper, shift, out=moved)
        moved ^= lower
        moved &= bits
        lower ^= moved
        moved <<= shift
        upper ^= moved
