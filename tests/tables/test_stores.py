"""Tables on S3: the same verbs, with commits under `If-None-Match`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from parquet_bloomwriter import UnsafeTarget, bloomify_table, index, strip_table
from tests.support.delta_tables import make_table

if TYPE_CHECKING:
    from pathlib import Path

    from tests.stores.servers import Store


def put(store: Store, bucket: str, folder: Path) -> str:
    """Copy a table to a bucket; return its URL."""
    client = store.client()
    for path in folder.rglob("*"):
        if path.is_file():
            client.upload_file(os.fspath(path), bucket, f"t/{path.relative_to(folder)}")
    return f"s3://{bucket}/t"


@pytest.fixture
def url(store: Store, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A table of three files, of two partitions, on the store."""
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path / "cache"))
    return put(store, bucket, make_table(tmp_path / "t", partition_by=["day"]))


def opened(url: str, store: Store) -> DeltaTable:
    """Open a table by deltalake."""
    options = {
        "AWS_ENDPOINT_URL": store.endpoint,
        "AWS_ACCESS_KEY_ID": store.access_key,
        "AWS_SECRET_ACCESS_KEY": store.secret_key,
        "AWS_REGION": store.region,
        "AWS_ALLOW_HTTP": "true",
        "aws_conditional_put": "etag",
    }
    return DeltaTable(url, storage_options=options)


def rows_of(url: str, store: Store) -> list[str]:
    """Return the rows that deltalake reads, as text, sorted."""
    return sorted(map(repr, opened(url, store).to_pyarrow_table().to_pylist()))


def test_filters_and_back(url: str, store: Store, bucket: str) -> None:
    before = rows_of(url, store)
    report = bloomify_table(url, ["id", "email"])
    assert (report.commits, report.num_filters) == ((3,), 6)
    assert rows_of(url, store) == before
    again = bloomify_table(url, ["id", "email"])
    assert (again.commits, again.num_footers) == ((), 0)
    assert strip_table(url).commits == (4,)
    assert rows_of(url, store) == before
    old = store.client().list_objects_v2(Bucket=bucket, Prefix="t/day=")["Contents"]
    assert len(old) == 9  # three versions of each file, until VACUUM


def test_an_index_of_the_table(url: str) -> None:
    index.create(url, "id", name="ids", fpp=0.001)
    report = index.lookup(url, "id = 1500")
    assert [path.split("/")[4] for path in report.paths] == ["day=1"]
    bloomify_table(url, "id")
    report = index.lookup(url, "id = 1500")
    assert (report.num_files, report.num_unknown) == (3, 3)


def test_a_store_that_ignores_conditions_is_refused(
    careless_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in careless_store.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path / "cache"))
    url = put(careless_store, careless_store.new_bucket(), make_table(tmp_path / "t"))
    with pytest.raises(UnsafeTarget, match="ignores conditions"):
        bloomify_table(url, "id")
