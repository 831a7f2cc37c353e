"""MurmurHash3_x64_128 over whole arrays; the rules of kernels are in `parquet_bloomwriter.native`.

The drafts of the Parquet specification, section "Hash Function", take the low 64 bits of the
128-bit hash of a value's PLAIN bytes. Two words h1 and h2 start as the seed; `rotl` rotates 64 bits
to the left and arithmetic is modulo 2**64:

    for each 16 bytes, two words k1 and k2:
        h1 ^= rotl(k1 * C1, 31) * C2;  h1 = (rotl(h1, 27) + h2) * 5 + 0x52DCE729
        h2 ^= rotl(k2 * C2, 33) * C1;  h2 = (rotl(h2, 31) + h1) * 5 + 0x38495AB5
    the last 0 to 15 bytes are two words filled up with zero bytes, which only enter h1 and h2 by ^=
    h1 ^= length;  h2 ^= length;  h1 += h2;  h2 += h1
    result: mix(h1) + mix(h2)

The kernels return each hash with the 32 bits of its upper half reversed, as `sbbf.murmur` needs it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numba import njit

from parquet_bloomwriter.native.intrinsics import load_u8, load_u32, load_u64, store_u64

Word: TypeAlias = Any
"""A uint64; compiled functions lose its type."""

U64 = np.uint64
WORD_BYTES = 8
BLOCK_BYTES = 16

C1 = U64(0x87C37B91114253D5)
C2 = U64(0x4CF5AD432745937F)
MIX_1 = U64(0xFF51AFD7ED558CCD)
MIX_2 = U64(0xC4CEB9FE1A85EC53)

_LOW_32 = U64(0xFFFFFFFF)


@njit
def _rotl(value: Word, count: Word) -> Word:
    return (value << count) | (value >> (U64(64) - count))


@njit
def _scramble_1(k1: Word) -> Word:
    return _rotl(k1 * C1, U64(31)) * C2


@njit
def _scramble_2(k2: Word) -> Word:
    return _rotl(k2 * C2, U64(33)) * C1


@njit
def _mix(h: Word) -> Word:
    h = (h ^ (h >> U64(33))) * MIX_1
    h = (h ^ (h >> U64(33))) * MIX_2
    return h ^ (h >> U64(33))


@njit
def _short_word(start: int, length: int) -> Word:
    """Load 0 to 8 bytes as one little-endian word, filled up with zero bytes."""
    if length == WORD_BYTES:
        return load_u64(start, 0)
    word = U64(0)
    for i in range(length):
        word |= load_u8(start, i) << U64(8 * i)
    return word


@njit
def _reverse_upper(h: Word) -> Word:
    """Reverse the bits 32 to 63: single bits, pairs, groups of four, then bytes and half-words."""
    upper = h >> U64(32)
    upper = ((upper & U64(0x55555555)) << U64(1)) | ((upper >> U64(1)) & U64(0x55555555))
    upper = ((upper & U64(0x33333333)) << U64(2)) | ((upper >> U64(2)) & U64(0x33333333))
    upper = ((upper & U64(0x0F0F0F0F)) << U64(4)) | ((upper >> U64(4)) & U64(0x0F0F0F0F))
    upper = ((upper & U64(0x00FF00FF)) << U64(8)) | ((upper >> U64(8)) & U64(0x00FF00FF))
    upper = ((upper & U64(0x0000FFFF)) << U64(16)) | (upper >> U64(16))
    return (upper << U64(32)) | (h & _LOW_32)


@njit
def _murmur3(start: int, length: int, seed: int) -> Word:
    """Hash the `length` bytes at the address `start`."""
    stop = start + length
    h1 = h2 = U64(seed)
    while start + BLOCK_BYTES <= stop:
        h1 ^= _scramble_1(load_u64(start, 0))
        h1 = (_rotl(h1, U64(27)) + h2) * U64(5) + U64(0x52DCE729)
        h2 ^= _scramble_2(load_u64(start, 1))
        h2 = (_rotl(h2, U64(31)) + h1) * U64(5) + U64(0x38495AB5)
        start += BLOCK_BYTES
    rest = stop - start
    h1 ^= _scramble_1(_short_word(start, min(rest, WORD_BYTES)))
    h2 ^= _scramble_2(_short_word(start + WORD_BYTES, max(rest - WORD_BYTES, 0)))
    h1 ^= U64(length)
    h2 ^= U64(length)
    h1 += h2
    h2 += h1
    return _reverse_upper(_mix(h1) + _mix(h2))


def hash_fixed(values: int, width: int, count: int, hashes: int, seed: int) -> int:
    """Hash `count` values of `width` bytes each, laid out one after the other; return `count`."""
    for i in range(count):
        store_u64(hashes, i, _murmur3(values + i * width, width, seed))
    return count


def hash_variable(  # noqa: PLR0913, PLR0917  arrays come as addresses
    values: int, offsets: int, offset_width: int, count: int, hashes: int, seed: int
) -> int:
    """Hash `count` byte strings; string i is the bytes [offsets[i], offsets[i + 1]).

    The `count` + 1 offsets are unsigned words of `offset_width` bytes, 4 or 8, and count
    from the address `values`. Returns `count`.
    """
    wide = offset_width == WORD_BYTES
    start = np.int64(load_u64(offsets, 0) if wide else load_u32(offsets, 0))
    for i in range(count):
        stop = np.int64(load_u64(offsets, i + 1) if wide else load_u32(offsets, i + 1))
        store_u64(hashes, i, _murmur3(values + start, stop - start, seed))
        start = stop
    return count


KERNELS = (hash_fixed, hash_variable)
