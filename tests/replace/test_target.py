"""Where the new version goes: links, outputs, backups, and what is refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter.errors import (
    InvalidArgument,
    UnsafeTarget,
    UnsupportedFile,
)
from tests.support.replacing import NEW, OLD, contents, rewrite

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_symbolic_link_stays_and_its_file_is_replaced(old: Path, tmp_path: Path) -> None:
    folder = tmp_path / "links"
    folder.mkdir()
    (folder / "one").symlink_to("two")
    (folder / "two").symlink_to(old)
    rewrite(folder / "one")
    assert contents(folder) == {"one": "two", "two": str(old)}
    assert contents(tmp_path) == {"a.parquet": NEW, "links": "other"}


def test_hard_links_are_refused_unless_permitted(old: Path) -> None:
    os.link(old, old.parent / "b.parquet")
    with pytest.raises(UnsafeTarget, match="2 names"):
        rewrite(old)
    assert contents(old.parent) == {"a.parquet": OLD, "b.parquet": OLD}
    rewrite(old, permit_hard_links=True)
    assert contents(old.parent) == {"a.parquet": NEW, "b.parquet": OLD}


def test_a_hard_link_that_a_killed_run_of_ours_left_is_none(old: Path) -> None:
    temporary = old.parent / ".a.parquet.bloomify-0123456789abcdef.tmp"
    os.link(old, temporary)
    rewrite(old)
    assert contents(old.parent) == {"a.parquet": NEW}


def test_a_backup_that_a_killed_run_of_ours_left_is_kept(old: Path) -> None:
    os.link(old, old.parent / "a.parquet~")
    rewrite(old, backup_suffix="~")
    assert contents(old.parent) == {"a.parquet": NEW, "a.parquet~": OLD}


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
        rewrite(*((old, other) if as_output else (other,)), overwrite=True)
    assert sorted(contents(old.parent)) == ["a.parquet", "other"]
    assert old.read_bytes() == OLD


@pytest.mark.parametrize("as_output", [False, True])
def test_a_pipe_of_a_shell_is_refused(old: Path, *, as_output: bool) -> None:
    ends = os.pipe()
    pipe = Path(f"/dev/fd/{ends[as_output]}")
    try:
        with pytest.raises(UnsupportedFile, match="a FIFO"):
            rewrite(*((old, pipe) if as_output else (pipe,)))
    finally:
        for end in ends:
            os.close(end)
    assert contents(old.parent) == {"a.parquet": OLD}


def test_a_new_name(old: Path) -> None:
    rewrite(old, old.parent / "b.parquet", backup_suffix=".bak")
    assert contents(old.parent) == {"a.parquet": OLD, "b.parquet": NEW}
    assert (old.parent / "b.parquet").stat().st_nlink == 1


def test_a_new_name_that_a_dangling_symbolic_link_leads_to(old: Path) -> None:
    (old.parent / "link").symlink_to("b.parquet")
    rewrite(old, old.parent / "link")
    assert contents(old.parent) == {"a.parquet": OLD, "link": "b.parquet", "b.parquet": NEW}


def test_a_missing_folder_or_source(old: Path) -> None:
    with pytest.raises(FileNotFoundError):
        rewrite(old, old.parent / "none" / "b.parquet")
    with pytest.raises(FileNotFoundError):
        rewrite(old.parent / "none")
    assert contents(old.parent) == {"a.parquet": OLD}


def test_an_existing_output_is_replaced_only_if_permitted(old: Path) -> None:
    output = old.parent / "b.parquet"
    output.write_bytes(b"somebody's")
    output.chmod(0o604)
    with pytest.raises(UnsafeTarget, match="exists already"):
        rewrite(old, output)
    assert contents(old.parent) == {"a.parquet": OLD, "b.parquet": b"somebody's"}
    rewrite(old, output, overwrite=True, backup_suffix=".bak")
    expected = {"a.parquet": OLD, "b.parquet": NEW, "b.parquet.bak": b"somebody's"}
    assert contents(old.parent) == expected
    assert stat.S_IMODE(output.stat().st_mode) == 0o604


def test_an_output_that_is_the_source_is_in_place(old: Path) -> None:
    (old.parent / "link").symlink_to(old.name)
    rewrite(old, old.parent / "link")
    assert contents(old.parent) == {"a.parquet": NEW, "link": "a.parquet"}


def test_the_backup_is_the_old_file_itself(old: Path) -> None:
    before = old.stat()
    rewrite(old, backup_suffix="~")
    assert contents(old.parent) == {"a.parquet": NEW, "a.parquet~": OLD}
    after = (old.parent / "a.parquet~").stat()
    assert (after.st_ino, after.st_nlink) == (before.st_ino, 1)


def test_an_existing_backup_is_refused(old: Path) -> None:
    (old.parent / "a.parquet~").symlink_to("nowhere")
    with pytest.raises(UnsafeTarget, match="backup exists already"):
        rewrite(old, backup_suffix="~")
    assert contents(old.parent) == {"a.parquet": OLD, "a.parquet~": "nowhere"}


@pytest.mark.parametrize("suffix", ["", "/x", "x/y", "\0"])
def test_a_backup_suffix_that_cannot_be(old: Path, suffix: str) -> None:
    with pytest.raises(InvalidArgument):
        rewrite(old, backup_suffix=suffix)
    assert contents(old.parent) == {"a.parquet": OLD}
