"""On a file system with reflinks a new file shares the blocks of the old one that stay in place."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import bloomify, strip

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DISK_BYTES = 400 * 1024 * 1024
"""XFS makes no smaller ones than 300 MB; the file that has them is sparse."""

SBIN = f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin{os.pathsep}/sbin"


@pytest.fixture
def xfs(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on an XFS of its own, where this machine lets us mount one."""
    make = shutil.which("mkfs.xfs", path=SBIN)
    if make is None:
        pytest.skip("mkfs.xfs is missing (Debian's xfsprogs has it)")
    if os.geteuid() != 0:
        pytest.skip("only root mounts file systems")
    disk, folder = tmp_path / "disk", tmp_path / "xfs"
    folder.mkdir()
    with disk.open("wb") as file:
        file.truncate(DISK_BYTES)
    subprocess.run([make, "-q", "-m", "reflink=1", disk], check=True, capture_output=True)
    mounted = subprocess.run(
        ["mount", "-o", "loop", disk, folder],  # noqa: S607  wherever it is
        check=False,
        capture_output=True,
        text=True,
    )
    if mounted.returncode != 0:
        pytest.skip(f"no XFS can be mounted here: {' '.join(mounted.stderr.split())}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)  # noqa: S607


def used(folder: Path) -> int:
    """Bytes that all files together take on the disk."""
    os.sync()
    found = os.statvfs(folder)
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def test_filters_at_the_end_cost_only_their_own_blocks(xfs: Path) -> None:
    values = np.random.default_rng(1).integers(0, 2**62, 2_000_000)
    path, new, back = (xfs / name for name in ("a.parquet", "b.parquet", "c.parquet"))
    table = pa.table({"id": np.arange(2_000_000) % 70_000, "noise": values})
    pq.write_table(table, path, compression="none", use_dictionary=False, row_group_size=500_000)
    size = path.stat().st_size
    before = used(xfs)
    report = bloomify(path, ["id"], output=new, placement="end")
    assert report.num_built == 4
    added = report.size_after - report.size_before
    with_filters = used(xfs)
    assert with_filters - before < 2 * added + size // 50
    strip(new, output=back)
    assert used(xfs) - with_filters < size // 50
    assert back.read_bytes() == path.read_bytes()
    bloomify(path, ["noise"], output=xfs / "d.parquet", placement="column-chunk")
    assert used(xfs) - before > size // 2  # this one moves the data, so that they are copied
