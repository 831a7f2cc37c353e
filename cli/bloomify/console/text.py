"""Words and numbers as people read them on a terminal: widths, shortening, wrapping."""

from __future__ import annotations

import textwrap

from parquet_bloomwriter.text import (
    ELLIPSIS,
    count,
    growth,
    name,
    percent,
    ranges,
    rate,
    row_groups,
    safe,
    shorten,
    size,
    width,
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
