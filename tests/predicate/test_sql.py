"""SQL text -> trees."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID

import pytest

from parquet_bloomwriter.errors import InvalidArgument
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
    UnknownKind,
    Value,
)
from parquet_bloomwriter.predicate.sql import has_only, parse_sql, read_sql
from parquet_bloomwriter.predicate.sql_literals import literal_value

A, B, C = (Comparison(name, "=", number) for number, name in enumerate("abc", 1))
ID = UUID("01234567-89ab-cdef-0123-456789abcdef")
LONG = "12345678901234567890123.1234567890"
NULL = Comparison("a", "=", None)
WORDS = (
    *("date", "time", "timestamp", "order", "key", "value", "user", "type"),
    *("index", "count", "group", "comment", "update", "end", "interval"),
)
"""Words of SQL that columns are often named by."""


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = 1", A),
        ("a == 1", A),
        ("a != 1", Comparison("a", "!=", 1)),
        ("a <> 1", Comparison("a", "!=", 1)),
        ("a < 1", Comparison("a", "<", 1)),
        ("a <= 1", Comparison("a", "<=", 1)),
        ("a > 1", Comparison("a", ">", 1)),
        ("a >= 1", Comparison("a", ">=", 1)),
        ("1 = a", A),
        ("1 <> a", Comparison("a", "!=", 1)),
        ("1 < a", Comparison("a", ">", 1)),
        ("1 <= a", Comparison("a", ">=", 1)),
        ("1 > a", Comparison("a", "<", 1)),
        ("1 >= a", Comparison("a", "<=", 1)),
        ("WHERE a = 1", A),
        ("  where(a = 1) ;", A),
        ("((a)) = ((1)) -- not more", A),
        ("a = 1 /* and b = 2 */", A),
        ("a IN (1, 2)", IsIn("a", (1, 2))),
        ("a NOT IN (1, 2)", Not(IsIn("a", (1, 2)))),
        ("a BETWEEN 1 AND 2", And((Comparison("a", ">=", 1), Comparison("a", "<=", 2)))),
        ("a NOT BETWEEN 1 AND 2", Not(And((Comparison("a", ">=", 1), Comparison("a", "<=", 2))))),
        ("a IS NULL", IsNull("a")),
        ("a IS NOT NULL", Not(IsNull("a"))),
        ("NOT a IS NULL", Not(IsNull("a"))),
        ("a = 1 AND b = 2 AND c = 3", And((A, B, C))),
        ("a = 1 AND (b = 2 AND c = 3)", And((A, B, C))),
        ("a = 1 OR b = 2 AND c = 3", Or((A, And((B, C))))),
        ("(a = 1 OR b = 2) AND c = 3", And((Or((A, B)), C))),
        ("NOT a = 1 AND b = 2", And((Not(A), B))),
        ("NOT (a = 1 AND b = 2)", Not(And((A, B)))),
        ("NOT NOT a = 1", Not(Not(A))),
        ("TRUE", Constant(value=True)),
        ("a = 1 OR FALSE", Or((A, Constant(value=False)))),
        ("1 = 1 AND a = 1", And((Constant(value=True), A))),
        ("1 > 2", Constant(value=False)),
        ("active", Comparison("active", "=", value=True)),
        ("NOT active", Not(Comparison("active", "=", value=True))),
        ("a = 1 AND active", And((A, Comparison("active", "=", value=True)))),
    ],
)
def test_conditions(text: str, tree: Expression) -> None:
    assert parse_sql(text) == tree


def test_row_values() -> None:
    """They exclude where all readers agree: not under a NOT, where DuckDB keeps rows with nulls."""
    one, two = And((A, B)), And((Comparison("a", "=", 3), Comparison("b", "=", 4)))
    assert parse_sql("(a, b) IN ((1, 2), (3, 4))") == Or((one, two))
    assert parse_sql("((a, b)) = (1, 2)") == parse_sql("(1, 2) = (a, b)") == one
    opaque = Opaque("(a, b) IN ((1, 2))")
    assert parse_sql("(a, b) NOT IN ((1, 2))") == parse_sql("NOT (a, b) IN ((1, 2))") == Not(opaque)
    assert parse_sql("NOT (a, b) = (1, 2)") == Not(Opaque("(a, b) = (1, 2)"))
    many = parse_sql(f"(a, b) IN ({', '.join(f'({i}, {-i})' for i in range(1000))})")
    assert isinstance(many, And)
    first, second, whole = many.operands
    assert first == IsIn("a", tuple(range(1000)))
    assert second == IsIn("b", tuple(-i for i in range(1000)))
    assert isinstance(whole, Opaque)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = NULL", NULL),
        ("a < NULL", Comparison("a", "<", None)),
        ("NOT a = NULL", Not(NULL)),
        ("a IN (1, NULL)", IsIn("a", (1,))),
        ("a IN (NULL)", NULL),
        ("a NOT IN (1, NULL)", Not(Or((IsIn("a", (1,)), NULL)))),
        ("NOT (a IN (1, NULL) OR b = 2)", Not(Or((Or((IsIn("a", (1,)), NULL)), B)))),
        ("a NOT IN (NULL)", Not(NULL)),
        ("a <=> 1", A),
        ("a IS NOT DISTINCT FROM 1", A),
        ("1 IS NOT DISTINCT FROM a", A),
        ("a <=> NULL", IsNull("a")),
        ("a IS DISTINCT FROM NULL", Not(IsNull("a"))),
        ("a IS DISTINCT FROM 1", Or((Comparison("a", "!=", 1), IsNull("a")))),
        ("NOT a <=> 1", Not(And((A, Not(IsNull("a")))))),
        ("NOT a IS DISTINCT FROM 1", Not(Or((Comparison("a", "!=", 1), IsNull("a"))))),
        ("a IS TRUE", Comparison("a", "=", value=True)),
        ("a IS FALSE", Comparison("a", "=", value=False)),
        (
            "a IS NOT TRUE",
            Not(And((Comparison("a", "=", value=True), Not(IsNull("a"))))),
        ),
    ],
)
def test_nulls(text: str, tree: Expression) -> None:
    assert parse_sql(text) == tree


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("a", "a"),
        ('"a"', "a"),
        ('"order by"', "order by"),
        ('"it""s"', 'it"s'),
        ("s.x", "s.x"),
        ('s."x y".z', "s.x y.z"),
        ('"s.x"', "s.x"),
        ("a.b.c.d.e.f", "a.b.c.d.e.f"),
        ("Straße", "Straße"),
        ("CamelCase", "CamelCase"),
        *((name, name) for name in WORDS),
    ],
)
def test_names(text: str, column: str) -> None:
    assert parse_sql(f"{text} = 1") == Comparison(column, "=", 1)
    assert parse_sql(f"a = 1 AND {text} IN (1)") == And((A, IsIn(column, (1,))))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", 42),
        ("-42", -42),
        ("- 42", -42),
        ("-(-42)", 42),
        ("12345678901234567890123", 12345678901234567890123),
        ("1.20", Decimal("1.20")),
        ("-1.20", Decimal("-1.20")),
        (".5", Decimal("0.5")),
        ("5.", Decimal(5)),
        (
            "0.1234567890123456789012345678901234567",
            Decimal("0.1234567890123456789012345678901234567"),
        ),
        (f"-{LONG}", Decimal(f"-{LONG}")),
        ("1e3", 1000.0),
        ("-1.5E-3", -0.0015),
        ("'text'", "text"),
        ("''", ""),
        ("'it''s'", "it's"),
        (r"'back\slash'", r"back\slash"),
        ("'日本'", "日本"),
        ("'123'", "123"),
        ("X'00ab'", b"\x00\xab"),
        ("x'00AB'", b"\x00\xab"),
        ("X''", b""),
        ("TRUE", True),
        ("false", False),
        ("DATE '2024-01-31'", date(2024, 1, 31)),
        ("'2024-01-31'::date", date(2024, 1, 31)),
        ("CAST('2024-01-31' AS DATE)", date(2024, 1, 31)),
        ("TIMESTAMP '2024-01-31 10:00:00'", datetime(2024, 1, 31, 10)),  # noqa: DTZ001
        (
            "TIMESTAMP '1970-01-01 00:00:01+02:00'",
            Instant(-7_199_000_000_000, is_zoned=True, may_lose_zone=True),
        ),
        ("'1970-01-01 00:00:01+02:00'", "1970-01-01 00:00:01+02:00"),
        ("TIMESTAMPTZ '2024-01-31 10:00:00Z'", datetime(2024, 1, 31, 10, tzinfo=UTC)),
        (
            "TIMESTAMP WITH TIME ZONE '2024-01-31 10:00:00+00'",
            datetime(2024, 1, 31, 10, tzinfo=UTC),
        ),
        ("TIMESTAMP '1970-01-01 00:00:01.000000001'", Instant(1_000_000_001, is_zoned=False)),
        ("TIME '10:00:00.5'", time(10, 0, 0, 500_000)),
        ("TIME '00:00:00.000000001'", TimeOfDay(1)),
        (f"UUID '{ID}'", ID),
        (f"'{ID}'::uuid", ID),
        ("'5'::int", 5),
        ("5::bigint", 5),
        ("5::double", 5.0),
        ("'x'::text", "x"),
    ],
)
def test_literals(text: str, value: Value) -> None:
    found = parse_sql(f"a = {text}")
    assert found == Comparison("a", "=", value)
    assert isinstance(found, Comparison)
    assert type(found.value) is type(value)
    assert parse_sql(f"a IN (NULL, {text})") == IsIn("a", (value,))


@pytest.mark.parametrize(
    "text",
    [
        "a LIKE 'x%'",
        "a NOT LIKE 'x%'",
        "lower(a) = 'x'",
        "a + 1 = 2",
        "-a = 1",
        "a = b",
        "a = current_date",
        "a BETWEEN b AND 2",
        "a BETWEEN SYMMETRIC 2 AND 1",
        "a IN (1, b)",
        "a IN (SELECT 1)",
        "a IN ()",
        "(a, b) = (1, NULL)",
        "(a, b) <> (1, 2)",
        "(a, b) < (1, 2)",
        "(a, b) = (1, 2, 3)",
        "(a, b) IN ((1, 2), (3, NULL))",
        "(a, b) IN ((1, 2), (3, b))",
        "(a, b) IN (1, 2)",
        "a IN ((1, 2))",
        "a[1] = 2",
        "a = 1 = b",
        "a::date = DATE '2024-01-31'",
        "a IS DISTINCT FROM b",
        "(a = 1) IS TRUE",
        "a IS JSON",
        "EXISTS (SELECT 1)",
        "CASE WHEN a THEN b END",
        "'x' = 'x'",
        "NULL = 1",
        "a = 'x' 'y'",
        "a = E'x'",
        "a = B'101'",
        "a = X'1'",
        "a = 1e999",
        "a = DATE '2024-02-30'",
        "a = DATE 'today'",
        "a = TIMESTAMP 'now'",
        "a = TIMESTAMP(3) '2024-01-31 10:00:00'",
        "a = UUID '0123'",
        "a = '5.5'::int",
        "a = '1.205'::decimal(9, 2)",
        "a = 1.1::real",
        "a = INTERVAL '1 day'",
        "a = $1",
        "a = :name",
    ],
)
def test_what_says_nothing_about_one_column_is_opaque(text: str) -> None:
    assert isinstance(parse_sql(text), Opaque)
    assert isinstance(parse_sql(f"(({text}))"), Opaque)
    tree = parse_sql(f"a = 1 AND NOT ({text})")
    assert isinstance(tree, And)
    assert tree.operands[0] == A
    assert isinstance(tree.operands[1], Not)
    assert isinstance(tree.operands[1].operand, Opaque)


def test_arguments_that_are_not_known_make_a_condition_opaque() -> None:
    node = read_sql("a = CAST('2024-01-31' AS DATE)")
    assert literal_value(node.expression) == date(2024, 1, 31)
    node.expression.set("format", "anything")
    with pytest.raises(UnknownKind):
        literal_value(node.expression)
    node.set("negate", "anything")
    assert not has_only(node, "this", "expression")


@pytest.mark.parametrize("value", ["where", "somewhere else", "no\nwhere", " where "])
def test_where_is_a_word_like_others_inside_a_condition(value: str) -> None:
    assert parse_sql(f"a = '{value}'") == Comparison("a", "=", value)
    assert parse_sql("somewhere = 1") == Comparison("somewhere", "=", 1)


def test_blanks_take_no_time() -> None:
    """What takes the square of their number would not end before the time limit of a test."""
    assert parse_sql("a = 1" + " " * 2_000_000) == A


@pytest.mark.parametrize(
    "number",
    [
        "1" * 5000,
        f"'{'1' * 5000}'::int",
        f"{'1' * 400}::double precision",
        f"{'1' * 400}.5::double precision",
    ],
)
def test_numbers_too_long_for_python_are_opaque(number: str) -> None:
    assert isinstance(parse_sql(f"a = {number}"), Opaque)
    assert isinstance(parse_sql(f"a IN (1, {number})"), Opaque)


@pytest.mark.parametrize(
    "function",
    [
        *("list_contains()", "list_contains(a)", "list_contains(a, 1, 2)", "list_contains(1, 2)"),
        *("list_contains(map_values(), 1)", "list_contains(map_values(a, b), 1)"),
        *("array_contains(a + 1, 1)", "map_contains(a, b)"),
        *("1 = ANY()", "1 = ANY(a, b)", "1 = ALL(a)", "1 <> ANY(a)"),
    ],
)
def test_functions_of_lists_with_other_arguments_are_opaque(function: str) -> None:
    assert isinstance(parse_sql(function), Opaque)


def test_opaque_parts_keep_their_text() -> None:
    tree = parse_sql("a = 1 OR /* what? */ b LIKE 'it''s%' OR \"c d\" + 1 > 2")
    assert tree == Or((A, Opaque("b LIKE 'it''s%'"), Opaque('"c d" + 1 > 2')))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no condition is given"),
        (" ; ", "no condition is given"),
        ("WHERE", "no condition is given"),
        ("5", '"5" is a value, no condition'),
        ("'x'", "\"'x'\" is a value, no condition"),
        ("NULL", '"NULL" is a value, no condition'),
        ("a = = 1", "the condition cannot be parsed, at character 5: = 1"),
        ("a = 1 b", "the condition cannot be parsed, at character 7: b"),
        ("a = 1)", "the condition cannot be parsed, at character 6: )"),
        ("a = 1\n AND é = 2 x", "the condition cannot be parsed, at character 18: x"),
        ("WHERE a = 1 ORDER BY b", "the condition cannot be parsed, at character 13: ORDER BY b"),
        ("a =", "the condition ends too early, at character 3: ="),
        ("(a = 1", "the condition ends too early, at character 6: 1"),
        ("a = 'x", "a string, name or comment is not closed, at character 5: 'x"),
        ('a = 1 AND "b', 'a string, name or comment is not closed, at character 11: "b'),
        ("a = 1 /* b", "a string, name or comment is not closed"),
        ("a = 1; b = 2", "more than one condition is given"),
        ("a = 0x1F", "hexadecimal numbers are not understood, at character 5: 0x1F"),
        ("SELECT * FROM t WHERE a = 1", "this is a whole statement, not a condition"),
        ("(select 1)", "this is a whole statement, not a condition"),
        ("DELETE FROM t", "this is a whole statement, not a condition"),
        ("(" * 1000 + "a = 1" + ")" * 1000, "the condition is nested too deeply"),
        ("a" + ".b" * 3000 + " = 1", "the condition is nested too deeply"),
        ("a" + "[1]" * 3000 + " = 1", "the condition has more than 200 subscripts"),
    ],
)
def test_what_cannot_be_understood_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_sql(text)
    assert caught.value.problem == problem
    assert caught.value.remedy.endswith(".")


def test_long_text_is_not_repeated_in_errors() -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_sql("= " + "x" * 1000)
    assert len(caught.value.problem) < 100


def test_ten_thousand_alternatives_are_no_matter_of_depth() -> None:
    tree = parse_sql(" OR ".join(f"a = {number}" for number in range(10_000)))
    assert tree == Or(tuple(Comparison("a", "=", number) for number in range(10_000)))


def test_a_word_of_a_statement_may_be_a_column() -> None:
    assert parse_sql("update IN (1)") == IsIn("update", (1,))
    assert parse_sql("copy = 1") == Comparison("copy", "=", 1)


@pytest.mark.parametrize(
    "text", ["-TRUE", "-FALSE", "-'5'", "-NULL", "-X'05'", "-DATE '2024-01-31'", "-(TRUE)"]
)
def test_what_is_no_number_has_no_negative(text: str) -> None:
    assert isinstance(parse_sql(f"a = {text}"), Opaque)
