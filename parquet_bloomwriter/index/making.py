"""Filters for new files, by an engine: what is asked of it, and what is taken from it.

An engine may write more than it returns (a task that ran twice). Only what it returns counts, and
must be there; the rest is removed before the version counts.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from parquet_bloomwriter.durable import remove_files
from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.log.vacuum import are_intact, files_of, unreferenced
from parquet_bloomwriter.index.report import LeftOut

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parquet_bloomwriter.index.engine import (
        BuildPlan,
        Engine,
        FileTask,
        GroupResult,
        PartInfo,
        Progress,
        Unindexed,
    )
    from parquet_bloomwriter.index.log.entry import DataFile, Entry
    from parquet_bloomwriter.index.log.transaction import Work

CHANGED = "it changed while it was being read, or a change might not show in its time"


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What does the work."""

    engine: Engine
    progress: Progress | None

    @classmethod
    def of(cls, engine: Engine | None, progress: Progress | None) -> Self:
        """Take threads of this process, unless there is another engine."""
        if engine is None:
            from parquet_bloomwriter.index.build.threads import ThreadEngine

            engine = ThreadEngine()
        return cls(engine=engine, progress=progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What an engine made of some files."""

    tasks: tuple[FileTask, ...] = ()
    """The files that the new version knows, ordered by id."""

    parts: tuple[PartInfo, ...] = ()
    partials: tuple[PartInfo, ...] = ()
    incomplete: frozenset[str] = frozenset()
    """Columns of which the partial filters lack values."""

    unindexed: tuple[Unindexed, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def parts_of(self, column: str) -> tuple[DataFile, ...]:
        """Files that hold a column's filters."""
        return tuple(part.file for part in self.parts if part.column == column)

    def partials_of(self, column: str) -> list[DataFile]:
        """Files that hold a column's partial filters of all values."""
        return [part.file for part in self.partials if part.column == column]

    def why_incomplete(self, column: str) -> str:
        """A clause; empty if a column's partial filters hold all values."""
        if column not in self.incomplete:
            return ""
        for one in self.unindexed:
            if one.column == column:
                return f"the values of {one.path} could not be taken: {one.reason}"
        return "the values of some file could not be taken"


def make(tasks: Sequence[FileTask], plan: BuildPlan, means: Means) -> Made:
    """Let the engine build filters.

    Raises:
        IndexProblem: If it did less than it was asked for.
        Exception: What the engine raises.
    """
    from parquet_bloomwriter.index.build.group import balanced

    if not tasks:
        return Made()
    groups = balanced(tasks, means.engine.num_groups)
    if means.progress is not None:
        num_bytes = sum(task.file.size for task in tasks)
        means.progress.begin(num_files=len(tasks), num_bytes=num_bytes)
    results = _taken(means.engine.build(groups, plan, means.progress))
    if len(results) != len(groups):
        problem = f"the engine ({means.engine.name}) did {len(results)} of {len(groups)} groups"
        raise IndexProblem(problem, path=plan.folder)
    return _joined(tasks, plan, results)


def sweep(work: Work, entry: Entry) -> None:
    """Remove from the new version's folder what its entry does not refer to.

    Raises:
        IndexProblem: If something is missing that the entry refers to.
    """
    folder = work.log.folder
    own = [file for file in files_of(entry) if file.path.startswith(f"v__={work.version}/")]
    if not are_intact(folder, own):
        raise IndexProblem(
            f"not all of the {len(own)} new files of the index are there",
            path=work.folder,
            remedy="All machines that build it must reach this folder by this path.",
        )
    waste = unreferenced(folder, entry, before=work.version + 1)
    inside = work.folder + os.sep
    remove_files(path for path, _ in waste if path.startswith(inside))


def _taken(results: Iterable[GroupResult]) -> list[GroupResult]:
    """Take all results; an engine that is at work still is stopped if that fails."""
    try:
        return list(results)
    finally:
        close = getattr(results, "close", None)
        if close is not None:
            close()


def _joined(tasks: Sequence[FileTask], plan: BuildPlan, results: Sequence[GroupResult]) -> Made:
    changed = {file_id for result in results for file_id in result.changed}
    known = sorted((task for task in tasks if task.file_id not in changed), key=_file_id)
    left_out = sorted(task.file.path for task in tasks if task.file_id in changed)
    return Made(
        tasks=tuple(known),
        parts=tuple(part for result in results for part in result.parts),
        partials=tuple(part for result in results for part in result.partials),
        incomplete=frozenset(name for result in results for name in _lacking(plan, result)),
        unindexed=tuple(
            sorted((one for result in results for one in result.unindexed), key=_place)
        ),
        left_out=tuple(LeftOut(path=path, reason=CHANGED) for path in left_out),
    )


def _lacking(plan: BuildPlan, result: GroupResult) -> set[str]:
    """Columns whose values in a group are in no partial filter, whatever the reason."""
    asked = {column.name for column in plan.columns if column.global_blocks is not None}
    return (asked - {part.column for part in result.partials}) | set(result.incomplete)


def _file_id(task: FileTask) -> int:
    return task.file_id


def _place(one: Unindexed) -> tuple[str, str]:
    return one.path, one.column
