"""Literals of SQL, as sqlglot has them -> plain values.

    42  -1        int           '2024-01-31'::date      DATE '2024-01-31'        date
    1.20          Decimal       CAST('...' AS type)     TIMESTAMP '...+02:00'    datetime, Instant
    1e3           float         X'00AB'   bytes         TIME '10:00:00'          time, TimeOfDay
    'text'        str           TRUE      bool          UUID '...'               UUID

Casts that engines do not all read alike, or that round, are not literals here.

Long IN lists in SQL text, read aside.

sqlglot makes a node of every literal: 100,000 of them take over a second. So lists of nothing but
plain numbers, or strings, are taken out of a long text first, and a string stands for each, a
control character (shown as ?) and a number:

    id IN (1, 2, ...)    ->    id IN ('?0')    ->    IsIn("id", (1, 2, ...))

Only text without escapes, dollar quotes and comments is read so: there every quotation mark begins
or ends a string or a name. If anything is unusual about the text, it is left to sqlglot as a whole.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING
from uuid import UUID

from parquet_bloomwriter.predicate.expression import (
    UUID_TEXT,
    And,
    Expression,
    IsIn,
    Not,
    Opaque,
    Or,
    UnknownKind,
)
from parquet_bloomwriter.predicate.iso_8601 import parse_date, parse_time, parse_timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlglot.expressions import Expr

    from parquet_bloomwriter.predicate.expression import Value

_INTEGER = re.compile(r"\s*[+-]?\d{1,600}\s*", re.ASCII)
"""Python may be set to refuse integers of more than 640 digits."""


def literal_value(node: Expr) -> Value | None:
    """Return the value of a literal, None for NULL.

    Raises:
        UnknownKind: If it is no literal, or one that is not understood.
    """
    if node.key == "literal":
        return str(node.this) if node.args["is_string"] else number_of(node.this)
    read = _KINDS.get(node.key)
    if read is None:
        raise UnknownKind(node.key)
    return read(node)


def number_of(text: str) -> int | Decimal | float:
    """Return an integer, a decimal if it has a point, a float if it has an exponent.

    Raises:
        UnknownKind: If there is none, or a float would be infinite.
    """
    try:
        if text.isdecimal():
            return int(text)
        if "e" not in text.lower():
            return Decimal(text)
        number = float(text)
    except (ValueError, ArithmeticError) as error:
        raise UnknownKind(text) from error
    if math.isinf(number):
        raise UnknownKind(text)
    return number


def negated(number: Value | None) -> int | Decimal | float:
    """Negate a number exactly: a minus would round decimals to 28 digits.

    Raises:
        UnknownKind: If it is no number.
    """
    if isinstance(number, Decimal):
        return number.copy_negate()
    if isinstance(number, int | float) and not isinstance(number, bool):
        return -number
    raise UnknownKind(str(number))


def _bytes(node: Expr) -> Value:
    try:
        return bytes.fromhex(node.this)
    except ValueError as error:
        raise UnknownKind(node.key) from error


def _cast(node: Expr) -> Value:
    """Read a cast of a string, or one that changes nothing."""
    value, target = literal_value(node.this), node.args["to"]
    known = all(name in ("this", "to", "_type") or not arg for name, arg in node.args.items())
    read = _CASTS.get(target.this.value) if known and not target.expressions else None
    found = None if read is None or value is None else read(value)
    if found is None:
        raise UnknownKind(str(target.this))
    return found


def _from_text(parse: Callable[[str], Value | None]) -> Callable[[Value], Value | None]:
    return lambda value: parse(value) if isinstance(value, str) else None


def _to_integer(value: Value) -> Value | None:
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    return value if type(value) is int else None


def _to_double(value: Value) -> Value | None:
    if not isinstance(value, int | float | Decimal):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return None if math.isinf(number) else number


_TIMESTAMP = _from_text(parse_timestamp)
_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "INT128")

_CASTS: Mapping[str, Callable[[Value], Value | None]] = {
    "DATE": _from_text(parse_date),
    "TIME": _from_text(parse_time),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "TIMESTAMPTZ", "DATETIME"), _TIMESTAMP),
    "UUID": _from_text(lambda text: UUID(text) if UUID_TEXT.fullmatch(text) else None),
    **dict.fromkeys(("VARCHAR", "TEXT"), _from_text(str)),
    **dict.fromkeys(_INTEGERS, _to_integer),
    "DOUBLE": _to_double,
}
"""By sqlglot's name of the type, without parameters."""

_KINDS: Mapping[str, Callable[[Expr], Value | None]] = {
    "paren": lambda node: literal_value(node.this),
    "neg": lambda node: negated(literal_value(node.this)),
    "null": lambda _: None,
    "boolean": lambda node: bool(node.this),
    "hexstring": _bytes,
    "cast": _cast,
}
"""By sqlglot's name of the node."""


_LONG = 4_000
"""Characters of a text that is worth it."""

_MARK = "\x01"
_UNUSUAL = re.compile(r"[\\$\x01]|--|/\*")
_STRING = r"'(?:[^']|'')*+'"
_NUMBER = r"-?\d+(?:\.\d+)?"
_LISTS = re.compile(
    rf"""
    {_STRING} | "(?:[^"]|"")*+"
    | (?P<before>\bIN\s*\(\s*)
      (?P<list>(?>{_NUMBER}(?:\s*,\s*{_NUMBER})*+) | (?>{_STRING}(?:\s*,\s*{_STRING})*+))
      (?=\s*\))
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_NUMBERS, _STRINGS = re.compile(_NUMBER, re.ASCII), re.compile(_STRING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortened:
    """A text without its lists."""

    text: str
    lists: dict[Value, tuple[Value, ...]]
    """Values by the string that stands for them."""


def shortened(text: str) -> Shortened | None:
    """Take the lists out of a text; None if it is short, or unusual in any way."""
    if len(text) < _LONG or _UNUSUAL.search(text):
        return None
    lists: dict[Value, tuple[Value, ...]] = {}

    def take_out(match: re.Match[str]) -> str:
        if match["list"] is None:
            return match[0]
        mark = f"{_MARK}{len(lists)}"
        lists[mark] = _values(match["list"])
        return f"{match['before']}'{mark}'"

    try:
        short = _LISTS.sub(take_out, text)
    except UnknownKind:  # a number of thousands of digits
        return None
    return Shortened(text=short, lists=lists) if lists else None


def restored(tree: Expression, lists: dict[Value, tuple[Value, ...]]) -> Expression | None:
    """Put the lists back into a tree; None if one of them is not where it should be."""
    match tree:
        case IsIn(column, (mark,)) if mark in lists:
            return IsIn(column, lists[mark])
        case Opaque(text):
            return None if _MARK in text else tree
        case Not(operand):
            inner = restored(operand, lists)
            return None if inner is None else Not(inner)
        case And(operands) | Or(operands):
            parts = [restored(operand, lists) for operand in operands]
            known = tuple(part for part in parts if part is not None)
            return type(tree)(known) if len(known) == len(parts) else None
    return tree


def _values(text: str) -> tuple[Value, ...]:
    if text.startswith("'"):
        return tuple(one[1:-1].replace("''", "'") for one in _STRINGS.findall(text))
    return tuple(_signed(one) for one in _NUMBERS.findall(text))


def _signed(text: str) -> Value:
    number = number_of(text.removeprefix("-"))
    return negated(number) if text.startswith("-") else number
