"""What all sources have in common: bounds, counts, merged ranges, and no short reads.

A kind of source says how to fetch one range, and perhaps how to fetch several at once. Whatever it
returns is held against what was asked for: bytes that are missing are fetched again, and a range
that cannot be completed is an error, never a shorter answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from parquet_bloomwriter.errors import FileChanged, FileProblem, MalformedFile
from parquet_bloomwriter.source.face import Traffic
from parquet_bloomwriter.source.ranges import merge

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from parquet_bloomwriter.source.face import Range

REMOTE_BYTES = 64 * 1024
"""Bytes that a store returns in about the time that one more request takes."""

_LOCAL_BYTES = 64
_FOOTER_LENGTH_AND_MAGIC = 8
_MAX_WASTE_BYTES = 1024 * 1024


class RangeReader(ABC):
    """A source; subclasses fetch."""

    gap: ClassVar[int] = _LOCAL_BYTES
    """Bytes between two ranges that are read rather than asked around."""

    tail_bytes: ClassVar[int] = _FOOTER_LENGTH_AND_MAGIC
    """Bytes worth reading from the end at once, in the hope that the footer is among them."""

    def __init__(self, size: int, *, name: str | None, identity: Hashable | None = None) -> None:
        self.size = size
        self.name = name
        self.identity = identity
        self.traffic = Traffic()
        self._kept = (size, b"")

    @abstractmethod
    def _fetch(self, start: int, stop: int) -> bytes:
        """Return the bytes [start, stop), or fewer; b"" only at the end. Safe in threads."""

    @abstractmethod
    def for_arrow(self) -> object:
        """What `pyarrow.parquet.ParquetFile` takes as its source: an open file of pyarrow's."""

    def _fetch_all(self, ranges: list[Range]) -> list[bytes]:
        """Fetch several ranges, which are not empty."""
        return [self._fetch(start, stop) for start, stop in ranges]

    def read_at(self, start: int, stop: int) -> bytes:
        """Return the bytes [start, stop).

        Raises:
            MalformedFile: If there are no such bytes: what pointed there is wrong.
            FileChanged: If the source has become shorter than it was.
            OSError: If reading fails.
        """
        known = self._known(start, stop)
        return self._whole(start, stop, self._fetch(start, stop)) if known is None else known

    def read_ranges(self, ranges: Sequence[Range]) -> list[bytes]:
        """Return the bytes of many ranges, in the order asked for.

        Raises:
            Whatever `read_at` raises.
        """
        known = [self._known(start, stop) for start, stop in ranges]
        wanted = [r for r, data in zip(ranges, known, strict=True) if data is None]
        if not wanted:
            return [data for data in known if data is not None]
        requests, homes = merge(wanted, gap=self.gap, max_waste=_MAX_WASTE_BYTES)
        answers = [
            self._whole(start, stop, data)
            for (start, stop), data in zip(requests, self._fetch_all(requests), strict=True)
        ]
        parts = (
            answers[home][start - requests[home][0] : stop - requests[home][0]]
            for (start, stop), home in zip(wanted, homes, strict=True)
        )
        return [next(parts) if data is None else data for data in known]

    def read_tail(self, num_bytes: int) -> bytes:
        """Return the last bytes, in one request; all there are, if there are fewer.

        They are kept, and later reads of them make no request.
        """
        start = max(0, self.size - num_bytes)
        tail = self.read_at(start, self.size)
        if start < self._kept[0]:
            self._kept = (start, tail)
        return tail

    def _known(self, start: int, stop: int) -> bytes | None:
        """What needs no request; None for anything else."""
        if not 0 <= start <= stop <= self.size:
            raise MalformedFile(
                f"there are no bytes [{start}, {stop}): the file has {self.size}", path=self.name
            )
        kept_from, tail = self._kept
        if start >= kept_from:
            return tail[start - kept_from : stop - kept_from]
        return b"" if start == stop else None

    def _whole(self, start: int, stop: int, data: bytes) -> bytes:
        """Count what was fetched, and fetch what is missing of it."""
        self.traffic.add(1, len(data))
        if len(data) == stop - start:
            return data
        parts = [data]
        position = start + len(data)
        while data and position < stop:
            data = self._fetch(position, stop)
            self.traffic.add(1, len(data))
            parts.append(data)
            position += len(data)
        if position > stop:
            raise OSError(
                f"{self.name or 'the source'}: {position - start} bytes came "
                f"where {stop - start} were asked for"
            )
        if position < stop:
            raise FileChanged(
                "the file became shorter",
                path=self.name,
                byte=position,
                remedy="Run the command again.",
            )
        return b"".join(parts)


def blame(error: FileProblem, name: str) -> None:
    """Say which file it was, and no longer that it was left unchanged: reading changes nothing."""
    error.path = error.path or name
    error.outcome = ""
