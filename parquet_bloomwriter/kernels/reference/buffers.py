"""Checks of the arguments of kernels; the C has the same checks in `module.c`."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from typing import Any, SupportsIndex

    import pyarrow as pa
    from numpy.typing import DTypeLike, NDArray

    Buffer: TypeAlias = bytes | bytearray | memoryview | NDArray[Any] | pa.Buffer
    """An object with the buffer protocol; Python 3.12 has a type for it."""

    Part: TypeAlias = Buffer | None
    """A buffer of an Arrow array; None if the array lacks it."""

    Int: TypeAlias = SupportsIndex


def array(
    given: Buffer,
    name: str,
    dtype: DTypeLike = "u1",
    *,
    writable: bool = False,
    aligned: bool = False,
) -> Any:  # noqa: ANN401  of the dtype
    """Return a contiguous buffer as an array, shape (n,).

    Args:
        given: The buffer: of items as long as those of the array, or of bytes.
        name: Of the argument.
        dtype: Of the array.
        writable: Whether the buffer must be writable.
        aligned: Whether the buffer must be aligned, because the C takes it as an array.
    """
    try:
        items = np.frombuffer(given, np.uint8)
    except BufferError as error:
        raise ValueError(f"{name} must be contiguous") from error
    size = np.dtype(dtype).itemsize
    if len(items) % size or (size > 1 and getattr(given, "itemsize", 1) not in {1, size}):
        raise ValueError(f"{name} must have items of {size} bytes")
    is_aligned = not aligned or not len(items) or items.ctypes.data % size == 0
    if not is_aligned or (writable and not items.flags.writeable):
        raise ValueError(f"{name} must be aligned{' and writable' * writable}")
    return items.view(np.dtype(dtype).newbyteorder("<"))


def number(given: Int, name: str, least: int, most: int) -> int:
    """Return an integer in [least, most]."""
    value = operator.index(given)
    if not least <= value <= most:
        raise ValueError(f"{name} must be from {least} to {most}")
    return value


def blocks_of(given: Buffer, name: str, *, writable: bool = False) -> NDArray[np.uint32]:
    """Return the blocks of a filter, shape (z, 8)."""
    words: NDArray[np.uint32] = array(given, name, np.uint32, writable=writable)
    if len(words) % 8 or not 0 < len(words) // 8 < 2**31:
        raise ValueError(f"{name} must be 1 to 2**31 - 1 blocks of 32 bytes")
    return words.reshape(-1, 8)
