"""Many hashes, looked up in filters that are read whole, neighbours together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter import native
from parquet_bloomwriter.index.open_parts import header_at, no_filter, open_parts
from parquet_bloomwriter.parallel import default_jobs
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_bloomwriter.index.query.column_filters import ColumnFilters
    from parquet_bloomwriter.source.local import FileSource

_SLAB_BYTES = 4 << 20
"""Read at once, about."""

_GAP_BYTES = 64 * 1024
"""Between two filters that are read together."""

_KERNELS = "sbbf.kernels"


def ask_whole(
    filters: ColumnFilters, rows: NDArray[np.int64], hashes: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    """Do what `asking.ask` says; every filter has values, and the parts are not too many."""
    with ExitStack() as stack:
        sources = open_parts(stack, filters, rows)

        def ask_slab(slab: NDArray[np.int64]) -> list[bool]:
            return _ask_slab(filters, slab, hashes, sources[int(filters.part_of[slab[0]])])

        with ThreadPoolExecutor(default_jobs()) as pool:
            found = [one for slab in pool.map(ask_slab, _slabs(filters, rows)) for one in slab]
    return np.array(found, np.bool_)


def _ask_slab(
    filters: ColumnFilters, slab: NDArray[np.int64], hashes: NDArray[np.uint64], source: FileSource
) -> list[bool]:
    """Ask neighbours in one part, read together."""
    lengths = filters.num_bytes[slab].tolist()
    begin = int(filters.starts[slab[0]])
    offsets = (filters.starts[slab] - begin).tolist()
    data = source.read_at(begin, begin + offsets[-1] + lengths[-1])
    base = native.address(np.frombuffer(data, np.uint8))
    check, wanted = native.kernels(_KERNELS).check, native.address(hashes)
    found = []
    for place, (offset, length) in enumerate(zip(offsets, lengths, strict=True)):
        header = header_at(data, offset, length)
        if not header:
            raise no_filter(filters, int(slab[place]))
        num_blocks = (length - header) // BYTES_PER_BLOCK
        found.append(check(base + offset + header, num_blocks, wanted, len(hashes), 0) > 0)
    filters.is_checked[slab] = True
    return found


def _slabs(filters: ColumnFilters, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Cut into runs of filters that lie close together in one part."""
    starts, parts = filters.starts[rows], filters.part_of[rows]
    stops = starts + filters.num_bytes[rows]
    is_first = np.diff(parts, prepend=-1) != 0
    is_first[1:] |= (starts[1:] < stops[:-1]) | (starts[1:] - stops[:-1] > _GAP_BYTES)
    is_first |= np.diff(starts // _SLAB_BYTES, prepend=-1) != 0
    return np.split(rows, np.flatnonzero(is_first)[1:])
