"""How far a job of Spark is: the bar that the command has, too.

How far tasks are, while they run: told through a folder that they share with the driver.

    <folder>/<digits>    one for each task: the size of every file that it is done with, one a line

Spark tells of a task when it ends. A task of an index takes as long as all files of one core.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from parquet_bloomwriter.progress import Bar
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from parquet_bloomwriter.index.engine import FileTask, Progress


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


class TaskProgress:
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


# ruff: noqa: PTH103, PTH118, PTH123  paths are strings, as in plans


_POLL_S = 0.2


def file_recorder(folder: str) -> Callable[[FileTask], None]:
    """Return what a worker calls for every file that is done."""
    path = os.path.join(folder, uuid.uuid4().hex)

    def done(task: FileTask) -> None:
        with contextlib.suppress(OSError), open(path, "a", encoding="ascii") as file:
            file.write(f"{task.file.size}\n")

    return done


@contextlib.contextmanager
def progress_folder(folder: str, progress: Progress, tasks: list[FileTask]) -> Iterator[None]:
    """Tell of what workers are done with, as long as the body of the `with` statement runs.

    Args:
        folder: Made here, and removed at the end.
        progress: Told from another thread; in the end of all files, unless there is an error.
        tasks: All of them.
    """
    watcher = _FolderWatcher(folder, progress, tasks)
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(_POLL_S):
            watcher.look()

    os.makedirs(folder, exist_ok=True)
    thread = threading.Thread(target=watch, name="bloomify-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        shutil.rmtree(folder, ignore_errors=True)
    watcher.finish()


class _FolderWatcher:
    """Knows what was told of, and tells of no more than there is: tasks may run twice."""

    def __init__(self, folder: str, progress: Progress, tasks: list[FileTask]) -> None:
        self._folder = Path(folder)
        self._progress = progress
        self._total = (len(tasks), sum(task.file.size for task in tasks))
        self._told = (0, 0)

    def look(self) -> None:
        """Tell of what is new."""
        sizes: list[int] = []
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                whole, _, _ = path.read_text().rpartition("\n")
                sizes.extend(map(int, whole.split()))
        self._tell((len(sizes), sum(sizes)))

    def finish(self) -> None:
        """Tell of what is left."""
        self._tell(self._total)

    def _tell(self, done: tuple[int, int]) -> None:
        now = (min(done[0], self._total[0]), min(done[1], self._total[1]))
        num_files, num_bytes = (max(0, new - old) for new, old in zip(now, self._told, strict=True))
        if num_files or num_bytes:
            self._told = (self._told[0] + num_files, self._told[1] + num_bytes)
            self._progress.done(num_files=num_files, num_bytes=num_bytes)
