"""Tables and remarks of reports as text, no wider than the terminal.

Bars say which row groups survive, and how full a filter is:

    ▒▒▒█▒▒▒▒▒▒    one cell for each row group, or for several where there are many
    █████░░░░░    a share of a whole

ASCII characters are used where the encoding of the stream lacks these.
"""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bloomify.console.console import ASCII, LONGEST_LINE, MOST_ENTRIES
from parquet_bloomwriter.reports.summary import Marks, Name
from parquet_bloomwriter.text import count, name, safe, shorten, width

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from bloomify.console.console import Glyphs
    from parquet_bloomwriter.reports.summary import Column, Table

T = TypeVar("T")

_COMMAND = re.compile(r"(?<=: )bloomify .+$")
"""A command at the end of a remark."""

_UNBREAKABLE = "\xa0"
_GAP = "  "
_NARROWEST_NAME = 8
_NARROWEST_SENTENCE = 24
_WIDEST = 400
"""Most columns to which cells are padded: one very long name then widens no other line."""

_LONGEST_BAR = 20
"""Most cells of a bar in a table."""

_SHARE_CELLS = 10


def survivors_bar(
    surviving: Collection[int], num_row_groups: int, *, glyphs: Glyphs, most: int
) -> str:
    """Return a bar of row groups, from the first to the last.

    Args:
        surviving: Ordinals of those that might match.
        num_row_groups: All of them.
        glyphs: The characters to draw with.
        most: Largest number of cells. With more row groups each cell stands for several neighbours,
            and is filled if any of them might match.
    """
    cells = min(num_row_groups, most)
    hit = {ordinal * cells // num_row_groups for ordinal in surviving}
    return "".join(glyphs.might if cell in hit else glyphs.cannot for cell in range(cells))


def share_bar(share: float, *, glyphs: Glyphs) -> str:
    """Return a bar of a share in [0, 1]; it is empty only for 0, and full only for 1."""
    filled = round(share * _SHARE_CELLS)
    if 0 < share < 1:
        filled = min(max(filled, 1), _SHARE_CELLS - 1)
    return glyphs.might * filled + glyphs.empty * (_SHARE_CELLS - filled)


def table(
    model: Table[Any],
    *,
    columns: int | None,
    glyphs: Glyphs = ASCII,
    option: str | None = "--verbose",
) -> str:
    """Return a table as text; "" if it has no rows.

    Args:
        model: The table.
        columns: Width of the terminal; extra columns give way to it first, then sentences, then the
            first column. None sets no limit.
        glyphs: The characters to draw bars with.
        option: The option that lists the rows of a long table; None lists them in any case.
    """
    if not model.rows:
        return ""
    shown, rest = (model.rows, "") if option is None else cut(model.rows, model.noun, option=option)
    rows = [[_text(column, row, glyphs) for column in model.columns] for row in shown]
    kept = _kept(model.columns, rows, columns)
    headings = [model.columns[place] for place in kept]
    rows = [[cells[place] for place in kept] for cells in rows]
    titles = [heading.title for heading in headings]
    widths = _widths(headings, rows)
    _fit(headings, widths, columns)
    lines = [line for cells in rows for line in _lines(headings, widths, cells)]
    head = click.style(_line(headings, widths, titles), bold=True)
    return "\n".join([head, *lines, *filter(None, [rest])])


def cut(entries: Sequence[T], noun: str, *, option: str = "--verbose") -> tuple[Sequence[T], str]:
    """Return the entries of a list that are shown, and a line that counts the others.

    Args:
        entries: All of them. With `--verbose`, all are shown.
        noun: The noun for one entry.
        option: The option that lists the others.
    """
    ctx = click.get_current_context(silent=True)
    more = len(entries) - MOST_ENTRIES
    if more <= 0 or ctx is None or ctx.params.get("verbose"):
        return entries, ""
    return entries[:MOST_ENTRIES], f"... and {count(more, f'more {noun}')}; {option} lists them"


def paragraphs(*parts: str) -> str:
    """Return the parts that are not empty, separated by empty lines."""
    return "\n\n".join(filter(None, parts))


def remarks_text(
    remarks: Iterable[tuple[str, str]], *, columns: int | None, indent: int = 10
) -> str:
    """Return remarks, pairs of a label and a sentence, as text, one below the other."""
    shown, rest = cut(list(remarks), "remark")
    lines = [labelled(label, safe(text), columns=columns, indent=indent) for label, text in shown]
    return "\n".join([*lines, *filter(None, [rest])])


def labelled(label: str, text: str, *, columns: int | None, indent: int = 10) -> str:
    """Return a text with a label before it, wrapped beside the label.

    A command at the end of the text stays in one line, so that it can be copied.

    Args:
        label: One or two words.
        text: A sentence.
        columns: Width of the terminal; None for a file or pipe.
        indent: Columns before the text.
    """
    first = f"{label:<{indent}}"
    space = LONGEST_LINE if columns is None else columns
    if space < indent + 20:
        return first + text
    return textwrap.fill(
        _COMMAND.sub(lambda found: found[0].replace(" ", _UNBREAKABLE), text),
        space,
        initial_indent=first,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    ).replace(_UNBREAKABLE, " ")


def wrapped(text: str, columns: int | None) -> list[str]:
    """Return a text as one or more lines of at most `columns`; only a longer word passes them."""
    space = LONGEST_LINE if columns is None else columns
    return textwrap.wrap(text, space, break_long_words=False, break_on_hyphens=False) or [""]


def _text(column: Column[Any], row: object, glyphs: Glyphs) -> str:
    """Return a cell as text that the terminal neither obeys nor hides."""
    if column.is_bar:
        value = column.value(row)
        if isinstance(value, Marks):
            return survivors_bar(*value, glyphs=glyphs, most=_LONGEST_BAR)
        if isinstance(value, float):
            return f"{share_bar(value, glyphs=glyphs)} {value:4.0%}"
    cell = column.cell(row)
    if isinstance(cell, Name):
        return name(cell)
    return glyphs.infinity if cell == "∞" else safe(str(cell))


def _kept(
    headings: Sequence[Column[Any]], rows: Sequence[Sequence[str]], columns: int | None
) -> list[int]:
    """Return the indexes of the columns that are shown."""
    widths = _widths(headings, rows)
    kept = list(range(len(headings)))
    extras = [place for place in kept if headings[place].is_extra]
    while columns is not None and extras and _total(widths[place] for place in kept) > columns:
        kept.remove(extras.pop())
    return kept


def _widths(headings: Sequence[Column[Any]], rows: Sequence[Sequence[str]]) -> list[int]:
    titles = [heading.title for heading in headings]
    cells = zip(titles, *rows, strict=True)
    return [min(max(map(width, column)), _WIDEST) for column in cells]


def _total(widths: Iterable[int]) -> int:
    """Return the width of a line, gaps included."""
    return sum(space + len(_GAP) for space in widths) - len(_GAP)


def _fit(headings: Sequence[Column[Any]], widths: list[int], columns: int | None) -> None:
    """Make the widths of columns smaller, as far as possible; without a terminal, of sentences."""
    places = [] if columns is None else [(0, _NARROWEST_NAME)]
    if headings[-1].is_long:
        places.insert(0, (len(widths) - 1, _NARROWEST_SENTENCE))
    for place, narrowest in places:
        excess = _total(widths) - (LONGEST_LINE if columns is None else columns)
        widths[place] = max(min(widths[place], narrowest), widths[place] - max(excess, 0))


def _lines(
    headings: Sequence[Column[Any]], widths: Sequence[int], cells: Sequence[str]
) -> Iterator[str]:
    if not headings[-1].is_long or widths[-1] == _WIDEST:
        yield _line(headings, widths, cells)
        return
    first, *more = wrapped(cells[-1], widths[-1]) if width(cells[-1]) > widths[-1] else cells[-1:]
    yield _line(headings, widths, [*cells[:-1], first])
    for text in more:
        yield _line(headings, widths, [""] * (len(cells) - 1) + [text])


def _line(headings: Sequence[Column[Any]], widths: Sequence[int], cells: Sequence[str]) -> str:
    padded = [
        _pad(heading, space, cell)
        for heading, space, cell in zip(headings, widths, cells, strict=True)
    ]
    return _GAP.join(padded).rstrip()


def _pad(heading: Column[Any], space: int, cell: str) -> str:
    shown = cell if space == _WIDEST or heading.is_long else shorten(cell, space)
    filling = " " * (space - width(shown))
    if cell in heading.colors:
        shown = click.style(shown, fg=heading.colors[cell])
    return shown + filling if heading.is_text or heading.is_bar else filling + shown
