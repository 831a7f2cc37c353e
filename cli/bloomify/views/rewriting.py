"""Reports as text: a headline per file, a table per column, and what else is to be said.

How the reports of each verb are shown: the pieces of render and document, put together.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bloomify.console.table import Heading, table
from bloomify.console.text import count, growth, labelled, name, ranges, rate, safe
from bloomify.views import documents
from bloomify.views.plan import plan_table
from bloomify.views.totals import ColumnTotals, merge, remark_on
from parquet_bloomwriter.text import growth_warning

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bloomify.views.documents import Document
    from parquet_bloomwriter import AddReport, RepairReport, StripReport

_NAMES_LISTED = 12
"""Columns named in one remark; the others are counted."""

_HEADINGS = (
    Heading(title="column", is_text=True),
    Heading(title="row groups"),
    Heading(title="NDV"),
    Heading(title="bytes"),
    Heading(title="bits/value"),
    Heading(title="FPP asked"),
    Heading(title="achieved"),
)


def add_headline(report: AddReport) -> str:
    """What was done to one file, in one line."""
    filters = count(report.num_built, "filter")
    if report.dry_run:
        done = f"{filters} would be added"
    elif report.num_built:
        done = f"{filters} added"
    elif report.written:
        done = "copied without new filters"
    else:
        return f"{_heading(report)} no filter to add; the file stays as it is"
    return f"{_heading(report)} {done}, {growth(report.size_before, report.size_after)}"


def add_details(report: AddReport, *, columns: int | None, with_plan: bool) -> str:
    """The table of one file, the remarks below it, and the plan if it is wanted."""
    parts = [totals_table(map(ColumnTotals.of, report.columns), columns=columns)]
    remarks = _remarks(report)
    if report.fallback:
        remarks.append(("note", f"filters go to the end of the file: {report.fallback}"))
    if report.left_bytes:
        left = count(report.left_bytes, "byte")
        remarks.append(("note", f"{left} of replaced filters stay in the file, unused"))
    remarks += [("warning", _by_options(text)) for text in report.warnings]
    parts.append("\n".join(labelled(*remark, columns=columns) for remark in remarks))
    if with_plan and report.num_built:
        names = {column.ordinal: column.name for column in report.columns}
        parts.append(plan_table(report.pieces, names.__getitem__, columns=columns))
    return "\n\n".join(filter(None, parts))


def add_summary(totals: Sequence[ColumnTotals], *, warning: str | None, columns: int | None) -> str:
    """The table of many files together, and the remarks below it."""
    grouped: dict[tuple[str, str], list[str]] = defaultdict(list)
    for column in totals:
        for remark, number in column.remarks.items():
            grouped[remark].append(f"{name(column.name)} ({count(number, 'row group')})")
        for note in column.notes:
            grouped["note", note].append(name(column.name))
        for text in column.warnings:
            grouped["warning", _by_options(text)].append(name(column.name))
    lines = [
        labelled(label, f"{_listed(names)}: {safe(reason)}", columns=columns)
        for (label, reason), names in grouped.items()
    ]
    if warning is not None:
        lines.append(labelled("warning", _by_options(warning), columns=columns))
    return "\n\n".join(filter(None, [totals_table(totals, columns=columns), "\n".join(lines)]))


def _by_options(text: str) -> str:
    """Name the options where the library names arguments."""
    proposal = "a higher --fpp, a smaller --max-bytes"
    return text.replace(": max_bytes is", ": --max-bytes is").replace(
        "a higher fpp, a smaller max_bytes", proposal
    )


def totals_table(totals: Iterable[ColumnTotals], *, columns: int | None) -> str:
    """One row per column."""
    return table(_HEADINGS, [_row(column) for column in totals], columns=columns)


def strip_headline(report: StripReport) -> str:
    """What was done to one file, in one line."""
    if not report.num_filters:
        return f"{_heading(report)} there is no filter to take out"
    done = "would be taken out" if report.dry_run else "taken out"
    sizes = growth(report.size_before, report.size_after)
    return f"{_heading(report)} {count(report.num_filters, 'filter')} {done}, {sizes}"


def strip_details(report: StripReport, *, columns: int | None, with_plan: bool) -> str:
    """The columns concerned, what could not be taken out, and the plan if it is wanted."""
    lines = []
    if report.columns:
        names = _listed([name(column) for column in report.columns])
        lines.append(labelled("columns", names, columns=columns))
    if report.left_bytes:
        left = count(report.left_bytes, "byte")
        reason = "it is not certain that they belong to a filter alone"
        lines.append(labelled("note", f"{left} stay in the file: {reason}", columns=columns))
    plan = _plan(report, columns=columns) if with_plan else ""
    return "\n\n".join(filter(None, ["\n".join(lines), plan]))


def repair_headline(report: RepairReport) -> str:
    """What was done to one file, in one line."""
    if not report.num_repaired:
        return f"{_heading(report)} no length of a filter is missing"
    done = "would be filled in" if report.dry_run else "filled in"
    lengths = f"{count(report.num_repaired, 'length')} of filters"
    return f"{_heading(report)} {lengths} {done}, {growth(report.size_before, report.size_after)}"


def repair_details(report: RepairReport, *, columns: int | None, with_plan: bool) -> str:
    """The filters that cannot be trusted, and the plan if it is wanted."""
    lines = [labelled("doubtful", safe(where), columns=columns) for where in report.unrepaired]
    plan = _plan(report, columns=columns) if with_plan else ""
    return "\n\n".join(filter(None, ["\n".join(lines), plan]))


def _plan(report: StripReport | RepairReport, *, columns: int | None) -> str:
    if report.size_before == report.size_after:
        return ""
    return plan_table(report.pieces, str, columns=columns)


def _heading(report: AddReport | StripReport | RepairReport) -> str:
    paths = [safe(path) for path in (report.path, report.output) if path is not None]
    return click.style(" -> ".join(dict.fromkeys(paths)), bold=True) + ":"


def _row(column: ColumnTotals) -> list[str]:
    bits = column.bits_per_value
    return [
        name(column.name),
        _progress(column),
        f"{column.ndv:,}" if column.num_built else "-",
        f"{column.num_bytes:,}" if column.num_built else "-",
        "-" if bits is None else f"{bits:,.1f}",
        rate(column.asked_fpp),
        rate(column.worst_fpp),
    ]


def _progress(column: ColumnTotals) -> str:
    if column.num_kept and not column.num_built:
        return f"{column.num_kept:,} kept"
    return f"{column.num_built:,} of {column.num_row_groups:,}"


def _remarks(report: AddReport) -> list[tuple[str, str]]:
    """Group what is to be said by reason and row groups: (label, sentence)."""
    grouped: dict[tuple[str, str, tuple[int, ...]], list[str]] = defaultdict(list)
    for column in report.columns:
        places: dict[tuple[str, str], list[int]] = defaultdict(list)
        for chunk in column.chunks:
            if remark := remark_on(chunk):
                places[remark].append(chunk.row_group)
        for (label, reason), row_groups in places.items():
            grouped[label, reason, tuple(row_groups)].append(name(column.name))
        for note in column.notes:
            grouped["note", note, tuple(range(report.num_row_groups))].append(name(column.name))
    return [
        (label, f"{_listed(names)}{_among(row_groups, report.num_row_groups)}: {safe(reason)}")
        for (label, reason, row_groups), names in grouped.items()
    ]


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMES_LISTED
    listed = ", ".join(names[:_NAMES_LISTED])
    return f"{listed} and {more:,} more" if more > 0 else listed


def _among(row_groups: tuple[int, ...], total: int) -> str:
    if len(row_groups) == total:
        return ""
    noun = "row group" if len(row_groups) == 1 else "row groups"
    return f" ({noun} {ranges(row_groups)})"


@dataclass(kw_only=True)
class _Rewritten:
    """What the views of these verbs have in common."""

    with_plan: bool = False
    """Whether the pieces of each new file are shown."""

    is_dry: bool = False
    """Whether nothing was written."""

    def overall(self) -> Document:
        """Programs are told nothing of all files together."""
        return {}


@dataclass(kw_only=True)
class AddView(_Rewritten):
    """Filters added."""

    command: str = "add"
    is_brief: bool = False
    totals: tuple[ColumnTotals, ...] = ()
    size_before: int = 0
    size_after: int = 0
    """Bytes of all files."""

    def headline(self, report: AddReport) -> str:
        """One line for one file."""
        return add_headline(report)

    def details(self, report: AddReport, *, columns: int | None) -> str:
        """The table, the remarks, the plan."""
        return add_details(report, columns=columns, with_plan=self.with_plan)

    def collect(self, report: AddReport) -> None:
        """Add to the table of many files."""
        self.is_dry = report.dry_run
        self.size_before += report.size_before
        self.size_after += report.size_after
        self.totals = merge(self.totals, map(ColumnTotals.of, report.columns))

    def summary(self, *, columns: int | None) -> str:
        """The table of many files."""
        return add_summary(
            self.totals, warning=growth_warning(self.size_before, self.size_after), columns=columns
        )

    def tally(self) -> str:
        """The count."""
        done = "would be added" if self.is_dry else "added"
        return f"{count(sum(column.num_built for column in self.totals), 'filter')} {done}"

    def document(self, report: AddReport) -> Document:
        """The same for programs."""
        return documents.add_document(report)

    @property
    def passed(self) -> bool:
        """Whether any column got a filter, had one, or needs none."""
        remarks = [remark for column in self.totals for remark in column.remarks]
        none_built = not any(column.num_built or column.num_kept for column in self.totals)
        return not (none_built and any(label == "skipped" for label, _ in remarks))


@dataclass(kw_only=True)
class StripView(_Rewritten):
    """Filters taken out."""

    command: str = "strip"
    is_brief: bool = False
    num_filters: int = 0

    def headline(self, report: StripReport) -> str:
        """One line for one file."""
        return strip_headline(report)

    def details(self, report: StripReport, *, columns: int | None) -> str:
        """The columns concerned, what stays, the plan."""
        return strip_details(report, columns=columns, with_plan=self.with_plan)

    def collect(self, report: StripReport) -> None:
        """Count."""
        self.is_dry = report.dry_run
        self.num_filters += report.num_filters

    def summary(self, *, columns: int | None) -> str:  # noqa: ARG002  there is no table
        """Nothing."""
        return ""

    def tally(self) -> str:
        """The count."""
        done = "would be taken out" if self.is_dry else "taken out"
        return f"{count(self.num_filters, 'filter')} {done}"

    def document(self, report: StripReport) -> Document:
        """The same for programs."""
        return documents.strip_document(report)

    @property
    def passed(self) -> bool:
        """There is nothing to check."""
        return True


@dataclass(kw_only=True)
class RepairView(_Rewritten):
    """Lengths filled in."""

    command: str = "repair"
    is_brief: bool = True
    num_repaired: int = 0
    num_doubtful: int = 0

    def headline(self, report: RepairReport) -> str:
        """One line for one file."""
        return repair_headline(report)

    def details(self, report: RepairReport, *, columns: int | None) -> str:
        """The filters that cannot be trusted, the plan."""
        return repair_details(report, columns=columns, with_plan=self.with_plan)

    def collect(self, report: RepairReport) -> None:
        """Count."""
        self.is_dry = report.dry_run
        self.num_repaired += report.num_repaired
        self.num_doubtful += len(report.unrepaired)

    def summary(self, *, columns: int | None) -> str:  # noqa: ARG002  there is no table
        """Nothing."""
        return ""

    def tally(self) -> str:
        """The counts."""
        doubtful = f", {count(self.num_doubtful, 'filter')} cannot be trusted"
        done = "would be filled in" if self.is_dry else "filled in"
        return f"{count(self.num_repaired, 'length')} {done}" + doubtful * bool(self.num_doubtful)

    def document(self, report: RepairReport) -> Document:
        """The same for programs."""
        return documents.repair_document(report)

    @property
    def passed(self) -> bool:
        """Whether every filter can be trusted."""
        return not self.num_doubtful
