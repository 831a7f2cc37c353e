"""The model of a report that is shown: a headline, a table and remarks, as plain values.

Every report has a method `summary`. `notebook` and `page` draw tables and remarks as HTML, the
command draws these on terminals. So words, figures and their units are made here and in the reports
only; a renderer chooses columns, and adds colours, widths and bars. `plain` makes the values for
JSON of the same reports, by the names that they list in `JSON`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from parquet_bloomwriter.source.folders import passed_over_text
from parquet_bloomwriter.text import count, name, row_groups, safe

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from parquet_bloomwriter.source.folders import PassedOver

R = TypeVar("R")

BITS_PER_BYTE = 8

MOST_ROWS = 60
"""Largest number of rows of a table that a notebook shows."""

NONE = "-"
"""The text of a cell without a value."""


class Remark(NamedTuple):
    """A sentence below the table."""

    label: str
    """The kind of remark, in one or two words."""

    sentence: str


def passed_over_remarks(groups: Iterable[PassedOver]) -> tuple[Remark, ...]:
    """Return a remark on the files passed over in folders; empty if there are none."""
    label, _, sentence = passed_over_text(groups).partition(": ")
    return (Remark(label=label, sentence=sentence),) if sentence else ()


def plain(report: object) -> dict[str, Any]:
    """Return a report as values that JSON can hold.

    The names are those of `JSON`, an attribute of the report's class, in this order; without it,
    the names of all fields. In `JSON`, "*" stands for all fields, "name=attribute" gives an
    attribute another name, and "name?" leaves a name out if the attribute is None.

    Args:
        report: A dataclass. The dataclasses in it are turned into values in the same way.
    """
    return picked(report, *getattr(report, "JSON", "*"))


def picked(report: object, *names: str) -> dict[str, Any]:
    """Return some attributes of a report as values that JSON can hold.

    Args:
        report: A dataclass.
        names: The names, written as in `JSON`: see `plain`.
    """
    values: dict[str, Any] = {}
    for spec in names:
        name_, _, attribute = spec.rstrip("?").partition("=")
        if name_ == "*":
            own = (one.name for one in fields(report) if one.compare)  # type: ignore[arg-type]
            values |= picked(report, *own)
            continue
        value = getattr(report, attribute or name_)
        if value is not None or not spec.endswith("?"):
            values[name_] = _plain_value(value)
    return values


def _plain_value(value: object) -> object:
    """Return a value that JSON can hold; infinity, which JSON does not have, is None."""
    if is_dataclass(value):
        return plain(value)
    if isinstance(value, tuple | list):
        kind = list if isinstance(value, list) else tuple
        return kind(map(_plain_value, value))
    if isinstance(value, Mapping):
        return {key: _plain_value(one) for key, one in value.items()}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, int | str):
        return value
    return value.hex() if isinstance(value, bytes) else getattr(value, "name", str(value))


class OfChunk(Protocol):
    """A fact about one column chunk."""

    @property
    def column(self) -> str:
        """Dotted path of the column."""

    @property
    def row_group(self) -> int:
        """Ordinal of the row group, counted from 0."""


C = TypeVar("C", bound=OfChunk)


def grouped_remarks(
    files: Sequence[tuple[str | None, Iterable[C]]],
    reasons: Callable[[C], Iterable[tuple[str, str]]],
    *,
    each_file: bool = False,
) -> list[Remark]:
    """Return a remark for each label, column and reason, with the row groups in all files.

    Args:
        files: Path and facts of each file; the path is None for a buffer.
        reasons: Returns labels and reasons of a fact.
        each_file: Whether each file gets remarks of its own, so that all files are named.
    """
    places: dict[tuple[str, str, str, int], dict[int, list[int]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for number, (_, facts) in enumerate(files):
        for one in facts:
            for label, reason in reasons(one):
                key = (label, one.column, reason, number if each_file else 0)
                places[key][number].append(one.row_group)
    return [
        Remark(label, f"{name(column)}, {_where(files, by_file)}: {reason}")
        for (label, column, reason, _), by_file in places.items()
    ]


def _where(files: Sequence[tuple[str | None, object]], by_file: dict[int, list[int]]) -> str:
    first, ordinals = next(iter(by_file.items()))
    if len(files) == 1:
        return row_groups(ordinals)
    there = f"{safe(files[first][0] or 'a buffer')}, {row_groups(ordinals)}"
    if len(by_file) == 1:
        return there
    total = count(sum(map(len, by_file.values())), "row group")
    return f"{total} of {len(by_file):,} files, the first in {there}"


class Name(str):
    """A name from a file: it is cut if it is long, and set apart from the text around it."""

    __slots__ = ()


class Marks(NamedTuple):
    """The row groups of a file, of which some are marked."""

    marked: Collection[int]
    """Ordinals, counted from 0."""

    total: int


def quantity(number: float) -> str:
    """Write a number of distinct values; "∞" if all bits are set."""
    if math.isnan(number):
        return NONE
    return "∞" if math.isinf(number) else f"{number:,.0f}"


def tenths(number: float) -> str:
    """Write a number with one digit after the point."""
    return f"{number:,.1f}"


def mean(numbers: Iterable[float | None]) -> float | None:
    """Return the mean of the numbers that are known and finite; None without any."""
    known = [number for number in numbers if number is not None and math.isfinite(number)]
    return math.fsum(known) / len(known) if known else None


@dataclass(frozen=True, slots=True)
class Column(Generic[R]):
    """One column of a table: its heading, and the values of its cells."""

    title: str
    value: Callable[[R], object]
    """Returns the value of a row's cell: text, a name, a number, markup; None for no value."""

    write: Callable[[Any], str] | None = None
    """Writes a value that is no text; whole numbers are written with commas by default."""

    is_text: bool = field(default=False, kw_only=True)
    """Whether cells are text, which is aligned on the left; numbers are aligned on the right."""

    is_long: bool = field(default=False, kw_only=True)
    """Whether cells have several words, which may be wrapped; on terminals, in the last column."""

    is_extra: bool = field(default=False, kw_only=True)
    """Whether a terminal too narrow for all columns leaves the column out."""

    is_bar: bool = field(default=False, kw_only=True)
    """Whether a terminal draws the value, a share in [0, 1] or `Marks`, as a bar."""

    colors: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    """Colours of whole cells on a terminal, by their text."""

    def cell(self, row: R) -> object:
        """Return the cell of a row: text, a name, or markup."""
        value = self.value(row)
        if value is None:
            return NONE
        if self.write is not None:
            return self.write(value)
        return f"{value:,}" if isinstance(value, int) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Generic[R]):
    """A table: its columns, and the values from which rows are made."""

    caption: str = ""
    """Title of the table, for screen readers."""

    columns: tuple[Column[R], ...]
    rows: Sequence[R]
    """One value for each row; cells are made of the rows that are shown only."""

    noun: str = "row"
    """The noun for a row, as in "and 12 more columns"."""

    hints: Mapping[str, str] = field(default_factory=dict)
    """Meanings of figures by the titles of columns, shown when the pointer is on a heading."""

    def only(self, *titles: str) -> Table[R]:
        """Return the table with these columns, in this order."""
        by_title = {column.title: column for column in self.columns}
        return replace(self, columns=tuple(by_title[title] for title in titles))

    def without(self, *titles: str) -> Table[R]:
        """Return the table without these columns."""
        return replace(self, columns=tuple(c for c in self.columns if c.title not in titles))


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The short form of a report."""

    paths: tuple[str | None, ...]
    """Paths of the file read, then of the file written; None for a buffer."""

    headline: str
    """The result, in one line."""

    table: Table[Any] | None = None
    remarks: tuple[Remark, ...] = ()


class Report(Protocol):
    """The report of a verb."""

    def summary(self) -> Summary:
        """Return the report in short: a headline, a table and remarks, as plain values."""
        ...
