"""The compiled form of `scan_loop`; the rules of kernels are in `parquet_bloomwriter.native`."""

from __future__ import annotations

from llvmlite import ir
from numba import carray, njit, types

from parquet_bloomwriter.compact.loop import MAX_DEPTH, MAX_FIELD, STACK_WIDTH, scan_loop
from parquet_bloomwriter.native.intrinsics import Compiled, inline, store_u64

_loop = njit(scan_loop)
_NUM_TRAITS = 5


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
    num_kinds: int,
    capacity: int,
    width: int,
    slots: int,
    wires: int,
    children: int,
    traits: int,
    kinds: int,
    values: int,
    spans: int,
    stack: int,
    result: int,
) -> int:
    """Run `scan_loop`; its three results go to the int64 array `result`. Returns the problem."""
    by_field = (num_kinds, MAX_FIELD)
    problem, stop, rows = _loop(
        carray(_u8(data), (size,)),
        pos,
        carray(_i64(slots), by_field),
        carray(_i64(wires), by_field),
        carray(_i64(children), by_field),
        carray(_i64(traits), (num_kinds, _NUM_TRAITS)),
        carray(_i64(kinds), (capacity,)),
        carray(_i64(values), (capacity, width)),
        carray(_i32(spans), (capacity, width, 3)),
        carray(_i64(stack), (MAX_DEPTH, STACK_WIDTH)),
    )
    store_u64(result, 0, problem)
    store_u64(result, 1, stop)
    store_u64(result, 2, rows)
    return problem  # type: ignore[no-any-return]


KERNELS = (scan,)
