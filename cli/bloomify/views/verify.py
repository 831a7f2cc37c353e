"""What `verify` found: a verdict for each column, and the reasons."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import click

from bloomify.console.table import Heading, labelled, table
from bloomify.views.base import View, facts_of
from parquet_bloomwriter.text import count, name, rate, row_groups, safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bloomify.views.base import Document
    from parquet_bloomwriter.reports.verification import FilterCheck, VerifyReport

_NONE = "there is no filter to check"
_WORST_FIRST = ("FAILED", "UNCHECKED")

_HEADINGS = (
    Heading(title="column", is_text=True),
    Heading(
        title="verdict",
        is_text=True,
        colors={"OK": "green", "FAILED": "red", "UNCHECKED": "yellow"},
    ),
    Heading(title="filters OK"),
    Heading(title="values"),
    Heading(title="missing"),
    Heading(title="mean FPP"),
    Heading(title="measured"),
)


@dataclass(kw_only=True)
class VerifyView(View["VerifyReport"]):
    """Filters checked against the values of their files."""

    command: ClassVar[str] = "verify"
    files: list[VerifyReport] = field(default_factory=list)

    def headline(self, report: VerifyReport) -> str:
        """Return how many filters of the file passed."""
        path = click.style(f"{safe(report.path or '')}:", bold=True)
        return f"{path} {self.lack(report) or _outcome(report.checks)}"

    def lack(self, report: VerifyReport) -> str:
        """Return that the file has no filter, if so."""
        return "" if report.checks else _NONE

    def details(self, report: VerifyReport, *, columns: int | None) -> str:
        """Return the table of columns, and the remarks on their filters."""
        return _details([report], columns=columns)

    def collect(self, report: VerifyReport) -> None:
        """Keep the report for the table of all files."""
        self.files.append(report)

    def summary(self, *, columns: int | None) -> str:
        """Return the table of all files' columns, and the remarks."""
        return _details(self.files, columns=columns)

    def tally(self) -> str:
        """Return how many filters of all files passed."""
        checks = [check for file in self.files for check in file.checks]
        return _outcome(checks) if checks else _NONE

    def document(self, report: VerifyReport) -> Document:
        """Return one file's entry of `files` in the JSON."""
        figures = facts_of(report, "passed", "num_looked_up", "num_missing")
        return {**figures, **dataclasses.asdict(report)}

    @property
    def passed(self) -> bool:
        """Whether no filter failed."""
        return all(file.passed for file in self.files)


def _outcome(checks: Sequence[FilterCheck]) -> str:
    """Say how many passed, as in "3 filters OK, 1 FAILED, 40 values looked up"."""
    statuses = [_status(check) for check in checks]
    parts = [f"{count(statuses.count('OK'), 'filter')} OK"]
    parts += [f"{statuses.count(bad):,} {bad}" for bad in _WORST_FIRST if bad in statuses]
    parts += [f"{statuses.count(''):,} not in the sample"] if "" in statuses else []
    looked_up = sum(check.num_looked_up for check in checks)
    return ", ".join([*parts, f"{count(looked_up, 'value')} looked up"])


def _status(check: FilterCheck) -> str:
    """Return the status in a word; "" for a filter that is not in the sample."""
    from parquet_bloomwriter.reports.verification import NOT_SAMPLED

    return "" if check.reason == NOT_SAMPLED else str(check.status)


def _details(files: Sequence[VerifyReport], *, columns: int | None) -> str:
    by_column: dict[str, list[FilterCheck]] = defaultdict(list)
    for file in files:
        for check in file.checks:
            by_column[check.column].append(check)
    rows = [_row(column, checks) for column, checks in by_column.items()]
    remarks = [*_failures(files), *_grouped(files)]
    parts = [table(_HEADINGS, rows, columns=columns)] if rows else []
    parts.append("\n".join(labelled(*remark, columns=columns) for remark in remarks))
    return "\n\n".join(filter(None, parts))


def _row(column: str, checks: Sequence[FilterCheck]) -> list[str]:
    statuses = [_status(check) for check in checks]
    worst = next((one for one in (*_WORST_FIRST, "OK") if one in statuses), "-")
    measured = [check for check in checks if check.measured_fpp is not None]
    return [
        name(column),
        worst,
        f"{statuses.count('OK'):,} of {len(checks):,}",
        f"{sum(check.num_looked_up for check in checks):,}",
        f"{sum(check.num_missing for check in checks):,}",
        rate(_mean(check.fpp for check in measured)),
        rate(_mean(check.measured_fpp for check in measured)),
    ]


def _mean(rates: Iterable[float | None]) -> float | None:
    known = [one for one in rates if one is not None]
    return sum(known) / len(known) if known else None


def _failures(files: Sequence[VerifyReport]) -> Iterable[tuple[str, str]]:
    for file in files:
        for check in file.failed:
            where = _place(file, check.column, [check.row_group], is_one_of_many=len(files) > 1)
            values = ", ".join(safe(value.text) for value in check.missing)
            more = "among them " if len(check.missing) < check.num_missing else ""
            yield "failed", f"{where}: {safe(check.reason)}" + (values and f": {more}{values}")


def _grouped(files: Sequence[VerifyReport]) -> Iterable[tuple[str, str]]:
    """Yield other remarks, one for all row groups of a column that share it, in all files."""
    places: dict[tuple[str, str, str], dict[int, list[int]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for number, file in enumerate(files):
        for check in file.checks:
            for label, reason in _said_of(check):
                places[label, check.column, reason][number].append(check.row_group)
    for (label, column, reason), by_file in places.items():
        first, ordinals = next(iter(by_file.items()))
        where = _place(files[first], column, ordinals, is_one_of_many=len(files) > 1)
        if len(by_file) > 1:
            total = count(sum(map(len, by_file.values())), "row group")
            where = f"{name(column)}, {total} of {len(by_file):,} files, the first in {where}"
        yield label, f"{where}: {safe(reason)}"


def _said_of(check: FilterCheck) -> Iterable[tuple[str, str]]:
    if _status(check) == "UNCHECKED":
        yield "unchecked", check.reason
    for warning in check.warnings:
        yield "warning", warning
    if check.rates_agree is False:
        rates = f"{rate(check.measured_fpp)} of the absent values passed, not {rate(check.fpp)}"
        yield "warning", f"{rates} as the bits say: chance does not explain that"


def _place(
    file: VerifyReport, column: str, ordinals: Sequence[int], *, is_one_of_many: bool
) -> str:
    path = f"{safe(file.path or '')}, " if is_one_of_many else ""
    return f"{path}{name(column)}, {row_groups(ordinals)}"
