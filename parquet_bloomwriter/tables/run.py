"""One run of a verb over a table: its plan, its execution, and its report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from parquet_bloomwriter.arguments import check_jobs
from parquet_bloomwriter.parallel import default_jobs
from parquet_bloomwriter.tables.replacement import (
    Operation,
    Replacements,
    Threads,
    planned,
    replace_all,
    unchanged,
)
from parquet_bloomwriter.tables.report import FileFate, TableReport

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.table_files.files import Table
    from parquet_bloomwriter.tables.choice import Choice, Task
    from parquet_bloomwriter.tables.replacement import Limits, TableProgress, Verb, Workers

_JOBS_ON_STORES = 16
_PER_CORE = 2
"""Number of threads for each core: a thread that syncs its file waits for the disk, and another
thread works meanwhile."""

_RUNNING_JOBS = (
    "a running UPDATE, DELETE or MERGE that has read one of the replaced files fails, and must be"
    " repeated"
)


@dataclass(kw_only=True)
class Run:
    """A run of a verb over a table."""

    verb: str
    table: Table
    """The table as it was read first."""

    columns: tuple[str, ...]
    asked_by_table: bool = False
    choice: Choice
    tasks: Sequence[Task]
    """The tasks of the choice that this run works on, in order."""

    _done: Replacements = field(init=False)
    _num_commits: int = field(init=False, default=0)
    _is_dry: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._done = Replacements(table=self.table)
        self._done.changes += [
            unchanged(self.table, file, FileFate.FAILED, str(error))
            for file, error in self.choice.failures
        ]
        self._done.changes += [
            unchanged(self.table, task.file, FileFate.KEPT, task.file.why_kept or "")
            for task in self.choice.kept
        ]

    @property
    def active(self) -> set[str]:
        """Paths of the table's files after the commits made so far."""
        return {file.path for file in self._done.table.entries}

    def carry_out(
        self,
        verb: Verb,
        limits: Limits,
        workers: Workers,
        *,
        dry_run: bool,
        progress: TableProgress | None,
    ) -> None:
        """Replace the files, or plan to do so.

        Raises:
            BaseException: As `replace_all` does; with the attribute `report`.
        """
        self._is_dry = dry_run
        if dry_run:
            changes, self._num_commits = planned(self.table, self.tasks, limits)
            self._done.changes += changes
            return
        if not self.tasks:
            return
        if progress is not None:
            num_bytes = sum(task.file.size for task in self.tasks)
            progress.begin(num_files=len(self.tasks), num_bytes=num_bytes)
        operation = Operation(verb=self.verb, columns=self.columns)
        try:
            replace_all(
                self._done, self.tasks, verb, limits=limits, operation=operation, workers=workers
            )
        except BaseException as error:
            error.__dict__["report"] = self.report()
            raise

    def report(self) -> TableReport:
        """Return the report on the work done so far."""
        done = self._done
        worked_on = {id(task) for task in self.tasks}
        waiting = [task.file.size for task in self.choice.tasks if id(task) not in worked_on]
        return TableReport(
            table=self.table.path,
            format=self.table.format,
            verb=self.verb,
            dry_run=self._is_dry,
            version_before=self.table.version,
            commits=tuple(done.commits),
            columns=self.columns,
            asked_by_table=self.asked_by_table,
            num_files=len(self.table.entries),
            num_footers=self.choice.num_footers,
            num_to_do=len(self.choice.tasks),
            num_waiting=len(waiting),
            bytes_waiting=sum(waiting),
            num_commits_planned=self._num_commits,
            changes=tuple(done.changes),
            totals=done.totals,
            left_over=tuple(done.left_over),
            undecided=tuple(done.undecided),
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
