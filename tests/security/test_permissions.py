"""Files are never open to more people than in the end, nor made under a name that is taken."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from campaigns.security.scenarios import MODES, NOBODY
from campaigns.security.tracing import TEMPORARY, Made, calls_by_name, files_of, trace

if TYPE_CHECKING:
    from pathlib import Path

PRIVATE = 0o600


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("traced")


@pytest.fixture(scope="module")
def lines(folder: Path) -> list[str]:
    """Return the system calls of all scenarios, under umask 0."""
    return trace(folder)


@pytest.fixture(scope="module")
def made(lines: list[str]) -> list[Made]:
    return files_of(lines)


def _of(made: list[Made], scenario: str) -> list[Made]:
    return [one for one in made if f"/{scenario}/" in one.path and one.is_temporary]


def test_permissions_never_widen(made: list[Made]) -> None:
    assert len(made) > 25
    assert [fault for one in made for fault in one.wrong()] == []


@pytest.mark.parametrize("mode", MODES)
def test_what_takes_the_place_of_a_file_is_private_from_the_first_moment(
    made: list[Made], folder: Path, mode: int
) -> None:
    (one,) = _of(made, f"in-place-{mode:o}")
    assert one.modes == ([PRIVATE] if mode == PRIVATE else [PRIVATE, mode])
    found = (folder / "work" / f"in-place-{mode:o}" / "file.parquet").stat()
    assert stat.S_IMODE(found.st_mode) == mode
    assert found.st_uid == (NOBODY if os.geteuid() == 0 else os.geteuid())
    assert one.owned == (os.geteuid() == 0)


@pytest.mark.parametrize(
    ("scenario", "name", "mode"),
    [
        ("new", "out", 0o640),
        ("new-setuid", "out", 0o755),
        ("new-acl", "out", 0o600),
        ("overwrite", "out", 0o600),
        ("copied", "out", 0o600),
        ("default-acl", "file.parquet", 0o600),
        ("setgid", "file.parquet", 0o640),
        ("backup", "file.parquet", 0o640),
        ("backup", "file.parquet.old", 0o640),
        ("crc", ".file.parquet.crc", 0o600),
        ("sidecar", ".file.parquet.crc", 0o640),
        ("strip", "file.parquet", 0o600),
    ],
)
def test_what_is_left(lines: list[str], folder: Path, scenario: str, name: str, mode: int) -> None:
    assert lines
    found = (folder / "work" / scenario / name).stat()
    assert f"{stat.S_IMODE(found.st_mode):o}" == f"{mode:o}"


def test_no_file_is_changed_by_its_name(lines: list[str]) -> None:
    assert list(calls_by_name(lines)) == []


def test_names_have_64_bits_each_time_others(made: list[Made]) -> None:
    digits = [found[1] for one in made if (found := TEMPORARY.search(one.path))]
    assert len(digits) > 15
    assert len(set(digits)) == len(digits)


def test_faults_are_seen() -> None:
    name = "/w/.f.bloomify-0123456789abcdef.tmp"
    flags = "O_RDWR|O_CREAT|O_EXCL|O_NOFOLLOW|O_CLOEXEC"
    opened = f'1 openat(AT_FDCWD</>, "{name}", {flags}, 0600) = 4<{name}>'
    write = f'1 write(4<{name}>, ""..., 2) = 2'
    copy = f"1 copy_file_range(3</w/f>, [0], 4<{name}>, NULL, 4, 0) = 4"
    wide, narrow = (f"1 fchmod(4<{name}>, {mode}) = 0" for mode in ("0644", "0600"))
    owner = f"1 fchown(4<{name}>, 1, 1) = 0"
    assert _faults([opened, write, copy, owner, wide]) == []
    assert _faults([opened, wide, narrow, write]) == [
        f"{name} was open to more than in the end: ['600', '644', '600']"
    ]
    assert _faults([opened, wide, copy]) == [f"{name} was written to with mode 644"]
    assert _faults([opened, wide, owner]) == [f"{name} was given away with mode 644"]
    assert len(_faults([opened.replace("|O_EXCL|O_NOFOLLOW", "")])) == 2


def _faults(lines: list[str]) -> list[str]:
    return [fault for one in files_of(lines) for fault in one.wrong()]
