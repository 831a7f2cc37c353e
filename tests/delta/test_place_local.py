"""Tables on disks: listing, reading, and entries that are there as a whole or not at all."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter import durable
from parquet_bloomwriter.delta.place import is_table, place_of
from parquet_bloomwriter.delta.place.local import LocalPlace
from parquet_bloomwriter.errors import InvalidArgument, OutcomeUnknown, UnsafeTarget
from parquet_bloomwriter.replace import names

if TYPE_CHECKING:
    from pathlib import Path

FIRST = "00000000000000000000.json"
SECOND = "00000000000000000001.json"
THIRD = "00000000000000000002.json"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    log = tmp_path / "t" / "_delta_log"
    log.mkdir(parents=True)
    for name in (SECOND, FIRST):
        (log / name).write_bytes(name.encode())
    (log / "_last_checkpoint").write_bytes(b"{}")
    (log / "_sidecars").mkdir()
    return tmp_path / "t"


def log_of(table: Path) -> dict[str, bytes]:
    """Return all files in the log's folder, hidden ones too."""
    return {one.name: one.read_bytes() for one in (table / "_delta_log").iterdir() if one.is_file()}


def test_the_log_is_listed_and_read(table: Path) -> None:
    place = place_of(table)
    assert [one.name for one in place.list_log()] == [FIRST, SECOND, "_last_checkpoint"]
    assert [one.name for one in place.list_log(SECOND)] == [SECOND, "_last_checkpoint"]
    [_, second, *_] = place.list_log()
    state = (table / "_delta_log" / SECOND).stat()
    assert (second.size, second.modified_ms) == (state.st_size, state.st_mtime_ns // 10**6)
    assert place.read_log(FIRST) == FIRST.encode()
    with place.open_log(SECOND) as source:
        assert source.read_at(0, 4) == b"0000"
    for read in (place.read_log, place.open_log):
        with pytest.raises(FileNotFoundError):
            read(THIRD).__enter__()  # type: ignore[union-attr]
    with pytest.raises(FileNotFoundError):
        place_of(table / "nowhere").list_log()


@pytest.mark.parametrize("spelled", ["file://{}", "file:{}", "{}/", "{}"])
def test_spellings_of_a_root(table: Path, spelled: str) -> None:
    assert place_of(spelled.format(table)).root == os.fspath(table)


def test_what_is_a_table(table: Path, tmp_path: Path) -> None:
    assert is_table(table)
    assert is_table(os.fspath(table))
    assert not is_table(tmp_path)
    assert not is_table(table / "_delta_log" / FIRST)
    assert not is_table(tmp_path / "*.parquet")
    (tmp_path / "u" / "_delta_log").mkdir(parents=True)
    assert not is_table(tmp_path / "u")
    (tmp_path / "u" / "_delta_log" / "00000000000000000010.checkpoint.parquet").touch()
    assert is_table(tmp_path / "u")


def test_an_entry_is_created_once(table: Path) -> None:
    place = place_of(table)
    before = log_of(table)
    place.check_commits()
    assert place.create_entry(THIRD, b"ours", attempt="a")
    assert not place.create_entry(THIRD, b"others", attempt="b")
    assert not place.create_entry(FIRST, b"others", attempt="b")
    assert log_of(table) == {**before, THIRD: b"ours"}


@pytest.mark.parametrize("error", [errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK])
def test_a_disk_without_links_renames(
    table: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "link", refuse)
    place = place_of(table)
    before = log_of(table)
    assert place.create_entry(THIRD, b"ours", attempt="a")
    assert not place.create_entry(THIRD, b"others", attempt="b")
    assert log_of(table) == {**before, THIRD: b"ours"}


def test_a_disk_with_neither_is_refused(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    for renameat2 in (None, lambda *_: errno.EINVAL):
        monkeypatch.setattr(names, "_renameat2", lambda found=renameat2: found)
        before = log_of(table)
        with pytest.raises(UnsafeTarget, match="neither hard links"):
            place_of(table).create_entry(THIRD, b"ours", attempt="a")
        assert log_of(table) == before


def test_a_rename_that_was_answered_late(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network file system sends a request again, and reports that the name is taken."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    def rename(one: bytes, other: bytes, _: int) -> int:
        os.rename(one, other)  # noqa: PTH104
        return errno.ENOENT

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(names, "_renameat2", lambda: rename)
    assert place_of(table).create_entry(THIRD, b"ours", attempt="a")


def test_a_full_disk(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = log_of(table)

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(durable, "write_all", fail)
    with pytest.raises(OSError, match="No space"):
        place_of(table).create_entry(THIRD, b"ours", attempt="a")
    assert log_of(table) == before


def test_a_name_that_the_disk_may_not_keep(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(durable, "sync_folder", fail)
    with pytest.raises(OutcomeUnknown, match="may not keep it"):
        place_of(table).create_entry(THIRD, b"by attempt-1", attempt="attempt-1")
    assert log_of(table)[THIRD] == b"by attempt-1"


def test_what_killed_runs_left_is_removed(table: Path) -> None:
    log = table / "_delta_log"
    (log / f".{THIRD}.bloomify-0123456789abcdef.tmp").write_bytes(b"half")
    os.link(log / SECOND, log / f".{SECOND}.bloomify-0123456789abcdef.tmp")
    (log / ".other.tmp").write_bytes(b"")
    place_of(table).check_commits()
    assert log_of(table).keys() == {FIRST, SECOND, "_last_checkpoint", ".other.tmp"}


def test_a_log_that_may_not_be_written(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError):
        place_of(table).check_commits()
    with pytest.raises(FileNotFoundError):
        place_of(table / "nowhere").check_commits()


def test_only_new_files_are_removed(table: Path) -> None:
    place = LocalPlace(os.fspath(table))
    (table / "day=1%20").mkdir()
    uri = place.new_uri("day=1%2520/a.parquet")
    with open(place.locate(uri), "x") as file:  # noqa: PTH123
        file.write("x")
    place.remove(uri)
    assert list((table / "day=1%20").iterdir()) == []
    place.remove(uri)
    for other in (f"_delta_log/{FIRST}", os.fspath(table / "_delta_log" / FIRST), "../x"):
        with pytest.raises(InvalidArgument):
            place.remove(other)
    assert FIRST in log_of(table)
