"""Tables of summaries as HTML: a heading for each row, text on the left, numbers on the right."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from parquet_bloomwriter.reports.markup import Content, Html, element
from parquet_bloomwriter.text import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.reports.summary import Heading, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The attributes of a table's elements: inline styles in a notebook, classes on a page."""

    most_rows: int
    """Rows that are shown; the number of all others stands below the table."""

    table: dict[str, str] = field(default_factory=dict)
    """Attributes of the element <table>; the other fields are those of its parts."""

    caption: dict[str, str] = field(default_factory=dict)
    text_heading: dict[str, str] = field(default_factory=dict)
    number_heading: dict[str, str] = field(default_factory=dict)
    row_heading: dict[str, str] = field(default_factory=dict)
    text: dict[str, str] = field(default_factory=dict)
    long_text: dict[str, str] = field(default_factory=dict)
    number: dict[str, str] = field(default_factory=dict)
    rest: dict[str, str] = field(default_factory=dict)


def laid_out(table: Table, look: Look) -> tuple[Html, Html]:
    """Return the table, and the line that counts the rows left out, which may be empty."""
    head = element("tr", *[_heading(heading, look) for heading in table.headings])
    rows = [_row(table.headings, cells, look) for cells in islice(table.rows, look.most_rows)]
    body = element(
        "table",
        element("caption", table.caption, **look.caption),
        element("thead", head),
        element("tbody", *rows),
        **look.table,
    )
    left_out = table.num_rows - len(rows)
    if not left_out:
        return body, Html("")
    return body, element("p", f"and {count(left_out, 'more ' + table.noun)}", **look.rest)


def _heading(heading: Heading, look: Look) -> Html:
    attributes = look.text_heading if heading.is_text else look.number_heading
    return element("th", heading.title, scope="col", title=heading.hint, **attributes)


def _row(headings: Sequence[Heading], cells: Sequence[Content], look: Look) -> Html:
    first, *others = cells
    return element(
        "tr",
        element("th", first, scope="row", **look.row_heading),
        *[
            element("td", cell, **_cell(heading, look))
            for heading, cell in zip(headings[1:], others, strict=True)
        ],
    )


def _cell(heading: Heading, look: Look) -> dict[str, str]:
    if not heading.is_text:
        return look.number
    return look.long_text if heading.is_long else look.text
