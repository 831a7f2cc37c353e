"""Reports of the verbs of an index, and the reasons why an index is not used, as plain values.

If Hyperspace has a code for a reason, the
reason has this code.

Source: Hyperspace, FilterReasonCode.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from parquet_bloomwriter.reports.summary import (
    Column,
    Name,
    Remark,
    Summary,
    Table,
    passed_over_remarks,
)
from parquet_bloomwriter.reports.summary import plain as plain  # noqa: PLC0414  a public name
from parquet_bloomwriter.source.folders import passed_over_text
from parquet_bloomwriter.text import clipped, count, listed, name, rate, safe, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.index.engine import Unindexed
    from parquet_bloomwriter.index.entry import State
    from parquet_bloomwriter.reports.summary import Report
    from parquet_bloomwriter.source.folders import PassedOver


def _drawn(report: Report) -> str:
    """Return the HTML of a report, for notebooks."""
    from parquet_bloomwriter.reports.notebook import notebook_html

    return notebook_html(report)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexColumn:
    """One column of an index."""

    name: str
    """Dotted path of the column."""

    fpp: float
    """False positive probability asked for, in (0, 1)."""

    expected_num_items: int | None
    """Number of distinct values expected in the whole table; None: not given."""

    num_parts: int
    """Number of parts: files of the index that hold the filters of data files."""

    part_bytes: int
    """Size of these parts, bytes."""

    slice_bytes: int | None
    """Size of the slices, bytes; None: there are no slices."""

    global_ndv: int | None
    """Estimated number of distinct values in the global filter; None: there is no global filter."""

    global_fpp: float | None
    """Exact FPP of the global filter, in [0, 1]; None: there is no global filter."""

    global_bytes: int | None
    """Size of the global filter's file, bytes; None: there is no global filter."""

    global_path: str | None
    """Absolute path of the global filter's file; None: there is no global filter."""

    global_stop: int | None
    """The global filter covers the files whose file id is below this number; None: there is no
    global filter."""

    no_global: str
    """The reason why there is no global filter, a clause; "" if there is a global filter."""

    def __str__(self) -> str:
        """Return one line."""
        whole = f"of all values: {self.no_global}" if self.no_global else ""
        if self.global_ndv is not None:
            whole = f"NDV {self.global_ndv:,}, FPP {rate(self.global_fpp)} of all values"
        parts = f"{count(self.num_parts, 'part')}, {size(self.part_bytes)}"
        if self.slice_bytes is not None:
            parts += f", slices {size(self.slice_bytes)}"
        return f"{name(self.name)}: {parts}, FPP {rate(self.fpp)} of each file; {safe(whole)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A data file that the version does not know; lookups always keep this file."""

    path: str
    """Path relative to the table's root."""

    reason: str
    """The reason why the version does not know the file, a clause."""

    def __str__(self) -> str:
        """Return one line."""
        return f"{safe(self.path)}: {safe(self.reason)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """The result of an action on an index."""

    action: str
    """Name of the action: "create", "refresh incremental", "optimize" ..."""

    name: str
    """Name of the index."""

    folder: str
    """Folder of the index, absolute."""

    root: str
    """Folder of the table, absolute."""

    changed: bool
    """Whether the action changed the index. If not, no log entry was written."""

    state: State
    """State of the index after the action."""

    log_id: int
    """Number of the stable log entry after the action."""

    version: int
    """Number of the newest folder `v__=N`; -1 if there is no such folder."""

    num_files: int
    """Number of data files that the version knows."""

    source_bytes: int
    """Size of these data files, bytes."""

    index_bytes: int
    """Size of all files of the version, bytes."""

    appended: int = 0
    """Number of data files that were indexed."""

    deleted: int = 0
    """Number of data files that the index no longer knows, because they are gone or were replaced
    by files of the same name."""

    left_out: tuple[LeftOut, ...] = ()
    """Data files that exist, but that the version does not know."""

    unindexed: tuple[Unindexed, ...] = ()
    """Data files without a filter for some column, among the files that this action looked at."""

    removed_files: int = 0
    """Number of files of the index that were removed."""

    removed_bytes: int = 0
    """Size of the removed files, bytes."""

    columns: tuple[IndexColumn, ...] = ()
    """The columns of the index."""

    notes: tuple[str, ...] = ()
    """Further remarks, one clause each."""

    passed_over: tuple[PassedOver, ...] = ()
    """Groups of names that the listing of the table skipped, by reason."""

    def __str__(self) -> str:
        """Return a line for the index, and one for each column and each file without filters."""
        head = f"index {self.name} of {safe(self.root)}: {self.outcome}"
        without = [
            *(f"left out: {left}" for left in self.left_out),
            *(f"no filter: {safe(file.path)}: {safe(file.reason)}" for file in self.unindexed),
            *map(safe, self.notes),
            *filter(None, [passed_over_text(self.passed_over)]),
        ]
        return listed(head, [*map(str, self.columns), *without])

    @property
    def outcome(self) -> str:
        """The action, and the state and size of the index after it, in one line."""
        done = self.action if self.changed else f"{self.action}, nothing to do"
        files = f"{count(self.num_files, 'file')}, {size(self.index_bytes)}"
        return f"{done}; {self.state}, {files}"

    def summary(self) -> Summary:
        """Return the report in short: a headline, a table and remarks, as plain values."""
        return Summary(
            paths=(self.root,),
            headline=f"index {self.name}: {self.outcome}",
            table=column_table(self.columns),
            remarks=(
                *(Remark(label="left out", sentence=str(left)) for left in self.left_out),
                *(
                    Remark(label="no filter", sentence=f"{file.path}: {file.reason}")
                    for file in self.unindexed
                ),
                *(Remark(label="note", sentence=note) for note in self.notes),
                *passed_over_remarks(self.passed_over),
            ),
        )

    _repr_html_ = _drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexInfo:
    """The state and the size of an index."""

    name: str
    """Name of the index."""

    folder: str
    """Folder of the index, absolute."""

    root: str
    """Folder of the table, absolute; "" if the log cannot be read."""

    state: State | None
    """State in the stable log entry; None if there is no such entry, or it cannot be read."""

    busy: State | None = None
    """State of an action that is under way, or whose process died; None: there is no such
    action."""

    busy_since_ms: int | None = None
    """Time at which this action began, milliseconds since 1970 UTC."""

    problem: str = ""
    """The fault of the log, a clause; "" if there is none."""

    log_id: int = -1
    """Number of the stable log entry; -1: there is no such entry."""

    version: int = -1
    """Number of the newest folder `v__=N`; -1 if there is no such folder."""

    action: str = ""
    """Name of the action that wrote the stable log entry."""

    created_ms: int = 0
    """Time at which the stable log entry was written, milliseconds since 1970 UTC."""

    num_files: int = 0
    """Number of data files that the index knows."""

    source_bytes: int = 0
    """Size of these data files, bytes."""

    index_bytes: int = 0
    """Size of all files of the version, bytes."""

    columns: tuple[IndexColumn, ...] = ()
    """The columns of the index."""

    options: dict[str, str] = field(default_factory=dict)
    """Options by which the index is built, as in the log."""

    appended: int | None = None
    """Number of data files that a refresh would index; None: not counted."""

    appended_bytes: int | None = None
    """Size of these data files, bytes; None: not counted."""

    deleted: int | None = None
    """Number of data files that a refresh would remove from the index; None: not counted."""

    deleted_bytes: int | None = None
    """Size of these data files, bytes; None: not counted."""

    def __str__(self) -> str:
        """Return a line for the index, and one for each column."""
        head = f"index {self.name} of {safe(self.root)}: {self.status}"
        return listed(head, map(str, self.columns))

    @property
    def status(self) -> str:
        """The state and size of the index, and what has changed since, in one line."""
        state = safe(self.problem) or str(self.state or "not made yet")
        files = f"{count(self.num_files, 'file')}, {size(self.index_bytes)}"
        changes = ""
        if self.appended is not None and self.deleted is not None:
            changes = f"; since: {self.appended:,} appended, {self.deleted:,} deleted"
        return f"{state}, {files}{changes}"

    def summary(self) -> Summary:
        """Return the report in short: a headline, a table and remarks, as plain values."""
        return Summary(
            paths=(self.root or self.folder,),
            headline=f"index {self.name}: {self.status}",
            table=column_table(self.columns),
        )

    _repr_html_ = _drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexUse:
    """The use of one index for a lookup."""

    name: str
    """Name of the index."""

    folder: str
    """Folder of the index, absolute."""

    columns: tuple[str, ...]
    """The indexed columns; empty if the index cannot be read."""

    num_known: int
    """Number of files of the lookup that the index knows."""

    num_excluded: int
    """Number of files that the index excluded."""

    reason: Reason | None
    """The reason why the index excluded no file, or a fault of an index that excluded files; None
    if there is neither."""

    def __str__(self) -> str:
        """Return one line."""
        return f"index {self.name}: {self.outcome}"

    @property
    def outcome(self) -> str:
        """How many files the index excluded, and why not more."""
        known = f"{self.num_excluded:,} of {count(self.num_known, 'known file')} excluded"
        return known + (f"; {self.reason.text}" if self.reason else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupReport:
    """The files of a table that can hold rows for which a predicate is true."""

    JSON: ClassVar = ("*", "num_kept", "num_excluded")
    predicate: str
    """The predicate, as SQL."""

    root: str
    """Path of the table, absolute: a folder or a file."""

    paths: tuple[str, ...]
    """Paths of the files that might match, absolute, sorted."""

    num_files: int
    """Number of files of the table."""

    num_unknown: int
    """Number of files among `paths` that no index knows; such files are always kept."""

    num_bytes: int
    """Size of all files of the table, bytes."""

    kept_bytes: int
    """Size of the files that might match, bytes."""

    indexes: tuple[IndexUse, ...]
    """The use of each index."""

    was_listed: bool = False
    """Whether the table's files were listed. If all indexes have the contract "immutable", this is
    not needed."""

    passed_over: tuple[PassedOver, ...] = ()
    """Groups of names that the listing skipped, by reason."""

    def __str__(self) -> str:
        """Return a line for the predicate, one for each index, and one for each file."""
        files = f"{self.num_kept:,} of {count(self.num_files, 'file')} might match"
        head = f"{safe(self.predicate)}: {files}"
        notes = [*filter(None, [self.unknown_note, passed_over_text(self.passed_over)])]
        return listed(head, [*map(str, self.indexes), *notes, *map(safe, self.paths)])

    def summary(self) -> Summary:
        """Return the report in short: a headline, a table and remarks, as plain values."""
        skipped = size(self.num_bytes - self.kept_bytes)
        files = f"{self.num_kept:,} of {count(self.num_files, 'file')} might match"
        unknown = Remark(label="note", sentence=self.unknown_note)
        return Summary(
            paths=(self.root,),
            headline=f"{clipped(self.predicate)}: {files}; {skipped} need not be read",
            table=Table(
                caption="Files that might match",
                columns=(Column("file", Name, is_text=True),),
                rows=self.paths,
                noun="file",
            ),
            remarks=(
                *(Remark(label=f"index {use.name}", sentence=use.outcome) for use in self.indexes),
                *([unknown] if unknown.sentence else []),
                *passed_over_remarks(self.passed_over),
            ),
        )

    _repr_html_ = _drawn

    @property
    def unknown_note(self) -> str:
        """Why files are kept that no index knows, a clause; empty if there are no such files."""
        if not self.num_unknown or not any(use.num_known for use in self.indexes):
            return ""
        if self.num_unknown == 1:
            return (
                "1 file is kept because no index knows it: it is new, has changed, or could not be "
                "read"
            )
        return (
            f"{self.num_unknown:,} files are kept because no index knows them: they are new, have "
            "changed, or could not be read"
        )

    @property
    def num_kept(self) -> int:
        """Number of files that might match."""
        return len(self.paths)

    @property
    def num_excluded(self) -> int:
        """Number of files that cannot match."""
        return self.num_files - len(self.paths)


class Code(StrEnum):
    """The kind of reason why an index is not used."""

    # Hyperspace's own.
    COL_SCHEMA_MISMATCH = "COL_SCHEMA_MISMATCH"
    SOURCE_DATA_CHANGED = "SOURCE_DATA_CHANGED"
    NO_COMMON_FILES = "NO_COMMON_FILES"
    TOO_MUCH_APPENDED = "TOO_MUCH_APPENDED"
    TOO_MUCH_DELETED = "TOO_MUCH_DELETED"
    NO_FIRST_INDEXED_COL_COND = "NO_FIRST_INDEXED_COL_COND"
    MISSING_INDEXED_COL = "MISSING_INDEXED_COL"
    NOT_ELIGIBLE_JOIN = "NOT_ELIGIBLE_JOIN"
    NO_AVAIL_JOIN_INDEX_PAIR = "NO_AVAIL_JOIN_INDEX_PAIR"
    ANOTHER_INDEX_APPLIED = "ANOTHER_INDEX_APPLIED"
    # Ours.
    INDEX_NOT_ACTIVE = "INDEX_NOT_ACTIVE"
    INDEX_BROKEN = "INDEX_BROKEN"
    TABLE_FORMAT = "TABLE_FORMAT"
    DEPENDS_ON_PLACE = "DEPENDS_ON_PLACE"
    NO_USABLE_CONDITION = "NO_USABLE_CONDITION"
    NOTHING_EXCLUDED = "NOTHING_EXCLUDED"
    NO_GLOBAL_FILTER = "NO_GLOBAL_FILTER"
    KEY_TYPE_MISMATCH = "KEY_TYPE_MISMATCH"
    NOT_SELECTIVE = "NOT_SELECTIVE"
    UNSUPPORTED_RELATION = "UNSUPPORTED_RELATION"
    ADAPTOR_UNAVAILABLE = "ADAPTOR_UNAVAILABLE"
    INTERNAL_ERROR = "INTERNAL_ERROR"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A reason why an index is not used."""

    code: Code
    """The kind of reason."""

    text: str
    """A sentence without its full stop: the fact, and the remedy."""


_COLUMNS: tuple[Column[IndexColumn], ...] = (
    Column("column", lambda column: Name(column.name), is_text=True),
    Column("FPP asked", lambda column: column.fpp, rate),
    Column("bytes", lambda column: column.part_bytes),
    Column("parts", lambda column: column.num_parts, is_extra=True),
    Column("slice bytes", lambda column: column.slice_bytes, is_extra=True),
    Column("joins: NDV", lambda column: column.global_ndv),
    Column("joins: bytes", lambda column: column.global_bytes),
    Column("joins: FPP", lambda column: column.global_fpp, rate),
)
_COLUMN_HINTS = {
    "FPP asked": "Of the filter of each file",
    "bytes": "Of the filters of data files",
    "parts": "Files of the index that hold the filters of data files",
    "joins: NDV": "Distinct values of the whole table, estimated",
    "joins: bytes": "Of the filter of the whole table",
    "joins: FPP": "Exact rate of the filter of the whole table",
}


PIECES = ("parts", "slice bytes")
"""Columns of the table that say what an index consists of."""

OF_ALL_VALUES = ("joins: NDV", "joins: bytes", "joins: FPP")
"""Columns of the table about the filter of all values, which not every index has."""


def column_table(columns: Sequence[IndexColumn]) -> Table[IndexColumn]:
    """Return the table of an index's columns."""
    return Table(
        caption="Columns of the index",
        columns=_COLUMNS,
        rows=columns,
        noun="column",
        hints=_COLUMN_HINTS,
    )


def moment(milliseconds: int) -> str:
    """Write a time, given in milliseconds since 1970 UTC."""
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


_INFOS: tuple[Column[IndexInfo], ...] = (
    Column("index", lambda index: index.name, is_text=True),
    Column(
        "state",
        lambda index: index.state,
        is_text=True,
        colors={"ACTIVE": "green", "DELETED": "yellow", "-": "red"},
    ),
    Column(
        "columns",
        lambda index: ", ".join(name(c.name) for c in index.columns) or None,
        is_text=True,
    ),
    Column("files", lambda index: index.num_files),
    Column("of data", lambda index: index.source_bytes, size),
    Column("bytes", lambda index: index.index_bytes),
    Column("since", lambda index: index.created_ms or None, moment, is_text=True, is_extra=True),
)


def info_table(infos: Sequence[IndexInfo]) -> Table[IndexInfo]:
    """Return the table of indexes, with a row for each."""
    return Table(caption="Indexes", columns=_INFOS, rows=infos, noun="index")


class IndexAnswer(NamedTuple):
    """The answer of one index to a condition."""

    condition: str
    """The condition, as SQL."""

    use: IndexUse | None
    """None if no index that can be used has a column of the condition."""


def _excluded(answer: IndexAnswer) -> int | None:
    return answer.use.num_excluded if answer.use and answer.use.num_known else None


def _why_not(answer: IndexAnswer) -> str:
    if answer.use is None:
        return f"{Code.MISSING_INDEXED_COL}: no index that can be used is about it"
    return (
        "" if answer.use.reason is None else f"{answer.use.reason.code}: {answer.use.reason.text}"
    )


_USES: tuple[Column[IndexAnswer], ...] = (
    Column("condition", lambda answer: answer.condition, is_text=True),
    Column("index", lambda answer: answer.use and answer.use.name, is_text=True),
    Column(
        "columns",
        lambda answer: ", ".join(map(name, answer.use.columns if answer.use else ())) or None,
        is_text=True,
        is_extra=True,
    ),
    Column("files known", lambda answer: answer.use and answer.use.num_known),
    Column("excluded", _excluded),
    Column("why not", _why_not, is_text=True, is_long=True),
)


def use_table(answers: Sequence[IndexAnswer]) -> Table[IndexAnswer]:
    """Return the table of what indexes excluded, with a row for each answer."""
    return Table(caption="Use of indexes", columns=_USES, rows=answers, noun="answer")
