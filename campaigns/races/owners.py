"""What an ordinary user may not do, and what the new file keeps of the old one.

The command is run as a user without root's powers, in folders and on files of others.
"""

from __future__ import annotations

import functools
import os
import stat
import struct
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from campaigns.races.commands import Job
from campaigns.races.files import COLUMNS, check_names, sample

if TYPE_CHECKING:
    from pathlib import Path

    from campaigns.races.commands import Warm
    from campaigns.races.files import Tries

ADD = ("a.parquet", "--columns", ",".join(COLUMNS), "--jobs", "1")
ALICE, STAFF = 1234, 2345
"""A user and a group that are not ours."""

STEPS_OF_OWNER = 2
"""More steps than with a file of our own: fchown, and another fstat."""

IO_ERROR = 6
DENIED, NOT_PERMITTED = "permission denied", "operation not permitted"
ACL = "system.posix_acl_access"
DEFAULT_ACL = "system.posix_acl_default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A file in a folder, and what the command makes of it."""

    file_mode: int = 0o644
    file_owner: tuple[int, int] = (-1, -1)
    folder_mode: int = 0o755
    folder_owner: tuple[int, int] = (-1, -1)
    is_powerless: bool = True
    """Whether the command is run without root's powers."""

    attributes: dict[str, bytes] | None = None
    """Extended attributes, all of which are kept."""

    refused: str = ""
    """What is said if nothing is done."""

    mode_after: int | None = None
    """The mode of the new file, if another."""

    owner_after: tuple[int, int] | None = None
    """Owner and group of the new file, if others."""


def _acl(*entries: tuple[int, int, int]) -> bytes:
    """An access control list, version 2: tag, rights and id of each entry."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


_NO_ID = 0xFFFFFFFF
ALICE_READS = _acl(
    (0x01, 6, _NO_ID), (0x02, 4, ALICE), (0x04, 0, _NO_ID), (0x10, 4, _NO_ID), (0x20, 0, _NO_ID)
)
"""The owner may read and write, Alice may read; the mode shows the mask as 0640."""

THEIRS = (ALICE, STAFF)
CASES = {
    "read-only-file": Case(file_mode=0o444),
    "nobody-may-read": Case(file_mode=0o222, refused=DENIED),
    "read-only-folder": Case(folder_mode=0o555, refused=DENIED),
    "closed-folder": Case(folder_mode=0o666, refused=DENIED),
    "folder-of-another": Case(folder_owner=THEIRS, refused=DENIED),
    "folder-for-all": Case(folder_owner=THEIRS, folder_mode=0o777),
    "sticky-folder": Case(
        folder_owner=THEIRS, folder_mode=0o1777, file_owner=THEIRS, refused=NOT_PERMITTED
    ),
    "file-of-another": Case(
        file_owner=THEIRS, file_mode=0o664, mode_after=0o644, owner_after=(0, 0)
    ),
    "group-may-more": Case(
        file_owner=THEIRS, file_mode=0o674, mode_after=0o644, owner_after=(0, 0)
    ),
    "setuid-of-another": Case(
        file_owner=THEIRS, file_mode=0o6755, mode_after=0o755, owner_after=(0, 0)
    ),
    "setgid-folder": Case(folder_owner=(-1, STAFF), folder_mode=0o2755),
    "root-keeps-all": Case(file_owner=THEIRS, file_mode=0o4750, is_powerless=False),
    "root-in-folder-of-another": Case(
        file_owner=THEIRS, file_mode=0o640, folder_owner=THEIRS, folder_mode=0o700,
        is_powerless=False,
    ),
    "attributes": Case(attributes={"user.origin": b"\0\xff", "user.empty": b""}),
    "access-list": Case(attributes={ACL: ALICE_READS}, file_mode=0o640),
    "access-list-of-another": Case(
        attributes={ACL: ALICE_READS}, file_mode=0o640, file_owner=THEIRS, is_powerless=False
    ),
}  # fmt: skip


def tries(warm: Warm, powerless: Warm) -> Tries:
    """All cases, flags that root himself minds, and folders that give new files a list."""
    cases: Tries = {
        f"owners/{name}": functools.partial(
            _attempt, powerless if case.is_powerless else warm, case
        )
        for name, case in CASES.items()
    }
    flags = {f"owners/flag-{flag}": functools.partial(_flag, warm, flag) for flag in ("i", "a")}
    given = {"owners/default-list": functools.partial(_default_list, warm)}
    return cases | flags | given


def watched(warm: Warm, steps: int) -> Tries:
    """Look at the folder before each step of the command."""
    return {
        f"owners/watched/{number}": functools.partial(_watched, warm, number)
        for number in range(1, steps + 1)
    }


def _attempt(warm: Warm, case: Case, folder: Path) -> str:
    table = folder / "table"
    path = _made(table, case)
    before = path.stat()
    ended = warm.run("table/a.parquet", *ADD[1:], folder=str(folder))
    check_names(table, "a.parquet")
    after = path.stat()
    if case.refused:
        ended.expect(IO_ERROR, case.refused)
        assert path.read_bytes() == sample().plain
        assert _looks(after) == _looks(before), f"{_looks(before)} became {_looks(after)}"
        return "refused"
    ended.expect(0)
    assert path.read_bytes() == sample().bloomed
    mode = case.file_mode if case.mode_after is None else case.mode_after
    owner = (before.st_uid, before.st_gid) if case.owner_after is None else case.owner_after
    assert _looks(after) == (*owner, oct(mode)), f"now {_looks(after)}, not {owner}, {mode:o}"
    assert _attributes(path) == (case.attributes or {}), f"attributes: {_attributes(path)}"
    assert after.st_mtime_ns > before.st_mtime_ns
    return "done"


def _made(table: Path, case: Case) -> Path:
    table.mkdir()
    path = table / "a.parquet"
    path.write_bytes(sample().plain)
    os.chown(path, *case.file_owner)
    path.chmod(case.file_mode)
    for name, value in (case.attributes or {}).items():
        os.setxattr(path, name, value)
    os.chown(table, *case.folder_owner)
    table.chmod(case.folder_mode)
    return path


def _flag(warm: Warm, flag: str, folder: Path) -> str:
    """Immutable, or only to be appended to."""
    path = folder / "a.parquet"
    path.write_bytes(sample().plain)
    subprocess.run(["chattr", f"+{flag}", path], check=True)  # noqa: S607
    try:
        warm.run(*ADD, folder=str(folder)).expect(IO_ERROR, NOT_PERMITTED)
    finally:
        subprocess.run(["chattr", f"-{flag}", path], check=True)  # noqa: S607
    assert path.read_bytes() == sample().plain
    check_names(folder, "a.parquet")
    return "refused"


def _default_list(warm: Warm, folder: Path) -> str:
    """What the folder gives to new files, it does not give to the new version of an old one."""
    path = folder / "a.parquet"
    path.write_bytes(sample().plain)
    path.chmod(0o640)
    os.setxattr(folder, DEFAULT_ACL, ALICE_READS)
    warm.run(*ADD, folder=str(folder)).expect(0)
    assert _attributes(path) == {}, f"attributes: {_attributes(path)}"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    return "done"


def _watched(warm: Warm, number: int, folder: Path) -> str:
    """Nobody may read a new file, at any moment, who could not read the old one."""
    path = _made(folder / "table", Case(file_owner=THEIRS, file_mode=0o640))
    seen: list[tuple[int, int, int]] = []

    def look() -> None:
        for one in path.parent.iterdir():
            found = one.stat()
            seen.append((found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)))

    (ended,) = warm.run_all(
        [Job(arguments=list(ADD), folder=str(path.parent), stop_at=number)], at_stop=look
    )
    ended.expect(0)
    wide = [one for one in seen if one[2] & 0o007 or (one[2] & 0o070 and one[1] != STAFF)]
    assert seen, f"there is no step {number}"
    assert not wide, f"before step {number} there was a file of {wide}"
    return "seen"


def _looks(found: os.stat_result) -> tuple[int, int, str]:
    return found.st_uid, found.st_gid, oct(stat.S_IMODE(found.st_mode))


def _attributes(path: Path) -> dict[str, bytes]:
    names = (name for name in os.listxattr(path) if not name.startswith("security."))
    return {name: os.getxattr(path, name) for name in names}
