"""What `inspect` found, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from parquet_bloomwriter.text import count, listed, name, percent, rate, safe

BITS_PER_BYTE = 8


class FilterPlace(StrEnum):
    """Where a filter lies."""

    COLUMN_CHUNK = "column-chunk"
    """Right before its column chunk."""

    ROW_GROUP = "row-group"
    """Between its row group's chunks and the next row group."""

    END = "end"
    """Behind all column chunks, before the footer."""

    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterFacts:
    """The filter of one column chunk, as it stands in the file."""

    row_group: int
    """0-based ordinal."""

    ordinal: int
    """0-based leaf ordinal."""

    column: str
    """Dotted path."""

    num_values: int
    """Values of the chunk without nulls, as far as the statistics count those; 0 at least."""

    offset: int
    """Absolute position of the header, bytes."""

    length: int | None
    """Header and bitset by its own header, bytes; None if it cannot be read."""

    num_bytes: int | None
    """Bitset, bytes."""

    place: FilterPlace
    ndv: float | None
    """Distinct values, estimated from the bits; infinite if all bits are set."""

    fill: float | None
    """Share of bits that are set, in [0, 1]."""

    fpp: float | None
    """Exact rate: the chance that an absent value passes this very filter, in [0, 1]."""

    problem: str | None
    """Why it must not be trusted; None if nothing speaks against it."""

    oddities: tuple[str, ...] = ()
    """What is unusual about it, but harmless to some readers: no `bloom_filter_length`, a size that
    is no power of two, an unusual encoding of the header."""

    def __str__(self) -> str:
        """One line."""
        sizes = "unreadable" if self.length is None else count(self.length, "byte")
        full = "" if self.fill is None else f", {percent(self.fill)} of its bits set"
        oddities = "".join(f"; {safe(text)}" for text in (self.problem, *self.oddities) if text)
        where = f"{name(self.column)}, row group {self.row_group}"
        return f"{where}: {sizes} at {self.offset:,}, FPP {rate(self.fpp)}{full}{oddities}"

    @property
    def bits_per_value(self) -> float | None:
        """Bits of bitset per distinct value."""
        if self.num_bytes is None or not self.ndv or self.ndv == float("inf"):
            return None
        return BITS_PER_BYTE * self.num_bytes / self.ndv


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFilters:
    """One column in all row groups of one file."""

    name: str
    ordinal: int
    physical_type: str
    """As parquet.thrift spells it."""

    num_row_groups: int
    num_compressed_bytes: int
    """Of the column's chunks."""

    filters: tuple[FilterFacts, ...]
    """Of the row groups that have one."""

    def __str__(self) -> str:
        """One line."""
        rates = [one.fpp for one in self.filters if one.fpp is not None]
        worst = f", worst FPP {rate(max(rates))}" if rates else ""
        problems = sum(one.problem is not None for one in self.filters)
        doubtful = f"; {count(problems, 'filter')} must not be trusted" if problems else ""
        groups = f"{len(self.filters):,} of {count(self.num_row_groups, 'row group')}"
        return f"{name(self.name)}: filters for {groups}{worst}{doubtful}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFilters:
    """One file."""

    path: str | None
    """None for a buffer."""

    size: int
    """Bytes."""

    num_rows: int
    num_row_groups: int
    created_by: str
    columns: tuple[ColumnFilters, ...]
    """Of the columns that have filters, and of all that were asked for by name, in the order of the
    schema."""

    def __str__(self) -> str:
        """A line for the file, and one for each column."""
        size = f"{count(self.num_filter_bytes, 'byte')}, {percent(self.share)} of the file"
        head = f"{safe(self.path or 'buffer')}: {count(len(self.filters), 'filter')}, {size}"
        return listed(head, map(str, self.columns))

    @property
    def filters(self) -> tuple[FilterFacts, ...]:
        """All filters."""
        return tuple(one for column in self.columns for one in column.filters)

    @property
    def num_filter_bytes(self) -> int:
        """Headers and bitsets, bytes."""
        return sum(one.length or 0 for one in self.filters)

    @property
    def share(self) -> float:
        """Share of the file's bytes that are filters, in [0, 1]."""
        return self.num_filter_bytes / self.size if self.size else 0.0

    def _repr_html_(self) -> str:
        """For notebooks."""
        from parquet_bloomwriter.reports.page import table_of

        return table_of(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectReport:
    """Filters of one or many files."""

    files: tuple[FileFilters, ...]

    def __str__(self) -> str:
        """The files, one after the other."""
        return "\n".join(map(str, self.files))

    def _repr_html_(self) -> str:
        """For notebooks."""
        from parquet_bloomwriter.reports.page import table_of

        return table_of(self)
