"""Files of slices: what is in them, and that no damage of them goes unnoticed."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from parquet_bloomwriter.errors import BloomwriterError, IndexProblem
from parquet_bloomwriter.index.build import slices as build
from parquet_bloomwriter.index.build.slices import plan_slices, write_slices
from parquet_bloomwriter.index.changes import known_files
from parquet_bloomwriter.index.format import slice_file
from parquet_bloomwriter.index.format.slice_file import SliceReader
from tests.index.sliced import slices_of
from tests.index.support import INT32, INT64, Column, Made, Row, file_of, filled, hashes, make

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloomwriter.index.entry import SliceFile

SIZES = [1, 4, 64, 3]
ODD = 7
"""A file whose filter has a size of its own."""

NUM_FILES = 700
TILES = {
    "one tile": {},
    "some blocks": {"_TILE_BYTES": 64 * 1024, "_TILE_FILTERS": 4096},
    "some filters": {"_TILE_BYTES": 8 * 1024, "_TILE_FILTERS": 64, "_TURNED_BYTES": 1000},
    "some of both": {"_TILE_BYTES": 4 * 1024, "_TILE_FILTERS": 128},
    "single reads": {"_SLAB_BYTES": 1},
}


def row(file_id: int) -> Row:
    blocks = 9 if file_id == ODD else SIZES[file_id % 4]
    full = None if file_id % 11 == 5 else filled(blocks, hashes(file_id, 5 * blocks))
    return Row(file_id=file_id, filter=full, leaf=INT32 if file_id % 5 == 4 else INT64)


ROWS = [row(i) for i in range(NUM_FILES) if i % 13]


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    monkeypatch.setattr(slice_file, "MIN_FILTERS", 20)
    parts = [[ROWS[:300], ROWS[300:350]], [ROWS[350:]]]
    return make(tmp_path / "ids", {"id": Column(parts=parts)}, file_ids=range(NUM_FILES))


def written(index: Made) -> tuple[SliceFile, SliceReader]:
    found = slices_of(index.folder, index.entry, index.entry.columns[0])
    assert found is not None
    return found, SliceReader(index.folder, found)


@pytest.mark.parametrize(
    ("tiles", "page_bytes"),
    [*((tiles, 4096) for tiles in TILES if tiles != "some filters"), ("some filters", 1)],
)
def test_slices_are_the_filters_turned(
    index: Made, tiles: str, page_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in TILES[tiles].items():
        monkeypatch.setattr(build, name, value)
    monkeypatch.setattr(slice_file, "_PAGE_BYTES", page_bytes)
    _, reader = written(index)
    groups = reader.directory.groups
    assert sorted(group.num_blocks for group in groups) == sorted(2 * [0, *SIZES])
    seen: list[int] = []
    for group, owners in zip(groups, reader.owners, strict=True):
        seen += owners.tolist()
        if not group.num_blocks:
            assert all(row(owner).filter is None for owner in owners.tolist())
            continue
        with reader.opened() as source:
            rows = np.stack(list(reader.rows(source, group, range(group.num_blocks * 256))))
        bits = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")
        for place, owner in enumerate(owners.tolist()):
            filter_ = row(owner).filter
            assert filter_ is not None
            words = filter_.blocks.astype("<u4").view(np.uint8)
            expected = np.unpackbits(words.ravel(), bitorder="little")
            assert np.array_equal(bits[:, place], expected)
        assert not bits[:, len(owners) :].any()
    others = [i for i in range(NUM_FILES) if i % 13 == 0 or i == ODD]
    assert reader.without_slices.tolist() == others
    assert sorted([*seen, *reader.without_slices.tolist()]) == list(range(NUM_FILES))


def test_records_give_the_files_back(index: Made) -> None:
    _, reader = written(index)
    for ordinals in ([0], [5, 127, 128, 129, 699], list(range(NUM_FILES)), []):
        found = reader.files(np.array(ordinals, np.int64))
        assert found == [file_of(i) for i in ordinals]


def test_the_directory_names_the_parts(index: Made) -> None:
    _, reader = written(index)
    parts = [(one.path, one.size) for one in reader.directory.parts]
    assert parts == [(one.path, one.size) for one in index.entry.columns[0].parts]
    assert [one.has_others for one in reader.directory.parts] == [True, False]
    assert reader.directory.stop == NUM_FILES


def test_groups_that_become_too_small_have_no_slices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files 0 to 9 have one size; of 10 to 19, all but one have a second filter of a rare size."""
    monkeypatch.setattr(slice_file, "MIN_FILTERS", 8)
    rows = [Row(file_id=i, filter=filled(1, hashes(i, 3))) for i in range(10)]
    for i in range(10, 20):
        rows.append(Row(file_id=i, filter=filled(64, hashes(i, 3)), row_group=0))
        if i < 19:
            blocks = 100 + i
            rows.append(Row(file_id=i, filter=filled(blocks, hashes(i, 3)), row_group=1))
    made = make(tmp_path / "x", {"id": Column(parts=[[rows]])}, file_ids=range(20))
    _, reader = written(made)
    assert [group.num_blocks for group in reader.directory.groups] == [1]
    assert reader.without_slices.tolist() == list(range(10, 20))


def test_small_groups_have_no_slices(index: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slice_file, "MIN_FILTERS", NUM_FILES)
    assert slices_of(index.folder, index.entry, index.entry.columns[0]) is None


def read_all(index: Made, slices: SliceFile) -> None:
    SliceReader(index.folder, slices).check()


def test_no_byte_can_change_unnoticed(index: Made) -> None:
    slices, reader = written(index)
    read_all(index, slices)
    size = slices.file.size
    ends = [slice_file.HEADER_BYTES, size - slice_file.TRAILER_BYTES]
    places = {*range(24), *range(size - 20, size), *range(24, size, 977)}
    places |= {end + step for end in ends for step in (-1, 0, 1)}
    places -= set(range(24, 32))  # the zeros of the header are not read
    with open(reader.path, "r+b") as file:  # noqa: PTH123
        for place in sorted(places):
            file.seek(place)
            old = file.read(1)
            file.seek(place)
            file.write(bytes([old[0] ^ 0x10]))
            file.flush()
            with pytest.raises(BloomwriterError):
                read_all(index, slices)
            file.seek(place)
            file.write(old)
            file.flush()
    read_all(index, slices)


@pytest.mark.parametrize("length", [0, 10, 1000, -1, 1])
def test_a_file_of_another_length_is_noticed(index: Made, length: int) -> None:
    slices, reader = written(index)
    size = slices.file.size
    os.truncate(reader.path, length if length > 1 or not length else size + length)
    with pytest.raises(IndexProblem):
        read_all(index, slices)
    now = os.stat(reader.path).st_size  # noqa: PTH116
    as_now = replace(slices, file=replace(slices.file, size=now))
    with pytest.raises(BloomwriterError):
        read_all(index, as_now)


def test_pages_of_another_file_are_noticed(index: Made) -> None:
    (mine, reader), (_, other) = written(index), written(index)
    group = max(reader.directory.groups, key=lambda one: one.num_pages)
    with open(other.path, "rb") as file:  # noqa: PTH123
        file.seek(group.start)
        page = file.read(group.page_bytes)
    with open(reader.path, "r+b") as file:  # noqa: PTH123
        file.seek(group.start)
        assert file.read(group.page_bytes)[:-8] == page[:-8]
        file.seek(group.start)
        file.write(page)
    with pytest.raises(IndexProblem, match="page"):
        read_all(index, mine)


def test_pages_in_another_place_are_noticed(index: Made) -> None:
    mine, reader = written(index)
    group = max(reader.directory.groups, key=lambda one: one.num_pages)
    with open(reader.path, "r+b") as file:  # noqa: PTH123
        file.seek(group.start)
        first, second = file.read(group.page_bytes), file.read(group.page_bytes)
        file.seek(group.start)
        file.write(second + first)
    with pytest.raises(IndexProblem, match="page"):
        read_all(index, mine)


def test_nothing_is_left_of_slices_that_cannot_be_written(
    index: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="space"):
        written(index)
    assert not [
        name
        for _, _, names in os.walk(index.folder)
        for name in names
        if name.startswith("_slices-")
    ]


def test_a_filter_with_another_header_is_noticed(index: Made) -> None:
    path = index.paths()[1]
    with open(path, "r+b") as file:  # noqa: PTH123
        data = file.read()
        header = row(1).data[:15]
        file.seek(data.index(header))
        file.write(b"\x16")
    with pytest.raises(IndexProblem, match="malformed header"):
        written(index)


def test_a_filter_without_a_block_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has values, by its row: it is not taken for a filter in which nothing is found."""
    monkeypatch.setattr(slice_file, "MIN_FILTERS", 2)
    monkeypatch.setattr(Row, "data", property(data_of))
    rows = [Row(file_id=i, filter=filled(1, hashes(i, 3))) for i in range(9)]
    made = make(tmp_path / "x", {"id": Column(parts=[[rows]])}, file_ids=range(9))
    with pytest.raises(IndexProblem, match="malformed header"):
        written(made)


def data_of(one: Row) -> bytes:
    """The bytes of a filter; of that of file 5, only the header."""
    assert one.filter is not None
    data = one.filter.to_bytes()
    return data[:-32] if one.file_id == ODD - 2 else data


def test_a_part_that_changes_while_slices_are_written_is_noticed(index: Made) -> None:
    files = known_files(index.entry, index.folder)
    plan = plan_slices(index.folder, index.entry.columns[0].parts, files)
    assert plan is not None
    os.utime(index.paths()[1], (1, 1))
    version = os.path.join(index.folder, "v__=0")  # noqa: PTH118
    with pytest.raises(IndexProblem, match="changed after it was opened"):
        write_slices(version, "id", plan, stop=NUM_FILES)
