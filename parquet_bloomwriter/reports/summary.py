"""A report in short, for whoever draws it: a headline, a table, remarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parquet_bloomwriter.reports.markup import Content


MOST_ROWS = 60
"""Of a table in a notebook."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """Something that is to be said beside the table."""

    label: str
    """One or two words: what kind of remark it is."""

    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One report."""

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
    """Text stands on the left; numbers on the right."""

    is_long: bool = False
    """Text of several words, which may be wrapped."""

    hint: str | None = None
    """What the figures mean, shown when pointed at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Headings and rows."""

    caption: str
    """What the table tells; read out by screen readers."""

    headings: tuple[Heading, ...]
    rows: Iterable[Sequence[Content]]
    """Cells, one for each heading. They are made as they are needed, if this is an iterator."""

    num_rows: int

    noun: str
    """What a row is, for "and 12 more columns"."""
