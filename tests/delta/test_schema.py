"""The columns of a table, and those of files that they are."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter.delta.actions import Metadata
from parquet_bloomwriter.delta.schema import DeltaColumns
from parquet_bloomwriter.errors import ColumnNotFound, TableProblem, UnsupportedFile
from parquet_bloomwriter.source import BufferSource, read_footer
from tests.support.delta_checkpoints import metadata

if TYPE_CHECKING:
    from parquet_bloomwriter.metadata import Footer


def _field(name: str, kind: Any, number: int = 0, physical: str = "") -> dict[str, Any]:  # noqa: ANN401  JSON
    mapping = {
        "delta.columnMapping.id": number,
        "delta.columnMapping.physicalName": physical or f"col-{number}",
    }
    return {"name": name, "type": kind, "nullable": True, "metadata": mapping if number else {}}


def _struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def _array(element: Any) -> dict[str, Any]:  # noqa: ANN401  JSON
    return {"type": "array", "elementType": element, "containsNull": True}


def _map(key: Any, value: Any) -> dict[str, Any]:  # noqa: ANN401  JSON
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def _columns(
    *fields: dict[str, Any], mode: str = "none", partitions: tuple[str, ...] = ()
) -> DeltaColumns:
    return DeltaColumns(
        Metadata(
            metadata(
                schemaString=json.dumps(_struct(*fields)),
                partitionColumns=list(partitions),
                configuration={} if mode == "none" else {"delta.columnMapping.mode": mode},
            )
        )
    )


def _footer(schema: pa.Schema, **options: Any) -> Footer:  # noqa: ANN401  of pyarrow
    sink = io.BytesIO()
    pq.write_table(schema.empty_table(), sink, **options)
    return read_footer(BufferSource(sink.getvalue()))


def _with_id(name: str, kind: pa.DataType, number: int) -> pa.Field:
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})


def _paths(columns: DeltaColumns, footer: Footer) -> dict[str, str]:
    return {name: leaf.name for name, leaf in columns.in_file(footer).items()}


NESTED = (
    _field("id", "long", 1),
    _field("place", _struct(_field("city", "string", 3), _field("zip", "integer", 4)), 2),
    _field("tags", _array("string"), 5),
    _field("items", _array(_struct(_field("price", "double", 7))), 6),
    _field("counts", _map("string", _struct(_field("n", "long", 9))), 8),
)
LEAVES = (
    "id",
    "place.city",
    "place.zip",
    "tags.list.element",
    "items.list.element.price",
    "counts.key_value.key",
    "counts.key_value.value.n",
)
NESTED_ARROW = pa.schema(
    [
        ("id", pa.int64()),
        ("place", pa.struct([("city", pa.string()), ("zip", pa.int32())])),
        ("tags", pa.list_(pa.string())),
        ("items", pa.list_(pa.struct([("price", pa.float64())]))),
        ("counts", pa.map_(pa.string(), pa.struct([("n", pa.int64())]))),
    ]
)
STORED_ARROW = pa.schema(
    [
        _with_id("col-1", pa.int64(), 1),
        _with_id(
            "col-2",
            pa.struct([_with_id("col-3", pa.string(), 3), _with_id("col-4", pa.int32(), 4)]),
            2,
        ),
        _with_id("col-5", pa.list_(pa.string()), 5),
        _with_id("col-6", pa.list_(pa.struct([_with_id("col-7", pa.float64(), 7)])), 6),
        _with_id("col-8", pa.map_(pa.string(), pa.struct([_with_id("col-9", pa.int64(), 9)])), 8),
    ]
)


def test_names() -> None:
    columns = _columns(*NESTED)
    assert columns.select(None) == LEAVES
    assert columns.select("id") == ("id",)
    assert columns.select(["tags", "place", "place.zip"]) == (
        "tags.list.element",
        "place.city",
        "place.zip",
    )
    assert columns.select("counts") == LEAVES[5:]
    assert columns.select("#1") == ("place.city",)
    with pytest.raises(ColumnNotFound, match='no column "plce"'):
        columns.select("plce")


def test_columns_that_no_file_stores() -> None:
    columns = _columns(
        _field("id", "long"),
        _field("day", "date"),
        _field("v", "variant"),
        _field("s", _struct(_field("v", "variant"), _field("x", "long"))),
        _field("nothing", "void"),
        partitions=("day",),
    )
    assert columns.select(None) == ("id", "s.x")
    assert columns.select("s") == ("s.x",)
    for name, why in {
        "day": "is a partition column: no file stores it",
        "v": "is a variant column",
        "s.v": "is a variant column",
        "nothing": "is a void column",
    }.items():
        with pytest.raises(ColumnNotFound, match=f'"{name}" {why}'):
            columns.select(["id", name])


@pytest.mark.parametrize("is_compliant", [True, False])
def test_by_name(is_compliant: bool) -> None:  # noqa: FBT001  drawn
    footer = _footer(NESTED_ARROW, use_compliant_nested_type=is_compliant)
    found = _columns(*NESTED).in_file(footer)
    assert tuple(found) == LEAVES
    assert list(found.values()) == list(footer.leaves)


@pytest.mark.parametrize("mode", ["name", "id"])
def test_mapped(mode: str) -> None:
    columns = _columns(*NESTED, mode=mode)
    footer = _footer(STORED_ARROW)
    found = columns.in_file(footer)
    assert tuple(found) == LEAVES == columns.select(None)
    assert list(found.values()) == list(footer.leaves)
    assert [columns.stored_name(name) for name in LEAVES] == [
        "col-1",
        "col-2.col-3",
        "col-2.col-4",
        "col-5.list.element",
        "col-6.list.element.col-7",
        "col-8.key_value.key",
        "col-8.key_value.value.col-9",
    ]


def test_ids_count_and_names_do_not() -> None:
    columns = _columns(_field("a", "long", 1), _field("b", "long", 2), mode="id")
    footer = _footer(pa.schema([_with_id("x", pa.int64(), 2), _with_id("col-2", pa.int64(), 1)]))
    assert _paths(columns, footer) == {"a": "col-2", "b": "x"}


def test_names_that_changed_places() -> None:
    columns = _columns(
        _field("a", "long", 1, physical="b"), _field("b", "long", 2, physical="a"), mode="name"
    )
    footer = _footer(pa.schema([("a", pa.int64()), ("b", pa.int64())]))
    assert _paths(columns, footer) == {"a": "b", "b": "a"}
    assert columns.stored_name("a") == "b"


def test_file_without_ids_is_refused() -> None:
    columns = _columns(*NESTED, mode="id")
    with pytest.raises(UnsupportedFile, match="by their ids, but the file has none"):
        columns.in_file(_footer(NESTED_ARROW))


def test_columns_added_and_dropped_since() -> None:
    columns = _columns(_field("new", "long", 5), _field("a", "long", 1), mode="id")
    footer = _footer(pa.schema([_with_id("col-1", pa.int64(), 1), _with_id("x", pa.int64(), 3)]))
    assert _paths(columns, footer) == {"a": "col-1"}


def test_narrower_files_and_other_schemas_of_one_table() -> None:
    columns = _columns(_field("a", "long"), _field("b", "string"))
    first = _footer(pa.schema([("a", pa.int32()), ("b", pa.string())]))
    second = _footer(pa.schema([("b", pa.string()), ("a", pa.int64())]))
    for _ in range(2):
        assert [columns.in_file(first)[name].ordinal for name in "ab"] == [0, 1]
        assert [columns.in_file(second)[name].ordinal for name in "ab"] == [1, 0]


def test_what_has_another_shape_is_not_the_column() -> None:
    columns = _columns(_field("a", "long"), _field("s", _struct(_field("x", "long"))))
    shapes = pa.schema([("a", pa.struct([("x", pa.int64())])), ("s", pa.int64())])
    assert _paths(columns, _footer(shapes)) == {}
    lists = pa.schema([("a", pa.list_(pa.int64())), ("s", pa.list_(pa.int64()))])
    assert _paths(columns, _footer(lists)) == {}


def test_variants_and_partition_columns_of_files_are_passed_over() -> None:
    columns = _columns(
        _field("v", "variant"), _field("day", "date"), _field("a", "long"), partitions=("day",)
    )
    footer = _footer(
        pa.schema(
            [
                ("v", pa.struct([("metadata", pa.binary()), ("value", pa.binary())])),
                ("a", pa.int64()),
                ("day", pa.date32()),
            ]
        )
    )
    assert _paths(columns, footer) == {"a": "a"}


@pytest.mark.parametrize(
    "schema",
    ["", "[]", "{}", '{"fields":[{}]}', '{"fields":[{"name":"a","type":{"type":"set"}}]}'],
)
def test_damaged_schema(schema: str) -> None:
    with pytest.raises(TableProblem, match="schema is damaged"):
        DeltaColumns(Metadata(metadata(schemaString=schema)))


def test_mode_that_is_not_known() -> None:
    with pytest.raises(TableProblem, match=r"columnMapping\.mode"):
        _columns(mode="colour")
