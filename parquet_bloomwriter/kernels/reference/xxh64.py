"""XXH64 with seed 0; the head of `c/xxh64.c` has its theory."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from parquet_bloomwriter.kernels.reference.arrays import (
    Slots,
    hash_fixed,
    hash_variable,
    hash_views,
)
from parquet_bloomwriter.kernels.reference.buffers import taken

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_bloomwriter.kernels.reference.buffers import Buffer

_PRIME_1, _PRIME_2, _PRIME_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_PRIME_4, _PRIME_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_STARTS = ((_PRIME_1 + _PRIME_2) % 2**64, _PRIME_2, 0, -_PRIME_1 % 2**64)
"""Where the four accumulators start."""

_STRIPE_BYTES, _WORD_BYTES, _HALF_WORD_BYTES = 32, 8, 4


def xxh64(data: Buffer) -> int:
    """Return XXH64 with seed 0 of some bytes, an unsigned 64-bit integer."""
    return int(_of_rows(taken(data, "data", 1).reshape(1, -1))[0])


def xxh64_fixed(  # noqa: PLR0913, PLR0917  an array is several buffers
    values: Buffer | None,
    width: SupportsIndex,
    first: SupportsIndex,
    count: SupportsIndex,
    valid: Buffer | None,
    hashes: Buffer,
) -> int:
    """Hash the valid slots of an array of values of one width.

    Args:
        values: Values of `width` bytes, one behind the other; None if the width is 0.
        width: Bytes.
        first: The first slot, counted from the start of the buffers: the offset of a slice.
        count: Slots.
        valid: Bitmap of the slots that are not null, lowest bit first; None if all are.
        hashes: To be written: a word of 8 bytes for each valid slot. It has room for `count`.

    Returns:
        How many hashes were written.
    """
    return hash_fixed(values, width, Slots.of(first, count, valid, hashes), _of_rows)


def xxh64_variable(  # noqa: PLR0913, PLR0917  as above
    values: Buffer | None,
    offsets: Buffer | None,
    offset_width: SupportsIndex,
    first: SupportsIndex,
    count: SupportsIndex,
    valid: Buffer | None,
    hashes: Buffer,
) -> int:
    """Hash the valid slots of an array of byte strings.

    Args:
        values: The strings, one behind the other.
        offsets: Of the strings in `values`, ascending, one more than there are slots.
        offset_width: Bytes of an offset, 4 or 8.
        first: As for `xxh64_fixed`, as are the following.
        count: Slots.
        valid: Bitmap.
        hashes: To be written.

    Returns:
        How many hashes were written.
    """
    slots = Slots.of(first, count, valid, hashes)
    return hash_variable(values, offsets, offset_width, slots, _of_rows)


def xxh64_views(  # noqa: PLR0913, PLR0917  as above
    views: Buffer | None,
    buffers: tuple[Buffer | None, ...],
    first: SupportsIndex,
    count: SupportsIndex,
    valid: Buffer | None,
    hashes: Buffer,
) -> int:
    """Hash the valid slots of an array of string or binary views.

    Args:
        views: Of 16 bytes each.
        buffers: What the views of long strings point into.
        first: As for `xxh64_fixed`, as are the following.
        count: Slots.
        valid: Bitmap.
        hashes: To be written.

    Returns:
        How many hashes were written.
    """
    return hash_views(views, buffers, Slots.of(first, count, valid, hashes), _of_rows)


def _of_rows(rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Hash n values of one length, shape (n, bytes)."""
    count, length = rows.shape
    h, at = np.full(count, _PRIME_5, np.uint64), 0
    if length >= _STRIPE_BYTES:
        at = length - length % _STRIPE_BYTES
        h = _stripes(_words(rows[:, :at], _WORD_BYTES))
    h += np.uint64(length)
    while at + _WORD_BYTES <= length:
        word = _words(rows[:, at : at + _WORD_BYTES], _WORD_BYTES)[:, 0]
        h = _rotl(h ^ _round(np.zeros_like(h), word), 27) * _u64(_PRIME_1) + _u64(_PRIME_4)
        at += _WORD_BYTES
    if at + _HALF_WORD_BYTES <= length:
        half = _words(rows[:, at : at + _HALF_WORD_BYTES], _HALF_WORD_BYTES)[:, 0]
        half = half.astype(np.uint64) * _u64(_PRIME_1)
        h = _rotl(h ^ half, 23) * _u64(_PRIME_2) + _u64(_PRIME_3)
        at += _HALF_WORD_BYTES
    while at < length:
        h = _rotl(h ^ rows[:, at].astype(np.uint64) * _u64(_PRIME_5), 11) * _u64(_PRIME_1)
        at += 1
    h = (h ^ (h >> _u64(33))) * _u64(_PRIME_2)
    h = (h ^ (h >> _u64(29))) * _u64(_PRIME_3)
    return h ^ (h >> _u64(32))


def _stripes(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Run the four accumulators over stripes of four words, shape (n, 4 k), and merge them."""
    v = [np.full(len(words), start, np.uint64) for start in _STARTS]
    for i in range(words.shape[1]):
        v[i % 4] = _round(v[i % 4], words[:, i])
    h = _rotl(v[0], 1) + _rotl(v[1], 7) + _rotl(v[2], 12) + _rotl(v[3], 18)
    for one in v:
        h = (h ^ _round(np.zeros_like(h), one)) * _u64(_PRIME_1) + _u64(_PRIME_4)
    return h


def _words(rows: NDArray[np.uint8], size: int) -> NDArray[np.uint64]:
    """View the bytes of each row as words of `size` bytes."""
    return np.ascontiguousarray(rows).view(f"<u{size}")


def _u64(value: int) -> NDArray[np.uint64]:
    """Return an array of one element: NumPy warns where scalars overflow, but not of arrays."""
    return np.array([value], np.uint64)


def _rotl(words: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    return (words << _u64(bits)) | (words >> _u64(64 - bits))


def _round(accumulator: NDArray[np.uint64], words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return _rotl(accumulator + words * _u64(_PRIME_2), 31) * _u64(_PRIME_1)
