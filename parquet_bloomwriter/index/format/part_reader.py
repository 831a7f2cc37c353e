"""Read a part of an index: what it says of its filters, and where they lie.

    part-<uuid>.bfindex    one row for each filter, all fields required, in row groups
    column BFBinary        | page header | length, filter | length, filter | ...    by row group

The filters themselves are not read. Lengths have four bytes, little-endian (PLAIN). As the column
is neither compressed nor encoded and has one data page in each row group, the positions of all
filters follow from the size of the page header and from the column `numBytes`. All of that is
checked: the sizes must add up to those of the page, of the column chunk and of the file. The
headers of filters are checked when a filter is first read (`query/probe.py`).

Source: parquet.thrift, PageHeader; Parquet specification, "Plain: (PLAIN = 0)".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parquet_bloomwriter.compact.scan import StructKind, StructSchema, scan
from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.format.parquet_io import integers_of
from parquet_bloomwriter.index.format.part_writer import (
    BINARY,
    FILE_ID,
    MODIFIED,
    NDV,
    NUM_BYTES,
    NUM_VALUES,
    ROW_GROUP,
    SIZE,
    TYPE,
)
from parquet_bloomwriter.index.storage.base import open_file, state_of
from parquet_bloomwriter.kernels.layout import DATA_PAGE, DATA_PAGE_V2, I32, PLAIN, STRUCT
from parquet_bloomwriter.metadata.schema import LENGTH_BYTES
from parquet_bloomwriter.text import words_of

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_bloomwriter.index.storage.base import IndexSource, ObjectName
    from parquet_bloomwriter.source.identity import FileIdentity

_DTYPES: dict[str, type[np.signedinteger[Any]]] = {
    FILE_ID: np.int64,
    SIZE: np.int64,
    MODIFIED: np.int64,
    ROW_GROUP: np.int32,
    NUM_BYTES: np.int32,
    NUM_VALUES: np.int64,
    NDV: np.int64,
}
"""The columns of numbers."""

_PAGE_HEADER_BYTES = 256
"""More than a page header without statistics takes."""

_KIND, _UNCOMPRESSED, _COMPRESSED, _COUNT, _ENCODING = 1, 2, 3, 4, 5
_COUNT_V2, _ENCODING_V2, _DEFINITION_BYTES, _REPETITION_BYTES = 6, 7, 8, 9
_DATA, _DATA_V2 = 10, 11
_PAGE_HEADER = StructSchema.of(
    {
        "PageHeader": StructKind(
            slots={
                1: (_KIND, I32),
                2: (_UNCOMPRESSED, I32),
                3: (_COMPRESSED, I32),
                5: (_DATA, STRUCT),
                8: (_DATA_V2, STRUCT),
            },
            children={5: "DataPageHeader", 8: "DataPageHeaderV2"},
        ),
        "DataPageHeader": StructKind(
            slots={1: (_COUNT, I32), 2: (_ENCODING, I32)}, shares_row=True
        ),
        "DataPageHeaderV2": StructKind(
            slots={
                1: (_COUNT_V2, I32),
                4: (_ENCODING_V2, I32),
                5: (_DEFINITION_BYTES, I32),
                6: (_REPETITION_BYTES, I32),
            },
            shares_row=True,
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """The n filters of one part, in the order stored; arrays have shape (n,)."""

    path: str
    """Absolute."""

    state: FileIdentity | ObjectName
    """The file as it was read."""

    file_ids: NDArray[np.int64]
    sizes: NDArray[np.int64]
    """Of the data files, bytes."""

    modified_ms: NDArray[np.int64]
    row_groups: NDArray[np.int32]
    """-1: the whole file."""

    types: tuple[str, ...]
    """The types of the column in these files, JSON."""

    type_of: NDArray[np.int32]
    """Ordinal in `types`."""

    starts: NDArray[np.int64]
    """Absolute position of the filter's header, bytes; 0 where there is no filter."""

    num_bytes: NDArray[np.int32]
    """Header and bitset; 0 where there are no values, and so no filter."""

    num_values: NDArray[np.int64]
    """Inserted, -1 unknown."""

    ndv: NDArray[np.int64]
    """Distinct values, estimated, -1 unknown."""


def read_part(path: str, size: int) -> Part:
    """Read all columns of a part, except the filters.

    Args:
        path: Absolute.
        size: Bytes that the part must have.

    Raises:
        BloomwriterError: If the part is broken.
        OSError: If it cannot be read.
    """
    with open_file(path, size, keep=True) as source:
        if source.size != size:
            raise _broken(path, f"it has {source.size} bytes, and {size} were written")
        file, table = _opened(source, path)
        numbers = {name: _numbers(table, name, dtype, path) for name, dtype in _DTYPES.items()}
        starts = _starts_of(source, file, numbers[NUM_BYTES].astype(np.int64), path)
        state = state_of(source)
        types, type_of = _types(table, path)
    starts[numbers[NUM_BYTES] == 0] = 0
    if ((numbers[NUM_BYTES] == 0) & (numbers[NUM_VALUES] != 0)).any():
        raise _broken(path, "a filter is missing")
    return Part(
        path=path,
        state=state,
        file_ids=numbers[FILE_ID],
        sizes=numbers[SIZE],
        modified_ms=numbers[MODIFIED],
        row_groups=numbers[ROW_GROUP],
        types=types,
        type_of=type_of,
        starts=starts,
        num_bytes=numbers[NUM_BYTES],
        num_values=numbers[NUM_VALUES],
        ndv=numbers[NDV],
    )


def _opened(source: IndexSource, path: str) -> tuple[Any, pa.Table]:
    """Open a part with pyarrow, and read all columns except the filters."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(source.for_arrow(), read_dictionary=[TYPE], pre_buffer=False)
        return file, file.read([*_DTYPES, TYPE], use_threads=False)
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        problem = "the part cannot be read: " + words_of(error)
        raise _broken(path, problem) from error


def _numbers(
    table: pa.Table, name: str, dtype: type[np.signedinteger[Any]], path: str
) -> NDArray[Any]:
    """Return a column of numbers without nulls."""
    if name not in table.schema.names:
        raise _broken(path, f"it has no column {name}")
    try:
        return integers_of(table[name], dtype)
    except ValueError as error:
        raise _broken(path, f"the column {name} is not as it must be: {error}") from error


def _types(table: pa.Table, path: str) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Return the distinct types, and the ordinal of each row's type."""
    import pyarrow as pa

    if TYPE not in table.schema.names or table[TYPE].null_count:
        raise _broken(path, f"it has no column {TYPE}, or nulls in it")
    column = table[TYPE].unify_dictionaries().combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    indices = integers_of(pa.chunked_array([column.indices]), np.int32)
    return tuple(column.dictionary.to_pylist()), indices


def _starts_of(
    source: IndexSource,
    file: Any,  # noqa: ANN401  pyarrow has no types
    num_bytes: NDArray[np.int64],
    path: str,
) -> NDArray[np.int64]:
    """Return the positions of the headers of all filters.

    Args:
        source: The part.
        file: The same, opened with pyarrow.
        num_bytes: Of each filter, shape (n,).
        path: The part's, for messages.

    Returns:
        Absolute, bytes, shape (n,).

    Raises:
        BloomwriterError: If the pages are not as described in the head of the module.
        OSError: If they cannot be read.
    """
    metadata = file.metadata
    names = [file.schema.column(i).path for i in range(metadata.num_columns)]
    if BINARY not in names:
        raise _broken(path, f"it has no column {BINARY}")
    column = names.index(BINARY)
    leaf = file.schema.column(column)
    if leaf.physical_type != "BYTE_ARRAY" or leaf.max_definition_level:
        raise _broken(path, f"the column {BINARY} is no required binary column")
    if (num_bytes < 0).any() or len(num_bytes) != metadata.num_rows:
        raise _broken(path, "its filters have impossible lengths")
    starts = np.empty(len(num_bytes), np.int64)
    row = 0
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        rows = slice(row, row + group.num_rows)
        if group.num_rows:
            starts[rows] = _starts_in(source, group.column(column), num_bytes[rows], path)
        row = rows.stop
    return starts


def _starts_in(
    source: IndexSource,
    chunk: Any,  # noqa: ANN401  as above
    num_bytes: NDArray[np.int64],
    path: str,
) -> NDArray[np.int64]:
    """Return the positions of the filters in one row group, all in its one page."""
    if chunk.compression != "UNCOMPRESSED" or chunk.has_dictionary_page:
        raise _broken(path, f"the column {BINARY} is compressed or encoded")
    start, length = chunk.data_page_offset, chunk.total_compressed_size
    head = source.read_at(start, min(start + _PAGE_HEADER_BYTES, start + length))
    header = scan(head, _PAGE_HEADER, origin=start)
    ends = np.cumsum(num_bytes + LENGTH_BYTES)
    _check_page(header.values[0].tolist(), num_bytes, path)
    if header.stop + int(ends[-1]) != length or start + length > source.size:
        raise _broken(path, "a page does not fill its column chunk")
    first = start + header.stop
    prefix = source.read_at(first, first + LENGTH_BYTES)
    if int.from_bytes(prefix, "little") != num_bytes[0]:
        raise _broken(path, "the first filter of a page has another length than it should")
    positions: NDArray[np.int64] = first + ends - num_bytes
    return positions


def _check_page(numbers: list[int], num_bytes: NDArray[np.int64], path: str) -> None:
    """Check that a page holds the bare values of its rows, PLAIN."""
    size = int(num_bytes.sum()) + LENGTH_BYTES * len(num_bytes)
    if numbers[_KIND] == DATA_PAGE:
        shape = (numbers[_COUNT], numbers[_ENCODING])
    else:
        shape = (numbers[_COUNT_V2], numbers[_ENCODING_V2])
    has_levels = numbers[_DEFINITION_BYTES] > 0 or numbers[_REPETITION_BYTES] > 0
    is_data = numbers[_KIND] in {DATA_PAGE, DATA_PAGE_V2}
    if not is_data or has_levels or shape != (len(num_bytes), PLAIN):
        raise _broken(path, "a page is not PLAIN, or holds other rows")
    if numbers[_COMPRESSED] != size or numbers[_UNCOMPRESSED] != size:
        raise _broken(path, f"a page has {numbers[_COMPRESSED]} bytes, and its filters {size}")


def _broken(path: str, problem: str) -> IndexProblem:
    return IndexProblem(problem, path=path, remedy="Refresh the index in full.")
