"""Rows of Iceberg tables on a store, which only the catalog's settings lead to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_bloomwriter import (
    bloomify_table,
    dataset,
    find_files,
    inspect,
    probe,
    prune_scan,
    read_table,
)
from parquet_bloomwriter.iceberg.catalog import open_catalog
from parquet_bloomwriter.source.settings import StoreSettings, use
from tests.support.iceberg_commits import CATALOG, configuration_on

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.stores.servers import Store

URL = f"iceberg://{CATALOG}/shop.orders"


def test_rows_of_a_table_on_s3(
    store: Store, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in configuration_on(store, bucket, tmp_path).items():
        monkeypatch.setenv(name, value)
    catalog = open_catalog(CATALOG)
    catalog.create_namespace("shop")
    parts = [pa.table({"id": range(first, 3000, 3)}) for first in range(3)]
    table = catalog.create_table("shop.orders", parts[0].schema)
    for part in parts:
        table.append(part)
    try:
        bloomify_table(URL, "id")
        (found,) = probe(URL, "id = 301").might_match
        assert str(found.path).startswith(f"s3://{bucket}/warehouse/")
        assert read_table(URL, filters="id = 301").to_pydict() == {"id": [301]}
        assert dataset(URL, filters="id = 301").to_table().to_pydict() == {"id": [301]}
        assert all(inspect(one).filters for one in find_files(URL))
        assert len(prune_scan(table.refresh().scan("id = 301"))) == 1
    finally:
        use(StoreSettings())
        catalog.close()
