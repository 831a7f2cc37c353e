"""Folders of the user, who may have no home."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

from parquet_bloomwriter.stores.object_cache import default_cache
from parquet_bloomwriter.stores.s3.journal import Entry, journal_folder
from parquet_bloomwriter.table_files.files import FileEntry
from parquet_bloomwriter.tables.records import Records
from parquet_bloomwriter.user_folders import cache_folder, state_folder

if TYPE_CHECKING:
    import pytest


def test_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert state_folder() == tmp_path / ".local" / "state" / "parquet-bloomwriter"
    assert cache_folder() == tmp_path / "elsewhere" / "parquet-bloomwriter"


def test_another_user_can_put_nothing_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    tmp_path.chmod(0o1777)
    before = os.umask(0)
    try:
        folder = cache_folder()
    finally:
        os.umask(before)
    assert folder is not None
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for mode in (0o777, 0o1777, 0o720, 0o702):
        folder.chmod(mode)
        assert (cache_folder(), state_folder()) == (None, None)
    folder.chmod(0o755)
    assert cache_folder() == folder
    if os.geteuid() == 0:
        os.chown(folder, 65534, 65534)
        assert (cache_folder(), state_folder()) == (None, None)


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> NoReturn:
        raise RuntimeError("Could not determine home directory.")

    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert (cache_folder(), state_folder()) == (None, None)
    assert default_cache() is not None
    bucket: Any = SimpleNamespace(endpoint="http://here", name="bucket")
    Entry(bucket, "a.parquet", attempt="1").remove()
    assert not journal_folder().exists()


def test_no_other_user_can_enter_the_folders_that_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor those above them, whatever the umask is."""
    before = os.umask(0)
    try:
        for variable, find in (("XDG_CACHE_HOME", cache_folder), ("XDG_STATE_HOME", state_folder)):
            monkeypatch.setenv(variable, str(tmp_path / variable / "a" / "b"))
            folder = find()
            assert folder is not None
            while folder != tmp_path:
                assert folder.stat().st_mode & 0o777 == 0o700
                folder = folder.parent
    finally:
        os.umask(before)


def test_records_of_tables_are_not_taken_from_other_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    before = os.umask(0)
    try:
        records = Records("a table")
        records.note_new("a.parquet", 4, ["id"])
        records.save({"a.parquet"})
    finally:
        os.umask(before)
    file = FileEntry(key=0, path="a.parquet", size=4, partition=(), age_rank=0)
    assert Records("a table").finished(file) == {"id"}
    folder = tmp_path / "parquet-bloomwriter" / "tables"
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o770)
    assert not Records("a table").finished(file)
