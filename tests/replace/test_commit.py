"""Replacing a file: what is there afterwards, what is refused, and who else is at it."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import textwrap
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.errors import (
    FileChanged,
    InvalidArgument,
    Unfinished,
    UnsafeTarget,
    UnsupportedFile,
    VerificationFailed,
)
from parquet_bloomwriter.replace import commit, copying, names
from parquet_bloomwriter.replace.names import exchange
from parquet_bloomwriter.replace.target import choose_target
from parquet_bloomwriter.replace.temporary import Lock, find_temporaries, remove_stale, try_lock
from parquet_bloomwriter.source.local import open_file
from tests.support.replacing import replacing
from tests.support.workers import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from parquet_bloomwriter.replace.commit import NewVersion

ROOT = Path(__file__).resolve().parents[2]
OLD = b"PAR1old bytesPAR1"
NEW = b"PAR1oldNEW bytesPAR1"


def _listing(folder: Path) -> dict[str, bytes | str]:
    """Everything in the folder: a file's bytes, a symbolic link's target, else "other"."""
    return {
        path.name: str(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else "other"
        for path in folder.iterdir()
    }


def _write_new(new: NewVersion) -> None:
    new.copy(0, 7)
    new.write(b"NEW")
    new.copy(7, len(OLD))


def _accept(_: str) -> None:
    """Find nothing wrong with the new file."""


def _rewrite(path: Path, output: Path | None = None, **options: object) -> None:
    with open_file(path) as source:
        target = choose_target(source, output, **options)  # type: ignore[arg-type]
        with replacing(source, target, verify=_accept) as new:
            _write_new(new)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "a.parquet"
    path.write_bytes(OLD)
    return path


def test_in_place(old: Path) -> None:
    before = old.stat()
    _rewrite(old)
    assert _listing(old.parent) == {"a.parquet": NEW}
    assert old.stat().st_ino != before.st_ino


def test_what_is_there_while_writing(old: Path) -> None:
    seen: list[int] = []
    with (
        open_file(old) as source,
        replacing(source, choose_target(source), verify=_accept, progress=seen.append) as new,
    ):
        _write_new(new)
        assert new.written == len(NEW)
        (temporary,) = find_temporaries(str(old))
        assert stat.S_IMODE(os.stat(temporary).st_mode) == 0o600  # noqa: PTH116
        assert _listing(old.parent) == {"a.parquet": OLD, Path(temporary).name: NEW}
    assert seen == [7, 3, 10]


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
        replacing(source, choose_target(source), verify=_accept) as version,
    ):
        version.copy(0, len(old))
        version.write(new)
    assert _listing(folder) == {"a": old + new}


def test_the_new_file_is_verified_before_it_takes_its_place(old: Path) -> None:
    seen: list[dict[str, bytes | str]] = []

    def reject(path: str) -> None:
        assert Path(path).read_bytes() == NEW
        seen.append(_listing(old.parent))
        raise VerificationFailed("a filter is missing", path=old)

    with pytest.raises(VerificationFailed), open_file(old) as source:  # noqa: SIM117
        with replacing(source, choose_target(source), verify=reject) as new:
            _write_new(new)
    assert len(seen[0]) == 2
    assert seen[0]["a.parquet"] == OLD
    assert _listing(old.parent) == {"a.parquet": OLD}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_exception_while_writing_leaves_the_old_file(
    old: Path,
    error: type[BaseException],
) -> None:
    before = old.stat()

    def fail() -> None:
        with (
            open_file(old) as source,
            replacing(source, choose_target(source), verify=_accept) as new,
        ):
            _write_new(new)
            raise error

    with pytest.raises(error):
        fail()
    assert _listing(old.parent) == {"a.parquet": OLD}
    after = old.stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_ctime_ns, after.st_nlink) == (
        before.st_ino,
        before.st_mtime_ns,
        before.st_ctime_ns,
        1,
    )


def test_a_symbolic_link_stays_and_its_file_is_replaced(old: Path, tmp_path: Path) -> None:
    folder = tmp_path / "links"
    folder.mkdir()
    (folder / "one").symlink_to("two")
    (folder / "two").symlink_to(old)
    _rewrite(folder / "one")
    assert _listing(folder) == {"one": "two", "two": str(old)}
    assert _listing(tmp_path) == {"a.parquet": NEW, "links": "other"}


def test_hard_links_are_refused_unless_permitted(old: Path) -> None:
    os.link(old, old.parent / "b.parquet")
    with pytest.raises(UnsafeTarget, match="2 names"):
        _rewrite(old)
    assert _listing(old.parent) == {"a.parquet": OLD, "b.parquet": OLD}
    _rewrite(old, permit_hard_links=True)
    assert _listing(old.parent) == {"a.parquet": NEW, "b.parquet": OLD}


def test_a_hard_link_that_a_killed_run_of_ours_left_is_none(old: Path) -> None:
    temporary = old.parent / ".a.parquet.bloomify-0123456789abcdef.tmp"
    os.link(old, temporary)
    _rewrite(old)
    assert _listing(old.parent) == {"a.parquet": NEW}


def test_a_backup_that_a_killed_run_of_ours_left_is_kept(old: Path) -> None:
    os.link(old, old.parent / "a.parquet~")
    _rewrite(old, backup_suffix="~")
    assert _listing(old.parent) == {"a.parquet": NEW, "a.parquet~": OLD}


@pytest.mark.parametrize("as_output", [False, True])
@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (os.mkfifo, "a FIFO"),
        (os.mkdir, "a directory"),
        (lambda path: path.symlink_to("/dev/null"), "a character device"),
    ],
)
def test_what_is_no_regular_file_is_refused(
    old: Path,
    make: Callable[[Path], None],
    kind: str,
    as_output: bool,  # noqa: FBT001  given by pytest
) -> None:
    other = old.parent / "other"
    make(other)
    with pytest.raises(UnsupportedFile, match=kind):
        _rewrite(*((old, other) if as_output else (other,)), overwrite=True)
    assert sorted(_listing(old.parent)) == ["a.parquet", "other"]
    assert old.read_bytes() == OLD


@pytest.mark.parametrize("as_output", [False, True])
def test_a_pipe_of_a_shell_is_refused(old: Path, *, as_output: bool) -> None:
    ends = os.pipe()
    pipe = Path(f"/dev/fd/{ends[as_output]}")
    try:
        with pytest.raises(UnsupportedFile, match="a FIFO"):
            _rewrite(*((old, pipe) if as_output else (pipe,)))
    finally:
        for end in ends:
            os.close(end)
    assert _listing(old.parent) == {"a.parquet": OLD}


def test_a_new_name(old: Path) -> None:
    _rewrite(old, old.parent / "b.parquet", backup_suffix=".bak")
    assert _listing(old.parent) == {"a.parquet": OLD, "b.parquet": NEW}
    assert (old.parent / "b.parquet").stat().st_nlink == 1


def test_a_new_name_that_a_dangling_symbolic_link_leads_to(old: Path) -> None:
    (old.parent / "link").symlink_to("b.parquet")
    _rewrite(old, old.parent / "link")
    assert _listing(old.parent) == {"a.parquet": OLD, "link": "b.parquet", "b.parquet": NEW}


def test_a_missing_folder_or_source(old: Path) -> None:
    with pytest.raises(FileNotFoundError):
        _rewrite(old, old.parent / "none" / "b.parquet")
    with pytest.raises(FileNotFoundError):
        _rewrite(old.parent / "none")
    assert _listing(old.parent) == {"a.parquet": OLD}


def test_an_existing_output_is_replaced_only_if_permitted(old: Path) -> None:
    output = old.parent / "b.parquet"
    output.write_bytes(b"somebody's")
    output.chmod(0o604)
    with pytest.raises(UnsafeTarget, match="exists already"):
        _rewrite(old, output)
    assert _listing(old.parent) == {"a.parquet": OLD, "b.parquet": b"somebody's"}
    _rewrite(old, output, overwrite=True, backup_suffix=".bak")
    expected = {"a.parquet": OLD, "b.parquet": NEW, "b.parquet.bak": b"somebody's"}
    assert _listing(old.parent) == expected
    assert stat.S_IMODE(output.stat().st_mode) == 0o604


def test_an_output_that_is_the_source_is_in_place(old: Path) -> None:
    (old.parent / "link").symlink_to(old.name)
    _rewrite(old, old.parent / "link")
    assert _listing(old.parent) == {"a.parquet": NEW, "link": "a.parquet"}


def test_the_backup_is_the_old_file_itself(old: Path) -> None:
    before = old.stat()
    _rewrite(old, backup_suffix="~")
    assert _listing(old.parent) == {"a.parquet": NEW, "a.parquet~": OLD}
    after = (old.parent / "a.parquet~").stat()
    assert (after.st_ino, after.st_nlink) == (before.st_ino, 1)


def test_an_existing_backup_is_refused(old: Path) -> None:
    (old.parent / "a.parquet~").symlink_to("nowhere")
    with pytest.raises(UnsafeTarget, match="backup exists already"):
        _rewrite(old, backup_suffix="~")
    assert _listing(old.parent) == {"a.parquet": OLD, "a.parquet~": "nowhere"}


@pytest.mark.parametrize("suffix", ["", "/x", "x/y", "\0"])
def test_a_backup_suffix_that_cannot_be(old: Path, suffix: str) -> None:
    with pytest.raises(InvalidArgument):
        _rewrite(old, backup_suffix=suffix)
    assert _listing(old.parent) == {"a.parquet": OLD}


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
        _rewrite(old, backup_suffix="~")
        assert _listing(old.parent) == {"a.parquet": NEW, "a.parquet~": OLD}
        after = (old.parent / "a.parquet~").stat()
        assert (stat.S_IMODE(after.st_mode), after.st_mtime_ns) == (0o604, before.st_mtime_ns)
    else:
        _rewrite(old, old.parent / "b.parquet")
        assert _listing(old.parent) == {"a.parquet": OLD, "b.parquet": NEW}


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
        _rewrite(old, output)
    assert _listing(old.parent) == {"a.parquet": OLD, "b.parquet": b"theirs"}


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
            _write_new(new)
    assert steps == ["sync file", "verify", "exchange", "sync folder"]


def test_files_are_closed_before_the_renaming_where_that_is_needed(
    old: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on Windows."""
    for module in (commit, names):
        monkeypatch.setattr(module, "CLOSE_BEFORE_RENAMING", True)
    _rewrite(old, backup_suffix="~")
    _rewrite(old.parent / "a.parquet~", old.parent / "b")
    assert _listing(old.parent) == {"a.parquet": NEW, "a.parquet~": OLD, "b": NEW}


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"!")


def _overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"X")
    found = path.stat()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + 1))


def _replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"other")
    other.replace(path)


WHEN = ("writing", "verifying", "at the last instant")
MEDDLED: list[tuple[Callable[[Path], None], bytes | None, str]] = [
    (_append, OLD + b"!", "written to"),
    (_overwrite, b"X" + OLD[1:], "written to"),
    (lambda path: os.truncate(path, 16), OLD[:16], "written to"),
    (_replace, b"other", "replaced by another"),
    (lambda path: path.unlink(), None, "removed"),
    (lambda path: path.chmod(0o600), OLD, "other attributes"),
]


@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("meddled", MEDDLED, ids=lambda meddled: meddled[2])
def test_what_somebody_else_did_meanwhile_is_kept(
    old: Path,
    meddled: tuple[Callable[[Path], None], bytes | None, str],
    when: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    meddle, left, what = meddled
    old.chmod(0o644)
    if when == "at the last instant":
        _before_exchange(monkeypatch, lambda: meddle(old))
    with pytest.raises(FileChanged, match=what) as caught, open_file(old) as source:  # noqa: PT012
        verify = (lambda _: meddle(old)) if when == "verifying" else _accept
        with replacing(source, choose_target(source), verify=verify) as new:
            _write_new(new)
            if when == "writing":
                meddle(old)
    assert caught.value.path == str(old)
    assert _listing(old.parent) == ({} if left is None else {"a.parquet": left})
    if left:
        assert stat.S_IMODE(old.stat().st_mode) == (0o600 if "attributes" in what else 0o644)


def _before_exchange(monkeypatch: pytest.MonkeyPatch, meddle: Callable[[], None]) -> None:
    """Do something between the last look at the old file and the first exchange of names."""
    left = [meddle]

    def meddle_and_exchange(one: str, other: str) -> None:
        if left:
            left.pop()()
        exchange(one, other)

    monkeypatch.setattr(commit, "exchange", meddle_and_exchange)


def test_a_folder_that_came_in_the_way_is_kept(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def meddle() -> None:
        old.unlink()
        old.mkdir()

    _before_exchange(monkeypatch, meddle)
    with pytest.raises(FileChanged, match="replaced by another"):
        _rewrite(old)
    assert _listing(old.parent) == {"a.parquet": "other"}


def test_a_backup_is_none_of_a_file_that_was_replaced_at_the_last_instant(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _before_exchange(monkeypatch, lambda: _replace(old))
    with pytest.raises(FileChanged, match="replaced by another"):
        _rewrite(old, backup_suffix="~")
    assert _listing(old.parent) == {"a.parquet": b"other"}


def test_a_change_that_cannot_be_given_its_name_back_is_not_lost(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: str) -> None:
        raise OSError(5, "Input/output error")

    def meddle() -> None:
        _append(old)
        monkeypatch.undo()
        monkeypatch.setattr(commit, "exchange", fail)

    _before_exchange(monkeypatch, meddle)
    with pytest.raises(Unfinished, match="another program changed it at the same") as caught:
        _rewrite(old)
    (saved,) = {path.name for path in old.parent.iterdir()} - {"a.parquet"}
    assert saved.startswith("a.parquet.saved-")
    assert saved in str(caught.value)
    assert _listing(old.parent) == {"a.parquet": NEW, saved: OLD + b"!"}


def test_what_somebody_else_put_there_and_removed_stays_removed(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meddle_again() -> None:
        monkeypatch.undo()
        _before_exchange(monkeypatch, old.unlink)

    def meddle() -> None:
        _replace(old)
        meddle_again()

    _before_exchange(monkeypatch, meddle)
    with pytest.raises(FileChanged, match="removed"):
        _rewrite(old)
    assert _listing(old.parent) == {}


def test_a_file_that_waits_for_its_name_is_no_leftover(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run must not remove what the names' exchange has brought out."""
    removed: list[tuple[str, ...]] = []

    def meddle_again() -> None:
        removed.append(remove_stale(str(old)))

    def meddle() -> None:
        _replace(old)
        monkeypatch.undo()
        monkeypatch.setattr(commit, "exchange", first)

    def first(one: str, other: str) -> None:
        exchange(one, other)
        meddle_again()

    _before_exchange(monkeypatch, meddle)
    with pytest.raises(FileChanged, match="replaced by another"):
        _rewrite(old)
    assert removed
    assert not any(removed)
    assert _listing(old.parent) == {"a.parquet": b"other"}


@pytest.mark.parametrize("backup_suffix", [None, "~"])
@pytest.mark.parametrize("reason", [errno.ENOSYS, errno.EINVAL, errno.EPERM, errno.ENOSPC])
def test_the_new_file_is_renamed_where_names_cannot_be_exchanged(
    old: Path, monkeypatch: pytest.MonkeyPatch, reason: int, backup_suffix: str | None
) -> None:
    def refuse(*_: str) -> None:
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr(commit, "exchange", refuse)
    _rewrite(old, backup_suffix=backup_suffix)
    backup = {} if backup_suffix is None else {"a.parquet~": OLD}
    assert _listing(old.parent) == {"a.parquet": NEW, **backup}


@pytest.mark.parametrize("existed", [False, True])
def test_an_output_that_somebody_else_wrote_meanwhile_is_kept(
    old: Path,
    existed: bool,  # noqa: FBT001  given by pytest
) -> None:
    output = old.parent / "b.parquet"
    if existed:
        output.write_bytes(b"before")
    with pytest.raises(FileChanged), open_file(old) as source:  # noqa: PT012, SIM117
        with replacing(
            source, choose_target(source, output, overwrite=True), verify=_accept
        ) as new:
            _write_new(new)
            output.write_bytes(b"theirs")
    assert _listing(old.parent) == {"a.parquet": OLD, "b.parquet": b"theirs"}


def test_an_output_that_keeps_its_size_and_time_is_found_to_have_changed(old: Path) -> None:
    """Only `ctime` tells, and only before the names are exchanged."""
    output = old.parent / "b.parquet"
    output.write_bytes(b"before")
    times = output.stat()

    def meddle(_: str) -> None:
        output.write_bytes(b"theirs")
        os.utime(output, ns=(times.st_atime_ns, times.st_mtime_ns))

    with pytest.raises(FileChanged), open_file(old) as source:  # noqa: SIM117
        with replacing(source, choose_target(source, output, overwrite=True), verify=meddle) as new:
            _write_new(new)
    assert _listing(old.parent) == {"a.parquet": OLD, "b.parquet": b"theirs"}


def test_an_output_that_changed_before_the_writing_began(old: Path) -> None:
    output = old.parent / "b.parquet"
    output.write_bytes(b"before")
    with open_file(old) as source:
        target = choose_target(source, output, overwrite=True)
        output.write_bytes(b"theirs!")
        with pytest.raises(FileChanged), replacing(source, target, verify=_accept):
            pytest.fail("the body must not run")
    assert _listing(old.parent) == {"a.parquet": OLD, "b.parquet": b"theirs!"}


def test_a_source_that_changed_while_its_new_version_was_written_elsewhere(old: Path) -> None:
    with pytest.raises(FileChanged, match="written to"), open_file(old) as source:  # noqa: PT012, SIM117
        with replacing(source, choose_target(source, old.parent / "b"), verify=_accept) as new:
            _write_new(new)
            _append(old)
    assert _listing(old.parent) == {"a.parquet": OLD + b"!"}


def test_what_somebody_else_wrote_while_the_backup_was_made_is_kept(
    old: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The new version never has the name, not even for an instant."""
    real = os.link
    exchanged: list[tuple[str, str]] = []

    def meddle(one: str, other: str) -> None:
        real(one, other)
        _append(old)

    monkeypatch.setattr(os, "link", meddle)
    monkeypatch.setattr(commit, "exchange", lambda *names: exchanged.append(names))
    with pytest.raises(FileChanged, match="written to"):
        _rewrite(old, backup_suffix="~")
    assert exchanged == []
    assert _listing(old.parent) == {"a.parquet": OLD + b"!"}


def test_a_backup_that_somebody_else_made_meanwhile_is_kept(old: Path) -> None:
    with pytest.raises(FileChanged, match="created by another program"), open_file(old) as source:  # noqa: PT012, SIM117
        with replacing(source, choose_target(source, backup_suffix="~"), verify=_accept) as new:
            _write_new(new)
            (old.parent / "a.parquet~").write_bytes(b"theirs")
    assert _listing(old.parent) == {"a.parquet": OLD, "a.parquet~": b"theirs"}


def test_a_temporary_file_that_somebody_removed(old: Path) -> None:
    with pytest.raises(FileChanged, match="temporary file"), open_file(old) as source:  # noqa: PT012, SIM117
        with replacing(source, choose_target(source), verify=_accept) as new:
            _write_new(new)
            Path(find_temporaries(str(old))[0]).unlink()
    assert _listing(old.parent) == {"a.parquet": OLD}


def test_the_second_of_two_runs_finds_the_file_changed(old: Path) -> None:
    with pytest.raises(FileChanged, match="replaced by another"), open_file(old) as source:  # noqa: PT012, SIM117
        with replacing(source, choose_target(source), verify=_accept) as new:
            new.write(b"the second")
            _rewrite(old)
            assert len(find_temporaries(str(old))) == 1
    assert _listing(old.parent) == {"a.parquet": NEW}


@contextmanager
def _locked_elsewhere(path: Path) -> Iterator[None]:
    fcntl = pytest.importorskip("fcntl")
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_a_file_that_another_process_has_locked(old: Path) -> None:
    with _locked_elsewhere(old), pytest.raises(FileChanged, match="locked"):
        _rewrite(old)
    assert _listing(old.parent) == {"a.parquet": OLD}
    _rewrite(old)
    assert _listing(old.parent) == {"a.parquet": NEW}


def test_the_lock_is_given_back_with_the_old_file_still_open(old: Path) -> None:
    with open_file(old) as source:
        target = choose_target(source, backup_suffix="~")
        with replacing(source, target, verify=_accept) as new:
            _write_new(new)
        for path in (old, old.parent / "a.parquet~"):
            with path.open("rb") as file:
                assert try_lock(file.fileno()) is Lock.HELD


def test_where_locks_are_unavailable_files_are_replaced_all_the_same(
    old: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)
    stale = old.parent / ".a.parquet.bloomify-0123456789abcdef.tmp"
    stale.write_bytes(b"perhaps live")
    _rewrite(old)
    assert _listing(old.parent) == {"a.parquet": NEW, stale.name: b"perhaps live"}


def test_a_large_file_is_written_back_early(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = Event()
    monkeypatch.setattr(commit, "WRITE_BACK", 5)
    monkeypatch.setattr(copying, "_sync_data", lambda _: synced.set())
    with (
        open_file(old) as source,
        replacing(source, choose_target(source), verify=_accept) as new,
    ):
        _write_new(new)
        assert synced.wait(PATIENCE_SECONDS)
    assert _listing(old.parent) == {"a.parquet": NEW}


RACER = """
    import sys
    from parquet_bloomwriter.errors import FileChanged
    from parquet_bloomwriter.replace.commit import new_version
    from parquet_bloomwriter.source.local import open_file
    from parquet_bloomwriter.replace.target import choose_target

    path, name, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    sys.stdin.readline()
    for number in range(rounds):
        while True:
            try:
                with open_file(path) as source:
                    target = choose_target(source)
                    with new_version(source, target) as new:
                        new.copy(0, source.identity.size)
                        new.write(f"{name}{number}\\n".encode())
                        new.complete()
                        new.commit()
                break
            except FileChanged:
                pass
"""


def _start(script: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_nothing_is_lost_when_two_processes_race(tmp_path: Path) -> None:
    """Each adds 50 lines, every one by a replacement of the whole file."""
    path = tmp_path / "lines"
    path.write_bytes(b"")
    racers = [_start(RACER, path, name, 50) for name in "ab"]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    for racer in racers:
        racer.communicate(timeout=60)
        assert racer.returncode == 0
    lines = path.read_text().splitlines()
    for name in "ab":
        expected = [f"{name}{number}" for number in range(50)]
        assert [line for line in lines if line.startswith(name)] == expected
    assert len(lines) == 100
    assert list(_listing(tmp_path)) == ["lines"]


WAITER = """
    import sys
    from parquet_bloomwriter.errors import FileChanged
    from parquet_bloomwriter.replace.commit import new_version
    from parquet_bloomwriter.source.local import open_file
    from parquet_bloomwriter.replace.target import choose_target

    try:
        with open_file(sys.argv[1]) as source:
            with new_version(source, choose_target(source)) as new:
                new.write(b"half")
                print("half", flush=True)
                sys.stdin.readline()
                new.complete()
                new.commit()
    except FileChanged:
        print("changed", flush=True)
"""


def test_the_temporary_file_of_a_killed_run_is_removed_but_not_that_of_a_live_one(
    old: Path,
) -> None:
    killed, live = _start(WAITER, old), _start(WAITER, old)
    for run in (killed, live):
        assert run.stdout is not None
        assert run.stdout.readline() == "half\n"
    killed.kill()
    killed.communicate()
    temporaries = find_temporaries(str(old))
    assert len(temporaries) == 2
    _rewrite(old)
    (left,) = find_temporaries(str(old))
    assert _listing(old.parent) == {"a.parquet": NEW, Path(left).name: b"half"}
    assert live.communicate("go on\n")[0] == "changed\n"
    assert _listing(old.parent) == {"a.parquet": NEW}
