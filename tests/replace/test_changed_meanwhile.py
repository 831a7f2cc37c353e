"""What another program does to the file meanwhile is kept, whenever it does it."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter.errors import (
    FileChanged,
    Unfinished,
)
from parquet_bloomwriter.replace import commit
from parquet_bloomwriter.replace.names import exchange
from parquet_bloomwriter.replace.target import choose_target
from parquet_bloomwriter.replace.temporary import find_temporaries, remove_stale
from parquet_bloomwriter.source.local import open_file
from tests.support.replacing import NEW, OLD, accept, contents, replacing, rewrite, write_new

if TYPE_CHECKING:
    from collections.abc import Callable


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
        verify = (lambda _: meddle(old)) if when == "verifying" else accept
        with replacing(source, choose_target(source), verify=verify) as new:
            write_new(new)
            if when == "writing":
                meddle(old)
    assert caught.value.path == str(old)
    assert contents(old.parent) == ({} if left is None else {"a.parquet": left})
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
        rewrite(old)
    assert contents(old.parent) == {"a.parquet": "other"}


def test_a_backup_is_none_of_a_file_that_was_replaced_at_the_last_instant(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _before_exchange(monkeypatch, lambda: _replace(old))
    with pytest.raises(FileChanged, match="replaced by another"):
        rewrite(old, backup_suffix="~")
    assert contents(old.parent) == {"a.parquet": b"other"}


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
        rewrite(old)
    (saved,) = {path.name for path in old.parent.iterdir()} - {"a.parquet"}
    assert saved.startswith("a.parquet.saved-")
    assert saved in str(caught.value)
    assert contents(old.parent) == {"a.parquet": NEW, saved: OLD + b"!"}


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
        rewrite(old)
    assert contents(old.parent) == {}


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
        rewrite(old)
    assert removed
    assert not any(removed)
    assert contents(old.parent) == {"a.parquet": b"other"}


@pytest.mark.parametrize("existed", [False, True])
def test_an_output_that_somebody_else_wrote_meanwhile_is_kept(
    old: Path,
    existed: bool,  # noqa: FBT001  given by pytest
) -> None:
    output = old.parent / "b.parquet"
    if existed:
        output.write_bytes(b"before")
    with pytest.raises(FileChanged), open_file(old) as source:  # noqa: PT012, SIM117
        with replacing(source, choose_target(source, output, overwrite=True), verify=accept) as new:
            write_new(new)
            output.write_bytes(b"theirs")
    assert contents(old.parent) == {"a.parquet": OLD, "b.parquet": b"theirs"}


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
            write_new(new)
    assert contents(old.parent) == {"a.parquet": OLD, "b.parquet": b"theirs"}


def test_an_output_that_changed_before_the_writing_began(old: Path) -> None:
    output = old.parent / "b.parquet"
    output.write_bytes(b"before")
    with open_file(old) as source:
        target = choose_target(source, output, overwrite=True)
        output.write_bytes(b"theirs!")
        with pytest.raises(FileChanged), replacing(source, target, verify=accept):
            pytest.fail("the body must not run")
    assert contents(old.parent) == {"a.parquet": OLD, "b.parquet": b"theirs!"}


def test_a_source_that_changed_while_its_new_version_was_written_elsewhere(old: Path) -> None:
    with pytest.raises(FileChanged, match="written to"), open_file(old) as source:  # noqa: PT012, SIM117
        with replacing(source, choose_target(source, old.parent / "b"), verify=accept) as new:
            write_new(new)
            _append(old)
    assert contents(old.parent) == {"a.parquet": OLD + b"!"}


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
        rewrite(old, backup_suffix="~")
    assert exchanged == []
    assert contents(old.parent) == {"a.parquet": OLD + b"!"}


def test_a_backup_that_somebody_else_made_meanwhile_is_kept(old: Path) -> None:
    with pytest.raises(FileChanged, match="created by another program"), open_file(old) as source:  # noqa: PT012, SIM117
        with replacing(source, choose_target(source, backup_suffix="~"), verify=accept) as new:
            write_new(new)
            (old.parent / "a.parquet~").write_bytes(b"theirs")
    assert contents(old.parent) == {"a.parquet": OLD, "a.parquet~": b"theirs"}


def test_a_temporary_file_that_somebody_removed(old: Path) -> None:
    with pytest.raises(FileChanged, match="temporary file"), open_file(old) as source:  # noqa: PT012, SIM117
        with replacing(source, choose_target(source), verify=accept) as new:
            write_new(new)
            Path(find_temporaries(str(old))[0]).unlink()
    assert contents(old.parent) == {"a.parquet": OLD}
