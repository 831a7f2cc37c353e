"""Bytes in memory."""

from __future__ import annotations

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.source.base import RangeReader


class BufferSource(RangeReader):
    """Bytes in memory, which must not change while they are being read."""

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
        """A reader over the same memory."""
        import pyarrow as pa

        return pa.BufferReader(pa.py_buffer(self.view))
