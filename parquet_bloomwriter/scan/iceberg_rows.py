"""The rows of an Iceberg table: those of its files that survive probing, as pyiceberg returns them.

pyiceberg plans the scan: which files there are, and which delete files apply to each. Files that
cannot match are dropped from the plan; delete files only take rows away, so that needs no look at
them. pyiceberg then reads what is left: it applies deletes, finds columns by their ids, casts types
that were promoted, and fills in columns that a file lacks. Of files without deletes only the row
groups that might match are decoded; of files with deletes all are, as deletes count rows from the
file's first one. At last pyarrow evaluates condition and projection, as for all tables.

`_to_requested_schema`, `_get_column_projection_values` and `_read_all_delete_files` are pyiceberg's
own, and no promise: that is why one minor version of it is asked for (`iceberg.catalog`).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyiceberg.exceptions import ResolveError, ValidationError
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.manifest import FileFormat
from pyiceberg.schema import Schema

from parquet_bloomwriter.errors import BloomwriterError, TableProblem, UnsupportedTable
from parquet_bloomwriter.parallel import default_jobs
from parquet_bloomwriter.predicate import parse
from parquet_bloomwriter.predicate.iceberg_out import to_iceberg
from parquet_bloomwriter.probing.files import Bindings, probe_locations
from parquet_bloomwriter.scan.needed_columns import needed_names
from parquet_bloomwriter.text import clipped, safe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    import pyarrow.compute as pc
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.io.pyarrow import ArrowScan
    from pyiceberg.table import DataScan, FileScanTask
    from pyiceberg.types import IcebergType

    from parquet_bloomwriter.hashing import HashKind
    from parquet_bloomwriter.predicate import Filters
    from parquet_bloomwriter.predicate.expression import Expression
    from parquet_bloomwriter.scan.table import Projection
    from parquet_bloomwriter.table_files.iceberg import IcebergTable

_FILES_AT_ONCE = 8
"""Files that are decoded at the same time, at most."""

_BUFFER_BYTES = 8 * 1024 * 1024
"""As pyiceberg sets it for Parquet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A file of a scan, and what of it is read."""

    task: FileScanTask

    row_groups: tuple[int, ...] | None
    """Ordinals of those that might match; None for all."""


@dataclass(frozen=True, kw_only=True, eq=False)
class IcebergRows:
    """A table, what of it is asked for, and where that may be."""

    table: IcebergTable
    needed: Schema
    """The columns that are needed, in the table's order."""

    projection: Projection | None
    condition: pc.Expression | None
    pieces: tuple[Piece, ...]

    @classmethod
    def of(
        cls,
        table: IcebergTable,
        *,
        columns: Projection | None,
        filters: Filters | None,
        hash_kind: HashKind,
    ) -> IcebergRows:
        """Find out which columns, files and row groups are needed.

        Raises:
            ColumnNotFound: If the table has no such column.
            InvalidArgument: If the filters cannot be understood, or compared with the columns.
            UnsupportedTable: If pyiceberg cannot read the table.
            TableProblem: If its metadata cannot be read.
        """
        tree = None if filters is None else parse(filters)
        names = needed_names([one.name for one in table.schema.fields], columns, tree)
        # pyiceberg loses the number of rows of a batch without columns.
        every = table.schema.fields
        needed = Schema(*([one for one in every if one.name in names] or every[:1]))
        condition = None
        if filters is not None and tree is not None:
            condition = to_arrow(
                tree if isinstance(filters, str) else filters, arrow_schema(needed)
            )
        tasks = plan(table, tree)
        return cls(
            table=table,
            needed=needed,
            projection=columns,
            condition=condition,
            pieces=tuple(surviving(table, tasks, tree, hash_kind)),
        )

    @cached_property
    def schema(self) -> pa.Schema:
        """Of the columns that are needed, with the types that pyiceberg has for them."""
        return arrow_schema(self.needed)

    def read(self, *, use_threads: bool) -> pa.Table:
        """Return all rows asked for, in the order of the plan.

        Raises:
            As `batches`.
        """
        import pyarrow as pa

        deletes = self._deletes()

        def one(piece: Piece) -> pa.Table:
            with _pyiceberg_errors(piece.task.file.file_path):
                batches = [self._cast(batch) for batch in self._batches(piece, deletes)]
                return self._answer(pa.concat_tables([self.schema.empty_table(), *batches]))

        empty = self._answer(self.schema.empty_table())
        at_once = min(_FILES_AT_ONCE, default_jobs()) if use_threads else 1
        with ThreadPoolExecutor(at_once) as pool:
            try:
                parts = list(pool.map(one, self.pieces))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return pa.concat_tables([empty, *parts])

    def batches(self, *, batch_size: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows asked for, file by file.

        Raises:
            UnsupportedTable: If pyiceberg cannot return a file's rows as the table's.
            TableProblem: If a file is missing.
            OSError, pyarrow.ArrowException: If a file cannot be read.
        """
        deletes = self._deletes()
        for piece in self.pieces:
            with _pyiceberg_errors(piece.task.file.file_path):
                for rows in map(self._cast, self._batches(piece, deletes)):
                    for batch in self._answer(rows).to_batches(max_chunksize=batch_size):
                        if batch.num_rows:
                            yield batch

    @cached_property
    def _scan(self) -> ArrowScan:
        from pyiceberg.io.pyarrow import ArrowScan

        return ArrowScan(self.table.metadata, self.table.io, self.needed, AlwaysTrue())

    def _deletes(self) -> dict[str, Any]:
        """Return which rows position deletes take from files, by their paths."""
        from pyiceberg.io.pyarrow import _read_all_delete_files

        tasks = [one.task for one in self.pieces if one.task.delete_files]
        if not tasks:
            return {}
        with _pyiceberg_errors(self.table.path):
            return _read_all_delete_files(self.table.io, tasks)

    def _batches(self, piece: Piece, deletes: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        if piece.row_groups is not None and not piece.task.delete_files:
            return self._of_row_groups(piece.task, piece.row_groups)
        return self._scan._record_batches_from_scan_tasks_and_deletes([piece.task], deletes)  # noqa: SLF001  its public face reads the deletes again for each file

    def _of_row_groups(
        self, task: FileScanTask, row_groups: Sequence[int]
    ) -> Iterator[pa.RecordBatch]:
        """Read a Parquet file without deletes as pyiceberg does, but only some row groups."""
        import pyarrow.dataset as ds
        from pyiceberg.io import pyarrow as by_pyiceberg
        from pyiceberg.schema import prune_columns

        metadata = self.table.metadata
        narrows = metadata.format_version <= 2  # noqa: PLR2004  nanoseconds came with version 3
        with self.table.io.new_input(task.file.file_path).open() as opened:
            fragment = ds.ParquetFileFormat(
                pre_buffer=True, buffer_size=_BUFFER_BYTES
            ).make_fragment(opened, row_groups=list(row_groups))
            stored = by_pyiceberg.pyarrow_to_schema(
                fragment.physical_schema,
                metadata.name_mapping(),
                downcast_ns_timestamp_to_us=narrows,
                format_version=metadata.format_version,
            )
            missing = by_pyiceberg._get_column_projection_values(  # noqa: SLF001  see above
                task.file,
                self.needed,
                metadata.schema(),
                metadata.specs().get(task.file.spec_id),
                stored.field_ids,
            )
            read = prune_columns(stored, self._scan._projected_field_ids, select_full_types=False)  # noqa: SLF001  see above
            scanner = ds.Scanner.from_fragment(
                fragment=fragment,
                schema=fragment.physical_schema,
                columns=[one.name for one in read.columns],
            )
            for batch in scanner.to_batches():
                if batch.num_rows:
                    yield by_pyiceberg._to_requested_schema(  # noqa: SLF001  see above
                        self.needed,
                        read,
                        batch,
                        downcast_ns_timestamp_to_us=narrows,
                        projected_missing_fields=missing,
                        allow_timestamp_tz_mismatch=True,
                    )

    def _cast(self, batch: pa.RecordBatch) -> pa.Table:
        """Return a batch with the table's types: files may have string for large_string."""
        import pyarrow as pa

        return pa.Table.from_batches([batch]).cast(self.schema)

    def _answer(self, rows: pa.Table) -> pa.Table:
        """Return what of some rows is asked for."""
        import pyarrow.dataset as ds

        if self.condition is None and self.projection is None:
            return rows
        scanned = ds.dataset(rows)
        return scanned.to_table(columns=self.projection, filter=self.condition, use_threads=False)


def plan(table: IcebergTable, tree: Expression | None) -> list[FileScanTask]:
    """Return the files that pyiceberg would read, and the delete files that apply to each.

    Raises:
        UnsupportedTable: If pyiceberg cannot apply the table's deletes.
        TableProblem: If the manifests cannot be read.
    """
    if table.snapshot_id is None:
        return []
    from pyiceberg.table import DataScan

    row_filter: BooleanExpression = AlwaysTrue()
    if tree is not None:
        row_filter = to_iceberg(tree, _types(table))
    scan = DataScan(table.metadata, table.io, row_filter, snapshot_id=table.snapshot_id)
    return plan_of(scan, table.path)


def plan_of(scan: DataScan, name: str) -> list[FileScanTask]:
    """Return the files of a scan of pyiceberg.

    Args:
        scan: The scan.
        name: Of the table, for messages.

    Raises:
        As `plan`.
    """
    with _pyiceberg_errors(name):
        return list(scan.plan_files())


def surviving(
    table: IcebergTable,
    tasks: Sequence[FileScanTask],
    tree: Expression | None,
    hash_kind: HashKind,
) -> Iterator[Piece]:
    """Yield the files that might have rows, and the row groups; all where nothing is known.

    Raises:
        ColumnNotFound: If the predicate names a column that the table has not.
    """
    if tree is None:
        yield from (Piece(task=one, row_groups=None) for one in tasks)
        return
    files = [table.file(one.file) for one in tasks]
    try:
        found = probe_locations(files, Bindings.of(tree, hash_kind)).files
    except (BloomwriterError, OSError):
        yield from (Piece(task=one, row_groups=None) for one in tasks)
        return
    for task, probe in zip(tasks, found, strict=True):
        is_read = task.file.file_format == FileFormat.PARQUET and probe.error is None
        if not is_read:
            yield Piece(task=task, row_groups=None)
        elif probe.known is not None and probe.surviving:
            yield Piece(task=task, row_groups=tuple(probe.surviving))


def _types(table: IcebergTable) -> dict[str, IcebergType]:
    """Return the columns that a scan may be planned by: pyiceberg knows the last schema only."""
    last = table.metadata.schema()
    found = {}
    for name, several in table.plain_fields.items():
        one = last.find_column_name(several[0].field_id) == name
        if one and len(several) == 1:
            found[name] = last.find_type(several[0].field_id)
    return found


def arrow_schema(schema: Schema) -> pa.Schema:
    """Return a schema with the types that pyiceberg has for its columns."""
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    return schema_to_pyarrow(schema, include_field_ids=False)


@contextmanager
def _pyiceberg_errors(name: str) -> Iterator[None]:
    """Let what pyiceberg cannot read become an error of ours.

    Args:
        name: Of the table or file.

    Raises:
        UnsupportedTable: If pyiceberg does not support what the table has.
        TableProblem: If a file is missing.
    """
    import pyarrow as pa

    try:
        yield
    except pa.ArrowException:
        raise
    except FileNotFoundError as error:
        raise TableProblem("a file of the table is missing", path=name) from error
    except (ResolveError, ValidationError, ValueError, NotImplementedError) as error:
        words = clipped(safe(str(error)))
        if "equality delete" in words:
            raise UnsupportedTable(
                "the table has equality deletes, which pyiceberg does not apply",
                path=name,
                remedy="Read its rows with DuckDB (iceberg_scan) or Spark.",
            ) from error
        raise UnsupportedTable(f"pyiceberg cannot read the table: {words}", path=name) from error
