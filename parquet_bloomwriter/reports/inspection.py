"""The report of `inspect`: the filters of files, their faults and their oddities."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from parquet_bloomwriter.reports.figures import BITS_PER_BYTE, figures_of, share_of_bytes
from parquet_bloomwriter.reports.markup import identifier
from parquet_bloomwriter.reports.notebook import notebook_html
from parquet_bloomwriter.reports.summary import Heading, Remark, Summary, Table
from parquet_bloomwriter.text import count, listed, name, percent, rate, row_groups, safe, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parquet_bloomwriter.reports.figures import ColumnFigures
    from parquet_bloomwriter.reports.markup import Content


class FilterPlace(StrEnum):
    """The place of a filter in its file."""

    COLUMN_CHUNK = "column-chunk"
    """Directly before its column chunk."""

    ROW_GROUP = "row-group"
    """Between the chunks of its row group and the next row group."""

    END = "end"
    """Behind all column chunks, before the footer."""

    ELSEWHERE = "elsewhere"
    """At another place, or the header cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterFacts:
    """The stored filter of one column chunk."""

    row_group: int
    """Ordinal of the row group, counted from 0."""

    ordinal: int
    """Leaf ordinal of the column, counted from 0."""

    column: str
    """Dotted path of the column."""

    num_values: int
    """Number of values of the chunk, without the nulls that statistics count; at least 0."""

    offset: int
    """Absolute position of the filter's header, bytes."""

    length: int | None
    """Length of header and bitset by the header, bytes; None if the header cannot be read."""

    num_bytes: int | None
    """Length of the bitset, bytes; None if the header cannot be read."""

    place: FilterPlace
    ndv: float | None
    """Number of distinct values, estimated from the bits; infinite if all bits are set; None if the
    bitset cannot be read."""

    fill: float | None
    """Share of bits that are set, in [0, 1]; None if the bitset cannot be read."""

    fpp: float | None
    """Exact FPP: the probability that an absent value passes this filter, in [0, 1]; None if the
    bitset cannot be read."""

    problem: str | None
    """The reason why the filter must not be trusted; None if there is no such reason."""

    oddities: tuple[str, ...] = ()
    """Unusual facts about the filter that are harmless to some readers: no `bloom_filter_length`, a
    size that is not a power of two, an unusual encoding of the header."""

    def __str__(self) -> str:
        """Return one line."""
        sizes = "unreadable" if self.length is None else count(self.length, "byte")
        full = "" if self.fill is None else f", {percent(self.fill)} of its bits set"
        oddities = "".join(f"; {safe(text)}" for text in (self.problem, *self.oddities) if text)
        where = f"{name(self.column)}, row group {self.row_group}"
        return f"{where}: {sizes} at {self.offset:,}, FPP {rate(self.fpp)}{full}{oddities}"

    @property
    def bits_per_value(self) -> float | None:
        """Bits of bitset per distinct value; None if one of these numbers is not known."""
        if self.num_bytes is None or not self.ndv or self.ndv == float("inf"):
            return None
        return BITS_PER_BYTE * self.num_bytes / self.ndv


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFilters:
    """The filters of one column in all row groups of one file."""

    name: str
    """Dotted path of the column."""

    ordinal: int
    """Leaf ordinal, counted from 0."""

    physical_type: str
    """Name of the physical type in parquet.thrift."""

    type: str
    """Name of the type in schemas, such as STRING or DECIMAL(9,2)."""

    num_row_groups: int
    """Number of row groups of the file, with or without filters."""

    num_compressed_bytes: int
    """Compressed size of the column's chunks, bytes."""

    filters: tuple[FilterFacts, ...]
    """The filters, in the order of row groups; row groups without a filter are left out."""

    def __str__(self) -> str:
        """Return one line."""
        rates = [one.fpp for one in self.filters if one.fpp is not None]
        worst = f", worst FPP {rate(max(rates))}" if rates else ""
        problems = sum(one.problem is not None for one in self.filters)
        doubtful = f"; {count(problems, 'filter')} must not be trusted" if problems else ""
        groups = f"{len(self.filters):,} of {count(self.num_row_groups, 'row group')}"
        return f"{name(self.name)}: filters for {groups}{worst}{doubtful}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroupSpan:
    """The place of one row group in its file, by its footer."""

    start: int
    """Absolute position of the first byte of the column chunks, bytes."""

    stop: int
    """Absolute position behind the last byte of the column chunks, bytes. Filters may lie in
    between."""

    num_bytes: int
    """Compressed size of all column chunks, bytes."""

    num_rows: int
    """Number of rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFilters:
    """The filters of one file."""

    path: str | None
    """Path of the file; None for a buffer."""

    size: int
    """Size of the file, bytes."""

    num_rows: int
    """Number of rows."""

    num_row_groups: int
    """Number of row groups."""

    created_by: str
    """Name of the writer by the footer (`created_by`)."""

    row_groups: tuple[RowGroupSpan, ...] = field(repr=False)
    """The places of all row groups, in order, with filters or without."""

    footer_start: int
    """Absolute position of the footer, bytes. The footer ends with the file."""

    columns: tuple[ColumnFilters, ...]
    """The columns with filters, and all columns that were named by the caller, in the order of the
    schema."""

    def __str__(self) -> str:
        """Return a line for the file, and one for each column."""
        size = f"{count(self.num_filter_bytes, 'byte')}, {percent(self.share)} of the file"
        head = f"{safe(self.path or 'buffer')}: {count(len(self.filters), 'filter')}, {size}"
        return listed(head, map(str, self.columns))

    @property
    def filters(self) -> tuple[FilterFacts, ...]:
        """All filters."""
        return tuple(one for column in self.columns for one in column.filters)

    @property
    def num_filter_bytes(self) -> int:
        """Length of all filters, headers and bitsets, bytes."""
        return sum(one.length or 0 for one in self.filters)

    @property
    def share(self) -> float:
        """Share of the file's bytes that are filters, in [0, 1]."""
        return self.num_filter_bytes / self.size if self.size else 0.0

    def summary(self) -> Summary:
        """Return the report in short: a headline, a table and remarks, as plain values."""
        return _summary_of((self,))

    _repr_html_ = notebook_html


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectReport:
    """The filters of one file or many files."""

    files: tuple[FileFilters, ...]
    """The filters of each file, in the order given."""

    def __str__(self) -> str:
        """Return the files, one after the other."""
        return "\n".join(map(str, self.files))

    def summary(self) -> Summary:
        """Return the report in short: a headline, a table and remarks, as plain values."""
        return _summary_of(self.files)

    _repr_html_ = notebook_html


COLUMN_HEADINGS = (
    Heading(title="column", is_text=True),
    Heading(title="type", is_text=True, hint="Logical type, or the physical one"),
    Heading(title="row groups", hint="With a filter, of all"),
    Heading(title="NDV", hint="Distinct values per row group, estimated from the bits, summed"),
    Heading(title="bytes", hint="Headers and bitsets"),
    Heading(title="bits/value", hint="Bits of bitset per distinct value"),
    Heading(title="fill", hint="Mean share of bits that are set"),
    Heading(title="mean FPP", hint="Mean exact false positive probability"),
    Heading(title="worst FPP", hint="Highest exact false positive probability of any filter"),
    Heading(title="problems", hint="Filters that must not be trusted"),
)


def _summary_of(files: Sequence[FileFilters]) -> Summary:
    columns = figures_of(files)
    return Summary(
        paths=(files[0].path,) if len(files) == 1 else (count(len(files), "file"),),
        headline=_headline(files),
        table=column_table(columns),
        remarks=tuple(remarks_on(files)),
    )


def column_table(columns: Sequence[ColumnFigures]) -> Table:
    """Return the table of filters, with a row for each column."""
    return Table(
        caption="Filters by column",
        headings=COLUMN_HEADINGS,
        rows=map(_row, columns),
        num_rows=len(columns),
        noun="column",
    )


def remarks_on(files: Sequence[FileFilters]) -> list[Remark]:
    """Return the problems, then the oddities, with one remark for each column and reason."""
    return [*_grouped(files, "problem"), *_grouped(files, "oddity")]


def quantity(number: float | None) -> str:
    """Write a number of distinct values; "∞" if all bits are set."""
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
        ", ".join(column.types),
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
    """Yield a remark for each column and reason, with the row groups in all files."""
    places: dict[tuple[str, str], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, file in enumerate(files):
        for column in file.columns:
            for facts in column.filters:
                for text in _reasons(facts, label):
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


def _reasons(facts: FilterFacts, label: str) -> tuple[str, ...]:
    if label == "oddity":
        return facts.oddities
    return () if facts.problem is None else (facts.problem,)
