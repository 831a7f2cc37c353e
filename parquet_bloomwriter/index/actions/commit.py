"""Make a new version of an index from a survey: build the filters, write the files, commit.

A version has new filters for the surveyed files, and keeps the filters of other files from older
versions. The filter of all values of a column is new, or that of the last version with the new
values added.
"""

# ruff: noqa: PTH118  paths are strings, as in the log
from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.build.global_filter import merge_partials
from parquet_bloomwriter.index.build.slices import plan_slices, write_slices
from parquet_bloomwriter.index.build.survey import check_complete
from parquet_bloomwriter.index.build.version_filters import build_filters, make_plan, make_tasks
from parquet_bloomwriter.index.contract import with_completeness, with_names
from parquet_bloomwriter.index.describe import report_on
from parquet_bloomwriter.index.entry import GlobalFilter, State
from parquet_bloomwriter.index.format import slice_file
from parquet_bloomwriter.index.format.manifest import FileTable, write_manifest
from parquet_bloomwriter.index.log.transaction import run_transaction
from parquet_bloomwriter.text import percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parquet_bloomwriter.index.build.survey import Survey
    from parquet_bloomwriter.index.build.version_filters import BuildResult
    from parquet_bloomwriter.index.config import IndexConfig
    from parquet_bloomwriter.index.engine import Engine, Progress
    from parquet_bloomwriter.index.entry import Entry, IndexedColumn, IndexFile
    from parquet_bloomwriter.index.log.log import IndexLog
    from parquet_bloomwriter.index.log.transaction import Transaction
    from parquet_bloomwriter.index.report import IndexReport
    from parquet_bloomwriter.sbbf import Sbbf


MAX_EXCESS = 10
"""The filter of a whole column may reach this multiple of the requested FPP when values are added
to it. A filter that is built anew is kept as long as it is of any use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRequest:
    """The content of the version that an action builds."""

    config: IndexConfig
    survey: Survey
    """The data files that get new filters."""

    engine: Engine | None
    """The engine that builds the filters; None: threads of this process."""

    progress: Progress | None
    kept: FileTable | None = None
    """The data files that both the last version and the new version know."""

    num_distinct: Mapping[str, int] = field(default_factory=dict)
    """The number of distinct values that the filter of a whole column is sized for, by column name.
    Other columns keep the filter that they have."""

    num_forgotten: int = 0
    """Number of data files that the last version knows and the new version does not know."""


def build_version(
    log: IndexLog, stable: Entry | None, begin: Entry, request: VersionRequest
) -> IndexReport:
    """Build a version, and commit it.

    Args:
        log: The index's log.
        stable: The entry that the action starts from.
        begin: The entry to begin with, whose columns have the filters that stay.
        request: The content.

    Raises:
        IndexBusy: If another action has begun, or another process has cancelled this one.
        Exception: What building raises. The stable entry counts again.
    """
    tasks = make_tasks(request.survey, begin.next_file_id)
    next_file_id = begin.next_file_id + len(tasks)
    with run_transaction(log, stable, begin) as transaction:
        root, folder = begin.root_in(log.folder), transaction.make_folder()
        plan = make_plan(request.config, request.num_distinct, root=root, folder=folder)
        result = build_filters(tasks, plan, request.engine, request.progress)
        check_complete(request.config, result.left_out)
        new = FileTable.of(result.tasks)
        files = new if request.kept is None else request.kept.joined(new)
        columns = tuple(
            _with_result(transaction, column, result, request, stop=next_file_id)
            for column in begin.columns
        )
        if request.kept is None and request.config.slices:
            columns = tuple(
                with_slices(transaction, column, files, stop=next_file_id)
                if result.num_filters_of(column.name) >= slice_file.MIN_FILTERS
                else column
                for column in columns
            )
        entry = _written(transaction, files, columns, next_file_id=next_file_id)
        left_out = (*request.survey.left_out, *result.left_out)
        if request.config.state is not None:
            options = with_completeness(entry.options, is_complete=not left_out)
            entry = replace(entry, options=options)
        else:
            adds = request.kept is not None
            options = with_names(entry.options, request.survey.names, adds=adds)
            entry = replace(entry, options=options)
        remove_unreferenced(transaction, entry)
        final = transaction.commit(entry)
    return report_on(
        log,
        final,
        action=begin.action,
        appended=len(result.tasks),
        deleted=request.num_forgotten,
        left_out=left_out,
        unindexed=result.unindexed,
    )


def with_slices(
    transaction: Transaction, column: IndexedColumn, files: FileTable, *, stop: int
) -> IndexedColumn:
    """Write the slices of a column, if it has groups of filters that are large enough.

    Args:
        transaction: The action.
        column: The column, with the parts of the new version.
        files: The data files that the new version knows.
        stop: A number above the ids of all these files.

    Raises:
        IndexBusy: If another process has cancelled the action.
        BloomwriterError, OSError: If a part cannot be read, or the slices not be written.
    """
    plan = plan_slices(transaction.log.folder, column.parts, files)
    if plan is None:
        return replace(column, slices=None)
    transaction.check_not_cancelled()
    slices = write_slices(transaction.make_folder(), column.name, plan, stop=stop)
    return replace(column, slices=slices)


def remove_unreferenced(transaction: Transaction, entry: Entry) -> None:
    """Remove the files in the new version's folder that its entry does not refer to.

    Raises:
        IndexProblem: If a file that the entry refers to is missing there.
        OSError: If a file cannot be removed.
    """
    folder = transaction.log.folder
    own = [file for file in entry.files() if file.path.startswith(f"v__={transaction.version}/")]
    if not transaction.log.storage.are_intact(folder, own):
        raise IndexProblem(
            f"not all of the {len(own)} new files of the index are there",
            path=transaction.folder,
            remedy="All machines that build it must reach this folder by this path.",
        )
    waste = transaction.log.unreferenced_files(entry, before=transaction.version + 1)
    inside = transaction.folder + os.sep
    transaction.log.storage.remove_files([path for path, _ in waste if path.startswith(inside)])


def _written(
    transaction: Transaction,
    files: FileTable,
    columns: tuple[IndexedColumn, ...],
    *,
    next_file_id: int,
) -> Entry:
    """Write the version's manifest, and return the log entry that ends the action."""
    name = transaction.log.storage.manifest_name(transaction.begun.attempt)
    manifest = write_manifest(os.path.join(transaction.folder, name), files)
    return replace(
        transaction.begun,
        state=State.ACTIVE,
        version=transaction.version,
        columns=columns,
        manifest=manifest,
        next_file_id=next_file_id,
        num_files=len(files.ids),
        source_bytes=int(files.sizes.sum()),
    )


def _with_result(
    transaction: Transaction,
    column: IndexedColumn,
    result: BuildResult,
    request: VersionRequest,
    *,
    stop: int,
) -> IndexedColumn:
    """Return the column with the filters that the engine built for it."""
    column = replace(column, parts=(*column.parts, *result.parts_of(column.name)))
    if column.name not in request.num_distinct:
        return column
    why = result.why_incomplete(column.name)
    if why:
        return replace(column, global_filter=None, no_global=why)
    return _with_values(transaction, column, result.partials_of(column.name), stop=stop)


def _with_values(
    transaction: Transaction,
    column: IndexedColumn,
    partials: list[IndexFile | Sbbf],
    *,
    stop: int,
) -> IndexedColumn:
    """Return the column with new values in its filter of all files, or with a new filter.

    Args:
        transaction: The action.
        column: The column, with the filter of the last version or without a filter.
        partials: Filters of the new files' values, or the files that hold them.
        stop: The filter then covers all files whose id is below.

    Raises:
        IndexProblem: If the last version's filter is broken.
        OSError: If a filter cannot be read, or the new one not be written.
    """
    old = column.global_filter
    merged = merge_partials(
        partials if old is None else [old.file, *partials],
        column.fpp,
        version_folder=transaction.folder,
        column=column.name,
    )
    if isinstance(merged, str):
        return replace(column, global_filter=None, no_global=merged)
    if old is not None and merged.fpp > MAX_EXCESS * column.fpp:
        why = (
            f"with the new values it would let {percent(merged.fpp)} of all absent ones pass; "
            "refresh it in full to have one"
        )
        return replace(column, global_filter=None, no_global=why)
    whole = GlobalFilter(file=merged.file, fpp=merged.fpp, ndv=merged.ndv, stop=stop)
    return replace(column, global_filter=whole, no_global="")
