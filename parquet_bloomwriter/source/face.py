"""What a source of bytes offers, and the count of what was asked of it."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

Range = tuple[int, int]
"""Absolute positions [start, stop), bytes."""


class Traffic:
    """What was read, counted by all threads together.

    Attributes:
        requests: Reads that were made: system calls, or requests to a store.
        bytes: Bytes that they returned, those that nobody asked for included.
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
        """Bytes in all, as it was when opened."""
        ...

    @property
    def name(self) -> str | None:
        """What to call it in messages: the path as the caller spelled it; None for a buffer."""
        ...

    @property
    def identity(self) -> Hashable | None:
        """Equal for equal content only: what is known of it may be kept under this key.

        None where nobody can tell whether the content is still the same.
        """
        ...

    @property
    def traffic(self) -> Traffic:
        """What was read so far, but for what pyarrow reads of files by itself."""
        ...

    @property
    def tail_bytes(self) -> int:
        """Bytes worth reading from the end at once, in the hope that the footer is among them."""
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
        """Return the last bytes, in one request; all there are, if there are fewer."""
        ...

    def for_arrow(self) -> object:
        """What `pyarrow.parquet.ParquetFile` takes as its source: an open file of pyarrow's."""
        ...
