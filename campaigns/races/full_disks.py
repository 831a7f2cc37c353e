"""The disk is full: a tmpfs of every size from "hardly the old file" to "just enough".

Either there is the new version, or all that was there before, and an error that says that there is
no space left. Nothing half-written stays in either case.
"""

from __future__ import annotations

import functools
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from campaigns.races.files import COLUMNS, names_in, sample
from campaigns.races.mounts import pages_of, read_only, tmpfs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from campaigns.races.commands import Warm
    from campaigns.races.files import Tries

ADD = ("--columns", ",".join(COLUMNS), "--jobs", "1")
NO_SPACE, READ_ONLY = "no space left on device", "read-only file system"
UNCHANGED = "The file was left unchanged."
SIZES = 20
REFUSED, IO_ERROR = 5, 6

Contents = dict[str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What is on the disk, what is run on it, and what is on it then."""

    before: Contents
    """Bytes of each file on the full disk, by name."""

    arguments: tuple[str, ...]
    """Of the command, run on the full disk."""

    after: Contents
    """The same when the command has succeeded."""

    outside: Contents
    """Files on another disk, in the folder `../other`."""


def _crc(data: bytes) -> bytes:
    """Hadoop's checksum file, by its description in replace/hadoop_checksum.py."""
    runs = (data[start : start + 512] for start in range(0, len(data), 512))
    return b"crc\0" + struct.pack(">i", 512) + b"".join(zlib.crc32(r).to_bytes(4) for r in runs)


def _scenarios() -> dict[str, Scenario]:
    old, new = sample().plain, sample().bloomed
    in_place: Contents = {"a.parquet": old}
    done: Contents = {"a.parquet": new}
    return {
        "add": Scenario(before=in_place, arguments=("a.parquet", *ADD), after=done, outside={}),
        "strip": Scenario(
            before=done, arguments=("strip", "a.parquet"), after=in_place, outside={}
        ),
        "backup": Scenario(
            before=in_place,
            arguments=("a.parquet", *ADD, "--backup", ".old"),
            after=done | {"a.parquet.old": old},
            outside={},
        ),
        "crc": Scenario(
            before=in_place | {".a.parquet.crc": _crc(old)},
            arguments=("a.parquet", *ADD, "--regenerate-crc"),
            after=done | {".a.parquet.crc": _crc(new)},
            outside={},
        ),
        "from-elsewhere": Scenario(
            before={},
            arguments=("../other/a.parquet", *ADD, "-o", "b.parquet"),
            after={"b.parquet": new},
            outside=in_place,
        ),
        "over-another": Scenario(
            before={"b.parquet": b"theirs"},
            arguments=("../other/a.parquet", *ADD, "-o", "b.parquet", "--overwrite"),
            after={"b.parquet": new},
            outside=in_place,
        ),
    }


def names() -> list[str]:
    """Of all scenarios."""
    return list(_scenarios())


def tries(warm: Warm, scenario: str) -> Tries:
    """One try for each size."""
    return {
        f"full/{scenario}/{place}": functools.partial(_attempt, warm, scenario, place)
        for place in range(SIZES)
    }


def other_tries(warm: Warm) -> Tries:
    """No inodes left, nothing may be written, and an index that does not fit."""
    attempts: dict[str, Callable[[Warm, Path], str]] = {
        "inodes": _without_inodes,
        "read-only": _read_only,
        **{f"index-{place}": functools.partial(_index, place=place) for place in range(5)},
    }
    return {f"full/{name}": functools.partial(attempt, warm) for name, attempt in attempts.items()}


def _attempt(warm: Warm, name: str, place: int, folder: Path) -> str:
    """The first size has no room for anything more, the last for all that must be."""
    scenario = _scenarios()[name]
    least = pages_of(*map(len, scenario.before.values()))
    # The new files lie beside the old ones until they take their places.
    fresh = [len(data) for key, data in scenario.after.items() if scenario.before.get(key) != data]
    added = pages_of(*fresh) - (pages_of(len(sample().plain)) if name == "backup" else 0)
    steps = SIZES - 2  # from no page more to one too few, and then all
    more = added if place > steps else (added - 1) * place // steps
    pages = max(least + more, 1)
    _write(folder / "other", scenario.outside)
    with tmpfs(folder / "disk", pages=pages) as disk:
        _write(disk, scenario.before)
        ended = warm.run(*scenario.arguments, folder=str(disk))
        found = _read(disk)
        if ended.code == 0:
            assert found == scenario.after, f"on the disk is {_sizes(found)}"
            assert place, "there was no room"
            return "done"
        ended.expect(IO_ERROR, NO_SPACE, UNCHANGED)
        assert found == scenario.before, f"on the disk is {_sizes(found)}"
    assert place < SIZES - 1, "there was room"
    assert _read(folder / "other") == scenario.outside
    return "refused"


def _without_inodes(warm: Warm, folder: Path) -> str:
    with tmpfs(folder / "disk", pages=1000, inodes=2) as disk:
        _write(disk, {"a.parquet": sample().plain})
        warm.run("a.parquet", *ADD, folder=str(disk)).expect(IO_ERROR, NO_SPACE, UNCHANGED)
        assert _read(disk) == {"a.parquet": sample().plain}
    return "refused"


def _read_only(warm: Warm, folder: Path) -> str:
    before = {"a.parquet": sample().plain}
    _write(folder / "disk", before)
    with read_only(folder / "disk") as disk:
        warm.run("a.parquet", *ADD, folder=str(disk)).expect(IO_ERROR, READ_ONLY, UNCHANGED)
        warm.run("probe", "a.parquet", "--eq", "id=2", folder=str(disk)).expect(0)
        warm.run("verify", "a.parquet", folder=str(disk)).expect(0)
        assert _read(disk) == before
    return "refused"


def _index(warm: Warm, folder: Path, *, place: int) -> str:
    """The home of an index is full: the version before is still there, and gives answers."""
    _write(folder / "table", {"a.parquet": sample().plain})
    table = str(folder / "table")
    with tmpfs(folder / "disk", pages=64) as disk:
        named = (table, "--name", "ids", "--home", str(disk / "home"))
        warm.run("index", "create", *named, "--columns", "id").expect(0)
        _write(folder / "table", {"b.parquet": sample(1).plain})
        before = _read(disk)
        free = 64 - pages_of(*map(len, before.values()))
        (disk / "ballast").write_bytes(bytes(max(free - place, 0) * 4096))
        ended = warm.run("index", "refresh", *named)
        (disk / "ballast").unlink()
        if ended.code:
            ended.expect(IO_ERROR, NO_SPACE)
            left = {name: data for name, data in _read(disk).items() if "/v__=" in name}
            assert left.items() <= before.items(), f"left behind: {_sizes(left)}"
        found = warm.run("index", "lookup", *named, "--eq", "id=2", "--files")
        found.expect(0)
        assert found.out.count("\n") == 2, found.out  # both might match
        again = warm.run("index", "refresh", *named)
        if again.code:  # there was no room even to write down that it failed
            again.expect(REFUSED, "cancel it")
            warm.run("index", "cancel", *named).expect(0)
            warm.run("index", "refresh", *named).expect(0)
            return "refused, and cancelled"
    return "refused" if ended.code else "done"


def _write(folder: Path, contents: Contents) -> None:
    folder.mkdir(exist_ok=True)
    for name, data in contents.items():
        (folder / name).write_bytes(data)


def _read(folder: Path) -> Contents:
    paths = [folder / name for name in names_in(folder)]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths if path.is_file()}


def _sizes(contents: Contents) -> dict[str, int]:
    return {name: len(data) for name, data in contents.items()}
