"""Classes are loaded only from files that no other user could have written."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from campaigns.security.limits import no_hang
from parquet_bloomwriter.errors import UnsupportedFile
from parquet_bloomwriter.spark import jobs
from parquet_bloomwriter.spark.adaptor import jar_cache
from parquet_bloomwriter.spark.jobs import scratch_folder
from parquet_bloomwriter.spark.table.checksums import Sidecar
from parquet_bloomwriter.spark.table.journal import FOLDER, Journal, Line

NOBODY = 65534

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def code(tmp_path: Path) -> Path:
    path = tmp_path / "code"
    path.write_bytes(b"code")
    path.chmod(0o600)
    return path


def test_a_file_of_ours_is_read(code: Path) -> None:
    assert jar_cache.read_ours(code) == b"code"


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o777])
def test_a_file_that_others_can_write_is_refused(code: Path, mode: int) -> None:
    code.chmod(mode)
    with pytest.raises(PermissionError, match="another user"):
        jar_cache.read_ours(code)


@needs_root
def test_a_file_of_another_user_is_refused(code: Path) -> None:
    os.chown(code, NOBODY, NOBODY)
    with pytest.raises(PermissionError, match="another user"):
        jar_cache.read_ours(code)


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    with no_hang(10), pytest.raises(PermissionError, match="another user"):
        jar_cache.read_ours(tmp_path / "pipe")


@needs_root
def test_what_is_looked_at_is_what_is_read(
    code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever swaps the file just after it was opened is not read."""
    evil = tmp_path / "evil"
    evil.write_bytes(b"evil")
    os.chown(evil, NOBODY, NOBODY)
    look = os.fstat

    def swapping(fd: int) -> os.stat_result:
        if evil.exists():
            evil.replace(code)
        return look(fd)

    monkeypatch.setattr(os, "fstat", swapping)
    assert jar_cache.read_ours(code) == b"code"
    assert code.read_bytes() == b"evil"


def test_what_is_kept_is_ours_whatever_the_umask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a" / "cache"
    monkeypatch.setenv("PARQUET_BLOOMWRITER_CACHE", str(folder))
    before = os.umask(0)
    try:
        jar_cache.keep("name", b"code")
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "name").stat().st_mode) == 0o600
    assert jar_cache.read_ours(folder / "name") == b"code"


def test_a_link_in_the_cache_is_replaced_and_not_written_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARQUET_BLOOMWRITER_CACHE", str(tmp_path))
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "name").symlink_to(tmp_path / "precious")
    jar_cache.keep("name", b"code")
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (tmp_path / "name").is_symlink()


def test_a_link_to_a_file_of_ours_is_refused(code: Path, tmp_path: Path) -> None:
    """Otherwise a stranger could choose any file of this user."""
    (tmp_path / "link").symlink_to(code)
    with pytest.raises(OSError, match="symbolic links"):
        jar_cache.read_ours(tmp_path / "link")


def test_nothing_is_loaded_from_a_folder_of_others_nor_kept_there(
    code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARQUET_BLOOMWRITER_CACHE", str(tmp_path))
    for mode in (0o777, 0o1777, 0o775):
        tmp_path.chmod(mode)
        with pytest.raises(PermissionError, match="another user"):
            jar_cache.read_ours(code)
        jar_cache.keep("name", b"code")
        assert list(tmp_path.iterdir()) == [code]


def test_a_user_without_a_home_has_one_folder_for_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("XDG_CACHE_HOME", "PARQUET_BLOOMWRITER_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert [one.name for one in jar_cache.cache_folders()] == ["__pycache__"]


def test_the_scratch_folder_is_private() -> None:
    assert stat.S_IMODE(Path(scratch_folder()).stat().st_mode) == 0o700


def test_a_process_that_was_forked_off_leaves_the_scratch_folder() -> None:
    program = (
        "import os, sys\n"
        "from parquet_bloomwriter.spark.jobs import scratch_folder\n"
        "folder = scratch_folder()\n"
        "child = os.fork()\n"
        "if child:\n"
        "    os.waitpid(child, 0)\n"
        "    print(folder, os.path.isdir(folder))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    folder, is_there = done.stdout.decode().split()
    assert is_there == "True"
    assert not Path(folder).exists()


def test_a_scratch_folder_that_was_cleaned_up_is_not_taken_from_a_stranger(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs, "_scratch", [])  # The one of this process may be in use, by Spark.
    first = Path(scratch_folder())
    assert str(first) == scratch_folder()
    first.rmdir()
    second = Path(scratch_folder())
    assert second != first
    second.chmod(0o777)
    third = Path(scratch_folder())
    second.rmdir()
    second.symlink_to(third)
    assert Path(scratch_folder()) == third
    third.rmdir()
    third.symlink_to(first)
    assert Path(scratch_folder()) not in (first, second, third)
    second.unlink()
    third.unlink()


LINE = Line(name="f", asked="a", source=(1, 2), written=(3, 4))


def test_a_journal_is_not_written_through_a_link(tmp_path: Path) -> None:
    journal = Journal(output=str(tmp_path / "out"))
    journal.begin()
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "out" / FOLDER / journal.file).symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="symbolic links"):
        journal.append(LINE)
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_journal_is_not_waited_for(tmp_path: Path) -> None:
    journal = Journal(output=str(tmp_path / "out"))
    journal.begin()
    journal.append(LINE)
    assert journal.done("a") == {LINE}
    os.mkfifo(tmp_path / "out" / FOLDER / "pipe.jsonl")
    with no_hang(10), pytest.raises(UnsupportedFile, match="FIFO"):
        journal.done("a")


def test_a_checksum_file_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    path.write_bytes(b"data")
    os.mkfifo(tmp_path / ".file.parquet.crc")
    with no_hang(10), pytest.raises(UnsupportedFile, match="FIFO"):
        Sidecar(path=str(path), gives_way=True).begin(num_bytes=4, num_filters=0)
    assert path.read_bytes() == b"data"
