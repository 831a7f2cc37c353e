"""Decide which stored filters stay without reading the values of their column chunks.

A run over a folder each night meets filters that an earlier run, or the writer of the file, has
made. To look up every value in them again would take as long as building them. So a filter stays if

1. its column is of a type that can have filters, and its header is that of the released
   specification, with the length that the footer gives;
2. its bytes lie between the first and the last byte of the data, and belong to nothing else: no
   column chunk, no page index, no other filter;
3. it holds the least and the greatest value of the chunk, if the footer has them as they are stored
   (numbers, bytes of fixed length, and text too short to be cut), and any bit is set;
4. its rate is near the rate that is asked for, or it is as large as a new filter might be.

What is read is the footer, headers, and of each filter at most its first `HEAD_BYTES` and a few
blocks; all bits only where the first ones let too many values pass, or none of them is set. A
filter that meets 1 to 3 but not 4 is built anew. Whatever does not meet 1 to 3 is not decided here:
its values are read, as they are where the header alone would say too little:

- Floating point numbers. Readers that look for 0.0 want rows with -0.0, too, and filters of other
  writers (Impala's) have only the zero that is stored. So a filter that has one zero without the
  other, where zero is within the bounds, or a NaN without the canonical one, is doubtful.
- INT96 timestamps: whether readers find all of them depends on the values.
- Filters of the Murmur3 drafts: no header holds their seed.

Only `verify`, which reads the values, finds a filter that passes these checks and lacks a value.

**The rate.** A chunk has at most as many distinct values as values. If even so many would not let
more than the asked share of absent values pass, the filter is large enough, and its bits are not
counted. Otherwise the rate is counted: of the first bits, and, if they let more values pass than is
asked for, of all bits. Filters of this package then have at most the asked rate, or all the bytes
that the options allow; so a second run with the same options finds nothing to do. Up to twice the
asked rate is near enough, as the whole file would be written anew for the difference: other writers
size filters by the usual formula, which gives 1.5 times the rate where 1 % is asked for.
"""

from __future__ import annotations

import math
import struct
import sys
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from parquet_bloomwriter import kernels
from parquet_bloomwriter.filters.build import plausible_values
from parquet_bloomwriter.filters.columns import why_no_filter
from parquet_bloomwriter.hashing import hash_plain
from parquet_bloomwriter.kernels.layout import ABSENT, STOP
from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.metadata.fields import PAGE_OFFSETS, ChunkField
from parquet_bloomwriter.rewrite.report import ChunkReport, Status
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK, WORDS_PER_BLOCK, block_index
from parquet_bloomwriter.sbbf.folding import exact_rate
from parquet_bloomwriter.sbbf.header import encode_header, usual_header_length
from parquet_bloomwriter.sbbf.sizing import expected_fpp, num_blocks_for
from parquet_bloomwriter.text import percent
from parquet_bloomwriter.values import is_near

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parquet_bloomwriter.filters.build import FilterOptions
    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.rewrite.plan import Chunk
    from parquet_bloomwriter.source import Source
    from parquet_bloomwriter.source.base import Range

Verdict: TypeAlias = ChunkReport | str | None
"""A report that the filter is kept; why it is built anew; or None if its values must be read."""

HEAD_BYTES = 4096
"""Bytes of a filter that are read with its header; shorter filters are read whole."""

_ONE_REQUEST_BYTES = 1024 * 1024
"""Bytes on a store that are read by one request, if the filters of a file lie within them; and the
step in which a filter with an empty head is read until a bit is found."""

_NEAR_RATE = 2
"""Multiple of the asked rate up to which a filter is kept."""

_LOADS = 16
"""A rate by size is computed for values in each block in steps of 1 / 16, so that it is cached."""

_MANY = 1 << 40
"""More distinct values than any filter has room for."""

_MAGIC_BYTES = 4

_NO_HEADER = b"\xff"
"""Bytes with which no header begins."""

_TOO_MANY_BYTES = 1 << 31
"""numBytes of the header is an i32."""

_FIELDS = np.array(
    [
        ChunkField.FILE_PATH,
        ChunkField.ENCRYPTED_COLUMN_METADATA,
        *PAGE_OFFSETS,
        ChunkField.TOTAL_COMPRESSED_SIZE,
        ChunkField.OFFSET_INDEX_OFFSET,
        ChunkField.OFFSET_INDEX_LENGTH,
        ChunkField.COLUMN_INDEX_OFFSET,
        ChunkField.COLUMN_INDEX_LENGTH,
        ChunkField.BLOOM_FILTER_OFFSET,
        ChunkField.BLOOM_FILTER_LENGTH,
        ChunkField.NUM_VALUES,
        ChunkField.NULL_COUNT,
    ]
)
"""Fields of column chunks by which a file is judged, in the order in which they are unpacked."""

_BOUNDS = [
    (ChunkField.MIN_VALUE, ChunkField.DEPRECATED_MIN),
    (ChunkField.MAX_VALUE, ChunkField.DEPRECATED_MAX),
]
_NUMBERS = {
    PhysicalType.INT32: 4,
    PhysicalType.INT64: 8,
    PhysicalType.FLOAT: 4,
    PhysicalType.DOUBLE: 8,
}
"""Bytes of values whose minimum and maximum are in the footer as they are stored."""

_CUT_TO = 16
"""Writers that cut text in statistics leave so many bytes of it, or more. If another writer leaves
fewer, the values are read, which is slower, and no less right."""

_FLOATS = {PhysicalType.FLOAT: "<f", PhysicalType.DOUBLE: "<d"}
"""Formats of floating point numbers, as in `struct`, by physical type."""


class FilterPlace(NamedTuple):
    """A filter, and where its header and its bits lie."""

    chunk: Chunk
    offset: int
    """Absolute position of the header, bytes."""

    bits: int
    """Absolute position of the bitset, bytes."""

    stop: int
    """Absolute position past the bitset, bytes."""

    is_decoded: bool
    """Whether the header was read already; otherwise it must prove to be the usual header."""

    @property
    def num_bytes(self) -> int:
        """Length of the bitset, bytes."""
        return self.stop - self.bits


def settle(
    source: Source, footer: Footer, options: Mapping[int, FilterOptions]
) -> dict[Chunk, ChunkReport] | None:
    """Return the report of every chosen column chunk if no chunk needs a new filter.

    Args:
        source: The file.
        footer: Its footer.
        options: Options of each chosen column by leaf ordinal.

    Returns:
        The reports; None if a chunk may need a filter, if a filter is doubtful, or if the layout of
        the file must be looked at.

    Raises:
        FileChanged, OSError: If the file cannot be read.
    """
    reports: dict[Chunk, ChunkReport] = {}
    if not options:
        return reports
    places: list[FilterPlace] = []
    rows = footer.chunks.values.take(_FIELDS, axis=-1).tolist()
    for ordinal in options:
        unsupported = why_no_filter(footer.leaves[ordinal])
        for row_group, row in enumerate(rows):
            chunk = (row_group, ordinal)
            *_, offset, length, num_values, num_nulls = row[ordinal]
            has_filter = offset != ABSENT
            if unsupported or num_values <= 0 or (num_nulls == num_values and not has_filter):
                reports[chunk] = _without_filter(row_group, unsupported, has_filter=has_filter)
            elif length <= 0 or not has_filter:
                return None
            else:
                bits = offset + usual_header_length(length)
                places.append(FilterPlace(chunk, offset, bits, offset + length, is_decoded=False))
    if not _places_are_sound(footer, rows):
        return None
    for chunk, verdict in judged(source, footer, options, places):
        if not isinstance(verdict, ChunkReport):
            return None
        reports[chunk] = verdict
    return reports


def report_by_metadata(footer: Footer, chunk: Chunk, *, has_filter: bool) -> ChunkReport | None:
    """Return the report of a chunk that can have no filter, by its metadata alone, or None."""
    numbers = footer.chunks.values[chunk]
    num_values = int(numbers[ChunkField.NUM_VALUES])
    are_null = not has_filter and int(numbers[ChunkField.NULL_COUNT]) == num_values
    unsupported = why_no_filter(footer.leaves[chunk[1]])
    if unsupported or num_values <= 0 or are_null:
        return _without_filter(chunk[0], unsupported, has_filter=has_filter)
    return None


def _without_filter(row_group: int, unsupported: str | None, *, has_filter: bool) -> ChunkReport:
    if unsupported is None:
        return ChunkReport(row_group=row_group, status=Status.EMPTY)
    hint = "; it has one that must not be trusted: strip it" if has_filter else ""
    return ChunkReport(row_group=row_group, status=Status.SKIPPED, reason=unsupported + hint)


def judged(
    source: Source,
    footer: Footer,
    options: Mapping[int, FilterOptions],
    places: Sequence[FilterPlace],
) -> Iterator[tuple[Chunk, Verdict]]:
    """Yield what becomes of each filter, by its header, a few of its blocks, and its rate.

    Args:
        source: The file.
        footer: Its footer.
        options: Options of each chosen column by leaf ordinal.
        places: Filters whose bytes belong to nothing else.

    Raises:
        FileChanged, OSError: If the file cannot be read.
    """
    is_far = not is_near(source)
    filters = [_Filter(footer, place, is_far=is_far) for place in places]
    ranges = [one for each in filters for one in each.ranges]
    parts = _together(source, ranges) if is_far else [source.read_at(*one) for one in ranges]
    done = 0
    for one in filters:
        one.parts = parts[done : done + len(one.ranges)]
        done += len(one.ranges)
        yield one.place.chunk, one.verdict(source, options[one.leaf.ordinal])


def _together(source: Source, ranges: Sequence[Range]) -> list[bytes]:
    """Read ranges of a file on a store, by one request if they do not lie far apart."""
    first = min((start for start, _ in ranges), default=0)
    last = max((stop for _, stop in ranges), default=0)
    if last - first > _ONE_REQUEST_BYTES:
        return source.read_ranges(ranges)
    data = source.read_at(first, last)
    return [data[start - first : stop - first] for start, stop in ranges]


def why_too_full(fpp: float, num_bytes: int, options: FilterOptions) -> str | None:
    """Return why a filter of this rate is built anew; None if it is good enough.

    Args:
        fpp: Its false positive probability, in [0, 1].
        num_bytes: Length of its bitset, bytes.
        options: What is asked for.
    """
    if fpp <= _NEAR_RATE * options.fpp or num_bytes >= _most_bytes(options):
        return None
    return f"{percent(fpp)} of absent values pass it, where {percent(options.fpp)} is asked for"


def _most_bytes(options: FilterOptions) -> int:
    """Return the length of the largest bitset that the options allow, bytes."""
    return BYTES_PER_BLOCK * num_blocks_for(
        _MANY, options.fpp, sizing=options.sizing, max_bytes=options.max_bytes
    )


class _Filter:
    """A filter that is judged by a part of its bytes."""

    __slots__ = ("leaf", "must_hold", "num_values", "pairs", "parts", "place", "ranges")

    def __init__(self, footer: Footer, place: FilterPlace, *, is_far: bool) -> None:
        """Choose what is looked up in a filter, and which bytes are read for it.

        Args:
            footer: The footer of the file.
            place: The filter.
            is_far: Whether the file is on a store, where each block may take a request: then only
                the head, and blocks that decide on floating point numbers, are read.
        """
        row_group, column = place.chunk
        self.place = place
        self.leaf = leaf = footer.leaves[column]
        self.num_values = plausible_values(footer, leaf, row_group)
        low, high = _bounds(footer, leaf, row_group)
        self.must_hold = [hash_plain(one) for one in (low, high) if one is not None]
        """Hashes of values that are in the chunk."""
        self.pairs = _equal_floats(leaf, low, high)
        """Hashes of values that readers take for equal: a filter with the first has the second."""
        stop = min(place.stop, place.bits + HEAD_BYTES)
        self.ranges = [(place.offset, stop)]
        """What is read: the head, then blocks beyond it."""
        self.parts: list[bytes] = []
        """The bytes of `ranges`."""
        if stop < place.stop:
            if is_far and not self.pairs:
                self.must_hold = []
            hashes = {*self.must_hold, *(one for pair in self.pairs for one in pair)}
            starts = {_block_start(place, one) for one in hashes}
            self.ranges += [(one, one + BYTES_PER_BLOCK) for one in starts if one >= stop]

    def verdict(self, source: Source, options: FilterOptions) -> Verdict:
        """Return what becomes of the filter; `parts` have been read."""
        place, head = self.place, self.parts[0]
        header, length = place.bits - place.offset, place.stop - place.offset
        if not (
            (place.is_decoded or head.startswith(_usual_header(length)))
            and self.leaf.physical_type != PhysicalType.INT96
            and all(map(self._holds, self.must_hold))
            and (self.must_hold or any(head[header:]) or self._has_bits(source))
        ):
            return None
        for one, other in self.pairs:
            if self._holds(one) and not self._holds(other):
                return None
        fpp = self._fpp(source, options.fpp)
        return why_too_full(fpp, place.num_bytes, options) or ChunkReport(
            row_group=place.chunk[0],
            status=Status.KEPT,
            offset=place.offset,
            length=length,
            num_bytes=place.num_bytes,
            fpp=fpp,
        )

    def _has_bits(self, source: Source) -> bool:
        """Return whether any bit is set beyond the head.

        parquet-mr writes 1 MiB for a chunk of any number of values, unless it is given their
        number, so the head of a sound filter may be empty.
        """
        first, stop = self.ranges[0][1], self.place.stop
        starts = range(first, stop, _ONE_REQUEST_BYTES)
        return any(any(source.read_at(one, min(one + _ONE_REQUEST_BYTES, stop))) for one in starts)

    def _holds(self, h: int) -> bool:
        """Return whether a hash might be in the filter."""
        start = _block_start(self.place, h)
        for (first, stop), data in zip(self.ranges, self.parts, strict=True):
            if first <= start < stop:
                block = data[start - first : start - first + BYTES_PER_BLOCK]
                return kernels.check(block, h.to_bytes(8, sys.byteorder), None) == 1
        raise AssertionError("a block was not read")

    def _fpp(self, source: Source, asked: float) -> float:
        """Return the rate: by size if that says enough, or of the head, or of all bits."""
        place = self.place
        num_blocks = place.num_bytes // BYTES_PER_BLOCK
        most = _expected_fpp(-(-_LOADS * self.num_values // num_blocks))
        if most <= asked:
            return most
        fpp = _exact_fpp(self.parts[0][place.bits - place.offset :])
        if fpp <= asked or self.ranges[0][1] == place.stop:
            return fpp
        return _exact_fpp(source.read_at(place.bits, place.stop))


@lru_cache(maxsize=1024)
def _usual_header(length: int) -> bytes:
    """Return the usual header by the length of header and bitset, or what begins no filter."""
    num_bytes = length - usual_header_length(length)
    if not 0 < num_bytes < _TOO_MANY_BYTES:
        return _NO_HEADER
    header = encode_header(num_bytes)
    return header if len(header) + num_bytes == length else _NO_HEADER


def _block_start(place: FilterPlace, h: int) -> int:
    """Return the absolute position of the block that a hash belongs to, bytes."""
    number = block_index(h, place.num_bytes // BYTES_PER_BLOCK)
    return place.bits + BYTES_PER_BLOCK * number


def _exact_fpp(bits: bytes) -> float:
    return exact_rate(np.frombuffer(bits, "<u4").reshape(-1, WORDS_PER_BLOCK))


@lru_cache(maxsize=1024)
def _expected_fpp(load: int) -> float:
    """Return the expected rate of filters with `load / _LOADS` values in each block."""
    return expected_fpp(load, _LOADS)


def _bounds(footer: Footer, leaf: Leaf, row_group: int) -> tuple[bytes | None, bytes | None]:
    """Return the bytes of the least and the greatest value; None where they may be cut."""
    width = _NUMBERS.get(leaf.physical_type) or leaf.type_length
    is_text = leaf.physical_type == PhysicalType.BYTE_ARRAY
    if not (width or is_text) or leaf.physical_type == PhysicalType.INT96:
        return None, None
    length, stop_of = footer.chunks.values.item, footer.chunks.spans.item
    found = []
    for new, old in _BOUNDS:
        field = new if length(row_group, leaf.ordinal, new) >= 0 else old
        stop = stop_of(row_group, leaf.ordinal, field, STOP)
        num_bytes = length(row_group, leaf.ordinal, field)
        is_whole = 0 <= num_bytes < _CUT_TO if is_text else num_bytes == width
        found.append(footer.data[stop - num_bytes : stop] if is_whole else None)
    return found[0], found[1]


def _equal_floats(leaf: Leaf, low: bytes | None, high: bytes | None) -> Sequence[tuple[int, int]]:
    """Return pairs of hashes of floating point numbers that readers take for equal.

    If the first is in a filter, the second must be in it, too. Zeros are left out if the bounds say
    that there are none.
    """
    layout = _FLOATS.get(leaf.physical_type)
    if layout is None:
        return ()
    nan, minus_nan, zero, minus_zero = _special_hashes(layout)
    pairs = [(minus_nan, nan)]
    least, greatest = (
        math.nan if one is None else struct.unpack(layout, one)[0] for one in (low, high)
    )
    if not (least > 0 or greatest < 0):
        pairs += [(zero, minus_zero), (minus_zero, zero)]
    return pairs


@cache
def _special_hashes(layout: str) -> tuple[int, int, int, int]:
    """Return the hashes of the canonical NaN, of that with a sign, of 0.0 and of -0.0."""
    values = (math.nan, -math.nan, 0.0, -0.0)
    nan, minus_nan, zero, minus_zero = (hash_plain(struct.pack(layout, one)) for one in values)
    return nan, minus_nan, zero, minus_zero


def _places_are_sound(footer: Footer, rows: list[list[list[int]]]) -> bool:
    """Return whether no two column chunks, page indexes or filters share a byte.

    False also for files that are refused, about which their layout says more.

    Args:
        footer: The footer.
        rows: `_FIELDS` of each column chunk.
    """
    if footer.is_signed:
        return False
    spans = []
    for row in rows:
        for chunk in row:
            path, encrypted, *pages, size, index, index_size, other, other_size = chunk[:-4]
            bloom, bloom_size, _, _ = chunk[-4:]
            has_unknown_end = bloom != ABSENT and bloom_size <= 0
            if path != ABSENT or encrypted != ABSENT or has_unknown_end:
                return False
            if size > 0:
                starts = [one for one in pages if one > 0]
                start = min(starts) if starts else 0
                spans.append((start, start + size))
            if index_size > 0:
                spans.append((index, index + index_size))
            if other_size > 0:
                spans.append((other, other + other_size))
            if bloom_size > 0:
                spans.append((bloom, bloom + bloom_size))
    spans.sort()
    return (
        bool(spans)
        and spans[0][0] >= _MAGIC_BYTES
        and spans[-1][1] <= footer.start
        and all(stop <= start for (_, stop), (start, _) in pairwise(spans))
    )
