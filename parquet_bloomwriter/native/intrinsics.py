"""Loads and stores at addresses, for kernels: LLVM instructions that numba has no words for.

Words are loaded whole, at any alignment, in the byte order of the machine. Parquet's PLAIN
encoding is little-endian, and so must the machine be.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

if TYPE_CHECKING:
    from numba.core.base import BaseContext

Compiled: TypeAlias = Any
"""A function that numba compiles; it carries no types."""
Emitter: TypeAlias = Callable[..., "ir.Value | None"]
"""Emits instructions through the builder given first; the rest are LLVM values."""


def inline(returned: types.Type, *taken: types.Type) -> Callable[[Emitter], Compiled]:
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

    return inline(types.uint64, types.int64, types.int64)(load)


load_u8 = _load(8)
load_u32 = _load(32)
load_u64 = _load(64)


@inline(types.void, types.int64, types.int64, types.uint64)
def store_u64(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, word: ir.Value) -> None:
    """Store `word` as word `index`, counted from the address `base`."""
    pointer = builder.inttoptr(base, word.type.as_pointer())
    builder.store(word, builder.gep(pointer, [index]), align=1)
