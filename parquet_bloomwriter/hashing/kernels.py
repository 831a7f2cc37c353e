"""XXH64 over whole arrays, compiled by numba on first use and kept on disk.

Rules of this module:

- A kernel takes addresses and counts, all int64, and nothing else. So each has a single
  signature, whether the memory is Arrow's or NumPy's, writable or not; fewer compiled
  versions mean a shorter first run and a shorter start. The caller keeps the memory alive
  and answers for its bounds.
- Words are loaded whole, at any alignment, in the byte order of the machine. Parquet's
  PLAIN encoding is little-endian, and so must the machine be.
- Kernels release the GIL and never allocate.
- Everything a kernel calls stands in this file: numba notices a change only of the file
  that holds the kernel, so code elsewhere could leave a stale kernel on disk.

XXH64 with seed 0, where `rotl` rotates 64 bits to the left and arithmetic is modulo 2**64:

    round(acc, w)  = rotl(acc + w * PRIME_2, 31) * PRIME_1
    inputs of 32 bytes or more run four accumulators over stripes of 4 x 8 bytes, then
    merge them; shorter ones start from PRIME_5. Then the length is added, the remaining
    words of 8, 4 and 1 bytes are mixed in, in that order, and `avalanche` ends it.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

if TYPE_CHECKING:
    from numba.core.base import BaseContext

Compiled: TypeAlias = Any
"""A function that numba compiles; it carries no types."""
Word: TypeAlias = Any
"""A uint64; compiled functions lose its type."""
Emitter: TypeAlias = Callable[..., "ir.Value | None"]
"""Emits instructions through the builder given first; the rest are LLVM values."""

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


def _kernel(function: Callable[..., object]) -> Compiled:
    """Compile on first call, and keep the result on disk if there is a place for it.

    The place is `__pycache__` beside this file, or else the user's cache folder.
    """
    dispatcher = njit(nogil=True)(function)
    # numba reports by a RuntimeError that it can write to neither.
    with contextlib.suppress(RuntimeError):
        dispatcher.enable_caching()
    return dispatcher


def _inline(returned: types.Type, *taken: types.Type) -> Callable[[Emitter], Compiled]:
    """Make a function that emits LLVM instructions callable from kernels.

    Args:
        returned: Type of the result.
        taken: Types of the arguments that follow the emitter's first, the builder.
    """

    def decorate(emit: Emitter) -> Compiled:
        @functools.wraps(emit)  # numba reads the number of arguments off it
        def type_and_emit(_typing: object, *_given: object) -> object:
            def generate(
                context: BaseContext, builder: ir.IRBuilder, _: object, args: tuple[ir.Value, ...]
            ) -> ir.Value:
                value = emit(builder, *args)
                return context.get_dummy_value() if returned is types.void else value

            return returned(*taken), generate

        return intrinsic(type_and_emit)

    return decorate


def _load(bits: int) -> Compiled:
    """Make `load(base, index)`: word `index`, counted from the address `base`, as uint64."""
    word = ir.IntType(bits)

    def load(builder: ir.IRBuilder, base: ir.Value, index: ir.Value) -> ir.Value:
        pointer = builder.gep(builder.inttoptr(base, word.as_pointer()), [index])
        return builder.zext(builder.load(pointer, align=1), ir.IntType(64))

    return _inline(types.uint64, types.int64, types.int64)(load)


_load_u8 = _load(8)
_load_u32 = _load(32)
_load_u64 = _load(64)


@_inline(types.void, types.int64, types.int64, types.uint64)
def _store_u64(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, word: ir.Value) -> None:
    """Store `word` as word `index`, counted from the address `base`."""
    pointer = builder.inttoptr(base, word.type.as_pointer())
    builder.store(word, builder.gep(pointer, [index]), align=1)


@njit(nogil=True)
def _rotl(value: Word, count: Word) -> Word:
    return (value << count) | (value >> (U64(64) - count))


@njit(nogil=True)
def _round(accumulator: Word, word: Word) -> Word:
    return _rotl(accumulator + word * PRIME_2, U64(31)) * PRIME_1


@njit(nogil=True)
def _word_step(h: Word, word: Word) -> Word:
    return _rotl(h ^ _round(U64(0), word), U64(27)) * PRIME_1 + PRIME_4


@njit(nogil=True)
def _half_word_step(h: Word, word: Word) -> Word:
    return _rotl(h ^ (word * PRIME_1), U64(23)) * PRIME_2 + PRIME_3


@njit(nogil=True)
def _avalanche(h: Word) -> Word:
    h = (h ^ (h >> U64(33))) * PRIME_2
    h = (h ^ (h >> U64(29))) * PRIME_3
    return h ^ (h >> U64(32))


@njit(nogil=True)
def _stripes(start: int, stop: int) -> Word:
    """Run the four accumulators over all whole stripes in [start, stop) and merge them."""
    v1, v2, v3, v4 = START_1, PRIME_2, U64(0), START_4
    while start + STRIPE_BYTES <= stop:
        v1 = _round(v1, _load_u64(start, 0))
        v2 = _round(v2, _load_u64(start, 1))
        v3 = _round(v3, _load_u64(start, 2))
        v4 = _round(v4, _load_u64(start, 3))
        start += STRIPE_BYTES
    h = _rotl(v1, U64(1)) + _rotl(v2, U64(7)) + _rotl(v3, U64(12)) + _rotl(v4, U64(18))
    for v in (v1, v2, v3, v4):
        h = (h ^ _round(U64(0), v)) * PRIME_1 + PRIME_4
    return h


@njit(nogil=True)
def _xxh64(start: int, length: int) -> Word:
    """Hash the `length` bytes at the address `start`."""
    stop = start + length
    h = PRIME_5
    if length >= STRIPE_BYTES:
        h = _stripes(start, stop)
        start = stop - length % STRIPE_BYTES
    h += U64(length)
    while start + WORD_BYTES <= stop:
        h = _word_step(h, _load_u64(start, 0))
        start += WORD_BYTES
    if start + HALF_WORD_BYTES <= stop:
        h = _half_word_step(h, _load_u32(start, 0))
        start += HALF_WORD_BYTES
    while start < stop:
        h = _rotl(h ^ (_load_u8(start, 0) * PRIME_5), U64(11)) * PRIME_1
        start += 1
    return _avalanche(h)


@_kernel
def hash_fixed(values: int, width: int, count: int, hashes: int) -> None:
    """Hash `count` values of `width` bytes each, laid out one after the other."""
    if width == WORD_BYTES:
        for i in range(count):
            _store_u64(
                hashes, i, _avalanche(_word_step(PRIME_5 + U64(WORD_BYTES), _load_u64(values, i)))
            )
    elif width == HALF_WORD_BYTES:
        for i in range(count):
            h = _half_word_step(PRIME_5 + U64(HALF_WORD_BYTES), _load_u32(values, i))
            _store_u64(hashes, i, _avalanche(h))
    else:
        for i in range(count):
            _store_u64(hashes, i, _xxh64(values + i * width, width))


@_kernel
def hash_variable(values: int, offsets: int, offset_width: int, count: int, hashes: int) -> None:
    """Hash `count` byte strings; string i is the bytes [offsets[i], offsets[i + 1]).

    The `count` + 1 offsets are unsigned words of `offset_width` bytes, 4 or 8, and count
    from the address `values`.
    """
    wide = offset_width == WORD_BYTES
    start = np.int64(_load_u64(offsets, 0) if wide else _load_u32(offsets, 0))
    for i in range(count):
        stop = np.int64(_load_u64(offsets, i + 1) if wide else _load_u32(offsets, i + 1))
        _store_u64(hashes, i, _xxh64(values + start, stop - start))
        start = stop


@_kernel
def keep_valid(hashes: int, bitmap: int, first_bit: int, count: int) -> int:
    """Move the hashes of valid slots to the front, in place, and return their number.

    Slot i is valid if bit `first_bit` + i of the bitmap is set, counted from the lowest
    bit of its first byte.
    """
    kept = 0
    for i in range(count):
        bit = first_bit + i
        _store_u64(hashes, kept, _load_u64(hashes, i))
        kept += (_load_u8(bitmap, bit >> 3) >> U64(bit & 7)) & U64(1) != U64(0)
    return kept


KERNELS = (hash_fixed, hash_variable, keep_valid)


def are_compiled() -> bool:
    """Whether all kernels lie on disk, newer than this file, so that none will be compiled."""
    return all(_is_compiled(kernel) for kernel in KERNELS)


def _is_compiled(kernel: Compiled) -> bool:
    folder = kernel.stats.cache_path
    if folder is None:
        return False
    source = Path(__file__)
    indexes = Path(folder).glob(f"{source.stem}.{kernel.__name__}-*.nbi")
    return any(index.stat().st_mtime >= source.stat().st_mtime for index in indexes)


def warm_up() -> None:
    """Load all kernels from disk, or compile them, by calls that do nothing."""
    for kernel in KERNELS:
        kernel(*[0] * kernel.py_func.__code__.co_argcount)
