"""The new version of a file: what `add`, `strip` and `repair` show alike.

With `--dry-run` that includes the plan: the pieces of the new file, with their positions.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from bloomify.console.table import Heading, labelled, table
from bloomify.views.base import facts_of
from parquet_bloomwriter.text import count, name, safe, size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bloomify.views.base import Document
    from parquet_bloomwriter import AddReport, RepairReport, StripReport
    from parquet_bloomwriter.rewrite.plan import Piece

_HEADINGS = (
    Heading(title="do", is_text=True),
    Heading(title="new file from"),
    Heading(title="to"),
    Heading(title="bytes"),
    Heading(title="old file from"),
    Heading(title="to"),
    Heading(title="what", is_text=True),
)


def heading(report: AddReport | StripReport | RepairReport) -> str:
    """Return the beginning of a headline: the file read, and the file written if it is another."""
    paths = [safe(path) for path in (report.path, report.output) if path is not None]
    return click.style(" -> ".join(dict.fromkeys(paths)), bold=True) + ":"


def new_file_document(report: AddReport | StripReport | RepairReport) -> Document:
    """Return what the JSON of all these verbs says of a file, but for the plan."""
    document = facts_of(report, "path", "output", "written", "dry_run", "size_before", "size_after")
    if report.store is None:
        return document
    facts = ("requests", "down", "up", "copied", "planned", "old_version", "new_version", "notes")
    return {**document, "store": facts_of(report.store, *facts)}


def store_lines(report: AddReport | StripReport | RepairReport, *, columns: int | None) -> str:
    """Return what the store had to do, and what it could not keep; "" for a file on disk."""
    if report.store is None:
        return ""
    lines = [labelled("store", str(report.store), columns=columns)]
    lines += [labelled("note", safe(note), columns=columns) for note in report.store.notes]
    return "\n".join(lines)


@dataclass(slots=True)
class StoreTotals:
    """What stores had to do for many files."""

    requests: int = 0
    down: int = 0
    up: int = 0
    old_versions: int = 0
    notes: dict[str, None] = field(default_factory=dict)
    """What could not be kept, or should be known, each once."""

    def add(self, report: AddReport | StripReport | RepairReport) -> None:
        """Add one file's."""
        store = report.store
        if store is None:
            return
        planned = store.planned or (0, 0, 0)
        self.requests += store.num_requests + planned[0]
        self.down += store.down + planned[1]
        self.up += store.up + planned[2]
        self.old_versions += store.old_version is not None
        self.notes.update(dict.fromkeys(store.notes))

    def lines(self, *, columns: int | None) -> str:
        """Return the notes, as they stand in the summary."""
        return "\n".join(labelled("note", safe(note), columns=columns) for note in self.notes)

    def __str__(self) -> str:
        """Return what follows on a verb's tally; "" without stores."""
        if not self.requests:
            return ""
        kept = f", {count(self.old_versions, 'old version')} kept" if self.old_versions else ""
        requests = count(self.requests, "request")
        return f"; {requests}, {size(self.down)} down, {size(self.up)} up{kept}"


def plan_document(report: AddReport | StripReport | RepairReport) -> Document:
    """Return the plan for the JSON; empty if the file was written."""
    if not report.dry_run:
        return {}
    return {"plan": [dataclasses.asdict(step) for step in steps(report.pieces)]}


def plan_table(
    pieces: Sequence[Piece], name_of: Callable[[int], str], *, columns: int | None
) -> str:
    """Lay out the plan as a table.

    Args:
        pieces: The plan.
        name_of: Names a leaf column by its ordinal.
        columns: Width of the terminal, if there is one.
    """
    rows = [_row(step, _what(step, name_of)) for step in steps(pieces)]
    if rows and rows[-1][0] == "metadata":
        rows[-1][-1] = "footer"
    return table(_HEADINGS, rows, columns=columns)


def plan_without_filters(report: StripReport | RepairReport, *, columns: int | None) -> str:
    """Lay out the plan of a verb that adds no filters; "" if the file stays as it is."""
    if report.size_before == report.size_after:
        return ""
    return plan_table(report.pieces, str, columns=columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One piece, with its place in the new file. Ranges end before their `stop`."""

    action: str
    """"copy" or "skip" bytes of the old file, or "filter" or "metadata" for new bytes."""

    start: int
    """Absolute position in the new file, bytes."""

    length: int
    """Bytes in the new file; 0 for "skip"."""

    old: tuple[int, int] | None = None
    """Absolute positions in the old file: start and stop."""

    chunk: tuple[int, int] | None = None
    """Row group and leaf ordinal of a filter, both 0-based."""


def steps(pieces: Sequence[Piece]) -> Iterator[Step]:
    """Yield the pieces with their positions."""
    from parquet_bloomwriter.rewrite.plan import Copy, EmitFilter, Skip

    at = 0
    for piece in pieces:
        match piece:
            case Copy(start, stop):
                step = Step(action="copy", start=at, length=stop - start, old=(start, stop))
            case Skip(start, stop):
                step = Step(action="skip", start=at, length=0, old=(start, stop))
            case EmitFilter(row_group, column, length):
                step = Step(action="filter", start=at, length=length, chunk=(row_group, column))
            case _:
                step = Step(action="metadata", start=at, length=len(piece.data))
        yield step
        at += step.length


def _row(step: Step, what: str) -> list[str]:
    new = (step.start, step.start + step.length) if step.length else None
    return [step.action, *_range(new), f"{step.length:,}", *_range(step.old), what]


def _range(span: tuple[int, int] | None) -> list[str]:
    return [f"{position:,}" for position in span] if span else ["", ""]


def _what(step: Step, name_of: Callable[[int], str]) -> str:
    if step.chunk:
        row_group, column = step.chunk
        return f"{name(name_of(column))}, row group {row_group}"
    return {"skip": "left out", "metadata": "page index"}.get(step.action, "")
