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
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote

from parquet_bloomwriter.delta.commit import Replacement, new_add, replace_files
from parquet_bloomwriter.delta.snapshot import advance, read_commit
from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.parallel import default_jobs
from parquet_bloomwriter.reports.rewriting import merge_totals
from parquet_bloomwriter.reports.table import FileChange, FileFate
from parquet_bloomwriter.tables.choice import batches

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import TypeAlias

    from parquet_bloomwriter.delta.snapshot import Snapshot
    from parquet_bloomwriter.progress import FileProgress
    from parquet_bloomwriter.reports.rewriting import ColumnTotals
    from parquet_bloomwriter.tables.choice import Task

    Make: TypeAlias = Callable[["Job"], "NewFile | None"]
    """Writes a new file; returns None if nothing is to be changed, and then wrote nothing."""

JOBS_ON_STORES = 16
_MS_PER_S = 1000


@dataclass(frozen=True, kw_only=True)
class NewFile:
    """What a verb wrote."""

    size: int
    """Bytes of the new file."""

    num_filters: int
    """Built, or taken out."""

    tags: Mapping[str, str]
    """Of the new file; all of them."""

    totals: Sequence[ColumnTotals] = ()
    """Filters built, by column."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A new version of one file, to be written under another name."""

    task: Task
    old: str
    """Path or URL of the file."""

    new: str
    """Path or URL of the new one."""

    uri: str
    """Path of the new one, as the log will have it."""

    threads: int
    progress: FileProgress | None


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
    totals: tuple[ColumnTotals, ...] = ()


def replace_all(  # noqa: PLR0913  the frame's parts
    done: Replacements,
    tasks: Sequence[Task],
    make: Make,
    *,
    limits: Limits,
    parameters: Mapping[str, str],
    jobs: int | None,
    progress: TableProgress | None,
) -> None:
    """Replace files batch by batch.

    Args:
        done: Takes what became of them; its snapshot is the table as it was read.
        tasks: Files of the table, in order.
        make: Writes one new file.
        limits: When a commit is made.
        parameters: What the history of the table says was asked for.
        jobs: Threads in all; by default all cores, and 16 on stores.
        progress: Of the run.

    Raises:
        UnsafeTarget: If no entry of the log can be created exclusively there.
        TableProblem: If the table changed so that this run cannot go on; what was committed stays.
        OutcomeUnknown: If it cannot be found out whether a commit was made.
        StoreProblem, OSError: If the log cannot be written.
    """
    place = done.snapshot.place
    place.check_commits()
    if progress is not None:
        progress.begin(num_files=len(tasks), num_bytes=sum(one.file.size for one in tasks))
    if jobs is None:
        jobs = JOBS_ON_STORES if "://" in place.root else default_jobs()
    for batch in batches(tasks, num_files=limits.num_files, num_bytes=limits.num_bytes):
        _Batch(done, batch, make, parameters=parameters, jobs=jobs, progress=progress).run()


class _Batch:
    """The files of one commit."""

    def __init__(  # noqa: PLR0913  the frame's parts
        self,
        done: Replacements,
        tasks: Sequence[Task],
        make: Make,
        *,
        parameters: Mapping[str, str],
        jobs: int,
        progress: TableProgress | None,
    ) -> None:
        self._done = done
        self._make = make
        self._parameters = parameters
        self._progress = progress
        self._tasks = tasks
        self._threads = max(1, min(jobs, len(tasks)))
        self._jobs = max(1, jobs // self._threads)
        self._written: list[str] = []
        """New files that the log does not have: URIs."""

    def run(self) -> None:
        """Write the new files, and commit them."""
        self._catch_up()
        try:
            pairs = self._write_all()
        except BaseException:
            self._remove_written()
            raise
        if pairs:
            self._commit(pairs)

    def _catch_up(self) -> None:
        """Read what was committed since, so that no file is read that is gone."""
        done = self._done
        while commit := read_commit(done.snapshot.place, done.snapshot.version + 1):
            done.snapshot = advance(done.snapshot, commit)

    def _write_all(self) -> list[tuple[Replacement, NewFile]]:
        pairs = []
        with ThreadPoolExecutor(self._threads, thread_name_prefix="bloomify") as pool:
            futures = [pool.submit(self._write, task) for task in self._tasks]
            try:
                for future in futures:
                    found = future.result()
                    if isinstance(found, FileChange):
                        self._done.changes.append(found)
                    else:
                        pairs.append(found)
            finally:
                for future in futures:
                    future.cancel()
        return pairs

    def _write(self, task: Task) -> FileChange | tuple[Replacement, NewFile]:
        place, file = self._done.snapshot.place, task.file
        if file.key not in self._done.snapshot.files:
            return _unchanged(task, FileFate.DROPPED, "another program removed or changed it")
        progress = nullcontext() if self._progress is None else self._progress.file(file.size)
        uri = place.new_uri(file.path)
        try:
            with progress as one:
                self._written.append(uri)
                made = self._make(
                    Job(
                        task=task,
                        old=place.locate(file.path),
                        new=place.locate(uri),
                        uri=uri,
                        threads=self._jobs,
                        progress=one,
                    )
                )
        except (BloomwriterError, OSError) as error:
            self._remove_written(uri)
            return _unchanged(task, FileFate.FAILED, str(error))
        if made is None:
            self._written.remove(uri)
            return _unchanged(task, FileFate.UNCHANGED, "there was nothing to change")
        now = int(time.time() * _MS_PER_S)
        new = new_add(file, uri=uri, size=made.size, modified_ms=now, tags=made.tags)
        return Replacement(old=file, new=new), made

    def _commit(self, pairs: Sequence[tuple[Replacement, NewFile]]) -> None:
        """Commit the new files; from here on, none of them is removed."""
        done = self._done
        try:
            committed = replace_files(
                done.snapshot,
                [replacement for replacement, _ in pairs],
                operation_parameters=self._parameters,
            )
        except BaseException:
            done.left_over += map(shown, self._written)
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
