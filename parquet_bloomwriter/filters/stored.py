"""The Bloom filters of a file as they stand in it: what their headers say, and their bits.

Here nothing is refused: a filter that cannot be trusted is described as far as it can be read. Two
kinds of reasons against a filter are told apart:

- a *problem*: it is broken, or known to be empty or hashed in several ways. Readers that trust it
  lose rows.
- it is *foreign*: of a draft, or of an unknown hash. Readers that know their limits ignore it.

The Bloom filters that a file already has: where they lie, and whether they can be trusted.

A filter is trusted only if its header says what the specification says, its length in the footer
agrees with its header, it lies inside the file, no other column chunk claims it, and its column has
a type that writers hash alike.
Of the bitset nothing is read here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.compact.loop import ABSENT
from parquet_bloomwriter.errors import MalformedFilter, UnsupportedFile
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
    Edges = Callable[[], NDArray[np.int64] | None]

HEADER_BYTES = 64
"""Read for a header; known ones have 15 to 19 bytes. Longer headers are read again."""

SHARED = "its offset is that of another column chunk's filter, too"
BEYOND = "its bitset reaches into the footer"
UNUSUAL = "its header is unusual, and the footer gives no length to confirm it"
UNCONFIRMED = "the footer gives no length, and nothing begins where its header says that it ends"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingFilter:
    """One filter that the footer points to."""

    row_group: int
    column: int
    """Leaf ordinal, 0-based."""

    offset: int
    """Absolute position of the header, bytes."""

    length: int | None
    """Bytes of header and bitset by its own header, whatever algorithm that names; None if there
    is no header, or the bitset would reach into the footer."""

    footer_length: int | None
    """`bloom_filter_length`; None where the writer left it out."""

    is_too_long: bool
    """Whether its header, or the footer if it has none, claims bytes of the footer for it."""

    problem: str | None
    """Why it must not be trusted; None if nothing speaks against it."""

    @property
    def stop(self) -> int:
        """Absolute position past it; `offset` if its length is unknown."""
        return self.offset + (self.length or 0)


def existing_filters(footer: Footer, read_at: ReadAt) -> tuple[ExistingFilter, ...]:
    """Look at the header of every filter in the file, in the order of the footer."""
    places = np.argwhere(footer.chunks.has(ChunkField.BLOOM_FILTER_OFFSET))
    shared = shared_offsets(footer.chunks.value(ChunkField.BLOOM_FILTER_OFFSET))
    edges = cache(footer.edges)
    return tuple(
        _look(footer, row_group, column, read_at, edges, is_shared=bool(shared[row_group, column]))
        for row_group, column in places.tolist()
    )


def shared_offsets(offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which offsets of filters, `ABSENT` where there is none, more than one column chunk has.

    Writers make a filter for each column chunk: all but one of these lead astray.
    """
    given = offsets[offsets != ABSENT]
    if (given[1:] > given[:-1]).all():  # In the order of the footer, as nearly always.
        return np.zeros(offsets.shape, np.bool_)
    given.sort()
    return np.isin(offsets, given[1:][given[1:] == given[:-1]])


def _look(  # noqa: PLR0913  one filter of many
    footer: Footer,
    row_group: int,
    column: int,
    read_at: ReadAt,
    edges: Edges,
    *,
    is_shared: bool,
) -> ExistingFilter:
    chunk = footer.chunks.values[row_group, column]
    offset = int(chunk[ChunkField.BLOOM_FILTER_OFFSET])
    footer_length = int(chunk[ChunkField.BLOOM_FILTER_LENGTH])
    known = None if footer_length == ABSENT else footer_length
    head = read_head(offset, footer.start, read_at) if 0 < offset < footer.start else b""
    length = _measured(head)
    claimed = known or 0 if length is None else length
    is_too_long = offset < footer.start < offset + claimed
    problem: str | None = None
    try:
        header = _checked_header(head, offset, footer.start)
        leaf = footer.leaves[column]
        check_filter(leaf, header, known, offset=offset, edges=edges, is_shared=is_shared)
    except MalformedFilter as error:
        problem = error.problem
    return ExistingFilter(
        row_group=row_group,
        column=column,
        offset=offset,
        length=None if is_too_long else length,
        footer_length=known,
        is_too_long=is_too_long,
        problem=problem,
    )


def read_head(offset: int, limit: int, read_at: ReadAt) -> bytes:
    """Read the first bytes of a filter: the whole header, and perhaps some of the bitset.

    Args:
        offset: Absolute position of the header, bytes.
        limit: Where the footer begins.
        read_at: Returns the bytes [start, stop) of the file.
    """
    head = read_at(offset, min(offset + HEADER_BYTES, limit))
    if offset + len(head) == limit:
        return head
    try:
        measured_length(head)
    except HeaderCutShort:
        return read_at(offset, min(offset + MAX_HEADER_BYTES, limit))
    except MalformedFilter:
        pass
    return head


def _measured(head: bytes) -> int | None:
    try:
        return measured_length(head)
    except MalformedFilter:
        return None


def read_filter_header(
    offset: int, limit: int, read_at: ReadAt, *, dialect: Dialect = "xxhash"
) -> FilterHeader:
    """Read the header of a filter, and see that it and its bitset can be what they claim.

    Args:
        offset: Absolute position by the footer, bytes.
        limit: Where the footer begins.
        read_at: Returns the bytes [start, stop) of the file.
        dialect: What a header of a draft, which does not name its hash, is taken for: "murmur3", or
            "xxhash" to distrust it.

    Raises:
        MalformedFilter: If it must not be trusted.
    """
    head = read_head(offset, limit, read_at) if 0 < offset < limit else b""
    return _checked_header(head, offset, limit, dialect)


def _checked_header(
    head: bytes, offset: int, limit: int, dialect: Dialect = "xxhash"
) -> FilterHeader:
    if not 0 < offset < limit:
        raise MalformedFilter(f"its offset {offset} is outside the file's data")
    header = decode_header(head)
    if header.unsupported is not None:
        raise MalformedFilter(header.unsupported)
    if header.compression is None and dialect == "xxhash":
        raise MalformedFilter("it is of a draft of the specification, which does not name its hash")
    if header.compression is None and header.not_of_a_draft is not None:
        raise MalformedFilter(header.not_of_a_draft)
    if offset + header.length + header.num_bytes > limit:
        raise MalformedFilter(BEYOND)
    return header


def check_filter(  # noqa: PLR0913  all that speaks for or against it
    leaf: Leaf,
    header: FilterHeader,
    footer_length: int | None,
    *,
    offset: int,
    edges: Edges,
    is_shared: bool = False,
) -> None:
    """See that a filter's length, place and column speak for it.

    Where the footer gives no length, the header could be damaged: it must be of the usual form, and
    something must begin where it says that the filter ends. No known writer but Impala leaves gaps.

    Args:
        leaf: Its column.
        header: Its header.
        footer_length: `bloom_filter_length`; None if it is missing.
        offset: Absolute position of the header, bytes.
        edges: Returns `Footer.edges` of the file.
        is_shared: Whether another column chunk has the same offset.

    Raises:
        MalformedFilter: If it must not be trusted.
    """
    length = header.length + header.num_bytes
    if footer_length is None and not header.is_usual:
        raise MalformedFilter(UNUSUAL)
    if footer_length is None and not _may_end(offset + length, edges()):
        raise MalformedFilter(UNCONFIRMED)
    if footer_length not in (None, length):
        raise MalformedFilter(f"the footer gives it {footer_length} bytes, its header {length}")
    if is_shared:
        raise MalformedFilter(SHARED)
    if leaf.physical_type == PhysicalType.BOOLEAN:
        raise MalformedFilter("writers leave filters of BOOLEAN columns empty")
    if leaf.is_interval:
        raise MalformedFilter("INTERVAL values are hashed differently by different writers")


def _may_end(position: int, edges: NDArray[np.int64] | None) -> bool:
    if edges is None:
        return True
    return bool((edges[np.searchsorted(edges, position) :][:1] == position).any())


_BATCH_BYTES = 32 * 1024 * 1024
"""Bitsets that are read at once, unless one alone is larger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFilter:
    """One filter that the footer points to."""

    row_group: int
    """0-based ordinal."""

    ordinal: int
    """0-based leaf ordinal."""

    offset: int
    """Absolute position of the header, bytes."""

    header: FilterHeader | None
    """None if there is none that can be read, or its bitset would reach into the footer."""

    problem: str | None
    """Why readers that trust it lose rows, or may; None if its header says nothing of that."""

    foreign: str | None
    """Why its bits may mean something else; None if it is of the released specification."""

    is_draft: bool
    """Whether it is foreign only because it is of a draft."""

    oddities: tuple[str, ...]
    """What is unusual about it, but harmless to some readers."""

    @property
    def length(self) -> int | None:
        """Header and bitset, bytes."""
        return None if self.header is None else self.header.length + self.header.num_bytes

    @property
    def stop(self) -> int:
        """Absolute position past it; `offset` if its length is unknown."""
        return self.offset + (self.length or 0)


def stored_filters(
    source: Source, footer: Footer, ordinals: Collection[int]
) -> tuple[StoredFilter, ...]:
    """Read the headers of all filters of some leaf columns, in the order of the footer.

    Raises:
        UnsupportedFile: If the footer is that of other files.
        FileChanged, OSError: If the file cannot be read.
    """
    if footer.chunks.has(ChunkField.FILE_PATH).any():
        raise UnsupportedFile(
            "this is a summary file: its column chunks lie in other files",
            remedy="Name the data files instead.",
        )
    heads = _read_heads(source, footer)

    def read_head(start: int, stop: int) -> bytes:
        if stop - start > HEADER_BYTES:
            heads[start] = source.read_at(start, stop)
        return heads[start]

    edges = cache(footer.edges)
    return tuple(
        _described(footer, found, heads.get(found.offset, b""), edges)
        for found in existing_filters(footer, read_head)
        if found.column in ordinals
    )


def read_bits(source: Source, filter_: StoredFilter, *, kind: HashKind) -> Sbbf | None:
    """Read one filter; None if it has no header to go by.

    Args:
        source: The file.
        filter_: The filter.
        kind: What a draft is taken for: "murmur3" with a seed, or "xxhash" for blocks in the order
            stored.

    Raises:
        MalformedFilter: If a draft cannot be one of Murmur3.
        FileChanged, OSError: If the file cannot be read.
    """
    if filter_.header is None:
        return None
    data = source.read_at(filter_.offset, filter_.stop)
    if filter_.is_draft and kind.dialect == "murmur3":
        return Sbbf.from_bytes(data, kind.dialect, murmur3_seed=kind.murmur3_seed)
    return _as_stored(filter_.header, data)


def read_all_bits(
    source: Source, filters: Iterable[StoredFilter]
) -> Iterator[tuple[StoredFilter, Sbbf | None]]:
    """Read filters one after the other, neighbours together, with bounded memory.

    The blocks of drafts stay in the order stored, which counts and rates do not depend on.

    Raises:
        FileChanged, OSError: If the file cannot be read.
    """
    for batch in _batches(filters):
        ranges = [(filter_.offset, filter_.stop) for filter_ in batch if filter_.header]
        read = iter(source.read_ranges(ranges))
        for filter_ in batch:
            yield filter_, _as_stored(filter_.header, next(read)) if filter_.header else None


def _read_heads(source: Source, footer: Footer) -> dict[int, bytes]:
    """The first bytes of every filter, by its offset; most headers are shorter."""
    offsets = footer.chunks.value(ChunkField.BLOOM_FILTER_OFFSET)
    inside = footer.chunks.has(ChunkField.BLOOM_FILTER_OFFSET)
    inside &= (offsets > 0) & (offsets < footer.start)
    starts = np.unique(offsets[inside]).tolist()
    ranges = [(start, min(start + HEADER_BYTES, footer.start)) for start in starts]
    return dict(zip(starts, source.read_ranges(ranges), strict=True))


def _described(footer: Footer, found: ExistingFilter, head: bytes, edges: Edges) -> StoredFilter:
    header = _readable_header(footer, found, head)
    problem, foreign, is_draft = found.problem, None, False
    if header is not None and (header.unsupported is not None or header.compression is None):
        problem = _problem_of_foreign(footer.leaves[found.column], found, header, edges)
        foreign = found.problem
        is_draft = header.unsupported is None
    return StoredFilter(
        row_group=found.row_group,
        ordinal=found.column,
        offset=found.offset,
        header=header,
        problem=problem,
        foreign=foreign,
        is_draft=is_draft,
        oddities=tuple(_oddities(found, header, head)),
    )


def _readable_header(footer: Footer, found: ExistingFilter, head: bytes) -> FilterHeader | None:
    try:
        header = decode_header(head)
    except MalformedFilter:
        return None
    stop = found.offset + header.length + header.num_bytes
    return header if stop <= footer.start else None


def _problem_of_foreign(
    leaf: Leaf, found: ExistingFilter, header: FilterHeader, edges: Edges
) -> str | None:
    """What is wrong with a filter whatever its hash is."""
    try:
        check_filter(leaf, header, found.footer_length, offset=found.offset, edges=edges)
    except MalformedFilter as error:
        return error.problem
    return None


def _oddities(found: ExistingFilter, header: FilterHeader | None, head: bytes) -> Iterator[str]:
    if found.footer_length is None:
        yield "the footer does not give its length"
    if header is None:
        return
    size = header.num_bytes
    if size & (size - 1):
        yield f"its {size} bytes are no power of two: Arrow C++, Velox and Impala do not take it"
    elif size == BYTES_PER_BLOCK:
        yield "it has a single block: Impala does not take it"
    if size > MAX_BYTES:
        yield f"its {size} bytes are more than many readers take"
    if header.unsupported is None and not head.startswith(header.usual_bytes):
        yield "its header is encoded in an unusual way"


def _as_stored(header: FilterHeader, data: bytes) -> Sbbf:
    words = np.frombuffer(data, "<u4", offset=header.length)
    return Sbbf(words.reshape(-1, WORDS_PER_BLOCK))


def _batches(filters: Iterable[StoredFilter]) -> Iterator[list[StoredFilter]]:
    """Cut into runs of about `_BATCH_BYTES`."""
    seen = 0

    def batch_of(filter_: StoredFilter) -> int:
        nonlocal seen
        seen += filter_.length or 0
        return seen // _BATCH_BYTES

    for _, batch in groupby(filters, batch_of):
        yield list(batch)
