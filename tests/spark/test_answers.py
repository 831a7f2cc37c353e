"""What the rules ask Python: once for each condition of a query, and anew for the next query.

Rules keep answers while a query is planned. These tests count the requests, and change the table
and its index between two queries of the same text, planned from the same listing where they can be.
"""

# ruff: noqa: S608  tests compose their SQL
from __future__ import annotations

import dataclasses
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import index
from parquet_bloomwriter.index.entry import State
from parquet_bloomwriter.index.log.log import IndexLog
from parquet_bloomwriter.spark import rules
from parquet_bloomwriter.spark.rules import session as rules_session
from parquet_bloomwriter.spark.rules.bridge import Bridge
from tests.spark.both_ways import eager_session
from tests.spark.metrics import metrics_of
from tests.support.draws import drawn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

NUM_FILES = 5
STEP = 1000
MANY = 150
"""So many files are looked at on several cores."""

MOST_QUERIES = 16
"""Queries whose answers are kept."""


def write(folder: Path, i: int, first: int) -> None:
    """Write or replace a file; its size does not depend on the ids."""
    folder.mkdir(exist_ok=True)
    ids = pa.array([first + STEP * j for j in range(10)], pa.int64())
    kind = pa.array([j % 2 for j in range(10)], pa.int32())
    path = folder / f"{i}.parquet"
    new = path.with_suffix(".new")
    pq.write_table(
        pa.table({"id": ids, "kind": kind}), new, use_dictionary=False, compression="none"
    )
    new.replace(path)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """Return a session of its own beside the shared one, with the rules on."""
    assert spark is not None
    with eager_session() as own:
        rules.enable(own)
        yield own


@pytest.fixture
def folder(session: SparkSession, tmp_path: Path) -> Path:
    """Return a table with an index; file i has the ids i, i + STEP, ...; its view is `events`."""
    table = tmp_path / "events"
    for i in range(NUM_FILES):
        write(table, i, i)
    index.create(table, ["id", "kind"], name="ids", fpp=1e-6)
    session.read.parquet(str(table)).createOrReplaceTempView("events")
    return table


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the kinds of the requests from now on, but for lists of files."""
    kinds: list[str] = []
    answer = Bridge.apply

    def apply(bridge: Bridge, text: str) -> str:
        kinds.append(json.loads(text)["ask"])
        if kinds[-1] == "files":
            kinds.pop()
        return answer(bridge, text)

    monkeypatch.setattr(Bridge, "apply", apply)
    return kinds


def ids(session: SparkSession, sql: str) -> list[int]:
    return sorted(row[0] for row in session.sql(sql).collect())


ONE = "SELECT id FROM events WHERE id = 3"
USELESS = "SELECT id FROM events WHERE kind = 1"


def test_a_query_asks_once(session: SparkSession, folder: Path, asked: list[str]) -> None:
    assert folder.exists()
    cases: list[tuple[str, dict[str, int]]] = [
        (ONE, {"prune": 1}),
        (USELESS, {"prune": 1}),
        (f"{ONE} UNION ALL {ONE}", {"prune": 1}),
        (f"{ONE} UNION ALL SELECT id FROM events e WHERE e.id = 3", {"prune": 1}),
        (f"{ONE} UNION ALL SELECT id FROM events WHERE id = 4", {"prune": 2}),
        (f"{ONE} UNION ALL {USELESS}", {"prune": 2}),
        (f"SELECT max(id) FROM events WHERE id IN ({USELESS})", {"prune": 1, "join": 1}),
        (
            "SELECT a.id FROM events a JOIN events b ON a.id = b.id WHERE a.kind = 1",
            {"prune": 1, "join": 1, "join_filter": 1},
        ),
    ]
    for sql, expected in cases:
        asked.clear()
        session.sql(sql).collect()
        found = Counter(asked)
        assert (sql, {kind: found[kind] for kind in expected}) == (sql, expected)


def test_the_next_query_asks_anew(session: SparkSession, folder: Path, asked: list[str]) -> None:
    assert folder.exists()
    for i in range(3):
        assert ids(session, ONE) == [3]
        assert asked == ["prune"] * (i + 1)


def test_a_frame_that_runs_again_is_planned_once(
    session: SparkSession, folder: Path, asked: list[str]
) -> None:
    assert folder.exists()
    frame = session.sql(ONE)
    for _ in range(2):
        assert [row.id for row in frame.collect()] == [3]
    assert asked == ["prune"]


def test_a_trace_asks_always(session: SparkSession, folder: Path, asked: list[str]) -> None:
    assert folder.exists()
    frame = session.sql(f"{ONE} UNION ALL {ONE}")
    frame.collect()
    for _ in range(2):
        asked.clear()
        assert [one.num_kept for one in rules.trace(frame)] == [1]
        assert asked.count("prune") == 2


def append(folder: Path) -> None:
    write(folder, NUM_FILES, 3)


def append_and_refresh(folder: Path) -> None:
    append(folder)
    index.refresh(folder, name="ids")


def append_and_optimize(folder: Path) -> None:
    append(folder)
    index.refresh(folder, name="ids", mode="quick")
    index.optimize(folder, name="ids")


def append_and_cancel(folder: Path) -> None:
    """Leave a refresh unfinished, as a process that has died does, and cancel it."""
    append(folder)
    log = IndexLog(str(folder / "_bloom_index/ids"))
    stable = log.latest_stable()
    assert stable is not None
    assert log.write(dataclasses.replace(stable, id=2, state=State.REFRESHING))
    assert index.cancel(folder, name="ids").changed


def replace(folder: Path) -> None:
    write(folder, 1, 3)


def replace_and_refresh(folder: Path) -> None:
    replace(folder)
    index.refresh(folder, name="ids")


def delete_index(folder: Path) -> None:
    replace(folder)
    index.delete(folder, name="ids")


CHANGES = (
    *(append, append_and_refresh, append_and_optimize, append_and_cancel),
    *(replace, replace_and_refresh, delete_index),
)


@pytest.mark.parametrize("number", range(2))
def test_nothing_old_is_answered(session: SparkSession, folder: Path, number: int) -> None:
    """After two of the changes, others in each run."""
    (change,) = drawn(CHANGES[number::2], 1)
    path = f"SELECT id FROM parquet.`{folder}` WHERE id = 3"
    assert ids(session, ONE) == ids(session, path) == [3]
    change(folder)
    assert ids(session, path) == [3, 3]
    session.catalog.refreshTable("events")
    assert ids(session, ONE) == [3, 3]
    assert ids(session, "SELECT id FROM events WHERE id = 4") == [4]


def test_a_replaced_file_is_read_by_the_old_listing(session: SparkSession, folder: Path) -> None:
    assert ids(session, ONE) == [3]
    replace(folder)
    frame = session.sql(ONE)
    assert [row.id for row in frame.collect()] == [3, 3]
    assert metrics_of(frame).num_files == 2


def test_many_files_are_looked_at(session: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "many"
    for i in range(MANY):
        write(table, i, i)
    index.create(table, ["id"], name="ids", fpp=1e-6)
    listed = session.read.parquet(str(table))
    frame = listed.where("id = 3")
    assert [row.id for row in frame.collect()] == [3]
    assert metrics_of(frame).num_files == 1
    for i in (0, 77, MANY - 1):
        write(table, i, 3)
    (table / "50.parquet").unlink()
    session.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    try:
        frame = listed.where("id = 3")
        assert [row.id for row in frame.collect()] == [3] * 4
    finally:
        session.conf.unset("spark.sql.files.ignoreMissingFiles")
    assert metrics_of(frame).num_files == 5


def test_threads_and_sessions_keep_their_answers_apart(
    session: SparkSession, folder: Path, asked: list[str]
) -> None:
    times = 12

    def query(number: int) -> list[int]:
        value, own = number % NUM_FILES, session if number % 2 else other
        frame = own.read.parquet(str(folder)).where(f"id = {value}")
        return [row.id for row in frame.union(frame).collect()]

    with eager_session() as other:
        rules.enable(other)
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(query, range(times)))
    assert found == [[number % NUM_FILES] * 2 for number in range(times)]
    assert asked == ["prune"] * times


def test_answers_of_few_queries_are_kept(session: SparkSession, folder: Path) -> None:
    assert folder.exists()
    frames = [session.sql(f"SELECT id FROM events WHERE id = {i}") for i in range(40)]
    for frame in frames:
        frame.explain()  # a query that is planned and alive
    assert 0 < num_kept(session) <= MOST_QUERIES
    rules.clear_caches()
    assert num_kept(session) == 0
    assert ids(session, ONE) == [3]


def num_kept(session: SparkSession) -> int:
    """Return the number of queries whose answers are kept."""
    adaptor: Any = rules_session._adaptors[session]  # noqa: SLF001  the Java end of the rules
    answers = value_of(adaptor.java, "answers")
    return int(value_of(answers, "queries").size())


def value_of(owner: Any, name: str) -> Any:  # noqa: ANN401  objects of Java
    field = owner.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(owner)
