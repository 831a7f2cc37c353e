"""Paths that lead to something else than a regular file of one name.

Each is refused with its exit code and a line that says why, nothing hangs, and what is there stays
as it is. Symbolic links are followed, and stay links.
"""

from __future__ import annotations

import functools
import os
import socket
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from campaigns.races.files import COLUMNS, sample

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from campaigns.races.commands import Warm
    from campaigns.races.files import Tries

USAGE, NOT_PARQUET, REFUSED, IO_ERROR = 2, 4, 5, 6
VERBS: dict[str, tuple[str, ...]] = {
    "add": ("{}", "--columns", ",".join(COLUMNS), "--jobs", "1"),
    "strip": ("strip", "{}"),
    "inspect": ("inspect", "{}"),
    "verify": ("verify", "{}"),
    "probe": ("probe", "{}", "--eq", "id=2"),
    "output": (
        "../good.parquet",
        *("--columns", "id", "--jobs", "1"),
        *("-o", "{}", "--overwrite"),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Oddity:
    """A path, and what is said of it."""

    make: Callable[[Path], None]
    """Makes what the path leads to."""

    code: int
    words: str
    as_output: int | None
    """The exit code where it is named as the output; None if that must work."""

    name: str = "odd.parquet"
    """The path, in the folder of the try."""


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        here = os.open(path.parent, os.O_RDONLY)  # names of sockets are short
        one.bind(f"/proc/self/fd/{here}/{path.name}")
        os.close(here)


def _loop(path: Path) -> None:
    path.symlink_to("other")
    path.with_name("other").symlink_to(path.name)


def _device(kind: int, number: tuple[int, int], path: Path) -> None:
    os.mknod(path, kind | 0o600, os.makedev(*number))


def _nothing(_: Path) -> None:
    """The path leads where it leads."""


ODDITIES = {
    "missing": Oddity(make=_nothing, code=USAGE, words="no such file", as_output=None),
    "dangling": Oddity(
        make=lambda path: path.symlink_to("gone"), code=USAGE, words="no such file",
        as_output=None,
    ),
    "loop": Oddity(make=_loop, code=IO_ERROR, words="levels of symbolic links", as_output=IO_ERROR),
    "fifo": Oddity(make=os.mkfifo, code=REFUSED, words="this is a FIFO", as_output=REFUSED),
    "socket": Oddity(make=_socket, code=REFUSED, words="this is a socket", as_output=REFUSED),
    "folder": Oddity(
        make=lambda path: path.mkdir(), code=USAGE, words="no Parquet files", as_output=None
    ),
    "character-device": Oddity(
        make=functools.partial(_device, stat.S_IFCHR, (1, 5)), code=REFUSED,
        words="this is a character device", as_output=REFUSED,
    ),
    "block-device": Oddity(
        make=functools.partial(_device, stat.S_IFBLK, (7, 200)), code=REFUSED,
        words="this is a block device", as_output=REFUSED,
    ),
    "dev-null": Oddity(
        make=_nothing, name="/dev/null", code=REFUSED, words="character device", as_output=REFUSED
    ),
    "proc": Oddity(
        make=_nothing, name="/proc/cpuinfo", code=NOT_PARQUET, words="0 bytes", as_output=USAGE
    ),
    "empty": Oddity(
        make=lambda path: path.touch(), code=NOT_PARQUET, words="0 bytes", as_output=None
    ),
    "long-name": Oddity(
        make=_nothing,
        name="x" * 300 + ".parquet",
        code=IO_ERROR,
        words="name too long",
        as_output=IO_ERROR,
    ),
    "below-a-file": Oddity(
        make=lambda path: path.parent.touch(), name="file/odd.parquet", code=USAGE,
        words="", as_output=IO_ERROR,
    ),
}  # fmt: skip


def tries(warm: Warm) -> Tries:
    """Every oddity with every verb."""
    odd: Tries = {
        f"odd/{what}/{verb}": functools.partial(_attempt, warm, what, verb)
        for what in ODDITIES
        for verb in VERBS
    }
    links = {"symbolic": _symbolic, "hard": _hard}
    return odd | {
        f"odd/{name}-link": functools.partial(attempt, warm) for name, attempt in links.items()
    }


def _attempt(warm: Warm, what: str, verb: str, folder: Path) -> str:
    oddity = ODDITIES[what]
    here = folder / "here"
    here.mkdir()
    (folder / "good.parquet").write_bytes(sample().plain)
    oddity.make(here / oddity.name)
    before = _kinds(here)
    arguments = [one.replace("{}", oddity.name) for one in VERBS[verb]]
    ended = warm.run(*arguments, folder=str(here))
    code = oddity.as_output if verb == "output" else oddity.code
    if code is None:
        ended.expect(0)
        return "written"
    ended.expect(code, oddity.words if verb != "output" else "")
    assert _kinds(here) == before, f"now there is {_kinds(here)}"
    return "refused"


def _symbolic(warm: Warm, folder: Path) -> str:
    """A chain of links, one of them relative, stays as it is; the file at its end is replaced."""
    (folder / "deep").mkdir()
    (folder / "deep" / "a.parquet").write_bytes(sample().plain)
    (folder / "second").symlink_to("deep/a.parquet")
    (folder / "first").symlink_to(folder / "second")
    warm.run("first", "--columns", ",".join(COLUMNS), folder=str(folder)).expect(0)
    assert _kinds(folder) == {
        "deep": "folder",
        "deep/a.parquet": sample().bloomed,
        "second": "-> deep/a.parquet",
        "first": f"-> {folder / 'second'}",
    }
    return "written"


def _hard(warm: Warm, folder: Path) -> str:
    """A file of two names is refused; if permitted, the other name keeps the old bytes."""
    (folder / "a.parquet").write_bytes(sample().plain)
    (folder / "b.parquet").hardlink_to(folder / "a.parquet")
    add = ("a.parquet", "--columns", ",".join(COLUMNS))
    before = _kinds(folder)
    warm.run(*add, folder=str(folder)).expect(REFUSED, "2 names (hard links)")
    assert _kinds(folder) == before
    warm.run(*add, "--force", folder=str(folder)).expect(0)
    assert _kinds(folder) == before | {"a.parquet": sample().bloomed}
    return "refused"


def _kinds(folder: Path) -> dict[str, bytes | str]:
    """Everything below a folder: bytes, the target of a link, or what kind of thing it is."""
    return {str(path.relative_to(folder)): _kind(path) for path in sorted(folder.rglob("*"))}


def _kind(path: Path) -> bytes | str:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    if path.is_dir():
        return "folder"
    return path.read_bytes() if path.is_file() else oct(path.stat().st_mode)
