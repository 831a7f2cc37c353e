"""The public functions for indexes: each finds the index, does one thing, and returns a report."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_bloomwriter.index.actions import lifecycle
from parquet_bloomwriter.index.config import (
    DEFAULT_FPP,
    MAX_FILE_BYTES,
    MAX_TOTAL_BYTES,
    config_for,
)
from parquet_bloomwriter.index.describe import describe, with_changes
from parquet_bloomwriter.index.handle import IndexHandle, indexes_in, not_found
from parquet_bloomwriter.index.layout import is_among
from parquet_bloomwriter.index.table.metadata import state_of
from parquet_bloomwriter.index.table.ref import TableRef

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, TypeAlias

    from pyiceberg.table import DataScan, FileScanTask

    from parquet_bloomwriter.arguments import Rate
    from parquet_bloomwriter.index.contract import Contract
    from parquet_bloomwriter.index.engine import Engine, Origin, Progress
    from parquet_bloomwriter.index.report import IndexInfo, IndexReport, LookupReport

    StrPath: TypeAlias = str | os.PathLike[str]


def create(  # noqa: PLR0913  all by keyword
    table: StrPath,
    columns: str | Sequence[str],
    *,
    name: str,
    exclude: str | Sequence[str] = (),
    home: StrPath | None = None,
    files: StrPath | Sequence[StrPath] | None = None,
    fpp: Rate | Mapping[str, Rate] = DEFAULT_FPP,
    expected_num_items: int | Mapping[str, int] | None = None,
    origin: Origin = "auto",
    max_file_bytes: int = MAX_FILE_BYTES,
    max_total_bytes: int = MAX_TOTAL_BYTES,
    contract: Contract = "checked",
    slices: bool = True,
    one_writer: bool = False,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> IndexReport:
    """Make an index of a table: for every column, a filter for each file and one for all files.

    The columns, their types in all files, and the size of the index are checked before any work. A
    file that cannot be read, or lacks a column, is always kept by lookups; the report names it.

    Args:
        table: The table's folder; or the URL of a prefix on S3, GCS, Azure or HDFS, such as
            `s3://bucket/prefix`; or iceberg://CATALOG/NAMESPACE.TABLE. A single file only with
            `home`, or with its name in `files`, so that nobody takes the index for its folder's.
        columns: Dotted paths of leaf columns; each gets filters of its own. Patterns, such as
            "*_id", are for all columns that they match and that can be indexed: of the table's
            schema, or, without one, of the first file.
        exclude: Columns, in the same words, and groups, that are not indexed.
        name: One segment of a path: letters, digits, `_`, `.` and `-`.
        home: Folder or URL for the index instead of `_bloom_index` in the table's folder (of an
            Iceberg table: below its location). It may be
            elsewhere than the table: on a disk for a table on a store, or the other way.
        files: The table's files, if they are not all Parquet files of the folder.
        fpp: False positive probability asked for, in (0, 1), or as text: "1%"; for all columns, or
            by column, with patterns as above; "*" is for all that are not named.
        expected_num_items: Distinct values in the whole table, for the size of the filter of all
            files; by default the number of rows.
        origin: "values" builds filters from the values, "embedded" takes the filters that the files
            have, "auto" takes them from files that have them for all row groups.
        max_file_bytes: Largest filter of one file and column, bytes.
        max_total_bytes: Largest index that may be built, bytes, as estimated.
        contract: "checked" looks at each file that is about to be excluded, and keeps it if it has
            changed since it was indexed. "immutable" promises that files are never replaced or
            removed: no file is looked at, and lookups take the files that the index knows for the
            whole table. If the promise is broken, answers lack rows. A Delta table keeps that
            promise by itself, and so does an Iceberg table: their indexes are "immutable" in any
            case, and lookups take the files of the version or snapshot that is asked about from
            the table's metadata.
        slices: Whether columns with filters of a thousand files or more get slices: all bits of
            these filters once more, arranged so that a lookup reads a few long rows instead of a
            block of each filter. They need as many bytes as the filters.
        one_writer: You promise that no other process changes the index at the same time. Needed
            where the index lies on a store that ignores conditional requests; others do not need
            the promise.
        engine: The engine that builds the filters; by default threads of this process.
        progress: Receives the progress of the work.

    Returns:
        The new index, with the files that have no filters, and why.

    Raises:
        ColumnNotFound: If a pattern, or a name that is excluded, matches nothing.
        InvalidArgument: If there is such an index already, a column cannot be indexed, the index
            would be too large, the table is named by a file, or the files belong to a Delta,
            Iceberg or Hudi table that is not named as such.
        IndexBusy: If another process is making the index now.
        OSError: If the index cannot be written.
    """
    from parquet_bloomwriter.index.actions.create import create_index
    from parquet_bloomwriter.index.column_choice import choose_names

    ref = TableRef.of(table)
    choice = choose_names(ref, columns, exclude, files=files)
    items = expected_num_items
    config = config_for(
        choice.names,
        fpp=choice.by_name(fpp) if isinstance(fpp, Mapping) else fpp,
        expected_num_items=choice.by_name(items) if isinstance(items, Mapping) else items,
        origin=origin,
        max_file_bytes=max_file_bytes,
        max_total_bytes=max_total_bytes,
        contract=contract,
        slices=slices,
    )
    handle = IndexHandle.new(ref, name, home, one_writer=one_writer)
    return create_index(handle, config, files=files, engine=engine, progress=progress)


def refresh(  # noqa: PLR0913  all by keyword
    table: StrPath,
    name: str | None = None,
    *,
    mode: Literal["incremental", "full", "quick"] = "incremental",
    home: StrPath | None = None,
    files: StrPath | Sequence[StrPath] | None = None,
    one_writer: bool = False,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> IndexReport:
    """Bring an index up to date with the files that the table has now.

    Lookups by an old index are right, too: they keep every file that the index does not know. If
    no file has changed, nothing is done.

    Args:
        table: As for `create`.
        name: Name of the index; by default the only one of the table that is not deleted.
        mode: "incremental" builds filters for new files and adds their values to the filter of all
            files. "quick" does not add them: that filter then does not cover the new files. "full"
            builds everything anew.
        home: As for `create`.
        files: As for `create`.
        one_writer: As for `create`.
        engine: As for `create`.
        progress: As for `create`.

    Raises:
        IndexNotFound: If there is no such index.
        InvalidArgument: If no name is given and the table has several indexes, the index was
            deleted, a column cannot be indexed any more, or the files belong to a Delta, Iceberg or
            Hudi table by now.
        IndexBusy: If another action is changing the index.
        OSError: If the index cannot be written.
    """
    from parquet_bloomwriter.index.actions.refresh import refresh_index

    handle = IndexHandle.find(
        TableRef.of(table), name, home, passes_over_deleted=True, one_writer=one_writer
    )
    return refresh_index(handle, mode, files=files, engine=engine, progress=progress)


def optimize(
    table: StrPath,
    name: str | None = None,
    *,
    home: StrPath | None = None,
    slices: bool | None = None,
    one_writer: bool = False,
) -> IndexReport:
    """Join small files of an index, and drop the filters of data files that are gone.

    Filters are copied unchanged. Slices that are missing, damaged, or without the filters of many
    files are written anew. If there is nothing to do, nothing is done.

    Args:
        table: As for `create`.
        name: Name of the index; by default the only one of the table that is not deleted.
        home: As for `create`.
        slices: Whether the index has slices from now on, as for `create`; None leaves that as it
            is.
        one_writer: As for `create`.

    Raises:
        IndexNotFound: If there is no such index.
        InvalidArgument: If no name is given and the table has several indexes, or the index was
            deleted.
        IndexBusy: If another action is changing the index.
        OSError: If the index cannot be written.
    """
    from parquet_bloomwriter.index.actions.optimize import optimize_index

    handle = IndexHandle.find(
        TableRef.of(table), name, home, passes_over_deleted=True, one_writer=one_writer
    )
    return optimize_index(handle.log, slices=slices)


def vacuum(
    table: StrPath,
    name: str | None = None,
    *,
    home: StrPath | None = None,
    one_writer: bool = False,
) -> IndexReport:
    """Remove files of an index that are no longer needed; of a deleted index, all.

    Queries that still use an older version go on without an index.

    Args:
        table: As for `create`.
        name: Name of the index; by default the only one of the table.
        home: As for `create`.
        one_writer: As for `create`.

    Raises:
        IndexNotFound: If there is no such index.
        InvalidArgument: If no name is given, and the table has several indexes.
        IndexBusy: If another action is changing the index.
        OSError: If a file cannot be removed.
    """
    handle = IndexHandle.find(TableRef.of(table), name, home, one_writer=one_writer)
    return lifecycle.vacuum(handle.log)


def delete(
    table: StrPath,
    name: str | None = None,
    *,
    home: StrPath | None = None,
    one_writer: bool = False,
) -> IndexReport:
    """Stop lookups from using an index. Its files stay until `vacuum`; `restore` undoes it.

    Args:
        table: As for `create`.
        name: Name of the index; by default the only one of the table.
        home: As for `create`.
        one_writer: As for `create`.

    Raises:
        IndexNotFound: If there is no such index.
        InvalidArgument: If no name is given and the table has several indexes, or the index is
            deleted already.
        IndexBusy: If another action is changing the index.
    """
    handle = IndexHandle.find(TableRef.of(table), name, home, one_writer=one_writer)
    return lifecycle.delete(handle.log)


def restore(
    table: StrPath,
    name: str | None = None,
    *,
    home: StrPath | None = None,
    one_writer: bool = False,
) -> IndexReport:
    """Let lookups use a deleted index again.

    Args:
        table: As for `create`.
        name: Name of the index; by default the only one of the table.
        home: As for `create`.
        one_writer: As for `create`.

    Raises:
        IndexNotFound: If there is no such index.
        InvalidArgument: If no name is given and the table has several indexes, or the index is not
            deleted.
        IndexBusy: If another action is changing the index.
    """
    handle = IndexHandle.find(TableRef.of(table), name, home, one_writer=one_writer)
    return lifecycle.restore(handle.log)


def cancel(
    table: StrPath,
    name: str | None = None,
    *,
    home: StrPath | None = None,
    one_writer: bool = False,
) -> IndexReport:
    """End an action on an index whose process died or takes too long.

    The last stable version counts again, and files that were written since are removed. An action
    that is still at work notices when it ends, and fails. If no action is at work, nothing is done.

    Args:
        table: As for `create`.
        name: Name of the index; by default the only one of the table.
        home: As for `create`.
        one_writer: As for `create`.

    Raises:
        IndexNotFound: If there is no such index.
        InvalidArgument: If no name is given, and the table has several indexes.
        IndexBusy: If another process has changed the index at the same time.
    """
    handle = IndexHandle.find(TableRef.of(table), name, home, one_writer=one_writer)
    return lifecycle.cancel(handle.log)


def indexes(
    table: StrPath, *, home: StrPath | None = None, changes: bool = False
) -> tuple[IndexInfo, ...]:
    """List the indexes of a table, by name; a broken index is listed with its problem.

    Args:
        table: As for `create`.
        home: As for `create`.
        changes: Also look for files that were appended or deleted since the last refresh.

    Raises:
        InvalidArgument: If there is no such table.
    """
    ref = TableRef.of(table)
    infos = indexes_in(ref.home(home))
    return tuple(_with_changes(ref, info, None) if changes else info for info in infos)


def index(
    table: StrPath,
    name: str | None = None,
    *,
    home: StrPath | None = None,
    changes: bool = True,
    files: StrPath | Sequence[StrPath] | None = None,
) -> IndexInfo:
    """Describe one index.

    Args:
        table: As for `create`.
        name: Name of the index; by default the only one of the table that is not deleted.
        home: As for `create`.
        changes: Also look for files that were appended or deleted since the last refresh.
        files: As for `create`.

    Raises:
        IndexNotFound: If there is no such index.
        InvalidArgument: If no name is given, and the table has several indexes.
    """
    handle = IndexHandle.find(TableRef.of(table), name, home, passes_over_deleted=True)
    info = describe(handle.folder)
    if info is None:
        raise not_found(*os.path.split(handle.folder))
    return _with_changes(handle.table, info, files) if changes else info


def lookup(  # noqa: PLR0913  all by keyword
    table: StrPath,
    filters: object,
    *,
    name: str | None = None,
    home: StrPath | None = None,
    files: StrPath | Sequence[StrPath] | None = None,
    version: int | None = None,
    snapshot: int | None = None,
    branch: str | None = None,
) -> LookupReport:
    """Find the files that can hold rows for which a predicate is true, without opening any.

    Data files are opened only if the predicate names a column that no index has, until one of them
    has the column. All active indexes of the table are used. A file that an index excludes is left
    out; a file that no index knows as it is now is kept in any case. If the contract of all these
    indexes is "immutable", the table is not listed, and no file is looked at: files that were added
    since the last refresh are not found.

    Args:
        table: As for `create`; or a folder within the table, or a file of it.
        filters: SQL, pyarrow's lists or a pyarrow expression, as `probe` takes them.
        name: Name of the only index to use; by default all are used.
        home: As for `create`.
        files: As for `create`.
        version: Of a Delta table: the version asked about, by default the last. The log says
            which files it has; those that no index knows are kept.
        snapshot: Of an Iceberg table: the id of the snapshot asked about, by default the last one
            of the branch.
        branch: Of an Iceberg table: the branch, by default `main`.

    Raises:
        IndexNotFound: If there is no such index, or the table has no index.
        InvalidArgument: If the predicate cannot be understood, or there is no such table.
        ColumnNotFound: If a column of the predicate is in no index, and in none of the files.
        TableProblem: If the metadata of a Delta or Iceberg table cannot be read.
    """
    from parquet_bloomwriter.index.query.lookup import look_up
    from parquet_bloomwriter.predicate import parse

    expression = parse(filters)
    ref = TableRef.of(table, snapshot=snapshot, branch=branch)
    return look_up(ref, expression, name=name, home=home, files=files, version=version)


def prune_scan(
    scan: DataScan,
    filters: object = None,
    *,
    name: str | None = None,
    home: StrPath | None = None,
) -> list[FileScanTask]:
    """Plan a scan of pyiceberg, without the files that an index excludes; no data file is opened.

        from pyiceberg.io.pyarrow import ArrowScan

        scan = table.scan("id = 42")
        tasks = index.prune_scan(scan)
        reader = ArrowScan(scan.table_metadata, scan.io, scan.projection(), scan.row_filter)
        rows = reader.to_table(tasks)

    Args:
        scan: What `table.scan(...)` returns.
        filters: A further condition by which files are left out, not rows: as for `lookup`.
        name: Name of the only index to use; by default all of the table are used.
        home: As for `create`.

    Returns:
        Tasks of `scan.plan_files()`, in the same order. A file that no index knows might match.

    Raises:
        IndexNotFound: If there is no such index, or the table has no index.
        InvalidArgument: If the filters cannot be understood; if pyiceberg is of another version
            than is supported.
        ColumnNotFound: If the filters name a column that the table has not.
        UnsupportedTable: If pyiceberg cannot plan the scan, because of equality deletes.
        TableProblem: If a manifest is missing.
    """
    from parquet_bloomwriter.index.query.lookup import prune

    return prune(scan, filters, name=name, home=home)


def _with_changes(
    table: TableRef, info: IndexInfo, files: StrPath | Sequence[StrPath] | None
) -> IndexInfo:
    """Add the changes of the table since the last refresh to the description of an index."""
    from parquet_bloomwriter.index.table.data_files import current_files

    if not info.root:
        return info
    if not is_among(info.root, [table.root]):
        return replace(info, problem=f'it is of another table, "{info.root}"')
    state = state_of(info.options)
    if problem := table.why_unnamed(state):
        return replace(info, problem=problem)
    metadata = None if state is None else table.opened(state, root=info.root)
    if metadata is not None:
        return with_changes(info, metadata.files())
    return with_changes(info, current_files(table, files, root=info.root))
