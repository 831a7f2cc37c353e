"""Words and numbers as people read them, safe to print whatever a file's author put into names."""

from __future__ import annotations

import math
import textwrap
import unicodedata
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

ELLIPSIS = "…"

_UNITS = ("KiB", "MiB", "GiB", "TiB")
_PLAIN_BELOW = 10_000
"""Bytes; smaller sizes are given exactly."""

_DECIMAL_ABOVE = 1e-6
_KIBI = 1024


def safe(text: str) -> str:
    """Escape what a terminal would obey or hide: controls, ANSI, bidi marks, line ends."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def name(text: str) -> str:
    """Make a column's name safe, and visible where it is empty."""
    return safe(text) or '""'


def count(number: int, noun: str) -> str:
    """Say how many, as in "1 filter" and "2,000 filters"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def size(num_bytes: int) -> str:
    """Say how large, as in "123 bytes" and "1.5 MiB"."""
    if abs(num_bytes) < _PLAIN_BELOW:
        return count(num_bytes, "byte")
    power = min(int(math.log(abs(num_bytes), _KIBI)), len(_UNITS))
    return f"{num_bytes / _KIBI**power:,.1f} {_UNITS[power - 1]}"


def growth(before: int, after: int) -> str:
    """Say how a file changed its size, as in "1.0 MiB -> 1.1 MiB (+4.2 %)"."""
    share = f" ({(after - before) / before:+.1%})".replace("%", " %") if before else ""
    return f"{size(before)} -> {size(after)}{share if after != before else ''}"


def rate(probability: float | None) -> str:
    """Write a probability with two significant digits; "-" for none."""
    if probability is None:
        return "-"
    if not _DECIMAL_ABOVE <= probability < 1:
        return f"{probability:.2g}"
    leading_zeros = -int(f"{probability:e}".partition("e")[2]) - 1
    return f"{probability:.{leading_zeros + 2}f}".rstrip("0")


def ranges(numbers: Iterable[int]) -> str:
    """Write ascending numbers as in "0-2, 5"."""
    runs = groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    bounds = [[number for _, number in run] for _, run in runs]
    return ", ".join(str(r[0]) if len(r) == 1 else f"{r[0]}-{r[-1]}" for r in bounds)


def width(text: str) -> int:
    """Columns that the text takes on a terminal."""
    return sum(_width_of(character) for character in text)


def shorten(text: str, columns: int) -> str:
    """Cut the middle out of a text that is wider than `columns`."""
    if width(text) <= columns:
        return text
    after = (columns - 1) // 2
    return _start(text, columns - 1 - after) + ELLIPSIS + _start(text[::-1], after)[::-1]


def labelled(label: str, text: str, *, columns: int | None, indent: int = 10) -> str:
    """Put a label before a text, which is wrapped beside it if there is a width to keep to."""
    first = f"{label:<{indent}}"
    if columns is None or columns < indent + 20:
        return first + text
    return textwrap.fill(
        text,
        columns,
        initial_indent=first,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _width_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _start(text: str, columns: int) -> str:
    """The longest start of the text that fits into `columns`."""
    taken = 0
    for place, character in enumerate(text):
        taken += _width_of(character)
        if taken > columns:
            return text[:place]
    return text
