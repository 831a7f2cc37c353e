"""The Parquet files of an index: writing new files, and reading columns of them.

A new file reaches the disk as a whole, or nothing of it is left. The disk begins to write while
rows are still being added (see `replace.copying`).

pyarrow gets no byte of an index that was not checked before: on some malformed bytes it ends the
process. The footer and the chunks of the columns that are needed (of a manifest, all) are read by
this package, checked, and given to pyarrow in memory; `first_crc` of the log's entry is the CRC-32
of the footer, from its first byte to the end of the file, and of these chunks, in the order in
which they stand in the file. Files of older versions of this package have no checksums: of them,
all numbers in the footer that pyarrow relies on are compared with each other and with the file.

Integers go from Arrow to NumPy by their buffers: `to_numpy` and `numpy.asarray` of Arrow's arrays
import pandas if it is installed, which costs 0.3 s and 50 MB, and a lookup does not need it.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import zlib
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from parquet_bloomwriter.index.storage.base import prefetch, storage_of
from parquet_bloomwriter.metadata.fields import ChunkField, RowGroupField
from parquet_bloomwriter.metadata.footer import TAIL_BYTES
from parquet_bloomwriter.replace.copying import WriteBack
from parquet_bloomwriter.source import read_footer
from parquet_bloomwriter.source.local import FileSource
from parquet_bloomwriter.source.stream import BufferSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_bloomwriter.index.storage.base import IndexSource
    from parquet_bloomwriter.metadata import Footer
    from parquet_bloomwriter.source import Source
    from parquet_bloomwriter.source.base import Range

_WRITE_BACK = 16 << 20
"""Number of bytes between two write-backs."""

_PIECE_BYTES = 4 << 20
"""Number of bytes that are read at once for a checksum."""

_MAGIC = b"PAR1"
_WHOLE_BYTES = 1 << 16
"""Size up to which a part is read by one request, bytes."""

_LAST_CODEC = 7
"""Largest value of `CompressionCodec` in parquet.thrift."""


class WrongBytes(ValueError):
    """Raised when bytes of an index differ from the bytes that were written."""


class ParquetOut:
    """Writes one file, opened once, so that no other file can take its place meanwhile.

    A context manager: a file that is not finished at its end is removed.
    """

    def __init__(self, path: str, schema: pa.Schema, **options: Any) -> None:  # noqa: ANN401
        """Begin the file.

        Args:
            path: Absolute; there must be no file of this name.
            schema: Schema of all tables that will be written.
            options: For pyarrow's writer.

        Raises:
            OSError: If the file cannot be made.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._path = path
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

    def complete(self) -> FileSource:
        """Write the footer, and return the file for reading, as long as it is not finished.

        Raises:
            OSError: If the disk is full.
        """
        self._writer.close()
        self._file.flush()
        self._sink.close()
        self._write_back.stop()
        self._write_back.check()
        return FileSource(self._path, self._new.fd, os.fstat(self._new.fd).st_size)

    def finish(self) -> int:
        """Bring a complete file and its name to the disk.

        Returns:
            Its size in bytes.

        Raises:
            OSError: If that fails; the end of the context then removes the file.
        """
        size = self._new.finish()
        self._is_finished = True
        return size


def crc_of(source: Source) -> int:
    """Return the CRC-32 of a whole file.

    Raises:
        OSError: If the file cannot be read.
    """
    crc = 0
    for start in range(0, source.size, _PIECE_BYTES):
        crc = zlib.crc32(source.read_at(start, min(start + _PIECE_BYTES, source.size)), crc)
    return crc


def check_whole(source: Source, crc: int | None) -> None:
    """Check all bytes of a file, if there is a checksum of them.

    Raises:
        WrongBytes: If they are not those that were written.
        OSError: If the file cannot be read.
    """
    if crc is not None and crc_of(source) != crc:
        raise WrongBytes("its bytes are not those that were written")


class FirstRead:
    """The footer of a file, and the chunks of some columns, as bytes in memory.

    Attributes:
        crc: CRC-32 of all of it, see the head of the module.
    """

    def __init__(
        self, source: IndexSource, names: Sequence[str] | None, crc: int | None = None
    ) -> None:
        """Read the footer, and the chunks of columns of integers or texts.

        Args:
            source: The file.
            names: The columns; None: all.
            crc: The right CRC-32 of all these bytes; None: it is not known.

        Raises:
            WrongBytes: If it has another CRC-32.
            BloomwriterError, ValueError: If the footer is malformed; or if no CRC-32 is known, and
                the footer contradicts itself.
            OSError: If reading fails.
        """
        self._names = None if names is None else list(names)
        whole: BufferSource | None = None
        if source.size <= _WHOLE_BYTES:
            whole = BufferSource(source.read_at(0, source.size), name=source.name)
        if whole and names is None and crc is not None and _crc_of_all(whole) == crc:
            self._file, self.crc = whole, crc
            return
        self.footer = footer = read_footer(whole or source, check_head=False)
        if crc is None:
            check_footer(footer, names)
        ranges = _chunks(footer, names)
        if whole is None:
            prefetch(source, ranges)
        pieces = (whole or source).read_ranges(ranges)
        tail = footer.data + len(footer.data).to_bytes(4, "little") + _MAGIC
        self.crc = zlib.crc32(b"".join((tail, *pieces)))
        if crc not in {None, self.crc}:
            raise WrongBytes("its footer or its columns are not as they were written")
        ranges.append((source.size - len(tail), source.size))
        self._file = whole or BufferSource(_image(source.size, ranges, [*pieces, tail]))

    @cached_property
    def footer(self) -> Footer:
        """The footer."""
        return read_footer(self._file, check_head=False)

    def table(self, *, read_dictionary: Sequence[str] = ()) -> pa.Table:
        """Decode the columns, some of them as dictionaries.

        Raises:
            OSError, ValueError, pyarrow.ArrowException: If pyarrow cannot decode them.
        """
        import pyarrow.parquet as pq

        names = list(read_dictionary)
        file = pq.ParquetFile(self._file.for_arrow(), read_dictionary=names, pre_buffer=False)
        counts = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        if all(counts):
            return file.read(self._names, use_threads=False)
        with_rows = [i for i, count in enumerate(counts) if count]
        return file.read_row_groups(with_rows, self._names, use_threads=False)


def _crc_of_all(file: BufferSource) -> int:
    """Return the CRC-32 of a footer and all column chunks, if nothing else is in the file."""
    footer_bytes = int.from_bytes(file.view[-TAIL_BYTES : -len(_MAGIC)], "little")
    start = max(len(_MAGIC), file.size - TAIL_BYTES - footer_bytes)
    return zlib.crc32(file.view[len(_MAGIC) : start], zlib.crc32(file.view[start:]))


def check_footer(footer: Footer, names: Sequence[str] | None) -> None:
    """Check the footer's facts on some columns without repeated values; None: on all columns.

    Raises:
        ValueError: If there is no such column, or what is said of it contradicts itself.
    """
    columns = _ordinals(footer, names)
    chunks, num_rows = footer.chunks, footer.row_groups.value(RowGroupField.NUM_ROWS)
    starts = footer.chunk_starts()[:, columns]
    lengths = chunks.value(ChunkField.TOTAL_COMPRESSED_SIZE)[:, columns]
    codecs = chunks.value(ChunkField.CODEC)[:, columns]
    if ((codecs < 0) | (codecs > _LAST_CODEC)).any():
        raise ValueError("a column is compressed by a codec that does not exist")
    if (chunks.value(ChunkField.NUM_VALUES)[:, columns] != num_rows[:, np.newaxis]).any():
        raise ValueError("a column has another number of values than there are rows")
    is_outside = (starts < len(_MAGIC)) | (lengths < 0) | (lengths > footer.start - starts)
    if is_outside[num_rows > 0].any():
        raise ValueError("a column lies outside the file")
    types = chunks.value(ChunkField.TYPE)[:, columns]
    if (types != [footer.leaves[column].physical_type for column in columns]).any():
        raise ValueError("a column has another type than the schema says")


def _chunks(footer: Footer, names: Sequence[str] | None) -> list[Range]:
    """Return the ranges of the chunks of columns, in the order of the file.

    Raises:
        ValueError: If there is no such column, or chunks of impossible sizes.
    """
    starts, lengths = footer.chunk_starts(), footer.chunks.value(ChunkField.TOTAL_COMPRESSED_SIZE)
    with_rows = footer.row_groups.value(RowGroupField.NUM_ROWS) != 0
    places = np.ix_(with_rows, _ordinals(footer, names))
    pairs = zip(starts[places].flat, lengths[places].flat, strict=True)
    ranges = [(int(start), int(start) + int(length)) for start, length in pairs]
    if any(not 0 < start < stop <= footer.start for start, stop in ranges):
        raise ValueError("a column lies outside the file")
    return sorted(ranges)


def _ordinals(footer: Footer, names: Sequence[str] | None) -> list[int]:
    if names is None:
        return list(range(len(footer.leaves)))
    own = {leaf.name: leaf.ordinal for leaf in footer.leaves}
    missing = [name for name in names if name not in own]
    if missing:
        raise ValueError(f"it has no column {missing[0]}")
    return [own[name] for name in names]


def _image(size: int, ranges: Sequence[Range], pieces: Sequence[bytes]) -> memoryview:
    """Return memory that looks like the file: only some ranges have its bytes, among them the end.

    The other bytes are zeros, and take no memory: pyarrow reads more from the end than the footer.

    Raises:
        OSError: If there is no room for so many addresses.
    """
    image = mmap.mmap(-1, size, access=mmap.ACCESS_COPY)
    for (start, stop), piece in zip(ranges, pieces, strict=True):
        image[start:stop] = piece
    return memoryview(image)


def integers_of(column: pa.ChunkedArray, dtype: type[np.signedinteger[Any]]) -> NDArray[Any]:
    """Return a column of int32 or int64 without nulls as an array, a copy; shape (rows,).

    Raises:
        ValueError: If the column has another type, or nulls.
    """
    import pyarrow as pa

    width, expected = (8, pa.int64()) if dtype is np.int64 else (4, pa.int32())
    if column.null_count or column.type != expected:
        raise ValueError(f"a column is of the type {column.type}, or has nulls")
    found = [
        np.frombuffer(chunk.buffers()[1], dtype, len(chunk), chunk.offset * width)
        for chunk in column.chunks
        if len(chunk)
    ]
    return np.concatenate(found) if found else np.empty(0, dtype)
