"""What was done to one file, as plain values: for people, for `--json`, and for programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parquet_bloomwriter.splice.plan import Piece

BITS_PER_BYTE = 8


class Status(StrEnum):
    """What became of the filter of one column chunk."""

    BUILT = "built"
    """A new filter was written."""

    KEPT = "kept"
    """The filter that was there contains every value, and stays."""

    EMPTY = "empty"
    """There are no values, so there is no filter."""

    SKIPPED = "skipped"
    """There is no filter, for a reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkReport:
    """One column chunk."""

    row_group: int
    """0-based ordinal."""

    status: Status
    reason: str = ""
    """Why it was skipped, or what was wrong with the filter that was replaced."""

    offset: int | None = None
    """Absolute position of the filter in the new file, bytes."""

    length: int = 0
    """Header and bitset, bytes."""

    num_bytes: int = 0
    """Bitset, bytes."""

    ndv: int = 0
    """Distinct values, estimated from the filter; 0 where none was built."""

    fpp: float | None = None
    """Exact false positive probability of the filter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnReport:
    """One column in all row groups."""

    name: str
    """Dotted path."""

    ordinal: int
    """0-based leaf ordinal."""

    physical_type: str
    """As parquet.thrift spells it."""

    asked_fpp: float
    """False positive probability asked for."""

    chunks: tuple[ChunkReport, ...]
    """By row group."""

    notes: tuple[str, ...] = ()
    """What readers of these filters should know."""

    def count(self, status: Status) -> int:
        """Row groups of that status."""
        return sum(chunk.status is status for chunk in self.chunks)

    @property
    def built(self) -> tuple[ChunkReport, ...]:
        """The row groups with a new filter."""
        return tuple(chunk for chunk in self.chunks if chunk.status is Status.BUILT)

    @property
    def ndv(self) -> int:
        """Distinct values of the row groups with a new filter, summed."""
        return sum(chunk.ndv for chunk in self.built)

    @property
    def bytes_added(self) -> int:
        """Headers and bitsets, bytes."""
        return sum(chunk.length for chunk in self.built)

    @property
    def bits_per_value(self) -> float | None:
        """Bits of bitset per distinct value; None without new filters."""
        bitsets = sum(chunk.num_bytes for chunk in self.built)
        return BITS_PER_BYTE * bitsets / self.ndv if self.ndv else None

    @property
    def achieved_fpp(self) -> float | None:
        """Worst exact rate of the filters, new and kept; None without any."""
        return max((chunk.fpp for chunk in self.chunks if chunk.fpp is not None), default=None)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Every reason given, once."""
        return tuple(dict.fromkeys(chunk.reason for chunk in self.chunks if chunk.reason))


@dataclass(frozen=True, slots=True, kw_only=True)
class AddReport:
    """Filters added to one file."""

    path: str | None
    """The file read; None for a buffer."""

    output: str | None
    """The file written; None for a buffer, or if nothing was written."""

    written: bool
    """Whether there is a new version."""

    dry_run: bool
    size_before: int
    """Bytes."""

    size_after: int
    """Bytes of the new version, or of what it would be."""

    num_rows: int
    num_row_groups: int
    placement: str
    """Where filters went."""

    fallback: str | None
    """Why that is not where they were asked to go."""

    left_bytes: int
    """Bytes of replaced filters that stay in the file, because nothing in it may move or because it
    is not sure that they belong to a filter alone."""

    columns: tuple[ColumnReport, ...]
    pieces: tuple[Piece, ...] = field(default=(), repr=False)
    """The plan: the pieces of the new file, in order."""

    data: bytes | None = field(default=None, repr=False)
    """The new version, if a buffer was given and no output named."""

    @property
    def num_built(self) -> int:
        """New filters."""
        return sum(len(column.built) for column in self.columns)

    def _repr_html_(self) -> str:
        """For notebooks."""
        from parquet_bloomwriter.html import table_of

        return table_of(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class StripReport:
    """Filters taken out of one file."""

    path: str | None
    output: str | None
    written: bool
    dry_run: bool
    size_before: int
    size_after: int
    num_filters: int
    """Filters that the footer no longer points to."""

    left_bytes: int
    """Bytes that stay in the file because it is not sure that they belong to a filter alone."""

    columns: tuple[str, ...]
    """Dotted paths of the columns concerned."""

    pieces: tuple[Piece, ...] = field(default=(), repr=False)
    data: bytes | None = field(default=None, repr=False)

    def _repr_html_(self) -> str:
        """For notebooks."""
        from parquet_bloomwriter.html import table_of

        return table_of(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairReport:
    """Lengths filled in in one file's footer."""

    path: str | None
    output: str | None
    written: bool
    dry_run: bool
    size_before: int
    size_after: int
    num_repaired: int
    """Filters that got their `bloom_filter_length`."""

    unrepaired: tuple[str, ...]
    """Filters that cannot be trusted: where, and why."""

    pieces: tuple[Piece, ...] = field(default=(), repr=False)
    data: bytes | None = field(default=None, repr=False)

    def _repr_html_(self) -> str:
        """For notebooks."""
        from parquet_bloomwriter.html import table_of

        return table_of(self)
