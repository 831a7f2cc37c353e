"""What a part says of its filters, and where they lie; the filters themselves are not read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from parquet_bloomwriter.index.arrow_numbers import integers_of
from parquet_bloomwriter.index.format.part_writer import (
    FILE_ID,
    MODIFIED,
    NDV,
    NUM_BYTES,
    NUM_VALUES,
    ROW_GROUP,
    SIZE,
    TYPE,
)
from parquet_bloomwriter.index.part_pages import broken, starts_of
from parquet_bloomwriter.source.local import open_local

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

from parquet_bloomwriter.source.local import FileSource

State: TypeAlias = tuple[int, int, int, int, int]
"""Device, inode, bytes, times of the last changes in nanoseconds."""

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """The n filters of one part, in the order stored; arrays have shape (n,)."""

    path: str
    """Absolute."""

    state: State
    """Of the file as it was read."""

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
    """Header and bitset; 0 where there is no filter, for there are no values."""

    num_values: NDArray[np.int64]
    """Inserted, -1 unknown."""

    ndv: NDArray[np.int64]
    """Distinct values, estimated, -1 unknown."""


def read_part(path: str, size: int) -> Part:
    """Read everything about a part's filters but the filters.

    Args:
        path: Absolute.
        size: Bytes that it must have.

    Raises:
        BloomwriterError: If it is not as it must be.
        OSError: If it cannot be read.
    """
    with open_local(path) as source:
        if source.size != size:
            raise broken(path, f"it has {source.size} bytes, and {size} were written")
        file, table = _opened(source, path)
        numbers = {name: _numbers(table, name, dtype, path) for name, dtype in _DTYPES.items()}
        starts = starts_of(source, file, numbers[NUM_BYTES].astype(np.int64), path)
        state = state_of(source)
        types, type_of = _types(table, path)
    starts[numbers[NUM_BYTES] == 0] = 0
    if ((numbers[NUM_BYTES] == 0) & (numbers[NUM_VALUES] != 0)).any():
        raise broken(path, "a filter is missing")
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


def state_of(source: FileSource) -> State:
    """What changes when an open file does; files of an index never do."""
    found = os.fstat(source.fd)
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _opened(source: FileSource, path: str) -> tuple[Any, pa.Table]:
    """Open a part with pyarrow, and read all but the filters."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(source.for_arrow(), read_dictionary=[TYPE], pre_buffer=False)
        return file, file.read([*_DTYPES, TYPE], use_threads=False)
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        problem = "it cannot be read: " + " ".join(str(error).split())
        raise broken(path, problem) from error


def _numbers(
    table: pa.Table, name: str, dtype: type[np.signedinteger[Any]], path: str
) -> NDArray[Any]:
    """One column of numbers; nulls have no place in it."""
    if name not in table.schema.names:
        raise broken(path, f"it has no column {name}")
    try:
        return integers_of(table[name], dtype)
    except ValueError as error:
        raise broken(path, f"the column {name} is not as it must be: {error}") from error


def _types(table: pa.Table, path: str) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """The distinct types, and which of them each row has."""
    import pyarrow as pa

    if TYPE not in table.schema.names or table[TYPE].null_count:
        raise broken(path, f"it has no column {TYPE}, or nulls in it")
    column = table[TYPE].unify_dictionaries().combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    indices = integers_of(pa.chunked_array([column.indices]), np.int32)
    return tuple(column.dictionary.to_pylist()), indices
