"""New files for some of a table, and the commits that put them in the place of the old ones.

    for each batch    read what was committed meanwhile; files that are gone are passed over
                      write the new files, several at once
                      one entry of the log: remove the old, add the new
    if a batch fails  before its commit was tried: its new files are removed
                      afterwards: nothing is removed; what is in no version is named

Delta fails an UPDATE or MERGE that has read a file which was removed meanwhile, whatever its
`dataChange`. So commits are small, and a run can be stopped after any of them.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote

from parquet_bloomwriter.delta.commit import Replacement, check_unchanged, new_add, replace_files
from parquet_bloomwriter.delta.snapshot import advance, read_whole_commit
from parquet_bloomwriter.errors import BloomwriterError, OutcomeUnknown
from parquet_bloomwriter.reports.rewriting import merge_totals
from parquet_bloomwriter.reports.table import FileChange, FileFate
from parquet_bloomwriter.tables.choice import batches

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.delta.snapshot import Snapshot
    from parquet_bloomwriter.progress import FileProgress
    from parquet_bloomwriter.reports.rewriting import ColumnTotals
    from parquet_bloomwriter.tables.choice import Task


_MS_PER_S = 1000


@dataclass(frozen=True, kw_only=True)
class NewFile:
    """What a verb wrote. Can be pickled."""

    size: int
    """Bytes of the new file."""

    num_filters: int
    """Built, or taken out."""

    totals: Sequence[ColumnTotals] = ()
    """Filters built, by column."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A new version of one file, to be written under another name. Can be pickled."""

    leaves: Mapping[str, int]
    """Ordinals of the file's leaves to work on, by logical name."""

    size: int
    """Bytes of the file."""

    old: str
    """Path or URL of the file."""

    new: str
    """Path or URL of the new one."""


class Writer(Protocol):
    """Writes new versions of files, in any thread or process. Can be pickled."""

    def __call__(self, job: Job, threads: int, progress: FileProgress | None, /) -> NewFile | None:
        """Write a new file; None if nothing is to be changed, and then nothing was written."""
        ...


class Verb(Protocol):
    """What is done to each file."""

    @property
    def writer(self) -> Writer:
        """What writes the new files."""
        ...

    def tags(self, task: Task, uri: str) -> Mapping[str, str]:
        """Return all tags of the new file, whose path in the log this is."""
        ...

    def unchanged(self, task: Task) -> None:
        """Take note of a file that had nothing to change."""
        ...


class Workers(Protocol):
    """What carries a verb out on several files."""

    def write_all(
        self, writer: Writer, jobs: Sequence[Job]
    ) -> Generator[NewFile | BloomwriterError | OSError | None, None, None]:
        """Yield what became of each file, in order: as `Writer` has it, or why it failed."""
        ...


class Threads:
    """Threads of this process."""

    def __init__(self, jobs: int, progress: TableProgress | None) -> None:
        """Use so many threads in all.

        Args:
            jobs: Their number.
            progress: Of the run.
        """
        self._jobs = jobs
        self._progress = progress

    def write_all(
        self, writer: Writer, jobs: Sequence[Job]
    ) -> Generator[NewFile | BloomwriterError | OSError | None, None, None]:
        """See `Workers`."""
        at_once = max(1, min(self._jobs, len(jobs)))
        threads = max(1, self._jobs // at_once)

        def write(job: Job) -> NewFile | BloomwriterError | OSError | None:
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
    """What a run over a table reports to."""

    def begin(self, *, num_files: int, num_bytes: int) -> None:
        """Take the totals."""
        ...

    def file(self, num_bytes: int) -> AbstractContextManager[FileProgress]:
        """Begin one file."""
        ...


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When a commit is made."""

    num_files: int = 500
    """At most so many files in a commit."""

    num_bytes: int = 20 << 30
    """A commit's old files have at most so many bytes, if there is more than one."""


@dataclass(kw_only=True)
class Replacements:
    """What became of the tasks."""

    snapshot: Snapshot
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
    parameters: Mapping[str, str],
    workers: Workers,
) -> None:
    """Replace files batch by batch.

    Args:
        done: Takes what became of them; its snapshot is the table as it was read.
        tasks: Files of the table, in order.
        verb: Writes new files.
        limits: When a commit is made.
        parameters: What the history of the table says was asked for.
        workers: Carry the verb out.

    Raises:
        UnsafeTarget: If no entry of the log can be created exclusively there.
        TableProblem: If the table changed so that this run cannot go on; what was committed stays.
        OutcomeUnknown: If it cannot be found out whether a commit was made.
        StoreProblem, OSError: If the log cannot be written.
    """
    done.snapshot.place.check_commits()
    for batch in batches(tasks, num_files=limits.num_files, num_bytes=limits.num_bytes):
        _Batch(done, verb, parameters).run(batch, workers)


class _Batch:
    """The files of one commit."""

    def __init__(self, done: Replacements, verb: Verb, parameters: Mapping[str, str]) -> None:
        self._done = done
        self._verb = verb
        self._parameters = parameters
        self._written: list[str] = []
        """New files that the log does not have: URIs."""

    def run(self, tasks: Sequence[Task], workers: Workers) -> None:
        """Write the new files, and commit them."""
        self._catch_up()
        try:
            pairs = self._write_all(self._still_there(tasks), workers)
        except BaseException:
            self._remove_written()
            raise
        if pairs:
            self._commit(pairs)

    def _catch_up(self) -> None:
        """Read what was committed since, so that no file is read that is gone."""
        done, before = self._done, self._done.snapshot
        while commit := read_whole_commit(done.snapshot.place, done.snapshot.version + 1):
            done.snapshot = advance(done.snapshot, commit)
        check_unchanged(before, done.snapshot)

    def _still_there(self, tasks: Sequence[Task]) -> list[Task]:
        files = self._done.snapshot.files
        gone = [task for task in tasks if task.file.key not in files]
        self._done.changes += [
            _unchanged(task, FileFate.DROPPED, "another program removed or changed it")
            for task in gone
        ]
        return [task for task in tasks if task.file.key in files]

    def _write_all(
        self, tasks: Sequence[Task], workers: Workers
    ) -> list[tuple[Replacement, NewFile]]:
        place = self._done.snapshot.place
        uris = [place.new_uri(task.file.path) for task in tasks]
        jobs = [
            Job(
                leaves=task.leaves,
                size=task.file.size,
                old=place.locate(task.file.path),
                new=place.locate(uri),
            )
            for task, uri in zip(tasks, uris, strict=True)
        ]
        self._written += uris
        pairs = []
        # Closed in any case: nobody may write on while new files are removed.
        with closing(workers.write_all(self._verb.writer, jobs)) as results:
            for task, uri, made in zip(tasks, uris, results, strict=True):
                if isinstance(made, NewFile):
                    pairs.append((self._replacement(task, uri, made), made))
                    continue
                self._remove_written(uri)
                if made is None:
                    self._verb.unchanged(task)
                fate = FileFate.UNCHANGED if made is None else FileFate.FAILED
                reason = "there was nothing to change" if made is None else str(made)
                self._done.changes.append(_unchanged(task, fate, reason))
        return pairs

    def _replacement(self, task: Task, uri: str, made: NewFile) -> Replacement:
        now = int(time.time() * _MS_PER_S)
        tags = self._verb.tags(task, uri)
        new = new_add(task.file, uri=uri, size=made.size, modified_ms=now, tags=tags)
        return Replacement(old=task.file, new=new)

    def _commit(self, pairs: Sequence[tuple[Replacement, NewFile]]) -> None:
        """Commit the new files; from here on, none of them is removed."""
        done = self._done
        try:
            committed = replace_files(
                done.snapshot,
                [replacement for replacement, _ in pairs],
                operation_parameters=self._parameters,
            )
        except BaseException as error:
            is_settled = isinstance(error, (BloomwriterError, OSError))
            if is_settled and not isinstance(error, OutcomeUnknown):
                done.left_over += map(shown, self._written)
            else:
                done.undecided += map(shown, self._written)
            raise
        done.snapshot = committed.snapshot
        why_not = {id(replacement): why for replacement, why in committed.dropped}
        if len(why_not) < len(pairs):
            done.commits.append(committed.version)
        for replacement, made in pairs:
            why = why_not.get(id(replacement))
            is_in = why is None
            uri = str(replacement.new["path"])
            done.changes.append(
                FileChange(
                    path=shown(replacement.old.path),
                    fate=FileFate.REPLACED if is_in else FileFate.DROPPED,
                    new_path=shown(uri) if is_in else None,
                    num_filters=made.num_filters if is_in else 0,
                    size_before=replacement.old.size,
                    size_after=made.size if is_in else replacement.old.size,
                    reason=why or "",
                )
            )
            if is_in:
                done.totals = merge_totals(done.totals, made.totals)
            else:
                done.left_over.append(shown(uri))

    def _remove_written(self, *uris: str) -> None:
        """Remove new files of which no commit was tried."""
        for uri in uris or tuple(self._written):
            with suppress(BloomwriterError, OSError):
                self._done.snapshot.place.remove(uri)
            self._written.remove(uri)


def planned(tasks: Sequence[Task], limits: Limits) -> tuple[list[FileChange], int]:
    """Return what a run would do with files, and by how many commits."""
    changes = [
        FileChange(
            path=shown(task.file.path),
            fate=FileFate.PLANNED,
            num_filters=task.num_filters,
            size_before=task.file.size,
            size_after=task.file.size,
        )
        for task in tasks
    ]
    cut = batches(tasks, num_files=limits.num_files, num_bytes=limits.num_bytes)
    return changes, sum(1 for _ in cut)


def _unchanged(task: Task, fate: FileFate, reason: str) -> FileChange:
    size = task.file.size
    return FileChange(
        path=shown(task.file.path), fate=fate, size_before=size, size_after=size, reason=reason
    )


def shown(uri: str) -> str:
    """Return a path of the log as it is on the disk or store."""
    return unquote(uri)
