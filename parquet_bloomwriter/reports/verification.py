"""The report of `verify`: filters compared with the values of their column chunks."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from parquet_bloomwriter.reports.figures import mean
from parquet_bloomwriter.reports.markup import identifier
from parquet_bloomwriter.reports.notebook import notebook_html
from parquet_bloomwriter.reports.summary import Heading, Remark, Summary, Table
from parquet_bloomwriter.text import count, listed, name, rate, row_groups, safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from parquet_bloomwriter.reports.markup import Content

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
        """Whether no filter failed; True if there are no filters."""
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
        columns: dict[int, list[FilterCheck]] = defaultdict(list)
        for check in self.checks:
            columns[check.ordinal].append(check)
        return Summary(
            paths=(self.path,),
            headline=_headline(self),
            table=Table(
                caption="Checks by column",
                headings=_HEADINGS,
                rows=map(_row, columns.values()),
                num_rows=len(columns),
                noun="column",
            ),
            remarks=tuple(_remarks(self, list(columns.values()))),
        )

    _repr_html_ = notebook_html


_HEADINGS = (
    Heading(title="column", is_text=True),
    Heading(title="OK", hint="Filters that contain every value looked up"),
    Heading(title="failed", hint="Filters that make readers lose rows, or may"),
    Heading(title="unchecked"),
    Heading(title="looked up", hint="Values, nulls left out"),
    Heading(title="missing", hint="Values that a filter does not contain"),
    Heading(title="mean FPP", hint="Mean exact rate"),
    Heading(title="measured", hint="Mean share of absent values that passed"),
)


def _headline(report: VerifyReport) -> str:
    if not report.checks:
        return "there is no filter to check"
    word = "passed" if report.passed else "FAILED"
    parts = [f"{word}, {count(len(report.checks), 'filter')}"]
    if report.failed:
        parts.append(f"{len(report.failed):,} failed")
    if report.unchecked:
        parts.append(f"{len(report.unchecked):,} unchecked")
    parts.append(f"{count(report.num_looked_up, 'value')} looked up")
    return ", ".join(parts)


def _row(checks: Sequence[FilterCheck]) -> list[Content]:
    numbers = [sum(one.status is status for one in checks) for status in CheckStatus]
    return [
        identifier(checks[0].column),
        *[f"{number:,}" if number else "-" for number in numbers],
        f"{sum(one.num_looked_up for one in checks):,}",
        f"{sum(one.num_missing for one in checks):,}",
        rate(mean(one.fpp for one in checks)),
        rate(mean(one.measured_fpp for one in checks)),
    ]


def _remarks(report: VerifyReport, columns: Sequence[Sequence[FilterCheck]]) -> Iterable[Remark]:
    yield from _grouped("failed", columns, _failure)
    yield from _grouped("unchecked", columns, _gap)
    yield from _grouped("warning", columns, lambda one: one.warnings)
    yield from _grouped("rate", columns, _disagreement)
    if report.sampled_row_groups is not None:
        sampled = f"only values of {row_groups(report.sampled_row_groups)} were looked up"
        yield Remark(label="sample", sentence=sampled)


def _grouped(
    label: str,
    columns: Iterable[Sequence[FilterCheck]],
    texts_of: Callable[[FilterCheck], Iterable[str]],
) -> Iterable[Remark]:
    """Yield a remark for each column and text, with the row groups."""
    for checks in columns:
        places: dict[str, list[int]] = defaultdict(list)
        for check in checks:
            for text in texts_of(check):
                places[text].append(check.row_group)
        for text, ordinals in places.items():
            where = f"{name(checks[0].column)}, {row_groups(ordinals)}"
            yield Remark(label=label, sentence=f"{where}: {text}")


def _failure(check: FilterCheck) -> tuple[str, ...]:
    if check.status is not CheckStatus.FAILED:
        return ()
    values = ", ".join(value.text for value in check.missing)
    return (f"{check.reason} (such as {values})" if values else check.reason,)


def _gap(check: FilterCheck) -> tuple[str, ...]:
    return (check.reason,) if check.status is CheckStatus.UNCHECKED else ()


def _disagreement(check: FilterCheck) -> tuple[str, ...]:
    if check.rates_agree is not False:
        return ()
    return (f"measured {rate(check.measured_fpp)}, exact {rate(check.fpp)}",)
