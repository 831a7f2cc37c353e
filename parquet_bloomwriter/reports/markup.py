"""Elements of HTML and SVG, made so that text cannot become markup; tables of summaries.

`Html` is markup. `str` is text, and is always escaped, in children and in attributes. Control
characters and bidirectional marks, which a browser would obey or hide, are made visible, too. Names
of elements and attributes are written in the code, never taken from data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

from parquet_bloomwriter.reports.summary import Name
from parquet_bloomwriter.text import clipped, count, name, safe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parquet_bloomwriter.reports.summary import Column, Table

LONGEST_NAME = 200
"""Largest number of characters of the name of a column or file that are shown."""

_VOID = frozenset({"meta", "br"})


@dataclass(frozen=True, slots=True)
class Html:
    """A piece of markup."""

    source: str


Content: TypeAlias = Html | str
"""Markup, or text that will be escaped."""

Attribute: TypeAlias = str | int | float | None
"""Value of an attribute; None leaves it out, a float is written with two decimals."""


def element(tag: str, *children: Content, **attributes: Attribute) -> Html:
    """Make one element.

    Args:
        tag: Name of the element.
        *children: The contents of the element; text is escaped.
        **attributes: Attributes by name, with `_` for `-`; a final `_` is dropped, as in `class_`.
    """
    opening = f"<{tag}{''.join(_attribute(*pair) for pair in attributes.items())}>"
    if tag in _VOID:
        return Html(opening)
    return Html(f"{opening}{joined(children).source}</{tag}>")


def joined(children: Iterable[Content]) -> Html:
    """Return pieces of markup, one after the other."""
    return Html("".join(c.source if isinstance(c, Html) else _escaped(c) for c in children))


def scrollable(*children: Content, label: str, class_: str) -> Html:
    """Make an element that scrolls by itself, also by keyboard; `label` is for screen readers."""
    return element("div", *children, role="region", tabindex=0, aria_label=label, class_=class_)


def identifier(text: str) -> Html:
    """Return a name from a file as markup, isolated from the direction of the text around it."""
    return element("bdi", named(text))


def named(text: str) -> str:
    """Return a name from a file as visible text, cut if it is long."""
    return clipped(name(text), LONGEST_NAME)


def _attribute(key: str, value: Attribute) -> str:
    if value is None:
        return ""
    shown = f"{value:.2f}" if isinstance(value, float) else str(value)
    return f' {key.rstrip("_").replace("_", "-")}="{_escaped(shown)}"'


def _escaped(text: str) -> str:
    return escape(safe(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The attributes of a table's elements: inline styles in a notebook, classes on a page."""

    most_rows: int
    """Largest number of rows that are shown; the number of other rows is shown below the table."""

    has_labels: bool = False
    """Whether each cell has the title of its heading as `data-label`, for narrow screens."""

    table: dict[str, str] = field(default_factory=dict)
    """Attributes of the element <table>; the other fields are attributes of its parts."""

    caption: dict[str, str] = field(default_factory=dict)
    text_heading: dict[str, str] = field(default_factory=dict)
    number_heading: dict[str, str] = field(default_factory=dict)
    row_heading: dict[str, str] = field(default_factory=dict)
    text: dict[str, str] = field(default_factory=dict)
    long_text: dict[str, str] = field(default_factory=dict)
    number: dict[str, str] = field(default_factory=dict)
    rest: dict[str, str] = field(default_factory=dict)


def laid_out(table: Table[Any], look: Look) -> tuple[Html, Html]:
    """Return the table, and a line with the number of rows left out, which may be empty."""
    first, *others = table.columns
    head = [_heading(table, column, look, is_text=column.is_text) for column in others]
    shown = table.rows[: look.most_rows]
    rows = [
        element(
            "tr",
            element("th", _content(first.cell(row)), scope="row", **look.row_heading),
            *[_cell(column, row, look) for column in others],
        )
        for row in shown
    ]
    body = element(
        "table",
        element("caption", table.caption, **look.caption),
        element("thead", element("tr", _heading(table, first, look, is_text=True), *head)),
        element("tbody", *rows),
        **look.table,
    )
    left_out = len(table.rows) - len(shown)
    if not left_out:
        return body, Html("")
    return body, element("p", f"and {count(left_out, 'more ' + table.noun)}", **look.rest)


def _heading(table: Table[Any], column: Column[Any], look: Look, *, is_text: bool) -> Html:
    attributes = look.text_heading if is_text else look.number_heading
    return element(
        "th", column.title, scope="col", title=table.hints.get(column.title), **attributes
    )


def _cell(column: Column[Any], row: object, look: Look) -> Html:
    words = look.long_text if column.is_long else look.text
    attributes = words if column.is_text else look.number
    label = column.title if look.has_labels else None
    return element("td", _content(column.cell(row)), data_label=label, **attributes)


def _content(cell: object) -> Content:
    if isinstance(cell, Html):
        return cell
    return identifier(cell) if isinstance(cell, Name) else str(cell)
