"""The report of `verify`: filters compared with the values of their column chunks."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from parquet_bloomwriter.reports.notebook import notebook_html
from parquet_bloomwriter.reports.summary import (
    Column,
    Name,
    Remark,
    Summary,
    Table,
    grouped_remarks,
    mean,
)
from parquet_bloomwriter.text import count, listed, name, rate, row_groups, safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NOT_SAMPLED = "its row group is not in the sample"
"""The reason of filters in row groups outside of the sample."""


class CheckStatus(StrEnum):
    """The outcome of the check of one filter."""

    OK = "OK"
    """Every value of its column chunk is found."""

    FAILED = "FAILED"
    """Readers that trust the filter lose rows, or may lose rows."""

    UNCHECKED = "UNCHECKED"
    """No fault of the filter is known, but its values were not looked up; the check gives the
    reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingValue:
    """A value of the column chunk that the filter does not contain."""

    text: str
    """The stored value as text: a number, quoted text, or `x'00ff'`; long values are cut."""

    hash: str
    """The hash of the value, 16 hexadecimal digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterCheck:
    """The check of the filter of one column chunk."""

    row_group: int
    """Ordinal of the row group, counted from 0."""

    ordinal: int
    """Leaf ordinal of the column, counted from 0."""

    column: str
    """Dotted path of the column."""

    offset: int
    """Absolute position of the filter's header, bytes."""

    length: int | None
    """Length of header and bitset by the header, bytes; None if the header cannot be read."""

    status: CheckStatus
    reason: str = ""
    """The reason why the filter failed or was not checked, one clause; "" if it is OK."""

    warnings: tuple[str, ...] = ()
    """Faults of the filter that hide no stored value."""

    num_looked_up: int = 0
    """Number of values looked up, without nulls. If a chunk is dictionary-encoded throughout, only
    distinct values are counted where this is quicker."""

    num_missing: int = 0
    """Number of values looked up that the filter does not contain."""

    missing: tuple[MissingValue, ...] = ()
    """The first few missing values, each once."""

    fpp: float | None = None
    """Exact FPP: the probability that an absent value passes this filter, in [0, 1]; None if the
    bitset cannot be read."""

    num_absent: int = 0
    """Number of absent values (random hashes) looked up."""

    measured_fpp: float | None = None
    """Share of the absent values that passed, in [0, 1]; None if no absent value was looked up."""

    rates_agree: bool | None = None
    """Whether the measured FPP is as near to the exact FPP as chance allows; None if no absent
    value was looked up."""

    def __str__(self) -> str:
        """Return one line."""
        reasons = "".join(f"; {safe(text)}" for text in (self.reason, *self.warnings) if text)
        return f"{name(self.column)}, row group {self.row_group}: {self.status}{reasons}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """The filters of one file, compared with its values."""

    JSON: ClassVar = ("passed", "num_looked_up", "num_missing", "*")
    path: str | None
    """Path of the file; None for a buffer."""

    size: int
    """Size of the file, bytes."""

    num_rows: int
    """Number of rows of the file."""

    num_row_groups: int
    """Number of row groups of the file."""

    sampled_row_groups: tuple[int, ...] | None
    """Ordinals of the row groups whose values were looked up; None: all row groups."""

    checks: tuple[FilterCheck, ...]
    """The checks of all filters of the chosen columns, column by column."""

    @property
    def passed(self) -> bool:
        """Return whether no filter failed; True if there are no filters."""
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
        """Number of values looked up, in all filters."""
        return sum(one.num_looked_up for one in self.checks)

    @property
    def num_missing(self) -> int:
        """Number of values that are missing from their filters."""
        return sum(one.num_missing for one in self.checks)

    def count(self, status: CheckStatus) -> int:
        """Count the filters of a status."""
        return sum(one.status is status for one in self.checks)

    def __str__(self) -> str:
        """Return a line for the file, and one for each filter that is not OK."""
        counts = [f"{self.count(status):,} {status}" for status in CheckStatus]
        looked_up = f"{count(self.num_looked_up, 'value')} looked up, {self.num_missing:,} missing"
        head = f"{safe(self.path or 'buffer')}: filters: {', '.join(counts)}; {looked_up}"
        return listed(head, map(str, (*self.failed, *self.unchecked)))

    def summary(self) -> Summary:
        """Return the report in short: a headline, a table and remarks, as plain values."""
        remarks = check_remarks([self])
        if self.sampled_row_groups is not None:
            sampled = f"only values of {row_groups(self.sampled_row_groups)} were looked up"
            remarks.append(Remark("sample", sampled))
        return Summary(
            paths=(self.path,),
            headline=outcome_of(self.checks),
            table=check_table([self]),
            remarks=tuple(remarks),
        )

    _repr_html_ = notebook_html


def outcome_of(checks: Sequence[FilterCheck]) -> str:
    """Say how many passed, as in "3 filters OK, 1 FAILED, 40 values looked up"."""
    if not checks:
        return "there is no filter to check"
    statuses = Counter(map(_status, checks))
    parts = [f"{count(statuses[CheckStatus.OK], 'filter')} OK"]
    parts += [f"{statuses[bad]:,} {bad}" for bad in _WORST_FIRST[:-1] if statuses[bad]]
    parts += [f"{statuses[None]:,} not in the sample"] if statuses[None] else []
    looked_up = sum(check.num_looked_up for check in checks)
    return ", ".join([*parts, f"{count(looked_up, 'value')} looked up"])


_WORST_FIRST = (CheckStatus.FAILED, CheckStatus.UNCHECKED, CheckStatus.OK)


def _status(check: FilterCheck) -> CheckStatus | None:
    """Return the status; None for a filter that is not in the sample."""
    return None if check.reason == NOT_SAMPLED else check.status


_CHECKS: tuple[Column[list[FilterCheck]], ...] = (
    Column("column", lambda checks: Name(checks[0].column), is_text=True),
    Column(
        "verdict",
        lambda checks: next((s for s in _WORST_FIRST if s in map(_status, checks)), None),
        is_text=True,
        colors={"OK": "green", "FAILED": "red", "UNCHECKED": "yellow"},
    ),
    Column(
        "filters OK",
        lambda checks: (
            f"{sum(_status(one) is CheckStatus.OK for one in checks):,} of {len(checks):,}"
        ),
    ),
    Column("values", lambda checks: sum(one.num_looked_up for one in checks)),
    Column("missing", lambda checks: sum(one.num_missing for one in checks)),
    Column(
        "mean FPP",
        lambda checks: mean(one.fpp for one in checks if one.measured_fpp is not None),
        rate,
    ),
    Column("measured", lambda checks: mean(one.measured_fpp for one in checks), rate),
)
_CHECK_HINTS = {
    "verdict": "The worst of any filter",
    "filters OK": "Filters that contain every value looked up",
    "values": "Values looked up, nulls left out",
    "missing": "Values that a filter does not contain",
    "mean FPP": "Mean exact rate",
    "measured": "Mean share of absent values that passed",
}


def check_table(files: Sequence[VerifyReport]) -> Table[list[FilterCheck]]:
    """Return the table of checks, with a row for each column."""
    columns: dict[str, list[FilterCheck]] = defaultdict(list)
    for file in files:
        for check in file.checks:
            columns[check.column].append(check)
    rows = list(columns.values())
    return Table(
        caption="Checks by column", columns=_CHECKS, rows=rows, noun="column", hints=_CHECK_HINTS
    )


def check_remarks(files: Sequence[VerifyReport]) -> list[Remark]:
    """Return the failures, then the other remarks, one for each column and reason."""
    by_file = [(file.path, file.checks) for file in files]
    failures = grouped_remarks(by_file, _failure, each_file=True)
    return [*failures, *grouped_remarks(by_file, _said_of)]


def _failure(check: FilterCheck) -> Iterable[tuple[str, str]]:
    if check.status is CheckStatus.FAILED:
        values = ", ".join(value.text for value in check.missing)
        more = "among them " if len(check.missing) < check.num_missing else ""
        yield "failed", check.reason + (values and f": {more}{values}")


def _said_of(check: FilterCheck) -> Iterable[tuple[str, str]]:
    if _status(check) is CheckStatus.UNCHECKED:
        yield "unchecked", check.reason
    for warning in check.warnings:
        yield "warning", warning
    if check.rates_agree is False:
        rates = f"{rate(check.measured_fpp)} of the absent values passed, not {rate(check.fpp)}"
        yield "warning", f"{rates} as the bits say: chance does not explain that"
