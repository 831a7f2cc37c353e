"""Reports of the verbs of an index, and the reasons why an index is not used, as plain values.

`plain` turns a report into values that JSON can hold. Reasons have Hyperspace's codes where it has
one.

Source: Hyperspace, FilterReasonCode.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from parquet_bloomwriter.text import count, listed, name, rate, safe, size

if TYPE_CHECKING:
    from parquet_bloomwriter.index.engine import Unindexed
    from parquet_bloomwriter.index.log.entry import State
    from parquet_bloomwriter.reports.summary import Report, Summary


def _drawn(report: Report) -> str:
    """Return a report as HTML, for notebooks."""
    from parquet_bloomwriter.reports.notebook import notebook_html

    return notebook_html(report)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexColumn:
    """One column of an index."""

    name: str
    """Dotted path."""

    fpp: float
    """False positive probability asked for."""

    expected_num_items: int | None
    """Distinct values expected in the whole table; None: not given."""

    num_parts: int
    """Files of the index that hold the filters of data files."""

    part_bytes: int
    """Size of these parts, bytes."""

    slice_bytes: int | None
    """Size of the slices, bytes; None: there are none."""

    global_ndv: int | None
    """Distinct values in the global filter, estimated; None: there is no global filter."""

    global_fpp: float | None
    """Exact rate of the global filter."""

    global_bytes: int | None
    """Size of the global filter's file, bytes."""

    global_stop: int | None
    """The global filter covers files whose id is below this."""

    no_global: str
    """Why there is no global filter, a clause; empty if there is one."""

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
    """A file that the version does not know; lookups always keep it."""

    path: str
    """Relative to the table's root."""

    reason: str
    """A clause."""

    def __str__(self) -> str:
        """Return one line."""
        return f"{safe(self.path)}: {safe(self.reason)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """The result of an action on an index."""

    action: str
    """"create", "refresh incremental", "optimize", ..."""

    name: str
    """Name of the index."""

    folder: str
    """Folder of the index, absolute."""

    root: str
    """Folder of the table, absolute."""

    changed: bool
    """Whether the action did anything. If not, no entry was written."""

    state: State
    """State after the action."""

    log_id: int
    """Id of the stable entry after the action."""

    version: int
    """Number of the newest folder `v__=N`; -1 if there is none."""

    num_files: int
    """Data files that the version knows."""

    source_bytes: int
    """Bytes of these files."""

    index_bytes: int
    """Bytes of all files of the version."""

    appended: int = 0
    """Data files that were indexed."""

    deleted: int = 0
    """Data files that the index no longer knows: gone, or replaced by others of the same name."""

    left_out: tuple[LeftOut, ...] = ()
    """Data files that exist, but that the version does not know."""

    unindexed: tuple[Unindexed, ...] = ()
    """Data files without a filter of some column, as far as this action looked at them."""

    removed_files: int = 0
    """Files of the index that were removed."""

    removed_bytes: int = 0
    """Size of the removed files, bytes."""

    columns: tuple[IndexColumn, ...] = ()
    notes: tuple[str, ...] = ()
    """Further remarks, a clause each."""

    def __str__(self) -> str:
        """Return a line for the index, and one for each column and each file without filters."""
        head = f"index {self.name} of {safe(self.root)}: {self.outcome}"
        without = [
            *(f"left out: {one}" for one in self.left_out),
            *(f"no filter: {safe(one.path)}: {safe(one.reason)}" for one in self.unindexed),
            *map(safe, self.notes),
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
        from parquet_bloomwriter.index.summary import summary_of_action

        return summary_of_action(self)

    _repr_html_ = _drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexInfo:
    """An index as it is."""

    name: str
    folder: str
    """Absolute."""

    root: str
    """Folder of the table, absolute; empty if the log cannot be read."""

    state: State | None
    """State of the stable entry; None if there is none yet, or none can be read."""

    busy: State | None = None
    """The action that is at work, or whose process died; None: no action is at work."""

    busy_since_ms: int | None = None
    """When that action began, milliseconds since 1970 UTC."""

    problem: str = ""
    """What is wrong with its log, a clause."""

    log_id: int = -1
    """Id of the stable entry; -1: none."""

    version: int = -1
    action: str = ""
    """The action that led to the stable entry."""

    created_ms: int = 0
    """When the stable entry was written, milliseconds since 1970 UTC."""

    num_files: int = 0
    """Data files that the index knows."""

    source_bytes: int = 0
    """Bytes of these files."""

    index_bytes: int = 0
    """Bytes of all files of the version."""

    columns: tuple[IndexColumn, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    """How the index is built, as in the log."""

    appended: int | None = None
    """Data files that a refresh would index; None: not looked for."""

    appended_bytes: int | None = None
    deleted: int | None = None
    """Data files that a refresh would forget; None: not looked for."""

    deleted_bytes: int | None = None

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
        from parquet_bloomwriter.index.summary import summary_of_index

        return summary_of_index(self)

    _repr_html_ = _drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexUse:
    """The use of one index for a lookup."""

    name: str
    folder: str
    """Absolute."""

    columns: tuple[str, ...]
    """The indexed columns; empty if the index cannot be read."""

    num_known: int
    """Files of the lookup that the index knows."""

    num_excluded: int
    """Files that the index excluded."""

    reason: Reason | None
    """Why the index excluded no file; or what is wrong with it, though it excluded some."""

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

    predicate: str
    """The predicate, as SQL."""

    root: str
    """Folder or file that was looked up, absolute."""

    paths: tuple[str, ...]
    """Files that might match, absolute, sorted."""

    num_files: int
    """Files of the table."""

    num_unknown: int
    """Files among `paths` that no index knows; they are always kept."""

    num_bytes: int
    """Bytes of all files of the table."""

    kept_bytes: int
    """Bytes of the files that might match."""

    indexes: tuple[IndexUse, ...]

    was_listed: bool = False
    """Whether the table's files were listed. The contract "immutable" of all indexes saves that."""

    def __str__(self) -> str:
        """Return a line for the predicate, one for each index, and one for each file."""
        files = f"{self.num_kept:,} of {count(self.num_files, 'file')} might match"
        head = f"{safe(self.predicate)}: {files}"
        notes = [self.unknown_note] if self.unknown_note else []
        return listed(head, [*map(str, self.indexes), *notes, *map(safe, self.paths)])

    def summary(self) -> Summary:
        """Return the report in short: a headline, a table and remarks, as plain values."""
        from parquet_bloomwriter.index.summary import summary_of_lookup

        return summary_of_lookup(self)

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
        """Files that might match."""
        return len(self.paths)

    @property
    def num_excluded(self) -> int:
        """Files that cannot match."""
        return self.num_files - len(self.paths)


def plain(report: IndexReport | IndexInfo | LookupReport) -> dict[str, object]:
    """Return a report as values that JSON can hold; of a lookup, its properties, too."""
    found: dict[str, object] = asdict(report)
    if isinstance(report, LookupReport):
        found |= {"num_kept": report.num_kept, "num_excluded": report.num_excluded}
    return found


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
    text: str
    """A sentence without its full stop: the fact, and what to do about it."""
