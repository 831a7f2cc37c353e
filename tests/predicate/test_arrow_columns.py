"""Dotted names -> columns of an Arrow schema."""

from __future__ import annotations

import pyarrow as pa
import pytest

from parquet_bloomwriter.errors import ColumnNotFound, InvalidArgument
from parquet_bloomwriter.predicate.arrow_columns import column_at

INNER = pa.struct([("x", pa.int8()), ("y z", pa.int16()), ("t.u", pa.struct([("v", pa.int32())]))])
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("s", INNER),
        ("s.x", pa.string()),
        ("tags", pa.list_(pa.struct([("k", pa.int8())]))),
        ("map", pa.map_(pa.string(), pa.int8())),
        ("twice", pa.int8()),
        ("twice", pa.int8()),
    ]
)


@pytest.mark.parametrize(
    ("path", "expected", "type_"),
    [
        ("id", ("id",), pa.int64()),
        (("id",), ("id",), pa.int64()),
        ("s", ("s",), INNER),
        ("s.x", ("s.x",), pa.string()),
        (("s", "x"), ("s", "x"), pa.int8()),
        ("s.y z", ("s", "y z"), pa.int16()),
        ("s.t.u.v", ("s", "t.u", "v"), pa.int32()),
        ("tags", ("tags",), SCHEMA.field("tags").type),
    ],
)
def test_columns(
    path: str | tuple[str, ...], expected: tuple[str, ...], type_: pa.DataType
) -> None:
    column = column_at(SCHEMA, path)
    assert (column.path, column.type) == (expected, type_)
    assert column.name == ".".join(expected)


def test_the_field_is_found_in_data() -> None:
    table = pa.table({"s": pa.array([{"x": 1}, {"x": 2}, None], pa.struct([("x", pa.int8())]))})
    field = column_at(table.schema, "s.x").field
    assert table.filter(field == 2).to_pylist() == [{"s": {"x": 2}}]


COLUMNS = "id, s.x, s.y z, s.t.u.v, tags, map, twice"


@pytest.mark.parametrize(
    ("path", "problem", "remedy"),
    [
        ("Id", 'there is no column "Id"', "Did you mean id?"),
        ("s.y_z", 'there is no column "s.y_z"', "Did you mean s.y z?"),
        (("s", "q"), 'there is no column "s.q"', f"The columns are: {COLUMNS}."),
        (("id", "x"), 'there is no column "id.x"', f"The columns are: {COLUMNS}."),
        ("s.", 'there is no column "s."', "Did you mean s.x?"),
        (
            "?????",
            'there is no column "?????"',
            f"The columns are: {COLUMNS}.",
        ),
        (
            "twice",
            '2 columns are named "twice"',
            "Conditions need columns with names of their own.",
        ),
    ],
)
def test_columns_that_are_not_there(path: str | tuple[str, ...], problem: str, remedy: str) -> None:
    with pytest.raises(ColumnNotFound) as caught:
        column_at(SCHEMA, path)
    assert caught.value.problem == problem
    assert caught.value.remedy == remedy


@pytest.mark.parametrize("path", ["tags.list.element.k", "map.key_value.value"])
def test_columns_with_many_values_in_a_row(path: str) -> None:
    with pytest.raises(InvalidArgument, match="which has many values in a row") as caught:
        column_at(SCHEMA, path)
    assert caught.value.column == path
