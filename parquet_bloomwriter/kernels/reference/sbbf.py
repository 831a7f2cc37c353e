"""Filters as arrays of blocks; `sbbf/block.py` has the theory."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from parquet_bloomwriter.kernels.reference.buffers import blocks_of, number, taken

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from parquet_bloomwriter.kernels.reference.buffers import Buffer

SALT = np.array(
    [
        *(0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D),
        *(0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31),
    ],
    np.uint32,
)

_RUN = 1 << 14
"""Hashes, or blocks, that are worked on at once: arrays of them stay in the cache."""

_LONG_RUN = 64
"""Blocks to be joined from which NumPy's own reduction is faster than a loop."""

_MAX_FACTOR = 2**31 - 1


def insert(blocks: Buffer, hashes: Buffer) -> None:
    """Insert hashes into a filter.

    Args:
        blocks: z blocks of 32 bytes, writable.
        hashes: Words of 8 bytes.
    """
    filter_ = blocks_of(blocks, "blocks", writable=True)
    for places, masks in _runs(filter_, hashes):
        np.bitwise_or.at(filter_, places, masks)


def check(blocks: Buffer, hashes: Buffer, flags: Buffer | None) -> int:
    """Check hashes against a filter.

    Args:
        blocks: z blocks of 32 bytes.
        hashes: Words of 8 bytes.
        flags: To be written: a byte for each hash, 1 if it might be contained, else 0; None for
            the number only.

    Returns:
        How many hashes might be contained.
    """
    filter_ = blocks_of(blocks, "blocks")
    out = None if flags is None else taken(flags, "flags", 1, writable=True)
    count = len(taken(hashes, "hashes", 8)) // 8
    if out is not None and len(out) < count:
        raise ValueError("there is no room for the flags")
    done = found = 0
    for places, masks in _runs(filter_, hashes):
        might = (filter_[places] & masks == masks).all(axis=1)
        if out is not None:
            out[done : done + len(might)] = might
        done += len(might)
        found += int(np.count_nonzero(might))
    return found


def fold(blocks: Buffer, factor: SupportsIndex, folded: Buffer) -> None:
    """Join every run of `factor` neighbouring blocks into one, by OR.

    Args:
        blocks: z blocks of 32 bytes.
        factor: k, a divisor of z.
        folded: To be written: z / k blocks.
    """
    filter_ = blocks_of(blocks, "blocks")
    factor = number(factor, "factor", 1, _MAX_FACTOR)
    out = blocks_of(folded, "folded", writable=True)
    if len(filter_) % factor or len(out) != len(filter_) // factor:
        raise ValueError("folded must have as many blocks as the factor leaves")
    runs = filter_.reshape(-1, factor, 8)
    if factor > _LONG_RUN:
        np.bitwise_or.reduce(runs, axis=1, out=out)
        return
    joined = runs[:, 0].copy()
    for i in range(1, factor):
        joined |= runs[:, i]
    out[:] = joined


def unite(blocks: Buffer, others: Buffer) -> None:
    """Join each block of a filter, by OR, into as many neighbouring blocks of a larger one.

    Args:
        blocks: z blocks of 32 bytes, writable.
        others: y blocks; y divides z.
    """
    filter_ = blocks_of(blocks, "blocks", writable=True)
    small = blocks_of(others, "others")
    if len(filter_) % len(small):
        raise ValueError("the number of blocks must be a multiple of the others'")
    runs = filter_.reshape(len(small), -1, 8)
    runs |= small[:, None]


def count_bits(blocks: Buffer) -> int:
    """Count the bits that are set."""
    filter_ = blocks_of(blocks, "blocks")
    slabs = range(0, len(filter_), _RUN)
    return sum(int(np.bitwise_count(filter_[i : i + _RUN]).sum(dtype=np.int64)) for i in slabs)


def sum_products(blocks: Buffer) -> int:
    """Add up, over the blocks, the product of the bits set in each of the eight words."""
    filter_ = blocks_of(blocks, "blocks")
    total = 0
    for start in range(0, len(filter_), _RUN):
        counts = np.bitwise_count(filter_[start : start + _RUN]).astype(np.uint64)
        total += int(counts.prod(axis=1).sum())
    return total


def _runs(
    filter_: NDArray[np.uint32], hashes: Buffer
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint32]]]:
    """Yield the block numbers, shape (n,), and masks, shape (n, 8), of runs of hashes."""
    words = taken(hashes, "hashes", 8).view("<u8")
    num_blocks = np.uint64(len(filter_))
    for start in range(0, len(words), _RUN):
        some = words[start : start + _RUN]
        places = ((some >> np.uint64(32)) * num_blocks) >> np.uint64(32)
        low = some.astype(np.uint32)
        masks = np.uint32(1) << ((low[:, None] * SALT) >> np.uint32(27))
        yield places.astype(np.int64), masks
