"""The report of `advise`: the columns that deserve filters, the reasons, and the cost."""

from __future__ import annotations

import shlex
from collections import defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from parquet_bloomwriter.column_names import patterns_for
from parquet_bloomwriter.reports.notebook import notebook_html
from parquet_bloomwriter.reports.summary import Column, Name, Remark, Summary, Table, quantity
from parquet_bloomwriter.text import count, listed, listed_names, name, percent, rate, safe, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parquet_bloomwriter.advising.column_profile import ColumnProfile
    from parquet_bloomwriter.advising.queries import ColumnUse


class Advice(StrEnum):
    """The verdict on one column."""

    ADD = "ADD"
    """Filters would let readers skip many row groups that they must read without filters."""

    CONSIDER = "CONSIDER"
    """Filters would let readers skip some row groups, but may not be worth their bytes."""

    HAS_FILTER = "HAS_FILTER"
    """Every row group with values of the column has a filter."""

    SKIP = "SKIP"
    """Filters are not possible, or would let readers skip few row groups."""


class TypeCount(NamedTuple):
    """A type of a column, and the files in which it has that type."""

    type: str
    num_files: int
    path: str
    """Path of the first file in which the column has that type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnAdvice:
    """The advice on one column.

    Shares are shares of the row groups that have values, in [0, 1]. They are expected shares for
    one lookup by equality; None if nothing was estimated.
    """

    JSON: ClassVar = ("*", "skipped_by_statistics")
    name: str
    """Dotted path of the column."""

    ordinal: int
    """Leaf ordinal in the first file that has the column, counted from 0."""

    num_files: int = 1
    """Number of files in which the column has this ordinal."""

    physical_type: str
    """Name of the physical type in parquet.thrift."""

    type: str
    """Name of the type as schemas write it, such as STRING or DECIMAL(9,2)."""

    verdict: Advice
    reason: str
    """The reason of the verdict, one clause."""

    notes: tuple[str, ...] = ()
    """Further facts that matter for the decision."""

    num_row_groups: int
    """Number of row groups that have values of this column."""

    num_filters: int
    """Number of filters that are there and sound by their headers."""

    num_values: int
    """Number of values, without the nulls that statistics count."""

    num_compressed_bytes: int
    """Compressed size of the column's chunks, bytes."""

    ndv: float | None = None
    """Number of distinct values per row group, estimated from a sample; None if not estimated."""

    num_filter_bytes: int | None = None
    """Length of new filters, headers and bitsets, for all row groups without a filter, bytes."""

    read_by_statistics: float | None = None
    """Share of row groups that readers read for a stored value, with statistics alone."""

    holding: float | None = None
    """Share of row groups that hold a stored value."""

    skipped_present: float | None = None
    """Share of row groups that readers skip for a stored value, with statistics and filters."""

    skipped_absent: float | None = None
    """Share of row groups that readers skip for an absent value between stored values, with
    statistics and filters."""

    evidence: ColumnProfile | None = field(default=None, repr=False, compare=False)
    """The profile from which the figures were computed. This field and the next three are needed to
    merge reports."""

    use: ColumnUse | None = field(default=None, repr=False, compare=False)
    """How often queries ask for the column; None if no queries are known."""

    types: tuple[TypeCount, ...] = field(default=(), repr=False, compare=False)
    """The types of the column in the files, in order of their first occurrence."""

    missing_from: str = field(default="", repr=False, compare=False)
    """Name of the first file without the column; "" if all files have it."""

    @property
    def gain(self) -> float:
        """Share of row groups that a lookup skips because of filters; 0 if not estimated."""
        if self.skipped_present is None or self.skipped_by_statistics is None:
            return 0.0
        return self.skipped_present - self.skipped_by_statistics

    @property
    def skipped_by_statistics(self) -> float | None:
        """Share of row groups that readers skip for a stored value, without filters."""
        return None if self.read_by_statistics is None else 1 - self.read_by_statistics

    def __str__(self) -> str:
        """Return one line."""
        return f"{name(self.name)}: {self.verdict}, {safe(self.reason)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviseReport:
    """The advice on the columns of one file, or of several files together."""

    JSON: ClassVar = (
        *("num_files", "size", "num_rows", "num_row_groups", "fpp", "engine"),
        *("num_filter_bytes", "share", "shell_command=command"),
        *("index_shell_command=index_command", "columns=ranked"),
    )
    paths: tuple[str, ...]
    """Paths of the files, or the patterns and folders that name them in the command; empty for a
    buffer."""

    num_files: int
    """Number of files."""

    size: int
    """Size of all files, bytes."""

    num_rows: int
    """Number of rows of all files."""

    num_row_groups: int
    """Number of row groups of all files."""

    fpp: float
    """False positive probability that filters are sized for, in (0, 1)."""

    engine: str = "any"
    """The engine that will look up values."""

    columns: tuple[ColumnAdvice, ...]
    """The advice on each column, in the order of the schema."""

    is_of_table: bool = False
    """Whether the files are those of a table, which may lack columns that were added later."""

    is_partial: bool = False
    """Whether only some columns of the files were judged."""

    @property
    def added(self) -> tuple[ColumnAdvice, ...]:
        """The columns with the verdict `ADD`, the best first."""
        return tuple(column for column in self.ranked if column.verdict is Advice.ADD)

    @property
    def considered(self) -> tuple[ColumnAdvice, ...]:
        """The columns with the verdict `CONSIDER`, the best first."""
        return tuple(column for column in self.ranked if column.verdict is Advice.CONSIDER)

    @property
    def ranked(self) -> tuple[ColumnAdvice, ...]:
        """All columns, sorted by verdict and gain; nearly equal columns are in schema order."""
        verdicts = list(Advice)

        def rank(column: ColumnAdvice) -> tuple[int, float]:
            return verdicts.index(column.verdict), -round(column.gain, 1)

        return tuple(sorted(self.columns, key=rank))

    @property
    def num_filter_bytes(self) -> int:
        """Length of the recommended filters, bytes."""
        return sum(column.num_filter_bytes or 0 for column in self.added)

    @property
    def share(self) -> float:
        """Length of the recommended filters, divided by the size of the files."""
        return self.num_filter_bytes / self.size if self.size else 0.0

    @property
    def command(self) -> str | None:
        """The shell command that adds the recommended filters; None if there is no such command."""
        return self.command_for(self.added)

    @property
    def index_command(self) -> str | None:
        """The shell command that makes an index, None unless there are many small files.

        Opening files then costs a lookup more than reading them, and an index saves it.
        """
        is_many = self.num_files >= _MANY_FILES and self.size < self.num_files * _SMALL_FILE
        skipping = sorted(self.columns, key=lambda column: -round(column.gain, 1))
        gaining = (column for column in skipping if column.gain >= _LEAST_GAIN)
        typed = list(filter(None, map(self.typed, gaining)))
        if not (is_many and typed and len(self.paths) == 1):
            return None
        place = _as_path(self.paths[0])
        return shlex.join(["bloomify", "index", "create", place, "--columns", self._listed(typed)])

    def command_for(self, columns: Iterable[ColumnAdvice]) -> str | None:
        """Return the shell command that adds filters on these columns, or None.

        Columns that have filters already may be among those that it chooses: they are kept.
        """
        chosen = [column for column in columns if self.typed(column)]
        typed = list(filter(None, map(self.typed, chosen)))
        if not typed or not self.paths:
            return None
        words = ["bloomify", *map(_as_path, self.paths)]
        is_every = self._is_long(typed) and not self._others(typed)
        words += ["--all-columns"] if is_every else ["--columns", self._listed(typed)]
        if self.fpp != DEFAULT_FPP:
            words += ["--fpp", f"{self.fpp:g}"]
        if any(one.missing_from for one in chosen) and not self.is_of_table:
            words.append("--skip-missing")
        return shlex.join(words)

    def _listed(self, typed: Sequence[str]) -> str:
        """Return a list for `--columns`, of patterns if there are many columns."""
        if self._is_long(typed):
            typed = patterns_for(typed, self._others(typed))
        return ",".join(typed)

    def _is_long(self, typed: Sequence[str]) -> bool:
        """Return whether patterns may stand for names; columns that are unknown forbid it."""
        return len(typed) > _MOST_TYPED and not self.is_partial

    def _others(self, typed: Sequence[str]) -> list[str]:
        """Return the columns that must not be chosen beside those that are typed."""
        names = set(typed)
        kept = Advice.HAS_FILTER
        return [c.name for c in self.columns if c.name not in names and c.verdict is not kept]

    def __str__(self) -> str:
        """Return a line for the files, one for each column, and the command."""
        head = f"{count(self.num_files, 'file')}, {count(self.num_row_groups, 'row group')}"
        lines = [str(column) for column in self.columns]
        return listed(head, [*lines, *([self.command] if self.command else [])])

    def summary(self) -> Summary:
        """Return the report in short: a headline, a table and remarks, as plain values."""
        remarks = [Remark("to run", self.command)] if self.command else []
        paths = self.paths if len(self.paths) == 1 else (count(self.num_files, "file"),)
        return Summary(
            paths=paths if self.paths else (None,),
            headline=_headline(self),
            table=advice_table(self).without("of file"),
            remarks=(*remarks, *notes_of(self)),
        )

    _repr_html_ = notebook_html

    def typed(self, column: ColumnAdvice) -> str | None:
        """Return the word for a column in `--columns`: its name, or `#` and its ordinal.

        Return None if the name cannot be written in a list, and the ordinal differs between files.
        """
        is_only = sum(other.name == column.name for other in self.columns) == 1
        name_ = column.name
        is_plain = name_ and name_ == name_.strip() and "," not in name_ and name_.isprintable()
        if is_only and is_plain:
            return name_
        return f"#{column.ordinal}" if column.num_files == self.num_files else None


DEFAULT_FPP = 0.01
"""The false positive probability that `bloomify` takes by default."""

_MOST_TYPED = 20
"""Most names of columns in a command; of more columns, patterns are proposed."""

_MANY_FILES = 50
"""Files of one input from which an index is worth its upkeep."""

_LEAST_GAIN = 0.4
"""Share of files that filters must let a lookup skip to be put into an index."""

_SMALL_FILE = 16 * 1024 * 1024
"""Mean size of files below which opening them costs a lookup most, bytes."""


def _as_path(path: str) -> str:
    """Return a path in a form that the command does not take for an option."""
    return f"./{path}" if path.startswith("-") else path


def _headline(report: AdviseReport) -> str:
    if not report.added:
        return "no column deserves new filters"
    verb = "deserves" if len(report.added) == 1 else "deserve"
    cost = f"{size(report.num_filter_bytes)} ({percent(report.share)})"
    asked = rate(report.fpp)
    return f"{count(len(report.added), 'column')} {verb} filters, {cost} at an FPP of {asked}"


_HINTS = {
    "type": "Logical type, or the physical one",
    "NDV/row group": "Distinct values, estimated from a sample",
    "adds bytes": "Headers and bitsets that would be added",
    "read now": "Share of row groups that statistics leave to a lookup",
    "with filters": "The same with filters, for a value that is there",
    "absent": "The same with filters, for a value that is nowhere",
}


def advice_table(report: AdviseReport) -> Table[ColumnAdvice]:
    """Return the table of advice, with a row for each column, the best first."""
    columns: tuple[Column[ColumnAdvice], ...] = (
        Column("column", lambda column: Name(column.name), is_text=True),
        Column("type", lambda column: column.type, is_text=True),
        Column(
            "advice",
            lambda column: column.verdict,
            is_text=True,
            colors={"ADD": "green", "CONSIDER": "yellow"},
        ),
        Column("NDV/row group", lambda column: column.ndv, quantity),
        Column("adds bytes", lambda column: column.num_filter_bytes or None),
        Column(
            "of file",
            lambda column: (
                column.num_filter_bytes / report.size if column.num_filter_bytes else None
            ),
            percent,
        ),
        Column("read now", lambda column: column.skipped_by_statistics, _rest),
        Column("with filters", lambda column: column.skipped_present, _rest),
        Column("absent", lambda column: column.skipped_absent, _rest),
        Column("reason", lambda column: column.reason, is_text=True, is_long=True),
    )
    return Table(
        caption="Advice by column", columns=columns, rows=report.ranked, noun="column", hints=_HINTS
    )


def notes_of(report: AdviseReport) -> list[Remark]:
    """Return each distinct note once, with the columns that it is about, and that on an index."""
    notes: dict[str, list[str]] = defaultdict(list)
    for column in report.ranked:
        for note in column.notes:
            notes[note].append(name(column.name))
    remarks = [Remark("note", f"{listed_names(names)}: {note}") for note, names in notes.items()]
    if report.index_command is not None:
        mean = size(report.size // report.num_files)
        remarks.append(
            Remark(
                "index",
                f"{report.num_files:,} files of {mean} on average: a lookup spends most time on "
                "opening them. With an index, it opens only those that can hold the value: "
                f"{report.index_command}",
            )
        )
    return remarks


def _rest(skipped: float) -> str:
    """Return the share of row groups that is still read, as text."""
    return percent(1 - skipped)
