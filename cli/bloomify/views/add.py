"""What `add` did: a row for each column, remarks, and the plan if it was asked for."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from bloomify.console.table import Heading, labelled, table
from bloomify.views.base import View, facts_of
from bloomify.views.new_file import (
    StoreTotals,
    heading,
    new_file_document,
    plan_document,
    plan_table,
    store_lines,
)
from parquet_bloomwriter.reports.rewriting import (
    ADDED_HEADINGS,
    ColumnTotals,
    listed_names,
    merge_totals,
    remarks_on,
)
from parquet_bloomwriter.text import count, growth, growth_warning, name, row_groups, safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bloomify.views.base import Document
    from parquet_bloomwriter import AddReport, ColumnReport

_OPTIONS = {
    ": max_bytes is": ": --max-bytes is",
    "a higher fpp, a smaller max_bytes": "a higher --fpp, a smaller --max-bytes",
    "the option `replace`": "--replace",
    "the placement `end`": "--placement end",
}
"""The words of the library, and the command's."""

_HEADINGS = tuple(Heading(title=one.title, is_text=one.is_text) for one in ADDED_HEADINGS)


@dataclass(kw_only=True)
class AddView(View["AddReport"]):
    """Filters added to files."""

    command: ClassVar[str] = "add"
    with_plan: bool = False
    """Whether the pieces of each new file are shown."""

    is_dry: bool = False
    """Whether nothing was written."""

    store: StoreTotals = field(default_factory=StoreTotals)

    has_unreadable: bool = False
    """Whether a column chunk could not be read."""

    totals: tuple[ColumnTotals, ...] = ()
    size_before: int = 0
    """Bytes of all files; so is the next."""

    size_after: int = 0

    def headline(self, report: AddReport) -> str:
        """Return how many filters were added, and the sizes of the file."""
        filters = count(report.num_built, "filter")
        if report.dry_run:
            done = f"{filters} would be added"
        elif report.num_built:
            done = f"{filters} added"
        elif report.written:
            done = "copied without new filters"
        else:
            return f"{heading(report)} no filter to add; the file stays as it is"
        return f"{heading(report)} {done}, {growth(report.size_before, report.size_after)}"

    def details(self, report: AddReport, *, columns: int | None) -> str:
        """Return the table, the remarks below it, and the plan if it was asked for."""
        parts = [totals_table(map(ColumnTotals.of, report.columns), columns=columns)]
        remarks = [(one.label, _with_options(safe(one.sentence))) for one in remarks_on(report)]
        if report.fallback:
            remarks.append(("note", f"filters go to the end of the file: {report.fallback}"))
        if report.left_bytes:
            left = count(report.left_bytes, "byte")
            remarks.append(("note", f"{left} of replaced filters stay in the file, unused"))
        remarks += [("warning", _with_options(text)) for text in report.warnings]
        parts.append("\n".join(labelled(*remark, columns=columns) for remark in remarks))
        parts.append(store_lines(report, columns=columns))
        if self.with_plan and report.num_built:
            names = {column.ordinal: column.name for column in report.columns}
            parts.append(plan_table(report.pieces, names.__getitem__, columns=columns))
        return "\n\n".join(filter(None, parts))

    def document(self, report: AddReport) -> Document:
        """Return one file's entry of `files` in the JSON."""
        facts = ("num_rows", "num_row_groups", "num_built", "placement", "fallback", "left_bytes")
        return {
            **new_file_document(report),
            **facts_of(report, *facts),
            "warnings": list(report.warnings),
            "columns": [_column_document(column) for column in report.columns],
            **plan_document(report),
        }

    def collect(self, report: AddReport) -> None:
        """Add one file's columns and bytes to the totals."""
        self.is_dry = report.dry_run
        self.store.add(report)
        self.size_before += report.size_before
        self.size_after += report.size_after
        self.has_unreadable |= any(
            chunk.is_unreadable for column in report.columns for chunk in column.chunks
        )
        self.totals = merge_totals(self.totals, map(ColumnTotals.of, report.columns))

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
                grouped["warning", _with_options(text)].append(name(column.name))
        lines = [
            labelled(
                label, f"{listed_names(names)}: {_with_options(safe(reason))}", columns=columns
            )
            for (label, reason), names in grouped.items()
        ]
        warning = growth_warning(self.size_before, self.size_after)
        if warning is not None:
            lines.append(labelled("warning", _with_options(warning), columns=columns))
        parts = [totals_table(self.totals, columns=columns), "\n".join(lines)]
        parts.append(self.store.lines(columns=columns))
        return "\n\n".join(filter(None, parts))

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


def totals_table(totals: Iterable[ColumnTotals], *, columns: int | None) -> str:
    """Return the table of columns."""
    rows = [[name(column.name), *column.figures()] for column in totals]
    return table(_HEADINGS, rows, columns=columns)


def _with_options(text: str) -> str:
    """Name the options of the command in a remark that names arguments of the library."""
    for words, options in _OPTIONS.items():
        text = text.replace(words, options)
    return text


def _column_document(column: ColumnReport) -> Document:
    rates = ("asked_fpp", "achieved_fpp", "ndv", "bytes_added", "bits_per_value")
    return {
        **facts_of(column, "name", "ordinal", "physical_type", *rates),
        "notes": list(column.notes),
        "row_groups": [dataclasses.asdict(chunk) for chunk in column.chunks],
    }
