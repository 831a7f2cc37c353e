"""The Bloom filters of a file as they stand in it: what their headers say, and their bits.

Here nothing is refused: a filter that cannot be trusted is described as far as it can be read. Two
kinds of reasons against a filter are told apart:

- a *problem*: it is broken, or known to be empty or hashed in several ways. Readers that trust it
  lose rows.
- it is *foreign*: of a draft, or of an unknown hash. Readers that know their limits ignore it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.errors import MalformedFilter, UnsupportedFile
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.sbbf import Sbbf, decode_header
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK, WORDS_PER_BLOCK
from parquet_bloomwriter.sbbf.sizing import MAX_BYTES
from parquet_bloomwriter.splice.existing import HEADER_BYTES, check_filter, existing_filters

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from parquet_bloomwriter.hashing import HashKind
    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.sbbf import FilterHeader
    from parquet_bloomwriter.source import Source
    from parquet_bloomwriter.splice.existing import Edges, ExistingFilter

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
