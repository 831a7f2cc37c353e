"""The Parquet files of an index: writing new files, and reading columns of integers.

A new file reaches the disk as a whole, or nothing of it is left. The disk begins to write while
rows are still being added (see `replace.copying`).

Integers go from Arrow to NumPy by their buffers: `to_numpy` and `numpy.asarray` of Arrow's arrays
import pandas if it is installed, which costs 0.3 s and 50 MB, and a lookup does not need it.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from parquet_bloomwriter.index.storage.base import storage_of
from parquet_bloomwriter.replace.copying import WriteBack

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_WRITE_BACK = 16 << 20
"""Bytes between two write-backs."""


class ParquetOut:
    """Writes one file, opened once, so that no other file can take its place meanwhile.

    A context manager: a file that is not finished at its end is removed.
    """

    def __init__(self, path: str, schema: pa.Schema, **options: Any) -> None:  # noqa: ANN401
        """Begin the file.

        Args:
            path: Absolute; there must be no file of this name.
            schema: Of all tables to be written.
            options: For pyarrow's writer.

        Raises:
            OSError: If the file cannot be made.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._new = storage_of(path).new_file(path)
        self._is_finished = False
        self._file = os.fdopen(self._new.fd, "wb", closefd=False)
        self._write_back = WriteBack(self._new.fd, every=_WRITE_BACK)
        self._sink = pa.PythonFile(self._file, mode="w")
        self._writer = pq.ParquetWriter(self._sink, schema, store_schema=False, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._is_finished:
            with contextlib.suppress(Exception):  # the file is thrown away
                self._writer.close()
            self._write_back.stop()
            with contextlib.suppress(OSError):  # what is in its buffer, too
                self._sink.close()
            self._new.__exit__(None, None, None)

    def write(self, table: pa.Table) -> None:
        """Append a table as one row group.

        Raises:
            OSError: If the disk is full.
        """
        before = self._file.tell()
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))
        self._write_back.advance(self._file.tell() - before)

    def finish(self) -> int:
        """Bring the file and its name to the disk.

        Returns:
            Its size in bytes.

        Raises:
            OSError: If that fails; the end of the context then removes the file.
        """
        self._writer.close()
        self._file.flush()
        self._sink.close()
        self._write_back.stop()
        self._write_back.check()
        size = self._new.finish()
        self._is_finished = True
        return size


def integers_of(column: pa.ChunkedArray, dtype: type[np.signedinteger[Any]]) -> NDArray[Any]:
    """Copy a column of int32 or int64 without nulls; shape (rows,).

    Raises:
        ValueError: If the column has another type, or nulls.
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
