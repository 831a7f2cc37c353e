"""The Parquet files that paths name: files, folders and patterns, on any file system."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.source.filesystems import Place, is_fsspec, locate
from parquet_bloomwriter.source.folders import find_local, is_listed, none_in, none_matches
from parquet_bloomwriter.source.fsspec import list_fsspec, look_fsspec
from parquet_bloomwriter.source.location import Location
from parquet_bloomwriter.source.patterns import has_magic, matches, split_pattern
from parquet_bloomwriter.source.remote import list_arrow, look_arrow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from parquet_bloomwriter.source.filesystems import StrPath

    Found = tuple[str, Any]
    """A path, and what a listing said of it."""

_THREADS = 16
"""Requests at the same time, where many paths are named."""


def find_sources(
    given: StrPath | Location | Iterable[StrPath | Location], *, filesystem: object = None
) -> list[Location]:
    """Find the files that paths name, each once, in the order of the paths.

    Folders are searched through for Parquet files; names that begin with `.` or `_` are left out.
    A name that is not there is taken for a file: opening it says so.

    Args:
        given: Paths or URLs of files and folders, and glob patterns; one or many.
        filesystem: What the paths are relative to: a file system of pyarrow or fsspec, or the URL
            of a folder on one.

    Raises:
        InvalidArgument: If a folder or pattern matches nothing, or a URL cannot be opened here.
        OSError: If a folder cannot be listed.
    """
    several = [given] if isinstance(given, str | os.PathLike | Location) else list(given)
    # In this thread: fsspec makes another file system, unequal to the first, for each thread.
    places = [one if isinstance(one, Location) else locate(one, filesystem) for one in several]
    if len(places) == 1:
        return _expand(places[0])
    if sum(isinstance(one, Place) and one.filesystem is not None for one in places) > 1:
        with ThreadPoolExecutor(min(_THREADS, len(places))) as pool:
            groups = list(pool.map(_expand, places))
    else:
        groups = [_expand(one) for one in places]
    once: dict[Location, Location] = {}
    for group in groups:
        for location in group:
            once.setdefault(_plain(location), location)
    return list(once.values())


def _expand(place: Place | Location) -> list[Location]:
    if isinstance(place, Location):
        return [place]
    now = time.time()
    if place.filesystem is None:
        paths = find_local(place.path)
        inner = _inner(place, is_folder=os.path.isdir(place.path))  # noqa: PTH112  as it is spelled
        if place.name == place.path:
            return [Location(path=path, inner=inner(path)) for path in paths]
        found: list[Found] = [(path, None) for path in paths]
    else:
        found = _find_remote(place)
        is_folder = not has_magic(place.path) and [place.path] != [path for path, _ in found]
        inner = _inner(place, is_folder=is_folder)
    spell = _speller(place)
    return [
        Location(
            path=path,
            filesystem=place.filesystem,
            name=spell(path),
            inner=inner(path),
            found=info,
            found_at=now,
        )
        for path, info in found
    ]


def _inner(place: Place, *, is_folder: bool) -> Callable[[str], str]:
    """How paths found at a place continue that of the folder, if it is one."""
    return lambda path: "/".join(_names(path, place.path)) if is_folder else ""


def _find_remote(place: Place) -> list[Found]:
    look, list_files = (
        (look_fsspec, list_fsspec) if is_fsspec(place.filesystem) else (look_arrow, list_arrow)
    )
    kind, info = look(place.filesystem, place.path)
    if kind == "directory":
        files = list_files(place.filesystem, place.path, None)
        found = [one for one in files if is_listed(_names(one[0], place.path))]
        return sorted(found, key=_path) or none_in(place.name)
    if kind == "file" or not has_magic(place.path):
        return [(place.path, info)]
    folder, patterns = split_pattern(place.path)
    files = list_files(place.filesystem, folder, None if "**" in patterns else len(patterns))
    found = [one for one in files if matches(patterns, _names(one[0], folder))]
    return sorted(found, key=_path) or none_matches(place.name)


def _path(found: Found) -> str:
    return found[0]


def _names(path: str, folder: str) -> list[str]:
    """The path relative to a folder that it lies in, name by name."""
    return path.lstrip("/").removeprefix(folder.strip("/")).lstrip("/").split("/")


def _speller(place: Place) -> Callable[[str], str]:
    """How paths found at a place are spelled in the caller's terms."""
    name, path = place.name.rstrip("/"), place.path.rstrip("/")
    shown, hidden = name, path
    while shown and hidden and shown[-1] == hidden[-1]:
        shown, hidden = shown[:-1], hidden[:-1]

    def spell(found: str) -> str:
        return shown + found.removeprefix(hidden) if found.startswith(hidden) else found

    return spell


def _plain(location: Location) -> Location:
    """The same for all spellings of a local path but those by symbolic links."""
    if location.filesystem is not None or _is_plain(location.path):
        return location
    return Location(path=os.path.abspath(location.path))  # noqa: PTH100  no object needed


def _is_plain(path: str) -> bool:
    """Whether this is the one spelling of an absolute path without detours."""
    return os.sep == "/" and path.startswith("/") and "//" not in path and "/." not in path
