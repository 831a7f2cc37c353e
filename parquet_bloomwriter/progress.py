"""A progress bar for work on files, on a terminal; several threads report to it.

    bloomify   [=========>          ]    44 %   13 of 30 files   0.9 of 2.1 GiB

The total is given once, before the work, so that the bar never goes back. Each file counts by its
bytes, or, where these are not known, as one of the files.

The bar also stops work: after `stop`, every report of progress, from whatever thread, raises an
exception, and the work is undone.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TextIO

from parquet_bloomwriter.text import shorten, size, width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Self

PATIENCE = 0.5
"""Seconds of work before the bar is shown."""

_INTERVAL = 0.1
"""Seconds between two drawings of the bar."""

_CLEAR_LINE = "\r\x1b[K"
_GAP = "   "
_WIDEST, _NARROWEST = 25, 8
"""Most and least columns within the brackets."""

_TITLE_SHARE = 3
"""A title takes at most the terminal's width divided by this number."""

_FALLBACK_COLUMNS = 80
_LEFT_FREE = 1 + len("^C")
"""Columns that are left free; a line that Ctrl-C makes wrap could not be cleared."""

_ROUNDING = 1e-6
"""Per cent by which sums of shares may fall short."""


class FilterProgress(Protocol):
    """The receiver of the progress of `verify` on one file, called by several threads.

    An exception that it raises ends the work.
    """

    def begin(self, *, num_bytes: int, num_filters: int) -> None:
        """Set the totals: bytes to write, and filters to build or check."""
        ...

    def built(self) -> None:
        """Count one more filter that was built or checked."""
        ...


class Progress(FilterProgress, Protocol):
    """The receiver of the progress of `bloomify` on one file, called by several threads."""

    def wrote(self, num_bytes: int) -> None:
        """Count bytes of the new version that were written."""
        ...


class Bar:
    """The progress bar of one run over any number of files; a context manager that clears it."""

    def __init__(
        self,
        stream: TextIO | None,
        *,
        title: str = "bloomify",
        patience: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Draw on a terminal.

        Args:
            stream: The terminal; None draws nothing.
            title: Stands before the bar.
            patience: Seconds of work before the bar shows; by default `PATIENCE`.
            clock: Seconds.
        """
        self._stream = stream
        self._title = title
        self._clock = clock
        self._lock = threading.RLock()
        self._next_drawing = clock() + (PATIENCE if patience is None else patience)
        self._is_drawn = False
        self._is_closed = False
        self._stopped: type[BaseException] | None = None
        self._files = [0, 0]
        """Numbers of files done, and in all; likewise in the next two lists."""
        self._bytes = [0, 0]
        self._filters = [0, 0]
        self._work = 0.0
        """Bytes, or files, that the finished work amounts to."""
        self._share = 0.0
        """Share that was last shown."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def num_bytes_done(self) -> int:
        """Bytes of the files that are done; 0 if sizes are not known."""
        return self._bytes[0]

    def begin(self, *, num_files: int, num_bytes: int) -> None:
        """Set the totals, and start again; `num_bytes` is 0 if sizes are not known."""
        with self._lock:
            self._is_closed = False
            self._files, self._bytes, self._filters = [0, num_files], [0, num_bytes], [0, 0]
            self._work = 0.0
            self._draw_if_due()

    def done(self, *, num_files: int, num_bytes: int) -> None:
        """Count files that are done, with their bytes."""
        self.check()
        with self._lock:
            self._count(num_files, num_bytes, work=num_bytes if self._bytes[1] else num_files)

    def file(self, num_bytes: int) -> FileProgress:
        """Return the progress of one file, which counts `num_bytes` of the total."""
        return FileProgress(self, num_bytes)

    def check(self) -> None:
        """Raise the reason for which the run was stopped, if it was stopped."""
        if self._stopped is not None:
            raise self._stopped

    def stop(self, reason: type[BaseException]) -> None:
        """Raise `reason` in every thread that reports progress from now on."""
        self._stopped = reason

    def close(self) -> None:
        """Clear the bar; it comes back only with a new `begin`."""
        with self._lock:
            self._is_closed = True
            self._clear()

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Clear the bar while something else is printed."""
        with self._lock:
            self._clear()
            yield

    def text(self, columns: int) -> str:
        """Return the bar as it is now, for a terminal of so many columns."""
        columns = max(columns - _LEFT_FREE, 1)
        share = self._current_share()
        title = shorten(self._title, max(columns // _TITLE_SHARE, 1))
        parts = [f"{int(share * 100 + _ROUNDING):3} %", *self._counts()]
        while len(parts) > 1 and width(_GAP.join([title, *parts])) > columns:
            parts.pop()
        room = columns - width(_GAP.join([title, "[]", *parts]))
        if room >= _NARROWEST:
            inner = min(room, _WIDEST)
            parts.insert(0, f"[{('=' * int(share * inner) + '>')[:inner]:<{inner}}]")
        return shorten(_GAP.join([title, *parts]), columns)

    def _counts(self) -> Iterator[str]:
        done, total = self._files
        if total > 1:
            yield f"{done:,} of {total:,} files"
        elif self._filters[1]:
            yield f"{self._filters[0]:,} of {self._filters[1]:,} filters"
        if self._bytes[1]:
            yield _of(*self._bytes)

    def _current_share(self) -> float:
        total = self._bytes[1] or self._files[1]
        now = min(self._work / total, 1.0) if total else 0.0
        self._share = max(self._share, now)
        return self._share

    def _count(
        self, num_files: int, num_bytes: int, *, work: float, filters: tuple[int, int] = (0, 0)
    ) -> None:
        with self._lock:
            self._files[0] += num_files
            self._bytes[0] += num_bytes
            self._filters = [self._filters[0] + filters[0], self._filters[1] + filters[1]]
            self._work += work
            self._draw_if_due()

    def _draw_if_due(self) -> None:
        is_measured = self._bytes[1] or self._filters[1] or self._files[1] > 1
        if self._stream is None or self._is_closed or self._stopped or not is_measured:
            return
        if self._clock() >= self._next_drawing:
            self._is_drawn = True
            self._stream.write(_CLEAR_LINE + self.text(_columns_of(self._stream)))
            self._stream.flush()
            self._next_drawing = self._clock() + _INTERVAL

    def _clear(self) -> None:
        if self._is_drawn and self._stream is not None:
            self._stream.write(_CLEAR_LINE)
            self._stream.flush()
            self._is_drawn = False


class FileProgress:
    """The progress of one file; a context manager, at the end of which the file is done."""

    def __init__(self, bar: Bar, num_bytes: int) -> None:
        self._bar = bar
        self._weight = num_bytes
        """Bytes of the total that the file counts for."""
        self._bytes = [0, 0]
        """Bytes written, and to be written; likewise for filters in the next list."""
        self._filters = [0, 0]
        self._share = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._tell(1.0, num_files=1, num_bytes=self._weight - self._counted(self._bytes[0]))

    def begin(self, *, num_bytes: int, num_filters: int) -> None:
        """Set the number of bytes to write, and of filters to build."""
        self._bar.check()
        self._bytes[1], self._filters[1] = num_bytes, num_filters
        self._tell(self._share, filters=(0, num_filters))

    def wrote(self, num_bytes: int) -> None:
        """Count bytes of the new version that were written."""
        self._bar.check()
        before = self._counted(self._bytes[0])
        self._bytes[0] += num_bytes
        self._tell(self._done(), num_bytes=self._counted(self._bytes[0]) - before)

    def built(self) -> None:
        """Count one more filter that was built."""
        self._bar.check()
        with self._bar._lock:  # noqa: SLF001  a friend, and filters are built by several threads
            self._filters[0] += 1
            self._tell(self._done(), filters=(1, 0))

    def _counted(self, num_bytes: int) -> int:
        """Return the written bytes that count, at most those of the file."""
        return min(num_bytes, self._weight)

    def _done(self) -> float:
        pairs = [pair for pair in (self._bytes, self._filters) if pair[1]]
        return sum(min(done / total, 1.0) for done, total in pairs) / len(pairs) if pairs else 0.0

    def _tell(
        self,
        share: float,
        *,
        num_files: int = 0,
        num_bytes: int = 0,
        filters: tuple[int, int] = (0, 0),
    ) -> None:
        bar = self._bar
        with bar._lock:  # noqa: SLF001
            whole = self._weight if bar._bytes[1] else 1  # noqa: SLF001
            work = (share - self._share) * whole
            self._share = share
            bar._count(num_files, num_bytes, work=work, filters=filters)  # noqa: SLF001


def _of(done: int, total: int) -> str:
    """Return a text such as "3.1 of 5.2 GiB" or "12.0 MiB of 5.2 GiB"."""
    some, whole = size(min(done, total)), size(total)
    number, _, unit = some.partition(" ")
    return f"{number if whole.endswith(f' {unit}') else some} of {whole}"


def _columns_of(stream: TextIO) -> int:
    """Return the width of the terminal of the bar, which may not be standard output."""
    try:
        return int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        pass
    try:
        return os.get_terminal_size(stream.fileno()).columns or _FALLBACK_COLUMNS
    except (OSError, ValueError):
        return _FALLBACK_COLUMNS
