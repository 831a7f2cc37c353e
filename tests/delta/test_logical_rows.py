"""Rows of tables whose files store other names, narrower types, fewer columns, and deleted rows."""

from __future__ import annotations

import functools
import operator
import tempfile
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from parquet_bloomwriter import bloomify, iter_batches, read_table, scan_polars
from parquet_bloomwriter.predicate.expression import And, Comparison, IsIn, IsNull, Not, Or
from tests.support.delta_files import Writer, array, column, map_of, struct
from tests.support.delta_real import bag

if TYPE_CHECKING:
    from collections.abc import Callable

    from parquet_bloomwriter.predicate.expression import Expression

FIELDS = [
    column("id", "long", 1),
    column("price", "decimal(12,4)", 2),
    column("weight", "double", 3),
    column("name", "string", 4),
    column("when", "timestamp", 5),
    column("day", "timestamp_ntz", 6),
    column("at", struct(column("x", "long", 8), column("y", "string", 9)), 7),
    column("tags", array(struct(column("z", "string", 11))), 10),
    column("counts", map_of("string", "long"), 12),
    column("p", "string", 13),
    column("q", "integer", 14),
    column("r", "date", 15),
    column("raw", "binary", 16),
    column("ok", "boolean", 17),
]
PARTITIONS = ["p", "q", "r"]

NARROW: dict[str, list[pa.DataType]] = {
    "id": [pa.int64(), pa.int32(), pa.int8()],
    "price": [pa.decimal128(12, 4), pa.decimal128(10, 2), pa.int8()],
    "weight": [pa.float64(), pa.float32(), pa.int8()],
    "name": [pa.string(), pa.binary()],
    "when": [pa.timestamp("us", "UTC"), pa.timestamp("ms", "UTC")],
    "day": [pa.timestamp("us"), pa.date32()],
    "raw": [pa.binary(), pa.string()],
    "ok": [pa.bool_()],
}

NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)
VALUES: dict[str, list[Any]] = {
    "id": [None, *range(-3, 12)],
    "price": [None, *(Decimal(one).quantize(Decimal("0.0001")) for one in range(8))],
    "weight": [None, *map(float, range(8))],
    "name": [None, "", *"abcdefgh", "äöü"],
    "when": [None, *(NOON + timedelta(hours=hour) for hour in range(8))],
    "day": [None, *(datetime(2024, 1, 1 + one) for one in range(8))],  # noqa: DTZ001  of no zone
    "p": [None, "a", "b", "3", "ä /=%"],
    "q": [None, -1, 0, 3, 2024],
    "r": [None, date(2024, 1, 1), date(1969, 12, 31)],
    "raw": [None, b"a", b"b", b"c"],
    "ok": [None, True, False],
}
PLAIN = [*NARROW, *PARTITIONS]


@dataclass(frozen=True)
class Drawn:
    """A table, its rows, and a condition with what it means."""

    root: Path
    rows: list[dict[str, Any]]


@st.composite
def a_file(draw: st.DrawFn) -> dict[str, Any]:
    """Draw what a file stores."""
    count = draw(st.integers(0, 24))
    names = draw(st.sets(st.sampled_from([*NARROW, "at", "tags", "counts"])))
    columns: dict[str, Any] = {}
    rng = draw(st.randoms(use_true_random=False))
    for name in sorted(names & set(NARROW)):
        columns[name] = [rng.choice(VALUES[name]) for _ in range(count)]
    types = {name: draw(st.sampled_from(NARROW[name])) for name in columns}
    fewer = draw(st.booleans())
    if "at" in names:
        columns["at"] = [
            rng.choice([None, {"x": one, "y": "u"}, {"x": None, "y": None}]) for one in range(count)
        ]
        parts = [pa.field("x", draw(st.sampled_from([pa.int64(), pa.int16()])))]
        types["at"] = pa.struct(parts if fewer else [*parts, pa.field("y", pa.string())])
    if "tags" in names:
        some = [None, [], [{"z": "k"}], [None, {"z": None}, {"z": "l"}]]
        columns["tags"] = [rng.choice(some) for _ in range(count)]
        types["tags"] = pa.list_(pa.struct([pa.field("z", pa.string())]))
    if "counts" in names:
        columns["counts"] = [rng.choice([None, [], [("k", 1), ("l", None)]]) for _ in range(count)]
        types["counts"] = pa.map_(pa.string(), draw(st.sampled_from([pa.int64(), pa.int32()])))
    return {
        "columns": columns,
        "types": types,
        "count": count,
        "fewer": fewer,
        "deleted": {one for one in range(count) if rng.random() < draw(st.sampled_from([0, 0.3]))},
        "partition": {name: draw(st.sampled_from(VALUES[name])) for name in PARTITIONS},
        "row_group_size": draw(st.integers(1, 8)),
        "filters": draw(st.booleans()),
        "dictionary": draw(st.booleans()),
    }


def text_of(value: Any) -> str | None:  # noqa: ANN401  of any column
    return None if value is None else str(value)


def write(root: Path, mapping: str, files: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Write the table, and return its rows."""
    table = Writer(root, FIELDS, PARTITIONS, mapping)
    rows: list[dict[str, Any]] = []
    for one in files:
        if not one["columns"]:
            one["columns"], one["types"] = {"ok": [None] * one["count"]}, {"ok": pa.bool_()}
        stored = {
            name: _array(values, one["types"][name]) for name, values in one["columns"].items()
        }
        path = table.add(
            pa.table(stored),
            partition={name: text_of(value) for name, value in one["partition"].items()},
            deleted=one["deleted"],
            row_group_size=one["row_group_size"],
            use_dictionary=one["dictionary"],
        )
        if one["filters"] and one["count"] and set(one["columns"]) > {"ok"}:
            schema = pq.read_schema(path)
            bloomify(
                path, [one.name for one in schema if not pa.types.is_boolean(one.type)], force=True
            )
        for place in range(one["count"]):
            if place in one["deleted"]:
                continue
            row = {field["name"]: None for field in FIELDS} | dict(one["partition"])
            row |= {name: values[place] for name, values in one["columns"].items()}
            if one["fewer"] and row["at"] is not None:
                row["at"] = {**row["at"], "y": None}
            rows.append(row)
    table.commit()
    return rows


def _array(values: list[Any], type_: pa.DataType) -> pa.Array:
    if pa.types.is_binary(type_):
        values = [one.encode() if isinstance(one, str) else one for one in values]
    if pa.types.is_string(type_):
        values = [one.decode() if isinstance(one, bytes) else one for one in values]
    if pa.types.is_integer(type_):
        values = [None if one is None else int(one) for one in values]
    if pa.types.is_struct(type_) and type_.num_fields == 1:
        values = [None if one is None else {"x": one["x"]} for one in values]
    return pa.array(values, type_)


def atoms() -> st.SearchStrategy[Expression]:
    def of(name: str) -> st.SearchStrategy[Expression]:
        value = st.sampled_from([one for one in VALUES[name] if one is not None])
        signs = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
        if name == "ok":
            signs = st.sampled_from(["=", "!="])
        return st.one_of(
            st.builds(Comparison, st.just(name), signs, value),
            st.builds(IsIn, st.just(name), st.lists(value, min_size=1, max_size=3).map(tuple)),
            st.builds(IsNull, st.just(name)),
        )

    inner = st.builds(
        Comparison, st.just("at.x"), st.sampled_from(["=", "<", "!="]), st.integers(0, 9)
    )
    return st.sampled_from(PLAIN).flatmap(of) | inner | st.just(IsNull("at.y"))


def trees() -> st.SearchStrategy[Expression]:
    def grown(parts: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        several = st.lists(parts, min_size=1, max_size=3).map(tuple)
        return st.builds(Not, parts) | st.builds(And, several) | st.builds(Or, several)

    return st.recursive(atoms(), grown, max_leaves=5)


SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def outcome(tree: Expression, row: dict[str, Any]) -> bool | None:
    """Evaluate by three-valued logic."""
    match tree:
        case Not(operand):
            found = outcome(operand, row)
            return None if found is None else not found
        case And(operands) | Or(operands):
            parts = [outcome(one, row) for one in operands]
            decisive = isinstance(tree, Or)
            if decisive in parts:
                return decisive
            return None if None in parts else not decisive
        case IsNull(name):
            return value_of(row, name) is None
        case IsIn(name, values):
            value = value_of(row, name)
            return None if value is None else value in values
        case Comparison(name, sign, literal):
            value = value_of(row, name)
            return None if value is None else SIGNS[sign](value, literal)
    raise AssertionError(tree)


def value_of(row: dict[str, Any], name: str) -> Any:  # noqa: ANN401  of any column
    top, _, inner = name.partition(".")
    value = row[top]
    return value[inner] if inner and value is not None else value


def in_polars(tree: Expression) -> pl.Expr:
    """Return the condition as Polars writes it."""
    match tree:
        case Not(operand):
            return ~in_polars(operand)
        case And(operands):
            return functools.reduce(operator.and_, map(in_polars, operands))
        case Or(operands):
            return functools.reduce(operator.or_, map(in_polars, operands))
        case IsNull(name):
            return polars_column(name).is_null()
        case IsIn(name, values):
            return polars_column(name).is_in(list(values))
        case Comparison(name, sign, literal):
            return cast("pl.Expr", SIGNS[sign](polars_column(name), literal))
    raise AssertionError(tree)


def polars_column(name: str) -> pl.Expr:
    top, _, inner = name.partition(".")
    return pl.col(top).struct.field(inner) if inner else pl.col(top)


@settings(max_examples=10, deadline=None)
@given(
    st.sampled_from(["none", "name", "id"]),
    st.lists(a_file(), min_size=1, max_size=4),
    st.lists(trees(), min_size=1, max_size=4),
)
def test_rows_of_any_table(
    mapping: str, files: list[dict[str, Any]], conditions: list[Expression]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "table"
        rows = write(root, mapping, files)
        assert read_table(root).to_pylist() == rows
        for one in conditions:
            expected = [row for row in rows if outcome(one, row) is True]
            found = read_table(root, filters=one).to_pylist()
            assert bag(found) == bag(expected), one
            batches = iter_batches(root, filters=one, batch_size=3)
            assert [row for batch in batches for row in batch.to_pylist()] == found
            in_memory = pl.DataFrame(read_table(root)).filter(in_polars(one))
            assert_frame_equal(scan_polars(root).filter(in_polars(one)).collect(), in_memory)
