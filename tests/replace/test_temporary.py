"""Names of temporary files, and which of them are removed."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import sys
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from parquet_bloomwriter.replace import temporary
from parquet_bloomwriter.replace.temporary import (
    NAME_MAX,
    Lock,
    find_temporaries,
    remove_stale,
    temporary_beside,
    try_lock,
)

DIGITS = "0123456789abcdef"
NAMES = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]),
    min_size=1,
    max_size=255,
).filter(lambda name: len(name.encode()) <= NAME_MAX and name not in {".", ".."})


@given(name=NAMES)
@example(name="a" * 255)
@example(name="é" * 127)
@example(name="a" + "é" * 127)
@example(name="€" * 85)
@example(name="ab" + "\U0001f33c" * 63)
@example(name="[a]*?.parquet")
def test_the_temporary_name_of_any_name_is_legal_and_found_again(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
) -> None:
    folder = tmp_path_factory.mktemp("names")
    target = str(folder / name)
    with temporary_beside(target, permissions=0o600) as own:
        assert os.listdir(folder) == [Path(own.path).name]  # noqa: PTH208
        assert find_temporaries(target) == (own.path,)
        assert len(os.fsencode(Path(own.path).name)) <= NAME_MAX
        Path(own.path).name.encode()  # no character was cut in two
    assert os.listdir(folder) == []  # noqa: PTH208


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    target = os.fsdecode(os.fsencode(tmp_path) + b"/a\xff\xfe.parquet")
    with temporary_beside(target, permissions=0o600) as own:
        assert find_temporaries(target) == (own.path,)


def test_names_cannot_be_guessed(tmp_path: Path) -> None:
    target = str(tmp_path / "a")
    with (
        temporary_beside(target, permissions=0o600) as one,
        temporary_beside(target, permissions=0o600) as other,
    ):
        for own in (one, other):
            assert re.fullmatch(r"\.a\.bloomify-[0-9a-f]{16}\.tmp", Path(own.path).name)
        assert one.path != other.path


def test_a_name_that_is_taken_is_left_alone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken = tmp_path / f".a.bloomify-{DIGITS}.tmp"
    taken.symlink_to("elsewhere")
    digits = iter([DIGITS, DIGITS, DIGITS[::-1]])
    monkeypatch.setattr(os, "urandom", lambda _: bytes.fromhex(next(digits)))
    with temporary_beside(str(tmp_path / "a"), permissions=0o600) as own:
        assert own.path == str(tmp_path / f".a.bloomify-{DIGITS[::-1]}.tmp")
    assert [path.name for path in tmp_path.iterdir()] == [taken.name]


def test_only_stale_files_of_exactly_this_pattern_are_removed(tmp_path: Path) -> None:
    target = str(tmp_path / "a.parquet")
    stale = tmp_path / f".a.parquet.bloomify-{DIGITS}.tmp"
    others = [
        "a.parquet",
        f".a.parquet.bloomify-{DIGITS}",
        f".a.parquet.bloomify-{DIGITS}.tmp~",
        f".a.parquet.bloomify-{DIGITS[1:]}.tmp",
        f".a.parquet.bloomify-{DIGITS.upper()}.tmp",
        f".aXparquet.bloomify-{DIGITS}.tmp",
        f".b.parquet.bloomify-{DIGITS}.tmp",
        f"a.parquet.bloomify-{DIGITS}.tmp",
        f".a.parquet.bloomify-{DIGITS}.tmp\n",
    ]
    for name in [stale.name, *others]:
        (tmp_path / name).write_bytes(b"")
    with temporary_beside(target, permissions=0o600) as live:
        assert remove_stale(target) == (str(stale),)
        found = {path.name for path in tmp_path.iterdir()}
        assert found == {*others, Path(live.path).name}


def test_links_folders_and_names_of_the_target_are_left(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"data")
    (tmp_path / "a").write_bytes(b"target")
    (tmp_path / f".a.bloomify-{DIGITS}.tmp").symlink_to("data")
    (tmp_path / f".a.bloomify-{DIGITS[::-1]}.tmp").mkdir()
    os.mkfifo(tmp_path / f".a.bloomify-{'0' * 16}.tmp")
    os.link(tmp_path / "a", tmp_path / f".a.bloomify-{'1' * 16}.tmp")
    before = sorted(tmp_path.iterdir())
    assert remove_stale(str(tmp_path / "a")) == ()
    assert sorted(tmp_path.iterdir()) == before


def test_a_second_name_of_a_replaced_file_is_removed(tmp_path: Path) -> None:
    """A run was killed that had made a backup and exchanged the names."""
    (tmp_path / "a").write_bytes(b"new")
    (tmp_path / "a.old").write_bytes(b"old")
    left = tmp_path / f".a.bloomify-{DIGITS}.tmp"
    os.link(tmp_path / "a.old", left)
    assert remove_stale(str(tmp_path / "a")) == (str(left),)
    assert {path.name for path in tmp_path.iterdir()} == {"a", "a.old"}


def test_locks_that_are_never_to_be_had_end_in_an_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(temporary, "try_lock", lambda _: Lock.BUSY)
    with (
        pytest.raises(BlockingIOError, match="locked by another process"),
        temporary_beside(str(tmp_path / "a"), permissions=0o600),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it may mean that it is busy")
def test_a_lock_that_is_forbidden_is_done_without(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def forbid(_fd: int, _operation: int) -> None:
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(fcntl, "flock", forbid)
    with temporary_beside(str(tmp_path / "a"), permissions=0o600) as own:
        assert try_lock(own.fd) is Lock.UNAVAILABLE


@pytest.mark.parametrize("reason", [None, KeyError("the body's")])
def test_a_file_that_cannot_be_removed_is_left(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reason: Exception | None,
) -> None:
    def refuse(_: str) -> None:
        raise OSError(errno.EROFS, "no")

    expected = contextlib.nullcontext() if reason is None else pytest.raises(KeyError, match="body")
    with expected, temporary_beside(str(tmp_path / "a"), permissions=0o600) as own:
        monkeypatch.setattr(os, "unlink", refuse)
        if reason is not None:
            raise reason
    monkeypatch.undo()
    assert find_temporaries(str(tmp_path / "a")) == (own.path,)
    assert remove_stale(str(tmp_path / "a")) == (own.path,)


def test_a_file_taken_for_stale_in_its_first_instant_is_made_anew(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another run removes it between its making and its locking."""
    target = str(tmp_path / "a")
    removed: list[str] = []

    def remove_first(fd: int) -> object:
        if not removed:
            removed.extend(find_temporaries(target))
            Path(removed[0]).unlink()
        return try_lock(fd)

    monkeypatch.setattr(temporary, "try_lock", remove_first)
    with temporary_beside(target, permissions=0o600) as own:
        assert own.path not in removed
        assert [str(path) for path in tmp_path.iterdir()] == [own.path]
    assert len(removed) == 1


def test_a_folder_is_listed_once_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[str] = []
    real = os.listdir

    def listdir(folder: str) -> list[str]:
        listed.append(folder)
        return real(folder)

    monkeypatch.setattr(os, "listdir", listdir)
    long_ago = (10**9, 10**9)
    os.utime(tmp_path, long_ago)
    assert [find_temporaries(str(tmp_path / name)) for name in "abc"] == [(), (), ()]
    assert len(listed) == 1
    left = tmp_path / f".b.bloomify-{DIGITS}.tmp"
    left.write_bytes(b"")
    assert find_temporaries(str(tmp_path / "a")) == ()
    assert find_temporaries(str(tmp_path / "b")) == (str(left),)
    assert len(listed) == 3  # the change is too fresh to be relied upon


def test_a_large_folder_is_not_listed_for_every_file_that_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, listed = [0], [0]
    real = os.listdir

    def listdir(folder: str) -> list[str]:
        now[0] += 100_000_000
        listed[0] += 1
        return real(folder)

    monkeypatch.setattr(os, "listdir", listdir)
    monkeypatch.setattr(time, "monotonic_ns", lambda: now[0])
    target = str(tmp_path / "a")
    assert remove_stale(target) == ()
    left = tmp_path / f".a.bloomify-{DIGITS}.tmp"
    left.write_bytes(b"")
    assert (remove_stale(target), listed) == ((), [1])
    assert (find_temporaries(target), listed) == ((str(left),), [2])  # what must be certain
    os.utime(tmp_path, (10**9, 10**9))
    now[0] += 10**10
    assert (remove_stale(target), listed) == ((str(left),), [3])
