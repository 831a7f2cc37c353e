"""How the reports of each verb are shown: the pieces of render and document, put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bloomify.console.text import count
from bloomify.views import documents, rewriting
from bloomify.views.totals import ColumnTotals, merge
from parquet_bloomwriter.text import growth_warning

if TYPE_CHECKING:
    from bloomify.views.documents import Document
    from parquet_bloomwriter import AddReport, RepairReport, StripReport


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
        return rewriting.add_headline(report)

    def details(self, report: AddReport, *, columns: int | None) -> str:
        """The table, the remarks, the plan."""
        return rewriting.add_details(report, columns=columns, with_plan=self.with_plan)

    def collect(self, report: AddReport) -> None:
        """Add to the table of many files."""
        self.is_dry = report.dry_run
        self.size_before += report.size_before
        self.size_after += report.size_after
        self.totals = merge(self.totals, map(ColumnTotals.of, report.columns))

    def summary(self, *, columns: int | None) -> str:
        """The table of many files."""
        return rewriting.add_summary(
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
        return rewriting.strip_headline(report)

    def details(self, report: StripReport, *, columns: int | None) -> str:
        """The columns concerned, what stays, the plan."""
        return rewriting.strip_details(report, columns=columns, with_plan=self.with_plan)

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
        return rewriting.repair_headline(report)

    def details(self, report: RepairReport, *, columns: int | None) -> str:
        """The filters that cannot be trusted, the plan."""
        return rewriting.repair_details(report, columns=columns, with_plan=self.with_plan)

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
