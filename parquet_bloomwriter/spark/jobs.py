"""Runs a Python function as a job of Spark: one task for each argument, one result from each task.

    driver   pickles each argument by itself -> spark.range(n), one partition for each
    worker   takes the argument of its number, works, and returns the pickled result as a row

Only the DataFrame interface is used, so that Spark Connect needs no other code. `mapInArrow` hands
batches to Python without making rows of Spark's own. A worker returns a `BloomwriterError` or an
`OSError` as its result, and the driver raises the error. Any other error fails the task, and Spark
tries the task again as often as its settings say. So work may run twice.
Settings of stores go along with each task, also those of an Iceberg table's buckets, which the
driver has from a catalog: executors need nothing of the driver's environment.

Classic sessions collect, because their `toLocalIterator` runs one partition after the other.
Meanwhile Spark's status tracker counts the finished tasks. Connect streams results while tasks run.

This module also has the folder for files that this process and its JVM share.
"""

from __future__ import annotations

import atexit
import os
import pickle
import re
import shutil
import stat
import tempfile
import threading
import uuid
import warnings
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from parquet_bloomwriter import __version__
from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.source.settings import settings_in_use, use
from parquet_bloomwriter.spark.settings import is_connect
from parquet_bloomwriter.spark.store_urls import store_settings
from parquet_bloomwriter.spark.worker_python import check_worker_python
from parquet_bloomwriter.user_folders import is_own

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from parquet_bloomwriter.source.settings import StoreSettings

    OnProgress = Callable[[int], None]
    """Called with the number of tasks that are done."""

A = TypeVar("A")
R = TypeVar("R")

_POLL_S = 0.2
_MANY_ROWS = 100_000
"""Number of rows from which Spark makes its default number of partitions."""

_MISSING_MODULE = re.compile(r"No module named '([\w.]+)'")
_ABSENT_PYTHON = re.compile(r'Cannot run program "([^"]+)"')


def default_parallelism(spark: SparkSession) -> int:
    """Return how many tasks Spark runs at once by default, about the number of cores."""
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
    on_progress: OnProgress | None = None,
) -> Iterator[R]:
    """Run `work` on each argument, in tasks of Spark, and yield the results in any order.

    Args:
        spark: A session, classic or of Spark Connect.
        work: A function of a module that the workers can import.
        arguments: Values that can be pickled; work on the first ones begins first.
        description: The job's name on Spark's own pages.
        on_progress: Called in this thread with the number of tasks that are done.

    Raises:
        BloomwriterError: If `work` raises one, or the Python of the workers cannot run `work`.
        OSError: If `work` raises one.
        PySparkException: If the job fails otherwise.
    """
    if not arguments:
        return
    if not is_connect(spark):
        check_worker_python(spark)
    packed = [pickle.dumps(argument) for argument in arguments]
    settings = replace(store_settings(spark), buckets=settings_in_use().buckets)
    frame = _tasks(spark, work, packed, settings)
    rows = _streamed if is_connect(spark) else _collected
    try:
        for row in rows(frame, description, on_progress or _ignore):
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
    """Return the problem of the executors' Python, found in the text of a failed job; or None."""
    missing = _MISSING_MODULE.search(text)
    if missing is not None:
        return f"cannot import {missing.group(1)}"
    if "PYTHON_VERSION_MISMATCH" in text:
        return "have a different version from the driver's Python"
    absent = _ABSENT_PYTHON.search(text)
    return None if absent is None else f"cannot be started: there is no {absent.group(1)}"


def _tasks(
    spark: SparkSession,
    work: Callable[[Any], object],
    packed: list[bytes],
    settings: StoreSettings,
) -> DataFrame:
    version = __version__

    def perform(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        use(settings)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield _result(work, packed[number], version)

    with warnings.catch_warnings():
        # Spark checks that pandas is there, and does not use it.
        warnings.filterwarnings("ignore", message=".*pandas", category=FutureWarning)
        return spark.range(0, len(packed), 1, len(packed)).mapInArrow(perform, "result binary")


def _result(work: Callable[[Any], object], packed: bytes, version: str) -> pa.RecordBatch:
    """Run the work of one task, in a worker."""
    import pyarrow as pa

    try:
        if version != __version__:
            raise BloomwriterError(  # noqa: TRY301  handled like errors of the work
                f"the driver has version {version} of parquet-bloomwriter, a worker {__version__}",
                remedy="Install the same version everywhere.",
            )
        result: object = (True, work(pickle.loads(packed)))  # noqa: S301  the driver's
    except (BloomwriterError, OSError) as error:
        result = (False, error)
    return pa.record_batch([pa.array([pickle.dumps(result)], pa.binary())], names=["result"])


def _unpacked(row: Any) -> Any:  # noqa: ANN401  the result of the work
    succeeded, result = pickle.loads(bytes(row[0]))  # noqa: S301  a worker of this very job
    if not succeeded:
        raise result
    return result


def _streamed(frame: DataFrame, _: str, on_progress: OnProgress) -> Iterator[Any]:
    spark, tag = frame.sparkSession, f"bloomify-{uuid.uuid4().hex}"
    spark.addTag(tag)
    try:
        for done, row in enumerate(frame.toLocalIterator(), 1):
            on_progress(done)
            yield row
    except BaseException:
        spark.interruptTag(tag)
        raise
    finally:
        spark.removeTag(tag)


def _collected(frame: DataFrame, description: str, on_progress: OnProgress) -> Iterator[Any]:
    from pyspark import InheritableThread

    context, group = frame.sparkSession.sparkContext, f"bloomify-{uuid.uuid4().hex}"
    collected: Future[list[Any]] = Future()

    def collect() -> None:
        try:
            context.setJobGroup(group, description)
            collected.set_result(frame.collect())
        except BaseException as error:  # noqa: BLE001  raised in the caller's thread
            collected.set_exception(error)

    thread = InheritableThread(collect, name="bloomify-job")
    thread.start()
    try:
        _watch(thread, lambda: on_progress(_num_done(context, group)))
    except BaseException:
        context.cancelJobGroup(group)
        raise
    rows = collected.result()
    on_progress(len(rows))
    yield from rows


def _watch(thread: threading.Thread, look: Callable[[], None]) -> None:
    while thread.is_alive():
        thread.join(_POLL_S)
        look()


def _num_done(context: Any, group: str) -> int:  # noqa: ANN401  pyspark's context
    """Count the finished tasks of a group's jobs."""
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    return sum(stage.numCompletedTasks for stage in stages if stage)


def _ignore(_: int) -> None: ...


def scratch_folder() -> str:
    """Return the path of a folder that only this user can read, removed when the process ends.

    Programs that clean up /tmp remove folders that were not used for long. Another user could then
    make a folder of this name. So a folder that is not as it was made is given up for a new one.
    A process that was forked off this one leaves the folder alone when it ends.
    """
    with _scratch_lock:
        if not _scratch or not _is_private(_scratch[-1]):
            folder = tempfile.mkdtemp(prefix="bloomwriter-")
            atexit.register(_remove, folder, os.getpid())
            _scratch.append(folder)
        return _scratch[-1]


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner and _is_private(folder):
        shutil.rmtree(folder, ignore_errors=True)


_scratch: list[str] = []
"""The scratch folders of this process; the last folder is in use."""

_scratch_lock = threading.Lock()


def _is_private(folder: str) -> bool:
    try:
        found = Path(folder).lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and is_own(found)
