"""Long IN lists in SQL text, read aside.

sqlglot makes a node of every literal: 100,000 of them take over a second. So lists of nothing but
plain numbers, or strings, are taken out of a long text first, and a string stands for each, a
control character (shown as ?) and a number:

    id IN (1, 2, ...)    ->    id IN ('?0')    ->    IsIn("id", (1, 2, ...))

Only text without escapes, dollar quotes and comments is read so: there every quotation mark begins
or ends a string or a name. If anything is unusual about the text, it is left to sqlglot as a whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.predicate.expression import And, Expression, IsIn, Not, Opaque, Or
from parquet_bloomwriter.predicate.literals.plain import UnknownKind
from parquet_bloomwriter.predicate.sql_literals import negated, number_of

if TYPE_CHECKING:
    from parquet_bloomwriter.predicate.expression import Value

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
