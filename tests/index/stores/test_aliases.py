"""Schemes that stand for one store: an index takes each of them, and knows one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter import bloomify_table, index, probe
from parquet_bloomwriter.iceberg.catalog import open_catalog
from parquet_bloomwriter.source.settings import StoreSettings, use
from parquet_bloomwriter.tables.report import FileFate
from tests.index.stores.support import ids
from tests.support.iceberg_commits import CATALOG, configuration_on

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from pyiceberg.table import Table

    from tests.index.stores.support import Twins
    from tests.stores.servers import Store


def spelled(url: str, scheme: str) -> str:
    """Return a URL with another scheme."""
    return f"{scheme}{url[url.index(':') :]}"


def test_every_verb_takes_every_scheme(table: Twins) -> None:
    place, other = spelled(table.url, "s3a"), spelled(table.url, "S3N")
    for home in (None, f"{other}/_elsewhere"):
        report = index.create(place, ["i*"], name="ids", home=home)
        assert (report.root, report.num_files) == (table.url, 6)
        assert report.folder.startswith(f"{table.url}/_")
        found = index.lookup(other, "id = 103", home=home)
        assert found.paths == (f"{table.url}/day=1/f3.parquet",)
        file = f"{other}/day=1/f3.parquet"
        named = index.lookup(place, "id = 103", files=[file], home=home)
        assert named.paths == found.paths
    table.write("new.parquet", ids(1000))
    assert index.refresh(other, "ids").appended == 1
    assert index.index(place, "ids").appended == 0
    assert [info.name for info in index.indexes(other, changes=True)] == ["ids"]
    index.optimize(other)
    for verb in (index.delete, index.restore, index.cancel):
        assert verb(other, "ids").root == table.url


def test_metadata_of_iceberg_spell_as_they_like(
    store: Store,
    bucket: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The scheme of the location, and that of the files, which may differ."""
    for name, value in configuration_on(store, bucket, tmp_path).items():
        monkeypatch.setenv(name, value)
    catalog = open_catalog(CATALOG)
    catalog.create_namespace("shop")
    table = catalog.create_table(
        "shop.orders",
        ids(0).schema,
        location=f"s3n://{bucket}/orders",
        properties={"write.data.path": f"s3a://{bucket}/orders/data"},
    )
    for first in range(3):
        table.append(ids(first, first + 100))
    try:
        check(f"iceberg://{CATALOG}/shop.orders", table, bucket)
    finally:
        use(StoreSettings())
        catalog.close()


def check(url: str, table: Table, bucket: str) -> None:
    """Check that an index of a table is made, asked and refreshed."""
    created = index.create(url, "id", name="ids")
    assert (created.root, created.num_files) == (f"s3://{bucket}/orders", 3)
    assert created.folder == f"s3://{bucket}/orders/_bloom_index/ids"
    found = index.lookup(url, "id = 101")
    assert (found.num_files, found.num_kept, found.num_unknown) == (3, 1, 0)
    (path,) = found.paths
    assert path.startswith(f"s3://{bucket}/orders/data/")
    assert index.lookup(url, "id = 7").paths == ()
    (task,) = index.prune_scan(table.refresh().scan("id = 101"))
    assert task.file.file_path.partition("://")[2] == path.partition("://")[2]
    table.append(ids(3, 103))
    assert index.lookup(url, "id = 101").num_unknown == 1
    assert index.refresh(url, "ids").appended == 1
    assert index.lookup(url, "id = 103").num_kept == 1
    assert index.index(url).appended == 0
    assert len(probe(url, "id = 103").might_match) == 1
    report = bloomify_table(url, "id")
    assert report.count(FileFate.REPLACED) == 4
    assert index.refresh(url, "ids").num_files == 4
    assert index.lookup(url, "id = 103").num_kept == 1
