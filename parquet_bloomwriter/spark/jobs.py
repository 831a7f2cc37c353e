"""Work of ours as a job of Spark: one task for each argument, one result from each task.

    driver   pickles the arguments, each by itself -> spark.range(n), one partition for each
    worker   takes the argument of its number, works, and returns the pickled result as a row

Only the DataFrame interface is used, so that it is the same on Spark Connect. `mapInArrow` hands
batches to Python without a row of Spark's own being made. Errors of ours and of the operating
system come back as results, and the driver raises them as they are; whatever else goes wrong in a
worker is a failed task, which Spark tries again as often as it is set to. So work may run twice.

Classic sessions collect, because their `toLocalIterator` runs one partition after the other; the
tracker of jobs tells meanwhile how many tasks are done. Connect streams results while tasks run.

A folder for what this process and its JVM hand to each other; it goes when the process ends.
"""

from __future__ import annotations

import pickle
import re
import tempfile
import uuid
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from parquet_bloomwriter import __version__
from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.spark.worker_python import check_worker_python

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    Told = Callable[[int], None]
    """Told how many tasks are done."""

A = TypeVar("A")
R = TypeVar("R")

_POLL_S = 0.2
_MANY_ROWS = 100_000
"""Rows that Spark spreads over as many partitions as it has by default."""

_MISSING_MODULE = re.compile(r"No module named '([\w.]+)'")
_ABSENT_PYTHON = re.compile(r'Cannot run program "([^"]+)"')


def is_connect(spark: SparkSession) -> bool:
    """Whether the session is one of Spark Connect, that has no JVM of its own."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def default_parallelism(spark: SparkSession) -> int:
    """Tasks that Spark runs by default, about as many as the cluster has cores."""
    if not is_connect(spark):
        return max(1, int(spark.sparkContext.defaultParallelism))
    from pyspark.sql import functions

    rows = spark.range(_MANY_ROWS).select(functions.spark_partition_id().alias("partition"))
    found = rows.agg(functions.max("partition")).first()
    return 1 + int(found[0] if found else 0)


def run(
    spark: SparkSession,
    work: Callable[[A], R],
    arguments: Sequence[A],
    *,
    description: str,
    told: Told | None = None,
) -> Iterator[R]:
    """Run `work` on each argument, in tasks of Spark, and yield the results in any order.

    Args:
        spark: A session, classic or of Spark Connect.
        work: A function of a module that the workers can import.
        arguments: What can be pickled; the first ones are begun first.
        description: What Spark's own pages call the job.
        told: Told in this thread how many tasks are done.

    Raises:
        BloomwriterError: If `work` does, or if the Python of the workers cannot do it.
        OSError: If `work` does.
        PySparkException: If the job fails otherwise.
    """
    if not arguments:
        return
    if not is_connect(spark):
        check_worker_python(spark)
    frame = _tasks(spark, work, [pickle.dumps(argument) for argument in arguments])
    rows = _streamed if is_connect(spark) else _collected
    try:
        for row in rows(frame, description, told or _nobody):
            yield _unpacked(row)
    except Exception as error:
        problem = None if isinstance(error, BloomwriterError) else _worker_problem(str(error))
        if problem is None:
            raise
        raise BloomwriterError(
            f"the Python workers of Spark {problem}",
            remedy="Install parquet-bloomwriter on all executors, or let PYSPARK_PYTHON name a "
            "Python that has it, of the driver's version.",
        ) from error


def _worker_problem(text: str) -> str | None:
    """Return what a failed job says of the Python on executors, or None."""
    missing = _MISSING_MODULE.search(text)
    if missing is not None:
        return f"cannot import {missing.group(1)}"
    if "PYTHON_VERSION_MISMATCH" in text:
        return "have another version than the driver's Python"
    absent = _ABSENT_PYTHON.search(text)
    return None if absent is None else f"cannot be started: there is no {absent.group(1)}"


def _tasks(spark: SparkSession, work: Callable[[Any], object], packed: list[bytes]) -> DataFrame:
    version = __version__

    def perform(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield _result(work, packed[number], version)

    with warnings.catch_warnings():
        # Of pandas only its presence is asked for.
        warnings.filterwarnings("ignore", message=".*pandas", category=FutureWarning)
        return spark.range(0, len(packed), 1, len(packed)).mapInArrow(perform, "result binary")


def _result(work: Callable[[Any], object], packed: bytes, version: str) -> pa.RecordBatch:
    """Work, in a worker."""
    import pyarrow as pa

    try:
        if version != __version__:
            raise BloomwriterError(  # noqa: TRY301  it takes the same way as the others
                f"the driver has version {version} of parquet-bloomwriter, a worker {__version__}",
                remedy="Install the same version everywhere.",
            )
        result: object = (True, work(pickle.loads(packed)))  # noqa: S301  the driver's
    except (BloomwriterError, OSError) as error:
        result = (False, error)
    return pa.record_batch([pa.array([pickle.dumps(result)], pa.binary())], names=["result"])


def _unpacked(row: Any) -> Any:  # noqa: ANN401  what the work returned
    succeeded, result = pickle.loads(bytes(row[0]))  # noqa: S301  a worker of this very job
    if not succeeded:
        raise result
    return result


def _streamed(frame: DataFrame, _: str, told: Told) -> Iterator[Any]:
    spark, tag = frame.sparkSession, f"bloomify-{uuid.uuid4().hex}"
    spark.addTag(tag)
    try:
        for done, row in enumerate(frame.toLocalIterator(), 1):
            told(done)
            yield row
    except BaseException:
        spark.interruptTag(tag)
        raise
    finally:
        spark.removeTag(tag)


def _collected(frame: DataFrame, description: str, told: Told) -> Iterator[Any]:
    from pyspark import InheritableThread

    context, group = frame.sparkSession.sparkContext, f"bloomify-{uuid.uuid4().hex}"
    rows: list[Any] = []
    problems: list[BaseException] = []

    def collect() -> None:
        try:
            context.setJobGroup(group, description)
            rows.extend(frame.collect())
        except BaseException as error:  # noqa: BLE001  raised below, in the caller's thread
            problems.append(error)

    thread = InheritableThread(collect, name="bloomify-job")
    thread.start()
    try:
        _watch(thread, lambda: told(_num_done(context, group)))
    except BaseException:
        context.cancelJobGroup(group)
        raise
    if problems:
        raise problems[0]
    told(len(rows))
    yield from rows


def _watch(thread: threading.Thread, look: Callable[[], None]) -> None:
    while thread.is_alive():
        thread.join(_POLL_S)
        look()


def _num_done(context: Any, group: str) -> int:  # noqa: ANN401  pyspark's context
    """Tasks of the group's jobs that are done."""
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    return sum(stage.numCompletedTasks for stage in stages if stage)


def _nobody(_: int) -> None: ...


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="bloomwriter-", ignore_cleanup_errors=True)


def scratch_folder() -> str:
    """Its path; nobody else can read it."""
    return _folder().name
