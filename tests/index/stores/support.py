"""Tables that are on a store and on disk, with the same files."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from parquet_bloomwriter import index
from parquet_bloomwriter.caches import clear_cache

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.stores.servers import Client, Store


def use(store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process use a store, with nothing kept on this machine yet."""
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    clear_cache()


def data_of(table: pa.Table) -> bytes:
    """Return a Parquet file."""
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


@dataclass(frozen=True, slots=True, kw_only=True)
class Twins:
    """One table in two places."""

    client: Client
    bucket: str
    local: Path
    prefix: str = "data/events"

    @property
    def url(self) -> str:
        """Return the table on the store."""
        return f"s3://{self.bucket}/{self.prefix}"

    def write(self, name: str, table: pa.Table) -> None:
        """Write a file in both places."""
        data = data_of(table)
        path = self.local / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.put(name, data)

    def put(self, name: str, data: bytes) -> None:
        """Write an object of the table."""
        self.client.put_object(Bucket=self.bucket, Key=f"{self.prefix}/{name}", Body=data)

    def remove(self, name: str) -> None:
        """Remove a file in both places."""
        (self.local / name).unlink()
        self.client.delete_object(Bucket=self.bucket, Key=f"{self.prefix}/{name}")

    def copy_indexes(self) -> None:
        """Copy the indexes on the disk to the store, in place of those that are there."""
        for key in self.all_keys("_bloom_index/"):
            self.client.delete_object(Bucket=self.bucket, Key=f"{self.prefix}/{key}")
        for path in (self.local / "_bloom_index").rglob("*"):
            if path.is_file():
                self.put(str(path.relative_to(self.local)), path.read_bytes())

    def all_keys(self, below: str = "") -> list[str]:
        """List the keys below the table."""
        prefix = f"{self.prefix}/{below}"
        pages = self.client.get_paginator("list_objects_v2").paginate(
            Bucket=self.bucket, Prefix=prefix
        )
        found = [one["Key"] for page in pages for one in page.get("Contents", ())]
        return [key.removeprefix(f"{self.prefix}/") for key in found]

    def on_store(self, predicate: str, **options: Any) -> list[str]:  # noqa: ANN401  as `lookup` has
        """Return the names of the objects that might match."""
        report = index.lookup(self.url, predicate, **options)
        assert all(use.reason is None or use.reason.code in _USUAL for use in report.indexes)
        return [path.removeprefix(f"{self.url}/") for path in report.paths]

    def on_disk(self, predicate: str) -> list[str]:
        """Return the names of the files that might match."""
        report = index.lookup(self.local, predicate)
        return [path.removeprefix(f"{self.local}/") for path in report.paths]


_USUAL = ("NOTHING_EXCLUDED", "NO_COMMON_FILES", "NO_USABLE_CONDITION")


def ids(*values: int) -> pa.Table:
    """Return a table of ids."""
    return pa.table({"id": pa.array(values, pa.int64())})
