"""The view of `add`: a row for each column, remarks, and the plan if it was asked for."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from bloomify.console.table import paragraphs, remarks_text, table
from bloomify.views.new_file import NewFileView, with_options
from parquet_bloomwriter.errors import ColumnNotFound
from parquet_bloomwriter.reports.summary import Remark
from parquet_bloomwriter.rewrite.report import (
    ColumnTotals,
    added_table,
    merge_totals,
    plan_table,
)
from parquet_bloomwriter.text import count, growth_warning, listed_names, name, row_groups, safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_bloomwriter import AddReport
    from parquet_bloomwriter.reports.summary import Table
    from parquet_bloomwriter.rewrite.report import PlacedStep


_NAMED = 3
"""Most files that are named of those that lack a column."""


@dataclass(kw_only=True)
class AddView(NewFileView["AddReport"]):
    """The view of filters added to files."""

    command: ClassVar[str] = "add"
    has_unreadable: bool = False
    """Whether a column chunk could not be read."""

    totals: tuple[ColumnTotals, ...] = ()
    size_before: int = 0
    """Size of all files before, bytes; the next field is the size after."""

    size_after: int = 0

    missing: dict[str, list[str]] = field(default_factory=dict)
    """Paths of the files that lack a column, by its name (`--skip-missing`)."""

    num_files: int = 0

    def details(self, report: AddReport, *, columns: int | None) -> str:
        """Return the table, the remarks below it, and the plan if it was asked for."""
        totals = added_table(map(ColumnTotals.of, report.columns))
        below = super().details(report, columns=columns)
        return paragraphs(table(totals, columns=columns), below)

    def remarks(self, report: AddReport) -> list[Remark]:
        """Return the remarks and warnings on the file."""
        warnings = [Remark("warning", with_options(text)) for text in report.warnings]
        return super().remarks(report) + warnings

    def plan(self, report: AddReport) -> Table[PlacedStep] | None:
        """Return the table of pieces; None if no filter is added."""
        names = {column.ordinal: column.name for column in report.columns}
        return plan_table(report.pieces, names.__getitem__) if report.num_built else None

    def collect(self, report: AddReport) -> None:
        """Add one file's columns and bytes to the totals."""
        super().collect(report)
        self.size_before += report.size_before
        self.size_after += report.size_after
        self.has_unreadable |= any(
            chunk.is_unreadable for column in report.columns for chunk in column.chunks
        )
        self.num_files += 1
        for missing in report.missing_columns:
            self.missing.setdefault(missing, []).append(report.path or "")
        self.totals = merge_totals(self.totals, map(ColumnTotals.of, report.columns))

    def lack(self, report: AddReport) -> str:
        """Return that the file needs no filter, or can have none, if so."""
        return "" if report.num_built or report.written else "no filter to add"

    def complaints(self, report: AddReport) -> Iterator[str]:
        """Yield a warning for each column and reason why chunks of it cannot be read."""
        for column in report.columns:
            places: dict[str, list[int]] = defaultdict(list)
            for chunk in column.chunks:
                if chunk.is_unreadable:
                    places[chunk.reason].append(chunk.row_group)
            for reason, ordinals in places.items():
                yield (
                    f"warning: {report.path}: {row_groups(ordinals)}, column {name(column.name)} "
                    f"cannot be read ({reason}): it got no filter, and readers will fail there too"
                )

    def summary(self, *, columns: int | None) -> str:
        """Return the table of all files, and the remarks below it."""
        grouped: dict[tuple[str, str], list[str]] = defaultdict(list)
        for column in self.totals:
            for remark, number in column.remarks.items():
                grouped[remark].append(f"{name(column.name)} ({count(number, 'row group')})")
            for note in filter(None, (*column.notes, column.size_note)):
                grouped["note", note].append(name(column.name))
            for text in column.warnings:
                grouped["warning", text].append(name(column.name))
        remarks = [
            Remark(label, f"{listed_names(names)}: {with_options(reason)}")
            for (label, reason), names in grouped.items()
        ]
        remarks += [Remark("missing", text) for text in self._lacks()]
        if warning := growth_warning(self.size_before, self.size_after):
            remarks.append(Remark("warning", with_options(warning)))
        listed = table(added_table(self.totals), columns=columns)
        below = super().summary(columns=columns)
        return paragraphs(listed, remarks_text(remarks, columns=columns), below)

    def _lacks(self) -> Iterator[str]:
        for missing, paths in self.missing.items():
            some = ", ".join(map(safe, paths[:_NAMED]))
            rest = f" and {len(paths) - _NAMED:,} more" if len(paths) > _NAMED else ""
            yield f"{name(missing)}: {count(len(paths), 'file')} without it: {some}{rest}"

    @property
    def in_no_file(self) -> list[str]:
        """Names of columns that no file has, of those that files may lack."""
        return [one for one, paths in self.missing.items() if len(paths) == self.num_files]

    def hint(self, error: Exception) -> str:
        """Return how a run goes on where files lack a column."""
        is_missing = isinstance(error, ColumnNotFound) and error.column is None
        return "--skip-missing passes over files without it." if is_missing else ""

    def tally(self) -> str:
        """Return how many filters were added to all files."""
        done = "would be added" if self.is_dry else "added"
        return (
            f"{count(sum(column.num_built for column in self.totals), 'filter')} {done}{self.store}"
        )

    @property
    def passed(self) -> bool:
        """Whether all data could be read, and any column got a filter, had one, or needs none."""
        if self.has_unreadable:
            return False
        remarks = [remark for column in self.totals for remark in column.remarks]
        none_built = not any(column.num_built or column.num_kept for column in self.totals)
        return not (none_built and any(label == "skipped" for label, _ in remarks))
