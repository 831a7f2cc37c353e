"""Rows of tables of all kinds, before and after they have filters: those that pyiceberg returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from parquet_bloomwriter import bloomify_table, probe, read_table
from parquet_bloomwriter.errors import InvalidArgument, TableProblem, UnsupportedTable
from parquet_bloomwriter.predicate.expression import Comparison
from tests.support import iceberg_real
from tests.support.iceberg_tables import MAKERS

if TYPE_CHECKING:
    from tests.support.iceberg_tables import Warehouse

_FEW = 1


def bag(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in rows)


@pytest.mark.parametrize("maker", MAKERS)
def test_tables_of_all_kinds(warehouse: Warehouse, maker: str) -> None:
    made = MAKERS[maker](warehouse)
    if "pyiceberg" not in made.readers:
        with pytest.raises(UnsupportedTable, match="equality deletes"):
            read_table(made.url)
        return
    asked = sorted(
        {
            (column, value)
            for row in [*made.rows[:_FEW], *made.rows[-_FEW:], *made.deleted[:_FEW]]
            for column, value in row.items()
            if isinstance(value, int | str)
        },
        key=repr,
    )
    for some in (asked[::4], asked[::2]) if made.format_version < 3 else (asked,):
        assert bag(read_table(made.url).to_pylist()) == bag(made.rows)
        for column, value in some:
            expected = [row for row in made.rows if row[column] == value]
            found = read_table(made.url, filters=Comparison(column, "=", value))
            assert bag(found.to_pylist()) == bag(expected)
        if made.format_version > 2:
            return
        bloomify_table(made.url, "*")
    files = probe(made.url, f"{made.column} = -17").files
    assert all(one.error is None for one in files)
    if not made.num_named and made.column == "id":
        assert not any(one.surviving for one in files)


@pytest.mark.parametrize("name", iceberg_real.parameters())
def test_real_tables(warehouse: Warehouse, name: str) -> None:
    table = iceberg_real.copy(name, warehouse)
    url = warehouse.url(iceberg_real.short(name))
    if "pyiceberg" not in iceberg_real.readers(name):
        with pytest.raises((UnsupportedTable, TableProblem)):
            read_table(url)
        return
    everything = read_table(url)
    assert bag(everything.to_pylist()) == bag(table.scan().to_arrow().to_pylist())
    for field in everything.schema:
        if pa.types.is_nested(field.type):
            continue
        column = everything[field.name].to_pylist()
        for value in [one for one in column[:2] if one is not None][-1:]:
            condition = ds.field(field.name) == pa.scalar(value, field.type)
            try:
                found = read_table(url, filters=condition)
            except (InvalidArgument, pa.ArrowNotImplementedError):
                continue  # pyarrow does not compare the type
            expected = [place for place, one in enumerate(column) if one == value]
            assert found.to_pylist() == everything.take(expected).to_pylist()
