"""Trees in the words of SQL."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID

import pytest

from parquet_bloomwriter.predicate import columns_of, parse, to_text
from parquet_bloomwriter.predicate.expression import (
    And,
    Comparison,
    Constant,
    Expression,
    Instant,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Or,
    TimeOfDay,
    Value,
)
from parquet_bloomwriter.predicate.to_sql import spell_name, spell_value

ID = UUID("01234567-89ab-cdef-0123-456789abcdef")
A, B = Comparison("a", "=", 1), Comparison("b", "<", 2)
OPAQUE = Opaque("x LIKE 'y%'")


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (A, "a = 1"),
        (Comparison("a", "!=", None), "a != NULL"),
        (Comparison("active", "=", value=True), "active = TRUE"),
        (IsNull("a"), "a IS NULL"),
        (Not(IsNull("a")), "a IS NOT NULL"),
        (Not(A), "NOT (a = 1)"),
        (Not(Not(A)), "NOT NOT (a = 1)"),
        (And((A, B)), "a = 1 AND b < 2"),
        (Or((A, And((A, B)))), "a = 1 OR (a = 1 AND b < 2)"),
        (And((A, Or((A, B)))), "a = 1 AND (a = 1 OR b < 2)"),
        (Not(And((A, B))), "NOT (a = 1 AND b < 2)"),
        (And((OPAQUE, A)), "(x LIKE 'y%') AND a = 1"),
        (Not(OPAQUE), "NOT (x LIKE 'y%')"),
        (OPAQUE, "x LIKE 'y%'"),
        (Constant(value=False), "FALSE"),
        (IsIn("a", (1, 2, 3)), "a IN (1, 2, 3)"),
        (Not(IsIn("a", ("x",))), "a NOT IN ('x')"),
        (IsIn("a", tuple(range(100_000))), "a IN (0, 1, 2, ... 100,000 values)"),
        (Not(IsIn("a", (1, 2, 3, 4))), "a NOT IN (1, 2, 3, ... 4 values)"),
    ],
)
def test_trees(tree: Expression, text: str) -> None:
    assert to_text(tree) == text


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("a", "a"),
        ("s.x_1", "s.x_1"),
        ("s.x y", 's."x y"'),
        ("order", '"order"'),
        ("s.Select", 's."Select"'),
        ('it"s', '"it""s"'),
        ("1st", '"1st"'),
        ("é", '"é"'),
        ("", '""'),
        ("a..b", '"a..b"'),
    ],
)
def test_names(column: str, text: str) -> None:
    assert spell_name(column) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        (-5, "-5"),
        (5.5, "5.5"),
        (float("inf"), "CAST('inf' AS DOUBLE)"),
        (float("nan"), "CAST('nan' AS DOUBLE)"),
        (Decimal("1.20"), "1.20"),
        ("it's", "'it''s'"),
        (b"\x00\xab", "X'00AB'"),
        (date(2024, 1, 31), "DATE '2024-01-31'"),
        (datetime(2024, 1, 31, 10, tzinfo=UTC), "TIMESTAMP '2024-01-31 10:00:00+00:00'"),
        (time(10), "TIME '10:00:00'"),
        (TimeOfDay(36_000_000_000_001), "TIME '10:00:00.000000001'"),
        (Instant(1_500_000_000, is_zoned=False), "TIMESTAMP '1970-01-01 00:00:01.5'"),
        (Instant(-1, is_zoned=True), "TIMESTAMP '1969-12-31 23:59:59.999999999+00:00'"),
        (Instant(10**9 * 253402300800, is_zoned=False), "TIMESTAMP '10000-01-01 00:00:00'"),
        (ID, f"UUID '{ID}'"),
    ],
)
def test_values(value: Value | None, text: str) -> None:
    assert spell_value(value) == text


@pytest.mark.parametrize(
    "text",
    [
        "a = 1 AND NOT (b = 'it''s' OR s.\"x y\" IS NOT NULL)",
        "\"order\" IN (1.20, 2, 3) AND c NOT IN ('x') AND \"Table\" = X'AB'",
        "d = DATE '2024-01-31' OR t = TIMESTAMP '1970-01-01 00:00:01.000000001+00:00'",
        f"u = UUID '{ID}' AND z > TIME '10:00:00' AND NOT NOT (a = NULL)",
        "TRUE AND (a = 1 OR FALSE)",
    ],
)
def test_what_is_spelled_can_be_read(text: str) -> None:
    assert to_text(parse(text)) == text


def test_columns_are_named_once_and_in_order() -> None:
    tree = parse("s.x = 1 AND (b IN (1) OR NOT b IS NULL) AND c = d AND a < 5 OR s.x > 2 OR TRUE")
    assert columns_of(tree) == ("s.x", "b", "a")


@pytest.mark.parametrize("text", ["x <= 1e-1", "x <= 0.1", "x = 25e-1", "x IN (1e-7, 1e22, 3e0)"])
def test_a_double_is_not_spelled_as_a_decimal_number(text: str) -> None:
    assert parse(to_text(parse(text))) == parse(text)
