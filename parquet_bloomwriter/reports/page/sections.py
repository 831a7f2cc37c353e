"""The tables of a page: what lookups read, and every file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.reports.markup import Html, element, named
from parquet_bloomwriter.reports.summary import Column, Name, Table
from parquet_bloomwriter.text import percent, rate, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.reports.inspection import ColumnFigures, FileFilters, LookupCost

_FEW = 10
"""Expected numbers of row groups below this have two digits after the point."""

_HEIGHT, _THICKNESS = 16, 8
"""Heights of the drawing of a bar, and of the bar itself, pixels."""


_FILES: tuple[Column[tuple[int, FileFilters]], ...] = (
    Column(
        "path",
        lambda row: "buffer" if row[1].path is None else Name(row[1].path),
        is_text=True,
    ),
    Column("file", lambda row: row[0]),
    Column("size", lambda row: row[1].size),
    Column("rows", lambda row: row[1].num_rows),
    Column("row groups", lambda row: row[1].num_row_groups),
    Column("filters", lambda row: len(row[1].filters)),
    Column("bytes of filters", lambda row: row[1].num_filter_bytes),
    Column("share", lambda row: row[1].share if row[1].size else None, percent),
    Column(
        "problems",
        lambda row: sum(facts.problem is not None for facts in row[1].filters) or None,
    ),
)
_FILE_HINTS = {
    "file": "Number of the file, as plots name it",
    "size": "Bytes",
    "bytes of filters": "Headers and bitsets",
    "problems": "Filters that must not be trusted",
}


def file_table(files: Sequence[FileFilters]) -> Table[tuple[int, FileFilters]]:
    """Return the table of files, a row for each."""
    return Table(
        caption="Files",
        columns=_FILES,
        rows=list(enumerate(files, start=1)),
        noun="file",
        hints=_FILE_HINTS,
    )


def _bar(column: ColumnFigures) -> Html:
    """Draw a bar of the share that is read; a line marks its end, however short it is."""
    top = (_HEIGHT - _THICKNESS) / 2
    end = f"{100 * column.read_share:.3f}%"
    reads = f"{percent(column.read_share)} of the row groups instead of all"
    return element(
        "svg",
        element("title", f"{named(column.name)}: {reads}"),
        element("rect", x=0, y=top, width="100%", height=_THICKNESS, class_="whole"),
        element("rect", x=0, y=top, width=end, height=_THICKNESS, class_="part"),
        element("line", x1=end, x2=end, y1=top - 3, y2=_HEIGHT - top + 3, class_="end"),
        role="img",
        height=_HEIGHT,
        class_="lookup",
    )


def _bytes(cost: LookupCost) -> str:
    return size(round(cost.num_bytes))


def _groups(cost: LookupCost) -> str:
    """Write an expected number of row groups, with few digits."""
    row_groups = cost.row_groups
    if row_groups < 1:
        return rate(row_groups)
    digits = 2 if row_groups < _FEW else 1
    whole, _, part = f"{row_groups:,.{digits}f}".partition(".")
    return f"{whole}.{part}".rstrip("0").rstrip(".")


_LOOKUPS: tuple[Column[ColumnFigures], ...] = (
    Column("column", lambda column: Name(column.name), is_text=True),
    Column("share read, absent", _bar, is_text=True),
    Column("row groups before", lambda column: _groups(column.without_filters)),
    Column("row groups, there", lambda column: _groups(column.present)),
    Column("row groups, absent", lambda column: _groups(column.absent)),
    Column("bytes before", lambda column: _bytes(column.without_filters)),
    Column("bytes, there", lambda column: _bytes(column.present)),
    Column("bytes, absent", lambda column: _bytes(column.absent)),
)
_LOOKUP_HINTS = {
    "share read, absent": "Share of all row groups that are read",
    "row groups before": "Without filters, any value",
    "row groups, there": "With filters, a value that one row group holds",
    "row groups, absent": "With filters, a value that no row group holds",
    "bytes before": "Without filters, any value",
    "bytes, there": "With filters, a value that one row group holds",
    "bytes, absent": "With filters, a value that no row group holds",
}


def lookup_table(columns: Sequence[ColumnFigures]) -> Table[ColumnFigures]:
    """Return the table of what lookups read, a row with a bar for each column."""
    return Table(
        caption="What a lookup reads, by column",
        columns=_LOOKUPS,
        rows=columns,
        noun="column",
        hints=_LOOKUP_HINTS,
    )
