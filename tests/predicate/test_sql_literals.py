"""Long IN lists in SQL text."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.predicate import sql, sql_literals
from parquet_bloomwriter.predicate.expression import (
    And,
    Comparison,
    Expression,
    IsIn,
    Not,
    Opaque,
    Or,
    Value,
)
from parquet_bloomwriter.predicate.sql import parse_sql, read_sql
from parquet_bloomwriter.predicate.to_sql import spell_value

A, B = Comparison("a", "=", 1), Comparison("b", "=", 2)
LONG = "12345678901234567890123.1234567890"
KEYS = tuple(range(2_000))
NUMBERS = ", ".join(map(str, KEYS))


def by_sqlglot(text: str, monkeypatch: pytest.MonkeyPatch) -> Expression:
    with monkeypatch.context() as patch:
        patch.setattr(sql, "shortened", lambda _: None)
        return parse_sql(text)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        (f"id IN ({NUMBERS})", IsIn("id", KEYS)),
        (f"WHERE id in\n(\t{NUMBERS} )", IsIn("id", KEYS)),
        (f"NOT id IN ({NUMBERS})", Not(IsIn("id", KEYS))),
        (f"a = 1 AND (id NOT IN ({NUMBERS}) OR b = 2)", And((A, Or((Not(IsIn("id", KEYS)), B))))),
        (f"id IN ({NUMBERS}) OR \"IN (1)\" IN ('IN (2)')", None),
        (f"'IN (1, 2)' = a OR id IN ({NUMBERS})", None),
        (f"a IN ('it''s', '', '--x') AND id IN ({NUMBERS})", None),
    ],
)
def test_lists_among_other_things(
    text: str, tree: Expression | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert parse_sql(text) == (tree or by_sqlglot(text, monkeypatch))
    assert parse_sql(text) == by_sqlglot(text, monkeypatch)


PLAIN = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))
NUMBER = st.integers() | st.decimals(allow_nan=False, allow_infinity=False, places=3)


@given(st.lists(NUMBER, min_size=1) | st.lists(PLAIN, min_size=1))
def test_the_values_are_those_of_sqlglot(values: list[Value]) -> None:
    text = f"id IN ({', '.join(spell_value(value) for value in values)})"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sql_literals, "_LONG", 0)
        found = parse_sql(text)
        assert found == by_sqlglot(text, patch) == IsIn("id", tuple(values))


@pytest.mark.parametrize(
    "condition",
    [
        f"lower(id) IN ({NUMBERS})",
        f"s.in ({NUMBERS}) = 1",
        f"id IN ({NUMBERS}) = flag",
        f"id IN ({NUMBERS}, b)",
    ],
)
def test_lists_of_what_is_not_understood_are_opaque(condition: str) -> None:
    tree = parse_sql(f"a = 1 AND NOT ({condition})")
    assert isinstance(tree, And)
    assert isinstance(tree.operands[1], Not)
    opaque = tree.operands[1].operand
    assert isinstance(opaque, Opaque)
    assert "1998, 1999" in opaque.text


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        ("NULL", ()),
        ("1e3", (1000.0,)),
        ("- 5", (-5,)),
        ("1.5", (Decimal("1.5"),)),
        (f"-{LONG}", (Decimal(f"-{LONG}"),)),
        ("X'00'", (b"\x00",)),
        ("'a' /* , 'b' */", ("a",)),
        ("'a' -- , 'b'\n", ("a",)),
        ("'back\\slash'", ("back\\slash",)),
        ("'$1'", ("$1",)),
    ],
)
def test_other_members_are_left_to_sqlglot(member: str, expected: tuple[Value, ...]) -> None:
    assert parse_sql(f"id IN ({NUMBERS}, {member})") == IsIn("id", (*KEYS, *expected))


@pytest.mark.parametrize("text", ["'$$' = $$ OR id IN (1, 2) OR $$ = a", "E'\\' OR id IN (1)' = a"])
def test_other_quotation_marks_are_left_to_sqlglot(text: str) -> None:
    assert sql_literals.shortened(text + " OR a = 1" * 1_000) is None


@pytest.mark.parametrize("end", [" AND", " b", " OR a = 'x", ") OR (a = 1"])
def test_errors_say_where_in_the_whole_text(end: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_sql(f"id IN ({NUMBERS}){end}")
    place = int(caught.value.problem.split("at character ")[1].split(":")[0])
    assert place >= len(f"id IN ({NUMBERS})")


def test_short_text_is_left_to_sqlglot() -> None:
    assert sql_literals.shortened("id IN (1, 2)") is None


def test_sqlglot_does_not_see_long_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def read(text: str) -> object:
        seen.append(text)
        return read_sql(text)

    monkeypatch.setattr(sql, "read_sql", read)
    assert parse_sql(f"id IN ({NUMBERS}) AND a = 1") == And((IsIn("id", KEYS), A))
    assert seen == ["id IN ('\x010') AND a = 1"]
