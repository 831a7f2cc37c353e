"""Patching: the two Bloom filter fields among any neighbours, and offsets that moved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thrift.Thrift import TType

from parquet_bloomwriter.compact.varint import encode_zigzag
from parquet_bloomwriter.errors import UnsupportedFile
from parquet_bloomwriter.kernels.layout import BINARY, I32, I64, LIST, START, STRUCT
from parquet_bloomwriter.metadata import Footer, parse_footer
from parquet_bloomwriter.metadata.fields import ChunkField, RowGroupField
from parquet_bloomwriter.metadata.patch import (
    Shift,
    apply_edits,
    bloom_edit,
    index_length_edits,
    longer_than_needed,
    offset_edits,
    offset_fields,
)
from parquet_bloomwriter.source import BufferSource, read_footer
from tests.metadata.synthetic import column_chunk, column_metadata, fields_of, file_metadata, plain

if TYPE_CHECKING:
    from pathlib import Path

    from tests.compact.structs import Fields

NO_CHUNK = np.zeros((1, 1), np.bool_)
MAX_DELTA = 15
_NEIGHBOURS: tuple[tuple[int, int, Any], ...] = (
    (8, LIST, (STRUCT, [])),
    (10, I64, 50),
    (11, I64, 30),
    (12, STRUCT, plain((1, BINARY, b"min"))),
    (13, LIST, (STRUCT, [plain((1, I32, 0), (2, I32, 0), (3, I32, 1))])),
    (14, I64, 1000),
    (15, I32, 47),
    (16, STRUCT, plain((1, I64, 8))),
    (17, STRUCT, []),
    (29, I32, 7),
    (30, I32, 7),
    (31, BINARY, b"?"),
    (32767, BINARY, b"extension"),
)


@st.composite
def metadata(draw: st.DrawFn) -> Fields:
    """ColumnMetaData in the order of ids, with any optional fields and any long-form headers."""
    optional = [field for field in _NEIGHBOURS if draw(st.booleans())]
    fields = sorted([*column_metadata(), *plain(*optional)])
    return [(i, wire, value, not draw(st.integers(0, 5))) for i, wire, value, _ in fields]


def with_filter(fields: Fields, place: tuple[int, int] | None) -> Fields:
    """What should come out: the long headers that were there stay, new ones are short."""
    last, spelled = 0, []
    for field_id, wire, value, long_form in fields:
        spelled.append((field_id, wire, value, long_form or field_id - last > MAX_DELTA))
        last = field_id
    others = [field for field in spelled if field[0] not in (14, 15)]
    if place is None:
        return others
    return sorted([*others, *plain((14, I64, place[0]), (15, I32, place[1]))])


def footer_of(fields: Fields) -> Footer:
    return parse_footer(file_metadata([column_chunk(fields)]), start=10_000)


def patched(footer: Footer, place: tuple[int, int] | None) -> bytes:
    return apply_edits(footer.data, [bloom_edit(footer, 0, 0, place)])


places = st.tuples(st.integers(4, 2**40), st.integers(47, 2**27 + 19))


@given(metadata(), places)
def test_set_among_any_neighbours(fields: Fields, place: tuple[int, int]) -> None:
    expected = file_metadata([column_chunk(with_filter(fields, place))])
    assert patched(footer_of(fields), place) == expected


@given(metadata())
def test_remove_among_any_neighbours(fields: Fields) -> None:
    expected = file_metadata([column_chunk(with_filter(fields, None))])
    assert patched(footer_of(fields), None) == expected


@given(metadata(), places, places)
def test_remove_undoes_set(fields: Fields, place: tuple[int, int], other: tuple[int, int]) -> None:
    fields = [field for field in fields if field[0] not in (14, 15)]
    footer = footer_of(fields)
    once = parse_footer(patched(footer, place), start=footer.start)
    twice = parse_footer(patched(once, other), start=footer.start)
    assert patched(footer, other) == twice.data
    assert patched(once, None) == patched(twice, None) == footer.data


@given(metadata(), places, st.randoms(use_true_random=False))
def test_fields_in_any_order(fields: Fields, place: tuple[int, int], random: Any) -> None:  # noqa: ANN401
    """Either it is refused, or Thrift's reader finds the two fields and all others as before."""
    random.shuffle(fields)
    footer = footer_of(fields)
    start = int(footer.chunks.spans[0, 0, ChunkField.META_DATA, START])
    before = fields_of(footer.data, start)
    try:
        after = fields_of(patched(footer, place), start)
    except UnsupportedFile as error:
        assert (error.row_group, error.column) == (0, "x")  # noqa: PT017  either is right
        return
    offset, length = map(encode_zigzag, place)
    assert after == {**before, 14: (TType.I64, offset), 15: (TType.I32, length)}


@pytest.mark.parametrize("long_form", [False, True])
@pytest.mark.parametrize("wrong", [(14, I32, 1), (15, I64, 1), (14, BINARY, b"")])
def test_fields_of_another_type_are_refused(wrong: tuple[int, int, Any], long_form: bool) -> None:  # noqa: FBT001
    footer = footer_of([*column_metadata(), (*wrong, long_form)])
    with pytest.raises(UnsupportedFile, match="order of their ids, or of the wrong type"):
        bloom_edit(footer, 0, 0, (100, 47))


def test_only_the_chunk_that_is_meant() -> None:
    chunks = [column_chunk(column_metadata()) for _ in range(3)]
    footer = parse_footer(file_metadata(chunks), start=10_000)
    chunks[1] = column_chunk(with_filter(column_metadata(), (700, 47)))
    edit = bloom_edit(footer, 1, 0, (700, 47))
    assert apply_edits(footer.data, [edit]) == file_metadata(chunks)


# ---------------------------------------------------------------- offsets


def all_offsets(footer: Footer) -> list[list[int]]:
    return [structs.value(field).ravel().tolist() for structs, field in offset_fields(footer)]


def everything_else(footer: Footer) -> list[Any]:
    chunks = footer.chunks.values.copy()
    groups = footer.row_groups.values.copy()
    for structs, field in offset_fields(footer):
        (groups if structs is footer.row_groups else chunks)[..., field] = 0
    # The length of the metadata itself is not a number of it.
    return [chunks.tolist(), groups.tolist(), footer.file.values.tolist(), footer.leaves]


WRITERS = (
    "chdb/bloom", "datafusion/bloom", "duckdb/bloom", "fastparquet/people", "polars/people",
    "pyarrow/bloom_page_index", "pyarrow/empty_row_groups", "spark/bloom",
)  # fmt: skip


def edited(footer: Footer, move: Shift) -> Footer:
    mask = np.zeros(footer.chunks.values.shape[:2], np.bool_)
    edits = sorted(offset_edits(footer, move, except_bloom=mask), key=lambda edit: edit.start)
    return parse_footer(apply_edits(footer.data, edits), start=footer.start)


@pytest.mark.parametrize("name", WRITERS)
def test_offsets_of_every_writer_move_and_return(fixtures_dir: Path, name: str) -> None:
    footer = read_footer(BufferSource((fixtures_dir / f"{name}.parquet").read_bytes()))
    assert not longer_than_needed(footer)
    starts = sorted(set(footer.chunk_starts().ravel().tolist()) - {0})
    for growth in (1, 60, 8192, 2**31):
        for cut in (starts[0], starts[len(starts) // 2], starts[-1], footer.start):
            moved = edited(footer, Shift.of([cut], [growth]))
            assert all_offsets(moved) == [
                [n + growth if n >= cut else n for n in column] for column in all_offsets(footer)
            ]
            assert everything_else(moved) == everything_else(footer)
            assert edited(moved, Shift.of([cut + growth], [-growth])).data == footer.data


def test_filters_that_are_placed_anew_are_left_out() -> None:
    fields = sorted([*column_metadata(), *plain((14, I64, 500), (15, I32, 47))])
    footer = footer_of(fields)
    move = Shift.of([4], [60])
    kept = list(offset_edits(footer, move, except_bloom=NO_CHUNK))
    anew = list(offset_edits(footer, move, except_bloom=~NO_CHUNK))
    assert len(kept) == len(anew) + 1
    header, start, stop = footer.chunks.spans[0, 0, ChunkField.BLOOM_FILTER_OFFSET].tolist()
    assert header < start
    assert [e for e in kept if e not in anew] == [type(kept[0])(start, stop, encode_zigzag(560))]


def test_lengths_of_page_indexes() -> None:
    chunks = [
        column_chunk(column_metadata(), (4, I64, 100 * i), (5, I32, length))
        for i, length in ((0, 20), (1, 20), (1, 20), (2, 63), (3, 0))
    ]
    footer = parse_footer(file_metadata(chunks), start=10_000)
    edits = list(index_length_edits(footer, {0: 99, 100: 21, 200: 64, 300: 5}))
    new = parse_footer(apply_edits(footer.data, edits), start=10_000)
    lengths = new.chunks.value(ChunkField.OFFSET_INDEX_LENGTH).ravel().tolist()
    assert lengths == [20, 21, 21, 64, 0]
    assert list(index_length_edits(footer, {100: 20})) == []


@pytest.mark.parametrize(
    "field",
    [
        ChunkField.FILE_OFFSET,
        ChunkField.DATA_PAGE_OFFSET,
        ChunkField.OFFSET_INDEX_OFFSET,
        ChunkField.OFFSET_INDEX_LENGTH,
        None,
    ],
)
def test_padded_varints_are_noticed(field: ChunkField | None) -> None:
    data = file_metadata([column_chunk(column_metadata(), (4, I64, 100), (5, I32, 20))])
    footer = parse_footer(data, start=10_000)
    assert not longer_than_needed(footer)
    if field is None:
        _, _, stop = footer.row_groups.spans[0, RowGroupField.FILE_OFFSET].tolist()
    else:
        _, _, stop = footer.chunks.spans[0, 0, field].tolist()
    padded = data[: stop - 1] + bytes([data[stop - 1] | 0x80, 0]) + data[stop:]
    assert longer_than_needed(parse_footer(padded, start=10_000))


def with_positions(shift: int) -> bytes:
    """A column chunk with every absolute position that Parquet has for it, each `shift` further."""
    metadata = [field for field in column_metadata() if field[0] != 9]
    pages = plain((9, I64, 300 + shift), (10, I64, 200 + shift), (11, I64, 100 + shift))
    chunk = plain(
        (2, I64, 50 + shift),
        (3, STRUCT, sorted([*metadata, *pages, *plain((14, I64, 400 + shift))])),
        (4, I64, 500 + shift),
        (6, I64, 600 + shift),
    )
    return file_metadata([chunk])


def test_every_position_moves() -> None:
    """The list of fields is the specification's, not that of the code."""
    footer = parse_footer(with_positions(0), start=10_000)
    assert edited(footer, Shift.of([10], [1000])).data == with_positions(1000)
