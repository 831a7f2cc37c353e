"""A new version of an index: filters for some files, besides those of older versions."""

# ruff: noqa: PTH118, PTH202  paths are strings, as in the log
from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from parquet_bloomwriter.index.layout import root_of
from parquet_bloomwriter.index.log.entry import DataFile
from parquet_bloomwriter.index.log.transaction import perform
from parquet_bloomwriter.index.making import Made, make, sweep
from parquet_bloomwriter.index.merging import with_values
from parquet_bloomwriter.index.planning import Surveyed, check_complete, plan_of, tasks_of
from parquet_bloomwriter.index.reporting import report_of
from parquet_bloomwriter.index.states import State
from parquet_bloomwriter.index.tables import joined, table_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parquet_bloomwriter.index.config import Recipe
    from parquet_bloomwriter.index.format.manifest import FileTable
    from parquet_bloomwriter.index.log.entry import Entry, IndexedColumn
    from parquet_bloomwriter.index.log.log import IndexLog
    from parquet_bloomwriter.index.log.transaction import Rest, Work
    from parquet_bloomwriter.index.making import Means
    from parquet_bloomwriter.index.report import IndexReport

MANIFEST = "manifest.bfindex"


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What a new version gets."""

    recipe: Recipe
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
        plan = plan_of(build.recipe, build.num_distinct, root=root, folder=folder)
        made = make(tasks, plan, build.means)
        check_complete(build.recipe, made.left_out)
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
        manifest=DataFile(path=f"v__={work.version}/{MANIFEST}", size=os.path.getsize(path)),
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
