"""The report of `inspect`: the filters of files, their faults and their oddities.

Figures of columns, summed over all row groups of all files, in the order of the files.

If a value is absent from row group i, a lookup still reads the row group with a probability p(i).
This is the exact rate of the row group's filter, or 1 if there is no filter that can be trusted. Of
N row groups, of b(i) bytes each, with F bytes of filters that can be trusted, the lookup reads

                                 row groups                bytes
    without filters              N                         sum b(i)
    with, the value is absent    sum p(i)                  F + sum p(i) b(i)
    with, one row group has it   1 + (1 - 1/N) sum p(i)    F + sum b(i)/N + (1 - 1/N) sum p(i) b(i)

on average, if each row group is equally likely to hold the value. Footers are read in any case, so
they are not counted. Statistics and dictionaries, which may exclude row groups, are not counted
either.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from parquet_bloomwriter.reports.notebook import notebook_html
from parquet_bloomwriter.reports.summary import (
    BITS_PER_BYTE,
    Column,
    Name,
    Summary,
    Table,
    grouped_remarks,
    mean,
    quantity,
    tenths,
)
from parquet_bloomwriter.text import count, listed, name, percent, rate, safe, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parquet_bloomwriter.reports.summary import Remark


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

    JSON: ClassVar = ("*", "bits_per_value")
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
        rates = [facts.fpp for facts in self.filters if facts.fpp is not None]
        worst = f", worst FPP {rate(max(rates))}" if rates else ""
        problems = sum(facts.problem is not None for facts in self.filters)
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

    JSON: ClassVar = (
        *("path", "size", "num_rows", "num_row_groups", "created_by"),
        *("num_filters", "num_filter_bytes", "share", "columns"),
    )
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
        return tuple(facts for column in self.columns for facts in column.filters)

    @property
    def num_filters(self) -> int:
        """Number of filters."""
        return len(self.filters)

    @property
    def num_filter_bytes(self) -> int:
        """Length of all filters, headers and bitsets, bytes."""
        return sum(facts.length or 0 for facts in self.filters)

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


_FEW_DISTINCT = 100
"""Distinct values of a row group that are few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedFilter:
    """A filter, and the position of its row group among the row groups of all files."""

    position: int
    """Position among the row groups of all files, one file after the other, counted from 0."""

    file: int
    """Ordinal of the file, counted from 0."""

    facts: FilterFacts

    @property
    def is_trusted(self) -> bool:
        """Return whether a lookup may trust the filter."""
        return self.facts.problem is None and self.facts.fpp is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupCost:
    """The mean cost of one lookup by equality."""

    row_groups: float
    """Number of row groups that are read."""

    num_bytes: float
    """Compressed size of these row groups, and length of the filters that are read, bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFigures:
    """The figures of one column in all files."""

    name: str
    """Dotted path of the column."""

    types: tuple[str, ...]
    """Types of the column; several types if files disagree."""

    num_row_groups: int
    """Number of row groups of all files, with filters or without."""

    row_group_bytes: tuple[int, ...] = field(repr=False)
    """Compressed size of each row group, all columns, bytes; by position."""

    filters: tuple[PlacedFilter, ...]
    """The filters, by position."""

    @property
    def num_filter_bytes(self) -> int:
        """Length of all filters, headers and bitsets, bytes."""
        return sum(placed.facts.length or 0 for placed in self.filters)

    @property
    def ndv(self) -> float | None:
        """Number of distinct values per row group, summed; None if no number is known."""
        return _total(placed.facts.ndv for placed in self.filters)

    @property
    def has_few_values(self) -> bool:
        """Whether a value is surely in many row groups, as each has few, and repeats them."""
        distinct = mean(placed.facts.ndv for placed in self.filters)
        values = mean(placed.facts.num_values for placed in self.filters) or 0.0
        return distinct is not None and distinct < min(_FEW_DISTINCT, values / 2)

    @property
    def bits_per_value(self) -> float | None:
        """Bits of bitset per distinct value; None if no number is known."""
        sized = [placed.facts for placed in self.filters if placed.facts.bits_per_value is not None]
        values = sum(facts.ndv or 0.0 for facts in sized)
        bits = BITS_PER_BYTE * sum(facts.num_bytes or 0 for facts in sized)
        return bits / values if values else None

    @property
    def mean_fill(self) -> float | None:
        """Mean share of bits that are set, in [0, 1]."""
        return mean(placed.facts.fill for placed in self.filters)

    @property
    def mean_fpp(self) -> float | None:
        """Mean exact rate of the filters that can be trusted."""
        return mean(placed.facts.fpp for placed in self.filters if placed.is_trusted)

    @property
    def worst_fpp(self) -> float | None:
        """Highest exact rate of the filters that can be trusted."""
        rates = [placed.facts.fpp for placed in self.filters if placed.is_trusted]
        return max((rate for rate in rates if rate is not None), default=None)

    @property
    def num_problems(self) -> int:
        """Filters that must not be trusted."""
        return sum(placed.facts.problem is not None for placed in self.filters)

    @property
    def without_filters(self) -> LookupCost:
        """The cost without filters."""
        return LookupCost(row_groups=self.num_row_groups, num_bytes=sum(self.row_group_bytes))

    @property
    def absent(self) -> LookupCost:
        """The cost if no row group holds the value."""
        trusted = [placed for placed in self.filters if placed.is_trusted]
        spared = [(1 - (placed.facts.fpp or 0.0), placed) for placed in trusted]
        num_bytes = sum(share * self.row_group_bytes[placed.position] for share, placed in spared)
        filters = sum(placed.facts.length or 0 for placed in trusted)
        return LookupCost(
            row_groups=self.num_row_groups - sum(share for share, _ in spared),
            num_bytes=sum(self.row_group_bytes) - num_bytes + filters,
        )

    @property
    def present(self) -> LookupCost:
        """The cost if one row group holds the value."""
        if not self.num_row_groups:
            return self.without_filters
        every, absent, number = self.without_filters, self.absent, self.num_row_groups
        filters = sum(placed.facts.length or 0 for placed in self.filters if placed.is_trusted)
        by_mistake = (absent.num_bytes - filters) * (1 - 1 / number)
        return LookupCost(
            row_groups=1 + absent.row_groups * (1 - 1 / number),
            num_bytes=filters + every.num_bytes / number + by_mistake,
        )

    @property
    def read_share(self) -> float:
        """Share of row groups that a lookup of an absent value reads, in [0, 1]."""
        return self.absent.row_groups / self.num_row_groups if self.num_row_groups else 0.0


def figures_of(files: Sequence[FileFilters]) -> tuple[ColumnFigures, ...]:
    """Sum up columns by name; columns of the same name in one file are distinguished by order."""
    found: dict[tuple[str, int], list[PlacedFilter]] = {}
    types: dict[tuple[str, int], dict[str, None]] = {}
    sizes = tuple(span.num_bytes for file in files for span in file.row_groups)
    start = 0
    for ordinal, file in enumerate(files):
        seen: Counter[str] = Counter()
        for column in file.columns:
            key = (column.name, seen[column.name])
            seen[column.name] += 1
            found.setdefault(key, []).extend(_placed(column, file=ordinal, start=start))
            types.setdefault(key, {})[column.type] = None
        start += file.num_row_groups
    return tuple(
        ColumnFigures(
            name=key[0],
            types=tuple(types[key]),
            num_row_groups=start,
            row_group_bytes=sizes,
            filters=tuple(sorted(filters, key=lambda placed: placed.position)),
        )
        for key, filters in found.items()
    )


def share_of_bytes(files: Iterable[FileFilters]) -> float:
    """Return the share of all bytes that are filters, in [0, 1]."""
    known = tuple(files)
    size = sum(file.size for file in known)
    return sum(file.num_filter_bytes for file in known) / size if size else 0.0


def _total(numbers: Iterable[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return math.fsum(known) if known else None


def _placed(column: ColumnFilters, *, file: int, start: int) -> list[PlacedFilter]:
    return [
        PlacedFilter(position=start + facts.row_group, file=file, facts=facts)
        for facts in column.filters
    ]


def _summary_of(files: Sequence[FileFilters]) -> Summary:
    return Summary(
        paths=(files[0].path,) if len(files) == 1 else (count(len(files), "file"),),
        headline=_headline(files),
        table=column_table(files).without("of file", "place"),
        remarks=tuple(remarks_on(files)),
    )


_COLUMN_HINTS = {
    "type": "Logical type, or the physical one",
    "row groups": "With a filter, of all",
    "NDV": "Distinct values per row group, estimated from the bits, summed",
    "bytes": "Headers and bitsets",
    "bits/value": "Bits of bitset per distinct value",
    "fill": "Mean share of bits that are set",
    "mean FPP": "Mean exact false positive probability",
    "worst FPP": "Highest exact false positive probability of any filter",
    "problems": "Filters that must not be trusted",
}


def column_table(files: Sequence[FileFilters]) -> Table[ColumnFigures]:
    """Return the table of filters, with a row for each column."""
    total = sum(file.size for file in files)
    columns: tuple[Column[ColumnFigures], ...] = (
        Column("column", lambda column: Name(column.name), is_text=True),
        Column("type", lambda column: ", ".join(column.types), is_text=True),
        Column(
            "row groups", lambda column: f"{len(column.filters):,} of {column.num_row_groups:,}"
        ),
        Column("NDV", lambda column: column.ndv, quantity),
        Column("bytes", lambda column: column.num_filter_bytes if column.filters else None),
        Column(
            "of file",
            lambda column: column.num_filter_bytes / total if column.filters else None,
            percent,
            is_extra=True,
        ),
        Column("bits/value", lambda column: column.bits_per_value, tenths, is_extra=True),
        Column("fill", lambda column: column.mean_fill, percent, is_bar=True),
        Column("mean FPP", lambda column: column.mean_fpp, rate),
        Column("worst FPP", lambda column: column.worst_fpp, rate),
        Column("problems", lambda column: column.num_problems or None),
        Column(
            "place",
            lambda column: ", ".join(dict.fromkeys(f.facts.place for f in column.filters)) or None,
            is_text=True,
        ),
    )
    return Table(
        caption="Filters by column",
        columns=columns,
        rows=figures_of(files),
        noun="column",
        hints=_COLUMN_HINTS,
    )


class NumberedFilter(NamedTuple):
    """A filter, and the number of its file, counted from 1."""

    file: int
    facts: FilterFacts


_FILTER_COLUMNS: tuple[Column[NumberedFilter], ...] = (
    Column("column", lambda placed: Name(placed.facts.column), is_text=True),
    Column("file", lambda placed: placed.file),
    Column("row group", lambda placed: placed.facts.row_group),
    Column("offset", lambda placed: placed.facts.offset),
    Column("values", lambda placed: placed.facts.num_values, is_extra=True),
    Column("NDV", lambda placed: placed.facts.ndv, quantity),
    Column("bytes", lambda placed: placed.facts.length),
    Column("bits/value", lambda placed: placed.facts.bits_per_value, tenths, is_extra=True),
    Column("fill", lambda placed: placed.facts.fill, percent, is_bar=True),
    Column("FPP", lambda placed: placed.facts.fpp, rate),
    Column("place", lambda placed: placed.facts.place, is_text=True),
    Column(
        "trust",
        lambda placed: "ok" if placed.facts.problem is None else "problem",
        is_text=True,
        colors={"problem": "red"},
    ),
)
_FILTER_HINTS = {
    "file": "Number of the file",
    "row group": "0-based",
    "offset": "Of the header, bytes from the start of the file",
    "values": "Of the column chunk, nulls left out",
    "NDV": "Distinct values, estimated from the bits",
    "bytes": "Header and bitset",
    "fill": "Share of bits that are set",
    "FPP": "Exact rate, from the bits",
}


def filter_table(files: Sequence[FileFilters]) -> Table[NumberedFilter]:
    """Return the table of filters, a row for each."""
    return Table(
        caption="Every filter",
        columns=_FILTER_COLUMNS,
        rows=[
            NumberedFilter(number, facts)
            for number, file in enumerate(files, start=1)
            for facts in file.filters
        ],
        noun="filter",
        hints=_FILTER_HINTS,
    )


def remarks_on(files: Sequence[FileFilters]) -> list[Remark]:
    """Return the problems, then the oddities, with one remark for each column and reason."""
    by_file = [(file.path, file.filters) for file in files]
    return [
        *grouped_remarks(
            by_file, lambda facts: [("problem", facts.problem)] if facts.problem is not None else []
        ),
        *grouped_remarks(by_file, lambda facts: [("oddity", text) for text in facts.oddities]),
    ]


def _headline(files: Sequence[FileFilters]) -> str:
    filters = [facts for file in files for facts in file.filters]
    row_groups = count(sum(file.num_row_groups for file in files), "row group")
    if not filters:
        return f"no filter in {row_groups}"
    num_bytes = sum(file.num_filter_bytes for file in files)
    share = percent(share_of_bytes(files))
    headline = f"{count(len(filters), 'filter')} in {row_groups}, {size(num_bytes)} ({share})"
    num_problems = sum(facts.problem is not None for facts in filters)
    return headline if not num_problems else f"{headline}, {count(num_problems, 'problem')}"
