"""The recorder overlooks nothing, and the model's disk loses what a disk may lose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from campaigns.power.calls import UnknownCall, read_calls
from campaigns.power.crashes import Crash, States, Torn
from campaigns.power.disk import (
    ROOT,
    Disk,
    File,
    Mode,
    Name,
    Operation,
    Rename,
    Resize,
    SyncFile,
    SyncFolder,
    Write,
)
from campaigns.power.recording import Record, look, paths_of, record

if TYPE_CHECKING:
    from pathlib import Path

OLD, NEW = 1, 2
NEW_FILE = File(mode=0o600, owner=(0, 0))
FOLDER = "/f"


def hexed(text: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in text.encode())


def run_of(*operations: Operation) -> Record:
    before = Disk(files={OLD: File(data=b"old", mode=0o644, owner=(0, 0))})
    before.folders[ROOT]["a"] = OLD
    return Record(
        name="by hand", before=before, after=before, operations=operations, births={NEW: NEW_FILE}
    )


def left(run: Record, after: int, *, most: int = 200) -> list[dict[str, File | None]]:
    """What the disk may hold after some operations."""
    made, crash, found = States(run), Crash(run, after), {}
    for _, fates in zip(range(most), crash.fates(0), strict=False):
        disk, signature = made.state(crash, fates)
        found[signature] = paths_of(disk)
    return list(found.values())


def data_of(run: Record, after: int, path: str = "b") -> set[bytes | None]:
    return {file.data if (file := paths.get(path)) else None for paths in left(run, after)}


def test_a_write_is_there_or_not_or_torn() -> None:
    run = run_of(Name(ROOT, "b", NEW), SyncFolder(ROOT, 1), Write(NEW, 0, b"x" * 1024))
    torn = {kind.of(Write(NEW, 0, b"x" * 1024)).data for kind in Torn}
    assert data_of(run, 3) == {b"", b"x" * 1024, *torn}
    assert {len(data) for data in torn} == {512, 1024}


def test_what_is_synced_is_there() -> None:
    run = run_of(
        Name(ROOT, "b", NEW),
        Write(NEW, 0, b"1"),
        SyncFile(NEW, 2),
        Write(NEW, 1, b"2"),
        SyncFolder(ROOT, 4),
    )
    assert data_of(run, 3) == {None, b"1"}
    garbage = Torn.GARBAGE.of(Write(NEW, 1, b"2")).data
    assert data_of(run, 5) == {b"1", b"12", b"1\0", b"1" + garbage}


def test_a_sync_that_began_before_promises_nothing() -> None:
    run = run_of(Name(ROOT, "b", NEW), SyncFolder(ROOT, 1), Write(NEW, 0, b"1"), SyncFile(NEW, 2))
    assert b"" in data_of(run, 4)


def test_syncing_data_keeps_the_size_but_not_the_mode() -> None:
    run = run_of(
        Name(ROOT, "b", NEW),
        SyncFolder(ROOT, 1),
        Resize(NEW, 3),
        Mode(NEW, 0o640),
        SyncFile(NEW, 4, data_only=True),
    )
    modes = {(file.data, file.mode) for paths in left(run, 5) if (file := paths["b"])}
    assert modes == {(bytes(3), 0o600), (bytes(3), 0o640)}


def test_names_may_be_lost_in_any_order() -> None:
    run = run_of(
        Name(ROOT, "b", NEW), Name(ROOT, "c", OLD), SyncFile(NEW, 2), Rename(ROOT, "b", "a", NEW)
    )
    assert {tuple(paths) for paths in left(run, 4)} == {
        ("a",),
        ("a", "b"),
        ("a", "c"),
        ("a", "b", "c"),
    }
    assert len(left(run, 4)) == 6
    assert any(paths["a"] == NEW_FILE and "c" not in paths for paths in left(run, 4))


def test_what_is_not_understood_is_an_error(tmp_path: Path) -> None:
    path = hexed(f"{tmp_path}/a")
    (tmp_path / "a").write_bytes(b"old")
    for line in (f'1 truncate("{path}", 0) = 0', f'1 pwrite64(9<{path}>, "\\x41", 1, 0) = 1'):
        with pytest.raises(UnknownCall):
            record("", look(tmp_path), tmp_path, read_calls([line], str(tmp_path)))


def test_what_was_overlooked_shows(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    before = look(tmp_path)
    assert record("", before, tmp_path, []).operations == ()
    (tmp_path / "a").write_bytes(b"new")
    with pytest.raises(UnknownCall, match="not as its operations"):
        record("", before, tmp_path, [])


def test_calls_of_threads_that_interrupt_each_other() -> None:
    path = hexed(FOLDER)
    lines = [
        f"7 fdatasync(3<{path}> <unfinished ...>",
        f'8 write(4<{path}>, "\\x41\\x42", 2) = 2',
        "8 futex(0x1, FUTEX_WAKE, 1) = 0",
        "7 <... fdatasync resumed>) = 0",
        "8 +++ exited with 0 +++",
    ]
    write, sync = read_calls(lines, FOLDER)
    assert (write.name, write.bytes(1), write.fd(0), write.result) == ("write", b"AB", 4, 2)
    assert (sync.name, sync.began, sync.ended) == ("fdatasync", 0, 3)


def test_a_call_that_began_before_the_first_line_is_left_out() -> None:
    path = hexed(FOLDER)
    lines = [
        "8 +++ exited with 0 +++",
        "7 <... access resumed>) = -1",
        f"7 fdatasync(3<{path}>) = 0",
    ]
    (sync,) = read_calls(lines, FOLDER)
    assert sync.name == "fdatasync"


def test_a_string_that_was_cut_is_an_error() -> None:
    (call,) = read_calls([f'7 write(4<{hexed(FOLDER)}>, "\\x41"..., 9) = 9'], FOLDER)
    with pytest.raises(UnknownCall, match="no whole string"):
        call.bytes(1)
