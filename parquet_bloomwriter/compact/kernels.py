"""The compiled form of `scan_loop`; the rules of kernels are in `parquet_bloomwriter.native`."""

from __future__ import annotations

from llvmlite import ir
from numba import carray, njit, types

from parquet_bloomwriter.compact.loop import (
    HEAD_WORDS,
    MAX_DEPTH,
    MAX_FIELD,
    STACK_WIDTH,
    TRAITS,
    scan_loop,
)
from parquet_bloomwriter.native.intrinsics import Compiled, inline

_loop = njit(scan_loop)
_WORD = 8
_RESULT_WORDS = 3


def _pointer_to(item: types.Type) -> Compiled:
    """Make `pointer(address)`, typed for `carray`."""

    def pointer(builder: ir.IRBuilder, address: ir.Value) -> ir.Value:
        return builder.inttoptr(address, ir.IntType(item.bitwidth).as_pointer())

    return inline(types.CPointer(item), types.int64)(pointer)


_u8, _i32, _i64 = _pointer_to(types.uint8), _pointer_to(types.int32), _pointer_to(types.int64)


def scan(  # noqa: PLR0913, PLR0917  arrays come as addresses and sizes
    data: int,
    size: int,
    pos: int,
    schema: int,
    num_kinds: int,
    width: int,
    memory: int,
    capacity: int,
) -> int:
    """Run `scan_loop`, and return the number of the problem.

    `StructSchema` and `scan._compiled` make the arrays at the addresses `schema` and `memory`:
    int64 words, except for the spans, which come last and are int32.
    """
    by_field = (num_kinds, MAX_FIELD)
    table = num_kinds * MAX_FIELD * _WORD
    first = memory + HEAD_WORDS * _WORD
    cells = capacity * width
    problem, stop, rows = _loop(
        carray(_u8(data), (size,)),
        pos,
        carray(_i64(schema), by_field),
        carray(_i64(schema + table), by_field),
        carray(_i64(schema + 2 * table), by_field),
        carray(_i64(schema + 3 * table), (num_kinds, TRAITS)),
        carray(_i64(first), (capacity,)),
        carray(_i64(first + capacity * _WORD), (capacity, width)),
        carray(_i32(first + (capacity + cells) * _WORD), (capacity, width, 3)),
        carray(_i64(memory + _RESULT_WORDS * _WORD), (MAX_DEPTH, STACK_WIDTH)),
    )
    result = carray(_i64(memory), (_RESULT_WORDS,))
    result[0], result[1], result[2] = problem, stop, rows
    return problem  # type: ignore[no-any-return]


KERNELS = (scan,)
