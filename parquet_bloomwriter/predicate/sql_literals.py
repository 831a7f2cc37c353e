"""Convert SQL literals, as sqlglot parses them, to plain values; parse long IN lists without it.

    42  -1        int           '2024-01-31'::date      DATE '2024-01-31'        date
    1.20          Decimal       CAST('...' AS type)     TIMESTAMP '...+02:00'    datetime, Instant
    1e3           float         X'00AB'   bytes         TIME '10:00:00'          time, TimeOfDay
    'text'        str           TRUE      bool          UUID '...'               UUID

Casts that round, or that engines read in different ways, are not literals here.

sqlglot makes a node of every literal: 100,000 nodes take over a second. So lists of nothing but
plain numbers, or strings, are cut out of a long text before sqlglot parses it. A string stands for
each list, a control character (shown as ?) and a number:

    id IN (1, 2, ...)    ->    id IN ('?0')    ->    IsIn("id", (1, 2, ...))

A list may hold NULL. This is done only with text without escapes, dollar quotes and comments: there
every quotation mark begins or ends a string or a name. sqlglot parses the whole text if anything
about it is unusual.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING
from uuid import UUID

from parquet_bloomwriter.predicate.expression import (
    UUID_TEXT,
    And,
    Comparison,
    Expression,
    IsIn,
    Not,
    Opaque,
    Or,
    UnknownKind,
)
from parquet_bloomwriter.predicate.iso_8601 import (
    instant_of,
    parse_date,
    parse_time,
    parse_timestamp,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlglot.expressions import Expr

    from parquet_bloomwriter.predicate.expression import Value

_INTEGER = re.compile(r"\s*[+-]?\d{1,600}\s*", re.ASCII)
"""Pattern of an integer; Python may be set to refuse more than 640 digits."""


def literal_value(node: Expr) -> Value | None:
    """Return the value of a literal, or None for NULL.

    Raises:
        UnknownKind: If the node is no literal, or a literal that is not understood.
    """
    if node.key == "literal":
        return str(node.this) if node.args["is_string"] else number_of(node.this)
    read = _KINDS.get(node.key)
    if read is None:
        raise UnknownKind(node.key)
    return read(node)


def number_of(text: str) -> int | Decimal | float:
    """Return a number of SQL: an integer, a decimal with a point, or a float with an exponent.

    Raises:
        UnknownKind: If the text is no number, or a float would be infinite.
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
    """Return a number with the other sign, exactly: a minus would round decimals to 28 digits.

    Raises:
        UnknownKind: If the value is no number.
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
    """Return the value of a cast of a string, or of a cast that changes nothing."""
    value, target = literal_value(node.this), node.args["to"]
    known = all(name in ("this", "to", "_type") or not arg for name, arg in node.args.items())
    read = _CASTS.get(target.this.value) if known and not target.expressions else None
    found = None if read is None or value is None else read(value)
    if found is None:
        raise UnknownKind(str(target.this))
    return found


def _from_text(parse: Callable[[str], Value | None]) -> Callable[[Value], Value | None]:
    return lambda value: parse(value) if isinstance(value, str) else None


def _timestamp(text: str) -> Value | None:
    """Return the value of a TIMESTAMP text; some engines ignore an offset from UTC in it."""
    found = parse_timestamp(text)
    if found is None or not instant_of(found).is_zoned:
        return found
    return replace(instant_of(found), may_lose_zone=True)


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


def _to_float(value: Value) -> Value | None:
    """Return a number if FLOAT holds it exactly: with 32 bits in some engines, 64 in others."""
    number = _to_double(value)
    if not isinstance(number, float) or abs(number) > _MAX_FLOAT:
        return None
    (rounded,) = struct.unpack("f", struct.pack("f", number))
    return number if rounded == number else None


_MAX_FLOAT = (2 - 2**-23) * 2.0**127
"""The greatest floating-point number of 32 bits."""

_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "INT128")

_CASTS: Mapping[str, Callable[[Value], Value | None]] = {
    "DATE": _from_text(parse_date),
    "TIME": _from_text(parse_time),
    "TIMESTAMPTZ": _from_text(parse_timestamp),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"), _from_text(_timestamp)),
    "UUID": _from_text(lambda text: UUID(text) if UUID_TEXT.fullmatch(text) else None),
    **dict.fromkeys(("VARCHAR", "TEXT"), _from_text(str)),
    **dict.fromkeys(_INTEGERS, _to_integer),
    "DOUBLE": _to_double,
    "FLOAT": _to_float,
}
"""Functions that cast a value, by sqlglot's name of the type without parameters."""

_KINDS: Mapping[str, Callable[[Expr], Value | None]] = {
    "paren": lambda node: literal_value(node.this),
    "neg": lambda node: negated(literal_value(node.this)),
    "null": lambda _: None,
    "boolean": lambda node: bool(node.this),
    "hexstring": _bytes,
    "cast": _cast,
}
"""Functions that return a value, by sqlglot's name of the node."""


_LONG = 4_000
"""Characters of a text from which it is searched for lists."""

_MARK = "\x01"
_UNUSUAL = re.compile(r"[\\$\x01]|--|/\*")
_STRING = r"'(?:[^']|'')*+'"
_NUMBER = r"-?\d+(?:\.\d+)?"


def _list_of(literal: str) -> str:
    """Return the pattern of a list of literals and NULLs."""
    return rf"(?:NULL\s*,\s*)*+{literal}(?:\s*,\s*(?:NULL|{literal}))*+"


_LISTS = re.compile(
    rf"""
    {_STRING} | "(?:[^"]|"")*+"
    | (?P<before>\bIN\s*\(\s*)
      (?P<list>(?>{_list_of(_NUMBER)}) | (?>{_list_of(_STRING)}))
      (?=\s*\))
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_NUMBERS, _STRINGS = re.compile(_NUMBER, re.ASCII), re.compile(_STRING)
_NULL = re.compile(r"\bNULL\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOut:
    """A list of literals of one type."""

    values: tuple[Value, ...]
    has_null: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortened:
    """A text whose lists were cut out."""

    text: str
    lists: Mapping[Value, CutOut]
    """Each list, by the string that stands for it in the text."""


def shortened(text: str) -> Shortened | None:
    """Return a text with its lists cut out; None if it is short, unusual, or without lists."""
    if len(text) < _LONG or _UNUSUAL.search(text):
        return None
    found = [match for match in _LISTS.finditer(text) if match["list"] is not None]
    lists: dict[Value, CutOut] = {}
    parts: list[str] = []
    last = 0
    try:
        for number, match in enumerate(found):
            mark = f"{_MARK}{number}"
            lists[mark] = _cut_out(match["list"])
            parts += [text[last : match.end("before")], f"'{mark}'"]
            last = match.end()
    except UnknownKind:  # a number of thousands of digits
        return None
    return Shortened(text="".join([*parts, text[last:]]), lists=lists) if lists else None


def restored(
    tree: Expression, lists: Mapping[Value, CutOut], *, is_negated: bool = False
) -> Expression | None:
    """Return a tree with the lists put back; None if a list is not in an `IsIn`.

    Args:
        tree: Of the text without the lists.
        lists: The lists, by what stands for them.
        is_negated: Whether the tree is under a NOT, where a NULL in a list matters.
    """
    match tree:
        case IsIn(column, (mark,)) if mark in lists:
            members = IsIn(column, lists[mark].values)
            if not (is_negated and lists[mark].has_null):
                return members
            return Or((members, Comparison(column, "=", None)))
        case Opaque(text):
            return None if _MARK in text else tree
        case Not(operand):
            inner = restored(operand, lists, is_negated=True)
            return None if inner is None else Not(inner)
        case And(operands) | Or(operands):
            parts = [restored(operand, lists, is_negated=is_negated) for operand in operands]
            known = tuple(part for part in parts if part is not None)
            return type(tree)(known) if len(known) == len(parts) else None
    return tree


def _cut_out(text: str) -> CutOut:
    if "'" in text:
        values = tuple(one[1:-1].replace("''", "'") for one in _STRINGS.findall(text))
        has_null = _NULL.search(_STRINGS.sub("", text)) is not None
        return CutOut(values=values, has_null=has_null)
    numbers = tuple(_signed(one) for one in _NUMBERS.findall(text))
    return CutOut(values=numbers, has_null=_NULL.search(text) is not None)


def _signed(text: str) -> Value:
    number = number_of(text.removeprefix("-"))
    return negated(number) if text.startswith("-") else number
