"""The new version takes its place: in order, verified, or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from threading import Event

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_bloomwriter.errors import (
    FileChanged,
    VerificationFailed,
)
from parquet_bloomwriter.replace import commit, copying, names
from parquet_bloomwriter.replace.names import exchange
from parquet_bloomwriter.replace.target import choose_target
from parquet_bloomwriter.replace.temporary import find_temporaries
from parquet_bloomwriter.source.local import open_file
from tests.support.replacing import NEW, OLD, accept, contents, replacing, rewrite, write_new
from tests.support.workers import PATIENCE_SECONDS


def test_in_place(old: Path) -> None:
    before = old.stat()
    rewrite(old)
    assert contents(old.parent) == {"a.parquet": NEW}
    assert old.stat().st_ino != before.st_ino


def test_what_is_there_while_writing(old: Path) -> None:
    seen: list[int] = []
    with (
        open_file(old) as source,
        replacing(source, choose_target(source), verify=accept, progress=seen.append) as new,
    ):
        write_new(new)
        assert new.written == len(NEW)
        (temporary,) = find_temporaries(str(old))
        assert stat.S_IMODE(os.stat(temporary).st_mode) == 0o600  # noqa: PTH116
        assert contents(old.parent) == {"a.parquet": OLD, Path(temporary).name: NEW}
    assert seen == [7, 3, 10]


@settings(max_examples=15)
@given(old=st.binary(max_size=50), new=st.binary(max_size=50))
def test_any_bytes_by_any_other(
    tmp_path_factory: pytest.TempPathFactory,
    old: bytes,
    new: bytes,
) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "a").write_bytes(old)
    with (
        open_file(folder / "a") as source,
        replacing(source, choose_target(source), verify=accept) as version,
    ):
        version.copy(0, len(old))
        version.write(new)
    assert contents(folder) == {"a": old + new}


def test_the_new_file_is_verified_before_it_takes_its_place(old: Path) -> None:
    seen: list[dict[str, bytes | str]] = []

    def reject(path: str) -> None:
        assert Path(path).read_bytes() == NEW
        seen.append(contents(old.parent))
        raise VerificationFailed("a filter is missing", path=old)

    with pytest.raises(VerificationFailed), open_file(old) as source:  # noqa: SIM117
        with replacing(source, choose_target(source), verify=reject) as new:
            write_new(new)
    assert len(seen[0]) == 2
    assert seen[0]["a.parquet"] == OLD
    assert contents(old.parent) == {"a.parquet": OLD}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_exception_while_writing_leaves_the_old_file(
    old: Path,
    error: type[BaseException],
) -> None:
    before = old.stat()

    def fail() -> None:
        with (
            open_file(old) as source,
            replacing(source, choose_target(source), verify=accept) as new,
        ):
            write_new(new)
            raise error

    with pytest.raises(error):
        fail()
    assert contents(old.parent) == {"a.parquet": OLD}
    after = old.stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_ctime_ns, after.st_nlink) == (
        before.st_ino,
        before.st_mtime_ns,
        before.st_ctime_ns,
        1,
    )


@pytest.mark.parametrize("overwrites", [False, True])
def test_without_hard_links(
    old: Path,
    monkeypatch: pytest.MonkeyPatch,
    overwrites: bool,  # noqa: FBT001  given by pytest
) -> None:
    """A file system like FAT: the backup is a copy, a new name is claimed first."""
    before = old.stat()

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    if overwrites:
        old.chmod(0o604)
        rewrite(old, backup_suffix="~")
        assert contents(old.parent) == {"a.parquet": NEW, "a.parquet~": OLD}
        after = (old.parent / "a.parquet~").stat()
        assert (stat.S_IMODE(after.st_mode), after.st_mtime_ns) == (0o604, before.st_mtime_ns)
    else:
        rewrite(old, old.parent / "b.parquet")
        assert contents(old.parent) == {"a.parquet": OLD, "b.parquet": NEW}


def test_without_hard_links_nobody_s_file_is_overwritten(
    old: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    output = old.parent / "b.parquet"

    def refuse(*_: object, **__: object) -> None:
        output.write_bytes(b"theirs")
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(FileChanged, match="created by another program"):
        rewrite(old, output)
    assert contents(old.parent) == {"a.parquet": OLD, "b.parquet": b"theirs"}


def test_the_new_bytes_are_on_the_disk_before_they_have_the_name(
    old: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[str] = []
    real_fsync = os.fsync

    def fsync(fd: int) -> None:
        steps.append("sync folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "sync file")
        real_fsync(fd)

    def watched(one: str, other: str) -> None:
        steps.append("exchange")
        exchange(one, other)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(commit, "exchange", watched)
    with open_file(old) as source:  # noqa: SIM117  two steps
        with replacing(
            source, choose_target(source), verify=lambda _: steps.append("verify")
        ) as new:
            write_new(new)
    assert steps == ["sync file", "verify", "exchange", "sync folder"]


def test_files_are_closed_before_the_renaming_where_that_is_needed(
    old: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on Windows."""
    for module in (commit, names):
        monkeypatch.setattr(module, "CLOSE_BEFORE_RENAMING", True)
    rewrite(old, backup_suffix="~")
    rewrite(old.parent / "a.parquet~", old.parent / "b")
    assert contents(old.parent) == {"a.parquet": NEW, "a.parquet~": OLD, "b": NEW}


@pytest.mark.parametrize("backup_suffix", [None, "~"])
@pytest.mark.parametrize("reason", [errno.ENOSYS, errno.EINVAL, errno.EPERM, errno.ENOSPC])
def test_the_new_file_is_renamed_where_names_cannot_be_exchanged(
    old: Path, monkeypatch: pytest.MonkeyPatch, reason: int, backup_suffix: str | None
) -> None:
    def refuse(*_: str) -> None:
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(commit, "exchange", refuse)
    rewrite(old, backup_suffix=backup_suffix)
    backup = {} if backup_suffix is None else {"a.parquet~": OLD}
    assert contents(old.parent) == {"a.parquet": NEW, **backup}


def test_a_large_file_is_written_back_early(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = Event()
    monkeypatch.setattr(commit, "WRITE_BACK", 5)
    monkeypatch.setattr(copying, "_sync_data", lambda _: synced.set())
    with (
        open_file(old) as source,
        replacing(source, choose_target(source), verify=accept) as new,
    ):
        write_new(new)
        assert synced.wait(PATIENCE_SECONDS)
    assert contents(old.parent) == {"a.parquet": NEW}
