"""The stored Bloom filters of a file: their places, their headers, and their bits.

`FilterReader` decodes the header of a filter and judges it, once for all uses: verbs that rewrite a
file, that look values up, and that report. Nothing is refused here: a filter that must not be
trusted is described as far as it can be read. Reasons against a filter are of two kinds:

- a *defect*: the filter is broken, lies outside the data, or is known to be empty or hashed in
  several ways. Readers that trust the filter lose rows.
- it is *foreign*: of a draft of the specification, or of an unknown algorithm, hash or compression.
  Readers that know their limits ignore the filter.

A filter is trusted only if its header says what the specification says, its length in the footer
agrees with its header, it lies inside the file's data, no other column chunk has its offset, and
its column has a type that all writers hash alike.

Source: Parquet specification, "Bloom Filter", section "File Format".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.errors import MalformedFilter, UnsupportedFile
from parquet_bloomwriter.kernels.layout import ABSENT
from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.sbbf import Sbbf, decode_header
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK, WORDS_PER_BLOCK
from parquet_bloomwriter.sbbf.header import MAX_HEADER_BYTES, HeaderCutShort, measured_length
from parquet_bloomwriter.sbbf.sizing import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from numpy.typing import NDArray

    from parquet_bloomwriter.hashing import Dialect, HashKind
    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.sbbf import FilterHeader
    from parquet_bloomwriter.source import Source

    ReadAt = Callable[[int, int], bytes]
    """Function that returns the bytes [start, stop) of a file."""

    Edges = Callable[[], NDArray[np.int64] | None]
    """Function that returns `Footer.edges` of a file."""

HEADER_BYTES = 64
"""Bytes read for a header; usual ones have 15 to 19. Longer headers are read again."""

_BATCH_BYTES = 32 * 1024 * 1024
"""Bytes of bitsets that are read at once; a larger filter is read alone."""

SHARED = "its offset is that of another column chunk's filter, too"
BEYOND = "its bitset reaches into the footer"
DRAFT = "it is of a draft of the specification, which does not name its hash"
UNUSUAL = "its header is unusual, and the footer gives no length to confirm it"
UNCONFIRMED = "the footer gives no length, and nothing begins where its header says that it ends"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFilter:
    """A filter that the footer points to, and the reasons against trusting it."""

    row_group: int
    """Ordinal of the row group, 0-based."""

    column: int
    """Leaf ordinal of the column, 0-based."""

    offset: int
    """Absolute position of the header, bytes."""

    footer_length: int | None
    """`bloom_filter_length`, bytes; None where the writer left it out."""

    length: int | None
    """Bytes of header and bitset by the header, whatever algorithm and size it names; None if there
    is no header, or the bitset would reach into the footer."""

    is_too_long: bool
    """Whether the header, or the footer if there is no header, claims bytes of the footer for the
    bitset."""

    header: FilterHeader | None
    """The header; None if it is malformed, or the bitset would reach into the footer."""

    has_usual_header: bool
    """Whether the header is, byte for byte, the one that nearly all writers produce."""

    is_shared: bool
    """Whether another column chunk has the same offset."""

    defect: str | None
    """Why readers that trust the filter lose rows, or may; None if nothing is known."""

    foreign: str | None
    """Why the bits may have another meaning; None for the released specification."""

    @property
    def problem(self) -> str | None:
        """Why the filter must not be trusted; None if nothing speaks against it."""
        return self.foreign or self.defect

    @property
    def is_draft(self) -> bool:
        """Return whether the filter is foreign only because it is of a draft."""
        return self.header is not None and self.foreign == DRAFT

    @property
    def stop(self) -> int:
        """Absolute position past the bitset; `offset` if the length is unknown."""
        return self.offset + (self.length or 0)

    @property
    def readable_length(self) -> int | None:
        """Length of header and bitset, bytes; None if the bits cannot be read."""
        return None if self.header is None else self.header.filter_length

    @property
    def oddities(self) -> tuple[str, ...]:
        """Unusual facts about the filter that are harmless to some readers."""
        return tuple(_oddities(self))

    def trusted_header(self, dialect: Dialect = "xxhash") -> FilterHeader:
        """Return the header of a filter in which values may be looked up.

        Args:
            dialect: What a draft, whose header does not name its hash, is taken for: "murmur3", or
                "xxhash" to distrust it.

        Raises:
            MalformedFilter: If the filter must not be trusted.
        """
        problem = self.problem
        if self.header is not None and self.is_draft and dialect == "murmur3":
            problem = self.header.not_of_a_draft or self.defect
            problem = problem or (SHARED if self.is_shared else None)
        if self.header is None or problem is not None:
            raise MalformedFilter(problem or "its header cannot be read")
        return self.header


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterReader:
    """Reads and judges the headers of the filters of one file. Bitsets are not read."""

    limit: int
    """Absolute position of the footer, bytes."""

    edges: Edges
    """Function that returns `Footer.edges`; called for filters without a length in the footer."""

    read_at: ReadAt

    def read(
        self, leaf: Leaf, row_group: int, *, offset: int, length: int, is_shared: bool = False
    ) -> StoredFilter:
        """Read the header of one filter and judge the filter by it.

        Args:
            leaf: The column.
            row_group: 0-based ordinal.
            offset: `bloom_filter_offset`, bytes.
            length: `bloom_filter_length`, bytes; `ABSENT` if the footer does not have it.
            is_shared: Whether another column chunk has the same offset: see `shared_offsets`.

        Raises:
            OSError, FileChanged: If `read_at` does.
        """
        footer_length = None if length == ABSENT else length
        header = own_length = foreign = None
        head = b""
        if not 0 < offset < self.limit:
            defect: str | None = f"its offset {offset} is outside the file's data"
        else:
            head, header, own_length, defect = self._decoded(offset)
        claimed = (footer_length or 0) if own_length is None else own_length
        is_too_long = offset < self.limit < offset + claimed
        if header is not None:
            foreign = header.unsupported or (DRAFT if header.compression is None else None)
            is_doubtful = is_shared and foreign is None
            defect = self._defect(leaf, header, offset, footer_length, is_shared=is_doubtful)
            if is_too_long:
                defect = BEYOND
        return StoredFilter(
            row_group=row_group,
            column=leaf.ordinal,
            offset=offset,
            footer_length=footer_length,
            length=None if is_too_long else own_length,
            is_too_long=is_too_long,
            header=None if is_too_long else header,
            has_usual_header=header is not None and head.startswith(header.usual_bytes),
            is_shared=is_shared,
            defect=defect,
            foreign=foreign,
        )

    def _decoded(self, offset: int) -> tuple[bytes, FilterHeader | None, int | None, str | None]:
        """Return first bytes, header, length and problem of the filter at an offset.

        The first bytes are the whole header, and perhaps some of the bitset.
        """
        head = self.read_at(offset, min(offset + HEADER_BYTES, self.limit))
        try:
            try:
                header = decode_header(head)
            except HeaderCutShort:
                if offset + len(head) == self.limit:
                    raise
                head = self.read_at(offset, min(offset + MAX_HEADER_BYTES, self.limit))
                header = decode_header(head)
        except MalformedFilter as error:
            return head, None, _measured(head), error.problem
        return head, header, header.filter_length, None

    def _defect(
        self,
        leaf: Leaf,
        header: FilterHeader,
        offset: int,
        footer_length: int | None,
        *,
        is_shared: bool,
    ) -> str | None:
        """Return a defect by the length, the offset or the column of a filter, or None."""
        length = header.filter_length
        if footer_length is None and (problem := self._unconfirmed(header, offset)):
            return problem
        if footer_length not in (None, length):
            return f"the footer gives it {footer_length} bytes, its header {length}"
        if is_shared:
            return SHARED
        if leaf.physical_type == PhysicalType.BOOLEAN:
            return "writers leave filters of BOOLEAN columns empty"
        if leaf.is_interval:
            return "INTERVAL values are hashed differently by different writers"
        return None

    def _unconfirmed(self, header: FilterHeader, offset: int) -> str | None:
        """Return why a header without a length in the footer may be damaged, or None.

        The header must be as long as the usual one, and something must begin where it says that the
        filter ends. No known writer but Impala leaves gaps.
        """
        if not header.is_usual:
            return UNUSUAL
        edges, stop = self.edges(), offset + header.filter_length
        if edges is None or (edges[np.searchsorted(edges, stop) :][:1] == stop).any():
            return None
        return UNCONFIRMED


def _measured(head: bytes) -> int | None:
    try:
        return measured_length(head)
    except MalformedFilter:
        return None


def _oddities(stored: StoredFilter) -> Iterator[str]:
    if stored.footer_length is None:
        yield "the footer does not give its length"
    header = stored.header
    if header is None:
        return
    size = header.num_bytes
    if size & (size - 1):
        yield f"its {size} bytes are no power of two: Arrow C++, Velox and Impala do not take it"
    elif size == BYTES_PER_BLOCK:
        yield "it has a single block of 32 bytes, which Impala alone does not take"
    if size > MAX_BYTES:
        yield f"its {size} bytes are more than many readers take"
    if header.unsupported is None and not stored.has_usual_header:
        yield "its header is encoded in an unusual way"


def stored_filters(footer: Footer, read_at: ReadAt) -> tuple[StoredFilter, ...]:
    """Read and judge the header of every filter of a file, in the order of the footer.

    Raises:
        OSError, FileChanged: If `read_at` does.
    """
    offsets = footer.chunks.value(ChunkField.BLOOM_FILTER_OFFSET)
    lengths = footer.chunks.value(ChunkField.BLOOM_FILTER_LENGTH)
    shared = shared_offsets(offsets)
    reader = FilterReader(limit=footer.start, edges=cache(footer.edges), read_at=read_at)
    return tuple(
        reader.read(
            footer.leaves[column],
            row_group,
            offset=int(offsets[row_group, column]),
            length=int(lengths[row_group, column]),
            is_shared=bool(shared[row_group, column]),
        )
        for row_group, column in np.argwhere(
            footer.chunks.has(ChunkField.BLOOM_FILTER_OFFSET)
        ).tolist()
    )


def filters_of_columns(
    source: Source, footer: Footer, columns: Collection[int]
) -> tuple[StoredFilter, ...]:
    """Read and judge the headers of the filters of some columns, in the order of the footer.

    The headers of a file are read together, which takes few requests to a store.

    Args:
        source: The file.
        footer: Its footer.
        columns: 0-based leaf ordinals.

    Raises:
        UnsupportedFile: If the footer is that of other files.
        FileChanged, OSError: If the file cannot be read.
    """
    if footer.chunks.has(ChunkField.FILE_PATH).any():
        raise UnsupportedFile(
            "this is a summary file: its column chunks lie in other files",
            remedy="Name the data files instead.",
        )
    read_at = heads_at_once(source, footer)
    return tuple(one for one in stored_filters(footer, read_at) if one.column in columns)


def heads_at_once(source: Source, footer: Footer, otherwise: ReadAt | None = None) -> ReadAt:
    """Return a `read_at` that has read the first bytes of all filters together, in few requests.

    Args:
        source: The file.
        footer: Its footer.
        otherwise: Reads what is not the beginning of a filter; by default `source.read_at`.

    Returns:
        A function that returns the bytes [start, stop), for `stored_filters`.

    Raises:
        FileChanged, OSError: If the file cannot be read.
    """
    heads = _read_heads(source, footer)
    elsewhere = otherwise or source.read_at

    def read_at(start: int, stop: int) -> bytes:
        head = heads.get(start, b"")
        return head[: stop - start] if stop - start <= len(head) else elsewhere(start, stop)

    return read_at


def shared_offsets(offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each filter whether another column chunk has the same offset.

    Writers make a filter for each column chunk, so at most one of the chunks is right.

    Args:
        offsets: Absolute positions of filters, `ABSENT` where there is none, of any shape.
    """
    given = offsets[offsets != ABSENT]
    if (
        given.size <= 1 or (given[1:] > given[:-1]).all()
    ):  # In the order of the footer, as nearly always.
        return np.zeros(offsets.shape, np.bool_)
    given.sort()
    return np.isin(offsets, given[1:][given[1:] == given[:-1]])


def read_bits(source: Source, stored: StoredFilter, *, kind: HashKind) -> Sbbf | None:
    """Read the bits of one filter; None if it has no header that can be read.

    Args:
        source: The file.
        stored: The filter.
        kind: What a draft is taken for: "murmur3" with a seed, or "xxhash" for blocks in the order
            stored.

    Raises:
        MalformedFilter: If a draft cannot be one of Murmur3.
        FileChanged, OSError: If the file cannot be read.
    """
    if stored.header is None:
        return None
    data = source.read_at(stored.offset, stored.stop)
    if stored.is_draft and kind.dialect == "murmur3":
        return Sbbf.from_bytes(data, kind.dialect, murmur3_seed=kind.murmur3_seed)
    return _as_stored(stored.header, data)


def read_all_bits(
    source: Source, filters: Iterable[StoredFilter]
) -> Iterator[tuple[StoredFilter, Sbbf | None]]:
    """Yield each filter with its bits, in order; neighbouring filters are read together.

    At most about `_BATCH_BYTES` are in memory. The blocks of drafts stay in the order stored, which
    counts and rates do not depend on.

    Raises:
        FileChanged, OSError: If the file cannot be read.
    """
    for batch in _batches(filters):
        ranges = [(stored.offset, stored.stop) for stored in batch if stored.header]
        read = iter(source.read_ranges(ranges))
        for stored in batch:
            yield stored, _as_stored(stored.header, next(read)) if stored.header else None


def _read_heads(source: Source, footer: Footer) -> dict[int, bytes]:
    """Return the first bytes of every filter, by offset."""
    offsets = footer.chunks.value(ChunkField.BLOOM_FILTER_OFFSET)
    inside = footer.chunks.has(ChunkField.BLOOM_FILTER_OFFSET)
    inside &= (offsets > 0) & (offsets < footer.start)
    starts = sorted(set(offsets[inside].tolist()))
    ranges = [(start, min(start + HEADER_BYTES, footer.start)) for start in starts]
    return dict(zip(starts, source.read_ranges(ranges), strict=True))


def _as_stored(header: FilterHeader, data: bytes) -> Sbbf:
    words = np.frombuffer(data, "<u4", offset=header.length)
    return Sbbf(words.reshape(-1, WORDS_PER_BLOCK))


def _batches(filters: Iterable[StoredFilter]) -> Iterator[list[StoredFilter]]:
    """Yield runs of filters, of about `_BATCH_BYTES` each."""
    seen = 0

    def batch_of(stored: StoredFilter) -> int:
        nonlocal seen
        seen += stored.readable_length or 0
        return seen // _BATCH_BYTES

    for _, batch in groupby(filters, batch_of):
        yield list(batch)
