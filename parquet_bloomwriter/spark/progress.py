"""One line on standard error that says how far a job is, where that is a terminal.

indexing events: 1,204 of 2,000 files, 3.1 of 5.2 GiB
"""

from __future__ import annotations

import itertools
import shutil
import sys
import threading
import time
from typing import TYPE_CHECKING, TextIO

from parquet_bloomwriter.wording import safe, size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Self

    from parquet_bloomwriter.index.engine import Progress

_INTERVAL_S = 0.1
_CLEAR_LINE = "\r\x1b[K"


class JobLine:
    """Tells of a job on a terminal, and takes its line away at the end: a context manager.

    It is a `Progress` for engines of an index.
    """

    def __init__(
        self,
        title: str,
        stream: TextIO | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Write to `stream`, by default standard error; if it is no terminal, nothing.

        Args:
            title: What is being done to what, "indexing events".
            stream: Where to write.
            clock: Seconds.
        """
        target = sys.stderr if stream is None else stream
        self._stream = target if target is not None and target.isatty() else None
        self._title = safe(title)
        self._clock = clock
        self._lock = threading.Lock()
        self._next_drawing = clock()
        self._files = [0, 0]
        self._bytes = [0, 0]

    def begin(self, *, num_files: int, num_bytes: int) -> None:
        """Hear what there is to do. The last word counts."""
        with self._lock:
            self._files, self._bytes = [0, num_files], [0, num_bytes]
            self._draw()

    def done(self, *, num_files: int, num_bytes: int) -> None:
        """Hear that more is done."""
        with self._lock:
            self._files[0] += num_files
            self._bytes[0] += num_bytes
            if self._clock() >= self._next_drawing:
                self._draw()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take the line away."""
        with self._lock:
            if self._stream:
                self._stream.write(_CLEAR_LINE)
                self._stream.flush()

    def text(self) -> str:
        """The line as it stands."""
        files = f"{self._files[0]:,} of {self._files[1]:,} files"
        return f"{self._title}: {files}, {_share(*self._bytes)}"

    def _draw(self) -> None:
        self._next_drawing = self._clock() + _INTERVAL_S
        if self._stream:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(_CLEAR_LINE + self.text()[:width])
            self._stream.flush()


class Teller:
    """Tells of tasks that are done, as if they were done in the order in which they are begun."""

    def __init__(self, sizes: Sequence[tuple[int, int]], progress: Progress) -> None:
        """Tell `progress`.

        Args:
            sizes: Files and bytes of each task.
            progress: Who is told; knows already how much there is to do.
        """
        self._sizes = iter(sizes)
        self._progress = progress
        self._told = 0

    def __call__(self, done: int) -> None:
        """Hear how many tasks are done."""
        for num_files, num_bytes in itertools.islice(self._sizes, max(0, done - self._told)):
            self._progress.done(num_files=num_files, num_bytes=num_bytes)
        self._told = max(self._told, done)


def _share(done: int, total: int) -> str:
    """Say how much of how much, as in "3.1 of 5.2 GiB" and "12.0 MiB of 5.2 GiB"."""
    some, whole = size(min(done, total)), size(total)
    number, _, unit = some.partition(" ")
    return f"{number if whole.endswith(f' {unit}') else some} of {whole}"
