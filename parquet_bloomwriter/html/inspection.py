"""Filters that are there, by column; and what is wrong or unusual about them."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

from parquet_bloomwriter.html.summary import Remark, Summary
from parquet_bloomwriter.html.table import Heading, Table
from parquet_bloomwriter.reports.markup import identifier
from parquet_bloomwriter.reports.page.figures import figures_of, share_of_bytes
from parquet_bloomwriter.text import count, name, percent, rate, row_groups, safe, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parquet_bloomwriter.reports.inspection import FileFilters, FilterFacts
    from parquet_bloomwriter.reports.markup import Content
    from parquet_bloomwriter.reports.page.figures import ColumnFigures

COLUMN_HEADINGS = (
    Heading(title="column", is_text=True),
    Heading(title="type", is_text=True, hint="Physical type"),
    Heading(title="row groups", hint="With a filter, of all"),
    Heading(title="NDV", hint="Distinct values per row group, estimated from the bits, summed"),
    Heading(title="bytes", hint="Headers and bitsets"),
    Heading(title="bits/value", hint="Bits of bitset per distinct value"),
    Heading(title="fill", hint="Mean share of bits that are set"),
    Heading(title="mean FPP", hint="Mean exact false positive probability"),
    Heading(title="worst FPP", hint="Highest exact false positive probability of any filter"),
    Heading(title="problems", hint="Filters that must not be trusted"),
)


def inspected(files: Sequence[FileFilters]) -> Summary:
    """Filters of one or many files, by column."""
    columns = figures_of(files)
    return Summary(
        paths=(files[0].path,) if len(files) == 1 else (count(len(files), "file"),),
        headline=_headline(files),
        table=column_table(columns),
        remarks=tuple(remarks_on(files)),
    )


def column_table(columns: Sequence[ColumnFigures]) -> Table:
    """One row per column."""
    return Table(
        caption="Filters by column",
        headings=COLUMN_HEADINGS,
        rows=map(_row, columns),
        num_rows=len(columns),
        noun="column",
    )


def remarks_on(files: Sequence[FileFilters]) -> list[Remark]:
    """Problems first, then oddities; row groups of one column that share a reason together."""
    return [*_grouped(files, "problem"), *_grouped(files, "oddity")]


def quantity(number: float | None) -> str:
    """Write a number of distinct values; "∞" where all bits are set."""
    if number is None or math.isnan(number):
        return "-"
    return "∞" if math.isinf(number) else f"{number:,.0f}"


def _headline(files: Sequence[FileFilters]) -> str:
    filters = [one for file in files for one in file.filters]
    row_groups = count(sum(file.num_row_groups for file in files), "row group")
    if not filters:
        return f"no filter in {row_groups}"
    num_bytes = sum(file.num_filter_bytes for file in files)
    share = percent(share_of_bytes(files))
    headline = f"{count(len(filters), 'filter')} in {row_groups}, {size(num_bytes)} ({share})"
    num_problems = sum(one.problem is not None for one in filters)
    return headline if not num_problems else f"{headline}, {count(num_problems, 'problem')}"


def _row(column: ColumnFigures) -> list[Content]:
    bits, fill = column.bits_per_value, column.mean_fill
    return [
        identifier(column.name),
        ", ".join(column.physical_types),
        f"{len(column.filters):,} of {column.num_row_groups:,}",
        quantity(column.ndv),
        f"{column.num_filter_bytes:,}",
        "-" if bits is None else f"{bits:,.1f}",
        "-" if fill is None else percent(fill),
        rate(column.mean_fpp),
        rate(column.worst_fpp),
        f"{column.num_problems:,}" if column.num_problems else "-",
    ]


def _grouped(files: Sequence[FileFilters], label: str) -> Iterable[Remark]:
    """Put row groups together of which the same is said, of the same column, in all files."""
    places: dict[tuple[str, str], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, file in enumerate(files):
        for column in file.columns:
            for facts in column.filters:
                for text in _said_of(facts, label):
                    places[name(column.name), text][number].append(facts.row_group)
    for (column_name, text), by_file in places.items():
        sentence = f"{column_name}, {_where(files, by_file)}: {text}"
        yield Remark(label=label, sentence=sentence)


def _where(files: Sequence[FileFilters], by_file: dict[int, list[int]]) -> str:
    first, ordinals = next(iter(by_file.items()))
    if len(files) == 1:
        return row_groups(ordinals)
    there = f"{safe(files[first].path or 'a buffer')}, {row_groups(ordinals)}"
    if len(by_file) == 1:
        return there
    total = count(sum(map(len, by_file.values())), "row group")
    return f"{total} of {len(by_file):,} files, the first in {there}"


def _said_of(facts: FilterFacts, label: str) -> tuple[str, ...]:
    if label == "oddity":
        return facts.oddities
    return () if facts.problem is None else (facts.problem,)
