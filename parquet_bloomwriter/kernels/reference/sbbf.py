"""Kernels on filters as arrays of blocks; `sbbf/block.py` has the theory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.kernels.reference.buffers import array, blocks_of, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from parquet_bloomwriter.kernels.reference.buffers import Buffer, Int

_SALT = np.frombuffer(
    bytes.fromhex("47B6137B 44974D91 8824AD5B A2B7289D 705495C7 2DF1424B 9EFC4947 5C6BFB31"), ">u4"
).astype(np.uint32)
_RUN = 1 << 14
"""Number of hashes that are processed at once: their arrays stay in the cache."""


def insert(blocks: Buffer, hashes: Buffer) -> None:
    """Insert hashes into a filter.

    Args:
        blocks: z blocks of 32 bytes, writable.
        hashes: Words of 8 bytes.
    """
    bits = blocks_of(blocks, "blocks", writable=True)
    for places, masks in _runs(len(bits), hashes):
        np.bitwise_or.at(bits, places, masks)


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
    bits = blocks_of(blocks, "blocks")
    parts = [~(~bits[places] & masks).any(axis=1) for places, masks in _runs(len(bits), hashes)]
    might = np.concatenate([np.empty(0, np.bool_), *parts])
    if flags is not None:
        out = array(flags, "flags", writable=True)
        if len(out) < len(might):
            raise ValueError("there is no room for the flags")
        out[: len(might)] = might
    return int(np.count_nonzero(might))


def fold(blocks: Buffer, factor: Int, folded: Buffer) -> None:
    """Join every run of `factor` neighbouring blocks into one, by OR.

    Args:
        blocks: z blocks of 32 bytes.
        factor: k, a divisor of z.
        folded: To be written: z / k blocks.
    """
    bits, out = blocks_of(blocks, "blocks"), blocks_of(folded, "folded", writable=True)
    factor = number(factor, "factor", 1, 2**31 - 1)
    if len(bits) != len(out) * factor:
        raise ValueError("folded must have as many blocks as the factor leaves")
    np.bitwise_or.reduce(bits.reshape(-1, factor, 8), axis=1, out=out)


def unite(blocks: Buffer, others: Buffer) -> None:
    """Join each block of a filter, by OR, into as many neighbouring blocks of a larger one.

    Args:
        blocks: z blocks of 32 bytes, writable.
        others: y blocks; y divides z.
    """
    bits, small = blocks_of(blocks, "blocks", writable=True), blocks_of(others, "others")
    if len(bits) % len(small):
        raise ValueError("the number of blocks must be a multiple of the others'")
    runs = bits.reshape(len(small), -1, 8)
    runs |= small[:, None]


def count_bits(blocks: Buffer) -> int:
    """Count the bits that are set."""
    return int(np.bitwise_count(blocks_of(blocks, "blocks")).sum(dtype=np.int64))


def sum_products(blocks: Buffer) -> int:
    """Add up, over the blocks, the product of the bits set in each of the eight words."""
    counts = np.bitwise_count(blocks_of(blocks, "blocks"))
    high, low = divmod(counts.prod(axis=1, dtype=np.uint64), np.uint64(2**32))
    return (int(high.sum()) << 32) + int(low.sum())


def _runs(
    num_blocks: int, hashes: Buffer
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint32]]]:
    """Yield the block numbers, shape (n,), and masks, shape (n, 8), of runs of hashes."""
    words = array(hashes, "hashes", np.uint64)
    for start in range(0, len(words), _RUN):
        high, low = divmod(words[start : start + _RUN], np.uint64(2**32))
        exponents = low.astype(np.uint32)[:, None] * _SALT >> np.uint32(27)
        places = (high * np.uint64(num_blocks) >> np.uint64(32)).astype(np.int64)
        yield places, np.uint32(1) << exponents
