"""A progress bar on standard error for work that takes long, told by several threads.

    bloomify  [===========>             ]  44 %   13 of 30 filters   0.9 of 2.1 GiB

It is also where a run is stopped: the verbs call it all the time, from whatever thread they work
in, and undo their work if it raises.
"""

from __future__ import annotations

import shutil
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from bloomify.text import size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE = 0.5
"""Seconds of work before the bar shows."""

_INTERVAL = 0.1
"""Seconds between two drawings."""

_CLEAR_LINE = "\r\x1b[K"
_BAR_COLUMNS = 25
_GAP = "   "


class Bar:
    """The progress of one run over any number of files."""

    def __init__(
        self, stream: TextIO | None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Draw on `stream`; None draws nothing."""
        self._stream = stream
        self._clock = clock
        self._lock = threading.RLock()
        self._next_drawing = clock() + PATIENCE
        self._is_drawn = False
        self._bytes = [0, 0]
        self._filters = [0, 0]
        self._files = [0, 0]
        self._stopped: type[BaseException] | None = None

    def begin(self, *, num_bytes: int, num_filters: int) -> None:
        """Hear that a file is about to be worked on."""
        self._advance(self._bytes, 1, num_bytes)
        self._advance(self._filters, 1, num_filters)

    def wrote(self, num_bytes: int) -> None:
        """Hear that bytes of a new version were written."""
        self._advance(self._bytes, 0, num_bytes)

    def built(self) -> None:
        """Hear that one more filter is done."""
        self._advance(self._filters, 0, 1)

    def expect(self, *, num_files: int) -> None:
        """Hear how many files there are, where that is what counts."""
        self._advance(self._files, 1, num_files)

    def finished(self) -> None:
        """Hear that one more file is done."""
        self._advance(self._files, 0, 1)

    def stop(self, reason: type[BaseException]) -> None:
        """Raise `reason` in every thread that reports progress from now on."""
        self._stopped = reason

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Take the bar away while something else is printed."""
        with self._lock:
            if self._is_drawn and self._stream:
                self._stream.write(_CLEAR_LINE)
                self._stream.flush()
                self._is_drawn = False
            yield

    def text(self, columns: int) -> str:
        """The bar as it stands, at most `columns` wide."""
        counted = (self._files,) if self._files[1] else (self._bytes, self._filters)
        shares = [min(done / total, 1.0) for done, total in counted if total]
        share = sum(shares) / len(shares) if shares else 0.0
        parts = [f"{int(share * 100):3} %"]
        if self._files[1]:
            parts.append(f"{self._files[0]:,} of {self._files[1]:,} files")
        if self._filters[1]:
            parts.append(f"{self._filters[0]:,} of {self._filters[1]:,} filters")
        if self._bytes[1]:
            done, total = self._bytes
            parts.append(f"{size(min(done, total))} of {size(total)}")
        arrow = ("=" * int(share * _BAR_COLUMNS) + ">")[:_BAR_COLUMNS]
        bar = f"[{arrow:<{_BAR_COLUMNS}}]"
        text = _GAP.join(["bloomify", bar, *parts])
        fits = len(text) < columns
        return text if fits else _GAP.join(["bloomify", *parts])[: columns - 1]

    def _advance(self, pair: list[int], place: int, amount: int) -> None:
        if self._stopped is not None:
            raise self._stopped
        with self._lock:
            pair[place] += amount
            is_measured = self._bytes[1] or self._filters[1] or self._files[1]
            if self._stream and is_measured and self._clock() >= self._next_drawing:
                self._draw(self._stream)

    def _draw(self, stream: TextIO) -> None:
        text = self.text(shutil.get_terminal_size().columns)
        stream.write(_CLEAR_LINE + text)
        stream.flush()
        self._is_drawn = True
        self._next_drawing = self._clock() + _INTERVAL
