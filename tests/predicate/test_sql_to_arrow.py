"""SQL that says nothing about single columns selects the rows that DuckDB selects."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pytest

from parquet_bloomwriter.errors import ColumnNotFound, InvalidArgument
from parquet_bloomwriter.predicate import parse
from parquet_bloomwriter.predicate.arrow_out import to_arrow
from parquet_bloomwriter.predicate.expression import Opaque
from parquet_bloomwriter.verbs.probe import probe
from parquet_bloomwriter.verbs.read import dataset, iter_batches, read_table
from tests.support.cells import bloomed

if TYPE_CHECKING:
    from collections.abc import Iterator

TIMES = [
    datetime(2024, 1, 31, 10),  # noqa: DTZ001  naive on purpose
    datetime(1969, 12, 31, 23, 59, 59),  # noqa: DTZ001
    None,
    datetime(2000, 2, 29),  # noqa: DTZ001
    datetime(2024, 1, 1),  # noqa: DTZ001
    datetime(2024, 1, 31),  # noqa: DTZ001
]
TABLE = pa.table(
    {
        "row": range(6),
        "email": ["ada@x.org", "ABC", "a_b%c", "a\\b\nz", None, "é"],
        "a": pa.array([1, 2, -3, 2**31 - 1, None, 0], pa.int32()),
        "b": pa.array([1, 5, -3, 7, None, None], pa.int64()),
        "big": pa.array([2**53, 2**53 + 1, 1, None, 0, 2**62]),
        "f": [0.1, float("nan"), 2.5, None, -1.0, 0.0],
        "g": [2.0**53, 1.0, 1.0, 0.1, None, 2.0**62],
        "t": pa.array(TIMES, pa.timestamp("us")),
        "z": pa.array(TIMES, pa.timestamp("us", "UTC")),
        "kind": pa.array(["x", "y", "x", None, "z", ""]).dictionary_encode(),
        "s": [{"x": one} for one in ("ab", "cd", None, "", "ä", "AB")],
    }
)
DATA = {size: bloomed(TABLE, "a", "email", row_group_size=size) for size in (1, 6)}
"""The table as a file, by the size of its row groups."""

LIKE = [
    "email LIKE 'a%'",
    "email NOT LIKE 'a%'",
    "email LIKE 'a!_b!%_' ESCAPE '!'",
    "email NOT LIKE '%!%%' ESCAPE '!'",
    "email LIKE '%\n_'",
    "email ILIKE 'A%'",
    "email NOT ILIKE 'a%'",
    "email LIKE '_'",
    "email LIKE '%|\\%' ESCAPE '|'",
    "email LIKE ''",
    "email LIKE NULL",
    "kind LIKE 'x%'",
    "s.x LIKE '_b'",
    "lower(s.x) LIKE 'ab'",
    "starts_with(email, 'a')",
    "contains(email, 'b')",
    "a = 1 OR email LIKE 'A%'",
]
OTHERS = [
    *("a = b", "a <> b", "a < b", "a >= b", "big = g", "big > g", "a = f", "email < kind", "t = t"),
    *("lower(email) = 'abc'", "upper(email) IN ('ABC', 'É')", "upper(email) IN ('ABC', NULL)"),
    *("length(email) > 3", "length(email) = 1", "length(email) BETWEEN 1 AND 3"),
    *(
        "a + 1 = 3",
        "a + 0.5e0 > 1",
        "f * 1.5 = 3.75",
        "b * 2 > 9",
        "a + b < 0",
        "a - b = 0",
        "-a < 3",
        "abs(a) = 3",
    ),
    *("a % 2 = 1", "b % 3 <> 0", "f + 1 = 1.1e0", "f * 2 <> 5", "a * b = 9"),
    *(
        "email || 'x' = 'ABCx'",
        "kind || email = 'yABC'",
        "coalesce(a, 7) = 7",
        "coalesce(b, a) = 0",
    ),
    *("a IN (b, 2)", "a BETWEEN b AND 5", "1 BETWEEN a AND b", "5 > a + 1"),
    *("a IS DISTINCT FROM b", "a IS NOT DISTINCT FROM b", "lower(email) IS DISTINCT FROM 'abc'"),
    *("lower(email) IS NULL", "lower(email) IS NOT NULL", "b + 1 IS NULL"),
    *("trim(email) = 'ABC'", "substring(email, 1, 2) = 'ad'", "substring(email, 2) = 'BC'"),
    *("EXTRACT(year FROM t) = 2024", "year(t) = 2024", "month(t) > 1", "hour(t) = 23"),
    *("CAST(t AS DATE) = DATE '2024-01-31'", "CAST(t AS DATE) < DATE '1970-01-01'"),
    *("CAST(a AS VARCHAR) = '1'", "CAST(a AS VARCHAR) LIKE '-%'", "CAST(a AS BIGINT) * 4 > 100"),
    "CAST(big AS BIGINT) > 9007199254740990",
    *("CAST(big AS DOUBLE) = 9007199254740992", "CAST(a AS DOUBLE) = 1.5"),
]


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.register("t", TABLE)
        yield connection


@pytest.mark.parametrize("text", [*LIKE, *OTHERS])
def test_rows_are_those_of_duckdb(duck: duckdb.DuckDBPyConnection, text: str) -> None:
    for condition in (text, f"NOT ({text})", f"({text}) OR a = 2"):
        query = f"SELECT row FROM t WHERE {condition} ORDER BY row"  # noqa: S608  of this test
        expected = [row for (row,) in duck.execute(query).fetchall()]
        assert read_table(DATA[1], filters=condition)["row"].to_pylist() == expected
        assert expected == [] or probe(DATA[1], condition).num_surviving > 0
    assert read_table(DATA[6], filters=condition)["row"].to_pylist() == expected
    batches = list(iter_batches(DATA[1], filters=condition, columns=["row"]))
    assert [row for one in batches for row in one["row"].to_pylist()] == expected
    assert dataset(DATA[1], filters=condition).count_rows() == len(expected)


@pytest.mark.parametrize(
    ("text", "rows"), [("email ~ '^a.b'", [2, 3]), ("email ~* 'B'", [1, 2, 3])]
)
def test_regular_expressions_match_anywhere(text: str, rows: list[int]) -> None:
    assert TABLE.filter(to_arrow(text, TABLE.schema))["row"].to_pylist() == rows


@pytest.mark.parametrize(
    "text",
    [
        *(
            "a / 2 = 1",
            "f % 2 = 1",
            "a % 0 = 1",
            "a % b = 1",
            "email SIMILAR TO 'a'",
            "md5(email) = 'x'",
        ),
        *(
            "email IN (SELECT 1)",
            "EXISTS (SELECT 1)",
            "year(z) = 2024",
            "CAST(z AS DATE) = '2024-01-01'",
        ),
        *("a LIKE '1%'", "email LIKE kind", "CAST(f AS VARCHAR) = '1'", "CAST(email AS INT) = 1"),
        *(
            "CAST(a AS DECIMAL(9, 2)) = 1",
            "substring(email, 0) = 'a'",
            "trim(LEADING 'a' FROM email) = 'b'",
        ),
        *("email = a", "t = email", "s = a", "lower(a) = '1'", "email + 1 = 2", "(a, b) > (1, 2)"),
        *("CASE WHEN a = 1 THEN TRUE END", "now() > t", "lower('A') = 'a'", "f || 'x' = 'y'"),
    ],
)
def test_what_is_refused_says_so(text: str) -> None:
    assert isinstance(parse(text), Opaque)
    with pytest.raises(InvalidArgument, match=r"cannot be (evaluated|compared)"):
        to_arrow(text, TABLE.schema)


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("year(t) = 2020", "t has a time zone, and its dates depend on the reader's"),
        ("year(i) = 2020", "i is no date and no timestamp, but of type int64"),
        ("md5(s) = 'x'", "the function MD5 is not known"),
        ("own(s) = 'x'", "the function OWN is not known"),
        ("upper(i) = 'A'", "i is no text, but of type int64"),
        ("s + 1 = 2", "there is no arithmetic with values of type string"),
        ("CAST(s AS INT) = 1", "engines differ in how they convert string to INT"),
        ("EXTRACT(century FROM t) = 3", "CENTURY is no part of a date that is known"),
    ],
)
def test_why_a_part_is_not_evaluated(condition: str, why: str) -> None:
    types = {"i": pa.int64(), "s": pa.string(), "t": pa.timestamp("us", "UTC")}
    with pytest.raises(InvalidArgument) as caught:
        to_arrow(condition, pa.schema(types))
    assert caught.value.problem.endswith(f": {why}")
    assert caught.value.remedy == "Give a pyarrow expression."


def test_the_refusal_speaks_of_quotes_where_there_are_some() -> None:
    with pytest.raises(InvalidArgument, match="Write strings in single quotes; for all else"):
        to_arrow('md5(s) = "s"', pa.schema({"s": pa.string()}))


def test_columns_that_are_not_there() -> None:
    with pytest.raises(ColumnNotFound, match='there is no column "emial"'):
        to_arrow("lower(emial) = 'x'", TABLE.schema)


def test_text_that_is_no_sql_is_not_taken_for_it() -> None:
    with pytest.raises(InvalidArgument, match="cannot be evaluated: a < b"):
        to_arrow(Opaque("a < b"), TABLE.schema)
