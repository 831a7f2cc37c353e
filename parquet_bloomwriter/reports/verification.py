"""What `verify` found, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from parquet_bloomwriter.text import count, listed, name, safe

NOT_SAMPLED = "its row group is not in the sample"
"""The reason of filters that nobody asked to hold against their values."""


class CheckStatus(StrEnum):
    """What became of the check of one filter."""

    OK = "OK"
    """Every value of its column chunk is found."""

    FAILED = "FAILED"
    """Readers that trust it lose rows, or may."""

    UNCHECKED = "UNCHECKED"
    """Nothing speaks against it, but its values were not looked up, for a reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingValue:
    """A value of the column chunk that the filter does not contain."""

    text: str
    """As it is stored, for people: a number, quoted text, or `x'00ff'`; long ones are cut."""

    hash: str
    """Its hash, 16 hexadecimal digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterCheck:
    """The filter of one column chunk."""

    row_group: int
    """0-based ordinal."""

    ordinal: int
    """0-based leaf ordinal."""

    column: str
    """Dotted path."""

    offset: int
    """Absolute position of the header, bytes."""

    length: int | None
    """Header and bitset by its own header, bytes; None if it cannot be read."""

    status: CheckStatus
    reason: str = ""
    """Why it failed or was not checked, one clause."""

    warnings: tuple[str, ...] = ()
    """What is wrong with it that hides no stored value."""

    num_looked_up: int = 0
    """Values looked up, nulls left out; of chunks that are dictionary-encoded throughout, only the
    distinct ones where that is quicker."""

    num_missing: int = 0
    """Those among them that the filter does not contain."""

    missing: tuple[MissingValue, ...] = ()
    """The first few of them, each once."""

    fpp: float | None = None
    """Exact rate: the chance that an absent value passes this very filter, in [0, 1]; None if the
    bitset cannot be read."""

    num_absent: int = 0
    """Absent values looked up."""

    measured_fpp: float | None = None
    """Share of the absent values that passed, in [0, 1]; None if none was looked up."""

    rates_agree: bool | None = None
    """Whether the measured rate is as near the exact one as chance allows."""

    def __str__(self) -> str:
        """One line."""
        reasons = "".join(f"; {safe(text)}" for text in (self.reason, *self.warnings) if text)
        return f"{name(self.column)}, row group {self.row_group}: {self.status}{reasons}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """The filters of one file, held against its values."""

    path: str | None
    """None for a buffer."""

    size: int
    """Bytes."""

    num_rows: int
    num_row_groups: int
    sampled_row_groups: tuple[int, ...] | None
    """The row groups whose values were looked up; None for all."""

    checks: tuple[FilterCheck, ...]
    """Every filter of the columns chosen, column by column."""

    @property
    def passed(self) -> bool:
        """Whether no filter failed. Without filters there is nothing that could."""
        return not self.failed

    @property
    def failed(self) -> tuple[FilterCheck, ...]:
        """The filters that failed."""
        return tuple(one for one in self.checks if one.status is CheckStatus.FAILED)

    @property
    def unchecked(self) -> tuple[FilterCheck, ...]:
        """The filters whose values were not looked up."""
        return tuple(one for one in self.checks if one.status is CheckStatus.UNCHECKED)

    @property
    def num_looked_up(self) -> int:
        """Values looked up, in all filters."""
        return sum(one.num_looked_up for one in self.checks)

    @property
    def num_missing(self) -> int:
        """Values that are missing from their filter."""
        return sum(one.num_missing for one in self.checks)

    def count(self, status: CheckStatus) -> int:
        """Filters of that status."""
        return sum(one.status is status for one in self.checks)

    def __str__(self) -> str:
        """A line for the file, and one for each filter that is not OK."""
        counts = [f"{self.count(status):,} {status}" for status in CheckStatus]
        looked_up = f"{count(self.num_looked_up, 'value')} looked up, {self.num_missing:,} missing"
        head = f"{safe(self.path or 'buffer')}: filters: {', '.join(counts)}; {looked_up}"
        return listed(head, map(str, (*self.failed, *self.unchecked)))

    def _repr_html_(self) -> str:
        """For notebooks."""
        from parquet_bloomwriter.reports.page import table_of

        return table_of(self)
