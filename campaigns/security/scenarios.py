"""Everything that writes files, one thing after the other: run under strace by `tracing`.

    python -m campaigns.security.scenarios FOLDER

Each scenario works in a folder of its own below FOLDER; what is there before is made first, so that
the trace of the scenarios has only what the package does. The umask is 0: nothing but the package
keeps permissions narrow.
"""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from bloomify.console.page_file import write_page
from parquet_bloomwriter import bloomify, index, strip
from parquet_bloomwriter.replace.external_references import crc_path
from parquet_bloomwriter.spark.table.checksums import Sidecar, checksums_of
from parquet_bloomwriter.spark.table.rewrite import copy_whole

if TYPE_CHECKING:
    from collections.abc import Callable

NOBODY = 65534
MODES = (0o400, 0o600, 0o640, 0o666, 0o4755, 0o2640)
BEGIN = "scenarios begin"
"""A folder that is made, so that the trace says where they begin."""

_OWNER, _USER, _GROUP, _MASK, _OTHERS, _NO_ID = 0x01, 0x02, 0x04, 0x10, 0x20, 0xFFFFFFFF
_RIGHTS = ((_OWNER, 7), (_USER, 7), (_GROUP, 7), (_MASK, 7), (_OTHERS, 7))
_DEFAULT_ACL = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", tag, rights, NOBODY if tag == _USER else _NO_ID) for tag, rights in _RIGHTS
)
"""Everybody may do everything with new files."""


def main(folder: Path) -> None:
    """Prepare, then work."""
    os.umask(0)
    works = [*_in_place(folder), *_elsewhere(folder), *_others(folder)]
    (folder / BEGIN).mkdir()
    for work in works:
        work()


def _in_place(folder: Path) -> list[Callable[[], object]]:
    works: list[Callable[[], object]] = []
    for mode in MODES:
        path = _file(folder / f"in-place-{mode:o}", mode)
        works.append(lambda path=path: bloomify(path, ["id"]))  # type: ignore[misc]
    open_folder = _file(folder / "default-acl", 0o600, acl=True)
    set_group = _file(folder / "setgid", 0o640)
    set_group.parent.chmod(0o2777)
    backup = _file(folder / "backup", 0o640)
    crc = _file(folder / "crc", 0o640)
    crc_path(crc).write_bytes(checksums_of(str(crc)))
    crc_path(crc).chmod(0o600)
    twice = _file(folder / "strip", 0o600)
    bloomify(twice, ["id"])
    return [
        *works,
        lambda: bloomify(open_folder, ["id"]),
        lambda: bloomify(set_group, ["id"]),
        lambda: bloomify(backup, ["id"], backup_suffix=".old"),
        lambda: bloomify(crc, ["id"], regenerate_crc=True),
        lambda: strip(twice),
    ]


def _elsewhere(folder: Path) -> list[Callable[[], object]]:
    new, setuid = _file(folder / "new", 0o640), _file(folder / "new-setuid", 0o4755)
    old, in_acl = _file(folder / "overwrite", 0o666), _file(folder / "new-acl", 0o600, acl=True)
    (old.parent / "out").write_bytes(b"old")
    (old.parent / "out").chmod(0o600)
    return [
        lambda: bloomify(new, ["id"], output=new.parent / "out"),
        lambda: bloomify(setuid, ["id"], output=setuid.parent / "out"),
        lambda: bloomify(old, ["id"], output=old.parent / "out", overwrite=True),
        lambda: bloomify(in_acl, ["id"], output=in_acl.parent / "out"),
    ]


def _others(folder: Path) -> list[Callable[[], object]]:
    indexed, copied = _file(folder / "indexed", 0o600), _file(folder / "copied", 0o600)
    table, beside = indexed.parent, _file(folder / "sidecar", 0o640)
    page = folder / "page"
    page.mkdir()
    crc_path(beside).write_bytes(checksums_of(str(beside)))
    return [
        lambda: index.create(table, ["id"], name="ids"),
        lambda: index.refresh(table, name="ids", mode="full"),
        lambda: index.vacuum(table, name="ids"),
        lambda: copy_whole(str(copied), str(copied.parent / "out")),
        lambda: _through_sidecar(str(beside)),
        lambda: write_page(str(page / "page.html"), b"<p>", overwrite=False),
    ]


def _through_sidecar(path: str) -> None:
    sidecar = Sidecar(path=path, gives_way=True)
    sidecar.begin(num_bytes=1, num_filters=0)
    sidecar.come_back()


def _file(folder: Path, mode: int, *, acl: bool = False) -> Path:
    """Make a file, of somebody else if we are root, in a folder of its own."""
    folder.mkdir()
    path = folder / "file.parquet"
    pq.write_table(pa.table({"id": range(100)}), path)
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    path.chmod(mode)
    if acl:
        os.setxattr(folder, "system.posix_acl_default", _DEFAULT_ACL)
    return path


if __name__ == "__main__":
    main(Path(sys.argv[1]))
