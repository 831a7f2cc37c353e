"""A Delta table as a dataset of pyarrow, where one can express what the table is.

A dataset has files, a schema, and values of partition columns. It casts columns to the schema, and
gives nulls for columns that a file lacks. It knows nothing of deleted rows, nor of columns that
have other names in files: such tables are refused, and `read_table` returns their rows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from parquet_bloomwriter.delta.partition_values import partition_value
from parquet_bloomwriter.errors import UnsupportedTable
from parquet_bloomwriter.predicate import parse
from parquet_bloomwriter.probing.footer_cache import cached_footer
from parquet_bloomwriter.scan.logical_rows import check_clocks, check_filters
from parquet_bloomwriter.scan.logical_types import fields_of
from parquet_bloomwriter.scan.table import TableFiles

if TYPE_CHECKING:
    import pyarrow.compute as pc

    from parquet_bloomwriter.predicate import Filters
    from parquet_bloomwriter.table_files.delta import DeltaFile, DeltaTable

_THREADS = 16

_TYPE_CHANGES = "delta.typeChanges"
"""In the metadata of fields: the types that they had ("Type Change Metadata")."""

_READ = "Read its rows by read_table or iter_batches."


def as_fragments(table: DeltaTable, filters: Filters) -> TableFiles:
    """Return the files of a table as pyarrow's fragments, with the table's schema.

    Raises:
        InvalidArgument: If the filters compare by rules that are not known here.
        UnsupportedTable: If a dataset cannot express what the table is.
    """
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.fs as pafs

    _check(table)
    check_filters(table, parse(filters))
    fields = fields_of(table.snapshot.metadata.schema, table.mapping)
    if any(pa.types.is_timestamp(one.type) for one in fields):
        with ThreadPoolExecutor(_THREADS) as pool:
            for _ in pool.map(_check_clocks, table.files):
                pass
    format_ = ds.ParquetFileFormat(coerce_int96_timestamp_unit="us")
    filesystems = {id(one.filesystem): one.filesystem for one in table.files}
    if len(filesystems) > 1:
        raise UnsupportedTable(
            "a dataset cannot have files on several file systems, as this table has", remedy=_READ
        )
    fragments = tuple(
        format_.make_fragment(
            one.path, _for_arrow(one.filesystem) or pafs.LocalFileSystem(), _partition(one)
        )
        for one in table.files
    )
    return TableFiles(
        source=[one.path for one in table.files],
        fragments=fragments,
        schema=pa.schema([one.arrow for one in fields]),
        partitions=dict.fromkeys(table.partition_columns),
        options={},
    )


def _check_clocks(file: DeltaFile) -> None:
    """Refuse a file that stores times of another clock: a dataset would shift them."""
    with file.open() as source:
        fields = file.table.snapshot.metadata.schema["fields"]
        footer = cached_footer(source, lambda _: ()).footer()
        check_clocks(file, footer, [one["name"] for one in fields])


def _for_arrow(filesystem: object) -> object:
    """Return a file system of pyarrow's; None for the local one."""
    import pyarrow.fs as pafs

    if filesystem is None or isinstance(filesystem, pafs.FileSystem):
        return filesystem
    return pafs.PyFileSystem(pafs.FSSpecHandler(filesystem))


def _check(table: DeltaTable) -> None:
    if table.mapping != "none":
        raise UnsupportedTable(
            "a dataset cannot have columns under other names than its files, as this table has",
            remedy=_READ,
        )
    if any(one.add.deletion_vector is not None for one in table.files):
        raise UnsupportedTable(
            "a dataset cannot leave out deleted rows, which this table marks in deletion vectors",
            remedy=_READ,
        )
    if _TYPE_CHANGES in str(table.snapshot.metadata.raw["schemaString"]):
        raise UnsupportedTable(
            "a dataset cannot have files with narrower types, as this table may have", remedy=_READ
        )


def _partition(file: DeltaFile) -> pc.Expression:
    """Return the expression that is true for the rows of a file, by its partition columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.scalar(value=True)
    for name, (logged, field) in file.table.partition_columns.items():
        value = partition_value(file.add.partition_values.get(logged), field["type"], name)
        (one,) = fields_of({"fields": [field]}, file.table.mapping)
        column = pc.field(name)
        condition = column.is_null() if value is None else column == pa.scalar(value, one.type)
        found = condition if found.equals(pc.scalar(value=True)) else found & condition
    return found
