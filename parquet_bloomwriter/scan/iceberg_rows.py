"""The rows of an Iceberg table: those of its files that survive probing, as pyiceberg returns them.

pyiceberg plans the scan: which files there are, and which delete files apply to each. Files that
cannot match are dropped from the plan; delete files only take rows away, so that this is right
whatever they delete. pyiceberg then reads what is left (`iceberg.scan`). At last pyarrow evaluates
condition and projection, as for all tables.

Fragments of a dataset stand for the table where a dataset can express what the table is: a dataset
finds columns by their names, knows nothing of deleted rows, and gives nulls for columns that a file
lacks. So every file is looked at: tables with deletes are refused, and tables with files whose
columns have other names or types than the table's. `read_table` returns their rows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import BloomwriterError, UnsupportedTable
from parquet_bloomwriter.iceberg.row_filter import to_iceberg
from parquet_bloomwriter.iceberg.scan import (
    TaskReader,
    arrow_schema,
    is_parquet,
    new_scan,
    plan,
    schema_of,
)
from parquet_bloomwriter.iceberg.stored_types import is_unchanged
from parquet_bloomwriter.metadata import Repetition
from parquet_bloomwriter.predicate import parse
from parquet_bloomwriter.predicate.arrow_out import to_arrow
from parquet_bloomwriter.probing.bindings import Bindings
from parquet_bloomwriter.probing.files import probe_locations
from parquet_bloomwriter.probing.footer_cache import cached_footer
from parquet_bloomwriter.scan.answer import answer, joined
from parquet_bloomwriter.scan.named_files import key_of, named
from parquet_bloomwriter.scan.needed_columns import needed_names
from parquet_bloomwriter.scan.table import TableFiles

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    import pyarrow as pa
    import pyarrow.compute as pc
    from pyiceberg.schema import Schema
    from pyiceberg.table import FileScanTask
    from pyiceberg.types import IcebergType

    from parquet_bloomwriter.hashing import HashKind
    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.predicate import Filters
    from parquet_bloomwriter.predicate.expression import Expression
    from parquet_bloomwriter.scan.table import Projection
    from parquet_bloomwriter.table_files.iceberg import IcebergFile, IcebergTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A file of a scan, and its row groups that are read."""

    task: FileScanTask

    row_groups: tuple[int, ...] | None
    """Ordinals of the row groups that might match; None for all row groups."""


@dataclass(frozen=True, kw_only=True, eq=False)
class IcebergRows:
    """The rows of an Iceberg table that a query needs: columns, files and row groups."""

    table: IcebergTable

    needed: Schema
    """Columns that are returned or in the condition, in the table's order."""

    projection: Projection | None
    condition: pc.Expression | None
    pieces: tuple[Piece, ...]

    @classmethod
    def of(  # noqa: PLR0913  all but the table by keyword
        cls,
        table: IcebergTable,
        *,
        columns: Projection | None,
        filters: Filters | None,
        hash_kind: HashKind,
        selects_rows: bool = True,
        among: Collection[str] | None = None,
    ) -> IcebergRows:
        """Choose the columns, files and row groups that a query needs.

        Args:
            table: The table.
            columns: What is returned; None for all columns.
            filters: What is asked for; None for all rows.
            hash_kind: The hash function of filters whose headers do not name it.
            selects_rows: False to return all rows of the row groups that might match, for a caller
                that selects them by rules of its own.
            among: Keys of the only files that might match (`scan.named_files`); None if not known.

        Raises:
            ColumnNotFound: If the table has no such column.
            InvalidArgument: If the filters cannot be understood, or compared with the columns.
            UnsupportedTable: If pyiceberg cannot read the table.
            TableProblem: If its metadata cannot be read.
        """
        tree = None if filters is None else parse(filters)
        asked = tree if selects_rows else None
        names = needed_names([field.name for field in table.schema.fields], columns, asked)
        needed = schema_of(table.schema, names)
        condition = None
        if selects_rows and filters is not None and tree is not None:
            given = tree if isinstance(filters, str) else filters
            condition = to_arrow(given, arrow_schema(needed))
        # Files are counted before pyiceberg leaves any out: each that is named must be among them.
        tasks = plan_table(table, tree if among is None else None)
        tasks = named(tasks, among, key=lambda task: key_of(table.file(task.file)))
        return cls(
            table=table,
            needed=needed,
            projection=columns,
            condition=condition,
            pieces=tuple(surviving(table, tasks, tree, hash_kind)),
        )

    @cached_property
    def _reader(self) -> TaskReader:
        return TaskReader(
            metadata=self.table.metadata,
            io=self.table.io,
            schema=self.needed,
            tasks=[piece.task for piece in self.pieces],
        )

    def read(self, *, use_threads: bool) -> pa.Table:
        """Return all selected rows, in the order of the plan.

        Raises:
            As `batches`.
        """
        import pyarrow as pa

        reader = self._reader
        reader.prepare(self.table.path)

        def one(piece: Piece) -> pa.Table:
            batches = reader.batches(piece.task, piece.row_groups)
            return self._answer(pa.Table.from_batches(batches, reader.arrow))

        return joined(self.no_rows(), one, self.pieces, use_threads=use_threads)

    def no_rows(self) -> pa.Table:
        """Return the answer of no file: it has the columns of all answers."""
        import pyarrow as pa

        # Not schema.empty_table(), which fails for UUIDs in structs.
        return self._answer(pa.Table.from_batches([], self._reader.arrow))

    def batches(self, *, batch_size: int) -> Iterator[pa.RecordBatch]:
        """Yield the selected rows as batches, file by file.

        Raises:
            UnsupportedTable: If pyiceberg cannot return a file's rows as the table's.
            TableProblem: If a file is missing.
            OSError, pyarrow.ArrowException: If a file cannot be read.
        """
        import pyarrow as pa

        reader = self._reader
        reader.prepare(self.table.path)
        for piece in self.pieces:
            for stored in reader.batches(piece.task, piece.row_groups):
                rows = self._answer(pa.Table.from_batches([stored]))
                for batch in rows.to_batches(max_chunksize=batch_size):
                    if batch.num_rows:
                        yield batch

    def _answer(self, rows: pa.Table) -> pa.Table:
        """Return the rows that meet the condition, with the columns of the projection."""
        return answer(rows, self.projection, self.condition)


def plan_table(table: IcebergTable, tree: Expression | None) -> list[FileScanTask]:
    """Return the files that pyiceberg would read, each with the delete files that apply to it.

    Raises:
        UnsupportedTable: If pyiceberg cannot apply the table's deletes.
        TableProblem: If the manifests cannot be read.
    """
    if table.snapshot_id is None:
        return []
    scan = new_scan(table.metadata, table.io, table.snapshot_id)
    if tree is None:
        return plan(scan, table.path)
    try:
        return plan(scan.filter(to_iceberg(tree, filter_types(table))), table.path)
    except TypeError:  # pyiceberg 0.12 compares null, as the value of a partition, by < and >
        return plan(scan, table.path)


def surviving(
    table: IcebergTable,
    tasks: Sequence[FileScanTask],
    tree: Expression | None,
    hash_kind: HashKind,
) -> Iterator[Piece]:
    """Yield the files with the row groups that might match; all where nothing is known."""
    every = (Piece(task=one, row_groups=None) for one in tasks)
    if tree is None:
        yield from every
        return
    files = [table.file(one.file) for one in tasks]
    try:
        found = probe_locations(files, Bindings.of(tree, hash_kind)).files
    except (BloomwriterError, OSError):
        yield from every
        return
    for task, probe in zip(tasks, found, strict=True):
        if probe.error is not None or not is_parquet(task.file):
            yield Piece(task=task, row_groups=None)
        elif probe.known is not None and probe.surviving:
            yield Piece(task=task, row_groups=tuple(probe.surviving))


def filter_types(table: IcebergTable) -> dict[str, IcebergType]:
    """Return the types of columns by which a scan may be planned: those of the last schema."""
    last = table.metadata.schema()
    found = {}
    for name, several in table.plain_fields.items():
        if len(several) == 1 and last.find_column_name(several[0].field_id) == name:
            found[name] = last.find_type(several[0].field_id)
    return found


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
    if any(task.delete_files for task in tasks):
        raise _refused("leave out deleted rows, which this table marks in delete files")
    if any(not is_parquet(task.file) for task in tasks):
        raise _refused("have files of several formats, as this table has")
    files = [table.file(task.file) for task in tasks]
    if len({id(file.filesystem) for file in files}) > 1:
        raise _refused("have files on several file systems, as this table has")
    with ThreadPoolExecutor(_THREADS) as pool:
        for _ in pool.map(_check_columns, files):
            pass
    format_ = ds.ParquetFileFormat()
    fragments = []
    for file in files:
        filesystem = file.filesystem
        if filesystem is not None and not isinstance(filesystem, pafs.FileSystem):
            filesystem = pafs.PyFileSystem(pafs.FSSpecHandler(filesystem))
        fragments.append(format_.make_fragment(file.path, filesystem or pafs.LocalFileSystem()))
    return TableFiles(
        source=[file.path for file in files],
        fragments=tuple(fragments),
        schema=arrow_schema(table.schema),
        partitions={},
        options={},
    )


def _check_columns(file: IcebergFile) -> None:
    """Refuse a file whose columns are not found by name, or whose values would be cast.

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
    for column in table.columns.columns:
        leaf = leaves.get(column.name)
        if leaf is None:
            if column.name in stored:
                raise _refused("tell a dropped column from a new one of its name, as here")
            if column.name in by_identity or table.known_texts(column.name, None, footer) != (
                None,
            ):
                raise _refused(f'fill in the column "{column.name}", which a file lacks')
        elif _name_in_file(leaf) != column.name:
            raise _refused("have columns under other names than its files, as this table has")
        elif not is_unchanged(leaf, table.schema.find_type(column.field_id)):
            raise _refused("have files with other types, as this table has")


def _name_in_file(leaf: Leaf) -> str:
    """Return a leaf's path as Iceberg would name it: without the repeated groups."""
    parts = zip(leaf.path, leaf.repetitions, strict=True)
    return ".".join(name for name, one in parts if one is not Repetition.REPEATED)


def _refused(what: str) -> UnsupportedTable:
    return UnsupportedTable(f"a dataset cannot {what}", remedy=_READ)
