"""The writers of `bloomify_table` for Delta and Iceberg tables: tasks of Spark write new files.

The driver reads the table's metadata and the footers of files of which nothing is known, gives
files to tasks, and commits. Tasks write new files; what they wrote counts only once it is
committed. A task that runs again, because an executor was lost or slow, writes the same new name
again: the last one that is complete stays, and all have the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.spark.jobs import run
from parquet_bloomwriter.text import count

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from pyspark.sql import SparkSession

    from parquet_bloomwriter.tables.replacement import Job, Writer, WrittenFile

    Result = WrittenFile | BloomwriterError | OSError | None


class SparkWorkers:
    """Writes new files in tasks of Spark; see `tables.replacement.Workers`."""

    def __init__(self, spark: SparkSession, num_tasks: int) -> None:
        """Use at most `num_tasks` tasks for the files of one commit."""
        self._spark = spark
        self._num_tasks = num_tasks

    def write_all(self, writer: Writer, jobs: Sequence[Job]) -> Generator[Result, None, None]:
        """See `Workers`."""
        groups: list[list[tuple[int, Job]]] = [[] for _ in range(min(self._num_tasks, len(jobs)))]
        for place, job in enumerate(jobs):
            groups[place % len(groups)].append((place, job))
        tasks = [(writer, tuple(group)) for group in groups]
        description = f"bloomify: {count(len(jobs), 'file')} of a table"
        found: dict[int, Result] = {}
        for results in run(self._spark, _write, tasks, description=description):
            found.update(results)
        yield from (found[place] for place in range(len(jobs)))


def _write(task: tuple[Writer, tuple[tuple[int, Job], ...]]) -> dict[int, Result]:
    """Write the files of one task, in a worker."""
    writer, jobs = task
    return {place: _written(writer, job) for place, job in jobs}


def _written(writer: Writer, job: Job) -> Result:
    try:
        return writer(job, 1, None)
    except (BloomwriterError, OSError) as error:
        return error
