"""The rows of a Delta table: those of its files that survive probing and are not deleted.

Each file is decoded by pyarrow, and its columns become those of the table: logical names, the
table's types, partition columns from the log, nulls for columns that were added later. Then rows
are deleted that the file's deletion vector names, and pyarrow evaluates condition and projection.
What cannot be returned as the table has it is refused by name (`UnsupportedTable`).

Fragments of a dataset stand for the table where a dataset can express what the table is: a dataset
has files, a schema, and values of partition columns. It casts columns to the schema, and gives
nulls for columns that a file lacks. It knows nothing of deleted rows, nor of columns that have
other names in files: such tables are refused, and `read_table` returns their rows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.delta.partition_values import partition_value
from parquet_bloomwriter.errors import (
    BloomwriterError,
    FileProblem,
    InvalidArgument,
    TableProblem,
    UnsupportedTable,
)
from parquet_bloomwriter.metadata.logical_types import Kind, type_of
from parquet_bloomwriter.predicate import columns_of, parse
from parquet_bloomwriter.predicate.arrow_out import to_arrow
from parquet_bloomwriter.probing.bindings import Bindings
from parquet_bloomwriter.probing.files import probe_locations
from parquet_bloomwriter.probing.footer_cache import cached_footer
from parquet_bloomwriter.scan.answer import answer, joined, of_no_columns
from parquet_bloomwriter.scan.logical_types import LogicalField, fields_of
from parquet_bloomwriter.scan.named_files import key_of, named
from parquet_bloomwriter.scan.needed_columns import is_opaque, needed_names
from parquet_bloomwriter.scan.table import TableFiles
from parquet_bloomwriter.source import read_footer
from parquet_bloomwriter.table_files.delta import is_special

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    from numpy.typing import NDArray

    from parquet_bloomwriter.hashing import HashKind
    from parquet_bloomwriter.metadata import Footer
    from parquet_bloomwriter.predicate import Filters
    from parquet_bloomwriter.predicate.expression import Expression
    from parquet_bloomwriter.scan.table import Projection
    from parquet_bloomwriter.table_files.delta import DeltaFile, DeltaTable


@dataclass(frozen=True, kw_only=True, eq=False)
class LogicalTable:
    """The rows of a Delta table that a query needs: columns, files and row groups."""

    table: DeltaTable
    fields: tuple[LogicalField, ...]
    """Columns that are returned or in the condition, in the table's order."""

    projection: Projection | None
    condition: pc.Expression | None
    pieces: tuple[tuple[DeltaFile, tuple[int, ...] | None], ...]
    """Files with the ordinals of the row groups that might match; None for all row groups."""

    @classmethod
    def of(  # noqa: PLR0913  all but the table by keyword
        cls,
        table: DeltaTable,
        *,
        columns: Projection | None,
        filters: Filters | None,
        hash_kind: HashKind,
        selects_rows: bool = True,
        among: Collection[str] | None = None,
    ) -> LogicalTable:
        """Choose the columns and row groups that a query needs.

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
            UnsupportedTable: If a column cannot be returned.
            TableProblem: If the log contradicts itself.
        """
        tree = None if filters is None else parse(filters)
        metadata = table.snapshot.metadata
        every = fields_of(metadata.schema, table.mapping)
        asked = tree if selects_rows else None
        names = needed_names([one.name for one in every], columns, asked)
        fields = tuple(one for one in every if one.name in names)
        schema = _schema(fields)
        condition = None
        if selects_rows and filters is not None and tree is not None:
            check_filters(table, tree)
            condition = to_arrow(tree if isinstance(filters, str) else filters, schema)
        return cls(
            table=table,
            fields=fields,
            projection=columns,
            condition=condition,
            pieces=tuple(_pieces(named(table.files, among, key=key_of), tree, hash_kind)),
        )

    @cached_property
    def schema(self) -> pa.Schema:
        """Arrow schema of the columns that the query needs."""
        return _schema(self.fields)

    def read(self, *, use_threads: bool) -> pa.Table:
        """Return all selected rows, in the order of the log.

        Raises:
            As `batches`.
        """

        def one(piece: tuple[DeltaFile, tuple[int, ...] | None]) -> pa.Table:
            with self._opened(*piece) as opened:
                return self._answer(opened.whole(use_threads=use_threads))

        return joined(self.no_rows(), one, self.pieces, use_threads=use_threads)

    def no_rows(self) -> pa.Table:
        """Return the answer of no file: it has the columns of all answers."""
        return self._answer(self.schema.empty_table())

    def batches(self, *, batch_size: int) -> Iterator[pa.RecordBatch]:
        """Yield the selected rows as batches, file by file.

        Raises:
            UnsupportedTable: If a file has what cannot be returned as the table's.
            TableProblem: If a file or its deletion vector is missing, or they contradict the log.
            FileProblem, OSError, pyarrow.ArrowException: If a file cannot be read.
        """
        for piece in self.pieces:
            with self._opened(*piece) as opened:
                for rows in opened.batches(batch_size):
                    for batch in self._answer(rows).to_batches(max_chunksize=batch_size):
                        if batch.num_rows:
                            yield batch

    @contextmanager
    def _opened(self, file: DeltaFile, row_groups: tuple[int, ...] | None) -> Iterator[_OpenFile]:
        import pyarrow.parquet as pq

        try:
            with file.open() as source:
                footer = read_footer(source, check_head=False)
                with pq.ParquetFile(
                    source.for_arrow(), coerce_int96_timestamp_unit="us"
                ) as parquet:
                    yield _OpenFile(
                        fields=self.fields,
                        file=file,
                        footer=footer,
                        parquet=parquet,
                        row_groups=row_groups,
                    )
        except FileNotFoundError as error:
            raise TableProblem("a file of the table is missing", path=str(file)) from error
        except (FileProblem, TableProblem) as error:
            error.path, error.outcome = error.path or str(file), ""
            raise

    def _answer(self, rows: pa.Table) -> pa.Table:
        """Return the rows that meet the condition, with the columns of the projection."""
        return answer(rows, self.projection, self.condition)


@dataclass(frozen=True, kw_only=True, eq=False)
class _OpenFile:
    """An open file of the table."""

    fields: tuple[LogicalField, ...]
    file: DeltaFile
    footer: Footer
    parquet: pq.ParquetFile
    row_groups: tuple[int, ...] | None

    def whole(self, *, use_threads: bool) -> pa.Table:
        """Return all rows of the chosen row groups that are not deleted."""
        names = self._names()
        if self.row_groups is None:
            stored = self.parquet.read(names, use_threads=use_threads)
        else:
            stored = self.parquet.read_row_groups(
                list(self.row_groups), names, use_threads=use_threads
            )
        return self._kept(self._logical(stored, stored.num_rows), self._alive())

    def batches(self, batch_size: int) -> Iterator[pa.Table]:
        """Yield the rows of the chosen row groups that are not deleted, piece by piece."""
        import pyarrow as pa

        alive, first = self._alive(), 0
        chosen = None if self.row_groups is None else list(self.row_groups)
        for batch in self.parquet.iter_batches(
            batch_size, row_groups=chosen, columns=self._names()
        ):
            stored = pa.Table.from_batches([batch])
            part = None if alive is None else alive[first : first + batch.num_rows]
            first += batch.num_rows
            yield self._kept(self._logical(stored, batch.num_rows), part)

    def _names(self) -> list[str]:
        """Return the names of the stored columns that are read."""
        check_clocks(self.file, self.footer, [field.name for field in self.fields])
        stored = list(self.parquet.schema_arrow)
        places = [one.index_in(stored) for one in self._stored_fields()]
        return [stored[place].name for place in places if place is not None]

    def _stored_fields(self) -> Iterator[LogicalField]:
        partitions = self.file.table.partition_columns
        return (field for field in self.fields if field.name not in partitions)

    def _logical(self, stored: pa.Table, num_rows: int) -> pa.Table:
        import pyarrow as pa

        columns = []
        partitions = self.file.table.partition_columns
        several = list(stored.schema)
        for field in self.fields:
            if field.name in partitions:
                columns.append(self._partition(field, num_rows))
                continue
            place = field.index_in(several)
            if place is None:
                columns.append(field.nulls(num_rows))
                continue
            chunks = [field.of_file(chunk) for chunk in stored.column(place).chunks]
            columns.append(pa.chunked_array(chunks, field.type))
        return pa.table(columns, _schema(self.fields)) if columns else of_no_columns(num_rows)

    def _partition(self, one: LogicalField, num_rows: int) -> pa.Array:
        import pyarrow as pa

        logged, _ = self.file.table.partition_columns[one.name]
        text = self.file.add.partition_values.get(logged)
        value = partition_value(text, one.raw["type"], one.name)
        try:
            scalar = pa.scalar(value, one.type)
        except (pa.ArrowException, ValueError, OverflowError) as error:
            raise TableProblem(
                f'the partition column "{one.name}" has the value {text!r}, '
                f"which is no {one.raw['type']}"
            ) from error
        return pa.repeat(scalar, num_rows)

    def _alive(self) -> NDArray[np.bool_] | None:
        """Return for each row of the chosen row groups whether it is not deleted; or None."""
        sizes = [
            self.parquet.metadata.row_group(one).num_rows
            for one in range(self.parquet.metadata.num_row_groups)
        ]
        deleted = self.file.deleted_rows(num_rows=sum(sizes))
        if deleted is None:
            return None
        alive = np.ones(sum(sizes), np.bool_)
        alive[deleted] = False
        if self.row_groups is None:
            return alive
        ends = np.cumsum(sizes)
        parts = [alive[ends[group] - sizes[group] : ends[group]] for group in self.row_groups]
        return np.concatenate([np.ones(0, np.bool_), *parts])

    def _kept(self, rows: pa.Table, alive: NDArray[np.bool_] | None) -> pa.Table:
        import pyarrow as pa

        return rows if alive is None else rows.filter(pa.array(alive))


def check_clocks(file: DeltaFile, footer: Footer, names: Collection[str]) -> None:
    """Refuse a file whose timestamps are of another clock (UTC or local) than the table's.

    Args:
        file: A file of a table.
        footer: Its footer.
        names: Of the table's columns that are needed.

    Raises:
        UnsupportedTable: If times of UTC are stored for local ones, or the other way round.
        UnsupportedFile: If the file's columns are not known.
    """
    fields = file.table.plain_fields
    for name, leaf in file.table.in_file(footer).items():
        stored = type_of(leaf)
        types = [str(field["type"]) for field in fields.get(name, ())]
        is_needed = any(name == one or name.startswith(f"{one}.") for one in names)
        if not is_needed or stored.kind is not Kind.TIMESTAMP:
            continue
        if any(
            one.startswith("timestamp") and stored.is_adjusted is not (one == "timestamp")
            for one in types
        ):
            raise UnsupportedTable(
                f'the column "{name}" cannot be returned: it is of type {types[0]}, and a file '
                "stores times of another clock",
                remedy="Name the other columns.",
            )


def _schema(fields: Sequence[LogicalField]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([field.arrow for field in fields])


def check_filters(table: DeltaTable, tree: Expression) -> None:
    """Refuse conditions that the table's own engine would evaluate by other rules.

    Raises:
        InvalidArgument: If one is about text with a collation, or filled up with blanks.
    """
    fields = table.plain_fields
    for name in fields if is_opaque(tree) else columns_of(tree):
        if any(map(is_special, fields.get(name, ()))):
            raise InvalidArgument(
                f'the column "{name}" has a collation, or is filled up with blanks: which of its '
                "values are equal depends on rules that are not known here",
                remedy="Read all rows, and filter them.",
            )


def _pieces(
    files: Sequence[DeltaFile], tree: Expression | None, hash_kind: HashKind
) -> Iterator[tuple[DeltaFile, tuple[int, ...] | None]]:
    """Yield the files with the row groups that might match; all where nothing is known."""
    if tree is None:
        yield from ((one, None) for one in files)
        return
    bindings = Bindings.of(tree, hash_kind)
    try:
        found = probe_locations(files, bindings).files
    except (BloomwriterError, OSError):
        yield from ((one, None) for one in files)
        return
    for file, probe in zip(files, found, strict=True):
        if probe.error is not None:
            yield file, None
        elif probe.known is not None and probe.surviving:
            yield file, tuple(probe.surviving)


_THREADS = 16

_TYPE_CHANGES = "delta.typeChanges"
"""Key of a field's metadata with its former types ("Type Change Metadata")."""

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
    if any(pa.types.is_timestamp(field.type) for field in fields):
        with ThreadPoolExecutor(_THREADS) as pool:
            for _ in pool.map(_check_clocks, table.files):
                pass
    format_ = ds.ParquetFileFormat(coerce_int96_timestamp_unit="us")
    filesystems = {id(file.filesystem): file.filesystem for file in table.files}
    if len(filesystems) > 1:
        raise UnsupportedTable(
            "a dataset cannot have files on several file systems, as this table has", remedy=_READ
        )
    fragments = tuple(
        format_.make_fragment(
            file.path, _for_arrow(file.filesystem) or pafs.LocalFileSystem(), _partition(file)
        )
        for file in table.files
    )
    return TableFiles(
        source=[file.path for file in table.files],
        fragments=fragments,
        schema=pa.schema([field.arrow for field in fields]),
        partitions=dict.fromkeys(table.partition_columns),
        options={},
    )


def _check_clocks(file: DeltaFile) -> None:
    """Refuse a file with timestamps of another clock, which a dataset would shift."""
    with file.open() as source:
        fields = file.table.snapshot.metadata.schema["fields"]
        footer = cached_footer(source, lambda _: ()).footer()
        check_clocks(file, footer, [field["name"] for field in fields])


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
    if any(file.add.deletion_vector is not None for file in table.files):
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
