"""The files that a version of an index excludes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.predicate import parse
from tests.index.support import (
    INT32,
    INT64,
    TEXT,
    Column,
    Made,
    Row,
    file_of,
    kept,
    make,
    many,
    of,
    small_index,
)
from tests.support.binding import bare_leaf

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def index(tmp_path: Path) -> Made:
    return small_index(tmp_path)


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("id = 1", [10, 12, 14, 15]),
        ("id = 2", [11, 14, 15]),
        ("id IN (2, 3)", [11, 12, 14, 15]),
        ("id = 7", [14]),
        ("id = 1 AND id = 3", [12, 14]),
        ("id = 1 AND id = 2", [14]),
        ("id = 1 OR id = 2", [10, 11, 12, 14, 15]),
        ("id = 3 AND other = 9", [12, 14]),
        ("id = 3 OR other = 9", [10, 11, 12, 13, 14, 15]),
        ("id <> 1", [10, 11, 12, 13, 14, 15]),
        ("id = 2.5", [14]),
    ],
)
def test_files_are_excluded_by_their_filters(
    index: Made, predicate: str, expected: list[int]
) -> None:
    assert kept(index, predicate) == expected


@pytest.mark.parametrize(
    ("predicate", "could"),
    [
        ("id = 1", True),
        ("id IN (1, 2) AND other = 9", True),
        ("id = 2.5", True),
        ("id = 1 OR other = 9", False),
        ("other = 9", False),
        ("id > 1", False),
        ("NOT (id = 1)", False),
    ],
)
def test_what_could_be_excluded_is_told_beforehand(
    index: Made,
    predicate: str,
    could: bool,  # noqa: FBT001
) -> None:
    assert index.snapshot().could_exclude(parse(predicate)) is could


def test_a_snapshot_says_what_it_is_of(index: Made, tmp_path: Path) -> None:
    snapshot = index.snapshot()
    assert snapshot.entry == index.entry
    assert snapshot.folder == index.folder
    assert snapshot.root == str(tmp_path)
    assert snapshot.files.ids.tolist() == list(range(10, 16))
    assert snapshot.files.paths.to_pylist() == [file_of(i).path for i in range(10, 16)]
    assert snapshot.num_bytes_held > 0


def test_types_may_differ_between_files(tmp_path: Path) -> None:
    leaves = (INT64, INT32, TEXT)
    rows = [Row(file_id=i, filter=of(5, leaf=leaf), leaf=leaf) for i, leaf in enumerate(leaves)]
    index = make(tmp_path / "ids", {"id": Column(parts=[[rows]])}, file_ids=range(3))
    assert kept(index, "id = 5") == [0, 1, 2]
    assert kept(index, "id = '5'") == [0, 1, 2]
    assert kept(index, "id = '6'") == []
    assert kept(index, "id = 6") == [2]  # Readers differ in what text equals a number.
    assert kept(index, "id = 3000000000") == [2]


def test_columns_are_known_by_their_name_in_the_index(tmp_path: Path) -> None:
    leaf = bare_leaf(PhysicalType.INT64, name="ID")
    rows = [Row(file_id=0, filter=of(5), leaf=leaf)]
    index = make(tmp_path / "ids", {"s.id": Column(parts=[[rows]])}, file_ids=[0])
    assert kept(index, "s.id = 6") == []
    assert kept(index, "s.id = 5") == [0]
    assert kept(index, "ID = 6") == [0]


def two_columns(folder: Path, mine: list[Row], yours: list[Row], count: int = 3) -> Made:
    columns = {"a": Column(parts=[[mine]]), "b": Column(parts=[[yours]])}
    return make(folder / "ids", columns, file_ids=range(count))


def by_groups(file_id: int, *values: int) -> list[Row]:
    return [
        Row(file_id=file_id, filter=of(value), row_group=group)
        for group, value in enumerate(values)
    ]


def test_conditions_must_hold_of_one_row_group(tmp_path: Path) -> None:
    index = two_columns(
        tmp_path,
        [*by_groups(0, 1, 2), Row(file_id=1, filter=of(1, 2)), *by_groups(2, 1, 2)],
        [*by_groups(0, 3, 4), *by_groups(1, 3, 4), Row(file_id=2, filter=of(3, 4))],
    )
    assert kept(index, "a = 1 AND b = 3") == [0, 1, 2]
    assert kept(index, "a = 1 AND b = 4") == [1, 2]
    assert kept(index, "a = 1 AND b = 5") == []
    assert kept(index, "(a = 1 OR b = 9) AND (b = 4 OR a = 9)") == [1, 2]
    assert kept(index, "a = 1 AND a = 2") == [1]


def test_row_groups_that_differ_say_nothing_about_each_other(tmp_path: Path) -> None:
    index = two_columns(
        tmp_path,
        [*by_groups(0, 1, 2), *by_groups(1, 1), Row(file_id=2, filter=of(1))],
        [*by_groups(0, 3, 4, 5), *by_groups(1, 3, 4), *by_groups(2, 3)],
    )
    assert kept(index, "a = 9 AND b = 3") == [0, 1]
    assert kept(index, "a = 1 AND b = 9") == []
    assert kept(index, "a = 9") == []


@pytest.mark.parametrize(
    "groups", [[0, 2], [1], [0, 0], [-1, -1], [-1, 0], [-1, 0, 1], [-2], [1, 2]]
)
def test_filters_that_are_not_all_there_say_nothing(tmp_path: Path, groups: list[int]) -> None:
    rows = [Row(file_id=0, filter=of(5), row_group=group) for group in groups]
    rows.append(Row(file_id=1, filter=of(5)))
    index = make(tmp_path / "ids", {"id": Column(parts=[[rows]])}, file_ids=[0, 1])
    assert kept(index, "id = 6") == [0]


def test_filters_of_files_that_are_gone_are_passed_over(tmp_path: Path) -> None:
    rows = [Row(file_id=i, filter=of(i)) for i in range(6)]
    column = Column(parts=[[rows[:3]], [rows[3:]]])
    index = make(tmp_path / "ids", {"id": column}, file_ids=[4, 1])
    assert kept(index, "id = 4") == [4]
    assert kept(index, "id = 1") == [1]
    assert kept(index, "id = 3") == []


def test_an_index_may_have_no_files_and_no_parts(tmp_path: Path) -> None:
    empty = make(tmp_path / "none", {"id": Column(parts=[])}, file_ids=[])
    assert kept(empty, "id = 1") == []
    bare = make(tmp_path / "bare", {"id": Column(parts=[])}, file_ids=[3])
    assert kept(bare, "id = 1") == [3]
    rest = make(tmp_path / "rest", {"id": Column(parts=[[[]]])}, file_ids=[3])
    assert kept(rest, "id = 1") == [3]


def test_the_global_filter_speaks_for_the_files_it_covers(tmp_path: Path) -> None:
    """A filter that lacks values tells which files are asked about what."""
    index = many(tmp_path, of(1, 2), stop=30)
    assert kept(index, "id = 1") == [1]
    assert kept(index, "id = 7") == []
    assert kept(index, "id IN (1, 7, 29, 30, 35)") == [1, 30, 35]
    some = ", ".join(str(one) for one in range(40))
    assert kept(index, f"id IN ({some})") == [1, 2, *range(30, 40)]
