"""What was done to one column, in one file or in many: the rows of the table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parquet_bloomwriter import ChunkReport, ColumnReport

_BITS_PER_BYTE = 8

_ALL_KEPT = "the filters that are there contain every value"
_NO_VALUES = "no values, so no filter"

Remark = tuple[str, str]
"""A label of one word, and the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnTotals:
    """One column, summed over row groups."""

    name: str
    """Dotted path."""

    asked_fpp: float
    num_row_groups: int
    num_built: int = 0
    """Row groups with a new filter."""

    num_kept: int = 0
    """Row groups whose filter stays."""

    ndv: int = 0
    """Distinct values of the row groups with a new filter, summed."""

    num_bytes: int = 0
    """New filters, headers and bitsets."""

    num_bitset_bytes: int = 0
    worst_fpp: float | None = None
    """Of all filters, new and kept; None without any."""

    remarks: Counter[Remark]
    """Row groups of which something is to be said, by what."""

    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, column: ColumnReport) -> ColumnTotals:
        """Sum up one column of one file."""
        return cls(
            name=column.name,
            asked_fpp=column.asked_fpp,
            num_row_groups=len(column.chunks),
            num_built=len(column.built),
            num_kept=sum(chunk.status == "kept" for chunk in column.chunks),
            ndv=column.ndv,
            num_bytes=column.bytes_added,
            num_bitset_bytes=sum(chunk.num_bytes for chunk in column.built),
            worst_fpp=column.achieved_fpp,
            remarks=Counter(remark for chunk in column.chunks if (remark := remark_on(chunk))),
            notes=column.notes,
            warnings=column.warnings,
        )

    @property
    def bits_per_value(self) -> float | None:
        """Bits of bitset per distinct value; None without new filters."""
        return _BITS_PER_BYTE * self.num_bitset_bytes / self.ndv if self.ndv else None

    def __add__(self, other: ColumnTotals) -> ColumnTotals:
        rates = [rate for rate in (self.worst_fpp, other.worst_fpp) if rate is not None]
        return ColumnTotals(
            name=self.name,
            asked_fpp=self.asked_fpp,
            num_row_groups=self.num_row_groups + other.num_row_groups,
            num_built=self.num_built + other.num_built,
            num_kept=self.num_kept + other.num_kept,
            ndv=self.ndv + other.ndv,
            num_bytes=self.num_bytes + other.num_bytes,
            num_bitset_bytes=self.num_bitset_bytes + other.num_bitset_bytes,
            worst_fpp=max(rates, default=None),
            remarks=self.remarks + other.remarks,
            notes=tuple(dict.fromkeys(self.notes + other.notes)),
            warnings=tuple(dict.fromkeys(self.warnings + other.warnings)),
        )


def merge(known: Iterable[ColumnTotals], more: Iterable[ColumnTotals]) -> tuple[ColumnTotals, ...]:
    """Add up columns of the same name that were asked for the same rate, first come first."""
    merged: dict[tuple[str, float], ColumnTotals] = {}
    for column in (*known, *more):
        key = (column.name, column.asked_fpp)
        merged[key] = merged[key] + column if key in merged else column
    return tuple(merged.values())


def remark_on(chunk: ChunkReport) -> Remark | None:
    """What is to be said about one column chunk, if anything."""
    match chunk.status:
        case "kept":
            return "kept", _ALL_KEPT
        case "empty":
            return "empty", _NO_VALUES
        case "skipped":
            return "skipped", chunk.reason
        case _:
            return ("replaced", chunk.reason) if chunk.reason else None
