"""A new version of an index: filters for some files, besides those of older versions.

Filters for new files, by an engine: what is asked of it, and what is taken from it.

An engine may write more than it returns (a task that ran twice). Only what it returns counts, and
must be there; the rest is removed before the version counts.

The filter of all values of a column, of a version: new, or that of the last version and more.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from parquet_bloomwriter.durable import remove_files
from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.actions.lifecycle import report_of
from parquet_bloomwriter.index.build.survey import Surveyed, check_complete, plan_of, tasks_of
from parquet_bloomwriter.index.format.manifest import joined, table_of
from parquet_bloomwriter.index.layout import root_of
from parquet_bloomwriter.index.log.entry import GlobalFilter, IndexFile, State
from parquet_bloomwriter.index.log.transaction import perform
from parquet_bloomwriter.index.log.vacuum import are_intact, files_of, unreferenced
from parquet_bloomwriter.index.report import LeftOut
from parquet_bloomwriter.text import percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parquet_bloomwriter.index.config import IndexConfig
    from parquet_bloomwriter.index.engine import (
        BuildPlan,
        Engine,
        FileTask,
        GroupResult,
        PartInfo,
        Progress,
        Unindexed,
    )
    from parquet_bloomwriter.index.format.manifest import FileTable
    from parquet_bloomwriter.index.log.entry import Entry, IndexedColumn
    from parquet_bloomwriter.index.log.log import IndexLog
    from parquet_bloomwriter.index.log.transaction import Rest, Work
    from parquet_bloomwriter.index.report import IndexReport

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

    def parts_of(self, column: str) -> tuple[IndexFile, ...]:
        """Files that hold a column's filters."""
        return tuple(part.file for part in self.parts if part.column == column)

    def partials_of(self, column: str) -> list[IndexFile]:
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


# ruff: noqa: PTH118  paths are strings, as in the log


MAX_EXCESS = 10
"""How many times the rate asked for a filter may reach by being given more values. One that is new
is kept as long as it is of any use."""


def with_values(
    work: Work, column: IndexedColumn, partials: Sequence[IndexFile], *, stop: int
) -> IndexedColumn:
    """Add values to a column's filter of all files, or make it.

    Args:
        work: The action.
        column: With the filter of the last version, or without any.
        partials: Filters of the new files' values.
        stop: The filter covers all files whose id is below, then.

    Raises:
        IndexProblem: If the last version's filter is no filter.
        OSError: If one cannot be read, or the new one not be written.
    """
    from parquet_bloomwriter.index.build.table_filter import merge_partials

    old = column.global_filter
    files = partials if old is None else [old.file, *partials]
    merged = merge_partials(
        [os.path.join(work.log.folder, file.path) for file in files],
        column.fpp,
        version_folder=work.folder,
        column=column.name,
    )
    if isinstance(merged, str):
        return replace(column, global_filter=None, no_global=merged)
    if old is not None and merged.fpp > MAX_EXCESS * column.fpp:
        why = f"with the new values it would let {percent(merged.fpp)} of all absent ones pass"
        return replace(column, global_filter=None, no_global=f"{why}; refresh it in full")
    whole = GlobalFilter(file=merged.file, fpp=merged.fpp, ndv=merged.ndv, stop=stop)
    return replace(column, global_filter=whole, no_global="")


# ruff: noqa: PTH118, PTH202  paths are strings, as in the log


MANIFEST = "manifest.bfindex"


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What a new version gets."""

    config: IndexConfig
    found: Surveyed
    """The files to build filters for."""

    means: Means
    kept: FileTable | None = None
    """The files that are known already, and stay so."""

    num_distinct: Mapping[str, int] = field(default_factory=dict)
    """By column, for how many distinct values its filter of all files is made; one that is not
    named keeps what it has."""

    forgotten: int = 0
    """Files that the version knows no more."""


def build_version(log: IndexLog, rest: Rest, begin: Entry, build: Build) -> IndexReport:
    """Build a version.

    Args:
        log: The index's.
        rest: How the index was found.
        begin: The entry to begin with, whose columns have the filters that stay.
        build: What is new.

    Raises:
        IndexBusy: If somebody else has begun an action, or has cancelled this one.
        Exception: What building raises. The stable entry is in force again.
    """
    tasks = tasks_of(build.found, begin.next_file_id)
    next_file_id = begin.next_file_id + len(tasks)
    made = Made()

    def op(work: Work) -> Entry:
        nonlocal made
        root, folder = root_of(log.folder, begin), work.make_folder()
        plan = plan_of(build.config, build.num_distinct, root=root, folder=folder)
        made = make(tasks, plan, build.means)
        check_complete(build.config, made.left_out)
        files = table_of(made.tasks)
        return ended(
            work,
            files if build.kept is None else joined(build.kept, files),
            tuple(_column(work, one, made, build, stop=next_file_id) for one in begin.columns),
            next_file_id=next_file_id,
        )

    return report_of(
        log,
        perform(log, rest, begin, op),
        action=begin.action,
        changed=True,
        appended=len(made.tasks),
        deleted=build.forgotten,
        left_out=(*build.found.left_out, *made.left_out),
        unindexed=made.unindexed,
    )


def ended(
    work: Work, files: FileTable, columns: tuple[IndexedColumn, ...], *, next_file_id: int
) -> Entry:
    """Write a version's manifest, and make the entry to end with.

    Raises:
        IndexProblem: If a file of the version is missing.
        OSError: If the manifest cannot be written.
    """
    from parquet_bloomwriter.index.format.manifest import write_manifest

    path = os.path.join(work.folder, MANIFEST)
    write_manifest(path, files)
    entry = replace(
        work.begun,
        state=State.ACTIVE,
        version=work.version,
        columns=columns,
        manifest=IndexFile(path=f"v__={work.version}/{MANIFEST}", size=os.path.getsize(path)),
        next_file_id=next_file_id,
        num_files=len(files.ids),
        source_bytes=int(files.sizes.sum()),
    )
    sweep(work, entry)
    return entry


def _column(
    work: Work, column: IndexedColumn, made: Made, build: Build, *, stop: int
) -> IndexedColumn:
    """Add what was made to a column."""
    column = replace(column, parts=(*column.parts, *made.parts_of(column.name)))
    if column.name not in build.num_distinct:
        return column
    why = made.why_incomplete(column.name)
    if why:
        return replace(column, global_filter=None, no_global=why)
    return with_values(work, column, made.partials_of(column.name), stop=stop)
