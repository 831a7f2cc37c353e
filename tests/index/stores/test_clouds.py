"""Tables and indexes on GCS and Azure, on a server of the tests that honours conditions."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import caches, index
from parquet_bloomwriter.errors import IndexProblem, InvalidArgument
from parquet_bloomwriter.index.layout import absolute_path
from tests.stores.conftest import cloud  # noqa: F401  a fixture

if TYPE_CHECKING:
    from pathlib import Path

    from tests.stores.whole.cloud import Cloud

NUM_FILES = 16
FOLDER = "a table/événements"
ROOTS = {"google": "gs://bucket", "azure": "abfss://bucket@account.dfs.core.windows.net"}


@pytest.fixture(params=ROOTS)
def table(
    request: pytest.FixtureRequest,
    cloud: Cloud,  # noqa: F811  the fixture
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """Return the URL of a table; file i has the ids i and i + 100."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for i in range(NUM_FILES):
        write(cloud, i, i)
    return f"{ROOTS[request.param]}/{FOLDER}"


def write(cloud: Cloud, i: int, first: int) -> None:  # noqa: F811  the fixture's value
    data = io.BytesIO()
    ids = pa.array([first, first + 100], pa.int64())
    pq.write_table(pa.table({"id": ids}), data, use_dictionary=False, compression="none")
    cloud.put(f"bucket/{FOLDER}/p={i % 2}/{i:02} +%.parquet", data.getvalue())


def files_for(table: str, value: int) -> list[str]:
    caches.clear_cache()
    return [one.rpartition("/")[2] for one in index.lookup(table, f"id = {value}").paths]


def test_an_index_lives_beside_its_table(table: str, cloud: Cloud) -> None:  # noqa: F811
    report = index.create(table, ["id"], name="ids", fpp=1e-6)
    assert report.num_files == NUM_FILES
    assert files_for(table, 103) == ["03 +%.parquet"]
    write(cloud, 1, 71)  # of the same size and time
    write(cloud, NUM_FILES, 70)
    assert set(files_for(table, 71)) == {"01 +%.parquet", f"{NUM_FILES} +%.parquet"}
    assert index.refresh(table, name="ids").num_files == NUM_FILES + 1
    assert files_for(table, 71) == ["01 +%.parquet"]
    index.optimize(table, name="ids")
    assert files_for(table, 170) == [f"{NUM_FILES} +%.parquet"]
    assert [one.name for one in index.indexes(table)] == ["ids"]
    index.delete(table, name="ids")
    index.vacuum(table, name="ids")
    left = [path for path in cloud.objects if "_bloom_index" in path]
    assert left
    assert all("/_bloom_index/ids/_log/" in path for path in left)


def test_a_store_that_refuses_is_named(table: str, cloud: Cloud) -> None:  # noqa: F811
    index.create(table, ["id"], name="ids", fpp=1e-6)
    caches.clear_cache()
    cloud.fault = lambda _number, method, path: "403" if "_log" in path or method == "PUT" else ""
    with pytest.raises(IndexProblem, match="forbids"):
        index.refresh(table, name="ids", mode="full")


def test_spellings() -> None:
    host = "account.dfs.core.windows.net"
    assert absolute_path("gcs://b/k/") == "gs://b/k"
    assert absolute_path(f"ABFS://c@{host}/k") == f"abfss://c@{host}/k"
    for url in (
        "abfss://container/k",
        "az://c/k",
        "hdfs:///k",
        "hdfs://me@host/k",
        "wasbs://c@host/k",
    ):
        with pytest.raises(InvalidArgument):
            absolute_path(url)
