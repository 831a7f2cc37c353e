"""The summary of a report: a headline, a table and remarks, as plain values.

Every report has a method `summary`; `notebook` and `page` draw the summary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from parquet_bloomwriter.source.folders import passed_over_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parquet_bloomwriter.reports.markup import Content
    from parquet_bloomwriter.source.folders import PassedOver

MOST_ROWS = 60
"""Largest number of rows of a table that a notebook shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A sentence below the table."""

    label: str
    """The kind of remark, in one or two words."""

    sentence: str


def passed_over_remarks(groups: Iterable[PassedOver]) -> tuple[Remark, ...]:
    """Return a remark on what was passed over in folders; none if that is nothing."""
    label, _, sentence = passed_over_text(groups).partition(": ")
    return (Remark(label=label, sentence=sentence),) if sentence else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The short form of a report."""

    paths: tuple[str | None, ...]
    """Paths of the file read, then of the file written; None for a buffer."""

    headline: str
    """The result, in one line."""

    table: Table | None = None
    remarks: tuple[Remark, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """One column of a table."""

    title: str
    is_text: bool = False
    """Whether cells are text, which is aligned on the left; numbers are aligned on the right."""

    is_long: bool = False
    """Whether cells have several words, which may be wrapped."""

    hint: str | None = None
    """The meaning of the figures, shown when the pointer is on the heading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Headings and rows."""

    caption: str
    """Title of the table, for screen readers."""

    headings: tuple[Heading, ...]
    rows: Iterable[Sequence[Content]]
    """Rows of cells, one cell for each heading; an iterator makes only the rows that are shown."""

    num_rows: int
    """Number of rows, with the rows that are not shown."""

    noun: str
    """The noun for a row, as in "and 12 more columns"."""


class Report(Protocol):
    """The report of a verb."""

    def summary(self) -> Summary:
        """Return the report in short: a headline, a table and remarks, as plain values."""
        ...
