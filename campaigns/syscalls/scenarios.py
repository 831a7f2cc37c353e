"""The commands that faults are injected into, and the folders that they work in.

Files are as small as they can be with two row groups and two columns: each call that a large
file needs many times is there, but for the write-back, whose threshold is lowered. The old file has
an owner, a mode and an attribute of its own, which the new one must get.
"""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from campaigns.syscalls.folders import Entry, Folder
from campaigns.syscalls.traced import Task
from parquet_bloomwriter import bloomify
from tests.verbs.files import people, without_length, written

if TYPE_CHECKING:
    from pathlib import Path

FILE, OUTPUT, BACKUP, CRC = "a.parquet", "b.parquet", "a.parquet~", ".a.parquet.crc"
_ROWS = 60
_OTHER_OWNER = (12345, 12345)
_NO_LINKS = ("link:error=EPERM",)
_ADD = ("add", FILE, "--all-columns", "--jobs", "1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A command in a folder."""

    name: str
    before: Folder
    arguments: tuple[str, ...]
    target: str = FILE
    """The name that gets the new version."""

    companion: str | None = None
    """A name that is written after or before the target, and is none of these in between: the
    backup, or the checksum file."""

    standing: tuple[str, ...] = ()
    """Faults that are there all the time, as strace has them behind `-e inject=`: what this file
    system does not offer. No others are tried at these calls."""

    write_back: int | None = None
    """Bytes between two write-backs; None for the usual number."""

    with_worker: bool = False
    """Whether faults are tried in the thread that builds filters, too."""

    def task(self, folder: Path, *, again: bool = False) -> Task:
        """The command; `again` is how to call it when its output may be there already."""
        more = ("--overwrite",) if again and "-o" in self.arguments else ()
        return Task(arguments=(*self.arguments, *more), folder=folder, write_back=self.write_back)


def scenarios() -> dict[str, Scenario]:
    """All of them, by name."""
    plain = written(people(_ROWS).select(["id", "city"]), row_group_size=_ROWS // 2)
    filtered = bloomify(plain).data or b""
    chunks = [(i, j) for i in range(2) for j in range(2)]
    lengthless = without_length(filtered, *chunks)
    own, other = _own_entry(plain), Entry(data=b"PAR1other", mode=0o600, owner=_me())
    crc = Entry(data=checksums(plain), mode=0o644, owner=_me())
    output = (*_ADD, "-o", OUTPUT)
    found = [
        Scenario(name="in place", before={FILE: own}, arguments=_ADD, with_worker=True),
        Scenario(name="at the end", before={FILE: own}, arguments=(*_ADD, "--placement", "end")),
        Scenario(name="new name", before={FILE: own}, arguments=output, target=OUTPUT),
        Scenario(
            name="over another",
            before={FILE: own, OUTPUT: other},
            arguments=(*output, "--overwrite"),
            target=OUTPUT,
        ),
        Scenario(
            name="backup", before={FILE: own}, arguments=(*_ADD, "--backup", "~"), companion=BACKUP
        ),
        Scenario(
            name="strip",
            before={FILE: _own_entry(filtered)},
            arguments=("strip", FILE),
        ),
        Scenario(
            name="repair",
            before={FILE: _own_entry(lengthless)},
            arguments=("repair", FILE),
        ),
        Scenario(
            name="checksum file",
            before={FILE: own, CRC: crc},
            arguments=(*_ADD, "--regenerate-crc"),
            companion=CRC,
        ),
        Scenario(
            name="replace",
            before={FILE: _own_entry(bloomify(plain, ["id"]).data or b"")},
            arguments=(*_ADD, "--replace"),
            with_worker=True,
        ),
        Scenario(
            name="new name, no links",
            before={FILE: own},
            arguments=output,
            target=OUTPUT,
            standing=_NO_LINKS,
        ),
        Scenario(
            name="backup, no links",
            before={FILE: own},
            arguments=(*_ADD, "--backup", "~"),
            companion=BACKUP,
            standing=_NO_LINKS,
        ),
        Scenario(name="write-back", before={FILE: own}, arguments=_ADD, write_back=256),
    ]
    return {scenario.name: scenario for scenario in found}


def checksums(data: bytes, *, run: int = 512) -> bytes:
    """A Hadoop checksum file, by its description."""
    values = [zlib.crc32(data[start : start + run]) for start in range(0, len(data), run)]
    return b"crc\0" + struct.pack(f">i{len(values)}I", run, *values)


def _own_entry(data: bytes) -> Entry:
    """A file that has everything that must be kept; another owner only if we may give it one."""
    owner = _OTHER_OWNER if os.geteuid() == 0 else _me()
    return Entry(data=data, mode=0o640, owner=owner, attributes=(("user.origin", b"a test"),))


def _me() -> tuple[int, int]:
    return os.geteuid(), os.getegid()
