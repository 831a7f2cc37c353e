"""Build the filters of a new version: an engine receives a plan and groups of files.

An engine may write more than it returns (a task that ran twice). Only what it returns counts; the
commit of the version checks that these files exist, and removes all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.build.group import balanced_groups
from parquet_bloomwriter.index.engine import BuildPlan, ColumnPlan, FileTask, PartialFilter
from parquet_bloomwriter.index.report import LeftOut
from parquet_bloomwriter.sbbf import initial_num_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parquet_bloomwriter.index.build.survey import Survey
    from parquet_bloomwriter.index.config import IndexConfig
    from parquet_bloomwriter.index.engine import Engine, GroupResult, PartInfo, Progress, Unindexed
    from parquet_bloomwriter.index.entry import IndexFile
    from parquet_bloomwriter.sbbf import Sbbf

CHANGED = "it changed while it was being read, or a change might not show in its time"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildResult:
    """The files of the index that an engine wrote, and the data files that they cover."""

    tasks: tuple[FileTask, ...] = ()
    """The data files that the new version knows, ordered by id."""

    parts: tuple[PartInfo, ...] = ()
    partials: tuple[PartInfo | PartialFilter, ...] = ()
    incomplete: frozenset[str] = frozenset()
    """Names of columns whose partial filters lack values."""

    unindexed: tuple[Unindexed, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def parts_of(self, column: str) -> tuple[IndexFile, ...]:
        """Return the parts that hold a column's filters."""
        return tuple(part.file for part in self.parts if part.column == column)

    def num_filters_of(self, column: str) -> int:
        """Return the number of a column's filters of data files and row groups."""
        return sum(part.num_rows for part in self.parts if part.column == column)

    def partials_of(self, column: str) -> list[IndexFile | Sbbf]:
        """Return a column's partial filters of all values: in memory, or as files of the index."""
        return [
            part.bits if isinstance(part, PartialFilter) else part.file
            for part in self.partials
            if part.column == column
        ]

    def why_incomplete(self, column: str) -> str:
        """Return why a column's partial filters lack values, a clause; empty if they do not."""
        if column not in self.incomplete:
            return ""
        for one in self.unindexed:
            if one.column == column:
                return f"the values of {one.path} could not be taken: {one.reason}"
        return "the values of some file could not be taken"


def make_tasks(survey: Survey, first_id: int) -> list[FileTask]:
    """Give files their ids, beginning with `first_id`."""
    return [
        FileTask(file_id=file_id, file=file, num_rows=num_rows)
        for file_id, (file, num_rows) in enumerate(survey.files, first_id)
    ]


def make_plan(
    config: IndexConfig,
    num_distinct: Mapping[str, int],
    *,
    root: str,
    folder: str,
) -> BuildPlan:
    """Plan the filters of a version.

    Args:
        config: The configuration of the index.
        num_distinct: By column, the distinct values that partial filters of all files are made
            for; other columns get none.
        root: Root of the table, absolute.
        folder: Folder of the version, absolute.
    """
    columns = tuple(
        ColumnPlan(
            name=column.name,
            fpp=column.fpp,
            max_bytes=config.max_file_bytes,
            global_blocks=(
                initial_num_blocks(num_distinct[column.name], column.fpp)
                if column.name in num_distinct
                else None
            ),
            field_id=config.field_id(column.name),
        )
        for column in config.columns
    )
    return BuildPlan(root=root, folder=folder, columns=columns, origin=config.origin)


def build_filters(
    tasks: Sequence[FileTask], plan: BuildPlan, engine: Engine | None, progress: Progress | None
) -> BuildResult:
    """Let an engine build filters.

    Args:
        tasks: The files.
        plan: Which filters to build, and how.
        engine: The engine that builds them; None: threads of this process.
        progress: Receives the progress of the work.

    Raises:
        IndexProblem: If the engine did not work on all files.
        Exception: What the engine raises.
    """
    if not tasks:
        return BuildResult()
    if engine is None:
        from parquet_bloomwriter.index.build.threads import ThreadEngine

        engine = ThreadEngine()
    groups = balanced_groups(tasks, engine.num_groups)
    if progress is not None:
        progress.begin(num_files=len(tasks), num_bytes=sum(task.file.size for task in tasks))
    results = _take_all(engine.build(groups, plan, progress))
    if len(results) != len(groups):
        problem = f"the engine ({engine.name}) did {len(results)} of {len(groups)} groups"
        raise IndexProblem(problem, path=plan.folder)
    return _join(tasks, plan, results)


def _take_all(results: Iterable[GroupResult]) -> list[GroupResult]:
    """Take all results; on an error, stop an engine that is still at work."""
    try:
        return list(results)
    finally:
        close = getattr(results, "close", None)
        if close is not None:
            close()


def _join(
    tasks: Sequence[FileTask], plan: BuildPlan, results: Sequence[GroupResult]
) -> BuildResult:
    changed = {file_id for result in results for file_id in result.changed}
    known = sorted((task for task in tasks if task.file_id not in changed), key=_file_id)
    left_out = sorted(task.file.path for task in tasks if task.file_id in changed)
    return BuildResult(
        tasks=tuple(known),
        parts=tuple(part for result in results for part in result.parts),
        partials=tuple(part for result in results for part in result.partials),
        incomplete=frozenset(name for result in results for name in _lacking(plan, result)),
        unindexed=tuple(
            sorted((one for result in results for one in result.unindexed), key=_path_and_column)
        ),
        left_out=tuple(LeftOut(path=path, reason=CHANGED) for path in left_out),
    )


def _lacking(plan: BuildPlan, result: GroupResult) -> set[str]:
    """Return the columns whose values in some group are missing from the partial filters."""
    asked = {column.name for column in plan.columns if column.global_blocks is not None}
    return (asked - {part.column for part in result.partials}) | set(result.incomplete)


def _file_id(task: FileTask) -> int:
    return task.file_id


def _path_and_column(one: Unindexed) -> tuple[str, str]:
    return one.path, one.column
