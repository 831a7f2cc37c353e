"""The files of a table, and how an unchanged file is recognised."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from parquet_bloomwriter.index.files import FileId, is_settled, location, settled
from parquet_bloomwriter.index.table.data_files import file_id, list_files
from parquet_bloomwriter.source.listing import find_local

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
        path.write_bytes(bytes(size))  # by its magic, none of them is Parquet
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
        found = settled(file.fileno(), str(path), None)
    assert found is not None
    path.write_bytes(b"2")
    assert file_id("/", str(path)).modified_ms != found.st_mtime_ns // 1_000_000


def test_the_first_millisecond_of_a_second_is_no_whole_second(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"1")
    second = (int(time.time()) - 60) * 1_000_000_000
    os.utime(path, ns=(0, second + 345_678))
    assert is_settled(path.stat())
    os.utime(path, ns=(0, second))
    assert not is_settled(path.stat())


class FileServer:
    """A file system whose clock differs from this machine's, and knows whole seconds only."""

    def __init__(self, ahead: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = int(time.time()) + ahead
        self.asked: list[str] = []
        self.slept = 0.0
        monkeypatch.setattr("parquet_bloomwriter.index.files._stamp", self.stamp)
        monkeypatch.setattr("parquet_bloomwriter.index.files.time.sleep", self.sleep)

    def stamp(self, folder: str) -> os.stat_result:
        """Answer for a file that is written now."""
        self.asked.append(folder)
        found = list(Path(folder).stat())
        found[stat.ST_MTIME] = self.now
        return os.stat_result(found, {"st_mtime_ns": self.now * 1_000_000_000})

    def sleep(self, seconds: float) -> None:
        """Let no time go by."""
        self.slept += seconds

    def write(self, path: Path, age: int) -> None:
        """Write a file whose time is some seconds before the server's."""
        path.write_bytes(b"1")
        os.utime(path, (0, self.now - age))


def settle(path: Path, folder: str | None) -> os.stat_result | None:
    with path.open("rb") as file:
        return settled(file.fileno(), str(path), folder)


@pytest.mark.parametrize("ahead", [-3600, 0, 30, 3600])
@pytest.mark.parametrize(("age", "wait"), [(0, 2), (1, 1), (2, 0), (60, 0)])
def test_times_of_whole_seconds_settle_by_the_clock_of_their_file_system(
    ahead: int, age: int, wait: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = FileServer(ahead, monkeypatch)
    server.write(tmp_path / "a.parquet", age)
    assert settle(tmp_path / "a.parquet", str(tmp_path)) == (tmp_path / "a.parquet").stat()
    assert server.slept == wait


def test_a_whole_second_that_the_file_system_has_not_reached_does_not_settle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = FileServer(0, monkeypatch)
    server.write(tmp_path / "a.parquet", -30)
    assert settle(tmp_path / "a.parquet", str(tmp_path)) is None
    assert server.slept == 0


def test_the_clock_is_read_beside_the_file_if_the_index_is_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = FileServer(0, monkeypatch)
    path = tmp_path / "events" / "a.parquet"
    path.parent.mkdir()
    server.write(path, 60)
    (tmp_path / "link.parquet").symlink_to(path)
    assert settle(tmp_path / "link.parquet", "/proc") is not None
    assert server.asked == ["/proc", str(path.parent)]


def test_a_clock_that_cannot_be_read_settles_nothing(tmp_path: Path) -> None:
    path = tmp_path / "events" / "a.parquet"
    path.parent.mkdir()
    path.write_bytes(b"1")
    os.utime(path, (0, int(time.time()) - 60))
    with path.open("rb") as file:
        path.unlink()
        path.parent.rmdir()
        assert settled(file.fileno(), str(path), str(tmp_path / "gone")) is None


@pytest.mark.parametrize("ctime_ms", [0, 1])
def test_without_a_folder_whole_seconds_settle_if_other_times_are_finer(
    ctime_ms: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"1")
    second = (int(time.time()) - 60) * 1_000_000_000
    times = {"st_mtime_ns": second, "st_ctime_ns": second + ctime_ms * 1_000_000}
    found = os.stat_result(list(path.stat()), times)
    monkeypatch.setattr("parquet_bloomwriter.index.files.os.fstat", lambda _: found)
    assert (settle(path, None) is found) == bool(ctime_ms)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.parquet"]


def test_the_clock_of_a_file_system_leaves_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"1")
    os.utime(path, (0, int(time.time()) - 60))
    assert settle(path, str(tmp_path)) is not None
    assert os.listdir(tmp_path) == ["a.parquet"]  # noqa: PTH208  hidden files, too


def test_times_of_whole_seconds_long_ago_are_settled_without_a_clock(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"1")
    os.utime(path, (0, int(time.time()) - 86_401))
    assert settle(path, None) == path.stat()


def test_a_time_in_the_future_is_settled(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"1")
    os.utime(path, ns=(0, time.time_ns() + 3_600_000_000_000))
    assert is_settled(path.stat())
