"""What `repair` did: the lengths filled in, and the filters that cannot be trusted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from bloomify.console.table import labelled
from bloomify.views.base import View
from bloomify.views.new_file import (
    StoreTotals,
    heading,
    new_file_document,
    plan_document,
    plan_without_filters,
    store_lines,
)
from parquet_bloomwriter.text import count, growth, safe

if TYPE_CHECKING:
    from bloomify.views.base import Document
    from parquet_bloomwriter import RepairReport


@dataclass(kw_only=True)
class RepairView(View["RepairReport"]):
    """Lengths of filters filled in."""

    command: ClassVar[str] = "repair"
    is_brief: ClassVar[bool] = True
    with_plan: bool = False
    """Whether the pieces of each new file are shown."""

    is_dry: bool = False
    """Whether nothing was written."""

    store: StoreTotals = field(default_factory=StoreTotals)

    num_repaired: int = 0
    num_doubtful: int = 0

    def headline(self, report: RepairReport) -> str:
        """Return how many lengths were filled in, and the sizes of the file."""
        if not report.num_repaired:
            return f"{heading(report)} no length of a filter is missing"
        done = "would be filled in" if report.dry_run else "filled in"
        lengths = f"{count(report.num_repaired, 'length')} of filters"
        sizes = growth(report.size_before, report.size_after)
        return f"{heading(report)} {lengths} {done}, {sizes}"

    def details(self, report: RepairReport, *, columns: int | None) -> str:
        """Return the filters that cannot be trusted, and the plan if it was asked for."""
        lines = [labelled("doubtful", safe(where), columns=columns) for where in report.unrepaired]
        lines.append(store_lines(report, columns=columns))
        plan = plan_without_filters(report, columns=columns) if self.with_plan else ""
        return "\n\n".join(filter(None, ["\n".join(filter(None, lines)), plan]))

    def document(self, report: RepairReport) -> Document:
        """Return one file's entry of `files` in the JSON."""
        return {
            **new_file_document(report),
            "num_repaired": report.num_repaired,
            "unrepaired": list(report.unrepaired),
            **plan_document(report),
        }

    def collect(self, report: RepairReport) -> None:
        """Count the lengths, and the filters that cannot be trusted."""
        self.is_dry = report.dry_run
        self.store.add(report)
        self.num_repaired += report.num_repaired
        self.num_doubtful += len(report.unrepaired)

    def summary(self, *, columns: int | None) -> str:
        """Return what should be known of the stores."""
        return self.store.lines(columns=columns)

    def tally(self) -> str:
        """Return how many lengths were filled in, and how many filters cannot be trusted."""
        doubtful = f", {count(self.num_doubtful, 'filter')} cannot be trusted"
        done = "would be filled in" if self.is_dry else "filled in"
        doubts = doubtful * bool(self.num_doubtful)
        return f"{count(self.num_repaired, 'length')} {done}{doubts}{self.store}"

    @property
    def passed(self) -> bool:
        """Whether every filter can be trusted."""
        return not self.num_doubtful
