"""The summary of a report: a headline, a table and remarks, as plain values.

Every report has a method `summary`; `notebook` and `page` draw what it returns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parquet_bloomwriter.reports.markup import Content

MOST_ROWS = 60
"""Rows of a table that a notebook shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A sentence below the table."""

    label: str
    """The kind of remark, in one or two words."""

    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a report says in short."""

    paths: tuple[str | None, ...]
    """The file read, then the file written; None for a buffer."""

    headline: str
    """What was found or done, in one line."""

    table: Table | None = None
    remarks: tuple[Remark, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """One column of a table."""

    title: str
    is_text: bool = False
    """Whether cells are text, which stands on the left; numbers stand on the right."""

    is_long: bool = False
    """Whether cells are several words, which may be wrapped."""

    hint: str | None = None
    """What the figures mean, shown when the pointer is on the heading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Headings and rows."""

    caption: str
    """What the table shows, for screen readers."""

    headings: tuple[Heading, ...]
    rows: Iterable[Sequence[Content]]
    """Cells, one for each heading; an iterator makes only the rows that are shown."""

    num_rows: int

    noun: str
    """What a row is, for "and 12 more columns"."""


class Report(Protocol):
    """What a verb returned."""

    def summary(self) -> Summary:
        """Return the report in short: a headline, a table and remarks, as plain values."""
        ...
