"""Words and numbers as people read them on a terminal: widths, shortening, wrapping."""

from __future__ import annotations

import textwrap
import unicodedata

from parquet_bloomwriter.wording import (
    ELLIPSIS,
    count,
    growth,
    name,
    percent,
    ranges,
    rate,
    row_groups,
    safe,
    size,
)

__all__ = [
    "ELLIPSIS",
    "count",
    "growth",
    "labelled",
    "name",
    "percent",
    "ranges",
    "rate",
    "row_groups",
    "safe",
    "shorten",
    "size",
    "width",
    "wrapped",
]


def width(text: str) -> int:
    """Columns that the text takes on a terminal."""
    if text.isascii():
        return len(text)
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


def wrapped(text: str, columns: int) -> list[str]:
    """Break a text into lines that fit; at least one."""
    lines = textwrap.wrap(text, columns, break_long_words=False, break_on_hyphens=False)
    return [shorten(line, columns) for line in lines] or [""]


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
