"""The conditions of predicates on filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter.hashing import xxh64
from parquet_bloomwriter.index.query.conditions import AllOf, Contains, columns_in, condition_of
from parquet_bloomwriter.metadata import PhysicalType, Repetition
from parquet_bloomwriter.predicate import parse
from tests.support.binding import bare_leaf

if TYPE_CHECKING:
    from parquet_bloomwriter.index.query.conditions import Condition

ID = bare_leaf(PhysicalType.INT64, name="id")
SMALL = bare_leaf(PhysicalType.INT32, name="small")
PLACE = bare_leaf(PhysicalType.BYTE_ARRAY, name="place", converted_type=0)
PRICE = bare_leaf(PhysicalType.DOUBLE, name="price")
NAMES = {
    xxh64(number.to_bytes(8, "little", signed=True)): str(number) for number in range(-5, 50)
} | {xxh64(text.encode()): text for text in "abcdefgh"}


def said(condition: Condition | None) -> str:
    """A condition in words, with values for their hashes."""
    if condition is None:
        return "anything"
    if isinstance(condition, Contains):
        values = sorted(NAMES[h] for h in condition.hashes.tolist())
        return f"{condition.column}:{','.join(values)}"
    parts = sorted(map(said, condition.parts))
    return f"{'all of' if isinstance(condition, AllOf) else 'any of'}({' '.join(parts)})"


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("id = 5", "id:5"),
        ("id IN (1, 2, 2)", "id:1,2"),
        ("id = 1 OR id = 2 OR id IN (2, 3)", "id:1,2,3"),
        ("id = 1 OR place = 'a' OR id = 2", "any of(id:1,2 place:a)"),
        ("id = 1 AND place = 'a'", "all of(id:1 place:a)"),
        ("id = 1 AND id = 2", "all of(id:1 id:2)"),
        ("id = 1 AND other > 3", "id:1"),
        ("id = 1 AND id > 0", "id:1"),
        ("id = 1 OR id > 0", "anything"),
        ("id = 1 OR other = 3", "anything"),
        ("id <> 1", "anything"),
        ("NOT (id <> 1)", "id:1"),
        ("NOT (id = 1)", "anything"),
        ("NOT (id <> 1 OR place <> 'a')", "all of(id:1 place:a)"),
        ("NOT (id <> 1 AND id <> 2)", "id:1,2"),
        ("id NOT IN (1)", "anything"),
        ("id IS NULL", "anything"),
        ("id IS NOT NULL", "anything"),
        ("id = NULL", "any of()"),
        ("id = 2.5", "any of()"),
        ("small = 3000000000", "any of()"),
        ("id = 2.5 OR id = 1", "id:1"),
        ("id = 2.5 AND id = 1", "any of()"),
        ("id IN (1, 2.5)", "id:1"),
        ("(id = 1 OR place = 'a') AND (id = 2 OR id = 3)", "all of(any of(id:1 place:a) id:2,3)"),
        ("TRUE", "anything"),
        ("FALSE", "any of()"),
        ("upper(place) = 'A'", "anything"),
        ("id = 1 OR upper(place) = 'A'", "anything"),
    ],
)
def test_only_equality_is_asked_for(predicate: str, expected: str) -> None:
    assert said(condition_of(parse(predicate), (ID, SMALL, PLACE))) == expected


def test_both_zeros_are_looked_for() -> None:
    condition = condition_of(parse("price = 0"), (PRICE,))
    assert isinstance(condition, Contains)
    zeros = (b"\0" * 8, b"\0" * 7 + b"\x80")
    assert condition.hashes.tolist() == sorted(map(xxh64, zeros))


@pytest.mark.parametrize(
    "leaf",
    [
        bare_leaf(PhysicalType.INT64, name="id", repetition=Repetition.REPEATED),
        bare_leaf(PhysicalType.BYTE_ARRAY, name="id", converted_type=5, scale=0, precision=5),
        bare_leaf(PhysicalType.FIXED_LEN_BYTE_ARRAY, name="id", type_length=12, converted_type=21),
    ],
)
def test_columns_without_known_equality_hold_anything(leaf: object) -> None:
    assert condition_of(parse("id = 1"), (leaf,)) is None  # type: ignore[arg-type]


def test_columns_are_found_wherever_they_stand() -> None:
    predicate = parse("a = 1 AND NOT (b IN (1) OR c IS NULL) OR upper(d) = 'x' OR s.x > 2")
    assert columns_in(predicate) == {"a", "b", "c", "s.x"}
