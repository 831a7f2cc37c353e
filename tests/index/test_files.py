"""Which files a table has, and by what they are known."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter.index.files import (
    FileId,
    file_id,
    is_settled,
    list_files,
    location,
    settled,
)
from parquet_bloomwriter.source.folders import find_local

if TYPE_CHECKING:
    from pathlib import Path

NAMES = [
    "b.parquet",
    "a b%20ü.parq",
    "year=2024/c.pq",
    "year=2024/deep/d.parquet",
    "folder.parquet/e.parquet",
    "_hidden.parquet",
    ".hidden.parquet",
    "_delta_log/f.parquet",
    "_bloom_index/ix/v__=0/g.parquet",
    "year=2024/.tmp/h.parquet",
    "notes.txt",
]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    root = tmp_path / "table"
    for size, name in enumerate(NAMES):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(size))
        os.utime(path, ns=(0, 1_700_000_000_123_999_999 + size))
    return root


def test_lists_what_readers_of_datasets_read(table: Path) -> None:
    assert list_files(str(table)) == [
        FileId("a b%20ü.parq", 1, 1_700_000_000_124),
        FileId("b.parquet", 0, 1_700_000_000_123),
        FileId("folder.parquet/e.parquet", 4, 1_700_000_000_124),
        FileId("year=2024/c.pq", 2, 1_700_000_000_124),
        FileId("year=2024/deep/d.parquet", 3, 1_700_000_000_124),
    ]


def test_lists_what_the_other_commands_find(table: Path) -> None:
    (table / "link.parquet").symlink_to(table / "b.parquet")
    (table / "folder-link.parquet").symlink_to(table / "year=2024")
    listed = [location(str(table), file) for file in list_files(str(table))]
    assert sorted(listed) == find_local(str(table))


def test_a_folder_without_files_has_none(tmp_path: Path) -> None:
    assert list_files(str(tmp_path)) == []


def test_a_dangling_link_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "gone.parquet").symlink_to(tmp_path / "nothing")
    assert list_files(str(tmp_path)) == []


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list_files(str(tmp_path / "nothing"))


def test_one_file_is_known_as_in_the_list(table: Path) -> None:
    listed = list_files(str(table))
    root = str(table)
    assert [file_id(root, location(root, file)) for file in listed] == listed


def test_a_file_elsewhere_keeps_its_absolute_path(table: Path, tmp_path: Path) -> None:
    other = tmp_path / "table2.parquet"
    other.write_bytes(b"x")
    found = file_id(str(table), str(other))
    assert found.path == str(other)
    assert location(str(table), found) == str(other)


def test_the_root_of_the_file_system_is_a_root() -> None:
    assert file_id("/", "/proc/self/stat").path == "proc/self/stat"


def test_times_before_1970_are_cut_downwards(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"")
    os.utime(path, ns=(0, -1))
    assert file_id(str(tmp_path), str(path)).modified_ms == -1


def test_a_file_written_just_now_is_not_settled_until_the_clock_has_moved(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"1")
    os.utime(path, ns=(0, time.time_ns()))
    assert not is_settled(path.stat())
    with path.open("rb") as file:
        found = settled(file.fileno())
    path.write_bytes(b"2")
    assert file_id("/", str(path)).modified_ms != found.st_mtime_ns // 1_000_000


def test_times_of_whole_seconds_settle_later(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"1")
    second = time.time_ns() // 1_000_000_000 * 1_000_000_000
    os.utime(path, ns=(0, second))
    assert not is_settled(path.stat())
    os.utime(path, ns=(0, second - 1_000_000_001))
    assert is_settled(path.stat())
    os.utime(path, ns=(0, second - 3_000_000_000))
    assert is_settled(path.stat())


def test_a_time_in_the_future_is_settled(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"1")
    os.utime(path, ns=(0, time.time_ns() + 3_600_000_000_000))
    assert is_settled(path.stat())
