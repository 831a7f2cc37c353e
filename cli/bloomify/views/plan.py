"""The plan of a new file, piece by piece, for `--dry-run`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bloomify.console.table import Heading, table
from bloomify.console.text import name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One piece, with its place in the new file. Ranges end before their `stop`."""

    action: str
    """"copy" or "skip" bytes of the old file, or "filter" or "metadata" for new ones."""

    start: int
    """Absolute position in the new file, bytes."""

    length: int
    """Bytes in the new file; 0 for "skip"."""

    old: tuple[int, int] | None = None
    """Absolute positions in the old file: start and stop."""

    chunk: tuple[int, int] | None = None
    """Row group and leaf ordinal of a filter."""


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


def plan_table(
    pieces: Sequence[Piece], name_of: Callable[[int], str], *, columns: int | None
) -> str:
    """Lay out the plan.

    Args:
        pieces: The plan.
        name_of: Names a leaf column by its ordinal.
        columns: Width of the terminal, if there is one.
    """
    rows = [_row(step, _what(step, name_of)) for step in steps(pieces)]
    if rows and rows[-1][0] == "metadata":
        rows[-1][-1] = "footer"
    return table(_HEADINGS, rows, columns=columns)


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
