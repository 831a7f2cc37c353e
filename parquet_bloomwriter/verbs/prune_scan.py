"""The verb `prune_scan`: leave out files of a scan of pyiceberg that cannot match."""

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

    pyiceberg plans by partitions and by the bounds in manifests. Of the files that it keeps, those
    are left out of which footers, filters and small dictionaries tell that no row passes. It takes
    the condition from the scan: comparisons of whole numbers, text, dates and moments with
    literals, and IN, joined by AND and OR; other parts of it leave out nothing.

    Args:
        scan: What `table.scan(...)` returns.
        filters: A further condition by which files are left out, not rows: as for `probe`.
        dialect: What Bloom filters are taken for whose headers do not name their hash: as for
            `probe`.
        murmur3_seed: As for `probe`.

    Returns:
        Tasks of `scan.plan_files()`, in the same order. A file that cannot be read might match.

    Raises:
        InvalidArgument: If the filters cannot be understood; if pyiceberg is of another version
            than is supported.
        ColumnNotFound: If the filters name a column that the table has not.
        UnsupportedTable: If pyiceberg cannot plan the scan, because of equality deletes.
        TableProblem: If a manifest is missing.
    """
    check_version()
    from parquet_bloomwriter.iceberg.row_filter import from_iceberg
    from parquet_bloomwriter.iceberg.scan import plan
    from parquet_bloomwriter.scan.iceberg_rows import filter_types, surviving
    from parquet_bloomwriter.scan.needed_columns import needed_names
    from parquet_bloomwriter.table_files.iceberg import table_of_scan

    table = table_of_scan(scan)
    tree = from_iceberg(scan.row_filter, filter_types(table))
    if filters is not None:
        further = parse(filters)
        needed_names([one.name for one in table.schema.fields], [], further)
        tree = And((tree, further))
    tasks = plan(scan, table.path)
    kind = HashKind(dialect, murmur3_seed)
    return [piece.task for piece in surviving(table, tasks, tree, kind)]
