"""Filters held against their data, by column, and what failed."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from parquet_bloomwriter.html.summary import Remark, Summary
from parquet_bloomwriter.html.table import Heading, Table
from parquet_bloomwriter.reports.markup import identifier
from parquet_bloomwriter.reports.page.figures import mean
from parquet_bloomwriter.reports.verification import CheckStatus
from parquet_bloomwriter.text import count, name, rate, row_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from parquet_bloomwriter.reports.markup import Content
    from parquet_bloomwriter.reports.verification import FilterCheck, VerifyReport

_HEADINGS = (
    Heading(title="column", is_text=True),
    Heading(title="OK", hint="Filters that contain every value looked up"),
    Heading(title="failed", hint="Filters that make readers lose rows, or may"),
    Heading(title="unchecked"),
    Heading(title="looked up", hint="Values, nulls left out"),
    Heading(title="missing", hint="Values that a filter does not contain"),
    Heading(title="exact FPP", hint="Mean exact rate"),
    Heading(title="measured", hint="Mean share of absent values that passed"),
)


def verified(report: VerifyReport) -> Summary:
    """One row per column; failures first below."""
    columns: dict[int, list[FilterCheck]] = defaultdict(list)
    for check in report.checks:
        columns[check.ordinal].append(check)
    return Summary(
        paths=(report.path,),
        headline=_headline(report),
        table=Table(
            caption="Checks by column",
            headings=_HEADINGS,
            rows=map(_row, columns.values()),
            num_rows=len(columns),
            noun="column",
        ),
        remarks=tuple(_remarks(report, list(columns.values()))),
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
    """Put row groups of one column together of which the same is said."""
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
