"""A catalog for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter.iceberg.catalog import open_catalog
from tests.support.iceberg_commits import CATALOG, configuration, rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Catalog]:
    """Return a catalog of its own, which pyiceberg's configuration names."""
    for name, value in configuration(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    opened = open_catalog(CATALOG)
    opened.create_namespace("shop")
    yield opened
    opened.close()


@pytest.fixture
def make_table(catalog: Catalog) -> Callable[..., Table]:
    """Return a function that makes a table shop.NAME of so many files of ten rows."""

    def make(name: str = "orders", *, files: int = 3, version: int = 2, **more: object) -> Table:
        properties = {"format-version": str(version)}
        table = catalog.create_table(
            f"shop.{name}", schema=rows(0).schema, properties=properties, **more
        )
        for number in range(files):
            table.append(rows(number * 10))
        return table

    return make
