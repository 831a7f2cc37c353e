"""Tables that Spark reads by `s3a://`: indexes, the rules and `where`, on a real store."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import index
from parquet_bloomwriter.index.table.data_files import list_files
from parquet_bloomwriter.source.settings import StoreSettings, use
from parquet_bloomwriter.spark import BFIndexConfig, Hyperspace, rules
from tests.spark.both_ways import both_ways
from tests.spark.metrics import metrics_of
from tests.spark.stores.conftest import NUM_FILES, ROWS, STEP

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.spark.stores.conftest import Events
    from tests.stores.servers import Store


def indexed(session: SparkSession, events: Events, home: str | None = None) -> Hyperspace:
    hs = Hyperspace(session, home)
    config = BFIndexConfig("ids", ["id"], fpp=1e-6)
    report = hs.create_index(events.frame(session), config)
    assert report.num_files == NUM_FILES
    return hs


def test_only_files_that_can_match_are_opened(
    session: SparkSession, events: Events, store: Store
) -> None:
    """The index lies in another bucket; those of other tests lie beside their table."""
    other = store.new_bucket()
    hs = indexed(session, events, f"s3a://{other}/indexes")
    hs.enable()
    hs.disable()  # and know the home of the indexes
    found = both_ways(session, lambda one: events.frame(one).where(f"id = {3 + STEP}"))
    assert (found.values, found.files) == ([3 + STEP], (NUM_FILES, 1))
    by_name = events.frame(session).transform(hs.where(f"id = {3 + STEP}"))
    assert [row.id for row in by_name.collect()] == [3 + STEP]
    assert metrics_of(by_name).num_files == 1
    assert [row.name for row in hs.indexes().collect()] == ["ids"]
    store.delete_bucket(other)


def test_the_index_of_a_table_on_disk_is_on_the_store(
    session: SparkSession, bucket: str, tmp_path: Path
) -> None:
    for i in range(NUM_FILES):
        ids = pa.array([i + STEP * j for j in range(ROWS)], pa.int64())
        pq.write_table(pa.table({"id": ids}), tmp_path / f"{i}.parquet")
    hs = Hyperspace(session, f"s3a://{bucket}/indexes")
    hs.create_index(str(tmp_path), BFIndexConfig("ids", ["id"], fpp=1e-6))
    hs.enable()
    hs.disable()
    use(StoreSettings())
    path = str(tmp_path / "?.parquet")
    found = both_ways(session, lambda one: one.read.parquet(path).where("id = 3"))
    assert (found.values, found.files) == ([3], (NUM_FILES, 1))
    use(StoreSettings())
    by_name = session.read.parquet(path).transform(hs.where("id = 3"))
    assert [row.id for row in by_name.collect()] == [3]
    assert metrics_of(by_name).num_files == 1


def test_appended_and_replaced_objects_are_read(session: SparkSession, events: Events) -> None:
    hs = indexed(session, events)
    listed = events.frame(session)
    events.write(NUM_FILES, 70)
    events.write(1, 71)
    query = listed.where("id = 71")
    assert both_ways(session, lambda _: query).values == [71]
    by_name = listed.transform(hs.where("id = 71"))
    assert [row.id for row in by_name.collect()] == [71]
    found = both_ways(session, lambda one: events.frame(one).where("id IN (70, 71)"))
    assert found.values == [70, 71]
    report = hs.refresh_index("ids", "incremental", table=events.url)
    assert report.num_files == NUM_FILES + 1
    found = both_ways(session, lambda one: events.frame(one).where("id = 71"))
    assert (found.values, found.files) == ([71], (NUM_FILES + 1, 1))


def test_an_object_of_the_same_size_and_second_is_read(
    session: SparkSession, events: Events
) -> None:
    """Spark's listing cannot tell the two states apart: their ETags can."""
    table = events.url.replace("s3a:", "s3:")
    hs = indexed(session, events)
    for _ in range(20):
        time.sleep(1 - time.time() % 1)
        events.write(1, 1)
        index.refresh(table, name="ids")
        old = list_files(table)
        events.write(1, 71)
        new = list_files(table)
        if [one.modified_ms // 1000 for one in old] == [one.modified_ms // 1000 for one in new]:
            break
    else:
        pytest.fail("this machine is too slow to write twice within a second")
    found = both_ways(session, lambda one: events.frame(one).where("id = 71"))
    assert (found.values, found.files) == ([71], (NUM_FILES, 1))
    by_name = events.frame(session).transform(hs.where("id = 71"))
    assert [row.id for row in by_name.collect()] == [71]


def test_an_object_that_is_replaced_after_planning_is_read(
    session: SparkSession, events: Events
) -> None:
    indexed(session, events)
    rules.enable(session)
    try:
        found = events.frame(session).where("id = 71")
        found.explain()
        events.write(1, 71)
        assert [row.id for row in found.collect()] == [71]
    finally:
        rules.disable(session)


def test_joins(session: SparkSession, events: Events, tmp_path: Path) -> None:
    indexed(session, events)
    path = tmp_path / "others.parquet"
    pq.write_table(pa.table({"k": pa.array(range(STEP * ROWS), pa.int64())}), path)

    def joined(one: SparkSession) -> DataFrame:
        others, frame = one.read.parquet(str(path)), events.frame(one)
        return others.join(frame, others.k == frame.id)

    found = both_ways(session, joined)
    assert len(found.values) == NUM_FILES * ROWS
    assert found.on.num_probes == 1
    assert found.on.shuffle_rows < found.off.shuffle_rows
    listed = joined(session)
    rules.enable(session)
    try:
        listed.explain()
        events.write(1, 71)
        assert 71 in [row.id for row in listed.collect()]
    finally:
        rules.disable(session)
    found = both_ways(session, joined)
    assert (found.on.num_probes, 71 in found.values) == (0, True)
