"""New versions of a table's files, and the commits that replace the old files.

    for each batch    read the commits made meanwhile; skip files that are no longer in the table
                      write the new files, several at once
                      make one commit, which removes the old files and adds the new files
    if a batch fails  before its commit was tried: its new files are removed
                      afterwards: no file is removed; the report names files that are in no version

An UPDATE, DELETE or MERGE that has read a file which was removed meanwhile fails. So commits are
small, and a run can be stopped after any of them.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from parquet_bloomwriter.arguments import check_jobs
from parquet_bloomwriter.errors import (
    BloomwriterError,
    InvalidArgument,
    OutcomeUnknown,
    TableProblem,
    Unfinished,
)
from parquet_bloomwriter.parallel import default_jobs
from parquet_bloomwriter.rewrite.report import merge_totals
from parquet_bloomwriter.table_files.files import COMMITTED, FileReplacement
from parquet_bloomwriter.tables.choice import batches
from parquet_bloomwriter.tables.report import FileChange, FileFate, TableReport

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.progress import FileProgress
    from parquet_bloomwriter.rewrite.report import ColumnTotals
    from parquet_bloomwriter.table_files.files import FileEntry, Table, TableCommit
    from parquet_bloomwriter.tables.choice import Choice, Task
    from parquet_bloomwriter.tables.records import Records


_JOBS_ON_STORES = 16
_PER_CORE = 2
"""Number of threads for each core: a thread that syncs its file waits for the disk, and another
thread works meanwhile."""

_RUNNING_JOBS = (
    "a running UPDATE, DELETE or MERGE that has read one of the replaced files fails, and must be"
    " repeated"
)


@dataclass(frozen=True, kw_only=True)
class WrittenFile:
    """The result of writing one new file. Can be pickled."""

    size: int
    """Size of the new file, bytes."""

    num_filters: int
    """Number of filters that were built or taken out."""

    totals: Sequence[ColumnTotals] = ()
    """Facts about the filters that were built, by column."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """The order to write a new version of one file, under another name. Can be pickled."""

    leaves: Mapping[str, int]
    """Ordinals of the file's leaf columns to work on, by logical name."""

    size: int
    """Size of the old file, bytes."""

    old: str
    """Path or URL of the old file."""

    new: str
    """Path or URL of the new file."""


class Writer(Protocol):
    """Writes new versions of files, in any thread or process. Can be pickled."""

    def __call__(
        self, job: Job, threads: int, progress: FileProgress | None, /
    ) -> WrittenFile | None:
        """Write a new file; return None if there is nothing to change, and no file was written."""
        ...


class Workers(Protocol):
    """Threads or processes that write new files, for several files at once."""

    def write_all(
        self, writer: Writer, jobs: Sequence[Job]
    ) -> Generator[WrittenFile | BloomwriterError | OSError | None, None, None]:
        """Yield the result for each file, in order: what the writer returned, or its error."""
        ...


class Threads:
    """Threads of this process."""

    def __init__(self, jobs: int, progress: TableProgress | None) -> None:
        """Use at most `jobs` threads in all.

        Args:
            jobs: Number of threads.
            progress: Receives the progress of the run.
        """
        self._jobs = jobs
        self._progress = progress

    def write_all(
        self, writer: Writer, jobs: Sequence[Job]
    ) -> Generator[WrittenFile | BloomwriterError | OSError | None, None, None]:
        """See `Workers`."""
        at_once = max(1, min(self._jobs, len(jobs)))
        threads = max(1, self._jobs // at_once)

        def write(job: Job) -> WrittenFile | BloomwriterError | OSError | None:
            progress = nullcontext() if self._progress is None else self._progress.file(job.size)
            try:
                with progress as one:
                    return writer(job, threads, one)
            except (BloomwriterError, OSError) as error:
                return error

        with ThreadPoolExecutor(at_once, thread_name_prefix="bloomify") as pool:
            futures = [pool.submit(write, job) for job in jobs]
            try:
                for future in futures:
                    yield future.result()
            finally:
                for future in futures:
                    future.cancel()


class TableProgress(Protocol):
    """Receives the progress of a run over a table."""

    def begin(self, *, num_files: int, num_bytes: int) -> None:
        """Receive the total number of files, and their size."""
        ...

    def file(self, num_bytes: int) -> AbstractContextManager[FileProgress]:
        """Receive the begin of work on one file; return the progress of this file."""
        ...


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits for the size of one commit."""

    num_files: int = 500
    """Maximum number of files in a commit."""

    num_bytes: int = 20 << 30
    """Maximum size of a commit's old files, bytes; a commit of a single file may exceed it."""

    def __post_init__(self) -> None:
        """Check that a commit can have files.

        Raises:
            InvalidArgument: If it has none.
        """
        if self.num_files < 1 or self.num_bytes < 1:
            raise InvalidArgument("a commit has at least one file, and one byte")


@dataclass(kw_only=True)
class Run:
    """A run of a verb over a table: its tasks, the results so far, and the table after them."""

    verb: str
    """Name of the verb, for the table's history: `add` or `strip`."""

    writer: Writer
    """Writes the new files."""

    table: Table
    """The table as it was read first."""

    columns: tuple[str, ...]
    """Logical names of the requested leaf columns."""

    asked_by_table: bool = False
    choice: Choice
    tasks: Sequence[Task]
    """The tasks of the choice that this run works on, in order."""

    records: Records | None = None
    """Receives the columns that need no more work; None if the verb takes filters out."""

    _current: Table = field(init=False)
    """The table after the last commit."""

    _commits: list[int] = field(init=False, default_factory=list)
    _changes: list[FileChange] = field(init=False)
    _left_over: list[str] = field(init=False, default_factory=list)
    _undecided: list[str] = field(init=False, default_factory=list)
    _totals: tuple[ColumnTotals, ...] = field(init=False, default=())
    _num_commits_planned: int = field(init=False, default=0)
    _is_dry: bool = field(init=False, default=False)
    _written: list[str] = field(init=False, default_factory=list)
    """Paths of new files of the present batch that are not in the table."""

    def __post_init__(self) -> None:
        self._current = self.table
        self._changes = [
            self._change(file, FileFate.FAILED, reason=str(error))
            for file, error in self.choice.failures
        ]
        self._changes += [
            self._change(task.file, FileFate.KEPT, reason=task.file.why_kept or "")
            for task in self.choice.kept
        ]

    def carry_out(
        self,
        workers: Workers,
        limits: Limits | None,
        *,
        dry_run: bool,
        progress: TableProgress | None,
    ) -> TableReport:
        """Replace the files batch by batch, or plan to do so, and save the records.

        Args:
            workers: Write the new files.
            limits: When a commit is made.
            dry_run: Write nothing.
            progress: Receives the progress of the run.

        Raises:
            UnsafeTarget: If no commit can be made safely there.
            TableProblem: If the table changed so that this run cannot go on; what was committed
                stays.
            OutcomeUnknown: If it cannot be found out whether a commit was made.
            Unfinished: If a commit was made, and the table cannot be read afterwards.
            StoreProblem, OSError: If the commit cannot be written.
            BaseException: Any of these has the attribute `report`.
        """
        limits = limits or Limits()
        cut = batches(self.tasks, num_files=limits.num_files, num_bytes=limits.num_bytes)
        if dry_run:
            self._is_dry = True
            self._num_commits_planned = sum(1 for _ in cut)
            self._changes += [
                self._change(task.file, FileFate.PLANNED, num_filters=task.num_filters)
                for task in self.tasks
            ]
            return self.report()
        try:
            if self.tasks:
                if progress is not None:
                    num_bytes = sum(task.file.size for task in self.tasks)
                    progress.begin(num_files=len(self.tasks), num_bytes=num_bytes)
                self._current.check_commits()
            for batch in cut:
                self._replace(batch, workers)
        except BaseException as error:
            error.__dict__["report"] = self.report()
            raise
        finally:
            if self.records is not None:
                # The table's files may be read for it, and records may be lost.
                with suppress(TableProblem):
                    self.records.save({entry.path for entry in self._current.entries})
        return self.report()

    def _replace(self, tasks: Sequence[Task], workers: Workers) -> None:
        """Write the new files of one batch, and commit them."""
        self._current = table = self._current.newest()
        self._written = []
        self._changes += [
            self._change(
                task.file, FileFate.DROPPED, reason="another program removed or changed it"
            )
            for task in tasks
            if not table.has(task.file)
        ]
        try:
            pairs = self._write([task for task in tasks if table.has(task.file)], workers)
        except BaseException:
            self._remove_written()
            raise
        if pairs:
            self._commit(pairs)

    def _write(
        self, tasks: Sequence[Task], workers: Workers
    ) -> list[tuple[FileReplacement, WrittenFile]]:
        table = self._current
        paths = [table.new_path(task.file) for task in tasks]
        jobs = [
            Job(
                leaves=task.leaves,
                size=task.file.size,
                old=table.locate(task.file.path),
                new=table.locate(path),
            )
            for task, path in zip(tasks, paths, strict=True)
        ]
        self._written += paths
        pairs = []
        # Closed in any case: no worker may go on to write while new files are removed.
        with closing(workers.write_all(self.writer, jobs)) as results:
            for task, path, made in zip(tasks, paths, results, strict=True):
                if isinstance(made, WrittenFile):
                    new = FileReplacement(
                        old=task.file, path=path, size=made.size, finished=self._finished(task)
                    )
                    pairs.append((new, made))
                    continue
                self._remove_written(path)
                if made is None and self.records is not None:
                    self.records.note(task.file, self._finished(task))
                fate = FileFate.UNCHANGED if made is None else FileFate.FAILED
                reason = "there was nothing to change" if made is None else str(made)
                self._changes.append(self._change(task.file, fate, reason=reason))
        return pairs

    def _finished(self, task: Task) -> frozenset[str]:
        """Return the stored names of columns that need no more work in the new file."""
        if self.records is None:
            return frozenset()
        names = map(self.table.columns.stored_name, task.leaves)
        return self.records.finished(task.file).union(names)

    def _commit(self, pairs: Sequence[tuple[FileReplacement, WrittenFile]]) -> None:
        """Commit the new files; from here on, no new file is removed."""
        replacements = [replacement for replacement, _ in pairs]
        try:
            committed = self._current.commit(replacements, verb=self.verb, columns=self.columns)
        except BaseException as error:
            if COMMITTED in error.__dict__:
                self._take(pairs, error.__dict__[COMMITTED])
                raise
            is_settled = isinstance(error, (BloomwriterError, OSError))
            is_settled = is_settled and not isinstance(error, (OutcomeUnknown, Unfinished))
            paths = self._left_over if is_settled else self._undecided
            paths += map(self._current.shown, self._written)
            raise
        self._take(pairs, committed)

    def _take(
        self, pairs: Sequence[tuple[FileReplacement, WrittenFile]], committed: TableCommit
    ) -> None:
        """Record the result of a commit."""
        shown = self._current.shown
        self._current = committed.table
        if committed.version is not None:
            self._commits.append(committed.version)
        for replacement, made in pairs:
            old, new_path = replacement.old, shown(replacement.path)
            why = committed.dropped.get(replacement.path)
            if why is not None:
                self._changes.append(self._change(old, FileFate.DROPPED, reason=why))
                self._left_over.append(new_path)
                continue
            change = self._change(old, FileFate.REPLACED, num_filters=made.num_filters)
            self._changes.append(replace(change, new_path=new_path, size_after=made.size))
            self._totals = merge_totals(self._totals, made.totals)
            if self.records is not None and not self.table.keeps_notes:
                self.records.note_new(replacement.path, replacement.size, replacement.finished)

    def _remove_written(self, *paths: str) -> None:
        """Remove new files that no commit was tried for; report files that cannot be removed."""
        for path in paths or tuple(self._written):
            try:
                self._current.remove(path)
            except FileNotFoundError:
                pass  # the file was not written
            except (BloomwriterError, OSError):
                self._left_over.append(self._current.shown(path))
            self._written.remove(path)

    def _change(
        self, file: FileEntry, fate: FileFate, *, num_filters: int = 0, reason: str = ""
    ) -> FileChange:
        """Return the report's line for a file, without a new file."""
        return FileChange(
            path=self.table.shown(file.path),
            fate=fate,
            num_filters=num_filters,
            size_before=file.size,
            size_after=file.size,
            reason=reason,
        )

    def report(self) -> TableReport:
        """Return the report on the work done so far."""
        worked_on = {id(task) for task in self.tasks}
        waiting = [task.file.size for task in self.choice.tasks if id(task) not in worked_on]
        return TableReport(
            table=self.table.path,
            format=self.table.format,
            verb=self.verb,
            dry_run=self._is_dry,
            version_before=self.table.version,
            commits=tuple(self._commits),
            columns=self.columns,
            asked_by_table=self.asked_by_table,
            num_files=len(self.table.entries),
            num_footers=self.choice.num_footers,
            num_to_do=len(self.choice.tasks),
            num_waiting=len(waiting),
            bytes_waiting=sum(waiting),
            num_commits_planned=self._num_commits_planned,
            changes=tuple(self._changes),
            totals=self._totals,
            left_over=tuple(self._left_over),
            undecided=tuple(self._undecided),
            notes=(_RUNNING_JOBS,) if self._is_dry and self.tasks else (),
        )


def threads_for(table: Table, jobs: int | None, progress: TableProgress | None) -> Threads:
    """Return the threads that work on a table: two for each core by default, and 16 on stores."""
    check_jobs(jobs)
    if jobs is None:
        jobs = (
            _JOBS_ON_STORES if "://" in table.shown(table.location) else _PER_CORE * default_jobs()
        )
    return Threads(jobs, progress)
