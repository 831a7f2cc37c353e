r"""Reads conditions in Spark's SQL that mean the same to the parser of `predicate`.

Spark evaluates the text itself; this module reads it only to find files to leave out. A text that
Spark might understand in another way than the parser, which follows PostgreSQL, is refused. These
tokens are read:

    name  `name`  a.b    columns; before a parenthesis, functions, whose values are not known
    12  1.5              numbers without suffix or exponent
    'text'               without \ (Spark's escapes), ${ (its variables) or an adjacent string
    X'00'  DATE '...'  TIMESTAMP '...'
    =  ==  <=>  !=  <>  <  <=  >  >=  +  -  *  /  (  )  ,
    AND OR NOT IN IS NULL BETWEEN LIKE ILIKE TRUE FALSE DISTINCT FROM

Every other word must be a column. "Double quotes", which Spark takes for strings, are refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from parquet_bloomwriter.predicate.expression import Expression

_PART = r"(?:[A-Za-z_][A-Za-z0-9_]*|`[^`.$]+`)"
_STRING = r"'(?:[^'\\$]|\$(?!\{))*'"
_TOKEN = re.compile(
    rf"""\s*(?:
      (?P<hex>X'(?:[0-9A-F]{{2}})*')
    | (?P<typed>(?:DATE|TIMESTAMP)\s*{_STRING})
    | (?P<keyword>(?:AND|OR|NOT|IN|IS|NULL|BETWEEN|I?LIKE|TRUE|FALSE|DISTINCT|FROM)\b)
    | (?P<name>{_PART}(?:\.{_PART})*)
    | (?P<string>{_STRING})
    | (?P<number>\d+(?:\.\d+)?(?![\w.]))
    | (?P<operator><=>|<>|!=|==|<=|>=|[=<>])
    | (?P<sign>[-+*/])
    | (?P<open>\()
    | (?P<close>\))
    | (?P<comma>,)
    )""",
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)
_NAMED_PART = re.compile(r"`([^`]+)`|([^.`]+)")
_NO_NEIGHBOURS = {
    ("string", "string"),
    ("name", "string"),
    ("typed", "string"),
    ("hex", "string"),
}
"""Spark joins adjacent strings, and a word before a string may give the string another type."""

_NOT_TOUCHING = {("sign", "sign"), ("sign", "operator"), ("operator", "operator")}
"""Tokens that would form comments, arrows and other operators without a space between them."""

_NO_COLUMNS = frozenset(
    {"current_date", "current_time", "current_timestamp", "current_user", "localtimestamp"}
    | {"session_user", "user"}
)
"""Words that are functions without parentheses under some settings of Spark."""

_UNKNOWN = '"(...)"'
"""A column name that no column has; it stands for unknown values."""


class NotUnderstood(Exception):
    """The text may mean something else to Spark; the argument is a clause that says where."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    """Position of the token in the text, 0-based."""

    stop: int


def read_condition(text: str, columns: Collection[str]) -> Expression:
    """Return the tree of a condition.

    Args:
        text: The condition, in Spark's SQL.
        columns: Names of the DataFrame's columns.

    Raises:
        NotUnderstood: If the text may mean something else to Spark.
    """
    from parquet_bloomwriter.predicate import parse

    known = {column.casefold() for column in columns} - _NO_COLUMNS
    spelled = " ".join(_spelled(list(_tokens(text.strip())), known))
    try:
        return parse(spelled)
    except InvalidArgument as error:
        raise NotUnderstood(error.problem) from error


def _tokens(text: str) -> Iterator[_Token]:
    at, before = 0, _Token("", "", -1, -1)
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise NotUnderstood(
                f"not read from character {at + 1} on: {text[at : at + 20].strip()}"
            )
        kind = str(match.lastgroup)
        token = _Token(kind, match[kind], match.start(kind), match.end())
        neighbours = (before.kind, kind)
        touch = before.stop == token.start and neighbours in _NOT_TOUCHING
        if touch or neighbours in _NO_NEIGHBOURS:
            raise NotUnderstood(f"not read from character {before.start + 1} on: {before.text}")
        yield token
        at, before = token.stop, token


def _spelled(tokens: Sequence[_Token], known: Collection[str]) -> Iterator[str]:
    """Yield tokens for the parser: names in quotation marks, and one unknown name for each call."""
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token.kind != "name":
            yield token.text
        elif at < len(tokens) and tokens[at].kind == "open":
            at = _past_call(tokens, at)
            yield _UNKNOWN
        else:
            yield _quoted(token, known)


def _past_call(tokens: Sequence[_Token], at: int) -> int:
    """Return the position after the parenthesis that closes the parenthesis at a position."""
    depth = 0
    for position in range(at, len(tokens)):
        depth += {"open": 1, "close": -1}.get(tokens[position].kind, 0)
        if not depth:
            return position + 1
    raise NotUnderstood("a parenthesis is not closed")


def _quoted(token: _Token, known: Collection[str]) -> str:
    parts = [quoted or plain for quoted, plain in _NAMED_PART.findall(token.text)]
    if parts[0].casefold() not in known:
        raise NotUnderstood(f"{token.text} is no column")
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)
