"""Polars expressions as trees; all are tried as Polars hands them to a source."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.io.plugins import register_io_source

from parquet_bloomwriter.predicate import to_text
from parquet_bloomwriter.predicate.expression import (
    And,
    Comparison,
    Constant,
    Expression,
    Holds,
    Instant,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Or,
)
from parquet_bloomwriter.predicate.polars_in import from_polars

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = pl.Schema(
    {
        "i": pl.Int32(),
        "l": pl.Int64(),
        "u": pl.UInt8(),
        "f": pl.Float32(),
        "d": pl.Float64(),
        "t": pl.String(),
        "b": pl.Binary(),
        "is": pl.Boolean(),
        "day": pl.Date(),
        "us": pl.Datetime("us"),
        "ns": pl.Datetime("ns"),
        "utc": pl.Datetime("ms", "UTC"),
        "berlin": pl.Datetime("us", "Europe/Berlin"),
        "clock": pl.Time(),
        "money": pl.Decimal(10, 2),
        "kind": pl.Categorical(),
        "side": pl.Enum(["left", "right"]),
        "in": pl.Struct({"x": pl.Int64(), "deep": pl.Struct({"y": pl.String()})}),
        "a.b": pl.Int64(),
        "p": pl.Struct({"q": pl.Int64(), "r.s": pl.Int64()}),
        "p.q": pl.Int64(),
        "span": pl.Duration("us"),
        "many": pl.List(pl.Int64()),
    }
)
i, text = pl.col("i"), pl.col("t")
NOON = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)
NOON_NS = int(NOON.timestamp()) * 10**9
INSTANT = Instant(NOON_NS, is_zoned=True)
CLOCK = Instant(NOON_NS, is_zoned=False)
NAN = pl.lit(math.nan)


def handed_over(condition: pl.Expr) -> pl.Expr:
    """Return what Polars hands to a source for a condition."""
    given: list[pl.Expr | None] = []

    def source(
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        _rows: int | None,
        _size: int | None,
    ) -> Iterator[pl.DataFrame]:
        given.append(predicate)
        yield pl.DataFrame(schema=SCHEMA).select(with_columns or pl.all())

    register_io_source(source, schema=SCHEMA).filter(condition).collect()
    assert given[0] is not None
    return given[0]


def tree(condition: pl.Expr) -> Expression:
    return from_polars(handed_over(condition), SCHEMA)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (i == 5, Comparison("i", "=", 5)),
        (pl.lit(5) == i, Comparison("i", "=", 5)),
        (pl.lit(5) < i, Comparison("i", ">", 5)),
        (i <= 5, Comparison("i", "<=", 5)),
        (i != 5, Comparison("i", "!=", 5)),
        (text == "ä ", Comparison("t", "=", "ä ")),
        (pl.col("b") == b"\0", Comparison("b", "=", b"\0")),
        (pl.col("f") == 0.5, Comparison("f", "=", 0.5)),
        (pl.col("day") == dt.date(2026, 1, 2), Comparison("day", "=", dt.date(2026, 1, 2))),
        (pl.col("us") == NOON.replace(tzinfo=None), Comparison("us", "=", CLOCK)),
        (
            pl.col("ns") >= NOON.replace(tzinfo=None),
            Comparison("ns", ">=", CLOCK),
        ),
        (pl.col("utc") == NOON, Comparison("utc", "=", INSTANT)),
        (pl.col("berlin") == NOON, Comparison("berlin", "=", INSTANT)),
        (pl.col("clock") == dt.time(1), Comparison("clock", "=", dt.time(1))),
        (pl.col("money") == Decimal("1.5"), Comparison("money", "=", Decimal("1.5"))),
        (pl.col("kind") == "a", Comparison("kind", "=", "a")),
        (pl.col("side") == "left", Comparison("side", "=", "left")),
        (pl.col("in").struct.field("x") == 7, Comparison("in.x", "=", 7)),
        (
            pl.col("in").struct.field("deep").struct.field("y") == "z",
            Comparison("in.deep.y", "=", "z"),
        ),
        (pl.col("is"), Comparison("is", "=", value=True)),
        (~pl.col("is"), Not(Comparison("is", "=", value=True))),
        (i.is_null(), IsNull("i")),
        (i.is_not_null(), Not(IsNull("i"))),
        (i.eq_missing(5), Comparison("i", "=", 5)),
        (i.is_in([3, 1]), IsIn("i", (3, 1))),
        (i.is_in([3, None]), IsIn("i", (3,))),
        (i.is_in([3, None], nulls_equal=True), Or((IsIn("i", (3,)), IsNull("i")))),
        (pl.col("side").is_in(["left"]), IsIn("side", ("left",))),
        (pl.col("l").is_in(pl.Series([3, 1]).implode()), IsIn("l", (3, 1))),
        (i.is_between(1, 3), And((Comparison("i", ">=", 1), Comparison("i", "<=", 3)))),
        (
            i.is_between(1, 3, closed="left"),
            And((Comparison("i", ">=", 1), Comparison("i", "<", 3))),
        ),
        ((i == 1) & (text == "a"), And((Comparison("i", "=", 1), Comparison("t", "=", "a")))),
        ((i == 1) | (text == "a"), Or((Comparison("i", "=", 1), Comparison("t", "=", "a")))),
        (i == 5.0, Comparison("i", "=", 5.0)),
        (i.cast(pl.Int64) == 2**40, Comparison("i", "=", 2**40)),
        (pl.col("u").cast(pl.Int16) == 3, Comparison("u", "=", 3)),
        (pl.col("l") == 1.5, Comparison("l", "=", 1.5)),
        (pl.col("f").cast(pl.Float64) == 0.1, Comparison("f", "=", 0.1)),
        (i.is_in([]), Constant(value=False)),
        (pl.col("many").list.contains(1), Holds("many", "element", 1)),
        (~pl.col("many").list.contains(1), Not(Holds("many", "element", 1))),
    ],
    ids=str,
)
def test_conditions_that_are_understood(condition: pl.Expr, expected: Expression) -> None:
    assert tree(condition) == expected


@pytest.mark.parametrize(
    "condition",
    [
        text.str.to_lowercase() == "a",
        text.str.starts_with("a"),
        i + 1 == 5,
        i == pl.col("l"),
        i.cast(pl.String) == "5",
        pl.col("l").cast(pl.Int32, strict=False) == 5,
        pl.col("l") == 2.0**53,
        pl.col("l").cast(pl.Float32) == 1.0,
        pl.col("d").cast(pl.Float32) == 0.1,
        pl.col("d") == NAN,
        pl.col("d") < NAN,
        pl.col("d").is_in([1.0, math.nan]),
        pl.col("day") == dt.datetime(2026, 1, 2),  # noqa: DTZ001
        pl.col("day").cast(pl.Datetime("us")) == NOON.replace(tzinfo=None),
        pl.col("ns").cast(pl.Datetime("us")) == NOON.replace(tzinfo=None),
        pl.col("us").dt.date() == dt.date(2026, 1, 2),
        pl.col("money") == Decimal("1.505"),
        pl.col("money") == 1.5,
        pl.col("kind") < "a",
        pl.col("side") >= "left",
        pl.col("a.b") == 1,
        pl.col("p").struct.field("q") == 1,
        pl.col("p").struct.field("r.s") == 1,
        pl.col("span") == dt.timedelta(1),
        pl.col("many").list.contains(None),
        pl.col("many").list.contains(i),
        ~i.is_in([3, None]),
        ~i.is_in([3], nulls_equal=True),
        i.ne_missing(5),
        (i == 1) ^ (i == 2),
        pl.when(i == 1).then(pl.col("is")).otherwise(pl.col("i") == 2),
        i.map_elements(round, return_dtype=pl.Boolean),
    ],
    ids=str,
)
def test_conditions_that_are_left_alone(condition: pl.Expr) -> None:
    assert _certain(tree(condition)) is None


def _certain(found: Expression) -> Expression | None:
    """Return a part from which something could be concluded; None if there is none."""
    match found:
        case Opaque():
            return None
        case Not(operand):
            return _certain(operand)
        case And(operands) | Or(operands):
            parts = [part for one in operands if (part := _certain(one)) is not None]
            return parts[0] if parts else None
    return found


def test_parts_that_are_understood_stand_beside_others() -> None:
    found = tree((i == 1) & text.str.ends_with("x"))
    assert isinstance(found, And)
    assert found.operands[0] == Comparison("i", "=", 1)
    assert isinstance(found.operands[1], Opaque)


def test_thousands_of_alternatives() -> None:
    """More than Python's calls may nest; Polars writes them out in the square of their number."""
    condition = i == 0
    for number in range(1, 3000):
        condition = condition | (i == number)
    found = from_polars(condition, SCHEMA)
    assert found == Opaque(str(condition)) or (
        isinstance(found, Or) and len(found.operands) == 3000
    )


@pytest.mark.parametrize("name", ["pop", "eq", "is_literal", "output_name"])
@pytest.mark.parametrize("surprise", [AttributeError("gone"), DeprecationWarning("old"), None])
def test_a_polars_that_is_different_excludes_nothing(
    name: str, surprise: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    condition = handed_over((i == 1) & (text == "a") | (pl.col("l") == 2))

    def changed(*_: object, **__: object) -> None:
        if surprise is not None:
            raise surprise

    monkeypatch.setattr(type(condition.meta), name, changed)
    assert _certain(from_polars(condition, SCHEMA)) is None


def test_inputs_in_either_order(monkeypatch: pytest.MonkeyPatch) -> None:
    condition = handed_over((i < 1) & (text == "a") | i.is_between(4, 6))
    expected = to_text(from_polars(condition, SCHEMA))
    pop = type(condition.meta).pop
    monkeypatch.setattr(type(condition.meta), "pop", lambda self: pop(self)[::-1])
    assert (
        to_text(from_polars(condition, SCHEMA))
        == expected
        == "(i < 1 AND t = 'a') OR (i >= 4 AND i <= 6)"
    )
