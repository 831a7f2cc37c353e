"""A bucket that only Spark's configuration names, and a session that reaches it by `s3a://`."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import clear_cache
from parquet_bloomwriter.source.settings import StoreSettings, use
from tests.spark.both_ways import eager_session
from tests.spark.stores.connector import connect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.stores.servers import Client, Store

NUM_FILES = 4
ROWS = 10
STEP = 1000
FOLDER = "a table/événements"


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    clear_cache()
    yield
    use(StoreSettings())


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """A table on the store; object i has the ids i, i + STEP, ..."""

    client: Client
    bucket: str

    @property
    def url(self) -> str:
        """As Spark names the table."""
        return f"s3a://{self.bucket}/{FOLDER}"

    def write(self, i: int, first: int) -> None:
        """Put an object; all have the same size."""
        ids = pa.array([first + STEP * j for j in range(ROWS)], pa.int64())
        data = io.BytesIO()
        pq.write_table(pa.table({"id": ids}), data, use_dictionary=False, compression="none")
        key = f"{FOLDER}/p={i % 2}/{i} +%.parquet"
        self.client.put_object(Bucket=self.bucket, Key=key, Body=data.getvalue())

    def frame(self, session: SparkSession) -> DataFrame:
        """Read the table."""
        return session.read.parquet(self.url)

    def objects(self, prefix: str = "") -> dict[str, bytes]:
        """Return all objects below a prefix by their keys."""
        listed = self.client.list_objects_v2(Bucket=self.bucket, Prefix=prefix)
        keys = [one["Key"] for one in listed.get("Contents", ())]
        get = self.client.get_object
        return {key: get(Bucket=self.bucket, Key=key)["Body"].read() for key in keys}


@pytest.fixture
def events(store: Store, bucket: str) -> Events:
    """Put a table into a bucket."""
    made = Events(client=store.client(), bucket=bucket)
    for i in range(NUM_FILES):
        made.write(i, i)
    return made


@pytest.fixture
def session(
    spark: SparkSession, store: Store, bucket: str, tmp_path: Path
) -> Iterator[SparkSession]:
    """Return a session of its own that reaches the bucket."""
    assert spark is not None
    with eager_session() as own:
        connect(own, store, bucket, tmp_path)
        yield own
