"""The engine of this process: a thread for each group of files.

Decoding, hashing and inserting all run outside of Python's lock. Partial filters of the whole table
stay in memory until they are joined.
"""

from __future__ import annotations

from concurrent.futures import as_completed
from functools import partial
from threading import Event
from typing import TYPE_CHECKING

from parquet_bloomwriter.arguments import check_jobs
from parquet_bloomwriter.parallel import WorkerPool, default_jobs

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from parquet_bloomwriter.index.engine import BuildPlan, FileTask, GroupResult, Progress


class ThreadEngine:
    """Runs `build_group` in threads of this process."""

    name = "threads"

    def __init__(self, jobs: int | None = None) -> None:
        """Work with `jobs` threads; by default as many as there are cores.

        Raises:
            InvalidArgument: If `jobs` is less than one.
        """
        check_jobs(jobs)
        self._jobs = jobs or default_jobs()

    @property
    def num_groups(self) -> int:
        """Number of groups: one for each thread.

        Each group has a partial filter of the whole table.
        """
        return self._jobs

    def build(
        self, groups: Sequence[Sequence[FileTask]], plan: BuildPlan, progress: Progress | None
    ) -> Generator[GroupResult, None, None]:
        """Yield the result of each group when it is done.

        If the iterator is closed or an error is raised, threads stop after the file they work on.

        Raises:
            OSError: If the index cannot be written.
        """
        from parquet_bloomwriter.index.build.group import build_group

        stop = Event()

        def done(task: FileTask) -> None:
            if stop.is_set():
                raise _StoppedError
            if progress is not None:
                progress.done(num_files=1, num_bytes=task.file.size)

        with WorkerPool(self._jobs, thread_name_prefix="bloomify") as pool:
            build = partial(build_group, plan=plan, done=done, partials_in_memory=True)
            pending = [pool.submit(build, group) for group in groups]
            try:
                for future in as_completed(pending):
                    yield future.result()
            finally:
                stop.set()
                for future in pending:
                    future.cancel()


class _StoppedError(Exception):
    """Raised in threads whose result is no longer needed."""
