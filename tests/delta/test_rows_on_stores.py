"""Tables on S3 and other stores: read by URL, with deletion vectors; nothing else is a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fsspec
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import clear_cache, dataset, iter_batches, probe, read_table, scan_polars
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.stores.s3 import client as s3
from tests.support.delta_files import Writer, column

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsspec.implementations.memory import MemoryFileSystem

    from tests.stores.servers import Store

FIELDS = [column("id", "long", 1), column("kind", "string", 3)]


def files_of_a_table(folder: Path, *, has_deleted_rows: bool = True) -> dict[str, bytes]:
    """Write a table, and return its files by their paths below it."""
    writer = Writer(folder / "t", FIELDS, ["kind"], "name" if has_deleted_rows else "none")
    for kind in ("a b", "c"):
        writer.add(
            pa.table({"id": range(100)}),
            partition={"kind": kind},
            deleted=range(10) if has_deleted_rows else (),
            folder=f"kind={kind}/",
        )
    root = writer.commit()
    (root / "stray.parquet").write_bytes(b"in no version")
    return {
        str(one.relative_to(root)): one.read_bytes() for one in root.rglob("*") if one.is_file()
    }


def check(url: str) -> None:
    assert read_table(url).num_rows == 180
    found = read_table(url, filters="id >= 98 AND kind = 'c'")
    assert found.to_pylist() == [{"id": 98, "kind": "c"}, {"id": 99, "kind": "c"}]
    assert sum(one.num_rows for one in iter_batches(url, filters="id < 20")) == 20
    selected = (pl.col("id") >= 98) & (pl.col("kind") == "c")
    assert scan_polars(url).filter(selected).collect().to_dicts() == found.to_pylist()
    report = probe(url, "kind = 'c'")
    assert [one.is_excluded for one in report.files] == [True, False]
    assert report.files[1].path == f"{url}/kind=c/part-00002.parquet"


@pytest.fixture
def url(
    store: Store, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    for variable, value in store.environment.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    clear_cache()
    s3._client.cache_clear()  # noqa: SLF001  it knows another endpoint
    yield f"s3://{bucket}"
    s3._client.cache_clear()  # noqa: SLF001  others know another endpoint


def test_a_table_on_s3(url: str, store: Store, tmp_path: Path) -> None:
    bucket = url.removeprefix("s3://")
    for path, data in files_of_a_table(tmp_path).items():
        store.client().put_object(Bucket=bucket, Key=f"t/{path}", Body=data)
    check(f"{url}/t")
    pq.write_table(pa.table({"id": [1]}), tmp_path / "x.parquet")
    data = (tmp_path / "x.parquet").read_bytes()
    store.client().put_object(Bucket=bucket, Key="plain/x.parquet", Body=data)
    assert read_table(f"{url}/plain").num_rows == 1
    assert scan_polars(f"{url}/plain").collect().height == 1
    with pytest.raises(InvalidArgument, match="no table"):
        read_table(f"{url}/plain", version=0)


@pytest.fixture
def memory() -> Iterator[MemoryFileSystem]:
    found = fsspec.filesystem("memory")
    yield found
    found.rm("/t", recursive=True)


def test_a_table_on_another_store(memory: MemoryFileSystem, tmp_path: Path) -> None:
    for path, data in files_of_a_table(tmp_path).items():
        memory.pipe(f"/t/{path}", data)
    check("memory://t")
    with pytest.raises(InvalidArgument, match="Give its URL alone"):
        read_table("/t", filesystem=memory)
    with pytest.raises(InvalidArgument, match="Give its URL alone"):
        probe("/t", "id = 1", filesystem=memory)


def test_a_dataset_of_a_table_on_another_store(memory: MemoryFileSystem, tmp_path: Path) -> None:
    for path, data in files_of_a_table(tmp_path, has_deleted_rows=False).items():
        memory.pipe(f"/t/{path}", data)
    found = dataset("memory://t", filters="id >= 98 AND kind = 'c'").to_table()
    assert found.to_pylist() == [{"id": 98, "kind": "c"}, {"id": 99, "kind": "c"}]
