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

sqlglot's dialect of Spark cannot decide this: its tokens are the same for "a" and 'a', and with
escapes and comments resolved; 42L and int('5') become casts of literals. For an IN list of 20,000
values it takes seven times as long as this module and the parser.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from parquet_bloomwriter.predicate.expression import Expression

_PART = r"(?>[A-Za-z_][A-Za-z0-9_]*|`[^`.$]+`)"
_NAME = rf"(?>{_PART}(?:\.{_PART})*)"
_STRING = r"(?>'(?:[^'\\$]|\$(?!\{))*')"
_TOKEN = re.compile(
    rf"""\s*+(?:
      (?P<text>(?>X'(?:[0-9A-F]{{2}})*'|(?:(?:DATE|TIMESTAMP)\s*)?{_STRING})(?!\s*'))
    | (?P<keyword>(?:AND|OR|NOT|IN|IS|NULL|BETWEEN|I?LIKE|TRUE|FALSE|DISTINCT|FROM)\b)
    | (?P<call>{_NAME}\s*\()
    | (?P<name>{_NAME}(?!\s*'))
    | (?P<number>\d+(?:\.\d+)?(?![\w.]))
    | (?P<operator>(?:<=>|<>|!=|==|<=|>=|[=<>])(?![=<>!]))
    | (?P<sign>[-+*/](?![-+*/=<>!]))
    | (?P<open>\()
    | (?P<close>\))
    | (?P<comma>,)
    )""",
    re.VERBOSE | re.ASCII | re.IGNORECASE,
)
"""A token. Spark joins adjacent strings, and a word before a string may give the string another
type; signs and operators that touch may be comments, arrows and other operators."""

_NAMED_PART = re.compile(r"`([^`]+)`|([^.`]+)")
_NO_COLUMNS = frozenset(
    {"current_date", "current_time", "current_timestamp", "current_user", "localtimestamp"}
    | {"session_user", "user"}
)
"""Words that are functions without parentheses under some settings of Spark."""

_UNKNOWN = '"(...)"'
"""A column name that no column has; it stands for unknown values."""


class NotUnderstood(Exception):
    """The text may mean something else to Spark; the argument is a clause that says where."""


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
    for_parser = " ".join(_tokens_for_parser(text.strip(), known))
    try:
        return parse(for_parser)
    except InvalidArgument as error:
        raise NotUnderstood(error.problem) from error


def _tokens_for_parser(text: str, known: Collection[str]) -> Iterator[str]:
    """Yield tokens for the parser: names in quotation marks, and one unknown name for each call."""
    depth = 0  # of parentheses within a call
    for kind, token in _tokens(text):
        if not depth and kind == "call":
            yield _UNKNOWN
        elif not depth:
            yield _quoted(token, known) if kind == "name" else token
        if depth or kind == "call":
            depth += {"call": 1, "open": 1, "close": -1}.get(kind, 0)
    if depth:
        raise NotUnderstood("a parenthesis is not closed")


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of each token."""
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise NotUnderstood(
                f"not read from character {at + 1} on: {text[at : at + 20].strip()}"
            )
        kind = str(match.lastgroup)
        yield kind, match[kind]
        at = match.end()


def _quoted(name: str, known: Collection[str]) -> str:
    parts = [quoted or plain for quoted, plain in _NAMED_PART.findall(name)]
    if parts[0].casefold() not in known:
        raise NotUnderstood(f"{name} is no column")
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)
