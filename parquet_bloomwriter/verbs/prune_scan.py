"""The verb `prune_scan`: exclude the files of a scan of pyiceberg that cannot match."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.hashing import HashKind
from parquet_bloomwriter.iceberg.catalog import check_version
from parquet_bloomwriter.predicate import parse
from parquet_bloomwriter.predicate.expression import And

if TYPE_CHECKING:
    from pyiceberg.table import DataScan, FileScanTask

    from parquet_bloomwriter.hashing import Dialect
    from parquet_bloomwriter.predicate import Filters


def prune_scan(
    scan: DataScan,
    filters: Filters | None = None,
    *,
    dialect: Dialect = "xxhash",
    murmur3_seed: int = 0,
) -> list[FileScanTask]:
    """Plan a scan of pyiceberg, without the files that cannot match by their Bloom filters.

        from pyiceberg.io.pyarrow import ArrowScan

        scan = table.scan("id = 42")
        tasks = prune_scan(scan)
        reader = ArrowScan(scan.table_metadata, scan.io, scan.projection(), scan.row_filter)
        rows = reader.to_table(tasks)

    pyiceberg plans by partitions and by the bounds in manifests. From the files that it keeps,
    `prune_scan` excludes every file whose footer, filters and small dictionaries show that no row
    passes. The condition is the condition of the scan. Comparisons of integers, text, dates and
    timestamps with literals, and IN, joined by AND and OR, exclude files. Other parts of the
    condition exclude nothing.

    Args:
        scan: The result of `table.scan(...)`.
        filters: A further condition, as for `probe`. It excludes files, but does not filter rows.
        dialect: The hash function of Bloom filters whose headers do not name it: as for `probe`.
        murmur3_seed: As for `probe`.

    Returns:
        Tasks of `scan.plan_files()`, in the same order. A file that cannot be read might match.

    Raises:
        InvalidArgument: If the filters cannot be understood; if the version of pyiceberg is not
            supported.
        ColumnNotFound: If the filters name a column that the table does not have.
        UnsupportedTable: If pyiceberg cannot plan the scan, because of equality deletes.
        TableProblem: If a manifest is missing.
    """
    check_version()
    from parquet_bloomwriter.iceberg.row_filter import from_iceberg
    from parquet_bloomwriter.iceberg.scan import plan
    from parquet_bloomwriter.scan.iceberg_rows import filter_types, surviving
    from parquet_bloomwriter.scan.needed_columns import needed_names
    from parquet_bloomwriter.table_files.iceberg import IcebergTable

    table = IcebergTable.of_scan(scan)
    tree = from_iceberg(scan.row_filter, filter_types(table))
    if filters is not None:
        further = parse(filters)
        needed_names([one.name for one in table.schema.fields], [], further)
        tree = And((tree, further))
    tasks = plan(scan, table.path)
    kind = HashKind(dialect, murmur3_seed)
    return [piece.task for piece in surviving(table, tasks, tree, kind)]
