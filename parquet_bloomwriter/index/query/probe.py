"""Which of many filters might contain any of some hashes.

For a few hashes one block of each filter is read, by a compiled loop; for many, filters are read
whole, neighbours together. The header of each filter is looked at when it is asked first, so that
an answer never comes from bytes that are no filter. Files are opened for each call and closed
behind it: no more than `_MAX_OPEN` are open at once, and a part that is gone is found out.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.index.asking_blocks import ask_blocks
from parquet_bloomwriter.index.asking_whole import ask_whole
from parquet_bloomwriter.index.open_parts import header_at, no_filter, open_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.query.column_filters import ColumnFilters

_MAX_OPEN = 128
_MANY = 8
"""Hashes from which reading whole filters may pay."""

_WORTH_BYTES = 4096
"""Bytes read in the time of one more request."""


def ask(
    filters: ColumnFilters, rows: NDArray[np.int64], hashes: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    """For each filter, whether it might contain any of the hashes.

    Args:
        filters: All filters of the column.
        rows: Those to ask, ascending, shape (n,).
        hashes: Shape (k,), each once.

    Returns:
        Shape (n,).

    Raises:
        IndexProblem: If a filter is none, or lies outside its part.
        BloomwriterError, OSError: If a part cannot be read.
    """
    found = np.zeros(len(rows), np.bool_)
    places = np.flatnonzero(filters.has_values[rows]) if len(hashes) else rows[:0]
    whole = np.zeros(len(places), np.bool_)
    if len(hashes) >= _MANY:
        whole = filters.num_bytes[rows[places]] <= len(hashes) * _WORTH_BYTES
    for few in _waves(filters, rows, places[~whole]):
        found[few] = ask_blocks(filters, rows[few], hashes)
    for many in _waves(filters, rows, places[whole]):
        found[many] = ask_whole(filters, rows[many], hashes)
    return found


def read_filters(
    filters: ColumnFilters, rows: NDArray[np.int64]
) -> Iterator[tuple[int, NDArray[np.uint32]]]:
    """Yield rows and their blocks, shape (z, 8), read-only.

    Raises:
        As `ask`.
    """
    for wave in _waves(filters, rows, np.arange(len(rows))):
        with ExitStack() as stack:
            sources = open_parts(stack, filters, rows[wave])
            for row in rows[wave].tolist():
                start, length = int(filters.starts[row]), int(filters.num_bytes[row])
                data = sources[int(filters.part_of[row])].read_at(start, start + length)
                header = header_at(data, 0, length)
                if not header:
                    raise no_filter(filters, row)
                yield row, np.frombuffer(data, "<u4", offset=header).reshape(-1, 8)


def _waves(
    filters: ColumnFilters, rows: NDArray[np.int64], places: NDArray[np.int64]
) -> Iterator[NDArray[np.int64]]:
    """Cut into runs with not too many parts."""
    while len(places):
        parts = filters.part_of[rows[places]]
        stop = int(np.searchsorted(np.cumsum(np.diff(parts, prepend=parts[0]) != 0), _MAX_OPEN))
        yield places[:stop]
        places = places[stop:]
