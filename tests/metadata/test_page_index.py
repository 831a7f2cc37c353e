"""Offsets in an OffsetIndex: exact at every width, and nothing else changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.errors import MalformedFile
from parquet_bloomwriter.kernels.layout import BINARY, I32, I64, LIST, STRUCT
from parquet_bloomwriter.metadata.page_index import OffsetIndex, parse_offset_index
from parquet_bloomwriter.metadata.patch import Shift
from tests.compact.structs import encode_struct, varint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WIDTHS = [1 << (7 * k - 1) for k in range(1, 10)]
offsets = st.one_of(
    st.sampled_from(WIDTHS).flatmap(lambda w: st.integers(w - 3, w + 3)),
    st.integers(1, 2**40),
    st.sampled_from([-1, 0, -(2**40)]),
)


def encode(pages: list[int], *, sizes: list[int] | None = None) -> bytes:
    """Encode an OffsetIndex with pages of 100 bytes and 10 rows; `sizes` is its second field."""
    locations = [
        [(1, I64, offset, False), (2, I32, 100, False), (3, I64, 10 * i, False)]
        for i, offset in enumerate(pages)
    ]
    more = [] if sizes is None else [(2, LIST, (I64, sizes), False)]
    return encode_struct([(1, LIST, (STRUCT, locations), False), *more])


def shifted_by(growth: int, *, behind: int = 0) -> Shift:
    """Everything behind a position moves."""
    return Shift.of([behind], [growth])


@given(st.lists(offsets, max_size=20), st.integers(0, 2**20), st.none() | st.just([1, 2]))
def test_moved_is_what_a_writer_would_have_written(
    pages: list[int], growth: int, sizes: list[int] | None
) -> None:
    data = encode(pages, sizes=sizes)
    index = parse_offset_index(data, start=500)
    assert (index.start, index.stop, index.is_movable) == (500, 500 + len(data), True)
    assert index.offsets.tolist() == pages
    move = shifted_by(growth)
    moved = [page + growth if page > 0 else page for page in pages]
    assert index.moved(move) == encode(moved, sizes=sizes)
    assert index.length_after(move) == len(index.moved(move))


@given(st.lists(offsets, max_size=20), st.integers(0, 2**20))
def test_back_and_forth(pages: list[int], growth: int) -> None:
    data = encode(pages)
    there = parse_offset_index(data, start=4).moved(shifted_by(growth))
    back = Shift.of([growth], [-growth])
    assert parse_offset_index(there, start=4).moved(back) == data


def test_only_pages_behind_the_cut_move() -> None:
    pages = [4, 60, 63, 64, 8191, 8192]
    index = parse_offset_index(encode(pages), start=9000)
    moved = index.moved(shifted_by(1, behind=63))
    assert moved == encode([4, 60, 64, 65, 8192, 8193])
    assert len(moved) == len(index.data) + 2


def not_shortest() -> bytes:
    data = encode([100, 200])
    long = data.replace(b"\x16\xc8\x01", b"\x16\xc8\x81\x00")
    assert len(long) == len(data) + 1
    return long


@pytest.mark.parametrize(
    "data",
    [
        not_shortest(),
        encode_struct([(1, LIST, (STRUCT, []), False), (3, BINARY, b"new", False)]),
        encode_struct(
            [(1, LIST, (STRUCT, [[(1, I64, 4, False), (2, I32, 100, False), (3, I64, 0, False),
                                  (4, I64, 4, False)]]), False)]
        ),
        encode_struct([(1, LIST, (STRUCT, [[(1, I32, 70000, False), (2, I32, 1, False),
                                            (3, I64, 0, False)]]), False)]),
    ],
    ids=["padded varint", "new field", "new field of a page", "offset of another type"],
)  # fmt: skip
def test_what_cannot_be_restored_is_not_movable(data: bytes) -> None:
    assert not parse_offset_index(data, start=4).is_movable


@pytest.mark.parametrize(
    "data", [b"", encode([4, 8])[:-1], encode([4, 8]) + b"\x00", b"\x19\x1c\x00\x00"]
)
def test_not_one_offset_index(data: bytes) -> None:
    with pytest.raises(MalformedFile):
        parse_offset_index(data, start=4)


def test_lying_page_counts() -> None:
    with pytest.raises(MalformedFile, match="more elements"):
        parse_offset_index(b"\x19\xfc" + varint(10**9) + b"\x00" * 50, start=4)


def test_positions_are_of_numpy() -> None:
    def move(positions: NDArray[np.int64]) -> NDArray[np.int64]:
        return positions + 1

    index: OffsetIndex = parse_offset_index(encode([63]), start=4)
    assert index.moved(move) == encode([64])
