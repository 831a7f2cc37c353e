"""The views of new versions of files: what `add`, `strip` and `repair` share; `strip`, `repair`.

With `--plan` that includes the pieces of the new file, with their positions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, TypeVar

import click

from bloomify.console.table import paragraphs, remarks_text, table
from bloomify.views.base import View
from parquet_bloomwriter.reports.summary import Remark
from parquet_bloomwriter.rewrite.report import plan_table
from parquet_bloomwriter.text import count, safe, size

if TYPE_CHECKING:
    from parquet_bloomwriter import RepairReport, StripReport
    from parquet_bloomwriter.reports.summary import Table
    from parquet_bloomwriter.rewrite.report import PlacedStep, RewriteReport

N = TypeVar("N", bound="RewriteReport")

_OPTIONS = {
    ": max_bytes is": ": --max-bytes is",
    "a higher fpp, a smaller max_bytes": "a higher --fpp, a smaller --max-bytes",
    "the option `replace`": "--replace",
    "the placement `end`": "--placement end",
    "name columns to": "name columns with --columns to",
}
"""Words of the library, and the words of the command for them."""


def with_options(text: str) -> str:
    """Return a remark with the command's options in the place of the library's arguments."""
    for words, options in _OPTIONS.items():
        text = text.replace(words, options)
    return text


@dataclass(slots=True)
class StoreTotals:
    """The totals of requests and bytes of stores for many files."""

    requests: int = 0
    down: int = 0
    up: int = 0
    old_versions: int = 0
    notes: dict[str, None] = field(default_factory=dict)
    """Distinct notes on what could not be kept, or should be known."""

    def add(self, report: RewriteReport) -> None:
        """Add the requests and bytes of one file."""
        store = report.store
        if store is None:
            return
        planned = store.planned or (0, 0, 0)
        self.requests += store.num_requests + planned[0]
        self.down += store.down + planned[1]
        self.up += store.up + planned[2]
        self.old_versions += store.old_version is not None
        self.notes.update(dict.fromkeys(store.notes))

    def __str__(self) -> str:
        """Return the text after a verb's tally; "" without stores."""
        if not self.requests:
            return ""
        kept = f", {count(self.old_versions, 'old version')} kept" if self.old_versions else ""
        requests = count(self.requests, "request")
        return f"; {requests}, {size(self.down)} down, {size(self.up)} up{kept}"


@dataclass(kw_only=True)
class NewFileView(View[N]):
    """The view of new versions of files."""

    with_plan: bool = False
    """Whether the pieces of each new file are shown."""

    is_dry: bool = False
    """Whether nothing was written."""

    store: StoreTotals = field(default_factory=StoreTotals)

    def headline(self, report: N) -> str:
        """Return one line: the file read, the file written if it is another, and the result."""
        paths = [safe(path) for path in (report.path, report.output) if path is not None]
        where = click.style(" -> ".join(dict.fromkeys(paths)), bold=True)
        return f"{where}: {report.headline}"

    def is_named(self, report: N) -> bool:  # noqa: ARG002  those that have nothing to show lack it
        """Return True: a file that was changed is named."""
        return True

    def details(self, report: N, *, columns: int | None) -> str:
        """Return the remarks, and the plan if it was asked for."""
        remarks = [*self.remarks(report), *_store_remarks(report)]
        plan = self.plan(report) if self.with_plan else None
        return paragraphs(
            remarks_text(remarks, columns=columns),
            table(plan, columns=columns, option=None) if plan else "",
        )

    def remarks(self, report: N) -> list[Remark]:
        """Return the remarks on the file."""
        return [Remark(label, with_options(text)) for label, text in report.remarks]

    def plan(self, report: N) -> Table[PlacedStep] | None:
        """Return the table of pieces; None if the file is not changed."""
        if report.size_before == report.size_after:
            return None
        return plan_table(report.pieces, str)

    def collect(self, report: N) -> None:
        """Add the store's requests and bytes to the totals."""
        self.is_dry = report.dry_run
        self.store.add(report)

    def summary(self, *, columns: int | None) -> str:
        """Return the notes on all files and stores."""
        return remarks_text([("note", note) for note in self.store.notes], columns=columns)


@dataclass(kw_only=True)
class StripView(NewFileView["StripReport"]):
    """The view of filters taken out of files."""

    command: ClassVar[str] = "strip"
    num_filters: int = 0
    notes: dict[str, None] = field(default_factory=dict)
    """Distinct notes of all files."""

    def lack(self, report: StripReport) -> str:
        """Return that the file has no filter to take out, if so."""
        return "" if report.num_filters or report.written else report.headline

    def collect(self, report: StripReport) -> None:
        """Add one file's filters to the totals."""
        super().collect(report)
        self.num_filters += report.num_filters
        self.notes.update(dict.fromkeys(report.notes))

    def summary(self, *, columns: int | None) -> str:
        """Return the notes on the filters and the stores."""
        notes = [("note", with_options(note)) for note in self.notes]
        below = super().summary(columns=columns)
        return "\n".join(filter(None, [remarks_text(notes, columns=columns), below]))

    def tally(self) -> str:
        """Return how many filters were taken out of all files."""
        done = "would be taken out" if self.is_dry else "taken out"
        return f"{count(self.num_filters, 'filter')} {done}{self.store}"


@dataclass(kw_only=True)
class RepairView(NewFileView["RepairReport"]):
    """The view of filled-in lengths of filters."""

    command: ClassVar[str] = "repair"
    is_brief: ClassVar[bool] = True
    num_repaired: int = 0
    num_doubtful: int = 0

    def lack(self, report: RepairReport) -> str:
        """Return that the file lacks no length, if so."""
        is_shown = report.num_repaired or report.unrepaired or report.written
        return "" if is_shown else report.headline

    def collect(self, report: RepairReport) -> None:
        """Add one file's lengths, and its filters that cannot be trusted, to the totals."""
        super().collect(report)
        self.num_repaired += report.num_repaired
        self.num_doubtful += len(report.unrepaired)

    def tally(self) -> str:
        """Return how many lengths were filled in, and how many filters cannot be trusted."""
        doubtful = f", {count(self.num_doubtful, 'filter')} cannot be trusted"
        done = "would be filled in" if self.is_dry else "filled in"
        doubts = doubtful * bool(self.num_doubtful)
        return f"{count(self.num_repaired, 'length')} {done}{doubts}{self.store}"

    @property
    def passed(self) -> bool:
        """Return whether every filter can be trusted."""
        return not self.num_doubtful


def _store_remarks(report: RewriteReport) -> list[Remark]:
    """Return remarks on a store's requests, and on what it could not keep; empty for disks."""
    if report.store is None:
        return []
    notes = [Remark("note", note) for note in report.store.notes]
    return [Remark("store", str(report.store)), *notes]
