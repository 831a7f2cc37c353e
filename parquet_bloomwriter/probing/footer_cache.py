"""A cache in memory of footers, and of the column numbers that probing needs, by file identity.

A `CachedFooter` is the bytes of one footer, and the numbers of the columns that were asked about:
little enough to be kept for thousands of files. Files of one table have the same schema and writer:
a `FileBatch` is several of them taken together, as if their row groups were those of one file, so
that they are judged by one operation on arrays instead of one for each file.

Threads share `CachedFooter`s. What is learned about a file is put into its dictionaries as whole
objects, which do not change afterwards. Two threads may learn the same thing twice.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from itertools import accumulate
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.filters.stored import SHARED, shared_offsets
from parquet_bloomwriter.kernels.layout import STOP
from parquet_bloomwriter.metadata import Repetition, parse_footer
from parquet_bloomwriter.metadata.contradictions import Contradiction, find_contradictions
from parquet_bloomwriter.metadata.fields import ChunkField, FileField, RowGroupField
from parquet_bloomwriter.predicate.literals.domain import order_of
from parquet_bloomwriter.probing.statistics import (
    BOUND_FIELDS,
    Bounds,
    decode_bounds,
    may_count_too_few_nulls,
    null_counts,
    type_ordered,
)
from parquet_bloomwriter.source import read_footer

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from parquet_bloomwriter.hashing import Dialect
    from parquet_bloomwriter.metadata import Footer, Leaf, Schema
    from parquet_bloomwriter.source import Source

    Numbers: TypeAlias = NDArray[np.int64]

_NUMBER_FIELDS = np.array(
    [
        ChunkField.NUM_VALUES,
        ChunkField.NULL_COUNT,
        ChunkField.BLOOM_FILTER_OFFSET,
        ChunkField.BLOOM_FILTER_LENGTH,
        *BOUND_FIELDS,
    ]
)
_BOUND_FIELDS = np.array(BOUND_FIELDS)
_NUM_VALUES, _NULL_COUNT, _OFFSET, _LENGTH = range(4)
_BOUNDS = slice(4, None)

UNSEEN, DISTRUSTED = 0, -1
"""Instead of a bitset's size: its header was not read yet; the filter must not be probed."""


@dataclass(frozen=True, slots=True, eq=False)
class RawColumn:
    """The numbers of one column's r chunks, as the footer has them."""

    numbers: Numbers
    """Integers, and lengths of bounds, by `_NUMBER_FIELDS`, shape (r, 8)."""

    stops: NDArray[np.int32]
    """Positions past the bounds, relative to the footer, shape (r, 4)."""

    is_shared: NDArray[np.bool_] | None
    """Whether another column chunk's filter has the same offset, shape (r,); None if none has."""


@dataclass(slots=True, eq=False)
class BitsetPlaces:
    """The positions of the bitsets of n column chunks, as far as their headers were read.

    An evaluation fills in one of its own; those kept with a footer do not change.
    """

    starts: Numbers
    """Absolute position of each bitset, bytes, shape (n,)."""

    sizes: Numbers
    """Size of each bitset, bytes, or `UNSEEN`, or `DISTRUSTED`, shape (n,)."""

    has_bits: NDArray[np.bool_]
    """Whether a set bit was seen in each bitset, shape (n,)."""

    of_drafts: NDArray[np.bool_]
    """Whether each filter is of a Murmur3 draft and was looked up as such, shape (n,)."""

    problems: dict[int, str] = field(default_factory=dict)
    """Why filters are distrusted, by index of the chunk."""

    @classmethod
    def unseen(cls, count: int) -> BitsetPlaces:
        """Return the positions of `count` chunks of which nothing is known."""
        numbers, flags = np.zeros((2, count), np.int64), np.zeros((2, count), np.bool_)
        return cls(*numbers, *flags)

    @classmethod
    def distrusted(cls, rows: NDArray[np.bool_], problem: str) -> BitsetPlaces:
        """Return the positions of n unknown chunks, of which those of `rows` have a problem."""
        places = cls.unseen(len(rows))
        places.sizes[rows] = DISTRUSTED
        places.problems.update(dict.fromkeys(np.flatnonzero(rows).tolist(), problem))
        return places

    @classmethod
    def together(cls, parts: Sequence[BitsetPlaces]) -> BitsetPlaces:
        """Return a copy of several positions, joined in order."""
        starts, sizes, has_bits, of_drafts = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("starts", "sizes", "has_bits", "of_drafts")
        )
        problems: dict[int, str] = {}
        first = 0
        for part in parts:
            problems.update((first + index, why) for index, why in part.problems.items())
            first += len(part.sizes)
        return cls(starts, sizes, has_bits, of_drafts, problems)

    def copy(self) -> BitsetPlaces:
        """Return a copy that shares no memory."""
        return BitsetPlaces(
            self.starts.copy(),
            self.sizes.copy(),
            self.has_bits.copy(),
            self.of_drafts.copy(),
            self.problems.copy(),
        )

    def part(self, start: int, stop: int) -> BitsetPlaces:
        """Return the positions of the chunks [start, stop), sharing memory."""
        problems = (
            {index - start: why for index, why in self.problems.items() if start <= index < stop}
            if self.problems
            else {}
        )
        rows = slice(start, stop)
        return BitsetPlaces(
            self.starts[rows], self.sizes[rows], self.has_bits[rows], self.of_drafts[rows], problems
        )


@dataclass(slots=True, eq=False)
class CachedFooter:
    """The footer of a file in the cache, with the columns that were needed so far."""

    data: bytes
    """Bytes of FileMetaData, Thrift compact."""

    start: int
    """Absolute position of `data` in the file, bytes."""

    schema: Schema
    created_by: bytes
    column_orders: bytes
    """Field 7 of FileMetaData, its bytes; b"" if absent."""

    num_rows: Numbers
    """Number of rows of each row group, shape (r,)."""

    columns: dict[int, RawColumn] = field(default_factory=dict)
    """Numbers of columns by leaf ordinal."""

    filters: dict[tuple[int, Dialect], BitsetPlaces] = field(default_factory=dict)
    """Positions of bitsets, by leaf ordinal and the dialect in which filters were read."""

    decoded: dict[int, BatchColumn] = field(default_factory=dict)
    """Decoded columns of a batch that has only this file, by leaf ordinal."""

    _edges: tuple[Numbers | None] | None = None
    """The result of `edges`, in a tuple, because None is a result as well."""

    _contradictions: dict[int, Contradiction] | None = None

    @classmethod
    def of(cls, footer: Footer) -> CachedFooter:
        """Return the cached form of a footer, without its tables."""
        _, start, stop = footer.file.spans[0, FileField.COLUMN_ORDERS].tolist()
        return cls(
            data=footer.data,
            start=footer.start,
            schema=footer.schema,
            created_by=footer.created_by,
            column_orders=footer.data[start:stop] if start >= 0 else b"",
            num_rows=footer.row_groups.value(RowGroupField.NUM_ROWS).copy(),
        )

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Leaf columns, in order."""
        return self.schema.leaves

    @property
    def num_row_groups(self) -> int:
        """Number of row groups, r."""
        return len(self.num_rows)

    @property
    def weight(self) -> int:
        """Approximate memory of the footer with a column or two, bytes."""
        return len(self.data) + 4096 + 512 * len(self.num_rows)

    @property
    def num_bytes(self) -> Numbers:
        """Compressed size of each row group, bytes, shape (r,)."""
        sizes = self.footer().chunks.value(ChunkField.TOTAL_COMPRESSED_SIZE)
        sums: Numbers = np.maximum(sizes, 0).sum(axis=1)
        return sums

    def edges(self) -> Numbers | None:
        """Return the positions where structures begin in the file: see `Footer.edges`."""
        if self._edges is None:
            self._edges = (self.footer().edges(),)
        return self._edges[0]

    def contradictions(self) -> Mapping[int, Contradiction]:
        """Return the columns whose statistics pyarrow must not compare, by leaf ordinal.

        Raises:
            MalformedFile: See `find_contradictions`.
        """
        if self._contradictions is None:
            self._contradictions = find_contradictions(self.data, self.leaves, start=self.start)
        return self._contradictions

    def footer(self) -> Footer:
        """Return the footer, parsed again from its bytes."""
        return parse_footer(self.data, start=self.start)

    def learn(self, ordinals: Sequence[int], footer: Footer | None = None) -> None:
        """Take the numbers of columns from the footer, unless they were taken before."""
        missing = [ordinal for ordinal in ordinals if ordinal not in self.columns]
        if not missing:
            return
        chunks = (footer or self.footer()).chunks
        shared = shared_offsets(chunks.value(ChunkField.BLOOM_FILTER_OFFSET))
        for ordinal in missing:
            self.columns[ordinal] = RawColumn(
                chunks.values[:, ordinal, _NUMBER_FIELDS],
                chunks.spans[:, ordinal, _BOUND_FIELDS, STOP],
                shared[:, ordinal] if shared[:, ordinal].any() else None,
            )

    def places(self, ordinal: int, dialect: Dialect) -> BitsetPlaces | None:
        """Return the known positions of a column's bitsets, or None; they must not be changed.

        Args:
            ordinal: Of the leaf.
            dialect: What filters of drafts are taken for.
        """
        known = self.filters.get((ordinal, dialect))
        is_shared = self.columns[ordinal].is_shared
        if known is None and is_shared is not None:
            return BitsetPlaces.distrusted(is_shared, SHARED)
        return known


@dataclass(frozen=True, slots=True, eq=False)
class BatchColumn:
    """One column of a batch of files: its n chunks, file after file."""

    leaf: Leaf
    num_values: Numbers
    """Number of values of each chunk, nulls included, shape (n,)."""

    num_nulls: Numbers
    """Number of nulls of each chunk, -1 where unknown, shape (n,)."""

    bounds: Bounds
    filter_offsets: Numbers
    """Absolute position of each filter's header, `ABSENT` without a filter, shape (n,)."""

    filter_lengths: Numbers
    """`bloom_filter_length` of each chunk, `ABSENT` where the writer left it out, shape (n,)."""

    @property
    def has_no_values(self) -> NDArray[np.bool_]:
        """Whether each chunk certainly holds nothing but nulls, or nothing at all, shape (n,)."""
        # Neither a count below zero nor an unknown number of nulls, which is -1, tells anything.
        all_nulls = (self.num_values <= self.num_nulls) & (self.num_values >= 0)
        found: NDArray[np.bool_] = all_nulls | (self.num_values == 0)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class FileBatch:
    """Files of the same schema and writer that are judged together: n row groups."""

    files: tuple[CachedFooter, ...]
    rows: Numbers
    """Index of the first row group of each file, and n itself, shape (files + 1,)."""

    file_of: Numbers
    """Ordinal of each row group's file in the batch, shape (n,)."""

    footer_starts: Numbers
    """Absolute position of the footer in the file of each row group, shape (n,)."""

    @classmethod
    def of(cls, files: Sequence[CachedFooter]) -> FileBatch:
        """Return the batch of these files."""
        counts = [len(file.num_rows) for file in files]
        rows = np.array([0, *accumulate(counts)], np.int64)
        if len(files) == 1:
            file_of = np.zeros(counts[0], np.int64)
            return cls(tuple(files), rows, file_of, np.full(counts[0], files[0].start))
        file_of = np.repeat(np.arange(len(files)), counts)
        starts = np.array([file.start for file in files], np.int64)
        return cls(tuple(files), rows, file_of, starts[file_of])

    @property
    def num_row_groups(self) -> int:
        """Number of row groups, n."""
        return int(self.rows[-1])

    def column(self, leaf: Leaf) -> BatchColumn:
        """Return one column; every file must have learned its numbers."""
        if len(self.files) > 1:
            return self._gathered(leaf)
        decoded = self.files[0].decoded
        if leaf.ordinal not in decoded:
            decoded[leaf.ordinal] = self._gathered(leaf)
        return decoded[leaf.ordinal]

    def _gathered(self, leaf: Leaf) -> BatchColumn:
        raw = [file.columns[leaf.ordinal] for file in self.files]
        first = self.files[0]
        if len(raw) == 1:
            numbers, stops, data = raw[0].numbers, raw[0].stops.astype(np.int64), first.data
        else:
            numbers = np.concatenate([one.numbers for one in raw])
            bases = np.array([0, *accumulate(len(file.data) for file in self.files[:-1])])
            stops = np.concatenate([one.stops for one in raw])
            stops = stops + np.repeat(bases, np.diff(self.rows))[:, None]
            data = b"".join(file.data for file in self.files)
        ordered = type_ordered(first.column_orders)
        num_values = numbers[:, _NUM_VALUES]
        return BatchColumn(
            leaf=leaf,
            num_values=num_values,
            num_nulls=_nulls(leaf, num_values, numbers[:, _NULL_COUNT], first.created_by),
            bounds=decode_bounds(
                leaf,
                order_of(leaf),
                data,
                stops,
                numbers[:, _BOUNDS],
                created_by=first.created_by,
                has_type_order=leaf.ordinal < len(ordered) and ordered[leaf.ordinal],
            ),
            filter_offsets=numbers[:, _OFFSET],
            filter_lengths=numbers[:, _LENGTH],
        )

    def places(self, leaf: Leaf, dialect: Dialect = "xxhash") -> BitsetPlaces:
        """Return a copy of the known positions of a column's bitsets, to be completed.

        Args:
            leaf: The column.
            dialect: What filters of drafts are taken for; with "xxhash" they are distrusted.
        """
        known = [file.places(leaf.ordinal, dialect) for file in self.files]
        if not any(known):
            return BitsetPlaces.unseen(self.num_row_groups)
        parts = [
            part or BitsetPlaces.unseen(file.num_row_groups)
            for part, file in zip(known, self.files, strict=True)
        ]
        return parts[0].copy() if len(parts) == 1 else BitsetPlaces.together(parts)

    def remember(self, leaf: Leaf, places: BitsetPlaces, dialect: Dialect = "xxhash") -> None:
        """Keep what was learned with each file; `places` must not change from now on."""
        if len(self.files) == 1:
            self.files[0].filters[leaf.ordinal, dialect] = places
            return
        rows = self.rows.tolist()
        for file, start, stop in zip(self.files, rows, rows[1:], strict=False):
            file.filters[leaf.ordinal, dialect] = places.part(start, stop)


def batch_key(file: CachedFooter) -> tuple[object, ...]:
    """Return the key that all files of a batch have in common."""
    return file.schema, file.created_by, file.column_orders


def _nulls(leaf: Leaf, num_values: Numbers, counts: Numbers, created_by: bytes) -> Numbers:
    if all(repetition is Repetition.REQUIRED for repetition in leaf.repetitions):
        return np.zeros(len(num_values), np.int64)
    nulls = null_counts(num_values, counts)
    if may_count_too_few_nulls(leaf, created_by):
        nulls[nulls == 0] = -1  # the other counts are too small at most, which excludes nothing
    return nulls


MAX_BYTES = 256 * 1024 * 1024
"""Most memory that the cached footers may take, approximately, bytes."""


class FooterCache:
    """A cache of footers by the identity of their files; the least recently used go first.

    A file that changes gets another identity, so no footer here is stale.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        """Make a cache that holds at most `max_bytes` bytes."""
        self._max_bytes = max_bytes
        self._files: OrderedDict[Hashable, tuple[CachedFooter, int]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, identity: Hashable) -> CachedFooter | None:
        """Return the footer of a file, or None if it is not cached."""
        with self._lock:
            found = self._files.get(identity)
            if found is None:
                return None
            self._files.move_to_end(identity)
            return found[0]

    def put(self, identity: Hashable, file: CachedFooter) -> None:
        """Add a footer to the cache."""
        weight = file.weight
        with self._lock:
            self._forget(identity)
            self._files[identity] = (file, weight)
            self._bytes += weight
            while self._bytes > self._max_bytes:
                self._forget(next(iter(self._files)))

    def clear(self) -> None:
        """Remove all footers."""
        with self._lock:
            self._files.clear()
            self._bytes = 0

    def __len__(self) -> int:
        return len(self._files)

    def _forget(self, identity: Hashable) -> None:
        found = self._files.pop(identity, None)
        if found is not None:
            self._bytes -= found[1]


CACHE = FooterCache()
"""The cache of footers of this process."""

register(CACHE.clear)


def cached_footer(source: Source, wanted: Callable[[CachedFooter], Sequence[int]]) -> CachedFooter:
    """Return the footer of a source, from the cache or else read.

    Args:
        source: An open file.
        wanted: Returns the ordinals of the leaves whose numbers are needed.

    Raises:
        FileProblem: If the file is no Parquet file, or cannot be worked on.
        OSError: If the file cannot be read.
    """
    identity = source.identity
    file = None if identity is None else CACHE.get(identity)
    if file is not None:
        file.learn(wanted(file))
        return file
    footer = read_footer(source, check_head=False)
    file = CachedFooter.of(footer)
    file.learn(wanted(file), footer)
    if identity is not None:
        CACHE.put(identity, file)
    return file
