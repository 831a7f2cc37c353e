"""XXH64 over whole arrays; the rules of kernels are in `parquet_bloomwriter.native`.

XXH64 with seed 0, where `rotl` rotates 64 bits to the left and arithmetic is modulo 2**64:

    round(acc, w)  = rotl(acc + w * PRIME_2, 31) * PRIME_1
    inputs of 32 bytes or more run four accumulators over stripes of 4 x 8 bytes, then
    merge them; shorter ones start from PRIME_5. Then the length is added, the remaining
    words of 8, 4 and 1 bytes are mixed in, in that order, and `avalanche` ends it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numba import njit

from parquet_bloomwriter.native.intrinsics import load_u8, load_u32, load_u64, store_u64

Word: TypeAlias = Any
"""A uint64; compiled functions lose its type."""

U64 = np.uint64
HALF_WORD_BYTES = 4
WORD_BYTES = 8
STRIPE_BYTES = 32

PRIME_1 = U64(0x9E3779B185EBCA87)
PRIME_2 = U64(0xC2B2AE3D27D4EB4F)
PRIME_3 = U64(0x165667B19E3779F9)
PRIME_4 = U64(0x85EBCA77C2B2AE63)
PRIME_5 = U64(0x27D4EB2F165667C5)

START_1 = U64(0x60EA27EEADC0B5D6)
"""PRIME_1 + PRIME_2, modulo 2**64: where the first accumulator starts."""
START_4 = U64(0x61C8864E7A143579)
"""-PRIME_1, modulo 2**64: where the fourth accumulator starts."""


@njit
def _rotl(value: Word, count: Word) -> Word:
    return (value << count) | (value >> (U64(64) - count))


@njit
def _round(accumulator: Word, word: Word) -> Word:
    return _rotl(accumulator + word * PRIME_2, U64(31)) * PRIME_1


@njit
def _word_step(h: Word, word: Word) -> Word:
    return _rotl(h ^ _round(U64(0), word), U64(27)) * PRIME_1 + PRIME_4


@njit
def _half_word_step(h: Word, word: Word) -> Word:
    return _rotl(h ^ (word * PRIME_1), U64(23)) * PRIME_2 + PRIME_3


@njit
def _avalanche(h: Word) -> Word:
    h = (h ^ (h >> U64(33))) * PRIME_2
    h = (h ^ (h >> U64(29))) * PRIME_3
    return h ^ (h >> U64(32))


@njit
def _stripes(start: int, stop: int) -> Word:
    """Run the four accumulators over all whole stripes in [start, stop) and merge them."""
    v1, v2, v3, v4 = START_1, PRIME_2, U64(0), START_4
    while start + STRIPE_BYTES <= stop:
        v1 = _round(v1, load_u64(start, 0))
        v2 = _round(v2, load_u64(start, 1))
        v3 = _round(v3, load_u64(start, 2))
        v4 = _round(v4, load_u64(start, 3))
        start += STRIPE_BYTES
    h = _rotl(v1, U64(1)) + _rotl(v2, U64(7)) + _rotl(v3, U64(12)) + _rotl(v4, U64(18))
    for v in (v1, v2, v3, v4):
        h = (h ^ _round(U64(0), v)) * PRIME_1 + PRIME_4
    return h


@njit
def _xxh64(start: int, length: int) -> Word:
    """Hash the `length` bytes at the address `start`."""
    stop = start + length
    h = PRIME_5
    if length >= STRIPE_BYTES:
        h = _stripes(start, stop)
        start = stop - length % STRIPE_BYTES
    h += U64(length)
    while start + WORD_BYTES <= stop:
        h = _word_step(h, load_u64(start, 0))
        start += WORD_BYTES
    if start + HALF_WORD_BYTES <= stop:
        h = _half_word_step(h, load_u32(start, 0))
        start += HALF_WORD_BYTES
    while start < stop:
        h = _rotl(h ^ (load_u8(start, 0) * PRIME_5), U64(11)) * PRIME_1
        start += 1
    return _avalanche(h)


def hash_fixed(values: int, width: int, count: int, hashes: int) -> int:
    """Hash `count` values of `width` bytes each, laid out one after the other; return `count`."""
    if width == WORD_BYTES:
        for i in range(count):
            store_u64(
                hashes, i, _avalanche(_word_step(PRIME_5 + U64(WORD_BYTES), load_u64(values, i)))
            )
    elif width == HALF_WORD_BYTES:
        for i in range(count):
            h = _half_word_step(PRIME_5 + U64(HALF_WORD_BYTES), load_u32(values, i))
            store_u64(hashes, i, _avalanche(h))
    else:
        for i in range(count):
            store_u64(hashes, i, _xxh64(values + i * width, width))
    return count


def hash_variable(values: int, offsets: int, offset_width: int, count: int, hashes: int) -> int:
    """Hash `count` byte strings; string i is the bytes [offsets[i], offsets[i + 1]).

    The `count` + 1 offsets are unsigned words of `offset_width` bytes, 4 or 8, and count
    from the address `values`. Returns `count`.
    """
    wide = offset_width == WORD_BYTES
    start = np.int64(load_u64(offsets, 0) if wide else load_u32(offsets, 0))
    for i in range(count):
        stop = np.int64(load_u64(offsets, i + 1) if wide else load_u32(offsets, i + 1))
        store_u64(hashes, i, _xxh64(values + start, stop - start))
        start = stop
    return count


def keep_valid(hashes: int, bitmap: int, first_bit: int, count: int) -> int:
    """Move the hashes of valid slots to the front, in place, and return their number.

    Slot i is valid if bit `first_bit` + i of the bitmap is set, counted from the lowest
    bit of its first byte.
    """
    kept = 0
    for i in range(count):
        bit = first_bit + i
        store_u64(hashes, kept, load_u64(hashes, i))
        kept += (load_u8(bitmap, bit >> 3) >> U64(bit & 7)) & U64(1) != U64(0)
    return kept


KERNELS = (hash_fixed, hash_variable, keep_valid)
