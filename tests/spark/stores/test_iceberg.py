"""An Iceberg table on a store that only its catalog's configuration, on the driver, knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter import bloomify_table as bloomify_table_here
from parquet_bloomwriter.iceberg.catalog import open_catalog
from parquet_bloomwriter.spark import bloomify_table
from tests.support.delta_real import bag
from tests.support.iceberg_commits import CATALOG, configuration_on, name_of, rows
from tests.support.iceberg_readers import by_pyiceberg

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from pyspark.sql import SparkSession

    from tests.stores.servers import Store


def test_keys_of_the_catalog_travel_to_executors(
    spark: SparkSession,
    store: Store,
    bucket: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in configuration_on(store, bucket, tmp_path).items():
        monkeypatch.setenv(name, value)
    catalog = open_catalog(CATALOG)
    catalog.create_namespace("shop")
    table = catalog.create_table("shop.orders", schema=rows(0).schema)
    for number in range(2):
        table.append(rows(number * 10))
    before = bag(by_pyiceberg(table))
    done = bloomify_table(spark, name_of(table), "id").collect()
    assert [(row.status, row.error) for row in done] == [("rewritten", None)] * 2
    assert bag(by_pyiceberg(table.refresh())) == before
    assert bloomify_table_here(name_of(table), "id").num_to_do == 0
    catalog.close()
