"""The interface of a source of bytes, and the reading of ranges of it.

A subclass of `RangeReader` fetches one range, and perhaps several at once. Whatever it returns is
compared with what was asked for: missing bytes are fetched again, and a range that cannot be
completed is an error, never a shorter answer.

Each request has its price, and so has every byte that is read for nothing. Ranges whose gap is at
most `gap` bytes become one request, until the gaps of that request amount to more than `max_waste`
bytes: a thousand blocks spread over a gigabyte must not become one request for the gigabyte.
"""

from __future__ import annotations

import errno
import io
import os
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from glob import has_magic
from threading import Lock
from typing import TYPE_CHECKING, ClassVar, Protocol

from parquet_bloomwriter.errors import FileChanged, FileProblem, MalformedFile, NoFileMatches

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import pyarrow.fs as pafs
    from _typeshed import WriteableBuffer

Range = tuple[int, int]
"""Absolute positions [start, stop), bytes."""


class Traffic:
    """Counts of reads and bytes, added up by all threads.

    Attributes:
        requests: Reads that were made: system calls, or requests to a store.
        bytes: Bytes that they returned, those in the gaps between ranges included.
    """

    __slots__ = ("_lock", "bytes", "requests")

    def __init__(self) -> None:
        self.requests = 0
        self.bytes = 0
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"Traffic(requests={self.requests}, bytes={self.bytes})"

    def add(self, requests: int, num_bytes: int) -> None:
        """Count requests, and the bytes that they returned together."""
        with self._lock:
            self.requests += requests
            self.bytes += num_bytes


class Source(Protocol):
    """Bytes that can be read at any position, by several threads at once."""

    @property
    def size(self) -> int:
        """Size when the source was opened, bytes."""
        ...

    @property
    def name(self) -> str | None:
        """Name of the source in messages: the path as the caller spelled it; None for a buffer."""
        ...

    @property
    def identity(self) -> Hashable | None:
        """A key that is equal for equal content only, under which facts on it can be cached.

        None where it is not certain that the content is still the same.
        """
        ...

    @property
    def traffic(self) -> Traffic:
        """Counts of the reads so far, without what pyarrow reads of files by itself."""
        ...

    @property
    def tail_bytes(self) -> int:
        """Bytes to read from the end at once, which probably contain the footer."""
        ...

    def read_at(self, start: int, stop: int) -> bytes:
        """Return the bytes [start, stop).

        Raises:
            MalformedFile: If there are no such bytes: what pointed there is wrong.
            FileChanged: If the source has become shorter than it was.
            OSError: If reading fails.
        """
        ...

    def read_ranges(self, ranges: Sequence[Range]) -> list[bytes]:
        """Return the bytes of many ranges, in the order asked for.

        Ranges may overlap. Close ones are read in one request, and requests to remote stores are
        made at the same time.

        Raises:
            Whatever `read_at` raises.
        """
        ...

    def read_tail(self, num_bytes: int) -> bytes:
        """Return the last `num_bytes` bytes by one request; all bytes, if the source has fewer."""
        ...

    def for_arrow(self) -> object:
        """Return an open file of pyarrow over the same bytes, as `ParquetFile` takes it."""
        ...


def merge(ranges: Sequence[Range], *, gap: int, max_waste: int) -> tuple[list[Range], list[int]]:
    """Merge ranges into requests.

    Args:
        ranges: Absolute positions [start, stop), bytes, in any order; they may overlap.
        gap: Bytes between two ranges up to which both are read by one request.
        max_waste: Bytes between ranges that one request may return in all.

    Returns:
        The requests, ascending, and for each range the ordinal of the one that contains it.
    """
    requests: list[Range] = []
    homes = [0] * len(ranges)
    start, stop, waste = 0, -1, 0
    for ordinal in sorted(range(len(ranges)), key=ranges.__getitem__):
        first, last = ranges[ordinal]
        between = max(0, first - stop)
        if requests and between <= gap and waste + between <= max_waste:
            stop = max(stop, last)
            waste += between
            requests[-1] = (start, stop)
        else:
            start, stop, waste = first, last, 0
            requests.append((start, stop))
        homes[ordinal] = len(requests) - 1
    return requests, homes


REMOTE_BYTES = 64 * 1024
"""Bytes that a store returns in about the time that one more request takes."""

_LOCAL_BYTES = 64
_THREADS = 16
"""Number of parallel requests for one file on a store."""

_FOOTER_LENGTH_AND_MAGIC = 8
_MAX_WASTE_BYTES = 1024 * 1024


class RangeReader(ABC):
    """A source that reads by ranges; subclasses fetch the ranges.

    No method closes a source: whoever opens it, as a context, closes what it reads from.
    """

    told_version: Hashable | None = None
    """Version of the file that was opened: its `FileIdentity`, or what `remote.version_of` returns;
    None if not known."""

    etag: str = ""
    """ETag of the object that was opened, with its quotes; "" without one, or for a file."""

    gap: ClassVar[int] = _LOCAL_BYTES
    """Most bytes between two ranges that are read by one request."""

    tail_bytes: ClassVar[int] = _FOOTER_LENGTH_AND_MAGIC
    """Bytes to read from the end at once, which probably contain the footer."""

    def __init__(self, size: int, *, name: str | None, identity: Hashable | None = None) -> None:
        self.size = size
        self.name = name
        self.identity = identity
        self.traffic = Traffic()
        self._kept = (size, b"")

    @abstractmethod
    def _fetch(self, start: int, stop: int) -> bytes:
        """Return the bytes [start, stop), or fewer; b"" only at the end. Is safe in threads."""

    def for_arrow(self) -> object:
        """Return an open file of pyarrow that reads through this source, for `ParquetFile`."""
        return as_arrow_file(self)

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
        """Return the last `num_bytes` bytes by one request; all bytes, if the source has fewer.

        They are kept, and later reads of them make no request.
        """
        start = max(0, self.size - num_bytes)
        tail = self.read_at(start, self.size)
        if start < self._kept[0]:
            self._kept = (start, tail)
        return tail

    def _known(self, start: int, stop: int) -> bytes | None:
        """Return bytes that are in memory (an empty range, or one in the kept tail), else None."""
        if not 0 <= start <= stop <= self.size:
            raise MalformedFile(
                f"there are no bytes [{start}, {stop}): the file has {self.size}", path=self.name
            )
        kept_from, tail = self._kept
        if start >= kept_from:
            return tail[start - kept_from : stop - kept_from]
        return b"" if start == stop else None

    def _whole(self, start: int, stop: int, data: bytes) -> bytes:
        """Return the whole range: count the fetched bytes, and fetch those that are missing."""
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


class RemoteReader(RangeReader):
    """A source on a store, which answers many requests at the same time."""

    gap: ClassVar[int] = REMOTE_BYTES
    tail_bytes: ClassVar[int] = REMOTE_BYTES

    def _fetch_all(self, ranges: list[Range]) -> list[bytes]:
        if len(ranges) == 1:
            return super()._fetch_all(ranges)
        with ThreadPoolExecutor(min(_THREADS, len(ranges))) as pool:
            return list(pool.map(lambda bounds: self._fetch(*bounds), ranges))


def as_arrow_file(source: Source) -> object:
    """Return a file of pyarrow over any source, with a position of its own."""
    import pyarrow as pa

    return pa.PythonFile(_Positioned(source), mode="r")


class _Positioned(io.RawIOBase):
    """A source as a file object, in which pyarrow seeks from the beginning or the end."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        self._position = offset + (self._source.size if whence == os.SEEK_END else 0)
        return self._position

    def read(self, size: int | None = -1, /) -> bytes:
        start = min(self._position, self._source.size)
        left = self._source.size - start
        stop = start + (left if size is None or size < 0 else min(size, left))
        self._position = stop
        return self._source.read_at(start, stop)

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)


def blame(error: FileProblem, name: str) -> None:
    """Add a file's name to an error of reading, and drop the sentence "left unchanged"."""
    error.path = error.path or name
    error.outcome = ""


@dataclass(frozen=True, slots=True, eq=False)
class FileSystemKey:
    """A file system of pyarrow's as a key; two keys are equal if pyarrow says the systems are."""

    filesystem: pafs.FileSystem

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FileSystemKey) and bool(self.filesystem == other.filesystem)

    def __hash__(self) -> int:
        return hash(self.filesystem.type_name)


def not_found(name: str) -> FileNotFoundError:
    """Return the error for a missing file, as the operating system words it.

    If the name looks like a pattern, the error says what takes patterns.
    """
    if has_magic(name):
        problem = f'this takes one file, and none is named "{name}"'
        remedy = "for_each_file applies a verb to every file that a pattern matches."
        return NoFileMatches(problem, remedy=remedy)
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
