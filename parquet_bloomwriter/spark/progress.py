"""The progress of a job of Spark: a bar, and the counts of tasks and files that move it on.

Spark reports a task when it ends. A task of an index takes as long as all files of one core, so its
workers also report each file, through a folder that they share with the driver:

    <folder>/<digits>    one for each task: the bytes of each file that is done, one file a line
"""

# ruff: noqa: PTH103, PTH118, PTH123  paths are strings, as in plans
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

_POLL_S = 0.2


class JobLine(Bar):
    """The progress bar of a job: a `Progress` for engines. Leaving its context removes the bar."""

    def __init__(
        self,
        title: str,
        stream: TextIO | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Draw on a terminal.

        Args:
            title: What the job does, such as "indexing events".
            stream: Where to draw, by default standard error. A stream that is no terminal gets
                nothing.
            clock: Returns seconds.
        """
        target = sys.stderr if stream is None else stream
        is_watched = target is not None and target.isatty()
        super().__init__(
            target if is_watched else None, title=safe(title), patience=0.0, clock=clock
        )


class TaskProgress:
    """Turns numbers of finished tasks into files and bytes, as if tasks ended in their order."""

    def __init__(self, sizes: Sequence[tuple[int, int]], progress: Progress) -> None:
        """Report to `progress`.

        Args:
            sizes: Number of files and bytes of each task.
            progress: Receives finished files; it has already received the totals.
        """
        self._sizes = iter(sizes)
        self._progress = progress
        self._reported = 0

    def __call__(self, done: int) -> None:
        """Report the files of newly finished tasks, given how many tasks are done."""
        for num_files, num_bytes in itertools.islice(self._sizes, max(0, done - self._reported)):
            self._progress.done(num_files=num_files, num_bytes=num_bytes)
        self._reported = max(self._reported, done)


def file_recorder(folder: str) -> Callable[[FileTask], None]:
    """Return the function that a worker calls for every file that is done."""
    path = os.path.join(folder, uuid.uuid4().hex)

    def done(task: FileTask) -> None:
        with contextlib.suppress(OSError), open(path, "a", encoding="ascii") as file:
            file.write(f"{task.file.size}\n")

    return done


@contextlib.contextmanager
def progress_folder(folder: str, progress: Progress, tasks: list[FileTask]) -> Iterator[None]:
    """Report the files that workers finish while the body of the `with` statement runs.

    Args:
        folder: Path of the folder to create. It is removed at the end.
        progress: Called from another thread. At the end it has received all files, unless the
            body raises an error.
        tasks: The files of all workers.
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
    """Reports new files in the folder, at most as many as there are: tasks may run twice."""

    def __init__(self, folder: str, progress: Progress, tasks: list[FileTask]) -> None:
        self._folder = Path(folder)
        self._progress = progress
        self._total = (len(tasks), sum(task.file.size for task in tasks))
        self._reported = (0, 0)

    def look(self) -> None:
        """Report the files that were finished since the last call."""
        sizes: list[int] = []
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                whole, _, _ = path.read_text().rpartition("\n")
                sizes.extend(map(int, whole.split()))
        self._report((len(sizes), sum(sizes)))

    def finish(self) -> None:
        """Report all files that were not reported yet."""
        self._report(self._total)

    def _report(self, done: tuple[int, int]) -> None:
        now = (min(done[0], self._total[0]), min(done[1], self._total[1]))
        num_files, num_bytes = (
            max(0, new - old) for new, old in zip(now, self._reported, strict=True)
        )
        if num_files or num_bytes:
            self._reported = (self._reported[0] + num_files, self._reported[1] + num_bytes)
            self._progress.done(num_files=num_files, num_bytes=num_bytes)
