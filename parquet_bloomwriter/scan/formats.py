"""Rows, fragments and schemas of Delta and Iceberg tables, by the modules of each format."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from parquet_bloomwriter.table_files.files import ICEBERG

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pyarrow as pa

    from parquet_bloomwriter.hashing import HashKind
    from parquet_bloomwriter.predicate import Filters
    from parquet_bloomwriter.scan.iceberg_rows import IcebergRows
    from parquet_bloomwriter.scan.logical_rows import LogicalTable
    from parquet_bloomwriter.scan.table import Projection, TableFiles
    from parquet_bloomwriter.table_files.delta import DeltaTable
    from parquet_bloomwriter.table_files.files import Table
    from parquet_bloomwriter.table_files.iceberg import IcebergTable


def rows_of(  # noqa: PLR0913  all but the table by keyword
    table: Table,
    *,
    columns: Projection | None,
    filters: Filters | None,
    hash_kind: HashKind,
    selects_rows: bool = True,
    among: Collection[str] | None = None,
) -> LogicalTable | IcebergRows:
    """Choose the columns, files and row groups of a table that a query needs.

    Args:
        table: Of either format.
        columns: What is returned; None for all columns.
        filters: What is asked for; None for all rows.
        hash_kind: The hash function of filters whose headers do not name it.
        selects_rows: False to return all rows of the row groups that might match, for a caller that
            selects them by rules of its own.
        among: Keys of the only files that might match (`scan.named_files`); None if not known.

    Raises:
        ColumnNotFound: If the table has no such column.
        InvalidArgument: If the filters cannot be understood, or compared with the columns.
        UnsupportedTable: If the table has what cannot be returned.
        TableProblem: If its metadata contradict themselves, or cannot be read.
    """
    if table.kind == ICEBERG:
        from parquet_bloomwriter.scan.iceberg_rows import IcebergRows

        return IcebergRows.of(
            cast("IcebergTable", table),
            columns=columns,
            filters=filters,
            hash_kind=hash_kind,
            selects_rows=selects_rows,
            among=among,
        )
    from parquet_bloomwriter.scan.logical_rows import LogicalTable

    return LogicalTable.of(
        cast("DeltaTable", table),
        columns=columns,
        filters=filters,
        hash_kind=hash_kind,
        selects_rows=selects_rows,
        among=among,
    )


def fragments_of(table: Table, filters: Filters) -> TableFiles:
    """Return the files of a table as fragments of a pyarrow dataset.

    Raises:
        InvalidArgument: If the filters cannot be understood.
        UnsupportedTable: If a dataset cannot express what the table is.
        TableProblem: If its metadata contradict themselves, or cannot be read.
    """
    if table.kind == ICEBERG:
        from parquet_bloomwriter.scan.iceberg_rows import as_fragments as of_iceberg

        return of_iceberg(cast("IcebergTable", table), filters)
    from parquet_bloomwriter.scan.logical_rows import as_fragments

    return as_fragments(cast("DeltaTable", table), filters)


def schema_of(table: Table, columns: Sequence[str] | None) -> pa.Schema:
    """Return the Arrow schema of a table, with all columns or some.

    Args:
        table: Of either format.
        columns: Those that are needed, at least; None for all.

    Raises:
        UnsupportedTable: If one of these columns cannot be returned.
    """
    if table.kind == ICEBERG:
        from parquet_bloomwriter.iceberg.scan import arrow_schema

        return arrow_schema(cast("IcebergTable", table).schema)
    import pyarrow as pa

    from parquet_bloomwriter.scan.logical_types import fields_of

    delta = cast("DeltaTable", table)
    fields = fields_of(delta.snapshot.metadata.schema, delta.mapping)
    wanted = None if columns is None else set(columns)
    return pa.schema([field.arrow for field in fields if wanted is None or field.name in wanted])
