"""Tables and indexes on a real HDFS."""

from __future__ import annotations

import io
import secrets
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import caches, index
from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.source.settings import HdfsConnection
from parquet_bloomwriter.stores.hdfs import HdfsStore

if TYPE_CHECKING:
    from pathlib import Path

    from tests.stores.hdfs import Hdfs

NUM_FILES = 6


@pytest.fixture
def store(hdfs: Hdfs) -> HdfsStore:
    return HdfsStore(hdfs.url, HdfsConnection())


@pytest.fixture
def table(store: HdfsStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the URL of a table; file i has the ids i and i + 100."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    url = store.spell(f"w{secrets.token_hex(4)}/a table/événements #1")
    for i in range(NUM_FILES):
        write(store, url, i, i)
    return url


def write(store: HdfsStore, url: str, i: int, first: int) -> None:
    """Write a file; all have the same size."""
    data = io.BytesIO()
    ids = pa.array([first, first + 100], pa.int64())
    pq.write_table(pa.table({"id": ids}), data, use_dictionary=False, compression="none")
    path = f"{url.removeprefix(store.name)}/p={i % 2}/{i:02} +%;.parquet"
    store.remove(path)
    store.create(path, data.getvalue(), attempt="")


def files_for(table: str, value: int) -> list[str]:
    caches.clear_cache()
    return [one.rpartition("/")[2] for one in index.lookup(table, f"id = {value}").paths]


def below(store: HdfsStore, table: str) -> list[str]:
    """Return all files and folders below a table's indexes."""
    root = f"{table.removeprefix(store.name)}/_bloom_index"
    found = store._client.list_status(root, recursive=True)  # noqa: SLF001
    return sorted(one.path.removeprefix(f"{root}/") for one in found)


def test_an_index_lives_beside_its_table(store: HdfsStore, table: str) -> None:
    report = index.create(table, ["id"], name="ids", fpp=1e-6)
    assert report.num_files == NUM_FILES
    assert files_for(table, 103) == ["03 +%;.parquet"]
    write(store, table, 1, 71)  # of the same size
    write(store, table, NUM_FILES, 70)
    assert set(files_for(table, 71)) == {"01 +%;.parquet", "06 +%;.parquet"}
    assert index.refresh(table, name="ids").num_files == NUM_FILES + 1
    assert files_for(table, 71) == ["01 +%;.parquet"]
    index.optimize(table, name="ids")
    assert files_for(table, 170) == ["06 +%;.parquet"]
    assert [one.name for one in index.indexes(table)] == ["ids"]
    index.delete(table, name="ids")
    index.vacuum(table, name="ids")
    left = below(store, table)
    assert left[:2] == ["ids", "ids/_log"]
    assert all(one.startswith("ids/_log/") for one in left[2:])


def test_of_two_writers_one_wins(
    store: HdfsStore, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.create(table, ["id"], name="ids", fpp=1e-6)
    log = f"{table.removeprefix(store.name)}/_bloom_index/ids/_log"
    write(store, table, NUM_FILES, 70)
    create = HdfsStore.create

    def overtaken(self: HdfsStore, path: str, data: bytes, **of: Any) -> object:  # noqa: ANN401
        if path.endswith("/_log/3"):
            monkeypatch.setattr(HdfsStore, "create", create)
            create(self, path, store._client.read(f"{log}/1").read(), attempt="")  # noqa: SLF001
        return create(self, path, data, **of)

    monkeypatch.setattr(HdfsStore, "create", overtaken)
    with pytest.raises(BloomwriterError):
        index.refresh(table, name="ids")
    read = store._client.read  # noqa: SLF001
    assert read(f"{log}/3").read() == read(f"{log}/1").read()


def test_the_home_may_be_elsewhere(table: str, tmp_path: Path) -> None:
    index.create(table, ["id"], name="ids", fpp=1e-6, home=tmp_path / "home")
    caches.clear_cache()
    found = index.lookup(table, "id = 103", home=tmp_path / "home").paths
    assert [one.rpartition("/")[2] for one in found] == ["03 +%;.parquet"]
