"""The tables of a page: what lookups read, every filter, every file."""

from __future__ import annotations

from itertools import starmap
from typing import TYPE_CHECKING

from parquet_bloomwriter.reports.inspection import quantity
from parquet_bloomwriter.reports.markup import Html, element, identifier, named
from parquet_bloomwriter.reports.summary import Heading, Table
from parquet_bloomwriter.text import percent, rate, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.reports.figures import ColumnFigures
    from parquet_bloomwriter.reports.inspection import FileFilters, FilterFacts
    from parquet_bloomwriter.reports.markup import Content

_FILES = (
    Heading(title="path", is_text=True),
    Heading(title="file", hint="Number of the file, as plots name it"),
    Heading(title="size", hint="Bytes"),
    Heading(title="rows"),
    Heading(title="row groups"),
    Heading(title="filters"),
    Heading(title="bytes of filters", hint="Headers and bitsets"),
    Heading(title="share"),
    Heading(title="problems", hint="Filters that must not be trusted"),
)
_FILTERS = (
    Heading(title="column", is_text=True),
    Heading(title="file", hint="Number of the file"),
    Heading(title="row group", hint="0-based"),
    Heading(title="offset", hint="Of the header, bytes from the start of the file"),
    Heading(title="bytes", hint="Header and bitset"),
    Heading(title="place", is_text=True),
    Heading(title="values", hint="Of the column chunk, nulls left out"),
    Heading(title="NDV", hint="Distinct values, estimated from the bits"),
    Heading(title="fill", hint="Share of bits that are set"),
    Heading(title="FPP", hint="Exact rate, from the bits"),
)
_LOOKUPS = (
    Heading(title="column", is_text=True),
    Heading(title="share read, absent", is_text=True, hint="Share of all row groups that are read"),
    Heading(title="row groups before", hint="Without filters, any value"),
    Heading(title="row groups, there", hint="With filters, a value that one row group holds"),
    Heading(title="row groups, absent", hint="With filters, a value that no row group holds"),
    Heading(title="bytes before", hint="Without filters, any value"),
    Heading(title="bytes, there", hint="With filters, a value that one row group holds"),
    Heading(title="bytes, absent", hint="With filters, a value that no row group holds"),
)

_FEW = 10
"""Below, expected numbers of row groups have two digits after the point."""

_HEIGHT, _THICKNESS = 16, 8
"""Of the drawing of a bar, and of the bar itself, pixels."""


def file_table(files: Sequence[FileFilters]) -> Table:
    """Return the table of files, a row for each."""
    return Table(
        caption="Files",
        headings=_FILES,
        rows=starmap(_file_row, enumerate(files, start=1)),
        num_rows=len(files),
        noun="file",
    )


def filter_table(files: Sequence[FileFilters]) -> Table:
    """Return the table of filters, a row for each."""
    return Table(
        caption="Every filter",
        headings=_FILTERS,
        rows=(
            _filter_row(number, facts)
            for number, file in enumerate(files, start=1)
            for facts in file.filters
        ),
        num_rows=sum(len(file.filters) for file in files),
        noun="filter",
    )


def _file_row(number: int, file: FileFilters) -> list[Content]:
    num_problems = sum(one.problem is not None for one in file.filters)
    return [
        "buffer" if file.path is None else identifier(file.path),
        f"{number:,}",
        f"{file.size:,}",
        f"{file.num_rows:,}",
        f"{file.num_row_groups:,}",
        f"{len(file.filters):,}",
        f"{file.num_filter_bytes:,}",
        percent(file.share) if file.size else "-",
        f"{num_problems:,}" if num_problems else "-",
    ]


def _filter_row(number: int, facts: FilterFacts) -> list[Content]:
    return [
        identifier(facts.column),
        f"{number:,}",
        f"{facts.row_group:,}",
        f"{facts.offset:,}",
        "-" if facts.length is None else f"{facts.length:,}",
        facts.place.value,
        f"{facts.num_values:,}",
        quantity(facts.ndv),
        "-" if facts.fill is None else percent(facts.fill),
        rate(facts.fpp),
    ]


def lookup_table(columns: Sequence[ColumnFigures]) -> Table:
    """Return the table of what lookups read, a row with a bar for each column."""
    return Table(
        caption="What a lookup reads, by column",
        headings=_LOOKUPS,
        rows=map(_row, columns),
        num_rows=len(columns),
        noun="column",
    )


def _row(column: ColumnFigures) -> list[Content]:
    costs = (column.without_filters, column.present, column.absent)
    return [
        identifier(column.name),
        _bar(column),
        *[_expected(cost.row_groups) for cost in costs],
        *[size(round(cost.num_bytes)) for cost in costs],
    ]


def _bar(column: ColumnFigures) -> Html:
    """Draw the share that is read upon the whole; a line marks its end, however short it is."""
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


def _expected(row_groups: float) -> str:
    """Write an expected number of row groups, with few digits."""
    if row_groups < 1:
        return rate(row_groups)
    digits = 2 if row_groups < _FEW else 1
    whole, _, part = f"{row_groups:,.{digits}f}".partition(".")
    return f"{whole}.{part}".rstrip("0").rstrip(".")
