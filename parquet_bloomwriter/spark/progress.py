"""How far a job of Spark is: the bar that the command has, too."""

from __future__ import annotations

import itertools
import sys
import time
from typing import TYPE_CHECKING, TextIO

from parquet_bloomwriter.progress import Bar
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parquet_bloomwriter.index.engine import Progress


class JobLine(Bar):
    """The bar of a job, which a context manager takes away at the end; a `Progress` for engines."""

    def __init__(
        self,
        title: str,
        stream: TextIO | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Draw on `stream`, by default standard error; if it is no terminal, nothing.

        Args:
            title: What is being done to what, "indexing events".
            stream: Where to write.
            clock: Seconds.
        """
        target = sys.stderr if stream is None else stream
        is_watched = target is not None and target.isatty()
        super().__init__(
            target if is_watched else None, title=safe(title), patience=0.0, clock=clock
        )


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
