"""Columns of tables, and the columns of files that they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.table.name_mapping import create_mapping_from_schema
from pyiceberg.types import (
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    UnknownType,
)

from parquet_bloomwriter.errors import ColumnNotFound
from parquet_bloomwriter.iceberg.schema import IcebergColumns
from parquet_bloomwriter.source.open import opened_with_footer

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloomwriter.metadata import Footer

SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "tags", ListType(5, StringType())),
    NestedField(
        3, "counts", MapType(6, StringType(), 7, StructType(NestedField(8, "n", IntegerType())))
    ),
    NestedField(4, "place", StructType(NestedField(9, "city", StringType()))),
    NestedField(10, "nothing", UnknownType(), required=False),
)
LEAVES = ("id", "tags.element", "counts.key", "counts.value.n", "place.city")
PATHS = ("id", "tags.list.element", "counts.key_value.key", "counts.key_value.value.n")


def _footer(table: pa.Table, path: Path) -> Footer:
    pq.write_table(table, path)
    with opened_with_footer(str(path)) as (_, footer):
        return footer


def _rows(*, with_ids: bool) -> pa.Table:
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    known = Schema(*SCHEMA.fields[:4])
    schema = schema_to_pyarrow(known, include_field_ids=with_ids)
    values = {
        "id": [1],
        "tags": [["a"]],
        "counts": [[("k", {"n": 1})]],
        "place": [{"city": "Ulm"}],
    }
    return pa.table(values, schema=schema)


def test_names_are_those_of_iceberg() -> None:
    columns = IcebergColumns(SCHEMA, None)
    assert columns.select(None) == LEAVES
    assert columns.select(["place", "tags", "place.city"]) == ("place.city", "tags.element")
    assert [columns.stored_name(one) for one in LEAVES] == ["#1", "#5", "#6", "#8", "#9"]
    with pytest.raises(ColumnNotFound, match="of type unknown"):
        columns.select("nothing")
    with pytest.raises(ColumnNotFound, match="there is no column"):
        columns.select("missing")


def test_leaves_are_found_by_their_ids(tmp_path: Path) -> None:
    footer = _footer(_rows(with_ids=True), tmp_path / "x.parquet")
    found = IcebergColumns(SCHEMA, None).in_file(footer)
    assert {name: leaf.name for name, leaf in found.items()} == dict(
        zip(LEAVES, (*PATHS, "place.city"), strict=True)
    )


def test_a_renamed_column_is_found_and_its_successor_is_not(tmp_path: Path) -> None:
    footer = _footer(_rows(with_ids=True), tmp_path / "x.parquet")
    renamed = Schema(NestedField(1, "key", LongType()), NestedField(20, "id", LongType()))
    found = IcebergColumns(renamed, None).in_file(footer)
    assert {name: leaf.name for name, leaf in found.items()} == {"key": "id"}


def test_files_without_ids_are_read_by_the_name_mapping(tmp_path: Path) -> None:
    footer = _footer(_rows(with_ids=False), tmp_path / "x.parquet")
    assert not IcebergColumns(SCHEMA, None).in_file(footer)
    mapping = create_mapping_from_schema(SCHEMA)
    found = IcebergColumns(SCHEMA, mapping).in_file(footer)
    assert {name: leaf.name for name, leaf in found.items()} == dict(
        zip(LEAVES, (*PATHS, "place.city"), strict=True)
    )


def test_a_file_with_ids_is_not_read_by_names(tmp_path: Path) -> None:
    other = Schema(NestedField(30, "id", LongType()))
    footer = _footer(_rows(with_ids=True), tmp_path / "x.parquet")
    assert not IcebergColumns(other, create_mapping_from_schema(other)).in_file(footer)


def test_an_id_that_occurs_twice_names_no_column(tmp_path: Path) -> None:
    twice = pa.schema(
        [pa.field(name, pa.int64(), metadata={"PARQUET:field_id": "1"}) for name in ("a", "b")]
    )
    footer = _footer(pa.table({"a": [1], "b": [2]}, schema=twice), tmp_path / "x.parquet")
    assert not IcebergColumns(SCHEMA, None).in_file(footer)
