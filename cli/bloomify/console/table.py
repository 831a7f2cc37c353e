"""Tables and labelled remarks as text, no wider than the terminal."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from parquet_bloomwriter.text import shorten, width

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_GAP = "  "
_NARROWEST_NAME = 8
_NARROWEST_SENTENCE = 24
_WIDEST = 400
"""Columns up to which cells are padded: one very long name sticks out, and widens no other line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """One column of a table."""

    title: str
    is_text: bool = False
    """Whether cells are text: flush left, and shortened where there is no room. Numbers stand flush
    right."""

    is_sentence: bool = False
    """Whether cells are text of several words, which is wrapped; only in the last column."""

    is_extra: bool = False
    """Whether the column is left out on a terminal too narrow for all; the last such goes first."""

    colors: Mapping[str, str] = field(default_factory=dict)
    """Colours of whole cells, by their text."""


def table(
    headings: Sequence[Heading], rows: Sequence[Sequence[str]], *, columns: int | None
) -> str:
    """Lay out rows below headings.

    Args:
        headings: One for each cell of a row.
        rows: Cells.
        columns: Width of the terminal; extra columns give way to it first, then sentences, then the
            first column. None sets no limit.
    """
    kept = _kept(headings, rows, columns)
    headings = [headings[place] for place in kept]
    rows = [[cells[place] for place in kept] for cells in rows]
    titles = [heading.title for heading in headings]
    widths = _widths(headings, rows)
    if columns is not None:
        _fit(headings, widths, columns)
    lines = [line for cells in rows for line in _lines(headings, widths, cells)]
    return "\n".join([click.style(_line(headings, widths, titles), bold=True), *lines])


def labelled(label: str, text: str, *, columns: int | None, indent: int = 10) -> str:
    """Put a label before a text, and wrap the text beside it.

    Args:
        label: One or two words.
        text: A sentence.
        columns: Width of the terminal; None wraps nothing.
        indent: Columns before the text.
    """
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
    """Break a text into one or more lines of at most `columns`."""
    lines = textwrap.wrap(text, columns, break_long_words=False, break_on_hyphens=False)
    return [shorten(line, columns) for line in lines] or [""]


def _kept(
    headings: Sequence[Heading], rows: Sequence[Sequence[str]], columns: int | None
) -> list[int]:
    """Return the places of the columns that are shown."""
    widths = _widths(headings, rows)
    kept = list(range(len(headings)))
    extras = [place for place in kept if headings[place].is_extra]
    while columns is not None and extras and _total(widths[place] for place in kept) > columns:
        kept.remove(extras.pop())
    return kept


def _widths(headings: Sequence[Heading], rows: Sequence[Sequence[str]]) -> list[int]:
    titles = [heading.title for heading in headings]
    cells = zip(titles, *rows, strict=True)
    return [min(max(map(width, column)), _WIDEST) for column in cells]


def _total(widths: Iterable[int]) -> int:
    """Return the width of a line, gaps included."""
    return sum(space + len(_GAP) for space in widths) - len(_GAP)


def _fit(headings: Sequence[Heading], widths: list[int], columns: int) -> None:
    """Make columns narrower, as far as they can be."""
    places = [(0, _NARROWEST_NAME)]
    if headings[-1].is_sentence:
        places.insert(0, (len(widths) - 1, _NARROWEST_SENTENCE))
    for place, narrowest in places:
        excess = _total(widths) - columns
        widths[place] = max(min(widths[place], narrowest), widths[place] - max(excess, 0))


def _lines(
    headings: Sequence[Heading], widths: Sequence[int], cells: Sequence[str]
) -> Iterator[str]:
    if not headings[-1].is_sentence or widths[-1] == _WIDEST:
        yield _line(headings, widths, cells)
        return
    first, *more = wrapped(cells[-1], widths[-1]) if width(cells[-1]) > widths[-1] else cells[-1:]
    yield _line(headings, widths, [*cells[:-1], first])
    for text in more:
        yield _line(headings, widths, [""] * (len(cells) - 1) + [text])


def _line(headings: Sequence[Heading], widths: Sequence[int], cells: Sequence[str]) -> str:
    padded = [
        _pad(heading, space, cell)
        for heading, space, cell in zip(headings, widths, cells, strict=True)
    ]
    return _GAP.join(padded).rstrip()


def _pad(heading: Heading, space: int, cell: str) -> str:
    shown = cell if space == _WIDEST else shorten(cell, space)
    filling = " " * (space - width(shown))
    if cell in heading.colors:
        shown = click.style(shown, fg=heading.colors[cell])
    return shown + filling if heading.is_text or heading.is_sentence else filling + shown
