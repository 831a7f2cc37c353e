"""Columns of integers, from Arrow to NumPy by their buffers.

`to_numpy` and `numpy.asarray` of Arrow's arrays import pandas if it is there: 0.3 s and 50 MB that
a lookup has no use for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


def integers_of(column: pa.ChunkedArray, dtype: type[np.signedinteger[Any]]) -> NDArray[Any]:
    """Copy a column of int32 or int64 without nulls; shape (rows,).

    Raises:
        ValueError: If it is something else.
    """
    import pyarrow as pa

    width = np.dtype(dtype).itemsize
    expected = pa.int64() if width == np.dtype(np.int64).itemsize else pa.int32()
    if column.null_count or column.type != expected:
        raise ValueError(f"a column is of the type {column.type}, or has nulls")
    numbers = np.empty(len(column), dtype)
    start = 0
    for chunk in column.chunks:
        if len(chunk):
            place = chunk.offset * width
            found = np.frombuffer(chunk.buffers()[1], dtype, len(chunk), place)
            numbers[start : start + len(chunk)] = found
        start += len(chunk)
    return numbers
