"""Folders and names that somebody swaps while we work: nothing is written through them."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from campaigns.security.limits import no_hang
from parquet_bloomwriter import bloomify, index
from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.index.format.parquet_io import ParquetOut
from parquet_bloomwriter.replace.temporary import temporary_beside

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PRECIOUS = b"years of work"
SCHEMA = pa.schema([("id", pa.int64())])


@dataclass(slots=True)
class Swapping:
    """A `Progress` that swaps a folder for a link to another at the n-th report."""

    swap: Callable[[], None]
    left: int

    def begin(self, *, num_bytes: int, num_filters: int) -> None:
        """Count."""
        del num_bytes, num_filters
        self._count()

    def wrote(self, num_bytes: int) -> None:
        """Count."""
        del num_bytes
        self._count()

    def built(self) -> None:
        """Count."""
        self._count()

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.swap()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Return a folder with a file, beside one of the same layout with precious files."""
    (tmp_path / "work").mkdir()
    (tmp_path / "precious").mkdir()
    for file in ("file.parquet", "out", "file.parquet.old"):
        (tmp_path / "precious" / file).write_bytes(PRECIOUS)
    pq.write_table(pa.table({"id": range(1000)}), tmp_path / "work" / "file.parquet")
    return tmp_path / "work"


def swap(work: Path) -> None:
    work.rename(work.with_name("aside"))
    work.symlink_to(work.with_name("precious"))


@pytest.mark.parametrize("left", range(1, 8))
@pytest.mark.parametrize("options", [{}, {"output": "out"}, {"backup_suffix": ".old"}], ids=str)
def test_a_folder_that_is_swapped_for_a_link(
    work: Path, options: dict[str, str], left: int
) -> None:
    path, precious = work / "file.parquet", work.with_name("precious")
    old = path.read_bytes()
    given = {name: str(work / text) if name == "output" else text for name, text in options.items()}
    progress = Swapping(lambda: swap(work), left)
    with contextlib.suppress(BloomwriterError, OSError):
        bloomify(path, ["id"], progress=progress, **given)  # type: ignore[arg-type]
    assert {file.name: file.read_bytes() for file in precious.iterdir()} == dict.fromkeys(
        ("file.parquet", "out", "file.parquet.old"), PRECIOUS
    )
    if progress.left <= 0:
        assert (work.with_name("aside") / "file.parquet").read_bytes() == old


@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "folder", "file"])
def test_a_name_that_somebody_has_guessed_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    guessed = tmp_path / f".a.bloomify-{'0' * 16}.tmp"
    (tmp_path / "precious").write_bytes(PRECIOUS)
    makers: dict[str, Callable[[], object]] = {
        "link": lambda: guessed.symlink_to(tmp_path / "precious"),
        "dangling link": lambda: guessed.symlink_to(tmp_path / "made by us"),
        "pipe": lambda: os.mkfifo(guessed),
        "folder": guessed.mkdir,
        "file": lambda: guessed.write_bytes(PRECIOUS),
    }
    makers[kind]()
    digits = iter(["0" * 16, "1" * 16])
    monkeypatch.setattr(os, "urandom", lambda _: bytes.fromhex(next(digits)))
    with no_hang(10), temporary_beside(str(tmp_path / "a"), permissions=0o666) as temporary:
        os.write(temporary.fd, b"new")
        assert temporary.path.endswith(f"{'1' * 16}.tmp")
    assert (tmp_path / "precious").read_bytes() == PRECIOUS
    assert not (tmp_path / "made by us").exists()
    assert os.path.lexists(guessed)


def test_a_part_that_is_swapped_for_a_link_is_not_written_through(tmp_path: Path) -> None:
    path, precious = tmp_path / "part.bfindex", tmp_path / "precious"
    precious.write_bytes(PRECIOUS)
    with contextlib.suppress(OSError), ParquetOut(str(path), SCHEMA) as out:
        path.unlink()
        path.symlink_to(precious)
        out.write(pa.table({"id": [1]}, schema=SCHEMA))
        out.finish()
    assert precious.read_bytes() == PRECIOUS


def test_nothing_of_an_index_is_opened_for_writing_by_a_name_that_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of an index is made by one call that refuses links; it is never opened again."""
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "a.parquet")
    opened: list[tuple[str, int]] = []
    really = os.open

    def noting(path: str, flags: int, mode: int = 0o777, **more: int) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            opened.append((os.fspath(path), flags))
        return really(path, flags, mode, **more)

    monkeypatch.setattr(os, "open", noting)
    monkeypatch.setattr(pa, "OSFile", partial(_only_to_read, pa.OSFile))
    index.create(tmp_path, ["id"], name="ids")
    made = [path for path, _ in opened]
    assert sum(path.endswith(".bfindex") for path in made) == 2
    assert all(flags & os.O_EXCL for _, flags in opened)
    assert all(
        re.search(r"-[0-9a-f-]{36}\.|/manifest\.|-[0-9a-f]{16}\.tmp$", path) for path in made
    )


def _only_to_read(really: Callable[[bytes], object], path: bytes, mode: str = "r") -> object:
    assert mode == "r"
    return really(path)
