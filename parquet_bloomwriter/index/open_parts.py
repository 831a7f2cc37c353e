"""Parts opened for a lookup, and the headers of the filters in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.format.part_reader import state_of
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.header import encode_header
from parquet_bloomwriter.source.local import open_local

if TYPE_CHECKING:
    from contextlib import ExitStack

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.query.column_filters import ColumnFilters
    from parquet_bloomwriter.source.local import FileSource

_SHORTEST_HEADER = 15


def open_parts(
    stack: ExitStack, filters: ColumnFilters, rows: NDArray[np.int64]
) -> dict[int, FileSource]:
    """Open the parts of some filters, which must be what they were."""
    parts = filters.part_of[rows]
    sources: dict[int, FileSource] = {}
    for part in parts[np.diff(parts, prepend=-1) != 0].tolist():
        source = stack.enter_context(open_local(filters.paths[part]))
        if state_of(source) != filters.states[part]:
            raise IndexProblem("it has been changed since it was opened", path=filters.paths[part])
        sources[part] = source
    return sources


def usual_headers(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bytes of the headers that every known writer makes, of filters of these lengths."""
    return (lengths - _SHORTEST_HEADER) % BYTES_PER_BLOCK + _SHORTEST_HEADER


def header_at(data: bytes, start: int, length: int) -> int:
    """Bytes of the header at `start`; 0 if it is not the usual one of a filter of this length."""
    header = (length - _SHORTEST_HEADER) % BYTES_PER_BLOCK + _SHORTEST_HEADER
    is_one = length > header and data.startswith(encode_header(length - header), start)
    return header if is_one else 0


def no_filter(filters: ColumnFilters, row: int) -> IndexProblem:
    """Make the error for a place where a filter should be."""
    return IndexProblem(
        "a filter has no such header as it should",
        path=filters.paths[int(filters.part_of[row])],
        byte=int(filters.starts[row]),
        remedy="Refresh the index in full.",
    )
