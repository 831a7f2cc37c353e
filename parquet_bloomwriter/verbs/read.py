"""The verbs that read: `read_table`, `iter_batches` and `dataset`, of surviving row groups only.

Of a Delta table these are the rows of the files that its log names (`scan.logical_rows`), of an
Iceberg table those that pyiceberg returns (`scan.iceberg_rows`).

They give what pyarrow gives: its datasets find the files, decode them and evaluate the filters,
which are made of the very literals that row groups are pruned by.
What is added is which row groups need not be looked at, by Bloom filters and dictionaries too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from parquet_bloomwriter.arguments import names_of, source_by_position
from parquet_bloomwriter.column_names import check_is_one_name
from parquet_bloomwriter.errors import FileProblem, InvalidArgument, redacting
from parquet_bloomwriter.hashing import XXHASH, HashKind
from parquet_bloomwriter.predicate.dnf import repeatable
from parquet_bloomwriter.predicate.expression import Constant
from parquet_bloomwriter.scan.formats import fragments_of, rows_of
from parquet_bloomwriter.scan.named_files import key_of_name, key_of_path, named
from parquet_bloomwriter.scan.snapshots import is_local
from parquet_bloomwriter.scan.stream import FILE_NAME, refuse_file_name, stream
from parquet_bloomwriter.scan.survivors import find_survivors
from parquet_bloomwriter.scan.table import find_table as find_plain_files
from parquet_bloomwriter.table_files.find import LAST, AsOf, find_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    import pyarrow.dataset as ds

    from parquet_bloomwriter.hashing import Dialect
    from parquet_bloomwriter.predicate import Filters
    from parquet_bloomwriter.scan.iceberg_rows import IcebergRows
    from parquet_bloomwriter.scan.logical_rows import LogicalTable
    from parquet_bloomwriter.scan.survivors import Survivors
    from parquet_bloomwriter.scan.table import Projection, TableFiles
    from parquet_bloomwriter.table_files.files import Table

BATCH_ROWS = 65_536


@source_by_position()
@redacting()
def read_table(  # noqa: PLR0913  pyarrow's arguments, all by keyword
    source: object,
    *,
    columns: str | Projection | None = None,
    filters: Filters | None = None,
    filesystem: object = None,
    partitioning: object = "hive",
    use_threads: bool = True,
    use_pandas_metadata: bool = False,
    dialect: Dialect = "xxhash",
    murmur3_seed: int = 0,
    version: int | None = None,
    snapshot: int | None = None,
    branch: str | None = None,
    **options: Any,  # noqa: ANN401  pyarrow's own
) -> pa.Table:
    """Read a table, as `pyarrow.parquet.read_table` does, but only row groups that might match.

    Of a Delta table these are the rows of a version: of the files in its log, without deleted rows,
    with the types and names of its schema. Of an Iceberg table these are the rows that pyiceberg
    returns. Otherwise the result is the same: schema, metadata, rows and their order, columns of
    hive folders. Files that cannot be probed (encrypted ones, for example) are read by pyarrow
    alone. The one thing that is not looked for is pandas metadata in a file `_common_metadata`.
    Literals are compared exactly, also where pyarrow would round them: docs/reference/reading.md
    lists what differs.

    Args:
        source: A file, folder or Delta table, by path or URL; an Iceberg table,
            iceberg://CATALOG/NAMESPACE.TABLE; several files, in a list or by an iterator; an open
            file or a buffer; a glob pattern; or bytes.
        columns: Names of the columns to return; None for all.
        filters: What is asked for: SQL (`"id = 42 AND email LIKE '%.org'"`), pyarrow's lists
            (`[("id", "=", 42)]`) or a pyarrow expression; None for all rows.
        filesystem: What paths are relative to: a file system of pyarrow or fsspec.
        partitioning: How paths tell the values of columns, as pyarrow takes it.
        use_threads: Decode with several threads.
        use_pandas_metadata: Return the columns of a pandas index, too.
        dialect: What Bloom filters are taken for whose headers do not name their hash: as for
            `probe`.
        murmur3_seed: As for `probe`.
        version: Of a Delta table; None for the last one.
        snapshot: Id of a snapshot of an Iceberg table; None for the last one.
        branch: Of an Iceberg table; None for `main`.
        **options: All other arguments of `pyarrow.parquet.read_table`; none for such tables.

    Raises:
        InvalidArgument: If the filters cannot be understood, or not be compared with the columns;
            if there is no such version, or an argument has no meaning for a table.
        ColumnNotFound: If the filters, or the columns, name one that the table has not.
        MalformedFile: If a file contradicts its schema in a column of the filters.
        UnsupportedFile: If a column of the filters is encrypted, and no keys are given.
        UnsupportedTable: If a table has what cannot be returned as the table means it.
        TableProblem: If a table's metadata contradict themselves or its files.
        Whatever pyarrow raises: What it cannot find, read or evaluate.
    """
    import pyarrow as pa

    from parquet_bloomwriter.scan.held_files import held_fragments

    filters = repeatable(filters)
    hash_kind = HashKind(dialect, murmur3_seed)
    logical = _rows_of_table(
        source,
        filesystem,
        AsOf(version=version, snapshot=snapshot, branch=branch),
        columns=columns,
        filters=filters,
        hash_kind=hash_kind,
        refused={"partitioning": partitioning != "hive", "use_pandas_metadata": use_pandas_metadata}
        | dict.fromkeys(options, True),
    )
    if logical is not None:
        return logical.read(use_threads=use_threads)
    table = find_plain_files(
        source,
        filesystem=filesystem,
        partitioning=partitioning,
        options=options,
        holds=_need_no_name(columns, filters),
    )
    projection = _checked_columns(columns, table)
    if use_pandas_metadata and projection is not None:
        projection = _with_index(projection, table.schema)

    def scan(survivors: Survivors) -> pa.Table:
        rows = table.dataset_of(held_fragments(table, survivors, keeps_open=False))
        found = _scanned(rows, projection, survivors, use_threads=use_threads)
        if found is not None:
            return found
        refuse_file_name(projection, survivors.condition)
        batches = stream(table, survivors, columns=projection, batch_size=BATCH_ROWS)
        return pa.Table.from_batches(batches, rows.scanner(projection).projected_schema)

    survivors = find_survivors(table, filters, hash_kind=hash_kind)
    try:
        found = scan(survivors)
    except (OSError, FileProblem, pa.ArrowException):
        if survivors.probed.are_current():
            raise
    else:
        if survivors.states.are_current():
            return found
    return scan(find_survivors(table, filters, probes=False))


@source_by_position()
def iter_batches(  # noqa: PLR0913  pyarrow's arguments, all by keyword
    source: object,
    *,
    columns: str | Projection | None = None,
    filters: Filters | None = None,
    batch_size: int = BATCH_ROWS,
    filesystem: object = None,
    partitioning: object = "hive",
    dialect: Dialect = "xxhash",
    murmur3_seed: int = 0,
    version: int | None = None,
    snapshot: int | None = None,
    branch: str | None = None,
    **options: Any,  # noqa: ANN401  pyarrow's own
) -> Iterator[pa.RecordBatch]:
    """Read a table batch by batch: the same rows in the same order as `read_table`.

    Memory is bounded by the size of batches, whatever the size of files and row groups: a few
    batches are decoded at a time, of the columns that are returned or asked about, and one mebibyte
    of each of these column chunks is kept.

    Args:
        source: As for `read_table`.
        columns: As for `read_table`.
        filters: As for `read_table`. Files are probed before this function returns.
        batch_size: Rows that a batch has at most. Those of selective filters have fewer, but one.
        filesystem: As for `read_table`.
        partitioning: As for `read_table`.
        dialect: As for `probe`.
        murmur3_seed: As for `probe`.
        version: As for `read_table`.
        snapshot: As for `read_table`.
        branch: As for `read_table`.
        **options: As for `read_table`.

    Raises:
        InvalidArgument: If the filters cannot be understood, or not be compared with the columns;
            if the batch size is not positive.
        ColumnNotFound: If the filters, or the columns, name one that the table has not.
        MalformedFile: If a file contradicts its schema in a column of the filters.
        UnsupportedFile: If a column of the filters is encrypted, and no keys are given.
        Whatever pyarrow raises: What it cannot find, read or evaluate.
    """
    if batch_size < 1:
        raise InvalidArgument(f"a batch cannot have {batch_size} rows at most")
    rows = open_rows(
        source,
        columns=columns,
        filters=filters,
        filesystem=filesystem,
        partitioning=partitioning,
        hash_kind=HashKind(dialect, murmur3_seed),
        as_of=AsOf(version=version, snapshot=snapshot, branch=branch),
        options=options,
    )
    return rows.batches(batch_size=batch_size)


AskIndex: TypeAlias = "Callable[[Table | None, Sequence[str]], Iterable[str] | None]"
"""A function that is called once the files of a source are known, with the Delta or Iceberg table,
or with None and the paths of the files, absolute on a disk, without scheme on a store. It returns
absolute paths or URLs of the only files that might match; None: any might."""


class Rows(Protocol):
    """The rows of a source that a query selects, which are not read yet."""

    def no_rows(self) -> pa.Table:
        """Return a table with the columns of the answer, and no row."""
        ...

    def batches(self, *, batch_size: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows as batches that are not empty."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _PlainRows:
    """The rows of files that belong to no table."""

    table: TableFiles
    projection: Projection | None
    survivors: Survivors

    def no_rows(self) -> pa.Table:
        return self.table.dataset_of(()).scanner(self.projection).projected_schema.empty_table()

    def batches(self, *, batch_size: int) -> Iterator[pa.RecordBatch]:
        return stream(self.table, self.survivors, columns=self.projection, batch_size=batch_size)


def open_rows(  # noqa: PLR0913  all but the source by keyword
    source: object,
    *,
    columns: str | Projection | None = None,
    filters: Filters | None = None,
    filesystem: object = None,
    partitioning: object = "hive",
    hash_kind: HashKind = XXHASH,
    as_of: AsOf = LAST,
    options: Mapping[str, Any] | None = None,
    ask_index: AskIndex | None = None,
) -> Rows:
    """Probe the files of a source, and return the rows that a query selects, to be read later.

    Args:
        source: As for `read_table`.
        columns: As for `read_table`.
        filters: As for `read_table`.
        filesystem: As for `read_table`.
        partitioning: As for `read_table`.
        hash_kind: The hash function of filters whose headers do not name it.
        as_of: The state of a table.
        options: The other arguments of `pyarrow.parquet.read_table`.
        ask_index: Names the files that might match; they are all that is read.

    Raises:
        As `iter_batches`.
    """
    filters = repeatable(filters)
    logical = _rows_of_table(
        source,
        filesystem,
        as_of,
        columns=columns,
        filters=filters,
        hash_kind=hash_kind,
        refused={"partitioning": partitioning != "hive"} | dict.fromkeys(options or {}, True),
        ask_index=ask_index,
    )
    if logical is not None:
        return logical
    table = find_plain_files(
        source,
        filesystem=filesystem,
        partitioning=partitioning,
        options=options or {},
        holds=_need_no_name(columns, filters),
    )
    projection = _checked_columns(columns, table)
    if ask_index is not None:
        keys = _keys_of_fragments(table.fragments)
        pairs = list(zip(keys, table.fragments, strict=True))
        kept = named(pairs, _keys(ask_index(None, keys)), key=itemgetter(0))
        table = replace(table, fragments=tuple(one for _, one in kept))
    survivors = find_survivors(table, filters, hash_kind=hash_kind)
    refuse_file_name(projection, survivors.condition)
    return _PlainRows(table=table, projection=projection, survivors=survivors)


@source_by_position()
def dataset(  # noqa: PLR0913  all but the source by keyword
    source: object,
    *,
    filters: Filters | None = None,
    filter_rows: bool = True,
    filesystem: object = None,
    partitioning: object = "hive",
    dialect: Dialect = "xxhash",
    murmur3_seed: int = 0,
    version: int | None = None,
    snapshot: int | None = None,
    branch: str | None = None,
    **options: Any,  # noqa: ANN401  pyarrow's own
) -> ds.FileSystemDataset:
    """Make a pyarrow dataset of the row groups that might match, for other engines to query.

        rows = dataset("events/", filters="id = 42")
        duckdb.sql("FROM rows WHERE kind = 'a'")
        polars.scan_pyarrow_dataset(rows)

    By default it holds the rows that satisfy the filters, and no others: without that, its rows
    would depend on which other rows share a row group with them, and on false positives. DataFusion
    and others that ask a dataset for its fragments need `filter_rows=False`; they have to repeat
    the filters, then, and must not be asked for `count_rows()`, which counts whole files.

    The dataset reads the files as they are now. Of the files on disk of which it leaves row groups
    out, it keeps up to 100 open, so that other files may take their names. If one of the others
    changed, or a file on a store of which row groups are left out, a scan raises `FileChanged`. A
    store is asked when the scan opens the file: a change during the scan is not noticed. If a store
    tells neither tags nor times of change, its files are read as a whole.

    Args:
        source: As for `read_table`.
        filters: As for `read_table`.
        filter_rows: False for all rows of the surviving row groups, as plain fragments.
        filesystem: As for `read_table`.
        partitioning: As for `read_table`.
        dialect: As for `probe`.
        murmur3_seed: As for `probe`.
        version: As for `read_table`.
        snapshot: As for `read_table`.
        branch: As for `read_table`.
        **options: As for `read_table`.

    Returns:
        A dataset with the schema of the whole table, also if nothing survives.

    Raises:
        InvalidArgument: If the filters cannot be understood, or not be compared with the columns.
        ColumnNotFound: If the filters name a column that the table has not.
        MalformedFile: If filters are given, and a file contradicts its schema.
        UnsupportedFile: If pyarrow cannot compare the statistics of a column of the filters; if the
            column is encrypted, and no keys are given.
        FileChanged: When the dataset is scanned, if the version of a file is gone.
        MalformedFile, UnsupportedFile: When it is scanned, if a new version of a file is such.
        Whatever pyarrow raises: What it cannot find, read or evaluate.
    """
    from parquet_bloomwriter.scan.held_files import held_fragments
    from parquet_bloomwriter.scan.stream import extension_column

    filters = repeatable(filters)
    hash_kind = HashKind(dialect, murmur3_seed)
    as_of = AsOf(version=version, snapshot=snapshot, branch=branch)
    logical = find_table(source, filesystem=filesystem, as_of=as_of)
    if logical is None:
        table = find_plain_files(
            source, filesystem=filesystem, partitioning=partitioning, options=options
        )
    else:
        refused = {"partitioning": partitioning != "hive"} | dict.fromkeys(options, True)
        refuse_arguments(logical, refused)
        table = fragments_of(logical, Constant(value=True) if filters is None else filters)
    survivors = find_survivors(table, filters, hash_kind=hash_kind, streams=False)
    pruned = table.dataset_of(held_fragments(table, survivors, keeps_open=True))
    if survivors.condition is None or not filter_rows:
        return pruned
    unknown = extension_column(table.schema, survivors.condition)
    if unknown is not None:
        raise InvalidArgument(
            "pyarrow's datasets cannot filter rows by columns of extension types, such as UUID",
            column=unknown,
            remedy="Use read_table or iter_batches; or filter_rows=False, and filter the rows.",
        )
    return pruned.filter(survivors.condition)


def _scanned(
    rows: ds.FileSystemDataset,
    projection: Projection | None,
    survivors: Survivors,
    *,
    use_threads: bool,
) -> pa.Table | None:
    """Return the rows asked for; None if pyarrow must not compare statistics, or cannot.

    They are taken batch by batch, because `to_table` does not notice Ctrl-C before its end.
    """
    import pyarrow as pa

    if not survivors.compares_statistics:
        return None
    try:
        scanner = rows.scanner(projection, filter=survivors.condition, use_threads=use_threads)
        batches = [batch for batch in scanner.to_batches() if batch.num_rows]
    except pa.ArrowNotImplementedError:
        if survivors.condition is None:
            raise
        return None
    return pa.Table.from_batches(batches, scanner.projected_schema)


def _rows_of_table(  # noqa: PLR0913  what the verbs have in common
    source: object,
    filesystem: object,
    as_of: AsOf,
    *,
    columns: str | Projection | None,
    filters: Filters | None,
    hash_kind: HashKind,
    refused: Mapping[str, bool],
    ask_index: AskIndex | None = None,
) -> LogicalTable | IcebergRows | None:
    """Return the rows that are asked for of a Delta or Iceberg table; None for other sources.

    Args:
        source: What the verb was given.
        filesystem: What the path is relative to.
        as_of: Which state of the table.
        columns: As for `read_table`.
        filters: As for `read_table`.
        hash_kind: The hash function of filters whose headers do not name it.
        refused: Arguments that have no meaning for a table, and whether they were given.
        ask_index: As for `open_rows`.
    """
    table = find_table(source, filesystem=filesystem, as_of=as_of)
    if table is None:
        return None
    has_name = not _need_no_name(columns, filters)
    refuse_arguments(table, {**refused, f'the column "{FILE_NAME}"': has_name})
    projection = _as_pyarrow_takes_them(columns)
    return rows_of(
        table,
        columns=projection,
        filters=filters,
        hash_kind=hash_kind,
        among=None if ask_index is None else _keys(ask_index(table, ())),
    )


def _keys(paths: Iterable[str] | None) -> frozenset[str] | None:
    return None if paths is None else frozenset(map(key_of_name, paths))


def _keys_of_fragments(fragments: Sequence[ds.ParquetFileFragment]) -> list[str]:
    """Return the key of each file, all on one file system, by which an index names it."""
    paths = [str(one.path) for one in fragments]
    return [*map(key_of_path, paths)] if fragments and is_local(fragments[0]) else paths


def refuse_arguments(table: Table, given: Mapping[str, bool]) -> None:
    """Refuse arguments of `read_table` and the like that have no meaning for a table.

    Args:
        table: The table.
        given: The arguments, and whether they were given.

    Raises:
        InvalidArgument: If one was.
    """
    for name, is_given in given.items():
        if is_given:
            raise InvalidArgument(
                f"{name} has no meaning for {table.kind}",
                remedy="Leave it out: the table's metadata say what there is to know of its files.",
            )


def _need_no_name(*asked: object) -> bool:
    """Return whether no query can ask for file names, which pyarrow lacks for open files."""
    return not any(map(_may_ask_for_name, asked))


def _may_ask_for_name(asked: object) -> bool:
    """Return whether columns or a condition may contain the column of file names."""
    match asked:
        case (column, str(), _):  # a condition of pyarrow's lists; its value may be beyond Python's
            return FILE_NAME in str(column)
        case list() | tuple():
            return any(map(_may_ask_for_name, asked))
    return FILE_NAME in str(asked)


def _as_pyarrow_takes_them(columns: str | Projection | None) -> Projection | None:
    return columns if columns is None or isinstance(columns, Mapping) else list(names_of(columns))


def _checked_columns(columns: str | Projection | None, table: TableFiles) -> Projection | None:
    if isinstance(columns, str):
        check_is_one_name(columns, table.schema.names)
    projection = _as_pyarrow_takes_them(columns)
    if projection is None:
        table.check_distinct()
    elif isinstance(projection, list):
        table.check_columns(projection)
    return projection


def _with_index(columns: Projection, schema: pa.Schema) -> list[str]:
    """Return the columns, with those of the pandas index that the schema's metadata name."""
    import json

    description = json.loads((schema.metadata or {}).get(b"pandas", b'{"index_columns": []}'))
    index = [name for name in description["index_columns"] if not isinstance(name, dict)]
    return [*columns, *(name for name in index if name not in columns)]
