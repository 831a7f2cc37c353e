"""The engine that builds the filters of an index in tasks of Spark.

A task works on one group of files, as a thread of the default engine does: it reads the files,
writes parts into the new version's folder, and returns the names and figures of these parts. So
executors must reach the table and the index by the same paths as the driver. A task that runs
twice, because an executor was lost or slow, writes files of other names each time. The index uses
the files of the run whose result reaches the driver.

There is one group for each core, because every group writes partial filters of the whole table, up
to 128 MiB for each column, which are joined afterwards. Three groups for each core took 2.5 times
as long for 32 million values.
"""

# ruff: noqa: PTH118  paths are strings, as in plans
from __future__ import annotations

import contextlib
import os
import uuid
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.index.storage.base import storage_of
from parquet_bloomwriter.spark.jobs import default_parallelism, run
from parquet_bloomwriter.spark.progress import TaskProgress, file_recorder, progress_folder
from parquet_bloomwriter.spark.store_urls import use_settings_of
from parquet_bloomwriter.text import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

    from parquet_bloomwriter.index.engine import BuildPlan, FileTask, GroupResult, Progress

    Task = tuple[tuple[FileTask, ...], BuildPlan, str | None]
    """Files, how to build their filters, and the folder for progress; None without progress."""

_MOST_GROUPS = 256
"""Maximum number of groups, whatever Spark's default parallelism is."""


class SparkEngine:
    """Runs `build_group` in tasks of Spark, one for each group."""

    name = "spark"

    def __init__(self, spark: SparkSession, *, num_groups: int | None = None) -> None:
        """Use a session, classic or of Spark Connect.

        Args:
            spark: The session.
            num_groups: Number of tasks at most; by default as many as Spark runs at once.

        Raises:
            InvalidArgument: If `num_groups` is less than one.
        """
        if num_groups is not None and num_groups < 1:
            raise InvalidArgument(f"{num_groups} tasks cannot do any work")
        use_settings_of(spark)
        self._spark = spark
        self._num_groups = num_groups

    @property
    def num_groups(self) -> int:
        """Return the number of groups that keeps all cores busy."""
        if self._num_groups is None:
            self._num_groups = min(default_parallelism(self._spark), _MOST_GROUPS)
        return self._num_groups

    def build(
        self, groups: Sequence[Sequence[FileTask]], plan: BuildPlan, progress: Progress | None
    ) -> Iterator[GroupResult]:
        """Yield a result for each group, in any order.

        Raises:
            BloomwriterError: If the workers cannot build filters.
            OSError: If parts cannot be written.
        """
        has_folder = progress is not None and not storage_of(plan.folder).is_remote
        folder = os.path.join(plan.folder, f"p-{uuid.uuid4().hex}") if has_folder else None
        tasks: list[Task] = [(tuple(group), plan, folder) for group in groups]
        files = [task for group in groups for task in group]
        columns = ", ".join(column.name for column in plan.columns)
        description = f"bloomify: index of {columns} over {count(len(files), 'file')}"
        with contextlib.ExitStack() as stack:
            if progress is not None and folder is not None:
                stack.enter_context(progress_folder(folder, progress, files))
            counts = _by_tasks(groups, progress) if folder is None else None
            yield from run(self._spark, _build, tasks, description=description, on_progress=counts)


def _by_tasks(
    groups: Sequence[Sequence[FileTask]], progress: Progress | None
) -> TaskProgress | None:
    """Return a counter that reports files when their task ends; None without `progress`.

    A store has no folder through which tasks could report each file.
    """
    if progress is None:
        return None
    sizes = [(len(group), sum(task.file.size for task in group)) for group in groups]
    return TaskProgress(sizes, progress)


def _build(task: Task) -> GroupResult:
    """Build the filters of a group, in a worker."""
    from parquet_bloomwriter.index.build.group import build_group

    files, plan, folder = task
    return build_group(files, plan, None if folder is None else file_recorder(folder))
