"""Folders, patterns and lists: the same files on every file system, in one order, each once."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING, Any

import pyarrow.fs as pafs
import pytest
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.source import Location, find_sources, open_for_reading
from parquet_bloomwriter.source.listing import matches, split_pattern
from tests.source.stores import AsyncStore, CountingHandler

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LISTED = ("a.parquet", "b.parq", "p=1/c.pq", "p=1/q=2/d.parquet", "x[1].parquet")
OTHERS = (
    ".h.parquet",
    "_h.parquet",
    "_log/e.parquet",
    "p=1/.git/e.pq",
    "z.csv",
    "none/n.csv",
    "folder.parquet/n.csv",
)
FILES = {name: name.encode() for name in LISTED + OTHERS}
PATTERNS = ("*", "*.parquet", "p=1/*", "**/*.parquet", "**", "p=*/**/*.p*", "?.parq", "[ab].*",
            "[!a].*", "x[[]1].parquet", "_*", ".h*", "**/.git/*", "p=1/**/d.parquet")  # fmt: skip


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[dict[str, tuple[str, Any]]]:
    """The same files in many places: the folder, and its file system."""
    memory = MemoryFileSystem()
    for name, data in FILES.items():
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        memory.pipe_file(f"/top/data/{name}", data)
    named = {f"data/{name}": data for name, data in FILES.items()}
    yield {
        "local": (str(tmp_path / "data"), None),
        "local URL": ((tmp_path / "data").as_uri(), None),
        "pyarrow, local": (str(tmp_path / "data"), pafs.LocalFileSystem()),
        "pyarrow, subtree": ("data", pafs.SubTreeFileSystem(str(tmp_path), pafs.LocalFileSystem())),
        "pyarrow, own": ("data", pafs.PyFileSystem(CountingHandler(named))),
        "pyarrow over fsspec": ("/top/data", pafs.PyFileSystem(pafs.FSSpecHandler(memory))),
        "fsspec, local": (str(tmp_path / "data"), LocalFileSystem()),
        "fsspec, memory": ("top/data", memory),
        "fsspec, subtree": ("data", DirFileSystem("/top", memory)),
        "fsspec, asynchronous": ("data", AsyncStore(named)),
        "fsspec URL": ("memory://top/data", None),
        "file system by URL": ("data", tmp_path.as_uri()),
    }
    memory.rm("/top", recursive=True)


def names(found: list[Location], folder: str) -> list[str]:
    """Names relative to the folder, as the caller spelled that."""
    assert all(str(location).startswith(f"{folder}/") for location in found), found
    return [str(location).removeprefix(f"{folder}/") for location in found]


def contents(found: list[Location]) -> list[str]:
    def content(location: Location) -> str:
        with location.open() as source:
            assert source.name == str(location)
            return source.read_at(0, source.size).decode()

    return [content(location) for location in found]


def test_folders(stores: dict[str, tuple[str, Any]]) -> None:
    for where, (folder, filesystem) in stores.items():
        for spelled in (folder, f"{folder}/"):
            found = find_sources(spelled, filesystem=filesystem)
            assert names(found, folder) == sorted(LISTED), where
            assert contents(found) == sorted(LISTED), where


def test_patterns(stores: dict[str, tuple[str, Any]]) -> None:
    root, _ = stores["local"]
    for pattern in PATTERNS:
        paths = sorted(glob.glob(f"{root}/{pattern}", recursive=True))  # noqa: PTH207  the referee
        expected = [os.path.relpath(path, root) for path in paths if os.path.isfile(path)]  # noqa: PTH113  same
        assert expected, pattern
        for where, (folder, filesystem) in stores.items():
            if where.endswith("URL") and set(pattern) & set("?[!"):
                continue  # These have other meanings in URLs.
            found = find_sources(f"{folder}/{pattern}", filesystem=filesystem)
            assert names(found, folder) == expected, (where, pattern)
            assert contents(found) == expected, (where, pattern)


def test_names_that_look_like_patterns(stores: dict[str, tuple[str, Any]]) -> None:
    for where, (folder, filesystem) in stores.items():
        if where != "local URL":
            found = find_sources(f"{folder}/x[1].parquet", filesystem=filesystem)
            assert contents(found) == ["x[1].parquet"], where


def test_lists(stores: dict[str, tuple[str, Any]]) -> None:
    for where, (folder, filesystem) in stores.items():
        asked = [f"{folder}/z.csv", f"{folder}/p=1", f"{folder}/*.parq", f"{folder}/p=1/c.pq"]
        found = find_sources(iter(asked), filesystem=filesystem)
        assert names(found, folder) == ["z.csv", "p=1/c.pq", "p=1/q=2/d.parquet", "b.parq"], where
        again = find_sources(found, filesystem=filesystem)
        assert again == found, where
    assert find_sources([]) == []


def test_other_spellings_are_the_same_file(
    stores: dict[str, tuple[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, _ = stores["local"]
    monkeypatch.chdir(root)
    assert [
        str(one) for one in find_sources(["a.parquet", "./a.parquet", f"{root}/a.parquet"])
    ] == ["a.parquet"]


def test_mixed_places(stores: dict[str, tuple[str, Any]]) -> None:
    root, _ = stores["local"]
    found = find_sources([f"{root}/a.parquet", "memory://top/data/a.parquet", f"{root}/b.parq"])
    assert contents(found) == ["a.parquet", "a.parquet", "b.parq"]


def test_what_is_not_there(stores: dict[str, tuple[str, Any]]) -> None:
    for where, (folder, filesystem) in stores.items():
        (found,) = find_sources(f"{folder}/missing.parquet", filesystem=filesystem)
        with pytest.raises(FileNotFoundError) as caught, found.open():
            pass
        assert caught.value.filename is not None, where
        with pytest.raises(InvalidArgument, match="no file matches"):
            find_sources(f"{folder}/nothing*", filesystem=filesystem)
        with pytest.raises(InvalidArgument, match="no Parquet files in the folder"):
            find_sources(f"{folder}/none", filesystem=filesystem)


def test_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for filesystem in (None, pafs.LocalFileSystem()):
        with pytest.raises(InvalidArgument, match="no Parquet files in the folder"):
            find_sources(tmp_path / "empty", filesystem=filesystem)


def test_one_listing_is_enough(stores: dict[str, tuple[str, Any]]) -> None:
    folder, filesystem = stores["pyarrow, own"]
    handler = filesystem.handler
    found = find_sources(folder, filesystem=filesystem)
    assert handler.log[:2] == [("info", "data"), ("list", "data", True)]
    opened = {entry[1] for entry in handler.log[2:] if entry[0] == "open"}
    assert opened == {f"data/{name}" for name in OTHERS if name.endswith(".csv")}
    assert sum(entry[0] == "list" for entry in handler.log) == 1
    handler.log.clear()
    find_sources(f"{folder}/*.parquet", filesystem=filesystem)
    assert handler.log == [("info", "data/*.parquet"), ("list", "data", False)]
    handler.log.clear()
    contents(found)
    assert {entry[0] for entry in handler.log if isinstance(entry[0], str)} == {"open"}
    folder, store = stores["fsspec, asynchronous"]
    found = find_sources(folder, filesystem=store)
    store.log.clear()
    contents(found)
    assert len(store.log) == len(found)


def test_a_location_without_a_name() -> None:
    with open_for_reading(Location(path=__file__)) as source:
        assert source.name == __file__


# ---------------------------------------------------------------- patterns by themselves


def test_where_a_pattern_begins() -> None:
    assert split_pattern("a/b/*/c?.parquet") == ("a/b", ["*", "c?.parquet"])
    assert split_pattern("/*") == ("", ["*"])
    assert split_pattern("*") == ("", ["*"])
    assert split_pattern("a/b") == ("a/b", [])


NAME = st.text("ab.", min_size=1, max_size=3)


@given(
    path=st.lists(NAME, min_size=1, max_size=4),
    cut=st.integers(0, 4),
    hidden=st.booleans(),
)
def test_two_stars_are_any_folders(path: list[str], cut: int, *, hidden: bool) -> None:
    folders = [name.lstrip(".") or "a" for name in path]
    assert matches(["**", "f"], [*folders, "f"])
    assert matches([*folders[:cut], "**", *folders[cut:]], folders)
    assert not matches(["**", "f"], [*folders, "g"])
    if hidden:
        assert not matches(["**", "f"], [*folders[:cut], ".h", *folders[cut:], "f"])
