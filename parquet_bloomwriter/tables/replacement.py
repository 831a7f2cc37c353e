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
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from parquet_bloomwriter.errors import (
    BloomwriterError,
    InvalidArgument,
    OutcomeUnknown,
    Unfinished,
)
from parquet_bloomwriter.rewrite.report import merge_totals
from parquet_bloomwriter.table_files.files import COMMITTED, FileReplacement
from parquet_bloomwriter.tables.choice import batches
from parquet_bloomwriter.tables.report import FileChange, FileFate

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.progress import FileProgress
    from parquet_bloomwriter.rewrite.report import ColumnTotals
    from parquet_bloomwriter.table_files.files import FileEntry, Table, TableCommit
    from parquet_bloomwriter.tables.choice import Task


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


class Verb(Protocol):
    """A verb as an action on each file: to build filters, or to take them out."""

    @property
    def writer(self) -> Writer:
        """The function that writes the new files."""
        ...

    def finished(self, task: Task) -> Collection[str]:
        """Return the stored names of columns that need no more work in the new file."""
        ...

    def unchanged(self, task: Task) -> None:
        """Record a file in which there was nothing to change."""
        ...

    def replaced(self, replacement: FileReplacement) -> None:
        """Record a new file that is in the table now."""
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


@dataclass(frozen=True, kw_only=True)
class Operation:
    """The request, as the table's history describes it."""

    verb: str
    """Name of the verb: `add` or `strip`."""

    columns: Sequence[str]
    """Logical names of the leaf columns."""


@dataclass(kw_only=True)
class Replacements:
    """The results for the files of a run, and the table after it."""

    table: Table
    commits: list[int] = field(default_factory=list)
    changes: list[FileChange] = field(default_factory=list)
    left_over: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    totals: tuple[ColumnTotals, ...] = ()


def replace_all(  # noqa: PLR0913  the frame's parts
    done: Replacements,
    tasks: Sequence[Task],
    verb: Verb,
    *,
    limits: Limits,
    operation: Operation,
    workers: Workers,
) -> None:
    """Replace files batch by batch.

    Args:
        done: Receives the results; its table is as it was read.
        tasks: Files of the table, in order.
        verb: Writes new files.
        limits: When a commit is made.
        operation: The request, for the history of the table.
        workers: Write the new files.

    Raises:
        UnsafeTarget: If no commit can be made safely there.
        TableProblem: If the table changed so that this run cannot go on; what was committed stays.
        OutcomeUnknown: If it cannot be found out whether a commit was made.
        Unfinished: If a commit was made, and the table cannot be read afterwards.
        StoreProblem, OSError: If the commit cannot be written.
    """
    done.table.check_commits()
    for batch in batches(tasks, num_files=limits.num_files, num_bytes=limits.num_bytes):
        _Batch(done, verb, operation).run(batch, workers)


class _Batch:
    """The files of one commit, while it is prepared and made."""

    def __init__(self, done: Replacements, verb: Verb, operation: Operation) -> None:
        self._done = done
        self._verb = verb
        self._operation = operation
        self._written: list[str] = []
        """Paths of new files that are not in the table."""

    def run(self, tasks: Sequence[Task], workers: Workers) -> None:
        """Write the new files, and commit them."""
        self._done.table = self._done.table.newest()
        try:
            pairs = self._write_all(self._still_there(tasks), workers)
        except BaseException:
            self._remove_written()
            raise
        if pairs:
            self._commit(pairs)

    def _still_there(self, tasks: Sequence[Task]) -> list[Task]:
        table = self._done.table
        self._done.changes += [
            self._unchanged(task, FileFate.DROPPED, "another program removed or changed it")
            for task in tasks
            if not table.has(task.file)
        ]
        return [task for task in tasks if table.has(task.file)]

    def _write_all(
        self, tasks: Sequence[Task], workers: Workers
    ) -> list[tuple[FileReplacement, WrittenFile]]:
        table = self._done.table
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
        with closing(workers.write_all(self._verb.writer, jobs)) as results:
            for task, path, made in zip(tasks, paths, results, strict=True):
                if isinstance(made, WrittenFile):
                    finished = self._verb.finished(task)
                    new = FileReplacement(
                        old=task.file, path=path, size=made.size, finished=finished
                    )
                    pairs.append((new, made))
                    continue
                self._remove_written(path)
                if made is None:
                    self._verb.unchanged(task)
                fate = FileFate.UNCHANGED if made is None else FileFate.FAILED
                reason = "there was nothing to change" if made is None else str(made)
                self._done.changes.append(self._unchanged(task, fate, reason))
        return pairs

    def _commit(self, pairs: Sequence[tuple[FileReplacement, WrittenFile]]) -> None:
        """Commit the new files; from here on, no new file is removed."""
        done, shown = self._done, self._done.table.shown
        replacements = [replacement for replacement, _ in pairs]
        try:
            committed = done.table.commit(
                replacements, verb=self._operation.verb, columns=self._operation.columns
            )
        except BaseException as error:
            if COMMITTED in error.__dict__:
                self._take(pairs, error.__dict__[COMMITTED])
                raise
            is_settled = isinstance(error, (BloomwriterError, OSError))
            if is_settled and not isinstance(error, (OutcomeUnknown, Unfinished)):
                done.left_over += map(shown, self._written)
            else:
                done.undecided += map(shown, self._written)
            raise
        self._take(pairs, committed)

    def _take(
        self, pairs: Sequence[tuple[FileReplacement, WrittenFile]], committed: TableCommit
    ) -> None:
        """Record the result of a commit."""
        done, shown = self._done, self._done.table.shown
        done.table = committed.table
        if committed.version is not None:
            done.commits.append(committed.version)
        for replacement, made in pairs:
            old, why = replacement.old, committed.dropped.get(replacement.path)
            is_in = why is None
            done.changes.append(
                FileChange(
                    path=shown(old.path),
                    fate=FileFate.REPLACED if is_in else FileFate.DROPPED,
                    new_path=shown(replacement.path) if is_in else None,
                    num_filters=made.num_filters if is_in else 0,
                    size_before=old.size,
                    size_after=made.size if is_in else old.size,
                    reason=why or "",
                )
            )
            if is_in:
                done.totals = merge_totals(done.totals, made.totals)
                self._verb.replaced(replacement)
            else:
                done.left_over.append(shown(replacement.path))

    def _remove_written(self, *paths: str) -> None:
        """Remove new files that no commit was tried for; report files that cannot be removed."""
        table = self._done.table
        for path in paths or tuple(self._written):
            try:
                table.remove(path)
            except FileNotFoundError:
                pass  # the file was not written
            except (BloomwriterError, OSError):
                self._done.left_over.append(table.shown(path))
            self._written.remove(path)

    def _unchanged(self, task: Task, fate: FileFate, reason: str) -> FileChange:
        return unchanged(self._done.table, task.file, fate, reason)


def planned(table: Table, tasks: Sequence[Task], limits: Limits) -> tuple[list[FileChange], int]:
    """Return the changes that a run would make to a table's files, and its number of commits."""
    changes = [
        FileChange(
            path=table.shown(task.file.path),
            fate=FileFate.PLANNED,
            num_filters=task.num_filters,
            size_before=task.file.size,
            size_after=task.file.size,
        )
        for task in tasks
    ]
    cut = batches(tasks, num_files=limits.num_files, num_bytes=limits.num_bytes)
    return changes, sum(1 for _ in cut)


def unchanged(table: Table, file: FileEntry, fate: FileFate, reason: str) -> FileChange:
    """Return the report's line for a file that was not replaced."""
    return FileChange(
        path=table.shown(file.path),
        fate=fate,
        size_before=file.size,
        size_after=file.size,
        reason=reason,
    )
