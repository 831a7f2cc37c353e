"""Predicates made of words, symbols and literals in any order: what no grammar would make."""

from __future__ import annotations

import random
from typing import Final

_WORDS: Final = (
    *("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "s.x", "s", '"a"', '"no ""such"'),
    *("AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "LIKE", "TRUE", "FALSE", "DISTINCT FROM"),
    *("=", "<>", "!=", "<", "<=", ">", ">=", "<=>", "==", "(", ")", "(", ")", ",", "[", "]", "."),
    *("::int", "::date", "::timestamp", "::double precision", "::text", "::uuid", "::decimal(9,2)"),
    *("DATE", "TIME", "TIMESTAMP", "INTERVAL", "UUID", "CAST(", "AS INT)", "CASE", "WHEN", "END"),
    *("1", "-1", "1.50", "1e3", "1e999", "0x1F", ".5", "1.", "9" * 25, "-0.0", "NaN", "1" * 700),
    *("''", "'a'", "'2024-02-29'", "'10:00'", "'0x'", "X'00FF'", "X'0'", "B'01'", "E'\\n'", "$1"),
    *("'2024-02-29 12:30:00+02'", "'somewhere else'", "'it''s'", "'é\u0000\ud800'", "'nan'"),
    *("--", "/*", "*/", ";", "?", ":x", "@", "$$x$$", "\\", "\n", "\t", "\u00a0", "\U0001f600"),
    *("WHERE", "SELECT", "FROM", "EXISTS", "ANY", "ESCAPE", "COLLATE", "AT TIME ZONE", "->", "||"),
)
_LONGEST: Final = 24
"""Words of a text."""


def text(number: int) -> str:
    """Make text `number`; the same one for the same number."""
    chosen = random.Random(number)  # noqa: S311  nothing secret
    words = chosen.choices(_WORDS, k=chosen.randint(1, _LONGEST))
    if chosen.random() < 0.3:  # a condition, and then something else
        words = ["a = 1", chosen.choice(("AND", "OR", "AND NOT")), *words]
    if chosen.random() < 0.02:
        words *= chosen.choice((50, 400))
    return chosen.choice((" ", " ", "")).join(words)


def as_bytes(number: int) -> bytes:
    """Return text `number` in UTF-8, lone surrogates and all."""
    return text(number).encode("utf-8", "surrogatepass")
