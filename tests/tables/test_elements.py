"""Conditions on elements of lists, and on keys and values of maps, in Delta and Iceberg tables.

DuckDB says of the same rows in memory which of them satisfy a condition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import ListType, LongType, MapType, NestedField, StringType, StructType

from parquet_bloomwriter import bloomify_table, index, iter_batches, probe, read_table
from tests.support.delta_files import Writer, array, column, map_of, struct

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.iceberg_tables import Warehouse

FILES, ROWS = 4, 50


def rows_of(file: int) -> list[dict[str, object]]:
    """Return rows whose values are spread over all files, so that statistics tell nothing."""
    numbers = [n * 7_919 % 10_007 for n in range(file * ROWS, (file + 1) * ROWS)]
    return [
        {
            "n": n,
            "tags": [f"t{n:05}", None, "x"] if n % 4 else [None, []][n % 3 % 2],
            "m": [(f"k{n:05}", n), ("any", None)] if n % 5 else None,
            "s": {"ids": [n, n + 20_000]},
        }
        for n in numbers
    ]


ARROW = pa.schema(
    [
        ("n", pa.int64()),
        ("tags", pa.list_(pa.string())),
        ("m", pa.map_(pa.string(), pa.int64())),
        ("s", pa.struct([("ids", pa.list_(pa.int64()))])),
    ]
)
TABLES = [pa.Table.from_pylist(rows_of(file), ARROW) for file in range(FILES)]
HIT = next(one["n"] for one in rows_of(2) if one["n"] % 4 and one["n"] % 5)  # type: ignore[operator]
CONDITIONS = {
    f"list_contains(tags, 't{HIT:05}')": 1,
    f"array_contains(tags, 't{HIT:05}')": 1,
    f"'t{HIT:05}' = ANY (tags)": 1,
    "list_contains(tags, 't99999')": 0,
    f"list_contains(s.ids, {HIT})": 1,
    f"map_contains(m, 'k{HIT:05}')": 1,
    f"list_contains(map_values(m), {HIT})": 1,
    f"list_contains(tags, 't{HIT:05}') AND NOT map_contains(m, 'any')": 1,
    "list_contains(tags, 'x')": FILES,
    f"NOT list_contains(tags, 't{HIT:05}')": FILES,
    f"list_contains(tags, 't{HIT:05}') OR n = {HIT}": 1,
}


def delta(folder: Path, mapping: str) -> str:
    """Make a Delta table."""
    numbers = iter(range(1, 10) if mapping != "none" else [0] * 9)
    fields = [
        column("n", "long", next(numbers)),
        column("tags", array("string"), next(numbers)),
        column("m", map_of("string", "long"), next(numbers)),
        column("s", struct(column("ids", array("long"), next(numbers))), next(numbers)),
    ]
    writer = Writer(folder / mapping, fields, mapping=mapping)
    for rows in TABLES:
        writer.add(rows)
    return str(writer.commit())


def iceberg(warehouse: Warehouse) -> str:
    """Make an Iceberg table, of which a list has got another name since."""
    schema = Schema(
        NestedField(1, "n", LongType()),
        NestedField(2, "labels", ListType(3, StringType(), element_required=False)),
        NestedField(4, "m", MapType(5, StringType(), 6, LongType(), value_required=False)),
        NestedField(
            7,
            "s",
            StructType(NestedField(8, "ids", ListType(9, LongType(), element_required=False))),
        ),
    )
    table = warehouse.create("listed", schema)
    for rows in TABLES:
        table.append(rows.rename_columns({"tags": "labels"}))
    with table.update_schema() as update:
        update.rename_column("labels", "tags")
    return warehouse.url("listed")


@pytest.fixture(params=["none", "name", "id", "iceberg"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Make a table, and add filters to its files."""
    if request.param == "iceberg":
        source = iceberg(request.getfixturevalue("warehouse"))
    else:
        source = delta(tmp_path, request.param)
    return source


def test_what_is_excluded_and_read(made: str) -> None:
    bloomify_table(made, ["n", "tags", "m", "s"])
    whole = pa.concat_tables(TABLES)  # noqa: F841  DuckDB finds it
    with duckdb.connect() as engine:
        for where, num_files in CONDITIONS.items():
            assert len(probe(made, where).might_match) == num_files, where
            query = f"SELECT n FROM whole WHERE {where} ORDER BY n"  # noqa: S608
            expected = [n for (n,) in engine.execute(query).fetchall()]
            assert sorted(read_table(made, filters=where)["n"].to_pylist()) == expected, where
            batches = iter_batches(made, filters=where)
            assert sorted(n for one in batches for n in one["n"].to_pylist()) == expected, where


def test_indexes(made: str) -> None:
    if made.endswith(("/name", "/id")):
        return  # an index knows the names in files only, and refuses such tables
    index.create(made, "*", name="every")
    for where, num_files in CONDITIONS.items():
        assert len(index.lookup(made, where).paths) == num_files, where
    index.delete(made, "every")
    index.create(made, ["tags"], name="one")
    assert len(index.lookup(made, f"list_contains(tags, 't{HIT:05}')").paths) == 1
