"""What a lookup of an absent value reads: a bar per column, against all row groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.html.table import Heading, Table
from parquet_bloomwriter.reports.markup import Html, element, identifier, named
from parquet_bloomwriter.text import percent, rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.reports.markup import Content
    from parquet_bloomwriter.reports.page.figures import ColumnFigures

_HEIGHT = 16
_THICKNESS = 8

_HEADINGS = (
    Heading(title="column", is_text=True),
    Heading(title="share of row groups read", is_text=True),
    Heading(title="with filters"),
    Heading(title="row groups", hint="Expected number of row groups read"),
    Heading(title="without"),
)


def lookup_table(columns: Sequence[ColumnFigures]) -> Table:
    """One row per column, with its bar."""
    return Table(
        caption="Row groups that a lookup of an absent value reads, by column",
        headings=_HEADINGS,
        rows=map(_row, columns),
        num_rows=len(columns),
        noun="column",
    )


def _row(column: ColumnFigures) -> list[Content]:
    return [
        identifier(column.name),
        _bar(column),
        percent(column.read_share),
        f"{_expected(column.read_row_groups)} of {column.num_row_groups:,}",
        percent(1.0 if column.num_row_groups else 0.0),
    ]


def _bar(column: ColumnFigures) -> Html:
    """Draw the share that is read upon the whole; its end stays visible however short it is."""
    top = (_HEIGHT - _THICKNESS) / 2
    end = f"{100 * column.read_share:.3f}%"
    told = f"{percent(column.read_share)} of the row groups instead of all"
    return element(
        "svg",
        element("title", f"{named(column.name)}: {told}"),
        element("rect", x=0, y=top, width="100%", height=_THICKNESS, class_="whole"),
        element("rect", x=0, y=top, width=end, height=_THICKNESS, class_="part"),
        element("line", x1=end, x2=end, y1=top - 3, y2=_HEIGHT - top + 3, class_="end"),
        role="img",
        height=_HEIGHT,
        class_="lookup",
    )


def _expected(row_groups: float) -> str:
    """Write an expected number: whole where it is large, two digits where it is small."""
    if row_groups < 1:
        return rate(row_groups)
    return f"{row_groups:,.1f}".removesuffix(".0")
