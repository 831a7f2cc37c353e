"""Tables at `gs://` and `abfss://`: indexes, rules, `where` and `bloomify_table`.

The store is a server of the tests, which only Spark's configuration names; the environment of the
driver names another one, with other keys.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import strip
from parquet_bloomwriter.source.settings import StoreSettings, use
from parquet_bloomwriter.spark import BFIndexConfig, Hyperspace, bloomify_table
from tests.spark.both_ways import both_ways, eager_session
from tests.spark.metrics import metrics_of
from tests.spark.stores.conftest import FOLDER, NUM_FILES, ROWS, STEP
from tests.spark.stores.connector import load
from tests.stores.whole.cloud import Cloud, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

KEY = "c2VjcmV0LWtleQ=="
STRANGE = {
    "GOOGLE_SERVICE_ACCOUNT": "/not/there.json",
    "GOOGLE_BASE_URL": "http://127.0.0.1:1",
    "AZURE_STORAGE_ENDPOINT": "http://127.0.0.1:1",
    "AZURE_STORAGE_ACCOUNT_NAME": "another",
    "AZURE_STORAGE_TOKEN": "another",
    "AZURE_SKIP_SIGNATURE": "true",
}


@dataclass(frozen=True, kw_only=True)
class CloudTable:
    """A table; object i has the ids i, i + STEP, ..."""

    cloud: Cloud
    root: str
    """Of the bucket, as Spark names it."""

    inner: str
    """Of the bucket, as the server names it."""

    @property
    def url(self) -> str:
        """As Spark names the table."""
        return f"{self.root}/{FOLDER}"

    def write(self, i: int, first: int) -> None:
        """Put an object; all have the same size."""
        ids = pa.array([first + STEP * j for j in range(ROWS)], pa.int64())
        data = io.BytesIO()
        pq.write_table(pa.table({"id": ids}), data, use_dictionary=False, compression="none")
        self.cloud.put(f"{self.inner}/{FOLDER}/p={i % 2}/{i} +%.parquet", data.getvalue())

    def objects(self, prefix: str) -> dict[str, bytes]:
        """Return the objects below a prefix by what follows it."""
        start = f"{self.inner}/{prefix}/"
        stored = self.cloud.objects.items()
        return {path[len(start) :]: one.data for path, one in stored if path.startswith(start)}


@pytest.fixture
def table(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[CloudTable]:
    for name, value in STRANGE.items():
        monkeypatch.setenv(name, value)
    cloud = Cloud()
    with serving(cloud) as cloud.url:
        # A port of its own, so that Hadoop keeps no file system of an earlier server.
        bucket = f"b{cloud.url.rpartition(':')[2]}"
        if request.param == "gs":
            made = CloudTable(cloud=cloud, root=f"gs://{bucket}", inner=bucket)
        else:
            root = f"abfss://{bucket}@account.dfs.core.windows.net"
            made = CloudTable(cloud=cloud, root=root, inner=f"account/{bucket}")
        for i in range(NUM_FILES):
            made.write(i, i)
        yield made
    use(StoreSettings())


@pytest.fixture
def cloud_session(spark: SparkSession, table: CloudTable, tmp_path: Path) -> Iterator[SparkSession]:
    settings = {
        "fs.gs.impl": "smalls3.SmallS3",
        "fs.gs.storage.root.url": table.cloud.url,
        "fs.gs.auth.type": "UNAUTHENTICATED",
        "fs.abfss.impl": "smalls3.SmallS3",
        "fs.azure.abfs.endpoint": table.cloud.url.removeprefix("http://"),
        "fs.azure.always.use.https": "false",
        "fs.azure.account.key.account.dfs.core.windows.net": KEY,
    }
    assert spark is not None
    with eager_session() as own:
        load(own, settings, f"{table.root}/", tmp_path)
        yield own


def opened(session: SparkSession, table: CloudTable, wanted: int) -> tuple[Any, Any]:
    found = both_ways(session, lambda one: one.read.parquet(table.url).where(f"id = {wanted}"))
    return found.values, found.files


@pytest.mark.parametrize("table", ["gs", "abfss"], indirect=True)
def test_a_table(cloud_session: SparkSession, table: CloudTable, tmp_path: Path) -> None:
    session = cloud_session
    is_beside = table.root.startswith("gs")
    hs = Hyperspace(session, None if is_beside else str(tmp_path / "home"))
    config = BFIndexConfig("ids", ["id"], fpp=1e-6)
    assert hs.create_index(session.read.parquet(table.url), config).num_files == NUM_FILES
    assert is_beside == any(one.startswith("_bloom_index/ids/") for one in table.objects(FOLDER))
    hs.enable()
    hs.disable()
    assert opened(session, table, 3 + STEP) == ([3 + STEP], (NUM_FILES, 1))
    by_name = session.read.parquet(table.url).transform(hs.where(f"id = {3 + STEP}"))
    assert [row.id for row in by_name.collect()] == [3 + STEP]
    assert metrics_of(by_name).num_files == 1

    listed = session.read.parquet(table.url)
    table.write(1, 71)  # of the same size and, by this server's clock, of the same time
    table.write(NUM_FILES, 70)
    assert opened(session, table, 71)[0] == [71]
    assert [row.id for row in listed.transform(hs.where("id = 71")).collect()] == [71]
    assert hs.refresh_index("ids", table=table.url).num_files == NUM_FILES + 1
    assert opened(session, table, 71) == ([71], (NUM_FILES + 1, 1))


@pytest.mark.parametrize("table", ["abfss"], indirect=True)
def test_a_table_is_rewritten(cloud_session: SparkSession, table: CloudTable) -> None:
    before = table.objects(FOLDER)
    output = f"{table.root}/u"
    done = bloomify_table(cloud_session, table.url, ["id"], output=output).collect()
    assert [(row.status, row.error) for row in done] == [("rewritten", None)] * NUM_FILES
    assert table.objects(FOLDER) == before
    assert {key: strip(data).data for key, data in table.objects("u").items()} == before
    for status in ("rewritten", "unchanged"):
        done = bloomify_table(cloud_session, table.url, ["id"]).collect()
        assert [(row.status, row.error) for row in done] == [(status, None)] * NUM_FILES
    after = table.objects(FOLDER)
    assert after != before
    assert {key: strip(data).data for key, data in after.items()} == before
