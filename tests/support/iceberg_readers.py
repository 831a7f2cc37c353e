"""What readers see in an Iceberg table: pyiceberg, DuckDB's extension, and Polars."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow.parquet as pq
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFileContent
from pyiceberg.table import FileScanTask

from tests.support.delta_real import Spelled, bag
from tests.support.duckdb_tables import iceberg_rows

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from pyiceberg.manifest import ManifestEntry
    from pyiceberg.table import Table

Row: TypeAlias = dict[str, Any]


def by_pyiceberg(
    table: Table, *, snapshot_id: int | None = None, where: str | None = None
) -> list[Row]:
    """Read a table by pyiceberg.

    Args:
        table: The table, as it was loaded.
        snapshot_id: Of the snapshot; the current one by default.
        where: A condition, in pyiceberg's words.

    Raises:
        ValueError: If the table has equality deletes.
    """
    options: dict[str, Any] = {"snapshot_id": snapshot_id} if snapshot_id is not None else {}
    if where is not None:
        options["row_filter"] = where
    rows: list[Row] = table.scan(**options).to_arrow().to_pylist()
    return rows


def by_polars(table: Table, *, snapshot_id: int | None = None) -> list[Row]:
    """Read a table by Polars.

    Raises:
        Exception: Of pyiceberg or Polars, if the table has equality deletes.
    """
    import polars as pl

    with warnings.catch_warnings():
        # There is a faster planner, which is not installed.
        warnings.simplefilter("ignore", pl.exceptions.PerformanceWarning)
        found = pl.scan_iceberg(table, snapshot_id=snapshot_id).collect()
    rows: list[Row] = found.to_arrow().to_pylist()
    return rows


def by_specification(table: Table, *, snapshot_id: int | None = None) -> list[Row]:
    """Read a table as the specification has it, with equality deletes; slowly.

    Columns are found by field id. A position delete applies to files of its partition that are not
    newer, an equality delete to those that are older. Format versions 1 and 2.
    """
    scan = table.scan(snapshot_id=snapshot_id)
    head, schema = scan.snapshot(), scan.projection()
    files = [
        entry
        for manifest in (head.manifests(table.io) if head else ())
        for entry in manifest.fetch_manifest_entry(table.io)
    ]
    content = {
        kind: [one for one in files if one.data_file.content == kind] for kind in DataFileContent
    }
    positions = [(one, _deletes(table, one)) for one in content[DataFileContent.POSITION_DELETES]]
    equal = [(one, _deletes(table, one)) for one in content[DataFileContent.EQUALITY_DELETES]]
    reader = ArrowScan(table.metadata, table.io, schema, AlwaysTrue())
    rows: list[Row] = []
    for data in content[DataFileContent.DATA]:
        found = reader.to_table([FileScanTask(data.data_file)]).to_pylist()
        gone = {
            one["pos"]
            for delete, named in positions
            if _number(delete) >= _number(data) and _is_of_partition(delete, data)
            for one in named
            if one["file_path"] == data.data_file.file_path
        }
        for delete, values in equal:
            if _number(delete) > _number(data) and _is_of_partition(delete, data):
                names = [
                    schema.find_column_name(one) for one in delete.data_file.equality_ids or ()
                ]
                wanted = [tuple(one.values()) for one in values]
                gone |= {
                    nth for nth, row in enumerate(found) if tuple(row[n] for n in names) in wanted
                }
        rows += [row for nth, row in enumerate(found) if nth not in gone]
    return rows


def _deletes(table: Table, entry: ManifestEntry) -> list[Row]:
    with table.io.new_input(entry.data_file.file_path).open() as stream:
        rows: list[Row] = pq.read_table(stream).to_pylist()
    return rows


def _number(entry: ManifestEntry) -> int:
    assert entry.sequence_number is not None
    return entry.sequence_number


def _is_of_partition(delete: ManifestEntry, data: ManifestEntry) -> bool:
    """Whether a delete file is of the partition of a data file, or of no partition at all."""
    one, other = delete.data_file, data.data_file
    return len(one.partition) == 0 or (one.spec_id, one.partition) == (
        other.spec_id,
        other.partition,
    )


def by_duckdb(table: Table, *, snapshot_id: int | None = None, where: str = "true") -> list[Row]:
    """Read a table by DuckDB's extension for Iceberg.

    Raises:
        ValueError: If DuckDB cannot read it; says why.
    """
    found = iceberg_rows(table.metadata_location, snapshot_id=snapshot_id, where=where)
    if isinstance(found, str):
        raise ValueError(found)  # noqa: TRY004  it is the table that is wrong
    return found


SPECIFICATION = "specification"
"""Name of `by_specification` among the readers."""

_READERS = {
    "DuckDB": by_duckdb,
    "pyiceberg": by_pyiceberg,
    "Polars": by_polars,
    SPECIFICATION: by_specification,
}
READERS = tuple(_READERS)
WITH_EQUALITY_DELETES = ("DuckDB", SPECIFICATION)
"""Readers that know equality deletes: pyiceberg, and Polars through it, refuse such tables."""


def by_all(
    table: Table, *, snapshot_id: int | None = None, readers: Sequence[str] = READERS
) -> dict[str, Counter[Spelled]]:
    """Return the rows that readers see, as multisets, by the reader's name.

    Args:
        table: The table, as it was loaded.
        snapshot_id: Of the snapshot; the current one by default.
        readers: Names of those that are asked.
    """
    return {name: bag(_READERS[name](table, snapshot_id=snapshot_id)) for name in readers}
