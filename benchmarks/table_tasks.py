"""What is done to Delta and Iceberg tables, each in a process of its own.

Run as `python -m benchmarks.table_tasks NAME ARGUMENT...`.

The files of the table have about 50 MB each, zstd, one row group of `ROWS` rows of the reference
table.
"""

from __future__ import annotations

import json
import os
import sys
import time
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.reference import table

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 750_000
ICEBERG = "bench"
"""The catalog, which the environment describes."""

_COLUMNS = ("id", "email")
_AS_DELTA_HAS_IT = {
    "device": pa.binary(),
    "created_at": pa.timestamp("us", tz="UTC"),
    "updated_at": pa.timestamp("us", tz="UTC"),
}


_LINKS = 50_000
"""Names of one file; ext4 takes 65,000."""


def write_file(path: str) -> None:
    """Write one file."""
    rows = table(0, ROWS)
    for name, kind in _AS_DELTA_HAS_IT.items():
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, name, rows[name].cast(kind))
    pq.write_table(rows, path, compression="zstd", row_group_size=ROWS)


def write_log(folder: str) -> None:
    """Write the first entry of a log for all Parquet files of a folder."""
    from deltalake import Schema

    root = Path(folder)
    files = sorted(root.glob("*.parquet"))
    schema = Schema.from_arrow(pq.read_schema(files[0])).to_json()
    now = int(time.time() * 1000)
    actions: list[object] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": "00000000-0000-4000-8000-000000000000",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": schema,
                "partitionColumns": [],
                "configuration": {},
                "createdTime": now,
            }
        },
    ]
    actions += [
        {
            "add": {
                "path": file.name,
                "partitionValues": {},
                "size": file.stat().st_size,
                "modificationTime": now,
                "dataChange": True,
                "stats": json.dumps({"numRecords": ROWS}),
            }
        }
        for file in files
    ]
    (root / "_delta_log").mkdir()
    lines = "".join(json.dumps(one) + "\n" for one in actions)
    (root / "_delta_log" / f"{0:020}.json").write_text(lines)


def rewrite(folder: str) -> None:
    """Read a table and write it anew with filters, by deltalake, one file at a time in memory."""
    import pyarrow.dataset as ds
    from deltalake import (
        BloomFilterProperties,
        ColumnProperties,
        DeltaTable,
        WriterProperties,
        write_deltalake,
    )

    wanted = ColumnProperties(
        bloom_filter_properties=BloomFilterProperties(
            set_bloom_filter_enabled=True, fpp=0.01, ndv=ROWS
        )
    )
    properties = WriterProperties(
        compression="ZSTD", column_properties=dict.fromkeys(_COLUMNS, wanted)
    )
    old = DeltaTable(folder)
    data: ds.Dataset = old.to_pyarrow_dataset()
    write_deltalake(
        old,
        pa.RecordBatchReader.from_batches(data.schema, data.to_batches()),
        mode="overwrite",
        writer_properties=properties,
        target_file_size=50_000_000,
    )


def write_iceberg(folder: str) -> None:
    """Make an Iceberg table of all Parquet files of a folder, which stay where they are."""
    from pyiceberg.catalog import load_catalog

    files = sorted(Path(folder).glob("*.parquet"))
    catalog = load_catalog(ICEBERG)
    catalog.create_namespace("ns")
    made = catalog.create_table("ns.t", schema=pq.read_schema(files[0]))
    made.add_files(list(map(str, files)), check_duplicate_files=False)


def rewrite_iceberg(_folder: str) -> None:
    """Overwrite a table with its own rows, by pyiceberg, one file at a time in memory.

    pyiceberg asks for no filters. Its files are written by pyarrow, which is asked for them here.
    """
    import pyiceberg.io.pyarrow as io
    from pyiceberg.catalog import load_catalog
    from pyiceberg.expressions import AlwaysTrue

    options = io._get_parquet_writer_kwargs  # noqa: SLF001  there is no public way
    wanted = {name: {"fpp": 0.01, "ndv": ROWS} for name in _COLUMNS}

    def with_filters(table_properties: dict[str, Any]) -> dict[str, Any]:
        return {**options(table_properties), "bloom_filter_options": wanted}

    io._get_parquet_writer_kwargs = with_filters  # noqa: SLF001
    found = load_catalog(ICEBERG).load_table("ns.t")
    scan = io.ArrowScan(found.metadata, found.io, found.schema(), AlwaysTrue())
    with found.transaction() as change:
        for number, task in enumerate(found.scan().plan_files()):
            write = change.append if number else change.overwrite
            write(scan.to_table([task]))


def small_table(folder: str, count: str) -> None:
    """Write the log of a table of many files, all of which are one file by hard links."""
    from deltalake import DeltaTable

    _write_links(Path(folder), int(count))
    write_log(folder)
    DeltaTable(folder).create_checkpoint()


def small_iceberg(folder: str, count: str) -> None:
    """Make an Iceberg table of many files, all of which are one file by hard links."""
    from pyiceberg.catalog import load_catalog
    from pyiceberg.io.pyarrow import parquet_file_to_data_file

    root = Path(folder)
    _write_links(root, int(count))
    files = sorted(root.glob("*.parquet"))
    catalog = load_catalog(ICEBERG)
    catalog.create_namespace("ns")
    made = catalog.create_table("ns.t", schema=pq.read_schema(files[0]))
    made.add_files([str(files[0])])
    one = parquet_file_to_data_file(made.io, made.metadata, str(files[0]))
    with made.transaction() as change, change.update_snapshot().fast_append() as append:
        for file in files[1:]:
            entry = copy(one)
            entry._data = [*one._data]  # noqa: SLF001  there is no public way
            entry._data[1] = str(file)  # noqa: SLF001  the path
            append.append_data_file(entry)


def _write_links(root: Path, count: int) -> None:
    root.mkdir(parents=True)
    data = pa.table({"id": pa.array(range(10)), "email": ["a"] * 10})
    for number in range(count):
        path = root / f"part-{number:07}.parquet"
        if number % _LINKS == 0:
            first = path
            pq.write_table(data, first)
        else:
            os.link(first, path)


TASKS: dict[str, Callable[..., None]] = {
    task.__name__: task
    for task in (
        write_file,
        write_log,
        write_iceberg,
        rewrite,
        rewrite_iceberg,
        small_table,
        small_iceberg,
    )
}

if __name__ == "__main__":
    TASKS[sys.argv[1]](*sys.argv[2:])
