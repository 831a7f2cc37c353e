"""The rules work in whatever thread a query is planned and run, also in streams.

`ADD JAR` shows the classes of the rules to one thread only. Spark runs interpreted what it cannot
compile, unless `spark.sql.codegen.fallback` is off, as here: then the query fails.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import index
from parquet_bloomwriter.spark import rules
from tests.spark.metrics import metrics_of
from tests.support.spark_session import local_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

COMPILED = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.codegen.factoryMode": "CODEGEN_ONLY",
    "spark.sql.codegen.fallback": "false",
    "spark.sql.codegen.wholeStage": "true",
    "spark.bloomwriter.join.minBytes": "0",
}
NUM_FILES = 5
ROWS = 200
NUM_COMMON = 20
PRUNED = "Location: PrunedFileIndex"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of the tables "some" and "more", which share every tenth id of "some"."""
    folder = tmp_path_factory.mktemp("tables")
    for name, step in (("some", 1), ("more", 10)):
        (folder / name).mkdir()
        for i in range(NUM_FILES):
            ids = [(i + NUM_FILES * j) * step * 1_000_003 for j in range(ROWS)]
            data = {"id": pa.array(ids, pa.int64()), "n": pa.array(range(ROWS), pa.int64())}
            pq.write_table(pa.table(data), folder / name / f"{i}.parquet")
        index.create(folder / name, ["id"], name="ids")
    return folder


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """Return a session of its own, which compiles every query or fails."""
    assert spark is not None
    with local_session(COMPILED) as own:
        yield own
        rules.disable(own)


def joined(spark: SparkSession, tables: Path, number: int) -> DataFrame:
    """Return a join; Spark generates other code for each number, and finds none in its cache."""
    some = spark.read.parquet(str(tables / "some")).selectExpr("id", f"n + {number} AS n")
    return some.join(spark.read.parquet(str(tables / "more")).select("id"), "id")


def check(spark: SparkSession, tables: Path, number: int) -> None:
    df = joined(spark, tables, number)
    assert len(df.collect()) == NUM_FILES * NUM_COMMON
    assert metrics_of(df).num_probes > 0
    one = spark.read.parquet(str(tables / "some")).where(f"id = {3 * 1_000_003} AND n < {number}")
    assert len(one.collect()) == 1
    assert metrics_of(one).num_files == 1


def in_a_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(timeout=100)
    assert not thread.is_alive()


def inheriting(work: Callable[[], None]) -> None:
    from pyspark import InheritableThread

    thread = InheritableThread(work)
    thread.start()
    thread.join(timeout=100)
    assert not thread.is_alive()


def in_a_pool(work: Callable[[], None]) -> None:
    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(work) for _ in range(3)]:
            future.result()


@pytest.mark.parametrize(
    ("number", "run"),
    [(101, in_a_thread), (102, inheriting), (103, in_a_pool), (104, lambda work: work())],
    ids=["thread", "inheriting thread", "pool", "thread of enable"],
)
def test_queries_of_any_thread_use_indexes(
    session: SparkSession, tables: Path, number: int, run: Callable[[Callable[[], None]], None]
) -> None:
    assert rules.enable(session)
    problems: list[BaseException] = []

    def work() -> None:
        try:
            check(session, tables, number)
        except BaseException as error:  # noqa: BLE001  raised below, in the thread of the test
            problems.append(error)

    run(work)
    if problems:
        raise problems[0]


def test_rules_switched_on_in_a_thread_work_in_others(session: SparkSession, tables: Path) -> None:
    switched: list[bool] = []
    in_a_thread(lambda: switched.append(rules.enable(session)))
    assert switched == [True]
    check(session, tables, 105)


def test_batches_of_a_stream_use_indexes(
    session: SparkSession, tables: Path, tmp_path: Path
) -> None:
    rules.enable(session)
    (tmp_path / "source").mkdir()
    pq.write_table(
        pa.table({"id": pa.array([3 * 1_000_003, 5], pa.int64())}),
        tmp_path / "source" / "a.parquet",
    )
    rows: list[int] = []
    probes: list[int] = []

    def each(batch: DataFrame, _: int) -> None:
        check(batch.sparkSession, tables, 106)
        found = batch.join(batch.sparkSession.read.parquet(str(tables / "some")), "id")
        rows.extend(row["id"] for row in found.collect())
        probes.append(metrics_of(found).num_probes)

    stream = session.readStream.schema("id bigint").parquet(str(tmp_path / "source"))
    writer = stream.writeStream.foreachBatch(each).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "batches")).start()
    assert query.awaitTermination(100)
    assert (rows, probes) == ([3 * 1_000_003], [1])


def test_a_stream_reads_the_indexed_side_of_its_plan(
    session: SparkSession, tables: Path, tmp_path: Path
) -> None:
    rules.enable(session)
    (tmp_path / "source").mkdir()
    pq.write_table(
        pa.table({"id": pa.array([10 * 1_000_003, 5], pa.int64())}),
        tmp_path / "source" / "a.parquet",
    )
    stream = session.readStream.schema("id bigint").parquet(str(tmp_path / "source"))
    found = stream.join(joined(session, tables, 107), "id")
    writer = found.writeStream.format("memory").queryName("out").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "memory")).start()
    assert query.awaitTermination(100)
    assert [row["id"] for row in session.sql("SELECT id FROM out").collect()] == [10 * 1_000_003]
    plan = query._jsq.streamingQuery().lastExecution().executedPlan()  # noqa: SLF001
    assert "Bloom filter of ids.id" in plan.toString()


def test_a_trace_tells_of_its_own_query_only(session: SparkSession, tables: Path) -> None:
    rules.enable(session)
    mine, others = (
        session.read.parquet(str(tables / name)).where("id = 1") for name in ("some", "more")
    )
    relations: set[str] = set()
    stopped = threading.Event()

    def meanwhile() -> None:
        while not stopped.is_set():
            rules.trace(others)
            plan(others)

    thread = threading.Thread(target=meanwhile)
    thread.start()
    try:
        for _ in range(20):
            found = rules.trace(mine)
            assert found
            relations.update(one.relation for one in found)
    finally:
        stopped.set()
        thread.join(timeout=100)
    assert relations == {str(tables / "some")}


def test_a_trace_switches_rules_on_for_its_own_query_only(
    session: SparkSession, tables: Path
) -> None:
    df = session.read.parquet(str(tables / "some")).where("id = 1")
    rules.enable(session)
    assert PRUNED in plan(df)
    rules.disable(session)
    plans: list[str] = []
    stopped = threading.Event()

    def meanwhile() -> None:
        while not stopped.is_set():
            plans.append(plan(df))

    thread = threading.Thread(target=meanwhile)
    thread.start()
    try:
        for _ in range(20):
            assert any(one.was_used for one in rules.trace(df))
            assert not rules.is_enabled(session)
    finally:
        stopped.set()
        thread.join(timeout=100)
    assert plans
    assert not [text for text in plans if PRUNED in text]


def plan(df: DataFrame) -> str:
    """Plan a query anew, and show it."""
    return str(df.filter("true")._jdf.queryExecution().sparkPlan().toString())  # noqa: SLF001
