"""How the reports of each verb are shown: the pieces of render and document, put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bloomify import document, render
from bloomify.totals import ColumnTotals, merge

if TYPE_CHECKING:
    from bloomify.document import Document
    from parquet_bloomwriter import AddReport, RepairReport, StripReport


@dataclass(kw_only=True)
class AddView:
    """Filters added."""

    command: str = "add"
    totals: tuple[ColumnTotals, ...] = ()

    def headline(self, report: AddReport) -> str:
        """One line for one file."""
        return render.add_headline(report)

    def details(self, report: AddReport, *, columns: int | None) -> str:
        """The table, the remarks, the plan."""
        return render.add_details(report, columns=columns)

    def collect(self, report: AddReport) -> None:
        """Add to the table of many files."""
        self.totals = merge(self.totals, map(ColumnTotals.of, report.columns))

    def summary(self, *, columns: int | None) -> str:
        """The table of many files."""
        return render.add_summary(self.totals, columns=columns)

    def document(self, report: AddReport) -> Document:
        """The same for programs."""
        return document.add_document(report)

    @property
    def passed(self) -> bool:
        """Whether any column got a filter, had one, or needs none."""
        remarks = [remark for column in self.totals for remark in column.remarks]
        none_built = not any(column.num_built or column.num_kept for column in self.totals)
        return not (none_built and any(label == "skipped" for label, _ in remarks))


@dataclass(kw_only=True)
class StripView:
    """Filters taken out."""

    command: str = "strip"
    num_filters: int = 0

    def headline(self, report: StripReport) -> str:
        """One line for one file."""
        return render.strip_headline(report)

    def details(self, report: StripReport, *, columns: int | None) -> str:
        """The columns concerned, what stays, the plan."""
        return render.strip_details(report, columns=columns)

    def collect(self, report: StripReport) -> None:
        """Count."""
        self.num_filters += report.num_filters

    def summary(self, *, columns: int | None) -> str:  # noqa: ARG002  a sentence fits anywhere
        """The count."""
        return f"{render.count(self.num_filters, 'filter')} in all."

    def document(self, report: StripReport) -> Document:
        """The same for programs."""
        return document.strip_document(report)

    @property
    def passed(self) -> bool:
        """There is nothing to check."""
        return True


@dataclass(kw_only=True)
class RepairView:
    """Lengths filled in."""

    command: str = "repair"
    num_repaired: int = 0
    num_doubtful: int = 0

    def headline(self, report: RepairReport) -> str:
        """One line for one file."""
        return render.repair_headline(report)

    def details(self, report: RepairReport, *, columns: int | None) -> str:
        """The filters that cannot be trusted, the plan."""
        return render.repair_details(report, columns=columns)

    def collect(self, report: RepairReport) -> None:
        """Count."""
        self.num_repaired += report.num_repaired
        self.num_doubtful += len(report.unrepaired)

    def summary(self, *, columns: int | None) -> str:  # noqa: ARG002  a sentence fits anywhere
        """The counts."""
        filters = render.count(self.num_doubtful, "filter")
        doubtful = f", {filters} cannot be trusted" if self.num_doubtful else ""
        return f"{render.count(self.num_repaired, 'length')} in all{doubtful}."

    def document(self, report: RepairReport) -> Document:
        """The same for programs."""
        return document.repair_document(report)

    @property
    def passed(self) -> bool:
        """Whether every filter can be trusted."""
        return not self.num_doubtful
