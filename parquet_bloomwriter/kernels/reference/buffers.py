"""The checks of arguments that all kernels share; the C has the same in `module.c`."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from typing import Any, SupportsIndex

    import pyarrow as pa
    from numpy.typing import NDArray

    Buffer: TypeAlias = bytes | bytearray | memoryview | NDArray[Any] | pa.Buffer
    """Whatever has the buffer protocol; Python 3.12 has a type of it."""

_BLOCK_BYTES = 32
_MAX_BLOCKS = 2**31 - 1
_TIMES = "mM"


def taken(given: Buffer, name: str, item: int, *, writable: bool = False) -> NDArray[np.uint8]:
    """Return the bytes of a contiguous buffer whose items have `item` bytes, or one.

    Args:
        given: The buffer.
        name: Of the argument.
        item: Bytes of an item; 1 takes any items.
        writable: Whether it must be writable.
    """
    if isinstance(given, np.ndarray) and given.dtype.kind in _TIMES:
        given = given.view(np.int64)  # a memoryview has no format for times
    try:
        view = memoryview(given)  # type: ignore[arg-type]  # NumPy's type says so from 3.12 on
    except TypeError as error:
        raise TypeError(f"{name} must be a buffer") from error
    except (BufferError, ValueError) as error:
        raise ValueError(f"{name} must be contiguous") from error
    if not view.c_contiguous or (writable and view.readonly):
        raise ValueError(f"{name} must be contiguous{' and writable' * writable}")
    if (item != 1 and view.itemsize not in {1, item}) or view.nbytes % item:
        raise ValueError(f"{name} must have items of {item} bytes")
    return np.frombuffer(given, np.uint8) if view.nbytes else np.empty(0, np.uint8)


def taken_or_empty(given: Buffer | None, name: str) -> NDArray[np.uint8]:
    """Return the bytes of a contiguous buffer, or no bytes for None."""
    return np.empty(0, np.uint8) if given is None else taken(given, name, 1)


def aligned(given: Buffer, name: str, dtype: type[np.generic], *, writable: bool = False) -> Any:  # noqa: ANN401  of the dtype
    """Return an aligned buffer as an array of a dtype, shape (n,)."""
    size = np.dtype(dtype).itemsize
    found = taken(given, name, size, writable=writable)
    if len(found) and found.ctypes.data % size:
        raise ValueError(f"{name} must be aligned to {size} bytes")
    return found.view(np.dtype(dtype).newbyteorder("<"))


def require_apart(schema: Buffer, *written: NDArray[Any]) -> None:
    """Refuse a schema in memory that is written to: it was checked before, and is trusted."""
    words = np.frombuffer(schema, np.uint8)
    if any(np.may_share_memory(words, one) for one in written):
        raise ValueError("the schema must not share memory with what is written")


def number(given: SupportsIndex, name: str, least: int, most: int) -> int:
    """Return an integer in [least, most]."""
    value = operator.index(given)
    if not least <= value <= most:
        raise ValueError(f"{name} must be from {least} to {most}")
    return value


def blocks_of(given: Buffer, name: str, *, writable: bool = False) -> NDArray[np.uint32]:
    """Return the blocks of a filter, shape (z, 8)."""
    found = taken(given, name, 4, writable=writable)
    if len(found) % _BLOCK_BYTES or not 0 < len(found) // _BLOCK_BYTES <= _MAX_BLOCKS:
        raise ValueError(f"{name} must be 1 to 2**31 - 1 blocks of 32 bytes")
    return found.view("<u4").reshape(-1, 8)
