"""Where bytes come from: a file on disk or a buffer in memory, read at absolute positions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

from parquet_bloomwriter.errors import FileChanged, NotParquet
from parquet_bloomwriter.footer import TAIL_BYTES, locate_footer, parse_footer

if TYPE_CHECKING:
    from parquet_bloomwriter.footer import Footer


class Source(Protocol):
    """Bytes that can be read at any position, by several threads at once."""

    @property
    def size(self) -> int:
        """Bytes in all."""
        ...

    def read_at(self, start: int, stop: int) -> bytes:
        """Return the bytes [start, stop)."""
        ...

    def for_arrow(self) -> object:
        """What `pyarrow.parquet.ParquetFile` takes as its source."""
        ...


class BufferSource:
    """Bytes in memory."""

    def __init__(self, data: bytes | bytearray | memoryview) -> None:
        self.view = memoryview(data).cast("B")

    @property
    def size(self) -> int:
        """Bytes in all."""
        return len(self.view)

    def read_at(self, start: int, stop: int) -> bytes:
        """Return the bytes [start, stop)."""
        return bytes(self.view[start:stop])

    def for_arrow(self) -> object:
        """A reader over the same memory."""
        import pyarrow as pa

        return pa.BufferReader(pa.py_buffer(self.view))


class FileSource:
    """An open file on disk, which whoever opened it closes."""

    def __init__(self, path: str, fd: int, size: int) -> None:
        """Read from `fd`; `path` must lead to the same file, of `size` bytes."""
        self.path = path
        self.fd = fd
        self._size = size

    @property
    def size(self) -> int:
        """Bytes in all, as it was when opened."""
        return self._size

    def read_at(self, start: int, stop: int) -> bytes:
        """Return the bytes [start, stop).

        Raises:
            FileChanged: If the file has become shorter.
        """
        parts = []
        while start < stop:
            part = _pread(self.fd, stop - start, start)
            if not part:
                raise FileChanged("the file became shorter", path=self.path, byte=start)
            parts.append(part)
            start += len(part)
        return b"".join(parts)

    def for_arrow(self) -> object:
        """The path, opened again: pyarrow reads without Python."""
        import pyarrow as pa

        return pa.OSFile(os.fsencode(self.path))


def read_footer(source: Source) -> Footer:
    """Read and view the footer of a Parquet file.

    Raises:
        NotParquet: If it is no Parquet file.
        MalformedFile: If the footer is broken.
        UnsupportedFile: If the file is encrypted.
    """
    if source.size < TAIL_BYTES:
        raise NotParquet(
            f"the file has {source.size} bytes, fewer than the smallest Parquet file",
            remedy="Check that it was copied whole.",
        )
    end = source.size - TAIL_BYTES
    start = locate_footer(source.read_at(0, 4), source.read_at(end, source.size), source.size)
    return parse_footer(source.read_at(start, end), start=start)


if hasattr(os, "pread"):
    _pread = os.pread
else:
    from threading import Lock

    _seeking = Lock()

    def _pread(fd: int, length: int, offset: int, /) -> bytes:
        with _seeking:
            os.lseek(fd, offset, os.SEEK_SET)
            return os.read(fd, length)
