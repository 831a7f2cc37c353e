"""Folds of a filter to smaller sizes, the union of two, and the exact rate of a filter.

Folding by k joins every run of k neighbouring blocks by OR. With the block number of a hash
being floor(h z / 2**32), h its upper half, and k a divisor of z,

    floor(floor(h z / 2**32) / k) = floor(h (z / k) / 2**32)

so each hash finds its bits again in a filter of z / k blocks; and since the mask does not
depend on z, the result equals a filter of that size built afresh.

The exact rate of a filter, whatever writer made it of whatever values, is the chance that an
absent hash, whose block and bits are uniform, finds its eight bits set:

    rate = 1/z * sum over blocks of product over words of popcount(word) / 32

The products are integers of at most 32**8 = 2**40, and are added as such.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter import kernels
from parquet_bloomwriter.arguments import rate_of
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.sbbf.block import BITS_PER_WORD, BYTES_PER_BLOCK, WORDS_PER_BLOCK
from parquet_bloomwriter.sbbf.sizing import MIN_BYTES, Sizing

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FULL_BLOCK: int = BITS_PER_WORD**WORDS_PER_BLOCK
"""Product of the popcounts of a block with all bits set."""


def fold(blocks: NDArray[np.uint32], *, factor: int) -> NDArray[np.uint32]:
    """Merge every run of `factor` neighbouring blocks into one.

    The result equals, bit for bit, a filter of the smaller size built afresh from the same
    hashes: no inserted value is lost, only false positives grow.

    Args:
        blocks: The filter, shape (z, 8), uint32.
        factor: Blocks to merge into one, k; must divide z.

    Returns:
        A new array, shape (z / k, 8).

    Raises:
        InvalidArgument: If `factor` does not divide z.
    """
    num_blocks = len(blocks)
    if factor < 1 or num_blocks % factor:
        raise InvalidArgument(f"{factor} does not divide the filter's {num_blocks} blocks")
    folded = np.empty((num_blocks // factor, WORDS_PER_BLOCK), blocks.dtype)
    kernels.fold(np.ascontiguousarray(blocks), factor, folded)
    return folded


def fold_to_rate(
    blocks: NDArray[np.uint32], fpp: float, *, sizing: Sizing, max_bytes: int | None = None
) -> NDArray[np.uint32]:
    """Fold to the smallest size whose exact rate is within `fpp`.

    "pow2" halves for as long as the rate allows. "exact" searches all divisors of z by
    bisection: the size found is within the rate, and the next smaller one is not.

    Args:
        blocks: The filter, shape (z, 8), uint32.
        fpp: Rate asked for. A filter whose rate is higher already is not folded for its sake.
        sizing: "pow2" goes down to 64 bytes, "exact" to 32.
        max_bytes: Fold at least to this size, whatever the rate becomes.

    Raises:
        InvalidArgument: If no divisor of z gives a filter within `max_bytes`.
    """
    fpp = rate_of(fpp)
    factors = _factors(len(blocks), sizing)
    if max_bytes is not None and len(blocks) * BYTES_PER_BLOCK > max_bytes:
        factors = [k for k in factors if len(blocks) // k * BYTES_PER_BLOCK <= max_bytes]
        if not factors:
            raise InvalidArgument(f"no fold of {len(blocks)} blocks has {max_bytes} bytes or less")
    largest = fold(blocks, factor=factors[0]) if factors[0] > 1 else blocks
    if sizing == "pow2":
        return _halve(largest, fpp, len(factors))
    return _bisect(blocks, largest, fpp, factors)


def _factors(num_blocks: int, sizing: Sizing) -> list[int]:
    """Return the allowed folding factors, ascending, beginning with 1."""
    fewest = MIN_BYTES[sizing] // BYTES_PER_BLOCK
    if sizing == "pow2":
        twos = (num_blocks & -num_blocks).bit_length() - 1
        factors = [1 << i for i in range(twos + 1)]
    else:
        low = [k for k in range(1, math.isqrt(num_blocks) + 1) if num_blocks % k == 0]
        factors = sorted({*low, *(num_blocks // k for k in low)})
    return [k for k in factors if k == 1 or num_blocks // k >= fewest]


def _halve(largest: NDArray[np.uint32], fpp: float, sizes: int) -> NDArray[np.uint32]:
    best = largest
    for _ in range(sizes - 1):
        half = fold(best, factor=2)
        if exact_rate(half) > fpp:
            break
        best = half
    return best


def _bisect(
    blocks: NDArray[np.uint32], largest: NDArray[np.uint32], fpp: float, factors: list[int]
) -> NDArray[np.uint32]:
    best, low, high = largest, 0, len(factors)
    while high - low > 1:
        middle = (low + high) // 2
        folded = fold(blocks, factor=factors[middle])
        if exact_rate(folded) <= fpp:
            best, low = folded, middle
        else:
            high = middle
    return best


def merge(one: NDArray[np.uint32], other: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Join two filters of one kind of value: the result contains what either contains.

    The bigger is folded to the size of the smaller, the union is a bitwise OR. It equals a
    filter of that size into which all values were inserted.

    Args:
        one: A filter, shape (z, 8), uint32.
        other: Another, shape (y, 8), uint32; one of z and y must divide the other.

    Returns:
        A new array, shape (min(z, y), 8).

    Raises:
        InvalidArgument: If the bigger size is no multiple of the smaller.
    """
    small, big = (one, other) if len(one) <= len(other) else (other, one)
    if len(big) % len(small):
        raise InvalidArgument(
            f"filters of {len(one)} and {len(other)} blocks cannot be merged",
            remedy="One size must be a multiple of the other.",
        )
    folded = fold(big, factor=len(big) // len(small))
    kernels.unite(folded, np.ascontiguousarray(small))
    return folded


def exact_rate(blocks: NDArray[np.uint32]) -> float:
    """Return the chance that an absent value passes this very filter, in [0, 1].

    Args:
        blocks: The filter, shape (z, 8), uint32.
    """
    total = kernels.sum_products(np.ascontiguousarray(blocks))
    return total / (len(blocks) * _FULL_BLOCK)


def count_bits(blocks: NDArray[np.uint32]) -> int:
    """Count the bits that are set."""
    return kernels.count_bits(np.ascontiguousarray(blocks))


def estimate_ndv(num_bits: int, num_blocks: int) -> float:
    """Estimate the distinct values in a filter by its number of set bits; infinite if all are set.

    Each value sets one of the 32 z bits that words number w of all blocks have, so a bit
    stays clear with probability exp(-n / (32 z)).
    """
    bits = num_blocks * BYTES_PER_BLOCK * 8
    if num_bits == bits:
        return math.inf
    return -BITS_PER_WORD * num_blocks * math.log1p(-num_bits / bits)
