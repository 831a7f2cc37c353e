"""Tables at `hdfs://`, which Spark reads by Hadoop's own client: indexes, rules and `where`."""

from __future__ import annotations

import io
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import strip
from parquet_bloomwriter.source.settings import HdfsConnection
from parquet_bloomwriter.spark import BFIndexConfig, Hyperspace, bloomify_table
from parquet_bloomwriter.stores.hdfs import HdfsStore
from tests.spark.both_ways import both_ways, eager_session
from tests.spark.metrics import metrics_of
from tests.spark.stores.conftest import FOLDER, NUM_FILES, ROWS, STEP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.stores.hdfs import Hdfs


@dataclass(frozen=True, slots=True, kw_only=True)
class HdfsTable:
    """A table; file i has the ids i, i + STEP, ..."""

    store: HdfsStore
    root: str
    """Folder, without a slash at its beginning."""

    @property
    def url(self) -> str:
        """As Spark names the table."""
        return self.store.spell(f"{self.root}/{FOLDER}")

    def write(self, i: int, first: int) -> None:
        """Write a file; all have the same size."""
        ids = pa.array([first + STEP * j for j in range(ROWS)], pa.int64())
        data = io.BytesIO()
        pq.write_table(pa.table({"id": ids}), data, use_dictionary=False, compression="none")
        path = f"{self.root}/{FOLDER}/p={i % 2}/{i} +%#.parquet"
        self.store.remove(path)
        self.store.create(path, data.getvalue(), attempt="")

    def files(self, folder: str) -> dict[str, bytes]:
        """Return the files below a folder by what follows it."""
        start = f"{self.root}/{folder}/"
        keys = [one.key for one in self.store.objects(start)]
        read = self.store._client.read  # noqa: SLF001
        return {key.removeprefix(start): read(f"/{key}").read() for key in keys}


@pytest.fixture
def table(hdfs: Hdfs) -> HdfsTable:
    made = HdfsTable(store=HdfsStore(hdfs.url, HdfsConnection()), root=f"s{secrets.token_hex(4)}")
    for i in range(NUM_FILES):
        made.write(i, i)
    return made


@pytest.fixture
def hdfs_session(
    spark: SparkSession, hdfs: Hdfs, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SparkSession]:
    """Return a session whose default file system is the server; the environment knows none."""
    assert spark is not None
    for name in ("HADOOP_CONF_DIR", "HADOOP_HOME"):
        monkeypatch.delenv(name, raising=False)
    with eager_session() as own:
        own.conf.set("fs.defaultFS", hdfs.url)
        yield own


def opened(session: SparkSession, table: HdfsTable, wanted: int) -> tuple[Any, Any]:
    found = both_ways(session, lambda one: one.read.parquet(table.url).where(f"id = {wanted}"))
    return found.values, found.files


def test_a_table(hdfs_session: SparkSession, table: HdfsTable) -> None:
    session = hdfs_session
    hs = Hyperspace(session)
    config = BFIndexConfig("ids", ["id"], fpp=1e-6)
    assert hs.create_index(session.read.parquet(table.url), config).num_files == NUM_FILES
    assert any(one.startswith("_bloom_index/ids/") for one in table.files(FOLDER))
    hs.enable()
    hs.disable()
    assert opened(session, table, 3 + STEP) == ([3 + STEP], (NUM_FILES, 1))
    by_name = session.read.parquet(table.url).transform(hs.where(f"id = {3 + STEP}"))
    assert [row.id for row in by_name.collect()] == [3 + STEP]
    assert metrics_of(by_name).num_files == 1

    listed = session.read.parquet(table.url)
    table.write(1, 71)  # of the same size
    table.write(NUM_FILES, 70)
    assert opened(session, table, 71)[0] == [71]
    assert [row.id for row in listed.transform(hs.where("id = 71")).collect()] == [71]
    assert hs.refresh_index("ids", table=table.url).num_files == NUM_FILES + 1
    assert opened(session, table, 71) == ([71], (NUM_FILES + 1, 1))


def test_a_table_is_rewritten(hdfs_session: SparkSession, table: HdfsTable) -> None:
    before = table.files(FOLDER)
    output = table.store.spell(f"{table.root}/u")
    done = bloomify_table(hdfs_session, table.url, ["id"], output=output).collect()
    assert [(row.status, row.error) for row in done] == [("rewritten", None)] * NUM_FILES
    assert table.files(FOLDER) == before
    assert {key: strip(data).data for key, data in table.files("u").items()} == before
    by_default = f"hdfs:///{table.root}/{FOLDER}"
    for status in ("rewritten", "unchanged"):
        done = bloomify_table(hdfs_session, by_default, ["id"]).collect()
        assert [(row.status, row.error) for row in done] == [(status, None)] * NUM_FILES
    after = table.files(FOLDER)
    assert after != before
    assert {key: strip(data).data for key, data in after.items()} == before
