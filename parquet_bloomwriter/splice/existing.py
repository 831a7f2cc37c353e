"""The Bloom filters that a file already has: where they lie, and whether they can be trusted.

A filter is trusted only if its header says what the specification says, its length in the footer
agrees with its header, it lies inside the file, no other column chunk claims it, and its column has
a type that writers hash alike.
Of the bitset nothing is read here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.compact.loop import ABSENT
from parquet_bloomwriter.errors import MalformedFilter
from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.sbbf import decode_header
from parquet_bloomwriter.sbbf.header import MAX_HEADER_BYTES, HeaderCutShort, measured_length

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from parquet_bloomwriter.hashing import Dialect
    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.sbbf import FilterHeader

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
