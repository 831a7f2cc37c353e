"""Predicates -> pyarrow expressions that are true for the same rows as in DuckDB and pyarrow."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import product
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_bloomwriter.errors import ColumnNotFound, InvalidArgument
from parquet_bloomwriter.predicate import parse, to_text
from parquet_bloomwriter.predicate.arrow_out import to_arrow
from parquet_bloomwriter.predicate.expression import (
    And,
    Comparison,
    Expression,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Or,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

IDS = [uuid.UUID(int=number) for number in (1, 2, 2**127)]
NOON = datetime(2024, 1, 31, 12)  # noqa: DTZ001  naive
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i8": (pa.int8(), [-128, -1, 0, 1, 5, 127]),
    "u64": (pa.uint64(), [0, 1, 5, 2**64 - 1]),
    "i64": (pa.int64(), [-(2**63), -5, 0, 1, 5, 2**63 - 1]),
    "f32": (pa.float32(), [-0.0, 0.0, 0.1, 0.5, 5.0]),
    "f64": (pa.float64(), [-0.0, 0.0, 0.1, 0.5, 5.0, float("inf")]),
    "dec": (pa.decimal128(9, 2), [Decimal("-1.21"), Decimal("1.20"), Decimal("1.21"), Decimal(5)]),
    "text": (pa.string(), ["", "a", "b", "it's", "日本"]),
    "kind": (pa.dictionary(pa.int8(), pa.string()), ["", "a", "b", "it's"]),
    "flag": (pa.bool_(), [True, False]),
    "day": (pa.date32(), [date(1969, 12, 31), date(2024, 1, 31), date(2024, 2, 1)]),
    "moment": (pa.timestamp("us"), [NOON, NOON.replace(microsecond=1), datetime(2024, 1, 31)]),  # noqa: DTZ001
    "zoned": (
        pa.timestamp("us", "UTC"),
        [NOON.replace(tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC)],
    ),
    "clock": (pa.time64("us"), [time(0), time(12), time(12, 0, 0, 1)]),
    "id": (pa.uuid(), IDS),
}
NUMBERS = [
    "1.2e0",
    "-129",
    "-1",
    "0",
    "1",
    "5",
    "5.0",
    "5.5",
    "300",
    "1.20",
    "1.205",
    "0.1",
    "1e-1",
    "5e0",
]
STRINGS = ["''", "'a'", "'it''s'", "'zz'", "'日本'"]
LITERALS = {
    **dict.fromkeys(("i8", "u64", "i64", "f32", "f64", "dec", "s.x"), NUMBERS),
    **dict.fromkeys(("text", "kind", 's."y z"'), STRINGS),
    "flag": ["TRUE", "FALSE"],
    "day": ["DATE '2024-01-31'", "'2024-02-01'", "TIMESTAMP '2024-01-31 12:00:00'"],
    "moment": [
        "TIMESTAMP '2024-01-31 12:00:00'",
        "DATE '2024-01-31'",
        "'2024-01-31 12:00:00.000001'",
    ],
    "zoned": ["TIMESTAMPTZ '2024-01-31 12:00:00Z'", "TIMESTAMPTZ '2024-01-31 14:00:00+02:00'"],
    "clock": ["TIME '12:00:00'", "'12:00:00.000001'"],
    "id": [f"'{one}'" for one in IDS] + [f"UUID '{IDS[0]}'"],
}


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    fields = [pa.field(name, type_) for name, (type_, _) in COLUMNS.items()]
    fields.append(pa.field("s", pa.struct([("x", pa.int16()), ("y z", pa.string())])))
    numbered = [{"row": row, **values} for row, values in enumerate(rows)]
    return pa.Table.from_pylist(numbered, schema=pa.schema([("row", pa.int64()), *fields]))


STRUCT = st.none() | st.fixed_dictionaries(
    {
        "x": st.none() | st.sampled_from([0, 1, 5, 300]),
        "y z": st.none() | st.sampled_from(["", "a"]),
    }
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            **{name: st.none() | st.sampled_from(values) for name, (_, values) in COLUMNS.items()},
            "s": STRUCT,
        }
    ),
    max_size=8,
)
OPERATORS = st.sampled_from(["=", "==", "!=", "<>", "<", "<=", ">", ">="])


@st.composite
def conditions(draw: st.DrawFn) -> str:  # noqa: PLR0911  one for each form
    column = draw(st.sampled_from(sorted(LITERALS)))
    literals = st.sampled_from([*LITERALS[column], "NULL"])
    form = draw(st.integers(0, 6))
    if form == 0:
        return f"{draw(literals)} {draw(OPERATORS)} {column}"
    if form == 1:
        members = draw(st.lists(literals, min_size=1, max_size=3))
        return f"{column} {draw(st.sampled_from(['', 'NOT ']))}IN ({', '.join(members)})"
    if form == 2:
        turned = draw(st.sampled_from(["", "NOT "]))
        return f"{column} {turned}BETWEEN {draw(literals)} AND {draw(literals)}"
    if form == 3:
        return f"{column} IS {draw(st.sampled_from(['', 'NOT ']))}NULL"
    if form == 4:
        return f"{column} IS {draw(st.sampled_from(['', 'NOT ']))}DISTINCT FROM {draw(literals)}"
    if form == 5:
        return draw(
            st.sampled_from(["flag", "flag IS TRUE", "flag IS NOT FALSE", "TRUE", "FALSE", "1 = 1"])
        )
    return f"{column} {draw(OPERATORS)} {draw(literals)}"


TEXTS = st.recursive(
    conditions(),
    lambda inner: st.one_of(
        inner.map(lambda one: f"NOT ({one})"),
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(
            lambda parts: f"({parts[0]}) {parts[1]} ({parts[2]})"
        ),
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


def rows_of(table: pa.Table, expression: Any) -> list[int]:  # noqa: ANN401  pyarrow has no types
    found: list[int] = table.filter(expression)["row"].to_pylist()
    return found


OPERATORS_ALL = ("=", "!=", "<", "<=", ">", ">=", "IS DISTINCT FROM")


@pytest.mark.parametrize("column", sorted(LITERALS))
def test_every_comparison_of_every_value(duck: duckdb.DuckDBPyConnection, column: str) -> None:
    structs = [{"x": 5, "y z": "a"}, {"x": 300, "y z": ""}, {"x": 1}, {}]
    of_column = COLUMNS[column][1] if column in COLUMNS else []
    rows = [{"s": struct} for struct in structs] + [{column: value} for value in of_column] + [{}]
    table = table_of(rows)
    duck.register("t", table)
    for literal in LITERALS[column]:
        all_asked = [f"{column} {operator} {literal}" for operator in OPERATORS_ALL]
        query = f"SELECT row, {', '.join(all_asked)} FROM t ORDER BY row"  # noqa: S608  of this test
        answers = duck.execute(query).fetchall()
        for place, asked in enumerate(all_asked, 1):
            for text, wanted in ((asked, True), (f"NOT {asked}", False)):
                expected = [answer[0] for answer in answers if answer[place] is wanted]
                assert rows_of(table, to_arrow(text, table.schema)) == expected, text


@settings(max_examples=30)
@given(rows=ROWS, text=TEXTS)
def test_sql_finds_the_rows_that_duckdb_finds(
    duck: duckdb.DuckDBPyConnection, rows: list[dict[str, Any]], text: str
) -> None:
    table = table_of(rows)
    duck.register("t", table)
    expected = duck.execute(f"SELECT row FROM t WHERE {text} ORDER BY row").fetchall()  # noqa: S608
    found = rows_of(table, to_arrow(text, table.schema))
    assert found == [row for (row,) in expected]


@settings(max_examples=30)
@given(rows=ROWS, text=TEXTS)
def test_what_is_spelled_finds_the_same_rows(rows: list[dict[str, Any]], text: str) -> None:
    table, tree = table_of(rows), parse(text)
    spelled = to_text(tree)
    assert rows_of(table, to_arrow(spelled, table.schema)) == rows_of(
        table, to_arrow(tree, table.schema)
    )


@st.composite
def predicates(draw: st.DrawFn) -> tuple[Any, str, Any]:
    """Draw what `is_in` and comparisons of pyarrow take."""
    column = draw(
        st.sampled_from(["i8", "i64", "text", "flag", "day", "moment", "zoned", "clock", "dec"])
    )
    values = st.none() | st.sampled_from(COLUMNS[column][1])
    type_ = COLUMNS[column][0]
    operator = draw(st.sampled_from(["=", "==", "!=", "<", "<=", ">", ">=", "in", "not in"]))
    if "in" in operator:
        return column, operator, pa.array(draw(st.lists(values, max_size=3)), type_)
    return column, operator, pa.scalar(draw(values), type_)


@settings(max_examples=30)
@given(rows=ROWS, filters=st.lists(st.lists(predicates(), min_size=1, max_size=3), min_size=1))
def test_trees_of_filters_find_the_rows_that_pyarrow_finds(
    rows: list[dict[str, Any]], filters: list[list[tuple[Any, str, Any]]]
) -> None:
    table = table_of(rows)
    expected = rows_of(table, pq.filters_to_expression(filters))
    assert rows_of(table, to_arrow(filters, table.schema)) == expected
    assert rows_of(table, to_arrow(parse(filters), table.schema)) == expected


@st.composite
def leaves(draw: st.DrawFn) -> Any:  # noqa: ANN401  pyarrow has no types
    form = draw(st.integers(0, 4))
    if form == 0:
        return pc.field("flag")
    if form == 1:
        return pc.field(draw(st.sampled_from(list(COLUMNS)))).is_null()
    if form == 2:
        return pc.field(draw(st.sampled_from(list(COLUMNS)))).is_valid()
    if form == 3:
        return pc.scalar(draw(st.booleans()))
    return pq.filters_to_expression([draw(predicates())])


EXPRESSIONS = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        inner.map(lambda one: ~one),
        st.tuples(inner, inner).map(lambda pair: pair[0] & pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
    ),
    max_leaves=8,
)


@settings(max_examples=30)
@given(rows=ROWS, expression=EXPRESSIONS)
def test_trees_of_expressions_find_the_rows_that_pyarrow_finds(
    rows: list[dict[str, Any]],
    expression: Any,  # noqa: ANN401  pyarrow has no types
) -> None:
    table = table_of(rows)
    expected = rows_of(table, expression)
    assert rows_of(table, to_arrow(expression, table.schema)) == expected
    assert rows_of(table, to_arrow(parse(expression), table.schema)) == expected


def test_expressions_that_are_not_understood_stay_as_they_are() -> None:
    for expression in (pc.field("i8") + 1 == 2, pc.field("text") == b"a", pc.field("none") == 1):
        assert to_arrow(expression, SCHEMA) is expression


# ---------------------------------------------------------------- types that pyarrow compares badly


@pytest.mark.parametrize(
    ("type_", "values", "text", "rows"),
    [
        (pa.float16(), [0.1, 0.5, None], "x = 0.1", [0]),
        (pa.float16(), [0.1, 0.5, None], "x NOT IN (0.1)", [1]),
        (pa.float32(), [-0.0, 0.0, 0.5], "x IN (0)", [0, 1]),
        (pa.float64(), [float("nan"), 5.0, None], "NOT x < 6", [0]),
        (pa.decimal32(5, 2), [Decimal("1.20"), None], "x IN (1.2)", [0]),
        (pa.decimal64(5, 2), [Decimal("1.20"), None], "x = 1.2", [0]),
        (pa.binary(), [b"a", b"b", None], "x > X'61'", [1]),
        (pa.binary(2), [b"ab", b"b\0", None], "x < X'62'", [0]),
        (pa.binary(2), [b"ab", b"b\0", None], "x = X'616200' OR x != X'62'", [0, 1]),
        (pa.json_(), ["{}", "[]"], "x = '{}'", [0]),
        (pa.null(), [None], "x IS NULL", [0]),
        (pa.list_(pa.int8()), [[1], None], "x IS NOT NULL", [0]),
    ],
)
def test_other_types(type_: pa.DataType, values: list[Any], text: str, rows: list[int]) -> None:
    array = pa.array(values, type_.storage_type if type_ == pa.json_() else type_)
    table = pa.table({"row": range(len(values)), "x": array.cast(type_)})
    assert rows_of(table, to_arrow(text, table.schema)) == rows


def test_views_of_strings_and_bytes_are_compared() -> None:
    table = pa.table({"row": [0, 1], "x": pa.array(["a", None], pa.string_view())})
    dataset = ds.dataset(table)
    for text, count in {"x = 'a'": 1, "x NOT IN ('a')": 0, "x < 'a'": 0}.items():
        assert dataset.count_rows(filter=to_arrow(text, table.schema)) == count


def test_ten_thousand_alternatives_are_no_matter_of_depth() -> None:
    table = pa.table({"row": range(20_000), "x": [None, 1] * 10_000})
    many = tuple(Comparison("row", "=", 2 * number) for number in range(10_000))
    tree = Or((*many, IsNull("x"), IsIn("row", (3, 5)), Comparison("row", "=", None)))
    expected = sorted([*range(0, 20_000, 2), 3, 5])
    assert rows_of(table, to_arrow(tree, table.schema)) == expected
    others = sorted({*range(1, 20_000, 2)} - {3, 5})
    assert rows_of(table, to_arrow(Not(Or((*many, IsIn("row", (3, 5))))), table.schema)) == others


def test_many_contradictions_find_nothing() -> None:
    table = pa.table({"row": range(200)})
    tree = And(tuple(Comparison("row", "=", number) for number in range(200)))
    assert rows_of(table, to_arrow(tree, table.schema)) == []


def test_more_conditions_than_pyarrow_survives_are_refused() -> None:
    many = tuple(Comparison("i64", "!=", number) for number in range(10_000))
    with pytest.raises(InvalidArgument, match="10,000 conditions are more than pyarrow") as caught:
        to_arrow(And(many), SCHEMA)
    assert caught.value.remedy == "Use IN or NOT IN for many values of one column."


def test_filters_reach_into_structs() -> None:
    table = pa.table({"row": [0, 1], "s": [{"x": 1}, {"x": 2}], "s.y": [1, 2]})
    for path in ("s.x", ("s", "x"), "s.y"):
        assert rows_of(table, to_arrow([(path, "=", 2)], table.schema)) == [1]
        assert rows_of(table, to_arrow([[(path, "in", [1])]], table.schema)) == [0]


# ---------------------------------------------------------------- what cannot be evaluated

SCHEMA = table_of([]).schema


@pytest.mark.parametrize("form", ["{} = 1", "{} IN (1)", "{} IS NULL", "TRUE OR NOT {} = NULL"])
def test_columns_that_are_not_there(form: str) -> None:
    with pytest.raises(ColumnNotFound, match='there is no column "I64"') as caught:
        to_arrow(form.format("I64"), SCHEMA)
    assert caught.value.remedy == "Did you mean i64?"


def test_columns_of_filters_that_are_not_there() -> None:
    with pytest.raises(ColumnNotFound, match=r'there is no column "s\.q"'):
        to_arrow([("s.q", "=", 1)], SCHEMA)


def test_lists_do_not_compare_times_with_and_without_a_zone() -> None:
    """Pyarrow says so only where there is a row."""
    naive, zoned = datetime(2024, 1, 31), datetime(2024, 1, 31, tzinfo=UTC)  # noqa: DTZ001
    for unit, zone, value in product(("s", "ms", "us", "ns"), (None, "UTC"), (naive, zoned)):
        schema = pa.schema([("t", pa.timestamp(unit, zone))])
        for operator, literal in (("=", value), ("<", value), ("in", [value])):
            if (zone is None) is (value is naive):
                to_arrow([("t", operator, literal)], schema)
                continue
            with pytest.raises(InvalidArgument, match=r"column t: .* cannot be compared"):
                to_arrow([("t", operator, literal)], schema)


@pytest.mark.parametrize(
    ("text", "problem", "remedy"),
    [
        (
            "i64 = 1 AND NOT i64 / 2 = 1",
            (
                "this part of the condition cannot be evaluated: i64 / 2 = 1: "
                "engines differ in how they divide"
            ),
            "Give a pyarrow expression.",
        ),
        (
            "zoned < TIMESTAMP '2024-01-31 10:00:00'",
            (
                "TIMESTAMP '2024-01-31 10:00:00' cannot be compared"
                " with values of type timestamp[us, tz=UTC]"
            ),
            "Give the time zone: TIMESTAMPTZ '2024-01-31 10:00:00+00:00'.",
        ),
        (
            "i64 IN (1, 'x')",
            "'x' cannot be compared with values of type int64",
            "Compare it with a number.",
        ),
        (
            "s = 1",
            "1 cannot be compared with values of type struct<x: int16, y z: string>",
            "Ask for nulls only, or give a pyarrow expression.",
        ),
    ],
)
def test_what_cannot_be_evaluated(text: str, problem: str, remedy: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        to_arrow(text, SCHEMA)
    assert caught.value.problem == problem
    assert caught.value.remedy == remedy


def test_filters_that_pyarrow_has_no_types_for() -> None:
    with pytest.raises(InvalidArgument, match="pyarrow cannot make an expression"):
        to_arrow([("i64", "=", object())], SCHEMA)


def test_malformed_predicates_are_refused_first() -> None:
    with pytest.raises(InvalidArgument, match="cannot be of type int"):
        to_arrow(5, SCHEMA)
    with pytest.raises(InvalidArgument, match="the list of filters is empty"):
        to_arrow([], SCHEMA)


@pytest.mark.parametrize(
    ("tree", "rows"),
    [
        (And((Comparison("i8", ">", 0), Not(IsNull("text")))), [1]),
        (Not(IsIn("i8", (1,))), [1]),
        (Not(Opaque("x")), None),
    ],
)
def test_trees_are_evaluated_too(tree: Expression, rows: list[int] | None) -> None:
    table = table_of([{"i8": 1}, {"i8": 5, "text": "a"}, {}])
    if rows is None:
        with pytest.raises(InvalidArgument, match="cannot be evaluated: x"):
            to_arrow(tree, table.schema)
    else:
        assert rows_of(table, to_arrow(tree, table.schema)) == rows
