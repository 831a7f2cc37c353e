"""Carry out a plan, and prove afterwards that the new file is what the plan says.

The assembler decides nothing. It may be given the beginning of the plan before the rest is known,
to copy data while filters are still being built; `complete` holds what was written by then against
the finished plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from parquet_bloomwriter.errors import BloomwriterError, FileProblem, VerificationFailed
from parquet_bloomwriter.filters.stored import StoredFilter, stored_filters
from parquet_bloomwriter.hashing import xxh64
from parquet_bloomwriter.metadata import parse_footer
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.metadata.page_index import parse_offset_index
from parquet_bloomwriter.rewrite.old_layout import PAGE_HEADER_BYTES
from parquet_bloomwriter.rewrite.plan import (
    Chunk,
    Copy,
    Emit,
    EmitFilter,
    Piece,
    Plan,
    Skip,
    length_of,
)
from parquet_bloomwriter.sbbf import Sbbf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from parquet_bloomwriter.metadata import Footer
    from parquet_bloomwriter.sbbf import Dialect
    from parquet_bloomwriter.source import Source

_COMPARED_BYTES = 64


class NewFile(Protocol):
    """The methods that write a new file, from its first byte to its last."""

    def copy(self, start: int, stop: int) -> None:
        """Append bytes [start, stop) of the old file."""
        ...

    def write(self, data: bytes) -> None:
        """Append `data`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExpectedFilter:
    """The data by which one new filter is checked in the new file."""

    digest: int
    """XXH64 of the filter's header and bitset."""

    sample: NDArray[np.uint64]
    """Hashes that the filter must contain."""

    dialect: Dialect


class Assembler:
    """Writes the pieces of a plan in order, each piece once."""

    def __init__(self, new: NewFile) -> None:
        self._new = new
        self._filters: dict[Chunk, bytes] = {}
        """Header and bitset of new filters that are not written yet, by column chunk."""
        self._done: list[Piece] = []

    def add_filter(self, chunk: Chunk, data: bytes) -> None:
        """Keep the header and bitset of a new filter until its piece is written."""
        self._filters[chunk] = data

    def write(self, piece: Piece) -> None:
        """Write one piece to the new file."""
        match piece:
            case Copy(start, stop):
                self._new.copy(start, stop)
                last = self._done[-1] if self._done else None
                if isinstance(last, Copy) and last.stop == start:
                    self._done[-1] = Copy(last.start, stop)
                    return
            case Emit(data):
                self._new.write(data)
            case EmitFilter(row_group, column, length):
                data = self._filters.pop((row_group, column))
                if len(data) != length:
                    raise AssertionError(f"{piece} has {len(data)} bytes")
                self._new.write(data)
            case Skip():
                pass
        self._done.append(piece)

    def complete(self, plan: Plan) -> None:
        """Write the rest of the plan; check that the pieces written so far are its beginning.

        Raises:
            AssertionError: If what was written so far is not its beginning. That is a bug.
        """
        done = tuple(self._done)
        rest = list(plan.pieces[len(done) :])
        if len(done) > len(plan.pieces):
            raise AssertionError("more was written than planned")
        if done and done[-1] != plan.pieces[len(done) - 1]:
            begun, planned = done[-1], plan.pieces[len(done) - 1]
            if not isinstance(begun, Copy) or not isinstance(planned, Copy):
                raise AssertionError(f"{begun} was written instead of {planned}")
            rest.insert(0, Copy(begun.stop, planned.stop))
            done = (*done[:-1], Copy(begun.start, planned.stop))
        if done != plan.pieces[: len(done)] or any(_is_backwards(piece) for piece in rest):
            raise AssertionError("what was written is not the beginning of the plan")
        for piece in rest:
            self.write(piece)


def digest_of(data: bytes) -> int:
    """Return the XXH64 of header and bitset, by which a filter is checked in the new file."""
    return xxh64(data)


@dataclass(frozen=True, slots=True)
class Readable:
    """An open file with its footer."""

    source: Source
    footer: Footer


def verify(
    old: Readable, new: Readable, plan: Plan, filters: Mapping[Chunk, ExpectedFilter]
) -> None:
    """Read the new file back, and check it against the old file and the plan.

    Checked are its size; the bytes of every new filter, and hashes that it must contain; the first
    bytes of every column chunk and, where data moved, of every page that a page index leads to; and
    that old filters that were kept begin and end as before.

    Raises:
        VerificationFailed: If anything is not as planned.
    """
    if new.source.size != plan.size:
        raise VerificationFailed(f"the new file has {new.source.size} bytes, not {plan.size}")
    for place in plan.filters:
        chunk = (place.row_group, place.column)
        data = new.source.read_at(place.offset, place.offset + place.length)
        if not _is_as_written(data, filters[chunk]):
            raise VerificationFailed(
                "the filter did not read back as it was built",
                row_group=place.row_group,
                column=new.footer.leaves[place.column].name,
                byte=place.offset,
            )
        fields = new.footer.chunks.values[chunk]
        named = (fields[ChunkField.BLOOM_FILTER_OFFSET], fields[ChunkField.BLOOM_FILTER_LENGTH])
        if named != (place.offset, place.length):
            raise VerificationFailed("the footer does not lead to the filter", byte=place.offset)
    _compare_starts(old, new)
    _compare_pages(old, new)
    _compare_kept(old, new, filters, plan.dropped)


def _is_as_written(data: bytes, expected: ExpectedFilter) -> bool:
    if digest_of(data) != expected.digest:
        return False
    try:
        filter_ = Sbbf.from_bytes(data, expected.dialect)
    except BloomwriterError:
        return False
    return filter_.contains_all(expected.sample)


def _compare_starts(old: Readable, new: Readable) -> None:
    """Check that every column chunk begins with the same bytes as before."""
    before, after = old.footer.chunk_starts(), new.footer.chunk_starts()
    sizes = old.footer.chunks.value(ChunkField.TOTAL_COMPRESSED_SIZE)
    if before.shape != after.shape or ((before > 0) != (after > 0)).any():
        raise VerificationFailed("the new footer has other column chunks")
    for place in np.argwhere((before > 0) & (sizes > 0)).tolist():
        index = tuple(place)
        length = min(int(sizes[index]), _COMPARED_BYTES)
        was, is_ = int(before[index]), int(after[index])
        if old.source.read_at(was, was + length) != new.source.read_at(is_, is_ + length):
            raise VerificationFailed(
                "the column chunk is not where the new footer says",
                row_group=index[0],
                column=old.footer.leaves[index[1]].name,
                byte=is_,
            )


def _compare_pages(old: Readable, new: Readable) -> None:
    """Check that every page that an OffsetIndex leads to begins with the same bytes as before."""
    if np.array_equal(old.footer.chunk_starts(), new.footer.chunk_starts()):
        return
    after = _index_places(new.footer)
    for chunk, place in _index_places(old.footer).items():
        was = _page_offsets(old, place)
        is_ = _page_offsets(new, after[chunk]) if chunk in after else []
        if len(was) != len(is_) or any(
            old.source.read_at(a, a + PAGE_HEADER_BYTES)
            != new.source.read_at(b, b + PAGE_HEADER_BYTES)
            for a, b in zip(was, is_, strict=True)
            if 0 < a < old.footer.start
        ):
            raise VerificationFailed(
                "the page index does not lead to the pages",
                row_group=chunk[0],
                column=old.footer.leaves[chunk[1]].name,
            )


def _compare_kept(
    old: Readable,
    new: Readable,
    filters: Mapping[Chunk, ExpectedFilter],
    dropped: frozenset[Chunk],
) -> None:
    """Check that the old filters that stay look as before, and that no others came or went.

    Of a filter that cannot be trusted only its being so is compared: its length may be anything.
    """
    before = {(f.row_group, f.column): f for f in stored_filters(old.footer, old.source.read_at)}
    after = {(f.row_group, f.column): f for f in stored_filters(new.footer, new.source.read_at)}
    for chunk in (before.keys() - dropped) | after.keys():
        if chunk not in filters and not (
            chunk in before
            and chunk in after
            and (before[chunk].problem is None) == (after[chunk].problem is None)
            and (
                before[chunk].problem is not None
                or _same_bytes(old.source, before[chunk], new.source, after[chunk])
            )
        ):
            raise VerificationFailed(
                "an old filter did not read back as it was",
                row_group=chunk[0],
                column=new.footer.leaves[chunk[1]].name,
                byte=after[chunk].offset if chunk in after else None,
            )
    if not dropped.isdisjoint(after):
        raise VerificationFailed("a filter that was taken out is still there")


def _index_places(footer: Footer) -> dict[Chunk, tuple[int, int]]:
    """Return position and length of the OffsetIndex of each column chunk."""
    starts = footer.chunks.value(ChunkField.OFFSET_INDEX_OFFSET)
    lengths = footer.chunks.value(ChunkField.OFFSET_INDEX_LENGTH)
    places = np.argwhere((starts > 0) & (lengths > 0)).tolist()
    return {(r, c): (int(starts[r, c]), int(lengths[r, c])) for r, c in places}


def _page_offsets(file: Readable, place: tuple[int, int]) -> list[int]:
    start, length = place
    data = file.source.read_at(start, start + length)
    offsets: list[int] = parse_offset_index(data, start=start).offsets.tolist()
    return offsets


def _same_bytes(old: Source, before: StoredFilter, new: Source, after: StoredFilter) -> bool:
    """Return whether two filters have the same length, and begin and end with the same bytes."""
    if before.length != after.length:
        return False
    heads = [(f.offset, min(f.offset + _COMPARED_BYTES, f.stop)) for f in (before, after)]
    tails = [(max(f.offset, f.stop - _COMPARED_BYTES), f.stop) for f in (before, after)]
    return all(old.read_at(*was) == new.read_at(*is_) for was, is_ in (heads, tails))


def _is_backwards(piece: Piece) -> bool:
    return isinstance(piece, Copy) and piece.stop < piece.start


def prove(old: Footer, new: Footer, plan: Plan) -> None:
    """Prove by positions alone that the new footer refers to the same data as the old one.

    Raises:
        VerificationFailed: If it does not.
    """
    spans, at = [], 0
    for piece in plan.pieces:
        if isinstance(piece, Copy):
            spans.append((at, piece.start, piece.stop - piece.start))
        at += length_of(piece)
    moved = np.array(spans, np.int64).reshape(-1, 3)

    def origin(positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the position in the old file of each position in the new one; -1 for new bytes."""
        home = np.searchsorted(moved[:, 0], positions, side="right") - 1
        first, start, size = (moved[np.maximum(home, 0), column] for column in range(3))
        is_old = (home >= 0) & (positions - first < size)
        return np.where(is_old, positions - first + start, -1)

    if not len(moved) or old.chunks.values.shape != new.chunks.values.shape:
        raise VerificationFailed("the new footer has other column chunks")
    for name, before, after in _positions(old, new):
        used = before > 0
        if (used != (after > 0)).any() or (origin(after[used]) != before[used]).any():
            raise VerificationFailed(f"the new footer does not lead to the same {name}")
    _prove_filters(old, new, plan, origin)


def _prove_filters(
    old: Footer,
    new: Footer,
    plan: Plan,
    origin: Callable[[NDArray[np.int64]], NDArray[np.int64]],
) -> None:
    offsets = new.chunks.value(ChunkField.BLOOM_FILTER_OFFSET)
    lengths = new.chunks.value(ChunkField.BLOOM_FILTER_LENGTH)
    placed = {(place.row_group, place.column): place for place in plan.filters}
    before = old.chunks.value(ChunkField.BLOOM_FILTER_OFFSET)
    for row_group, column in np.argwhere((offsets > 0) | (before > 0)).tolist():
        chunk = (row_group, column)
        place = placed.get(chunk)
        named = (int(offsets[chunk]), int(lengths[chunk]))
        if place is not None:
            is_right = named == (place.offset, place.length)
        elif chunk in plan.dropped:
            is_right = named[0] <= 0
        else:
            is_right = int(origin(offsets[chunk].reshape(1))[0]) == int(before[chunk])
        if not is_right:
            raise VerificationFailed("the footer does not lead to the filter", byte=named[0])


def _positions(
    old: Footer, new: Footer
) -> Iterator[tuple[str, NDArray[np.int64], NDArray[np.int64]]]:
    """Yield name and positions of data pages and dictionaries, from both footers."""
    has_bytes = old.chunks.value(ChunkField.TOTAL_COMPRESSED_SIZE) > 0
    for name, field in (
        ("data pages", ChunkField.DATA_PAGE_OFFSET),
        ("dictionaries", ChunkField.DICTIONARY_PAGE_OFFSET),
    ):
        inside = has_bytes & (old.chunks.value(field) < old.start)
        yield name, old.chunks.value(field)[inside], new.chunks.value(field)[inside]


def tail_of(plan: Plan) -> bytes:
    """Return the last bytes of the new file: the footer, its length, and the magic."""
    last = plan.pieces[-1]
    assert isinstance(last, Emit)  # noqa: S101  a plan ends with a footer
    return last.data


def footer_of(plan: Plan) -> Footer:
    """Return the view of the new file's footer.

    Raises:
        VerificationFailed: If it does not parse.
    """
    tail = tail_of(plan)
    try:
        return parse_footer(tail[:-8], start=plan.size - len(tail))
    except FileProblem as error:
        raise VerificationFailed(f"the new footer does not parse: {error.problem}") from error
