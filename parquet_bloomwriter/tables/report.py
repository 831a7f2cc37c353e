"""The report of a verb on a table: the files that were replaced, and the commits."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from parquet_bloomwriter.iceberg.names import parse_name
from parquet_bloomwriter.reports.notebook import notebook_html
from parquet_bloomwriter.reports.summary import Remark, Summary
from parquet_bloomwriter.rewrite.report import added_table
from parquet_bloomwriter.text import count, listed, safe, size

if TYPE_CHECKING:
    from parquet_bloomwriter.rewrite.report import ColumnTotals


class FileFate(StrEnum):
    """The outcome for one file of the table."""

    REPLACED = "replaced"
    """The table has the new file now."""

    PLANNED = "planned"
    """The file would be replaced (dry run)."""

    UNCHANGED = "unchanged"
    """There was nothing to build, so the file stays."""

    DROPPED = "dropped"
    """Another program removed or changed the file meanwhile; the new file was not committed."""

    KEPT = "kept as it is"
    """The file lacks filters, but must not be replaced."""

    FAILED = "failed"
    """The file could not be read or written anew, and stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """The outcome for one file of the table."""

    path: str
    """Path of the old file in the table's metadata, decoded."""

    fate: FileFate
    new_path: str | None = None
    """Path of the new file in the table's metadata; None if there is no new file."""

    num_filters: int = 0
    """Number of filters that were built or taken out."""

    size_before: int
    """Size of the old file, bytes."""

    size_after: int
    """Size of the new file, bytes; the size of the old file if it was not replaced."""

    reason: str = ""
    """The reason why the file was not replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReport:
    """The report of `bloomify_table` and `strip_table`."""

    JSON: ClassVar = (
        *("table", "format", "dry_run", "version_before", "columns", "asked_by_table"),
        *("num_files", "num_footers", "num_to_do", "num_waiting", "bytes_waiting"),
        *("num_commits_planned", "num_filters", "bytes_before", "bytes_after", "commits"),
        *("left_over", "undecided", "notes", "changes"),
    )
    table: str
    """Path, URL or name of the table."""

    format: str
    """Format of the table: `delta` or `iceberg`."""

    verb: str
    """The verb: `add` or `strip`."""

    dry_run: bool
    """Whether this was a dry run."""

    version_before: int
    """The version that was read first; for Iceberg tables, the id of the snapshot."""

    commits: tuple[int, ...]
    """Versions that this run made; for Iceberg tables, ids of snapshots."""

    columns: tuple[str, ...]
    """Logical names of the columns asked for."""

    asked_by_table: bool = False
    """Whether the columns come from a property of the table."""

    num_files: int
    """Number of active files of the version that was read first."""

    num_footers: int
    """Number of footers that were read to find the files to replace."""

    num_to_do: int
    """Number of files to replace: files that lack filters, or have filters to take out."""

    num_waiting: int
    """Number of files to replace that a limit left to the next run."""

    bytes_waiting: int
    """Size of the files that a limit left to the next run, bytes."""

    num_commits_planned: int = 0
    """Number of commits that the run would make without `dry_run`."""

    changes: tuple[FileChange, ...] = field(repr=False)
    """The outcome for each file to replace."""

    totals: tuple[ColumnTotals, ...] = ()
    """Filters built, by column."""

    left_over: tuple[str, ...] = ()
    """Paths of new files that are in no known version of the table. VACUUM removes these files; for
    Iceberg tables, remove_orphan_files does."""

    undecided: tuple[str, ...] = ()
    """Paths of new files of a commit whose outcome is not known. The files that the table does not
    have are removed in the same way as `left_over`."""

    notes: tuple[str, ...] = ()
    """Further facts, one sentence each."""

    def count(self, fate: FileFate) -> int:
        """Count the files with an outcome."""
        return sum(change.fate is fate for change in self.changes)

    @property
    def num_failed(self) -> int:
        """Number of files that could not be read or written anew."""
        return self.count(FileFate.FAILED)

    @property
    def num_filters(self) -> int:
        """Number of filters that were built or taken out, or would be in a dry run."""
        done = (FileFate.REPLACED, FileFate.PLANNED)
        return sum(one.num_filters for one in self.changes if one.fate in done)

    @property
    def bytes_before(self) -> int:
        """Size of the files that were replaced, or would be, bytes; they stay for time travel."""
        done = (FileFate.REPLACED, FileFate.PLANNED)
        return sum(one.size_before for one in self.changes if one.fate in done)

    @property
    def bytes_after(self) -> int:
        """Size of the new files, bytes."""
        done = (FileFate.REPLACED, FileFate.PLANNED)
        return sum(one.size_after for one in self.changes if one.fate in done)

    @property
    def headline(self) -> str:
        """The result, in one line."""
        verb = "added" if self.verb == "add" else "taken out"
        filters, all_files = count(self.num_filters, "filter"), count(self.num_files, "file")
        if self.dry_run and self.num_filters:
            files = f"{self.count(FileFate.PLANNED):,} of {all_files}"
            commits = count(self.num_commits_planned, "commit")
            return f"{filters} would be {verb}, in {files}, by {commits}"
        if self.commits:
            files = f"{self.count(FileFate.REPLACED):,} of {all_files}"
            return f"{filters} {verb}, in {files}, by {self.commit_names}"
        if self.num_to_do:
            return f"no file of {all_files} was replaced"
        what = "every file has its filters" if self.verb == "add" else "no file has such filters"
        return f"nothing to do: {what} ({all_files}, {self._version(self.version_before)})"

    @property
    def commit_names(self) -> str:
        """The versions that this run made, in words."""
        if len(self.commits) == 1:
            return self._version(self.commits[0])
        return f"{len(self.commits):,} commits up to {self._version(self.commits[-1])}"

    def _version(self, number: int) -> str:
        return f"snapshot {number}" if self.format == "iceberg" else f"version {number:,}"

    @property
    def _removes_old(self) -> str:
        """A clause with the procedure that removes old files."""
        if self.format != "iceberg":
            return "VACUUM removes them"
        call = _call(self.table, "expire_snapshots")
        return f"their snapshots expire and are removed with their files: on Spark, {call}"

    @property
    def _removes_left_over(self) -> str:
        if self.format != "iceberg":
            return "VACUUM removes it"
        return f"on Spark, {_call(self.table, 'remove_orphan_files')} removes it"

    def remarks(self) -> list[Remark]:
        """Return remarks on files (not replaced, waiting, old, left over), and the notes."""
        found = [
            Remark(str(one.fate), f"{safe(one.path)}: {safe(one.reason)}")
            for one in self.changes
            if one.fate in (FileFate.DROPPED, FileFate.KEPT, FileFate.FAILED)
        ]
        if self.num_waiting:
            waiting = f"{count(self.num_waiting, 'file')} ({size(self.bytes_waiting)})"
            left = f"{waiting} beyond the limits, left to the next run, or to larger limits"
            found.append(Remark("waiting", left))
        if self.commits:
            old = f"{size(self.bytes_before)} of old files, for time travel"
            found.append(Remark("kept", f"{old}, until {self._removes_old}"))
        found += [
            Remark("left over", f"{safe(path)} is not in the table; {self._removes_left_over}")
            for path in self.left_over
        ]
        maybe = "may be in the table, which its history tells; keep it"
        found += [Remark("undecided", f"{safe(path)} {maybe}") for path in self.undecided]
        return found + [Remark("note", one) for one in self.notes]

    def __str__(self) -> str:
        """Return a line for the table, and one for each remark."""
        lines = [f"{label}: {text}" for label, text in self.remarks()]
        return listed(f"{safe(self.table)}: {self.headline}", lines)

    def summary(self) -> Summary:
        """Return the report in short: a headline, a table and remarks, as plain values."""
        return Summary(
            paths=(self.table, None),
            headline=self.headline,
            table=added_table(self.totals),
            remarks=tuple(self.remarks()),
        )

    _repr_html_ = notebook_html


def _call(table: str, procedure: str) -> str:
    """Return the call of a procedure of Iceberg, in Spark's SQL."""
    name = parse_name(table)
    return f"CALL {name.catalog}.system.{procedure}('{'.'.join(name.identifier)}')"
