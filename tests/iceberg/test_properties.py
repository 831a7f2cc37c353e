"""The properties by which tables ask for filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.iceberg.snapshot import read_snapshot
from parquet_bloomwriter.table_files.properties import (
    ENABLED,
    FPP,
    MAX_BYTES,
    asked_by_iceberg,
    iceberg_properties,
)
from tests.support.iceberg_commits import name_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.table import Table

    from parquet_bloomwriter.table_files.properties import AskedFilters


def _asked(table: Table, properties: dict[str, str]) -> AskedFilters:
    with table.transaction() as change:
        change.set_properties(properties)
    return asked_by_iceberg(read_snapshot(name_of(table)))


def test_a_table_that_asks_for_nothing(make_table: Callable[..., Table]) -> None:
    found = _asked(make_table(files=0), {f"{ENABLED}id": "false", f"{FPP}id": "0.1"})
    assert (found.columns, found.rates, found.max_bytes) == ((), {}, None)


def test_columns_rates_and_bytes(make_table: Callable[..., Table]) -> None:
    table = make_table(files=0)
    found = _asked(table, {f"{ENABLED}name": "TRUE", f"{ENABLED}id": "true", f"{FPP}id": "0.1"})
    assert (found.columns, found.rates, found.max_bytes) == (("id", "name"), {"id": 0.1}, 1 << 20)
    assert _asked(table, {MAX_BYTES: "4096"}).max_bytes == 4096


def test_a_renamed_column_is_meant_by_its_old_name(make_table: Callable[..., Table]) -> None:
    table = make_table(files=0)
    with table.transaction() as change:
        change.set_properties(iceberg_properties(["id", "name"], 0.05))
    with table.update_schema() as update:
        update.rename_column("name", "label").delete_column("id")
    found = asked_by_iceberg(read_snapshot(name_of(table)))
    assert (found.columns, found.rates) == (("label",), {"label": 0.05})


def test_paths_of_parquet_are_understood(make_table: Callable[..., Table]) -> None:
    from pyiceberg.types import ListType, LongType, MapType, StringType

    table = make_table(files=0)
    with table.update_schema() as update:
        update.add_column("tags", ListType(90, StringType(), element_required=False))
        update.add_column("counts", MapType(91, StringType(), 92, LongType()))
    found = _asked(
        table,
        {f"{ENABLED}tags.list.element": "true", f"{ENABLED}counts.key_value.value": "true"},
    )
    assert found.columns == ("tags.element", "counts.value")


def test_a_property_that_is_no_number(make_table: Callable[..., Table]) -> None:
    table = make_table(files=0)
    for properties in ({MAX_BYTES: "1 MiB"}, {f"{FPP}id": "1 %"}):
        with pytest.raises(InvalidArgument, match="is no number"):
            _asked(table, properties)
