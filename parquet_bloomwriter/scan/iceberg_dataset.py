"""An Iceberg table as a dataset of pyarrow, where one can express what the table is.

A dataset finds columns by their names, knows nothing of deleted rows, and gives nulls for columns
that a file lacks. So every file is looked at: tables with deletes are refused, and with files whose
columns have other names or types than the table's. `read_table` returns their rows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import UnsupportedTable
from parquet_bloomwriter.iceberg.scan import arrow_schema, is_parquet
from parquet_bloomwriter.iceberg.stored_types import is_unchanged
from parquet_bloomwriter.metadata import Repetition
from parquet_bloomwriter.predicate import parse
from parquet_bloomwriter.probing.footer_cache import cached_footer
from parquet_bloomwriter.scan.iceberg_rows import plan_table
from parquet_bloomwriter.scan.table import TableFiles

if TYPE_CHECKING:
    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.predicate import Filters
    from parquet_bloomwriter.table_files.iceberg import IcebergFile, IcebergTable

_THREADS = 16

_READ = "Read its rows by read_table or iter_batches."


def as_fragments(table: IcebergTable, filters: Filters) -> TableFiles:
    """Return the files of a table as pyarrow's fragments, with the table's schema.

    Raises:
        InvalidArgument: If the filters cannot be understood.
        UnsupportedTable: If a dataset cannot express what the table is.
        TableProblem: If the table's metadata cannot be read.
    """
    import pyarrow.dataset as ds
    import pyarrow.fs as pafs

    tasks = plan_table(table, parse(filters))
    if any(one.delete_files for one in tasks):
        raise _refused("leave out deleted rows, which this table marks in delete files")
    if any(not is_parquet(one.file) for one in tasks):
        raise _refused("have files of several formats, as this table has")
    files = [table.file(one.file) for one in tasks]
    if len({id(one.filesystem) for one in files}) > 1:
        raise _refused("have files on several file systems, as this table has")
    with ThreadPoolExecutor(_THREADS) as pool:
        for _ in pool.map(_check_columns, files):
            pass
    format_ = ds.ParquetFileFormat()
    fragments = []
    for one in files:
        filesystem = one.filesystem
        if filesystem is not None and not isinstance(filesystem, pafs.FileSystem):
            filesystem = pafs.PyFileSystem(pafs.FSSpecHandler(filesystem))
        fragments.append(format_.make_fragment(one.path, filesystem or pafs.LocalFileSystem()))
    return TableFiles(
        source=[one.path for one in files],
        fragments=tuple(fragments),
        schema=arrow_schema(table.schema),
        partitions={},
        options={},
    )


def _check_columns(file: IcebergFile) -> None:
    """Refuse a file whose columns are not found by their names, or of which values would be cast.

    Raises:
        UnsupportedTable: If it is such a file.
        FileProblem, OSError: If its footer cannot be read.
    """
    table = file.table
    with file.open() as source:
        footer = cached_footer(source, lambda _: ()).footer()
    leaves = table.columns.in_file(footer)
    stored = {_name_in_file(leaf) for leaf in footer.leaves}
    by_identity = table.identities(file.data_file.spec_id)
    for one in table.columns.columns:
        leaf = leaves.get(one.name)
        if leaf is None:
            if one.name in stored:
                raise _refused("tell a dropped column from a new one of its name, as here")
            if one.name in by_identity or table.known_texts(one.name, None, footer) != (None,):
                raise _refused(f'fill in the column "{one.name}", which a file lacks')
        elif _name_in_file(leaf) != one.name:
            raise _refused("have columns under other names than its files, as this table has")
        elif not is_unchanged(leaf, table.schema.find_type(one.field_id)):
            raise _refused("have files with other types, as this table has")


def _name_in_file(leaf: Leaf) -> str:
    """Return a leaf's path as Iceberg would name it: without the repeated groups."""
    parts = zip(leaf.path, leaf.repetitions, strict=True)
    return ".".join(name for name, one in parts if one is not Repetition.REPEATED)


def _refused(what: str) -> UnsupportedTable:
    return UnsupportedTable(f"a dataset cannot {what}", remedy=_READ)
