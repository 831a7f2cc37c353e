"""Put a state on a real disk, and run the same verb again.

It must come to the same new version, whatever the crash left, and leave nothing else behind.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from campaigns.power.judging import is_temporary
from campaigns.power.recording import look, paths_of
from campaigns.power.scenarios import FILE

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator
    from pathlib import Path

    from campaigns.power.disk import Disk, File
    from campaigns.power.recording import Record
    from campaigns.power.scenarios import Scenario

_DIGITS = re.compile(r"bloomify-[0-9a-f]{16}")


def put(disk: Disk, folder: Path) -> None:
    """Make a folder that holds what the disk holds."""
    folder.mkdir(parents=True)
    made: dict[int, Path] = {}
    for path, inode in disk.walk():
        where = folder / path
        if inode in disk.folders:
            where.mkdir()
        elif inode in made:
            where.hardlink_to(made[inode])
        else:
            made[inode] = where
            _put_file(disk.files[inode], where)


def _put_file(file: File, where: Path) -> None:
    where.write_bytes(file.data)
    for name, value in file.attributes:
        os.setxattr(where, name, value)
    where.chmod(file.mode)


def shape_of(disk: Disk, record: Record) -> Hashable:
    """What a later run can tell apart: names, and of each file whether it is a known one."""
    known = {file.data: name for name, file in paths_of(record.before).items() if file is not None}
    known |= {file.data: f"new {name}" for name, file in paths_of(record.after).items() if file}
    known[b""] = "empty"
    return tuple(
        (_DIGITS.sub("temporary", path), inode, known.get(file.data, "torn"), file.mode)
        for path, inode in disk.walk()
        if (file := disk.files.get(inode)) is not None
    )


def problems_of_next_run(
    scenario: Scenario, record: Record, disk: Disk, folder: Path
) -> Iterator[str]:
    """Run the verb in a folder that is as the disk is, and say what is wrong afterwards."""
    put(disk, folder)
    found, after = paths_of(look(folder)), paths_of(record.after)
    backup, old = scenario.backup or scenario.target, _bytes_at(found, scenario.target)
    has_backup = (
        backup in found
        and _inode_at(disk, backup) != _inode_at(disk, scenario.target)
        and not _is_claim(found, backup)
    )
    more = {"overwrite": True} if scenario.output else {}
    options = {**more, **({"backup_suffix": None, "backup_dir": None} if has_backup else {})}
    try:
        scenario.without_faults.act(folder, **options)
    except Exception as error:  # noqa: BLE001  whatever it is
        yield f"the next run fails: {error!r}"
        return
    left = paths_of(look(folder))
    if _bytes_at(left, scenario.target) != _bytes_at(after, scenario.target):
        yield "the next run does not come to the same new version"
    if _bytes_at(left, FILE) not in {_bytes_at(found, FILE), _bytes_at(after, FILE)}:
        yield "the next run changes the file that it reads"
    if scenario.backup and not has_backup and _bytes_at(left, backup) != old:
        yield "the next run does not keep the old version"
    allowed = {*after, *(path for path in found if path == backup)}
    if extra := left.keys() - allowed:
        yield f"the next run leaves {', '.join(sorted(extra))}"


def _is_claim(found: dict[str, File | None], path: str) -> bool:
    """Whether an empty file is there, and beside it the temporary file that was to replace it."""
    return _bytes_at(found, path) == b"" and any(is_temporary(one, {path}) for one in found)


def _inode_at(disk: Disk, path: str) -> int | None:
    return next((inode for found, inode in disk.walk() if found == path), None)


def _bytes_at(paths: dict[str, File | None], path: str) -> bytes | None:
    file = paths.get(path)
    return None if file is None else file.data
