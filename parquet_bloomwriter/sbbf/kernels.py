"""Insert and check many hashes; the rules of kernels are in `parquet_bloomwriter.native`.

A block is one vector of 8 x 32 bits, which LLVM lowers to the vectors that the machine has. Blocks
of a filter that exceeds the cache are prefetched `AHEAD` hashes before they are needed. This hides
the latency of memory so well that sorting the hashes by block first does not pay.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types

from parquet_bloomwriter.native.intrinsics import inline
from parquet_bloomwriter.sbbf.block import SALT

U64 = np.uint64
NEAR_BLOCKS = 1 << 15
"""Up to so many blocks, 1 MiB, a filter stays in the cache and is not prefetched."""
AHEAD = 128
"""Hashes between prefetching a block and using it."""

_I8, _I32, _I64, _I256 = (ir.IntType(bits) for bits in (8, 32, 64, 256))
_BLOCK = ir.VectorType(_I32, 8)


def _all(value: int) -> ir.Constant:
    return ir.Constant(_BLOCK, [value] * 8)


def _mask(builder: ir.IRBuilder, h: ir.Value) -> ir.Value:
    """The mask of the lower half of the hash, as one vector."""
    undefined = ir.Constant(_BLOCK, ir.Undefined)
    one = builder.insert_element(undefined, builder.trunc(h, _I32), ir.Constant(_I32, 0))
    low = builder.shuffle_vector(one, undefined, _all(0))
    bit = builder.lshr(builder.mul(low, ir.Constant(_BLOCK, list(SALT))), _all(27))
    return builder.shl(_all(1), bit)


def _pointer(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, item: ir.Type) -> ir.Value:
    return builder.gep(builder.inttoptr(base, item.as_pointer()), [index])


@inline(types.uint64, types.int64, types.int64)
def _load_hash(builder: ir.IRBuilder, hashes: ir.Value, index: ir.Value) -> ir.Value:
    """Hash number `index` of the array at the address `hashes`."""
    return builder.load(_pointer(builder, hashes, index, _I64), align=1)


@inline(types.void, types.int64, types.int64, types.int64)
def _store_flag(builder: ir.IRBuilder, flags: ir.Value, index: ir.Value, flag: ir.Value) -> None:
    """Store a truth value as byte `index` of the array at the address `flags`."""
    builder.store(builder.trunc(flag, _I8), _pointer(builder, flags, index, _I8))


@inline(types.void, types.int64, types.int64, types.uint64)
def _insert_one(builder: ir.IRBuilder, blocks: ir.Value, index: ir.Value, h: ir.Value) -> None:
    """Set the mask of the hash in block `index`."""
    pointer = _pointer(builder, blocks, index, _BLOCK)
    block = builder.or_(builder.load(pointer, align=1), _mask(builder, h))
    builder.store(block, pointer, align=1)


@inline(types.int64, types.int64, types.int64, types.uint64)
def _check_one(builder: ir.IRBuilder, blocks: ir.Value, index: ir.Value, h: ir.Value) -> ir.Value:
    """1 if the whole mask of the hash is set in block `index`, else 0."""
    block = builder.load(_pointer(builder, blocks, index, _BLOCK), align=1)
    missing = builder.and_(builder.not_(block), _mask(builder, h))
    whole = builder.bitcast(missing, _I256)
    return builder.zext(builder.icmp_unsigned("==", whole, ir.Constant(_I256, 0)), _I64)


@inline(types.void, types.int64, types.int64)
def _prefetch(builder: ir.IRBuilder, blocks: ir.Value, index: ir.Value) -> None:
    """Ask for the cache line of block `index`, to read and write it soon."""
    line = builder.bitcast(_pointer(builder, blocks, index, _BLOCK), _I8.as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [line.type, _I32, _I32, _I32])
    fetch = builder.module.declare_intrinsic("llvm.prefetch", [line.type], kind)
    write, keep, data = (ir.Constant(_I32, number) for number in (1, 3, 1))
    builder.call(fetch, [line, write, keep, data])


@njit
def _index(h: np.uint64, num_blocks: int) -> np.int64:
    return np.int64(((h >> U64(32)) * U64(num_blocks)) >> U64(32))


def insert(blocks: int, num_blocks: int, hashes: int, count: int) -> int:
    """Insert `count` hashes into the filter; return `count`."""
    is_far = num_blocks > NEAR_BLOCKS
    for i in range(count):
        if is_far:
            _prefetch(blocks, _index(_load_hash(hashes, min(i + AHEAD, count - 1)), num_blocks))
        h = _load_hash(hashes, i)
        _insert_one(blocks, _index(h, num_blocks), h)
    return count


def check(blocks: int, num_blocks: int, hashes: int, count: int, flags: int) -> int:
    """Write one byte, 1 or 0, per hash to `flags`; return how many might be contained.

    With a null address `flags` nothing is written.
    """
    is_far = num_blocks > NEAR_BLOCKS
    found = 0
    for i in range(count):
        if is_far:
            _prefetch(blocks, _index(_load_hash(hashes, min(i + AHEAD, count - 1)), num_blocks))
        h = _load_hash(hashes, i)
        flag = _check_one(blocks, _index(h, num_blocks), h)
        if flags:
            _store_flag(flags, i, flag)
        found += flag
    return found


KERNELS = (insert, check)
