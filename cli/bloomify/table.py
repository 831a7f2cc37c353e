"""Tables of text: names on the left, numbers on the right, no wider than the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bloomify.text import shorten, width

if TYPE_CHECKING:
    from collections.abc import Sequence

_GAP = "  "
_NARROWEST_NAME = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """One column of a table."""

    title: str
    is_text: bool = False
    """Text stands on the left and may be shortened; numbers on the right."""


def table(
    headings: Sequence[Heading], rows: Sequence[Sequence[str]], *, columns: int | None
) -> str:
    """Lay out rows below headings.

    Args:
        headings: One for each cell of a row.
        rows: Cells.
        columns: Width of the terminal; the first column gives way to it. None sets no limit.
    """
    titles = [heading.title for heading in headings]
    widths = [max(map(width, cells)) for cells in zip(titles, *rows, strict=True)]
    if columns is not None:
        excess = sum(widths) + len(_GAP) * (len(widths) - 1) - columns
        widths[0] = max(min(widths[0], _NARROWEST_NAME), widths[0] - max(excess, 0))
    lines = [_line(headings, widths, cells) for cells in (titles, *rows)]
    return "\n".join([click.style(lines[0], bold=True), *lines[1:]])


def _line(headings: Sequence[Heading], widths: Sequence[int], cells: Sequence[str]) -> str:
    padded = [
        _pad(cell, space, left=heading.is_text)
        for heading, space, cell in zip(headings, widths, cells, strict=True)
    ]
    return _GAP.join(padded).rstrip()


def _pad(cell: str, space: int, *, left: bool) -> str:
    shown = shorten(cell, space)
    filling = " " * (space - width(shown))
    return shown + filling if left else filling + shown
