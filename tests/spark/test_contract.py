"""Files that are replaced while Spark keeps its listing: answers stay those without an index.

Files keep their size, as Spark reads a file by the size that its listing shows. Without rules,
Spark returns the new rows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import index
from parquet_bloomwriter.index.report import Code
from parquet_bloomwriter.spark import rules
from parquet_bloomwriter.spark.connect.where import Where
from tests.spark.both_ways import both_ways, eager_session, set_for_now
from tests.spark.metrics import metrics_of
from tests.support.draws import drawn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from parquet_bloomwriter.index.contract import Contract

NUM_FILES = 4
ROWS = 10
STEP = 1000
HYBRID = "spark.bloomwriter.hybridScan.enabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """A table that Spark has listed; file i has the ids i, i + STEP, ..."""

    folder: Path
    frame: DataFrame
    """Made before anything changes."""

    def replace(self, i: int, first: int) -> None:
        """Put a file with other ids in the place of one, of the same size."""
        path = self.folder / f"{i}.parquet"
        size = path.stat().st_size
        write(path.with_suffix(".new"), first).replace(path)
        assert path.stat().st_size == size


def plan_of(df: DataFrame) -> str:
    """Plan a query, and show how it is going to run."""
    return str(df._jdf.queryExecution().executedPlan().toString())  # noqa: SLF001


def write(path: Path, first: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    ids = pa.array([first + STEP * j for j in range(ROWS)], pa.int64())
    pq.write_table(pa.table({"id": ids}), path, use_dictionary=False, compression="none")
    return path


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """Return a session of its own beside the shared one."""
    assert spark is not None
    with eager_session() as own:
        yield own


@pytest.fixture
def contract() -> Contract:
    """Return the contract that nobody asks for."""
    return "checked"


@pytest.fixture
def events(session: SparkSession, tmp_path: Path, contract: Contract) -> Events:
    """Return a table with an index, and a DataFrame that lists it now."""
    folder = tmp_path / "events"
    for i in range(NUM_FILES):
        write(folder / f"{i}.parquet", i)
    index.create(folder, ["id"], name="ids", fpp=1e-6, contract=contract)
    return Events(folder=folder, frame=session.read.parquet(str(folder)))


@pytest.fixture
def others(session: SparkSession, tmp_path: Path) -> DataFrame:
    """Return many keys, among them all ids of the events."""
    path = tmp_path / "others.parquet"
    pq.write_table(pa.table({"k": pa.array(range(STEP * ROWS), pa.int64())}), path)
    return session.read.parquet(str(path))


def test_a_replaced_file_is_read(session: SparkSession, events: Events) -> None:
    events.replace(1, 77)
    found = both_ways(session, lambda _: events.frame.where("id = 77"))
    assert (found.values, found.files) == ([77], (NUM_FILES, 1))
    found = both_ways(session, lambda _: events.frame.where("id = 3"))
    assert (found.values, found.files) == ([3], (NUM_FILES, 2))
    (decision,) = rules.trace(events.frame.where("id = 3"))
    assert (decision.num_files, decision.num_kept) == (NUM_FILES, 2)


def test_a_replaced_file_of_a_table_of_the_catalog(session: SparkSession, events: Events) -> None:
    session.sql(f"CREATE TABLE listed (id BIGINT) USING parquet LOCATION '{events.folder}'")
    try:
        assert both_ways(session, "SELECT id FROM listed WHERE id = 77").values == []
        events.replace(1, 77)
        assert both_ways(session, "SELECT id FROM listed WHERE id = 77").values == [77]
    finally:
        session.sql("DROP TABLE listed")


def test_a_file_that_is_replaced_after_the_query_was_planned(
    session: SparkSession, events: Events
) -> None:
    rules.enable(session)
    try:
        found = events.frame.where("id = 77")
        found.explain()
        events.replace(1, 77)
        assert [row.id for row in found.collect()] == [77]
    finally:
        rules.disable(session)
    assert metrics_of(found).num_files == 1


def test_a_listed_file_that_is_gone_is_left_to_spark(session: SparkSession, events: Events) -> None:
    (events.folder / "1.parquet").unlink()
    with set_for_now(session, {"spark.sql.files.ignoreMissingFiles": "true"}):
        found = both_ways(session, lambda _: events.frame.where("id = 3"))
    assert (found.values, found.files[1]) == ([3], 2)


def test_changes_are_seen_without_hybrid_scans(session: SparkSession, events: Events) -> None:
    events.replace(1, 77)
    with set_for_now(session, {HYBRID: "false"}):
        decisions = rules.trace(events.frame.where("id = 3"))
    assert [one.reason and one.reason.code for one in decisions] == [Code.SOURCE_DATA_CHANGED]


JOINS: dict[str, Callable[[DataFrame, DataFrame], DataFrame]] = {
    "inner": lambda others, events: others.join(events, others.k == events.id),
    "other side": lambda others, events: events.join(others, others.k == events.id),
    "semi": lambda others, events: others.join(events, others.k == events.id, "left_semi"),
    "left": lambda others, events: events.join(others, others.k == events.id, "left"),
}


def test_joins_cover_replaced_files(
    session: SparkSession, events: Events, others: DataFrame
) -> None:
    """By one of the joins, another in each run."""
    (kind,) = drawn(JOINS, 1)

    def make(_: SparkSession) -> DataFrame:
        return JOINS[kind](others, events.frame)

    found = both_ways(session, make)
    assert (found.rows.total(), found.on.num_probes) == (NUM_FILES * ROWS, 1)
    events.replace(1, 77)
    found = both_ways(session, make)
    assert (found.rows.total(), found.on.num_probes) == (NUM_FILES * ROWS, 1)


@pytest.mark.parametrize(
    ("kind", "plan"),
    [
        ("inner", plan_of),
        ("left", lambda df: df.cache()),
    ],
)
def test_joins_that_were_planned_before_a_file_was_replaced(
    session: SparkSession,
    events: Events,
    others: DataFrame,
    kind: str,
    plan: Callable[[DataFrame], object],
) -> None:
    rules.enable(session)
    try:
        joined = JOINS[kind](others, events.frame)
        plan(joined)
        events.replace(1, 77)
        found = Counter(row[0] for row in joined.collect() if None not in tuple(row))
    finally:
        rules.disable(session)
        joined.unpersist()
    assert found == Counter(i + STEP * j for i in (0, 77, 2, 3) for j in range(ROWS))


def test_a_join_planned_before_an_appended_file_was_replaced(
    session: SparkSession, events: Events, others: DataFrame
) -> None:
    write(events.folder / "4.parquet", 4)
    frame = session.read.parquet(str(events.folder))
    rules.enable(session)
    try:
        joined = JOINS["inner"](others, frame)
        assert "Bloom filter of ids.id" in plan_of(joined)
        events.replace(4, 77)
        assert len(joined.collect()) == (NUM_FILES + 1) * ROWS
    finally:
        rules.disable(session)


def test_a_join_with_a_listed_file_that_is_gone(
    session: SparkSession, events: Events, others: DataFrame
) -> None:
    (events.folder / "1.parquet").unlink()
    joined = JOINS["inner"](others, events.frame)
    decisions = rules.trace(joined)
    of_join = [one for one in decisions if one.rule == "JoinBFIndexRule" and one.index == "ids"]
    reasons = [one.reason for one in of_join if one.reason]
    assert [one.code for one in reasons] == [Code.SOURCE_DATA_CHANGED]
    assert "1.parquet, which is gone" in reasons[0].text
    with set_for_now(session, {"spark.sql.files.ignoreMissingFiles": "true"}):
        found = both_ways(session, lambda _: JOINS["inner"](others, events.frame))
    assert found.rows.total() == (NUM_FILES - 1) * ROWS


def test_where_reads_a_replaced_file(events: Events) -> None:
    where = Where(filters="id = 77")
    assert events.frame.transform(where).collect() == []
    events.replace(1, 77)
    found = events.frame.transform(where)
    assert [row.id for row in found.collect()] == [77]
    assert metrics_of(found).num_files == 1


def test_where_says_that_files_have_changed(events: Events) -> None:
    for i in range(1, NUM_FILES):
        events.replace(i, 70 + i)
    (decision,) = Where(filters="id = 0").decisions(events.frame)
    assert decision.reason is not None
    assert decision.reason.code is Code.SOURCE_DATA_CHANGED
    assert (decision.num_files, decision.num_kept) == (NUM_FILES, NUM_FILES)


@pytest.mark.parametrize("contract", ["immutable"])
def test_by_an_immutable_index_nothing_is_looked_at(
    session: SparkSession, events: Events, others: DataFrame
) -> None:
    """So that what is lost if the promise is not kept is the rows of replaced files."""
    events.replace(1, 77)
    assert events.frame.transform(Where(filters="id = 77")).collect() == []
    rules.enable(session)
    try:
        assert events.frame.where("id = 77").collect() == []
        joined = JOINS["inner"](others, events.frame).collect()
    finally:
        rules.disable(session)
    assert len(joined) == (NUM_FILES - 1) * ROWS


@pytest.mark.parametrize("contract", ["immutable"])
def test_files_that_an_immutable_index_does_not_know_are_read(
    session: SparkSession, events: Events, others: DataFrame
) -> None:
    write(events.folder / "new.parquet", 77)
    found = both_ways(session, lambda own: own.read.parquet(str(events.folder)).where("id = 77"))
    assert (found.values, found.files) == ([77], (NUM_FILES + 1, 1))
    found = both_ways(
        session, lambda own: JOINS["inner"](others, own.read.parquet(str(events.folder)))
    )
    assert (found.rows.total(), found.on.num_probes) == ((NUM_FILES + 1) * ROWS, 1)
