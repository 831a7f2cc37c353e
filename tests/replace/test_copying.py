"""Copying byte ranges: by the kernel, by hand, and when the source misbehaves."""

from __future__ import annotations

import errno
import os
import random
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Event
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.errors import FileChanged
from parquet_bloomwriter.replace import copying
from parquet_bloomwriter.replace.copying import WriteBack, copy_range, write_all
from tests.support.workers import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DATA = random.Random(1).randbytes(100_000)  # noqa: S311  not a secret

by_kernel = pytest.mark.skipif(
    not hasattr(os, "copy_file_range"),
    reason="the platform has no copy_file_range",
)


@contextmanager
def _opened(folder: Path, *, flags: int = 0) -> Iterator[tuple[int, int]]:
    (folder / "source").write_bytes(DATA)
    source = os.open(folder / "source", os.O_RDONLY)
    target = os.open(folder / "target", os.O_RDWR | os.O_CREAT | os.O_TRUNC | flags)
    try:
        yield source, target
    finally:
        os.close(source)
        os.close(target)


def _forbid_kernel(patch: pytest.MonkeyPatch) -> None:
    patch.delattr(os, "copy_file_range", raising=False)


@pytest.mark.parametrize("kernel", [True, False])
@given(cuts=st.lists(st.tuples(st.integers(0, len(DATA)), st.integers(0, len(DATA))), max_size=5))
def test_ranges_are_appended_in_order(
    tmp_path_factory: pytest.TempPathFactory,
    kernel: bool,  # noqa: FBT001  given by pytest
    cuts: list[tuple[int, int]],
) -> None:
    folder = tmp_path_factory.mktemp("copy")
    seen: list[int] = []
    with pytest.MonkeyPatch.context() as patch, _opened(folder) as (source, target):
        if not kernel:
            _forbid_kernel(patch)
        for cut in cuts:
            copy_range(source, target, *cut, progress=seen.append)
    assert (folder / "target").read_bytes() == b"".join(DATA[start:stop] for start, stop in cuts)
    assert sum(seen) == (folder / "target").stat().st_size


def test_both_ways_go_slice_by_slice_and_report_each(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(copying, "SLICE", 30_000)
    monkeypatch.setattr(copying, "CHUNK", 40_000)
    seen: list[int] = []
    with _opened(tmp_path) as (source, target):
        if hasattr(os, "copy_file_range"):
            copy_range(source, target, 0, len(DATA), progress=seen.append)
            assert seen == [30_000, 30_000, 30_000, 10_000]
            seen.clear()
            copy_range(source, target, 1, len(DATA), progress=seen.append)
            assert seen == [40_000, 40_000, 19_999]
            seen.clear()
        _forbid_kernel(monkeypatch)
        copy_range(source, target, 0, len(DATA), progress=seen.append)
    assert seen == [40_000, 40_000, 20_000]


@by_kernel
@pytest.mark.parametrize(
    "reason",
    [errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF, errno.EPERM, None],
)
@pytest.mark.parametrize("before", [0, 1000])
def test_the_rest_is_copied_by_hand_where_the_kernel_stops(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reason: int | None,
    before: int,
) -> None:
    """`None` stands for an early 0, as files on /proc give."""
    real, calls = os.copy_file_range, []

    def stop_early(src: int, dst: int, count: int, offset_src: int | None = None) -> int:
        calls.append(count)
        if before and len(calls) == 1:
            return real(src, dst, before, offset_src=offset_src)
        if reason is None:
            return 0
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(os, "copy_file_range", stop_early)
    with _opened(tmp_path) as (source, target):
        copy_range(source, target, 0, 90_000)
    assert (tmp_path / "target").read_bytes() == DATA[:90_000]
    assert len(calls) == (2 if before else 1)


@by_kernel
@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EIO, errno.EFBIG])
def test_a_full_or_failing_disk_is_no_reason_to_copy_by_hand(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reason: int,
) -> None:
    def fail(*_: object, **__: object) -> int:
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(os, "copy_file_range", fail)
    with _opened(tmp_path) as (source, target), pytest.raises(OSError) as caught:  # noqa: PT011
        copy_range(source, target, 0, 10)
    assert caught.value.errno == reason
    assert (tmp_path / "target").read_bytes() == b""


def test_a_target_open_for_appending(tmp_path: Path) -> None:
    with _opened(tmp_path, flags=os.O_APPEND) as (source, target):
        copy_range(source, target, 5, 50_000)
    assert (tmp_path / "target").read_bytes() == DATA[5:50_000]


@pytest.mark.skipif(not os.path.exists("/proc/version"), reason="no /proc")  # noqa: PTH110
def test_a_source_whose_size_is_said_to_be_0(tmp_path: Path) -> None:
    with open("/proc/version", "rb") as source, (tmp_path / "target").open("wb") as target:  # noqa: PTH123
        copy_range(source.fileno(), target.fileno(), 0, 5)
    assert (tmp_path / "target").read_bytes() == b"Linux"


@pytest.mark.parametrize("kernel", [True, False])
def test_a_source_that_became_shorter(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kernel: bool,  # noqa: FBT001  given by pytest
) -> None:
    if not kernel:
        _forbid_kernel(monkeypatch)
    with _opened(tmp_path) as (source, target), pytest.raises(FileChanged) as caught:
        copy_range(source, target, 99_000, 100_001, path="a.parquet")
    assert (caught.value.path, caught.value.byte) == ("a.parquet", 100_000)


def test_platforms_without_pread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _forbid_kernel(monkeypatch)
    monkeypatch.delattr(os, "pread", raising=False)
    with _opened(tmp_path) as (source, target):
        copy_range(source, target, 7, 70_000)
        copy_range(source, target, 3, 5)
    assert (tmp_path / "target").read_bytes() == DATA[7:70_000] + DATA[3:5]


@pytest.mark.parametrize("data", [b"", b"abc", bytearray(b"abc"), memoryview(DATA)])
def test_short_writes_are_continued(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    data: bytes | bytearray | memoryview,
) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, rest: real(fd, rest[: len(rest) // 2 + 1]))
    with _opened(tmp_path) as (_, target):
        write_all(target, data)
    assert (tmp_path / "target").read_bytes() == bytes(data)


def test_write_back_begins_after_the_given_number_of_bytes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    synced: SimpleQueue[int] = SimpleQueue()
    monkeypatch.setattr("parquet_bloomwriter.replace.copying._sync_data", synced.put)
    with _opened(tmp_path) as (_, target):
        early = WriteBack(target, every=100)
        early.advance(99)
        early.stop()
        assert synced.empty()
        early = WriteBack(target, every=100)
        early.advance(99)
        early.advance(1)
        own = synced.get(timeout=PATIENCE_SECONDS)
        early.stop()
        early.check()
    assert synced.empty()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(own)  # the thread closed its own


def test_an_error_of_the_early_write_back_is_not_lost(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    met = Event()

    def fail(_: int) -> None:
        met.set()
        raise OSError(errno.EIO, "the disk is broken")

    monkeypatch.setattr("parquet_bloomwriter.replace.copying._sync_data", fail)
    with _opened(tmp_path) as (_, target):
        early = WriteBack(target, every=1)
        early.advance(1)
        assert met.wait(PATIENCE_SECONDS)
        early.advance(1)
        early.stop()
        with pytest.raises(OSError, match="the disk is broken"):
            early.check()


@pytest.mark.parametrize("shift", [0, 4096, 19])
def test_holes_stay_holes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shift: int) -> None:
    monkeypatch.setattr(copying, "SLICE", 1 << 20)
    size = 64 << 20
    with (tmp_path / "source").open("wb") as made:
        for start in (0, 20 << 20, (40 << 20) + 5):
            made.seek(start)
            made.write(DATA)
        made.truncate(size)
    with (tmp_path / "source").open("rb") as source, (tmp_path / "target").open("wb") as target:
        seen: list[int] = []
        target.write(b"x" * shift)
        target.flush()
        source.seek(7)
        copy_range(source.fileno(), target.fileno(), 0, size, progress=seen.append)
        assert (source.tell(), sum(seen)) == (7, size)
        assert os.lseek(target.fileno(), 0, os.SEEK_CUR) == size + shift
    assert (tmp_path / "target").read_bytes()[shift:] == (tmp_path / "source").read_bytes()
    assert (tmp_path / "target").stat().st_blocks * 512 < 2 << 20


def test_a_sparse_source_that_ends_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "SLICE", 1 << 20)
    with (tmp_path / "source").open("wb+") as source, (tmp_path / "target").open("wb") as target:
        source.truncate(8 << 20)
        with pytest.raises(FileChanged, match="became shorter"):
            copy_range(source.fileno(), target.fileno(), 0, 9 << 20)


@pytest.mark.skipif(not hasattr(os, "SEEK_HOLE"), reason="the platform tells of no holes")
@pytest.mark.parametrize(("num_blocks", "are_sought"), [(2048, False), (2049, False), (2047, True)])
def test_holes_are_sought_only_where_some_may_be(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    num_blocks: int,
    are_sought: bool,  # noqa: FBT001
) -> None:
    """A file of 1 MiB takes 2048 blocks of 512 bytes if there is no hole in it."""
    sought: list[int] = []

    def seek(_: int, start: int, what: int) -> int:
        sought.append(what)
        return start if what == os.SEEK_DATA else 1 << 20

    real = os.fstat

    def stat_of(fd: int) -> os.stat_result:
        found = real(fd)
        return os.stat_result(tuple(found), {"st_blocks": num_blocks})

    monkeypatch.setattr(copying, "SLICE", 1 << 19)
    monkeypatch.setattr(copying, "_seek", seek)
    (tmp_path / "source").write_bytes(bytes(1 << 20))
    with (tmp_path / "source").open("rb") as source, (tmp_path / "target").open("wb") as target:
        monkeypatch.setattr(os, "fstat", stat_of)
        copy_range(source.fileno(), target.fileno(), 0, 1 << 20)
        monkeypatch.undo()
    assert bool(sought) is are_sought
    assert (tmp_path / "target").stat().st_size == 1 << 20
