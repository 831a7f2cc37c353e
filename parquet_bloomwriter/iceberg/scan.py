"""pyiceberg's scan of a table: the files that it plans, and their rows.

pyiceberg applies deletes, finds columns by their ids, casts types that were promoted, and fills in
columns that a file lacks. In files without deletes, row groups can be skipped; files with deletes
are read as a whole, because deletes count rows from the file's first row.

`_to_requested_schema`, `_get_column_projection_values`, `_read_all_delete_files` and the like are
private functions of pyiceberg: therefore one minor version of it is required (`catalog`).
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyiceberg.exceptions import ResolveError, ValidationError
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.manifest import FileFormat
from pyiceberg.schema import Schema

from parquet_bloomwriter.errors import TableProblem, UnsupportedTable
from parquet_bloomwriter.text import clipped, safe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyiceberg.io import FileIO
    from pyiceberg.io.pyarrow import ArrowScan
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import DataScan, FileScanTask
    from pyiceberg.table.metadata import TableMetadata

_BUFFER_BYTES = 8 * 1024 * 1024
"""Size of the read buffer, bytes, as pyiceberg sets it for Parquet."""


def plan(scan: DataScan, name: str) -> list[FileScanTask]:
    """Return the files that a scan would read, with the delete files that apply to each.

    Args:
        scan: The scan.
        name: Name of the table, for messages.

    Raises:
        UnsupportedTable: If pyiceberg cannot apply the table's deletes.
        TableProblem: If a manifest is missing.
    """
    with scan_errors(name):
        return list(scan.plan_files())


def new_scan(metadata: TableMetadata, io: FileIO, snapshot_id: int) -> DataScan:
    """Return a scan of all rows of a snapshot.

    Args:
        metadata: The table's metadata.
        io: Opens the table's files.
        snapshot_id: Id of the snapshot.
    """
    from pyiceberg.table import DataScan

    return DataScan(metadata, io, snapshot_id=snapshot_id)


def is_parquet(file: DataFile) -> bool:
    """Return whether a data file is in Parquet, and not in ORC or Avro."""
    return bool(file.file_format == FileFormat.PARQUET)


def schema_of(schema: Schema, names: Sequence[str]) -> Schema:
    """Return the schema of some columns, in the table's order; without names, of the first column.

    pyiceberg loses the number of rows of batches without columns.
    """
    return Schema(*([one for one in schema.fields if one.name in names] or schema.fields[:1]))


def arrow_schema(schema: Schema) -> pa.Schema:
    """Return the Arrow schema that pyiceberg uses for a table's schema."""
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    return schema_to_pyarrow(schema, include_field_ids=False)


@dataclass(frozen=True, kw_only=True, eq=False)
class TaskReader:
    """Reads the rows of planned files."""

    metadata: TableMetadata
    io: FileIO

    schema: Schema
    """Schema of the columns to return."""

    tasks: Sequence[FileScanTask]

    @cached_property
    def arrow(self) -> pa.Schema:
        """Arrow schema of all batches."""
        return arrow_schema(self.schema)

    @cached_property
    def _scan(self) -> ArrowScan:
        from pyiceberg.io.pyarrow import ArrowScan

        return ArrowScan(self.metadata, self.io, self.schema, AlwaysTrue())

    @cached_property
    def _deletes(self) -> dict[str, Any]:
        """Deleted rows, from position deletes, by the data file's path."""
        from pyiceberg.io.pyarrow import _read_all_delete_files

        tasks = [one for one in self.tasks if one.delete_files]
        return _read_all_delete_files(self.io, tasks) if tasks else {}

    def prepare(self, name: str) -> None:
        """Read the delete files, before several threads read data files.

        Args:
            name: Name of the table, for messages.

        Raises:
            UnsupportedTable, TableProblem: As `batches`.
        """
        with scan_errors(name):
            _ = self._deletes

    def batches(
        self, task: FileScanTask, row_groups: Sequence[int] | None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file that are not deleted, in order.

        Args:
            task: The file.
            row_groups: Ordinals of those that are needed; None for all. More may be read.

        Raises:
            UnsupportedTable: If pyiceberg does not support what the file has.
            TableProblem: If the file is missing.
            OSError, pyarrow.ArrowException: If it cannot be read.
        """
        with scan_errors(task.file.file_path):
            if row_groups is None or task.delete_files or not is_parquet(task.file):
                # Its public face would read the delete files anew for each file.
                found = self._scan._record_batches_from_scan_tasks_and_deletes  # noqa: SLF001
                stored = found([task], self._deletes)
            else:
                stored = self._of_row_groups(task, row_groups)
            for batch in stored:
                yield from _cast(batch, self.arrow)

    def _of_row_groups(
        self, task: FileScanTask, row_groups: Sequence[int]
    ) -> Iterator[pa.RecordBatch]:
        """Read some row groups of a Parquet file without deletes, as pyiceberg reads files."""
        import pyarrow.dataset as ds
        from pyiceberg.io import pyarrow as by_pyiceberg
        from pyiceberg.schema import prune_columns

        metadata = self.metadata
        narrows = metadata.format_version <= 2  # noqa: PLR2004  nanoseconds came with version 3
        with self.io.new_input(task.file.file_path).open() as opened:
            format_ = ds.ParquetFileFormat(pre_buffer=True, buffer_size=_BUFFER_BYTES)
            fragment = format_.make_fragment(opened).subset(row_group_ids=list(row_groups))
            stored = by_pyiceberg.pyarrow_to_schema(
                fragment.physical_schema,
                metadata.name_mapping(),
                downcast_ns_timestamp_to_us=narrows,
                format_version=metadata.format_version,
            )
            missing = by_pyiceberg._get_column_projection_values(  # noqa: SLF001  see above
                task.file,
                self.schema,
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
                        self.schema,
                        read,
                        batch,
                        downcast_ns_timestamp_to_us=narrows,
                        projected_missing_fields=missing,
                        allow_timestamp_tz_mismatch=True,
                    )


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield a batch with the schema's types: files may have string where it has large_string."""
    import pyarrow as pa

    yield from pa.Table.from_batches([batch]).cast(schema).to_batches()


@contextmanager
def scan_errors(name: str) -> Iterator[None]:
    """Raise an error of this library in place of an error of pyiceberg.

    Args:
        name: Name of the table or file.

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
