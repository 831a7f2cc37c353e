"""One filter out of several of any sizes, that contains what any of them contains.

A hash h belongs to block floor(h z / 2**32) of a filter of z blocks, h its upper half. In one of
k z blocks, made by repeating every block k times, that is block floor(h k z / 2**32), and

    floor(floor(h k z / 2**32) / k) = floor(h z / 2**32)

so each hash finds its bits where they were. Repeating adds no knowledge: the rate stays the same.
Sizes of which neither divides the other are folded to their greatest common divisor first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.sbbf import folding
from parquet_bloomwriter.sbbf.block import WORDS_PER_BLOCK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


def united(
    filters: Iterable[NDArray[np.uint32]], num_blocks: int, *, limit: float = 1.0
) -> NDArray[np.uint32] | None:
    """Join filters, each of shape (z, 8), in one of `num_blocks` blocks.

    Filters of one size are joined first, so that it does not matter how small and how many they
    are.

    Returns:
        Shape (num_blocks, 8); None as soon as it is seen that the rate is not below `limit`.
    """
    by_size: dict[int, NDArray[np.uint32]] = {}
    for number, blocks in enumerate(filters, 1):
        size = len(blocks)
        if size in by_size:
            by_size[size] |= blocks
        else:
            by_size[size] = blocks.copy()
        if _is_power_of_two(number) and folding.exact_rate(by_size[size]) >= limit:
            return None
    union = np.zeros((num_blocks, WORDS_PER_BLOCK), np.uint32)
    for blocks in by_size.values():
        common = math.gcd(len(blocks), num_blocks)
        folded = folding.fold(blocks, factor=len(blocks) // common)
        union.reshape(common, -1, WORDS_PER_BLOCK)[:] |= folded[:, np.newaxis]
    return union


def _is_power_of_two(number: int) -> bool:
    return number & (number - 1) == 0
