"""A few hashes, looked up by reading one block of each filter for each of them."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter import native
from parquet_bloomwriter.index.open_parts import header_at, no_filter, open_parts, usual_headers
from parquet_bloomwriter.parallel import default_jobs
from parquet_bloomwriter.probing.batch_reader import Pieces
from parquet_bloomwriter.probing.tasks import MIGHT_BE_IN, ODD, PIECE_BYTES, TASK_WORDS
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK, mask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_bloomwriter.index.query.column_filters import ColumnFilters
    from parquet_bloomwriter.source.local import FileSource

_CHUNK = 1 << 13
"""Filters asked at once by a thread: what is noted of them stays in the cache."""

_LOAD_FROM = 5000
"""Blocks read from which loading the compiled loop pays, or once even compiling it."""

_KERNELS = "probing.kernels"


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
        headers = usual_headers(lengths)
        tasks = np.empty((len(rows), TASK_WORDS), np.int64)
        tasks[:, 0], tasks[:, 1], tasks[:, 2] = self.descriptors[parts], starts, lengths
        tasks[:, 3] = filters.sizes[parts]
        tasks[:, 4] = h.view(np.int64)
        tasks[:, 5] = starts + headers
        tasks[:, 6] = (lengths - headers) * checked  # 0: the header is to be read first.
        probe = native.kernels(_KERNELS).probe_usual
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
        is_worth_it = len(rows) * len(hashes) >= _LOAD_FROM or native.is_loaded(_KERNELS)
        if not hasattr(os, "pread") or not is_worth_it:
            return _ask_without_kernel(filters, rows, hashes, sources)
        descriptors = np.full(len(filters.paths), -1, np.int64)
        descriptors[list(sources)] = [source.fd for source in sources.values()]
        asked = _Asked(filters, sources, descriptors, hashes)
        if len(rows) <= _CHUNK:
            return asked.ask(rows)
        chunks = [rows[start : start + _CHUNK] for start in range(0, len(rows), _CHUNK)]
        native.kernels(_KERNELS)
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
        if not header_at(head.tobytes(), 0, int(lengths[place])):
            raise no_filter(filters, int(rows[place]))
    headers = usual_headers(lengths)
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
