"""Tables and indexes on GCS and Azure, on a server of the tests that honours conditions."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import caches, index
from parquet_bloomwriter.errors import BloomwriterError, IndexProblem, InvalidArgument
from parquet_bloomwriter.index.layout import absolute_path
from parquet_bloomwriter.stores.open import open_place
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


def test_of_two_writers_one_wins(table: str, cloud: Cloud) -> None:  # noqa: F811
    index.create(table, ["id"], name="ids", fpp=1e-6)
    bucket, key = open_place(f"{table}/_bloom_index/ids/_log/1")
    entry = cloud.objects[f"bucket/{key}"]
    write(cloud, NUM_FILES, 70)

    def overtake(_number: int, method: str, path: str) -> str:
        if method == "PUT" and path.endswith("/_log/3"):
            cloud.put(path, entry.data)
        return ""

    cloud.fault = overtake
    with pytest.raises(BloomwriterError):
        index.refresh(table, name="ids")
    cloud.fault = lambda *_: ""
    taken = [one for one in cloud.objects if one.endswith("/_log/3")]
    assert len(taken) == 1
    assert cloud.objects[taken[0]].data == entry.data
    assert bucket.state(key) is not None


@pytest.mark.parametrize("fault", ["lost", "cut"])
def test_lost_answers_are_no_conflicts(
    table: str,
    cloud: Cloud,  # noqa: F811
    fault: str,
) -> None:
    done: set[str] = set()

    def fail_once(_number: int, method: str, path: str) -> str:
        if method == "PUT" and path not in done:
            done.add(path)
            return fault
        return ""

    cloud.fault = fail_once
    index.create(table, ["id"], name="ids", fpp=1e-6)
    assert done
    assert files_for(table, 103) == ["03 +%.parquet"]


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
