"""Files on disk: which are opened, what changes their identity, and changes under our feet."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter.errors import FileChanged, NotParquet, UnsupportedFile
from parquet_bloomwriter.source import local, open_for_reading, read_footer
from tests.verbs.files import footer_of, read, written

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from pathlib import Path

DATA = written()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that was written longer than a tick of the clock ago."""
    path = tmp_path / "f.parquet"
    path.write_bytes(DATA)
    settle(path)
    return path


def settle(path: Path) -> None:
    """Wait until the file is old enough to have an identity."""
    while identity(path) is None:
        time.sleep(0.005)


def identity(path: Path) -> Hashable | None:
    with open_for_reading(path) as source:
        return source.identity


def test_reading(path: Path) -> None:
    with open_for_reading(path) as source:
        assert (source.size, source.name) == (len(DATA), str(path))
        assert read_footer(source, check_head=False).data == footer_of(DATA).data
        assert source.traffic.requests == 2
        assert source.read_at(3, 900) == DATA[3:900]
        assert source.read_ranges([(900, 905), (0, 4)]) == [DATA[900:905], DATA[:4]]
        assert (source.traffic.requests, source.traffic.bytes) == (
            5,
            8 + len(footer_of(DATA).data) + 897 + 9,
        )
        assert pq.ParquetFile(source.for_arrow()).read().equals(read(DATA))


def test_many_threads(path: Path) -> None:
    with open_for_reading(path) as source, ThreadPoolExecutor(8) as pool:
        starts = [i * 7 % (len(DATA) - 50) for i in range(2000)]
        found = list(pool.map(lambda start: source.read_at(start, start + 50), starts))
        assert found == [DATA[start : start + 50] for start in starts]
        assert (source.traffic.requests, source.traffic.bytes) == (2000, 100_000)


def test_nothing_stays_open(path: Path) -> None:
    before = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []  # noqa: PTH112, PTH208  as cheap as can be
    with open_for_reading(path):
        pass
    with pytest.raises(KeyError), open_for_reading(path):
        raise KeyError
    with pytest.raises(UnsupportedFile), open_for_reading(path.parent):
        pass
    assert not before or len(os.listdir("/proc/self/fd")) == len(before)  # noqa: PTH208  same


def test_a_file_and_folder_that_must_not_be_written(path: Path) -> None:
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        with open_for_reading(path) as source:
            assert source.read_at(0, 4) == b"PAR1"
    finally:
        path.parent.chmod(0o755)
    assert sorted(path.parent.iterdir()) == [path]


def test_it_is_opened_for_reading_only(path: Path) -> None:
    with local.open_local(str(path)) as source:
        assert fcntl.fcntl(source.fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
        assert fcntl.fcntl(source.fd, fcntl.F_GETFD) & fcntl.FD_CLOEXEC


# ---------------------------------------------------------------- what is not opened


def test_no_such_file(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.parquet")
    with pytest.raises(FileNotFoundError) as caught, open_for_reading(missing):
        pass
    assert caught.value.filename == missing


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFile, match="this is a directory") as caught:  # noqa: SIM117  one each
        with open_for_reading(tmp_path):
            pass
    assert caught.value.path == str(tmp_path)


@pytest.fixture
def _at_most_ten_seconds() -> object:
    signal.alarm(10)
    yield
    signal.alarm(0)


@pytest.mark.usefixtures("_at_most_ten_seconds")
def test_a_fifo_does_not_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(UnsupportedFile, match="a FIFO"), open_for_reading(fifo):
        pass
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setattr(os, "stat", lambda _: os.lstat(file))  # the FIFO comes after the check
    with pytest.raises(UnsupportedFile, match="a FIFO"), open_for_reading(fifo):
        pass


def test_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        with pytest.raises(UnsupportedFile, match="a socket"), open_for_reading("s"):
            pass


def test_errors_name_the_file_and_claim_nothing_else(path: Path) -> None:
    path.write_bytes(b"x" * 100)
    with pytest.raises(NotParquet) as caught, open_for_reading(path) as source:
        read_footer(source)
    assert caught.value.path == str(path)
    assert "unchanged" not in str(caught.value)


# ---------------------------------------------------------------- identity


def test_identity_stays(path: Path) -> None:
    assert identity(path) == identity(path)
    link = path.with_name("link")
    link.symlink_to(path)
    assert identity(link) == identity(path)


def overwrite(path: Path) -> None:
    before = path.stat()
    path.write_bytes(DATA[::-1])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(DATA)
    other.replace(path)


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"x")


@pytest.mark.parametrize("change", [overwrite, replace, append])
def test_identity_changes(path: Path, change: Callable[[Path], None]) -> None:
    before = identity(path)
    change(path)
    settle(path)
    assert identity(path) not in (before, None)


def test_a_file_written_just_now_has_none(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = path.stat().st_ctime_ns
    for age, known in ((-(10**9), False), (0, False), (19_999_999, False), (20_000_000, True)):
        monkeypatch.setattr(time, "time_ns", lambda age=age: changed + age)
        assert (identity(path) is not None) == known


# ---------------------------------------------------------------- changes while it is open


def test_it_becomes_shorter(path: Path) -> None:
    with open_for_reading(path) as source:
        os.truncate(path, 1000)
        assert source.read_at(990, 1000) == DATA[990:1000]
        with pytest.raises(FileChanged, match="shorter") as caught:
            source.read_at(990, 1001)
    assert (caught.value.path, caught.value.byte) == (str(path), 1000)


def test_it_is_replaced(path: Path) -> None:
    with open_for_reading(path) as source:
        replace(path)
        assert source.read_at(0, len(DATA)) == DATA
        with pytest.raises(FileChanged, match="replaced"):
            source.for_arrow()
