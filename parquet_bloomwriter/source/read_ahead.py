"""Sources on stores that make fewer and larger requests by reading ahead.

Held         one range of a file, in memory: a column chunk before pyarrow walks through it
AskedOnce    one range of a file, kept from the first time that all of it is read
read_blocks  many small pieces that lie close together, such as page indexes
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, ClassVar

from parquet_bloomwriter.source.base import REMOTE_BYTES, RangeReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from parquet_bloomwriter.source.base import Range, Source

_BLOCKS = 64
"""Number of blocks that are kept, of `REMOTE_BYTES` each."""


class Held(RangeReader):
    """A source with one range in memory; other bytes are read from the source below."""

    def __init__(self, source: Source, start: int, stop: int) -> None:
        """Read the bytes [start, stop) by one request.

        Raises:
            Whatever `source.read_at` raises.
        """
        super().__init__(source.size, name=source.name, identity=source.identity)
        self._source = source
        self._start = start
        self._data = source.read_at(start, stop)

    def _fetch(self, start: int, stop: int) -> bytes:
        first, last = start - self._start, stop - self._start
        if first >= 0 and last <= len(self._data):
            return self._data[first:last]
        return self._source.read_at(start, stop)


class AskedOnce(RangeReader):
    """A source on a store that reads one range by a single request, and keeps its bytes."""

    gap: ClassVar[int] = REMOTE_BYTES
    tail_bytes: ClassVar[int] = REMOTE_BYTES

    def __init__(self, source: Source, start: int, stop: int) -> None:
        """Choose the range [start, stop); it is read and kept at the first read, not yet."""
        super().__init__(source.size, name=source.name, identity=source.identity)
        self._source = source
        self._range = (start, stop)
        self._data: bytes | None = None

    def _fetch(self, start: int, stop: int) -> bytes:
        if self._data is None and (start, stop) == self._range:
            self._data = self._source.read_at(start, stop)
        first, last = start - self._range[0], stop - self._range[0]
        if self._data is not None and first >= 0 and last <= len(self._data):
            return self._data[first:last]
        return self._source.read_at(start, stop)

    def _fetch_all(self, ranges: list[Range]) -> list[bytes]:
        if self._data is None:
            return self._source.read_ranges(ranges)
        return super()._fetch_all(ranges)


def read_blocks(source: Source) -> Callable[[int, int], bytes]:
    """Return a function like `source.read_at` that reads whole blocks, and caches the last ones.

    It is safe in threads.
    """
    blocks: OrderedDict[int, bytes] = OrderedDict()
    lock = Lock()

    def block(number: int) -> bytes:
        with lock:
            known = blocks.get(number)
            if known is not None:
                blocks.move_to_end(number)
                return known
        start = number * REMOTE_BYTES
        data = source.read_at(start, min(start + REMOTE_BYTES, source.size))
        with lock:
            blocks[number] = data
            if len(blocks) > _BLOCKS:
                blocks.popitem(last=False)
        return data

    def read_at(start: int, stop: int) -> bytes:
        if not 0 <= start < stop <= source.size or stop - start > REMOTE_BYTES:
            return source.read_at(start, stop)
        numbers = range(start // REMOTE_BYTES, (stop - 1) // REMOTE_BYTES + 1)
        data = b"".join(map(block, numbers))
        first = start - numbers[0] * REMOTE_BYTES
        return data[first : first + stop - start]

    return read_at
