"""Probe or read many pieces of files in one call; the rules are in `parquet_bloomwriter.native`.

The operating system's `pread` comes as an address: a call from Python costs more than the reading
of a block that is in the page cache.

`kernel_abi` says what a task is. numba is imported here, so Python that only calls the kernels
imports them by `native.kernels`.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types

from parquet_bloomwriter.native.intrinsics import inline, load_u8, load_u32, load_u64, store_u64
from parquet_bloomwriter.probing.kernel_abi import (
    EMPTY,
    MIGHT_BE_IN,
    NOT_IN,
    ODD,
    PIECE_BYTES,
    TASK_WORDS,
    WITH_HEADER,
)
from parquet_bloomwriter.sbbf.block import SALT
from parquet_bloomwriter.sbbf.header import (
    SHORTEST_USUAL_BYTES,
    USUAL_END,
    USUAL_FIXED_BYTES,
    USUAL_START,
)

_HEADER_START, _HEADER_END = USUAL_START[0], tuple(USUAL_END)
_LOW_32 = np.uint64(0xFFFFFFFF)
_I32, _I64 = ir.IntType(32), ir.IntType(64)
_PREAD = ir.FunctionType(_I64, [_I32, _I64, _I64, _I64]).as_pointer()


@inline(types.int64, *[types.int64] * 5)
def _call(  # noqa: PLR0913, PLR0917  as pread has it
    builder: ir.IRBuilder,
    pread: ir.Value,
    descriptor: ir.Value,
    target: ir.Value,
    size: ir.Value,
    start: ir.Value,
) -> ir.Value:
    function = builder.inttoptr(pread, _PREAD)
    return builder.call(function, [builder.trunc(descriptor, _I32), target, size, start])


def read_pieces(  # noqa: PLR0913, PLR0917  arrays come as addresses
    pread: int, count: int, descriptors: int, starts: int, size: int, target: int
) -> int:
    """Read `count` pieces of `size` bytes, one behind the other, to `target`.

    `descriptors` and `starts` are arrays of int64. Returns how many pieces were read completely,
    before the first that was not.
    """
    for i in range(count):
        descriptor = types.int64(load_u64(descriptors, i))
        start = types.int64(load_u64(starts, i))
        if _call(pread, descriptor, target + i * size, size, start) != size:
            return i
    return count


def probe_usual(pread: int, count: int, tasks: int, scratch: int) -> int:
    """Look one hash up in each of `count` filters with the header that every known writer makes.

    `tasks` is an array of int64, `TASK_WORDS` for each, and `scratch` has room for `PIECE_BYTES`.
    Returns the number of filters that are `ODD`.
    """
    num_odd = 0
    for i in range(count):
        task = i * TASK_WORDS
        descriptor = types.int64(load_u64(tasks, task))
        offset = types.int64(load_u64(tasks, task + 1))
        length = types.int64(load_u64(tasks, task + 2))
        limit = types.int64(load_u64(tasks, task + 3))
        h = load_u64(tasks, task + 4)
        start = types.int64(load_u64(tasks, task + 5))
        size = types.int64(load_u64(tasks, task + 6))
        answer = ODD
        if size == 0 and length > SHORTEST_USUAL_BYTES and 0 < offset <= limit - length:
            header = (length - SHORTEST_USUAL_BYTES) % PIECE_BYTES + SHORTEST_USUAL_BYTES
            bits = 2 * (length - header)
            width = 1 + (bits >= 1 << 7) + (bits >= 1 << 14) + (bits >= 1 << 21) + (bits >= 1 << 28)
            usual = header == width + USUAL_FIXED_BYTES and bits > 0
            if usual and _call(pread, descriptor, scratch, PIECE_BYTES, offset) == PIECE_BYTES:
                answer += WITH_HEADER
                same = load_u8(scratch, 0) == _HEADER_START
                for k in range(width):
                    more = 128 if k < width - 1 else 0
                    same &= types.int64(load_u8(scratch, 1 + k)) == ((bits >> 7 * k) & 127) + more
                for k in range(len(_HEADER_END)):
                    same &= types.int64(load_u8(scratch, 1 + width + k)) == _HEADER_END[k]
                if same:
                    start = offset + header
                    size = length - header
                    store_u64(tasks, task + 5, types.uint64(start))
                    store_u64(tasks, task + 6, types.uint64(size))
        if size > 0:
            blocks = types.uint64(size // PIECE_BYTES)
            block = types.int64(((h >> types.uint64(32)) * blocks) >> types.uint64(32))
            place = start + PIECE_BYTES * block
            if _call(pread, descriptor, scratch, PIECE_BYTES, place) == PIECE_BYTES:
                low = h & _LOW_32
                missing = 0
                seen = types.uint64(0)
                for k in range(8):
                    word = load_u32(scratch, k)
                    bit = ((low * types.uint64(SALT[k])) & _LOW_32) >> types.uint64(27)
                    missing += types.int64((word >> bit) & types.uint64(1)) == 0
                    seen |= word
                found = MIGHT_BE_IN if missing == 0 else (NOT_IN if seen else EMPTY)
                answer += found - ODD
        num_odd += (answer & 3) == ODD
        store_u64(tasks, task + 7, types.uint64(answer))
    return num_odd


KERNELS = (probe_usual, read_pieces)
