"""Bloom filters probed where they lie: the header, and one block of 32 bytes for each value.

A filter is the header, 15 to 19 bytes, and the bitset. `bloom_filter_length` tells the sizes of
both before anything is read, because bitsets are multiples of 32 bytes: the header is read to
confirm them. Where it is another, or the length is missing, it is decoded in the ordinary way. It
is read once: what it says is kept with the footer.

One hash in each of many local filters, the usual case, is looked up by one compiled loop. All else
takes the same steps here, with arrays.

What must not be trusted is never probed: a header that is broken or unknown, or of a draft unless
the caller says that drafts are of Murmur3; a length that disagrees with the header; a place outside
the file's data or that of another chunk's filter; and a bitset without a single bit, which is no
filter of a chunk with values. If all blocks that were
asked about are empty, more of the bitset is read until a bit is found.

Source: Parquet specification, "Bloom Filter", section "File Format".
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.compact.varint import zigzag_widths
from parquet_bloomwriter.errors import BloomwriterError, MalformedFilter
from parquet_bloomwriter.filters.stored import FilterReader
from parquet_bloomwriter.hashing import XXHASH, HashKind, hash_plain, xxh64
from parquet_bloomwriter.probing.footer_cache import DISTRUSTED, UNSEEN
from parquet_bloomwriter.probing.kernel_abi import EMPTY, MIGHT_BE_IN, ODD, TASK_WORDS
from parquet_bloomwriter.sbbf import Sbbf, encode_header
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK, SALT
from parquet_bloomwriter.sbbf.header import (
    USUAL_FIXED_BYTES,
    are_usual_headers,
    usual_header_length,
)
from parquet_bloomwriter.sbbf.murmur import stored_indexes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.hashing import Dialect
    from parquet_bloomwriter.probing.batch_reader import Pieces
    from parquet_bloomwriter.probing.footer_cache import Column, Family, FilterPlaces

_HEADER_PIECE = 32
"""Bytes read for a header that is expected; fewer than any header with its bitset."""

_FEW_HASHES, _BYTES_PER_HASH = 64, 8192
"""Up to so many hashes their blocks are read, or up to one for so many bytes of the bitset: a block
takes as long as this much in one go. For more the whole bitset is read."""

_EMPTY = "all its bits are zero, though the chunk has values"
_FIRST_LOOK = 4096
_SALT = np.array(SALT, np.uint32)


@dataclass(frozen=True, slots=True, eq=False)
class Hashes:
    """The hashes of n values, those of equal bytes one behind the other."""

    hashes: NDArray[np.uint64]
    firsts: NDArray[np.int64]
    """Where the hashes of each value begin, and their number, shape (n + 1,)."""

    of_drafts: NDArray[np.uint64] | None = None
    """The same for filters of the Murmur3 drafts; None to distrust these filters."""

    @classmethod
    def of(cls, plains: Sequence[Sequence[bytes]], kind: HashKind = XXHASH) -> Hashes:
        """Hash the PLAIN bytes of n values, each of which may be stored in several ways.

        Args:
            plains: By value.
            kind: The hash function of filters whose headers do not name it; that of "xxhash" is of
                filters whose headers do.
        """
        ways = [way for ways in plains for way in ways]
        return cls(
            np.array([xxh64(way) for way in ways], np.uint64),
            np.array([0, *accumulate(map(len, plains))], np.int64),
            np.array([hash_plain(way, kind) for way in ways], np.uint64)
            if kind.dialect == "murmur3"
            else None,
        )

    @property
    def dialect(self) -> Dialect:
        """What filters of drafts are taken for."""
        return "xxhash" if self.of_drafts is None else "murmur3"


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """Which hashes are looked up in the filters of which row groups of a family."""

    rows: NDArray[np.int64]
    """Row groups, shape (m,)."""

    begins: NDArray[np.int64]
    """The first hash of each, shape (m,)."""

    ends: NDArray[np.int64]
    """Past the last hash of each, shape (m,)."""

    def take(self, chosen: NDArray[np.bool_]) -> Questions:
        """Some of them."""
        return Questions(self.rows[chosen], self.begins[chosen], self.ends[chosen])


def probe_filters(  # noqa: PLR0913, PLR0917  the state of one evaluation
    family: Family,
    column: Column,
    hashes: NDArray[np.uint64],
    questions: Questions,
    pieces: Pieces,
    places: FilterPlaces,
    draft_hashes: NDArray[np.uint64] | None = None,
) -> NDArray[np.bool_]:
    """Look up hashes in the filters of some row groups.

    Args:
        family: The files.
        column: The column, of all row groups.
        hashes: Of all values.
        questions: Which of them are looked up where.
        pieces: Reads from the files.
        places: Where the bitsets lie; what is learned about that is added.
        draft_hashes: Of all values, for filters of the Murmur3 drafts; None to distrust these. It
            must be given whenever `places` was learned with it, and only then.

    Returns:
        For each question, whether any of its hashes might be in the filter; True also where the
        filter must not be trusted (`places` then tells why) or cannot be read. Shape (m,).
    """
    probe = _Probe(family, column, hashes, pieces, places, draft_hashes)
    return probe.ask(questions)


@dataclass(frozen=True, slots=True, eq=False)
class _Probe:
    family: Family
    column: Column
    hashes: NDArray[np.uint64]
    pieces: Pieces
    places: FilterPlaces
    draft_hashes: NDArray[np.uint64] | None

    def ask(self, questions: Questions) -> NDArray[np.bool_]:
        """Answer questions, the simple ones together."""
        # The compiled loop knows released filters only.
        if self.draft_hashes is None and (questions.ends - questions.begins == 1).all():
            might = self._ask_usual(questions)
            if might is not None:
                return might
        return self._ask_any(questions)

    def _ask_usual(self, questions: Questions) -> NDArray[np.bool_] | None:
        """Look up one hash each, header and block in one go; None if files are not local."""
        rows, places = questions.rows, self.places
        tasks = np.empty((len(rows), TASK_WORDS), np.int64)
        tasks[:, 1] = self.column.filter_offsets[rows]
        tasks[:, 2] = self.column.filter_lengths[rows]
        tasks[:, 3] = self.family.footer_starts[rows]
        tasks[:, 4] = self.hashes[questions.begins].view(np.int64)
        tasks[:, 6] = places.sizes[rows]  # Before starts: other threads write them last.
        tasks[:, 5] = places.starts[rows]
        if not self.pieces.probe(self.family.file_of[rows], tasks):
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
        might[odd] = self._ask_any(questions.take(odd))
        return might

    def _ask_any(self, questions: Questions) -> NDArray[np.bool_]:
        """Answer questions of any kind about files of any kind."""
        rows = questions.rows
        unseen = self.places.sizes[rows] == UNSEEN
        if unseen.any():
            self._expect(rows[unseen])
        might = np.ones(len(rows), np.bool_)
        usable = self.places.sizes[rows] > 0
        some = np.maximum(_FEW_HASHES, self.places.sizes[rows] // _BYTES_PER_HASH)
        many = questions.ends - questions.begins > some
        few = usable & ~many
        might[few] = self._few(questions.take(few))
        for index in np.flatnonzero(usable & many).tolist():
            might[index] = self._many(
                int(rows[index]), int(questions.begins[index]), int(questions.ends[index])
            )
        return might

    # Headers.

    def _expect(self, rows: NDArray[np.int64]) -> None:
        """Learn where the bitsets of these row groups lie."""
        offsets = self.column.filter_offsets[rows]
        lengths = self.column.filter_lengths[rows]
        headers = usual_header_length(lengths)
        sizes = lengths - headers
        widths = zigzag_widths(sizes)
        usual = (headers == widths + USUAL_FIXED_BYTES) & (sizes > 0) & (offsets > 0)
        usual &= offsets <= self.family.footer_starts[rows] - lengths
        for width in set(widths[usual].tolist()):
            mine = np.flatnonzero(usual & (widths == width))
            read = self.pieces.read(self.family.file_of[rows[mine]], offsets[mine], _HEADER_PIECE)
            mine = mine[are_usual_headers(read, sizes[mine], width)]
            self.places.starts[rows[mine]] = offsets[mine] + headers[mine]
            self.places.sizes[rows[mine]] = sizes[mine]
        for row in rows[self.places.sizes[rows] == UNSEEN].tolist():
            self._look(row)

    def _look(self, row: int) -> None:
        """Read one header in the ordinary way."""
        file = int(np.searchsorted(self.family.rows, row, "right")) - 1
        if file in self.pieces.failures:
            return
        reader = FilterReader(
            limit=self.family.files[file].start,
            edges=self.family.files[file].edges,
            read_at=lambda start, stop: self.pieces.read_at(file, start, stop),
        )
        try:
            stored = reader.read(
                self.column.leaf,
                row - int(self.family.rows[file]),
                offset=int(self.column.filter_offsets[row]),
                length=int(self.column.filter_lengths[row]),
            )
            header = stored.trusted_header("xxhash" if self.draft_hashes is None else "murmur3")
        except MalformedFilter as error:
            self._distrust(row, error.problem)
        except (BloomwriterError, OSError) as error:
            self.pieces.failures[file] = error
        else:
            self.places.of_drafts[row] = header.compression is None
            self.places.starts[row] = stored.offset + header.length
            self.places.sizes[row] = header.num_bytes  # Last: other threads read it first.

    def _distrust(self, row: int, problem: str) -> None:
        self.places.problems[row] = problem
        self.places.sizes[row] = DISTRUSTED

    # Blocks.

    def _few(self, questions: Questions) -> NDArray[np.bool_]:
        """Read the block of every hash."""
        counts = questions.ends - questions.begins
        total = int(counts.sum())
        if not total:
            return np.zeros(len(counts), np.bool_)
        question = np.arange(len(counts))
        if total == len(counts) and (counts == 1).all():
            which = questions.begins
        else:
            question = np.repeat(question, counts)
            firsts = counts.cumsum() - counts
            which = np.arange(total) + (questions.begins - firsts)[question]
        rows = questions.rows[question]
        hashes, blocks = self._places_in_filters(rows, which)
        starts = self.places.starts[rows] + BYTES_PER_BLOCK * blocks
        read = self.pieces.read(self.family.file_of[rows], starts, BYTES_PER_BLOCK)
        words = read.view("<u4")
        masks = np.uint32(1) << ((hashes.astype(np.uint32)[:, None] * _SALT) >> np.uint32(27))
        is_in = ((words & masks) == masks).all(axis=1)
        might = _any_by(question, is_in, len(counts))
        self.places.has_bits[rows[words.any(axis=1)]] = True
        doubtful = np.flatnonzero(~might & ~self.places.has_bits[questions.rows])
        if len(doubtful):
            might[doubtful] = ~self._have_bits(questions.rows[doubtful])
        return might

    def _places_in_filters(
        self, rows: NDArray[np.int64], which: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the hashes that are looked up in n filters, and the numbers of their blocks.

        Args:
            rows: Row groups, shape (n,).
            which: The hash looked up in each, shape (n,).
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
        """Read the whole bitset."""
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
        """Whether bitsets have any bit; those that have none, or cannot be read, are of no use."""
        looked_at = np.minimum(self.places.sizes[rows], _FIRST_LOOK)
        for size in np.unique(looked_at).tolist():
            mine = rows[looked_at == size]
            read = self.pieces.read(self.family.file_of[mine], self.places.starts[mine], size)
            self.places.has_bits[mine] = read.any(axis=1)
        for row in rows[~self.places.has_bits[rows]].tolist():
            self._search_bits(row)
        return self.places.has_bits[rows]

    def _search_bits(self, row: int) -> None:
        """Read a bitset to its end, or to its first bit."""
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
        """Read from the file of a row group; None if that fails."""
        file = int(np.searchsorted(self.family.rows, row, "right")) - 1
        try:
            return self.pieces.read_at(file, start, stop)
        except (BloomwriterError, OSError) as error:
            self.pieces.failures[file] = error
            return None


def _any_by(group: NDArray[np.int64], flags: NDArray[np.bool_], count: int) -> NDArray[np.bool_]:
    """For each of `count` groups, whether any of its flags is set."""
    return np.bincount(group[flags], minlength=count).astype(np.bool_)
