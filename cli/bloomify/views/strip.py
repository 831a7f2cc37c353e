"""What `strip` did: the columns whose filters were taken out, and the bytes that stay."""

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
from parquet_bloomwriter.reports.rewriting import listed_names
from parquet_bloomwriter.text import count, growth, name

if TYPE_CHECKING:
    from bloomify.views.base import Document
    from parquet_bloomwriter import StripReport


@dataclass(kw_only=True)
class StripView(View["StripReport"]):
    """Filters taken out of files."""

    command: ClassVar[str] = "strip"
    with_plan: bool = False
    """Whether the pieces of each new file are shown."""

    is_dry: bool = False
    """Whether nothing was written."""

    store: StoreTotals = field(default_factory=StoreTotals)

    num_filters: int = 0
    notes: dict[str, None] = field(default_factory=dict)
    """Of all files, each once."""

    def headline(self, report: StripReport) -> str:
        """Return how many filters were taken out, and the sizes of the file."""
        if not report.num_filters:
            return f"{heading(report)} there is no filter to take out"
        done = "would be taken out" if report.dry_run else "taken out"
        sizes = growth(report.size_before, report.size_after)
        return f"{heading(report)} {count(report.num_filters, 'filter')} {done}, {sizes}"

    def details(self, report: StripReport, *, columns: int | None) -> str:
        """Return the columns concerned, the bytes that stay, and the plan if it was asked for."""
        lines = []
        if report.columns:
            names = listed_names(map(name, report.columns))
            lines.append(labelled("columns", names, columns=columns))
        if report.left_bytes:
            left = count(report.left_bytes, "byte")
            reason = "nothing may move, or it is not certain that they belong to a filter alone"
            lines.append(labelled("note", f"{left} stay in the file: {reason}", columns=columns))
        lines += [labelled("note", _with_option(note), columns=columns) for note in report.notes]
        lines.append(store_lines(report, columns=columns))
        plan = plan_without_filters(report, columns=columns) if self.with_plan else ""
        return "\n\n".join(filter(None, ["\n".join(filter(None, lines)), plan]))

    def document(self, report: StripReport) -> Document:
        """Return one file's entry of `files` in the JSON."""
        return {
            **new_file_document(report),
            "num_filters": report.num_filters,
            "left_bytes": report.left_bytes,
            "columns": list(report.columns),
            "notes": list(report.notes),
            **plan_document(report),
        }

    def collect(self, report: StripReport) -> None:
        """Count the filters."""
        self.is_dry = report.dry_run
        self.store.add(report)
        self.num_filters += report.num_filters
        self.notes.update(dict.fromkeys(report.notes))

    def summary(self, *, columns: int | None) -> str:
        """Return what should be known of the filters and the stores."""
        notes = [labelled("note", _with_option(note), columns=columns) for note in self.notes]
        return "\n".join(filter(None, [*notes, self.store.lines(columns=columns)]))

    def tally(self) -> str:
        """Return how many filters were taken out of all files."""
        done = "would be taken out" if self.is_dry else "taken out"
        return f"{count(self.num_filters, 'filter')} {done}{self.store}"


def _with_option(note: str) -> str:
    """Name the option of the command in a note that names an argument of the library."""
    return note.replace("name columns to", "name columns with --columns to")
