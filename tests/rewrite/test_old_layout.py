"""Units of a file: where cuts are safe, and which files must not be touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter.errors import MalformedFile, UnsupportedFile
from parquet_bloomwriter.kernels.layout import BINARY, I32, I64, STRUCT
from parquet_bloomwriter.metadata.fields import ChunkField
from tests.metadata.synthetic import column_chunk, column_metadata, file_metadata, plain
from tests.verbs.files import footer_of, layout, with_number, with_unknown_field, written

if TYPE_CHECKING:
    from tests.compact.structs import Fields

HUGE = (10**9, 2**40, 2**62, 2**63 - 1)


def with_chunk(chunk: Fields, body: bytes = bytes(8)) -> bytes:
    footer = file_metadata([chunk])
    return b"PAR1" + body + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def test_units_of_a_file() -> None:
    data = written(write_page_index=True, bloom_filter_options={"id": {"ndv": 9, "fpp": 0.1}})
    place = layout(data)
    starts = place.footer.chunk_starts().ravel().tolist()
    assert place.units.starts.tolist() == sorted(place.units.starts.tolist())
    assert len(place.units.starts) == 6 + 2 * 6 + 2
    assert place.cuts_are_safe([4, *starts, place.footer.start])
    assert not place.cuts_are_safe([starts[1] + 1])
    assert not place.cuts_are_safe([4, starts[2] - 1])
    assert place.next_start(starts[0]) == starts[1]
    assert place.next_start(place.footer.start) == place.footer.start
    for old in place.existing:
        assert not place.cuts_are_safe([old.offset + 1])
    assert place.extents.certain.all()
    assert not place.extents.intruders.any()
    assert place.why_not_move() is None


@pytest.mark.parametrize(
    ("distance", "is_certain"), [(-1, True), (0, False), (46, False), (47, True)]
)
def test_a_filter_with_a_page_in_it_is_not_certain(distance: int, is_certain: bool) -> None:  # noqa: FBT001
    """A chunk begins at its dictionary page; where its data pages are, only the footer says."""
    data = written(bloom_filter_options={"id": {"ndv": 9, "fpp": 0.5}})
    last = layout(data).existing[-1]  # The first one is certain only if this one is.
    assert last.stop - last.offset == 47
    page = last.offset + distance
    place = layout(with_number(data, ChunkField.DATA_PAGE_OFFSET, page, chunk=(1, 2)))
    assert place.extents.certain[-1] == is_certain


def test_a_page_is_not_cut_within_its_header() -> None:
    place = layout(written(write_page_index=True, data_page_size=64, write_batch_size=16))
    pages = place.offset_indexes[0].offsets.tolist()
    assert len(pages) > 2
    for page in pages:
        cuts = [cut for cut in range(page - 1, page + 10) if place.pages_are_whole([cut])]
        assert cuts == [page - 1, page, page + 8, page + 9]


def test_sentinels_are_no_units() -> None:
    metadata = [(i, w, {5: 0, 6: 0, 7: 0, 9: 0}.get(i, v), f) for i, w, v, f in column_metadata()]
    place = layout(with_chunk(column_chunk(metadata, (4, I64, 0), (5, I32, 0))))
    assert place.units.starts.tolist() == []
    assert place.offset_indexes == ()
    assert place.next_start(0) == place.footer.start


@pytest.mark.parametrize("number", HUGE)
def test_chunks_outside_the_file(number: int) -> None:
    data = written(use_dictionary=False)
    for field in (ChunkField.TOTAL_COMPRESSED_SIZE, ChunkField.DATA_PAGE_OFFSET):
        with pytest.raises(MalformedFile, match="outside the file's data") as caught:
            layout(with_number(data, field, number, chunk=(1, 2)))
        assert (caught.value.row_group, caught.value.column) == (1, "city")


def test_a_chunk_over_the_first_four_bytes() -> None:
    data = written(use_dictionary=False)
    with pytest.raises(MalformedFile, match="outside the file's data") as caught:
        layout(with_number(data, ChunkField.DATA_PAGE_OFFSET, 3))
    assert (caught.value.row_group, caught.value.byte) == (0, 3)


@pytest.mark.parametrize("number", [*HUGE, -1, -(2**63) + 1])
def test_page_indexes_outside_the_file(number: int) -> None:
    data = written(write_page_index=True)
    for field in (ChunkField.OFFSET_INDEX_LENGTH, ChunkField.COLUMN_INDEX_LENGTH):
        with pytest.raises(MalformedFile, match="outside the file's data") as caught:
            layout(with_number(data, field, number, chunk=(0, 1)))
        assert (caught.value.row_group, caught.value.column) == (0, "email")
    if number > 0:
        with pytest.raises(MalformedFile, match="outside the file's data"):
            layout(with_number(data, ChunkField.OFFSET_INDEX_OFFSET, number))


@pytest.mark.parametrize("number", [0, -1, -(2**62), 2**62])
def test_values_without_a_page(number: int) -> None:
    with pytest.raises(MalformedFile, match="outside the file's data"):
        layout(with_number(written(use_dictionary=False), ChunkField.DATA_PAGE_OFFSET, number))


def test_negative_sizes() -> None:
    with pytest.raises(MalformedFile, match="outside the file's data"):
        layout(with_number(written(), ChunkField.TOTAL_COMPRESSED_SIZE, -1))


def test_a_size_that_reaches_the_footer_exactly() -> None:
    data = written()
    footer = footer_of(data)
    room = footer.start - int(footer.chunk_starts()[1, 2])
    layout(with_number(data, ChunkField.TOTAL_COMPRESSED_SIZE, room, chunk=(1, 2)))
    with pytest.raises(MalformedFile):
        layout(with_number(data, ChunkField.TOTAL_COMPRESSED_SIZE, room + 1, chunk=(1, 2)))


@pytest.mark.parametrize(
    ("chunk", "words"),
    [
        (sorted([*column_chunk(column_metadata()), *plain((1, BINARY, b"part-0.parquet"))]),
         "lie in other files"),
        (column_chunk(column_metadata(), (8, STRUCT, plain((1, STRUCT, [])))), "encrypted"),
        (column_chunk(column_metadata(), (9, BINARY, b"secret")), "encrypted"),
    ],
)  # fmt: skip
def test_files_that_are_refused(chunk: Fields, words: str) -> None:
    with pytest.raises(UnsupportedFile, match=words):
        layout(with_chunk(chunk))


def test_a_chunk_without_metadata() -> None:
    chunk = plain((2, I64, 4), (4, I64, 0), (5, I32, 0))
    with pytest.raises(MalformedFile, match="no metadata"):
        layout(with_chunk(chunk))


@pytest.mark.parametrize("where", ["FileMetaData", "RowGroup", "ColumnChunk", "ColumnMetaData"])
def test_unknown_fields_forbid_moving(where: str) -> None:
    reason = layout(with_unknown_field(written(), where)).why_not_move()
    assert reason == "the footer has fields that this version does not know"
