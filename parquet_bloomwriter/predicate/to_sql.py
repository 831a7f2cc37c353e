"""Write trees as SQL text for people, and list the names of their columns."""

from __future__ import annotations

import re
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING
from uuid import UUID

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
    TimeOfDay,
    Value,
)
from parquet_bloomwriter.predicate.iso_8601 import NANOSECONDS_PER_SECOND

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SHOWN = 3
"""Values of an IN list that are written; for longer lists the count follows."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = frozenset(
    """
    all and any array as asc between both case cast check collate column create current_date
    current_time current_timestamp date desc distinct else end except exists false for foreign
    from grant group having if in interval into is join left like limit not null offset on or
    order outer primary right select set show some table then time timestamp true union unique
    user using uuid values when where with
    """.split()  # noqa: SIM905  a list of them would fill a page
)
"""Names that are quoted, because they have a meaning in some SQL engine."""


def columns_of(expression: Expression) -> tuple[str, ...]:
    """Return the distinct dotted names of the columns in a tree, in order.

    Columns inside `Opaque` parts are not known.
    """
    return tuple(dict.fromkeys(_columns(expression)))


def columns_of_text(expression: Expression) -> list[tuple[str, bool]]:
    """Return the columns in parts that stay SQL text, and whether each is in double quotes."""
    match expression:
        case Opaque(text, is_sql=True):
            from parquet_bloomwriter.predicate.sql import columns_in_text

            return columns_in_text(text)
        case Not(operand):
            return columns_of_text(operand)
        case And(operands) | Or(operands):
            return [one for operand in operands for one in columns_of_text(operand)]
    return []


def single_quotes(name: str) -> str:
    """Return the hint that strings take single quotes, not double quotes."""
    return f"Strings take single quotes: '{name}'; double quotes are for names of columns."


def to_text(expression: Expression) -> str:  # noqa: PLR0911  one for each kind
    """Return a tree as SQL text; long IN lists are shortened to first values and the count."""
    match expression:
        case Comparison(column, operator, value):
            return f"{spell_name(column)} {operator} {spell_value(value)}"
        case IsIn(column, values):
            return f"{spell_name(column)} IN ({spell_values(values)})"
        case IsNull(column):
            return f"{spell_name(column)} IS NULL"
        case Holds():
            return _holding(expression)
        case Not():
            return _negation(expression)
        case And(operands):
            return " AND ".join(_grouped(operand, Or) for operand in operands)
        case Or(operands):
            return " OR ".join(_grouped(operand, And) for operand in operands)
        case Constant(value):
            return spell_value(value)
        case Opaque(text):
            return text


def spell_name(column: str) -> str:
    """Return a dotted path as SQL text, with quotation marks where SQL needs them."""
    parts = column.split(".")
    if not all(parts):
        return _quoted(column)
    plain = (_PLAIN.fullmatch(part) and part.lower() not in _RESERVED for part in parts)
    spelled = (
        part if is_plain else _quoted(part) for part, is_plain in zip(parts, plain, strict=True)
    )
    return ".".join(spelled)


def spell_values(values: Sequence[Value]) -> str:
    """Return the values of an IN list as SQL text; of many, only the first ones."""
    shown = ", ".join(spell_value(value) for value in values[:SHOWN])
    return shown if len(values) <= SHOWN else f"{shown}, ... {len(values):,} values"


def spell_value(value: Value | None) -> str:  # noqa: C901, PLR0911  one for each kind
    """Return a literal as SQL text."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case bytes():
            return f"X'{value.hex().upper()}'"
        case float() if not abs(value) < float("inf"):
            return f"CAST('{value}' AS DOUBLE)"
        case float() if "e" not in str(value) and Decimal(str(value)) != value:
            return f"{value}e0"  # without an exponent it would be the decimal number
        case datetime():
            return f"TIMESTAMP '{value.isoformat(' ')}'"
        case date():
            return f"DATE '{value}'"
        case time() | TimeOfDay():
            return f"TIME '{_clock(value)}'"
        case Instant():
            return f"TIMESTAMP '{_instant(value)}'"
        case UUID():
            return f"UUID '{value}'"
    return str(value)


def _columns(expression: Expression) -> Iterator[str]:
    match expression:
        case Comparison(column) | IsIn(column) | IsNull(column) | Holds(column):
            yield column
        case Not(operand):
            yield from _columns(operand)
        case And(operands) | Or(operands):
            for operand in operands:
                yield from _columns(operand)


def _holding(expression: Holds) -> str:
    function, column = expression.function, spell_name(expression.column)
    if expression.part != "element" and not function.startswith("map_"):
        column = f"map_{expression.part}s({column})"
    value = spell_value(expression.value)
    return f"{value} = ANY({column})" if function == "ANY" else f"{function}({column}, {value})"


def _negation(expression: Not) -> str:
    match expression.operand:
        case IsNull(column):
            return f"{spell_name(column)} IS NOT NULL"
        case IsIn(column, values):
            return f"{spell_name(column)} NOT IN ({spell_values(values)})"
        case Holds():
            text = _holding(expression.operand)
            is_any = expression.operand.function == "ANY"
            return text.replace(" = ANY(", " <> ALL(") if is_any else f"NOT {text}"
    return f"NOT {_grouped(expression.operand, And, Or, Comparison)}"


def _grouped(expression: Expression, *kinds: type[Expression]) -> str:
    """Return an operand as SQL text, in parentheses if it is of these kinds, or of unknown form."""
    text = to_text(expression)
    return f"({text})" if isinstance(expression, (*kinds, Opaque)) else text


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _clock(value: time | TimeOfDay) -> str:
    if isinstance(value, time):
        return value.isoformat()
    seconds, rest = divmod(value.nanoseconds, NANOSECONDS_PER_SECOND)
    minutes, second = divmod(seconds, 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{second:02}{_fraction(rest)}"


def _instant(value: Instant) -> str:
    import numpy as np

    seconds, rest = divmod(value.nanoseconds, NANOSECONDS_PER_SECOND)
    whole = str(np.datetime64(seconds, "s")).replace("T", " ")
    return whole + _fraction(rest) + ("+00:00" if value.is_zoned else "")


def _fraction(nanoseconds: int) -> str:
    return f".{nanoseconds:09}".rstrip("0").rstrip(".")
