"""What one part of the torture found, as a section of docs/reliability.md."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Count", "Section", "Torture", "of_counts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Torture:
    """How much to try, and where."""

    share: float
    """1.0 is the whole of it; the figures in the documentation come from 1.0."""

    seed: int
    """Where random choices begin; the same seed and share try the same."""

    scratch: Path
    """An empty folder for the part alone, removed afterwards."""

    say: Callable[[str], None]
    """Shows a line of progress."""

    def some(self, whole: int) -> int:
        """The share of a number, at least 1."""
        return max(1, round(whole * self.share))


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading, an explanation, a table, and what went wrong."""

    title: str

    text: str
    """Markdown: what a try is, and what it must come to."""

    header: tuple[str, ...]
    """Names of the table's columns."""

    rows: tuple[tuple[str, ...], ...]

    tried: int
    survived: int

    problems: tuple[str, ...] = field(default=())
    """What should not be, one line for each, with what is needed to see it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """One line of a table of tries."""

    what: str
    tried: int
    survived: int
    remark: str = ""


def of_counts(
    title: str, text: str, counts: tuple[Count, ...], problems: tuple[str, ...] = ()
) -> Section:
    """A section whose table counts tries."""
    return Section(
        title=title,
        text=text,
        header=("what", "tried", "survived", "remark"),
        rows=tuple((c.what, f"{c.tried:,}", f"{c.survived:,}", c.remark) for c in counts),
        tried=sum(count.tried for count in counts),
        survived=sum(count.survived for count in counts),
        problems=problems,
    )
