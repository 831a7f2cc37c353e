"""Building an index, beside reading the column: `python -m benchmarks.index_tasks NAME REPEATS`.

An index is built in full: footers read, files checked before and after, everything flushed to disk.
What it is compared with opens the same files in the same groups, decodes the column by pyarrow, one
row group after the other, and keeps nothing. On Spark there is besides what one would write first:
Spark's own scan of the column, handed to Python by `mapInArrow`.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import spark_data
from benchmarks.measure import timed
from benchmarks.spark_session import (
    index_anew,
    local_spark,
    print_result,
    remove_index,
    seconds,
)
from parquet_bloomwriter.index.build.group import balanced_groups
from parquet_bloomwriter.index.build.threads import ThreadEngine
from parquet_bloomwriter.index.engine import FileTask
from parquet_bloomwriter.index.files import location
from parquet_bloomwriter.index.table.data_files import list_files
from parquet_bloomwriter.spark.engine import SparkEngine
from parquet_bloomwriter.spark.jobs import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from parquet_bloomwriter.index.engine import Engine

_COLUMN = "id"
_ROOT = str(spark_data.IDS)


def spark(repeats: str) -> None:
    """By Spark, against a job that reads."""
    with local_spark() as session:

        def read(groups: Sequence[Sequence[str]]) -> Iterable[int]:
            return run(session, _read, groups, description="read")

        scanned = session.read.parquet(_ROOT).select(_COLUMN)
        counted = scanned.mapInArrow(_count, "num_rows long")
        scan = {"scan": lambda: seconds(counted.collect)}
        _compare(SparkEngine(session), read, repeats, more=scan)


def threads(repeats: str) -> None:
    """By threads, against threads that read."""

    def read(groups: Sequence[Sequence[str]]) -> Iterable[int]:
        with ThreadPoolExecutor() as pool:
            return list(pool.map(_read, groups))

    _compare(ThreadEngine(), read, repeats)


def _compare(
    engine: Engine,
    read: Callable[[Sequence[Sequence[str]]], Iterable[int]],
    repeats: str,
    *,
    more: Mapping[str, Callable[[], float]] = MappingProxyType({}),
) -> None:
    groups = _groups(engine.num_groups)
    cases: dict[str, Callable[[], float]] = {
        origin: partial(_build, origin=origin, engine=engine) for origin in ("values", "embedded")
    }
    cases["read"] = lambda: seconds(lambda: sum(read(groups)))
    cases |= more
    print_result({name: timing.seconds for name, timing in timed(cases, int(repeats)).items()})


def _build(*, origin: str, engine: Engine) -> float:
    remove_index(spark_data.IDS)
    return seconds(lambda: index_anew(spark_data.IDS, [_COLUMN], origin=origin, engine=engine))


def _groups(num_groups: int) -> list[list[str]]:
    """The files as they are dealt out for an index."""
    files = list_files(_ROOT)
    tasks = [FileTask(file_id=i, file=file, num_rows=0) for i, file in enumerate(files)]
    return [
        [location(_ROOT, task.file) for task in group]
        for group in balanced_groups(tasks, num_groups)
    ]


def _read(paths: Sequence[str]) -> int:
    """Decode the column of some files, and count the rows."""
    num_rows = 0
    for path in paths:
        with pq.ParquetFile(path) as file:
            for row_group in range(file.num_row_groups):
                num_rows += len(file.read_row_group(row_group, columns=[_COLUMN]))
    return num_rows


def _count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    num_rows = sum(batch.num_rows for batch in batches)
    yield pa.record_batch([pa.array([num_rows])], names=["num_rows"])


TASKS: dict[str, Callable[[str], None]] = {task.__name__: task for task in (spark, threads)}

if __name__ == "__main__":
    TASKS[sys.argv[1]](*sys.argv[2:])
