"""Sources of the caller's bytes: open file objects, read by one thread at a time, and buffers.

A file object is anything binary with `read` and `seek`.
"""

from __future__ import annotations

import os
from threading import Lock
from typing import Protocol

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.source.base import RangeReader


class BinaryStream(Protocol):
    """The methods of a binary file object; a read may return fewer bytes than asked for."""

    def read(self, size: int, /) -> bytes | None:
        """Return up to `size` bytes, b"" at the end."""
        ...

    def seek(self, offset: int, whence: int, /) -> int:
        """Move to a position."""
        ...

    def tell(self) -> int:
        """Return the position."""
        ...


class StreamSource(RangeReader):
    """A source over an open file object, whose position it moves, and which its owner closes."""

    def __init__(self, stream: BinaryStream) -> None:
        """Read from `stream`.

        Raises:
            InvalidArgument: If it is closed, or opened as text, or cannot seek.
        """
        self._stream = stream
        self._lock = Lock()
        name = getattr(stream, "name", None)
        super().__init__(_size_of(stream), name=name if isinstance(name, str) else None)

    def _fetch(self, start: int, stop: int) -> bytes:
        with self._lock:
            self._stream.seek(start, os.SEEK_SET)
            data = self._stream.read(stop - start)
        if data is None:
            raise BlockingIOError(f"{self.name or 'the file object'} has no bytes ready")
        return bytes(data)


def _size_of(stream: BinaryStream) -> int:
    if getattr(stream, "closed", False):
        raise InvalidArgument("the file object is closed")
    try:
        if isinstance(stream.read(0), str):
            raise InvalidArgument(
                "the file object is opened as text", remedy='Open it with the mode "rb".'
            )
        stream.seek(0, os.SEEK_END)
        return stream.tell()
    except (OSError, AttributeError) as error:
        raise InvalidArgument(
            f"the file object cannot be read at any position: {error}",
            remedy="Pass a path, or the bytes.",
        ) from error


class BufferSource(RangeReader):
    """A source over bytes in memory, which must not change while they are being read."""

    def __init__(self, data: bytes | bytearray | memoryview, *, name: str | None = None) -> None:
        """Read from `data`, without a copy.

        Raises:
            InvalidArgument: If its bytes do not lie one after the other.
        """
        try:
            self.view = memoryview(data).cast("B")
        except TypeError as error:
            raise InvalidArgument(
                "the buffer is not contiguous", remedy="Pass a copy of it: bytes(...)."
            ) from error
        super().__init__(len(self.view), name=name)

    def _fetch(self, start: int, stop: int) -> bytes:
        return bytes(self.view[start:stop])

    def for_arrow(self) -> object:
        """Return a reader over the same memory."""
        import pyarrow as pa

        return pa.BufferReader(pa.py_buffer(self.view))
