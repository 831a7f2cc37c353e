"""Two files exchange names."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter.replace import names as module
from parquet_bloomwriter.replace.names import exchange

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has it")


def test_each_has_the_name_of_the_other(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "\udcff\u0142"
    one.write_bytes(b"1")
    other.write_bytes(b"2")
    inodes = one.stat().st_ino, other.stat().st_ino
    exchange(str(one), str(other))
    assert (one.read_bytes(), other.read_bytes()) == (b"2", b"1")
    assert (other.stat().st_ino, one.stat().st_ino) == inodes


def test_a_file_and_a_folder(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"1")
    other.mkdir()
    exchange(str(one), str(other))
    assert one.is_dir()
    assert other.read_bytes() == b"1"


def test_a_missing_file_is_an_error_that_names_both(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"1")
    with pytest.raises(FileNotFoundError) as caught:
        exchange(str(one), str(other))
    assert (caught.value.filename, caught.value.filename2) == (str(one), str(other))
    assert os.listdir(tmp_path) == ["one"]  # noqa: PTH208


def test_a_system_without_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_renameat2", lambda: None)
    with pytest.raises(OSError, match="Function not implemented") as caught:
        exchange("one", "other")
    assert caught.value.errno == errno.ENOSYS
