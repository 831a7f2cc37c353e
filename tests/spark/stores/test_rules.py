"""Tables that Spark reads by `s3a://`: indexes, the rules and `where`, on a real store."""

from __future__ import annotations

import io
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import clear_cache
from parquet_bloomwriter.spark import BFIndexConfig, Hyperspace, rules
from parquet_bloomwriter.stores.s3 import settings as s3_settings
from tests.spark.both_ways import both_ways, eager_session
from tests.spark.metrics import metrics_of
from tests.spark.stores.connector import connect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from parquet_bloomwriter.index.contract import Contract
    from tests.stores.servers import Client, Store

NUM_FILES = 4
ROWS = 10
STEP = 1000


@pytest.fixture(autouse=True)
def _no_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[None]:
    """Let only Spark's configuration name the store."""
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    clear_cache()
    yield
    s3_settings.install(None)


@pytest.fixture
def session(
    spark: SparkSession, store: Store, bucket: str, tmp_path: Path
) -> Iterator[SparkSession]:
    """Return a session of its own that reaches the bucket."""
    assert spark is not None
    with eager_session() as own:
        connect(own, store, bucket, tmp_path)
        yield own


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """A table on the store; file i has the ids i, i + STEP, ..."""

    session: SparkSession
    client: Client
    bucket: str

    @property
    def url(self) -> str:
        return f"s3a://{self.bucket}/a table/événements"

    def write(self, i: int, first: int) -> None:
        """Put an object; all have the same size."""
        ids = pa.array([first + STEP * j for j in range(ROWS)], pa.int64())
        data = io.BytesIO()
        pq.write_table(pa.table({"id": ids}), data, use_dictionary=False, compression="none")
        key = f"a table/événements/p={i % 2}/{i} +%.parquet"
        self.client.put_object(Bucket=self.bucket, Key=key, Body=data.getvalue())

    def frame(self) -> DataFrame:
        return self.session.read.parquet(self.url)


@pytest.fixture
def events(session: SparkSession, store: Store, bucket: str) -> Events:
    made = Events(session=session, client=store.client(), bucket=bucket)
    for i in range(NUM_FILES):
        made.write(i, i)
    return made


def indexed(events: Events, home: str | None = None, contract: Contract = "checked") -> Hyperspace:
    hs = Hyperspace(events.session, home)
    config = BFIndexConfig("ids", ["id"], fpp=1e-6)
    report = hs.create_index(events.frame(), config, contract=contract)
    assert report.num_files == NUM_FILES
    return hs


@pytest.mark.parametrize("place", ["beside", "disk", "bucket"])
def test_only_files_that_can_match_are_opened(
    events: Events, tmp_path: Path, store: Store, place: str
) -> None:
    other = store.new_bucket() if place == "bucket" else ""
    homes = {"beside": None, "disk": str(tmp_path / "home"), "bucket": f"s3a://{other}/indexes"}
    hs = indexed(events, homes[place])
    hs.enable()
    hs.disable()  # and know the home of the indexes
    found = both_ways(events.session, lambda _: events.frame().where(f"id = {3 + STEP}"))
    assert (found.values, found.files) == ([3 + STEP], (NUM_FILES, 1))
    by_name = events.frame().transform(hs.where(f"id = {3 + STEP}"))
    assert [row.id for row in by_name.collect()] == [3 + STEP]
    assert metrics_of(by_name).num_files == 1
    assert [row.name for row in hs.indexes().collect()] == ["ids"]
    if other:
        store.delete_bucket(other)


def test_appended_and_replaced_objects_are_read(events: Events) -> None:
    hs = indexed(events)
    listed = events.frame()
    events.write(NUM_FILES, 70)
    events.write(1, 71)
    for frame in (listed, events.frame()):
        found = both_ways(events.session, lambda _, frame=frame: frame.where("id = 71"))
        assert found.values == [71]
        by_name = frame.transform(hs.where("id = 71"))
        assert [row.id for row in by_name.collect()] == [71]
    assert both_ways(events.session, lambda _: events.frame().where("id = 70")).values == [70]
    report = hs.refresh_index("ids", "incremental", table=events.url)
    assert report.num_files == NUM_FILES + 1
    found = both_ways(events.session, lambda _: events.frame().where("id = 71"))
    assert (found.values, found.files) == ([71], (NUM_FILES + 1, 1))


def test_an_object_of_the_same_size_and_second_is_read(events: Events) -> None:
    """Spark's listing cannot tell the two states apart: their ETags can."""
    for _ in range(20):
        time.sleep(1 - time.time() % 1)
        for i in range(NUM_FILES):
            events.write(i, i)
        hs = indexed(events)
        old = {file.path: file for file in _listed(events)}
        events.write(1, 71)
        new = {file.path: file for file in _listed(events)}
        if all(old[path].modified_ms // 1000 == new[path].modified_ms // 1000 for path in old):
            break
        hs.delete_index("ids")
        hs.vacuum_index("ids")
    else:
        pytest.skip("this machine is too slow to write twice within a second")
    found = both_ways(events.session, lambda _: events.frame().where("id = 71"))
    assert found.values == [71]
    assert found.files == (NUM_FILES, 1)


def test_an_object_that_is_replaced_after_planning_is_read(events: Events) -> None:
    indexed(events)
    rules.enable(events.session)
    try:
        found = events.frame().where("id = 71")
        found.explain()
        events.write(1, 71)
        assert [row.id for row in found.collect()] == [71]
    finally:
        rules.disable(events.session)


@pytest.mark.parametrize("contract", ["checked", "immutable"])
def test_joins(events: Events, tmp_path: Path, contract: Contract) -> None:
    indexed(events, contract=contract)
    path = tmp_path / "others.parquet"
    pq.write_table(pa.table({"k": pa.array(range(STEP * ROWS), pa.int64())}), path)

    def joined(session: SparkSession) -> DataFrame:
        others = session.read.parquet(str(path))
        frame = events.frame()
        return others.join(frame, others.k == frame.id)

    found = both_ways(events.session, joined)
    assert len(found.values) == NUM_FILES * ROWS
    assert found.on.num_probes == 1
    assert found.on.shuffle_rows < found.off.shuffle_rows
    if contract == "checked":
        events.write(1, 71)
        found = both_ways(events.session, joined)
        assert (found.on.num_probes, 71 in found.values) == (0, True)


def _listed(events: Events) -> list:
    from parquet_bloomwriter.index.files import list_files

    return list_files(events.url.replace("s3a:", "s3:"))
