"""Batches of a table in bounded memory.

A scan of pyarrow's datasets decodes whole row groups, several at a time. `ParquetFile.iter_batches`
decodes as many rows as one batch needs, from buffers of one mebibyte for each column. So here files
are read by `iter_batches`, one after the other, and batches are brought into the table's schema.
The rows are then selected by pyarrow's scanner, like those of any dataset.

A scan of a dataset also compares the statistics of the columns in its condition. pyarrow 26 cannot
compare those of UUIDs, text in views and other types, and fails. Batches have no statistics, so
such conditions are evaluated here, also for `read_table`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, contextmanager, suppress
from itertools import takewhile
from threading import Event
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.errors import InvalidArgument, UnsupportedFile
from parquet_bloomwriter.predicate.arrow_columns import column_at
from parquet_bloomwriter.predicate.arrow_in import columns_in
from parquet_bloomwriter.scan.snapshots import file_changed, is_local, open_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    from parquet_bloomwriter.scan.survivors import Survivors
    from parquet_bloomwriter.scan.table import Projection, TableFiles

FILE_NAME = "__filename"
"""Name of the column of file names that every dataset of pyarrow has."""

_BUFFER_BYTES = 1024 * 1024
_DECODED_ROWS, _DECODED_BYTES = 65_536, 16 * 1024 * 1024
"""Rows of a condition that are decoded at once, if batches may have fewer: the scanner takes about
half a millisecond for each batch. So many bytes of a row group, as the footer has them, at most."""

_READAHEAD = 2
"""Number of batches that are decoded ahead."""

_OF_DATASETS_ONLY = frozenset({"schema", "ignore_prefixes", "memory_map", "pre_buffer"})


def stream(
    table: TableFiles, survivors: Survivors, *, columns: Projection | None, batch_size: int
) -> Iterator[pa.RecordBatch]:
    """Yield rows of a table, file after file.

    Args:
        table: The table.
        survivors: What to read of the table, and which rows to return.
        columns: What to return, in the form of pyarrow's datasets; None for all columns.
        batch_size: Rows that a batch has at most.

    Yields:
        Batches that are not empty.

    Raises:
        UnsupportedFile: If the name of a column is not UTF-8.
    """
    import pyarrow.dataset as ds

    with _names_as_text():
        schema = _needed(table.schema, columns, survivors.condition)
        _ = schema.names
    has_ended = Event()
    is_selective = survivors.condition is not None
    rows = conformed_batches(
        table, survivors, schema, batch_size=batch_size, is_selective=is_selective
    )
    scanner = ds.Scanner.from_batches(
        takewhile(lambda _: not has_ended.is_set(), rows),
        schema=schema,
        columns=columns,
        filter=survivors.condition,
        batch_size=max(batch_size, _DECODED_ROWS),
        batch_readahead=_READAHEAD,
        use_threads=False,
    )
    batches = scanner.to_batches()
    try:
        for batch in batches:
            for first in range(0, batch.num_rows, batch_size):
                yield batch.slice(first, batch_size)
    finally:  # pyarrow asks for all the rest when `batches` is given up
        has_ended.set()


@contextmanager
def _names_as_text() -> Iterator[None]:
    """Refuse names that are not UTF-8, by which pyarrow cannot join batches.

    Raises:
        UnsupportedFile: If pyarrow came across such a name.
    """
    try:
        yield
    except UnicodeDecodeError:
        problem = UnsupportedFile(
            "the name of a column is not UTF-8, so rows cannot be read batch by batch",
            remedy="Use read_table.",
        )
        problem.outcome = ""
        raise problem from None


def _needed(
    schema: pa.Schema, columns: Projection | None, condition: pc.Expression | None
) -> pa.Schema:
    """Return the schema of the columns returned or in the condition; of all if not known."""
    import pyarrow as pa

    names = None if columns is None else _names_of(columns, condition)
    if names is None:
        return schema
    fields = [field for field in schema if any(_leads_to(field.name, name) for name in names)]
    return pa.schema(fields, schema.metadata)


def refuse_file_name(columns: Projection | None, condition: pc.Expression | None) -> None:
    """Refuse a query for the column of file names that every dataset of pyarrow has.

    Raises:
        InvalidArgument: If a column to be returned or the condition is about it.
    """
    if FILE_NAME in (_names_of(columns or (), condition) or ()):
        raise InvalidArgument(
            f'the column "{FILE_NAME}" is not known where rows are selected batch by batch',
            remedy="Read each file by itself.",
        )


def _names_of(columns: Projection, condition: pc.Expression | None) -> list[str] | None:
    """Return the names of the columns returned or in the condition; None if not known."""
    names = [] if isinstance(columns, Mapping) else list(columns)
    expressions = list(columns.values()) if isinstance(columns, Mapping) else []
    for expression in expressions if condition is None else [*expressions, condition]:
        found = columns_in(expression)
        if found is None:
            return None
        names += found
    return names


def extension_column(schema: pa.Schema, condition: pc.Expression) -> str | None:
    """Return a column of an extension type, such as UUID, that a condition is about, or None.

    A column that the condition gives by its ordinal, or in a part of unknown form, is not found.
    """
    import pyarrow as pa

    with suppress(InvalidArgument):
        for name in columns_in(condition) or ():
            if isinstance(column_at(schema, name).type, pa.BaseExtensionType):
                return name
    return None


def _leads_to(column: str, name: str) -> bool:
    return name == column or name.startswith(f"{column}.")


def conformed_batches(
    table: TableFiles,
    survivors: Survivors,
    schema: pa.Schema,
    *,
    batch_size: int,
    is_selective: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Yield all rows of the surviving row groups, file after file.

    Args:
        table: The table.
        survivors: What to read.
        schema: The columns to read, with the types to return.
        batch_size: Rows that a batch has at most.
        is_selective: Whether the caller selects rows, so that batches of small rows may have more.

    Raises:
        FileChanged: If a file on a store was replaced while some of its row groups were read.
    """
    import pyarrow.dataset as ds

    states = survivors.states
    for piece in survivors.pieces:
        keys = ds.get_partition_keys(piece.fragment.partition_expression)
        with ExitStack() as stack:
            file: Any = table.source
            left = piece.fragment
            path, is_checked = left.path, False
            if is_local(left):  # footer and data are of one version
                opened = open_file(path, memory_map=bool(table.options.get("memory_map")))
                file = stack.enter_context(opened.file)
                stack.enter_context(_naming(path))
                is_known = states.is_of(path, opened.source.fd)
                left = left.format.make_fragment(file)
                if is_known and piece.row_groups is not None:
                    left = left.subset(row_group_ids=piece.row_groups)
            elif not table.is_open:
                file = stack.enter_context(left.filesystem.open_input_file(left.path))
                left = left.format.make_fragment(file)
                if piece.row_groups is not None and states.may_be_current(path, file):
                    left = left.subset(row_group_ids=piece.row_groups)
                    is_checked = True
            num_rows = _rows_at_once(left, batch_size) if is_selective else batch_size
            for batch in _batches_of(table, left, file, schema.names, num_rows):
                yield _conformed(batch, schema, keys, table.partitions)
            if is_checked and not states.may_be_current(path):
                raise file_changed(path, "while it was read", "Read it again.")


def _rows_at_once(fragment: ds.ParquetFileFragment, batch_size: int) -> int:
    """Return the number of rows to decode at once, before rows are selected."""
    groups = fragment.row_groups
    num_rows: int = sum(max(group.num_rows, 0) for group in groups)
    num_bytes: int = sum(max(group.total_byte_size, 0) for group in groups)
    by_bytes = _DECODED_BYTES * num_rows // max(num_bytes, 1)
    return max(batch_size, min(_DECODED_ROWS, by_bytes))


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Add the file's path to errors of pyarrow, which calls an open file "<Buffer>"."""
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowException) as error:
        text = str(error)
        if "<Buffer>" not in text:
            raise
        raise type(error)(text.replace("<Buffer>", path)) from None


def _batches_of(
    table: TableFiles,
    fragment: ds.ParquetFileFragment,
    file: Any,  # noqa: ANN401  whatever pyarrow reads
    columns: list[str],
    batch_size: int,
) -> Iterator[pa.RecordBatch]:
    """Yield the row groups of a fragment, read from its open file, in batches."""
    import pyarrow.parquet as pq

    row_groups = [group.id for group in fragment.row_groups]
    if not row_groups:
        return
    options = {name: table.options[name] for name in table.options.keys() - _OF_DATASETS_ONLY}
    options["buffer_size"] = options.get("buffer_size") or _BUFFER_BYTES
    with _names_as_text():
        reader = pq.ParquetFile(file, metadata=fragment.metadata, pre_buffer=False, **options)
    # pyarrow 26 joins no dictionaries below structs and lists, and each row group has its own.
    is_cut = any(map(_has_inner_dictionary, reader.schema_arrow))
    for some in [[group] for group in row_groups] if is_cut else [row_groups]:
        yield from reader.iter_batches(batch_size, some, columns=columns)


def _has_inner_dictionary(field: pa.Field) -> bool:
    """Return whether a column contains dictionary-encoded parts."""
    import pyarrow as pa

    parts = [field.type.field(place) for place in range(field.type.num_fields)]
    return any(pa.types.is_dictionary(part.type) or _has_inner_dictionary(part) for part in parts)


def _conformed(
    batch: pa.RecordBatch,
    schema: pa.Schema,
    keys: Mapping[str, object],
    partitions: Mapping[str, pa.Array | None],
) -> pa.RecordBatch:
    """Convert a batch of a file to the table's schema, as scans of datasets do."""
    import pyarrow as pa

    if not len(schema):
        return batch.select([])
    columns = [_column(batch, field, keys, partitions) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)  # casts where types differ


def _column(
    batch: pa.RecordBatch,
    field: pa.Field,
    keys: Mapping[str, object],
    partitions: Mapping[str, pa.Array | None],
) -> pa.Array:
    """Return a column from the path, else from the file, else of nulls."""
    import pyarrow as pa

    is_stored = field.name in batch.schema.names
    if field.name in keys or (field.name in partitions and not is_stored):
        value = keys.get(field.name)
        return _repeated(value, field.type, partitions[field.name], batch.num_rows)
    if not is_stored:
        return pa.nulls(batch.num_rows, field.type)
    return batch.column(field.name)


def _repeated(
    value: object, type_: pa.DataType, dictionary: pa.Array | None, count: int
) -> pa.Array:
    import pyarrow as pa

    if dictionary is None or not pa.types.is_dictionary(type_):
        return pa.repeat(pa.scalar(value, type_), count)
    index = None if value is None else dictionary.index(value).as_py()
    indices = pa.repeat(pa.scalar(index, type_.index_type), count)
    return pa.DictionaryArray.from_arrays(indices, dictionary, ordered=type_.ordered)
