"""Carrying out a plan in two parts, and finding every kind of damage in what was written."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from parquet_bloomwriter.errors import VerificationFailed
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.metadata.patch import Edit
from parquet_bloomwriter.rewrite.plan import (
    Chunk,
    Copy,
    Emit,
    EmitFilter,
    Piece,
    Plan,
    Skip,
    make_draft,
    make_plan,
)
from parquet_bloomwriter.rewrite.write import Assembler, ExpectedFilter, Readable, digest_of, verify
from parquet_bloomwriter.sbbf import Sbbf
from parquet_bloomwriter.source import BufferSource
from tests.verbs.files import (
    filter_bytes,
    footer_of,
    layout,
    rendered,
    with_edits,
    with_filter_at,
    with_number,
    written,
)

OLD = written(write_page_index=True, bloom_filter_options={"city": {"ndv": 500, "fpp": 0.01}})
HASHES = {(i, j): np.arange(1 + i, 40, 2, dtype=np.uint64) * 2**55 for i in (0, 1) for j in (0, 1)}


def filters() -> dict[Chunk, bytes]:
    """Filters of one size, each with other hashes in it."""
    built = {}
    for number, (chunk, hashes) in enumerate(HASHES.items()):
        filter_ = Sbbf.empty(8)
        filter_.insert_hashes(hashes + np.uint64(number))
        built[chunk] = filter_.to_bytes()
    return built


def planned() -> Plan:
    place = layout(OLD)
    draft = make_draft(place, list(HASHES), "column-chunk")
    return make_plan(place, draft, {chunk: len(data) for chunk, data in filters().items()})


class NewBuffer:
    """A new file in memory."""

    def __init__(self) -> None:
        self.data = b""

    def copy(self, start: int, stop: int) -> None:
        """Append bytes of the old file."""
        self.data += OLD[start:stop]

    def write(self, data: bytes) -> None:
        """Append bytes."""
        self.data += data


def begun(pieces: tuple[Piece, ...]) -> tuple[Assembler, NewBuffer]:
    new = NewBuffer()
    assembler = Assembler(new)
    for chunk, data in filters().items():
        assembler.add_filter(chunk, data)
    for piece in pieces:
        assembler.write(piece)
    return assembler, new


# ---------------------------------------------------------------- the assembler


def test_every_beginning_completes_to_the_same_bytes() -> None:
    plan = planned()
    expected = rendered(plan, OLD, filters())
    assert len(plan.pieces) > 15
    for count in range(len(plan.pieces) + 1):
        assembler, new = begun(plan.pieces[:count])
        assembler.complete(plan)
        assert new.data == expected


def test_copies_may_be_cut_anywhere() -> None:
    plan = planned()
    expected = rendered(plan, OLD, filters())
    for count, piece in enumerate(plan.pieces):
        if not isinstance(piece, Copy):
            continue
        for cut in {piece.start + 1, (piece.start + piece.stop) // 2, piece.stop - 1}:
            if piece.start < cut < piece.stop:
                parts = (Copy(piece.start, cut), Copy(cut, piece.stop))
                for more in (parts[:1], parts):
                    assembler, new = begun((*plan.pieces[:count], *more))
                    assembler.complete(plan)
                    assert new.data == expected


def test_a_beginning_of_another_plan() -> None:
    plan = planned()
    first, second = plan.pieces[:2]
    assert isinstance(first, Copy)
    assert isinstance(second, EmitFilter)
    wrong: list[tuple[Piece, ...]] = [
        (Copy(first.start, first.stop + 1),),
        (Copy(first.start + 1, first.stop),),
        (first, Copy(first.stop, first.stop + 1)),
        (first, EmitFilter(1, 1, second.length)),
        (Emit(b"PAR1"),),
        (second,),
        (first, second, Skip(first.stop, first.stop + 1)),
        (*plan.pieces, Emit(b"")),
    ]
    for pieces in wrong:
        assembler, new = begun(pieces)
        before = new.data
        with pytest.raises(AssertionError):
            assembler.complete(plan)
        assert new.data == before


def test_filters_of_another_length_are_not_written() -> None:
    assembler, new = begun(())
    with pytest.raises(AssertionError, match="bytes"):
        assembler.write(EmitFilter(0, 0, 48))
    assert new.data == b""


# ---------------------------------------------------------------- reading back


def readable(data: bytes) -> Readable:
    return Readable(BufferSource(data), footer_of(data))


def check(new: bytes, plan: Plan | None = None) -> None:
    written_filters = {
        chunk: ExpectedFilter(
            digest=digest_of(data), sample=HASHES[chunk] + np.uint64(number), dialect="xxhash"
        )
        for number, (chunk, data) in enumerate(filters().items())
    }
    verify(readable(OLD), readable(new), plan or planned(), written_filters)


def result() -> bytes:
    return rendered(planned(), OLD, filters())


def swapped(data: bytes, one: tuple[int, int], other: tuple[int, int]) -> bytes:
    (a, length), (b, _) = sorted((one, other))
    first, second = data[a : a + length], data[b : b + length]
    assert first != second
    return data[:a] + second + data[a + length : b] + first + data[b + length :]


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def place_of(data: bytes, chunk: Chunk) -> tuple[int, int]:
    chunks = footer_of(data).chunks
    offset = int(chunks.value(ChunkField.BLOOM_FILTER_OFFSET)[chunk])
    return offset, int(chunks.value(ChunkField.BLOOM_FILTER_LENGTH)[chunk])


def test_what_is_as_planned_passes() -> None:
    check(result())


@pytest.mark.parametrize("byte", [0, 3, 20, -1])
@pytest.mark.parametrize("chunk", HASHES)
def test_a_flipped_bit_in_a_new_filter(chunk: Chunk, byte: int) -> None:
    offset, length = place_of(result(), chunk)
    with pytest.raises(VerificationFailed, match="as it was built") as caught:
        check(flipped(result(), offset + byte % length))
    assert (caught.value.row_group, caught.value.byte) == (chunk[0], offset)


def test_new_filters_swapped() -> None:
    new = result()
    with pytest.raises(VerificationFailed, match="as it was built"):
        check(swapped(new, place_of(new, (0, 0)), place_of(new, (1, 1))))


def test_places_swapped_in_the_footer() -> None:
    new = result()
    one, other = place_of(new, (0, 0)), place_of(new, (0, 1))
    broken = with_filter_at(with_filter_at(new, (0, 0), other), (0, 1), one)
    assert len(broken) == len(new)
    with pytest.raises(VerificationFailed, match="does not lead to the filter"):
        check(broken)


def test_a_filter_without_its_values() -> None:
    """The digest agrees, but what was to be inserted is not in it."""
    empty = {chunk: Sbbf.empty(8).to_bytes() for chunk in HASHES}
    new = rendered(planned(), OLD, empty)
    written_filters = {
        chunk: ExpectedFilter(digest=digest_of(empty[chunk]), sample=hashes, dialect="xxhash")
        for chunk, hashes in HASHES.items()
    }
    with pytest.raises(VerificationFailed, match="as it was built"):
        verify(readable(OLD), readable(new), planned(), written_filters)


@pytest.mark.parametrize("chunk", HASHES)
def test_wrong_numbers_in_the_footer(chunk: Chunk) -> None:
    offset, length = place_of(result(), chunk)
    for place in ((offset + 1, length), (offset, length + 32)):
        with pytest.raises(VerificationFailed, match="does not lead to the filter"):
            check(with_filter_at(result(), chunk, place))


@pytest.mark.parametrize("chunk", [(0, 0), (0, 2), (1, 1)])
def test_a_chunk_that_is_not_where_the_footer_says(chunk: Chunk) -> None:
    start = int(footer_of(result()).chunk_starts()[chunk])
    broken = with_number(result(), ChunkField.DICTIONARY_PAGE_OFFSET, start - 1, chunk=chunk)
    assert len(broken) == len(result())
    with pytest.raises(VerificationFailed, match="column chunk is not where") as caught:
        check(broken)
    column = footer_of(OLD).leaves[chunk[1]].name
    assert (caught.value.row_group, caught.value.column) == (chunk[0], column)
    assert caught.value.byte == start - 1


def test_a_column_chunk_without_a_place() -> None:
    spans = footer_of(result()).chunks.spans[1, 2]
    fields = (ChunkField.DICTIONARY_PAGE_OFFSET, ChunkField.DATA_PAGE_OFFSET)
    edits = [
        Edit(start, stop, b"\x80" * (stop - start - 1) + b"\x00")  # 0, in as many bytes
        for _, start, stop in (spans[field].tolist() for field in fields)
    ]
    broken = with_edits(result(), *edits)
    with pytest.raises(VerificationFailed, match="has other column chunks"):
        check(broken)


def test_a_damaged_chunk() -> None:
    with pytest.raises(VerificationFailed, match="column chunk is not where"):
        check(flipped(result(), int(footer_of(result()).chunk_starts()[1, 2]) + 5))


def test_files_of_another_size() -> None:
    new = result()
    tail = footer_of(new).start
    for broken in (new[: tail - 1] + new[tail:], new[:tail] + b"\x00" + new[tail:]):
        with pytest.raises(VerificationFailed, match="bytes, not"):
            check(broken)


@pytest.mark.parametrize("byte", [0, 5, 30, -1])
def test_a_damaged_old_filter(byte: int) -> None:
    offset, length = place_of(result(), (0, 2))
    assert filter_bytes(result(), (0, 2)) == filter_bytes(OLD, (0, 2))
    with pytest.raises(VerificationFailed, match="old filter"):
        check(flipped(result(), offset + byte % length))


def test_old_filters_that_changed_places() -> None:
    data = result()
    one, other = place_of(data, (0, 2)), place_of(data, (1, 2))
    broken = with_filter_at(with_filter_at(data, (0, 2), other), (1, 2), one)
    if filter_bytes(data, (0, 2)) != filter_bytes(data, (1, 2)):
        with pytest.raises(VerificationFailed, match="old filter"):
            check(broken)


def test_an_old_filter_that_is_missing_from_the_footer() -> None:
    chunk = next((f.row_group, f.column) for f in layout(result()).existing if f.column > 1)
    new = with_filter_at(result(), chunk, None)
    with pytest.raises(VerificationFailed, match="old filter"):
        check(new, dataclasses.replace(planned(), size=len(new)))


def test_a_page_index_that_does_not_lead_to_the_pages() -> None:
    old, new = layout(OLD), result()
    index = layout(new).offset_indexes[0]
    unmoved = old.offset_indexes[0].data
    assert unmoved != index.data
    assert len(unmoved) == len(index.data)
    with pytest.raises(VerificationFailed, match="page index"):
        check(new[: index.start] + unmoved + new[index.stop :])


def test_a_filter_that_was_to_be_taken_out() -> None:
    chunk = next((f.row_group, f.column) for f in layout(result()).existing if f.column > 1)
    plan = dataclasses.replace(planned(), dropped=frozenset({chunk}))
    with pytest.raises(VerificationFailed, match="taken out is still there"):
        check(result(), plan)
