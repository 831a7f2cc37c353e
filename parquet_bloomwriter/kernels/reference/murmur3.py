"""MurmurHash3 as the drafts of the specification take it; the head of `c/murmur3.c` has its theory.

The 32 bits of the upper half of each hash are in reverse order, as `sbbf.murmur` needs them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from parquet_bloomwriter.kernels.reference.arrays import (
    Slots,
    hash_fixed,
    hash_variable,
    hash_views,
)
from parquet_bloomwriter.kernels.reference.buffers import number, taken

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_bloomwriter.kernels.reference.arrays import RowHash
    from parquet_bloomwriter.kernels.reference.buffers import Buffer

_C1, _C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
_MIX_1, _MIX_2 = 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53
_BLOCK_BYTES = 16
_MAX_SEED = 2**32 - 1
_SWAPS = ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF), (16, 0x0000FFFF))


def murmur3(data: Buffer, seed: SupportsIndex) -> int:
    """Return the hash of some bytes.

    Args:
        data: The bytes.
        seed: 0 to 2**32 - 1.
    """
    return int(_with_seed(seed)(taken(data, "data", 1).reshape(1, -1))[0])


def murmur3_fixed(  # noqa: PLR0913, PLR0917  an array is several buffers
    values: Buffer | None,
    width: SupportsIndex,
    first: SupportsIndex,
    count: SupportsIndex,
    valid: Buffer | None,
    hashes: Buffer,
    seed: SupportsIndex,
) -> int:
    """Hash values of one width; as `xxh64_fixed`, but for the seed."""
    return hash_fixed(values, width, Slots.of(first, count, valid, hashes), _with_seed(seed))


def murmur3_variable(  # noqa: PLR0913, PLR0917  as above
    values: Buffer | None,
    offsets: Buffer | None,
    offset_width: SupportsIndex,
    first: SupportsIndex,
    count: SupportsIndex,
    valid: Buffer | None,
    hashes: Buffer,
    seed: SupportsIndex,
) -> int:
    """Hash byte strings; as `xxh64_variable`, but for the seed."""
    slots = Slots.of(first, count, valid, hashes)
    return hash_variable(values, offsets, offset_width, slots, _with_seed(seed))


def murmur3_views(  # noqa: PLR0913, PLR0917  as above
    views: Buffer | None,
    buffers: tuple[Buffer | None, ...],
    first: SupportsIndex,
    count: SupportsIndex,
    valid: Buffer | None,
    hashes: Buffer,
    seed: SupportsIndex,
) -> int:
    """Hash string or binary views; as `xxh64_views`, but for the seed."""
    return hash_views(views, buffers, Slots.of(first, count, valid, hashes), _with_seed(seed))


def _with_seed(seed: SupportsIndex) -> RowHash:
    return partial(_of_rows, seed=number(seed, "seed", 0, _MAX_SEED))


def _of_rows(rows: NDArray[np.uint8], seed: int) -> NDArray[np.uint64]:
    """Hash n values of one length, shape (n, bytes)."""
    count, length = rows.shape
    blocks, rest = divmod(length, _BLOCK_BYTES)
    padded = np.zeros((count, (blocks + 1) * _BLOCK_BYTES), np.uint8)
    padded[:, :length] = rows
    words = padded.view("<u8")
    h1, h2 = np.full(count, seed, np.uint64), np.full(count, seed, np.uint64)
    for i in range(blocks):
        h1 ^= _scramble(words[:, 2 * i], _C1, 31, _C2)
        h1 = (_rotl(h1, 27) + h2) * _u64(5) + _u64(0x52DCE729)
        h2 ^= _scramble(words[:, 2 * i + 1], _C2, 33, _C1)
        h2 = (_rotl(h2, 31) + h1) * _u64(5) + _u64(0x38495AB5)
    if rest:
        h1 ^= _scramble(words[:, -2], _C1, 31, _C2)
        h2 ^= _scramble(words[:, -1], _C2, 33, _C1)
    h1 ^= _u64(length)
    h2 ^= _u64(length)
    h1 += h2
    h2 += h1
    return _reverse_upper(_mix(h1) + _mix(h2))


def _u64(value: int) -> NDArray[np.uint64]:
    """Return an array of one element: NumPy warns where scalars overflow, but not of arrays."""
    return np.array([value], np.uint64)


def _rotl(words: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    return (words << _u64(bits)) | (words >> _u64(64 - bits))


def _scramble(words: NDArray[np.uint64], by: int, bits: int, then: int) -> NDArray[np.uint64]:
    return _rotl(words * _u64(by), bits) * _u64(then)


def _mix(h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    h = (h ^ (h >> _u64(33))) * _u64(_MIX_1)
    h = (h ^ (h >> _u64(33))) * _u64(_MIX_2)
    return h ^ (h >> _u64(33))


def _reverse_upper(h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    upper = h >> _u64(32)
    for bits, mask in _SWAPS:
        upper = (upper & _u64(mask)) << _u64(bits) | (upper >> _u64(bits)) & _u64(mask)
    return upper << _u64(32) | h & _u64(0xFFFFFFFF)
