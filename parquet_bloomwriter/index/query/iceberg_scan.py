"""Scans of pyiceberg, without the files that an index excludes."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from parquet_bloomwriter.iceberg.catalog import check_version
from parquet_bloomwriter.index.files import location
from parquet_bloomwriter.index.query.lookup import look_up_in
from parquet_bloomwriter.index.table.metadata import iceberg_table_at
from parquet_bloomwriter.predicate import parse
from parquet_bloomwriter.predicate.expression import And

if TYPE_CHECKING:
    import os

    from pyiceberg.table import DataScan, FileScanTask


def prune(
    scan: DataScan, filters: object, *, name: str | None, home: str | os.PathLike[str] | None
) -> list[FileScanTask]:
    """Plan a scan; see `index.prune_scan`."""
    check_version()
    from parquet_bloomwriter.iceberg.row_filter import from_iceberg
    from parquet_bloomwriter.iceberg.scan import plan
    from parquet_bloomwriter.scan.iceberg_rows import filter_types
    from parquet_bloomwriter.scan.needed_columns import needed_names
    from parquet_bloomwriter.table_files.iceberg import table_of_scan

    table = table_of_scan(scan)
    tree = from_iceberg(scan.row_filter, filter_types(table))
    if filters is not None:
        further = parse(filters)
        needed_names([one.name for one in table.schema.fields], [], further)
        tree = further if tree is None else And((tree, further))
    tasks = plan(scan, table.path)
    if tree is None or not tasks:
        return tasks
    asked = dataclasses.replace(iceberg_table_at(table), planned=[one.file for one in tasks])
    found = look_up_in(asked.root, tree, managed=asked, name=name, home=home)
    kept = set(found.paths)
    return [one for one in tasks if location(asked.root, asked.identity(one.file)) in kept]
