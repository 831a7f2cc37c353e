"""Lookups in stored Bloom filters: of each filter, its header and a block of 32 bytes per value.

A filter is the header, 15 to 19 bytes, and the bitset. `bloom_filter_length` gives the sizes of
both before anything is read, because bitsets are multiples of 32 bytes; the header is read to
confirm them. If the header is an unexpected one, or the length is missing, the header is decoded.
Each header is read once: what it says is kept with the footer.

One hash in each of many local filters, the usual case, is looked up by one kernel. All other
lookups take the same steps here, with arrays.

A filter that must not be trusted is never probed: with a header that is broken or unknown, or of a
draft unless the caller says that drafts are of Murmur3; with a length that disagrees with the
header; outside the file's data or in the place of another chunk's filter; or without a single bit
set, though its chunk has values. If all blocks that were read are empty, more of the bitset is read
until a bit is found.

Source: Parquet specification, "Bloom Filter", section "File Format".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.compact.varint import zigzag_widths
from parquet_bloomwriter.errors import BloomwriterError, MalformedFilter
from parquet_bloomwriter.filters.stored import FilterReader
from parquet_bloomwriter.kernels.layout import (
    EMPTY,
    MIGHT_BE_IN,
    ODD,
    PIECE_BYTES,
    TASK_WORDS,
)
from parquet_bloomwriter.probing.footer_cache import DISTRUSTED, UNSEEN
from parquet_bloomwriter.sbbf import Sbbf, encode_header
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK, SALT
from parquet_bloomwriter.sbbf.header import (
    USUAL_FIXED_BYTES,
    are_usual_headers,
    usual_header_length,
)
from parquet_bloomwriter.sbbf.murmur import stored_indexes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_bloomwriter.hashing import Dialect
    from parquet_bloomwriter.probing.batch_reader import BatchReader
    from parquet_bloomwriter.probing.footer_cache import BatchColumn, BitsetPlaces, FileBatch

_FEW_HASHES, _BYTES_PER_HASH = 64, 8192
"""Blocks are read one by one for up to 64 hashes, or up to one hash for 8,192 bytes of the bitset:
reading one block takes as long as reading so many bytes. For more hashes the bitset is read whole.
"""

_EMPTY = "all its bits are zero, though the chunk has values"
_FIRST_LOOK = 4096
"""Bytes of a bitset that are first searched for a set bit."""

_SALT = np.array(SALT, np.uint32)


@dataclass(frozen=True, slots=True, eq=False)
class FilterLookups:
    """The lookups in the filters of a batch: row groups and their hashes, m lookups."""

    rows: NDArray[np.int64]
    """Row groups, shape (m,)."""

    begins: NDArray[np.int64]
    """Index of the first hash for each row group, shape (m,)."""

    ends: NDArray[np.int64]
    """Index past the last hash for each row group, shape (m,)."""

    def take(self, chosen: NDArray[np.bool_]) -> FilterLookups:
        """Return the lookups whose flag is set."""
        return FilterLookups(self.rows[chosen], self.begins[chosen], self.ends[chosen])


def probe_filters(  # noqa: PLR0913, PLR0917  the state of one evaluation
    batch: FileBatch,
    column: BatchColumn,
    hashes: NDArray[np.uint64],
    lookups: FilterLookups,
    reader: BatchReader,
    places: BitsetPlaces,
    draft_hashes: NDArray[np.uint64] | None = None,
) -> NDArray[np.bool_]:
    """Look up hashes in the filters of one column in some row groups.

    Args:
        batch: The files.
        column: The column, of all row groups.
        hashes: Of all values.
        lookups: Which of the hashes are looked up in which row groups.
        reader: Reads from the files.
        places: Where the bitsets lie; filled in where that was not known.
        draft_hashes: Of all values, for filters of the Murmur3 drafts; None to distrust these. To
            be given whenever `places` was learned with draft hashes, and only then.

    Returns:
        For each lookup, whether any of its hashes might be in the filter; True also where the
        filter must not be trusted (`places` then has the reason) or cannot be read. Shape (m,).
    """
    return _Probe(batch, column, hashes, reader, places, draft_hashes).look_up(lookups)


@dataclass(slots=True, eq=False)
class _Probe:
    """The arguments of `probe_filters`; `places` and the failures of `reader` are updated."""

    batch: FileBatch
    column: BatchColumn
    hashes: NDArray[np.uint64]
    reader: BatchReader
    places: BitsetPlaces
    draft_hashes: NDArray[np.uint64] | None

    def look_up(self, lookups: FilterLookups) -> NDArray[np.bool_]:
        # The kernel knows released filters only.
        if self.draft_hashes is None and (lookups.ends - lookups.begins == 1).all():
            might = self._look_up_usual(lookups)
            if might is not None:
                return might
        return self._look_up_any(lookups)

    def _look_up_usual(self, lookups: FilterLookups) -> NDArray[np.bool_] | None:
        """Look up one hash in each filter by the kernel; None if the kernel cannot be used."""
        rows, places = lookups.rows, self.places
        tasks = np.empty((len(rows), TASK_WORDS), np.int64)
        tasks[:, 1] = self.column.filter_offsets[rows]
        tasks[:, 2] = self.column.filter_lengths[rows]
        tasks[:, 3] = self.batch.footer_starts[rows]
        tasks[:, 4] = self.hashes[lookups.begins].view(np.int64)
        tasks[:, 5] = places.starts[rows]
        tasks[:, 6] = places.sizes[rows]
        if not self.reader.probe(self.batch.file_of[rows], tasks):
            return None
        places.starts[rows], places.sizes[rows] = tasks[:, 5], tasks[:, 6]
        answers = tasks[:, 7] & ODD
        might: NDArray[np.bool_] = answers == MIGHT_BE_IN
        if (answers < EMPTY).all():
            places.has_bits[rows] = True
            return might
        places.has_bits[rows[answers < EMPTY]] = True
        doubtful = np.flatnonzero((answers == EMPTY) & ~places.has_bits[rows])
        might[doubtful] = ~self._have_bits(rows[doubtful])
        odd = answers == ODD
        might[odd] = self._look_up_any(lookups.take(odd))
        return might

    def _look_up_any(self, lookups: FilterLookups) -> NDArray[np.bool_]:
        """Look up any number of hashes in any filters, in local files and on stores."""
        rows = lookups.rows
        unseen = self.places.sizes[rows] == UNSEEN
        if unseen.any():
            if not self.reader.are_local:
                self._read_ahead(lookups.take(unseen))
            self._read_headers(rows[unseen])
        might = np.ones(len(rows), np.bool_)
        usable = self.places.sizes[rows] > 0
        some = np.maximum(_FEW_HASHES, self.places.sizes[rows] // _BYTES_PER_HASH)
        many = lookups.ends - lookups.begins > some
        few = usable & ~many
        might[few] = self._few(lookups.take(few))
        for index in np.flatnonzero(usable & many).tolist():
            might[index] = self._many(
                int(rows[index]), int(lookups.begins[index]), int(lookups.ends[index])
            )
        return might

    # Headers.

    def _read_ahead(self, lookups: FilterLookups) -> None:
        """Read headers with the blocks that will be needed, if these are at the usual place.

        A filter that is not large needs one request for both.
        """
        rows, begins = lookups.rows, lookups.begins
        offsets, sizes = self.column.filter_offsets[rows], self.column.filter_lengths[rows]
        bitsets = offsets + usual_header_length(sizes)
        num_blocks = np.maximum(offsets + sizes - bitsets, 0) // BYTES_PER_BLOCK
        likely = (offsets > 0) & (num_blocks > 0) & (lookups.ends - begins == 1)
        likely &= offsets <= self.batch.footer_starts[rows] - sizes
        high = self.hashes[begins[likely]] >> np.uint64(32)
        blocks = (high * num_blocks[likely].astype(np.uint64) >> np.uint64(32)).astype(np.int64)
        starts = np.concatenate([offsets[likely], bitsets[likely] + BYTES_PER_BLOCK * blocks])
        files = np.tile(self.batch.file_of[rows[likely]], 2)
        self.reader.read_ahead(files, np.stack([starts, starts + PIECE_BYTES], axis=1))

    def _read_headers(self, rows: NDArray[np.int64]) -> None:
        """Find the bitsets of row groups: usual headers are compared, other headers are decoded."""
        offsets = self.column.filter_offsets[rows]
        lengths = self.column.filter_lengths[rows]
        headers = usual_header_length(lengths)
        sizes = lengths - headers
        widths = zigzag_widths(sizes)
        usual = (headers == widths + USUAL_FIXED_BYTES) & (sizes > 0) & (offsets > 0)
        usual &= offsets <= self.batch.footer_starts[rows] - lengths
        for width in set(widths[usual].tolist()):
            mine = np.flatnonzero(usual & (widths == width))
            read = self.reader.read(self.batch.file_of[rows[mine]], offsets[mine], PIECE_BYTES)
            mine = mine[are_usual_headers(read, sizes[mine], width)]
            self.places.starts[rows[mine]] = offsets[mine] + headers[mine]
            self.places.sizes[rows[mine]] = sizes[mine]
        for row in rows[self.places.sizes[rows] == UNSEEN].tolist():
            self._decode_header(row)

    def _decode_header(self, row: int) -> None:
        """Read and decode one header, and check its filter."""
        file = int(np.searchsorted(self.batch.rows, row, "right")) - 1
        if file in self.reader.failures:
            return
        reader = FilterReader(
            limit=self.batch.files[file].start,
            edges=self.batch.files[file].edges,
            read_at=lambda start, stop: self.reader.read_at(file, start, stop),
        )
        try:
            stored = reader.read(
                self.column.leaf,
                row - int(self.batch.rows[file]),
                offset=int(self.column.filter_offsets[row]),
                length=int(self.column.filter_lengths[row]),
            )
            header = stored.trusted_header("xxhash" if self.draft_hashes is None else "murmur3")
        except MalformedFilter as error:
            self._distrust(row, error.problem)
        except (BloomwriterError, OSError) as error:
            self.reader.failures[file] = error
        else:
            self.places.of_drafts[row] = header.compression is None
            self.places.starts[row] = stored.offset + header.length
            self.places.sizes[row] = header.num_bytes

    def _distrust(self, row: int, problem: str) -> None:
        self.places.problems[row] = problem
        self.places.sizes[row] = DISTRUSTED

    # Blocks.

    def _few(self, lookups: FilterLookups) -> NDArray[np.bool_]:
        """Look up hashes by reading one block for each."""
        counts = lookups.ends - lookups.begins
        total = int(counts.sum())
        if not total:
            return np.zeros(len(counts), np.bool_)
        lookup = np.arange(len(counts))
        if total == len(counts) and (counts == 1).all():
            which = lookups.begins
        else:
            lookup = np.repeat(lookup, counts)
            firsts = counts.cumsum() - counts
            which = np.arange(total) + (lookups.begins - firsts)[lookup]
        rows = lookups.rows[lookup]
        hashes, blocks = self._places_in_filters(rows, which)
        starts = self.places.starts[rows] + BYTES_PER_BLOCK * blocks
        read = self.reader.read(self.batch.file_of[rows], starts, BYTES_PER_BLOCK)
        words = read.view("<u4")
        masks = np.uint32(1) << ((hashes.astype(np.uint32)[:, None] * _SALT) >> np.uint32(27))
        is_in = ((words & masks) == masks).all(axis=1)
        might = _any_by(lookup, is_in, len(counts))
        self.places.has_bits[rows[words.any(axis=1)]] = True
        doubtful = np.flatnonzero(~might & ~self.places.has_bits[lookups.rows])
        if len(doubtful):
            might[doubtful] = ~self._have_bits(lookups.rows[doubtful])
        return might

    def _places_in_filters(
        self, rows: NDArray[np.int64], which: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the hashes to look up in n filters, and the ordinals of their blocks.

        Args:
            rows: Row groups, shape (n,).
            which: Index of the hash looked up in each, shape (n,).
        """
        hashes = self.hashes[which]
        num_blocks = (self.places.sizes[rows] // BYTES_PER_BLOCK).astype(np.uint64)
        if self.draft_hashes is not None:
            of_drafts = self.places.of_drafts[rows]
            hashes[of_drafts] = self.draft_hashes[which[of_drafts]]
        blocks = (hashes >> np.uint64(32)) * num_blocks >> np.uint64(32)
        if self.draft_hashes is not None:
            blocks[of_drafts] = stored_indexes(blocks[of_drafts], num_blocks[of_drafts])
        return hashes, blocks.astype(np.int64)

    def _many(self, row: int, begin: int, end: int) -> bool:
        """Look up the hashes [begin, end) by reading the whole bitset."""
        start, size = int(self.places.starts[row]), int(self.places.sizes[row])
        read = self._read(row, start, start + size)
        if read is None:
            return True
        if not any(read):
            self._distrust(row, _EMPTY)
            return True
        dialect: Dialect = "murmur3" if self.places.of_drafts[row] else "xxhash"
        hashes = self.hashes if dialect == "xxhash" else self.draft_hashes
        assert hashes is not None  # noqa: S101  for the type checker; see `probe_filters`
        filter_ = Sbbf.from_bytes(encode_header(size, dialect) + read, dialect)
        return bool(filter_.check_hashes(hashes[begin:end]).any())

    def _have_bits(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether each bitset has a set bit; False also if reading fails."""
        looked_at = np.minimum(self.places.sizes[rows], _FIRST_LOOK)
        for size in sorted(set(looked_at.tolist())):
            mine = rows[looked_at == size]
            read = self.reader.read(self.batch.file_of[mine], self.places.starts[mine], size)
            self.places.has_bits[mine] = read.any(axis=1)
        for row in rows[~self.places.has_bits[rows]].tolist():
            self._search_bits(row)
        return self.places.has_bits[rows]

    def _search_bits(self, row: int) -> None:
        """Read a bitset up to its first set bit; distrust the filter if there is none."""
        start = int(self.places.starts[row])
        stop = start + int(self.places.sizes[row])
        step = _FIRST_LOOK
        while start < stop:
            read = self._read(row, start, min(start + step, stop))
            if read is None:
                return
            if any(read):
                self.places.has_bits[row] = True
                return
            start += step
            step *= 16
        self._distrust(row, _EMPTY)

    def _read(self, row: int, start: int, stop: int) -> bytes | None:
        """Return bytes of a row group's file; None if reading fails."""
        file = int(np.searchsorted(self.batch.rows, row, "right")) - 1
        try:
            return self.reader.read_at(file, start, stop)
        except (BloomwriterError, OSError) as error:
            self.reader.failures[file] = error
            return None


def _any_by(group: NDArray[np.int64], flags: NDArray[np.bool_], count: int) -> NDArray[np.bool_]:
    """Return, for each of `count` groups, whether any of its flags is set."""
    return np.bincount(group[flags], minlength=count).astype(np.bool_)
