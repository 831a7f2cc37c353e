"""Which of many filters might contain any of some hashes.

For a few hashes one block of each filter is read, by a compiled loop; for many, filters are read
whole, neighbours together. The header of each filter is looked at when it is asked first, so that
an answer never comes from bytes that are no filter. Files are opened for each call and closed
behind it: no more than `_MAX_OPEN` are open at once, and a part that is gone is found out.

Parts opened for a lookup, and the headers of the filters in them.

A few hashes, looked up by reading one block of each filter for each of them.

Many hashes, looked up in filters that are read whole, neighbours together.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter import native
from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.format.part_reader import state_of
from parquet_bloomwriter.parallel import default_jobs
from parquet_bloomwriter.probing.batch_reader import Pieces
from parquet_bloomwriter.probing.kernel_abi import MIGHT_BE_IN, ODD, PIECE_BYTES, TASK_WORDS
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK, mask
from parquet_bloomwriter.sbbf.header import usual_header_at, usual_header_length
from parquet_bloomwriter.source.local import open_local

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.query.column_filters import ColumnFilters
    from parquet_bloomwriter.source.local import FileSource


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


def no_filter(filters: ColumnFilters, row: int) -> IndexProblem:
    """Make the error for a place where a filter should be."""
    return IndexProblem(
        "a filter has no such header as it should",
        path=filters.paths[int(filters.part_of[row])],
        byte=int(filters.starts[row]),
        remedy="Refresh the index in full.",
    )


_CHUNK = 1 << 13
"""Filters asked at once by a thread: what is noted of them stays in the cache."""

_LOAD_FROM = 5000
"""Blocks read from which loading the compiled loop pays, or once even compiling it."""

_PROBING_KERNELS = "probing.kernels"


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """Filters of one column, with their parts open."""

    filters: ColumnFilters
    sources: dict[int, FileSource]
    descriptors: NDArray[np.int64]
    """Of each part; -1 where it is not open."""

    hashes: NDArray[np.uint64]

    def ask(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Look all hashes up in some filters."""
        found = self._ask_one(rows, self.hashes[0])
        for h in self.hashes[1:]:
            pending = np.flatnonzero(~found)
            found[pending] = self._ask_one(rows[pending], h)
        return found

    def _ask_one(self, rows: NDArray[np.int64], h: np.uint64) -> NDArray[np.bool_]:
        filters = self.filters
        starts, lengths, parts = (
            filters.starts[rows],
            filters.num_bytes[rows],
            filters.part_of[rows],
        )
        checked = filters.is_checked[rows]
        headers = usual_header_length(lengths)
        tasks = np.empty((len(rows), TASK_WORDS), np.int64)
        tasks[:, 0], tasks[:, 1], tasks[:, 2] = self.descriptors[parts], starts, lengths
        tasks[:, 3] = filters.sizes[parts]
        tasks[:, 4] = h.view(np.int64)
        tasks[:, 5] = starts + headers
        tasks[:, 6] = (lengths - headers) * checked  # 0: the header is to be read first.
        probe = native.kernels(_PROBING_KERNELS).probe_usual
        scratch = np.empty(PIECE_BYTES, np.uint8)
        if probe(
            native.pread_address(), len(tasks), native.address(tasks), native.address(scratch)
        ):
            raise no_filter(filters, int(rows[tasks[:, 7] & 3 == ODD][0]))
        filters.is_checked[rows] = True
        return np.asarray(tasks[:, 7] & 3 == MIGHT_BE_IN)


def ask_blocks(
    filters: ColumnFilters, rows: NDArray[np.int64], hashes: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    """Do what `asking.ask` says; every filter has values, and the parts are not too many."""
    with ExitStack() as stack:
        sources = open_parts(stack, filters, rows)
        is_worth_it = len(rows) * len(hashes) >= _LOAD_FROM or native.is_loaded(_PROBING_KERNELS)
        if not hasattr(os, "pread") or not is_worth_it:
            return _ask_without_kernel(filters, rows, hashes, sources)
        descriptors = np.full(len(filters.paths), -1, np.int64)
        descriptors[list(sources)] = [source.fd for source in sources.values()]
        asked = _Asked(filters, sources, descriptors, hashes)
        if len(rows) <= _CHUNK:
            return asked.ask(rows)
        chunks = [rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK)]
        native.kernels(_PROBING_KERNELS)
        with ThreadPoolExecutor(default_jobs()) as pool:
            return np.concatenate(list(pool.map(asked.ask, chunks)))


def _ask_without_kernel(
    filters: ColumnFilters,
    rows: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    sources: dict[int, FileSource],
) -> NDArray[np.bool_]:
    """The same for few filters, for which the compiled loop is not worth loading."""
    ordinals = np.zeros(len(filters.paths), np.int64)
    ordinals[list(sources)] = np.arange(len(sources))
    pieces, part_of = Pieces(list(sources.values())), ordinals[filters.part_of[rows]]
    starts, lengths = filters.starts[rows], filters.num_bytes[rows]
    heads = pieces.read(part_of, starts, PIECE_BYTES)
    _raise_first(pieces)
    for place, head in enumerate(heads):
        if not usual_header_at(head.tobytes(), 0, int(lengths[place])):
            raise no_filter(filters, int(rows[place]))
    headers = usual_header_length(lengths)
    num_blocks = ((lengths - headers) // BYTES_PER_BLOCK).astype(np.uint64)
    found = np.zeros(len(rows), np.bool_)
    for h in hashes:
        block = ((h >> np.uint64(32)) * num_blocks) >> np.uint64(32)
        places = starts + headers + BYTES_PER_BLOCK * block.astype(np.int64)
        words = pieces.read(part_of, places, BYTES_PER_BLOCK).view("<u4")
        _raise_first(pieces)
        bits = np.array(mask(int(h)), np.uint32)
        found |= ((words & bits) == bits).all(axis=1)
    return found


def _raise_first(pieces: Pieces) -> None:
    for error in pieces.failures.values():
        raise error


_SLAB_BYTES = 4 << 20
"""Read at once, about."""

_GAP_BYTES = 64 * 1024
"""Between two filters that are read together."""

_SBBF_KERNELS = "sbbf.kernels"


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
    check, wanted = native.kernels(_SBBF_KERNELS).check, native.address(hashes)
    found = []
    for place, (offset, length) in enumerate(zip(offsets, lengths, strict=True)):
        header = usual_header_at(data, offset, length)
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
                header = usual_header_at(data, 0, length)
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
