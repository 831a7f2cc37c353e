"""The Parquet files that paths name: files, folders and patterns, on any file system.

Folders are searched through; `folders` has the rule for which files count. A name that is not there
is taken for a file: opening it says so. Patterns match whatever has such a name. On local paths
they are those of the module `glob`; on stores, with slashes between names:

    *, ?, [ab], [!ab]    within one name, and not a leading dot
    **                   any folders, none included, but for those with a leading dot

What a listing says of a file, its size and identity, goes with its `Location`, so that opening a
thousand files does not ask a thousand times. It is trusted for as long as it takes to get to the
last of them, and no longer: a list of locations may be kept for hours, while files are written
anew.
"""

# ruff: noqa: PTH112, PTH113, PTH207  paths stay spelled as they were given
from __future__ import annotations

import glob
import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from glob import has_magic
from typing import TYPE_CHECKING, Any, NoReturn

from parquet_bloomwriter.errors import InvalidArgument, NoFileMatches
from parquet_bloomwriter.source.filesystems import ResolvedPath, is_fsspec, locate
from parquet_bloomwriter.source.folders import (
    Leftovers,
    Why,
    by_magic,
    is_dead,
    is_parquet,
    passed_over_text,
    sort_out,
    walk,
    why_not_by_magic,
)
from parquet_bloomwriter.source.local import open_local
from parquet_bloomwriter.text import redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.metadata import Footer
    from parquet_bloomwriter.source.base import Source
    from parquet_bloomwriter.source.filesystems import StrPath

    Listed = tuple[str, Any]
    """Path of a file, and the information that a listing gives of it."""


def find_local(given: str, leftovers: Leftovers | None = None) -> list[str]:
    """Find the files that a local path names: a file, a folder, or a pattern.

    Args:
        given: The path.
        leftovers: Takes what is passed over in a folder.

    Raises:
        InvalidArgument: If there are none in the folder, or none matches.
        OSError: If a folder cannot be listed.
    """
    if os.path.isdir(given):
        left = Leftovers() if leftovers is None else leftovers
        found = (
            one.entry.path
            for one in walk(given, left)
            if one.is_sure or is_parquet(one.entry.path, left)
        )
        return sorted(found) or none_in(given, left)
    if is_pattern(given):
        files = (path for path in _matching(given) if os.path.isfile(path))
        return sorted(files) or none_matches(given)
    return [given]


def _matching(pattern: str) -> Iterable[str]:
    """Return the files, and perhaps folders, that a local pattern matches.

    Under `**`, the module `glob` would follow links in circles, and links multiply.
    """
    folder, patterns = split_pattern(pattern)
    if "**" not in patterns or not {"", ".", ".."}.isdisjoint(patterns):
        return glob.glob(pattern, recursive=True)
    start = f"{folder}/" if folder or pattern.startswith("/") else ""
    if not os.path.isdir(start or os.curdir):
        return ()
    is_open = any(one.startswith(".") for one in patterns)
    below = walk(
        start or os.curdir,
        Leftovers(),
        hides=lambda entry, is_folder: is_folder and entry.name.startswith(".") and not is_open,
    )
    return (start + one.inner for one in below if matches(patterns, one.inner.split("/")))


def find_in_folder(given: StrPath, filesystem: object = None) -> list[tuple[str, int | None]]:
    """Find the files in a folder whose rows are to be read, without links that lead nowhere.

    Args:
        given: A path, of whatever there is.
        filesystem: As for `find_sources`.

    Returns:
        The paths of the files below the folder, and their sizes in bytes as far as they are known;
        none if there are none, or if the path names no folder.

    Raises:
        OSError: If the folder cannot be listed.
    """
    place, left = locate(given, filesystem), Leftovers()
    if place.filesystem is None:
        if not os.path.isdir(place.path):
            return []
        return sorted(
            (one.inner, None)
            for one in walk(place.path, left)
            if (one.is_sure or is_parquet(one.entry.path, left)) and not is_dead(one)
        )
    if _stat(place)[0] != "directory":
        return []
    return [(inner_path(path, place.path), size_in(info)) for path, info in _members(place, left)]


def is_pattern(given: str) -> bool:
    """Return whether a path is a pattern: it looks like one, and no file has that very name."""
    return glob.has_magic(given) and not os.path.lexists(given)


def none_in(folder: str, leftovers: Leftovers | None = None) -> NoReturn:
    """Raise the error for a folder without Parquet files, which says what was passed over in it."""
    note = "" if leftovers is None else passed_over_text(leftovers.groups())
    raise InvalidArgument(
        f'there are no Parquet files in the folder "{folder}"' + (f"; {note}" if note else ""),
        remedy="Name another folder, or the files.",
    )


def none_matches(pattern: str) -> NoReturn:
    """Raise the error for a pattern that matches no file."""
    remedy = ""
    folder, _, name = pattern.rpartition("/")
    if "**" not in pattern:
        below = "/".join(filter(None, [folder, "**", name]))
        remedy = f'To look into the folders below, write "{below}".'
    raise NoFileMatches(f'no file matches "{pattern}"', remedy=remedy)


def split_pattern(pattern: str) -> tuple[str, list[str]]:
    """Split a pattern before its first name with a wildcard.

    Returns:
        The folder to list, and the names and patterns to match below it.
    """
    names = pattern.split("/")
    first = next((i for i, name in enumerate(names) if has_magic(name)), len(names))
    return "/".join(names[:first]), names[first:]


def matches(patterns: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether the names of a path match the patterns, one by one."""
    if not patterns:
        return not names
    pattern, *rest = patterns
    if pattern == "**":
        return matches(rest, names) or (
            bool(names) and not names[0].startswith(".") and matches(patterns, names[1:])
        )
    return (
        bool(names)
        and fnmatchcase(names[0], pattern)
        and (pattern.startswith(".") or not names[0].startswith("."))
        and matches(rest, names[1:])
    )


_TRUSTED_S = 30.0
"""Seconds for which a listing is trusted."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Location:
    """The location of a file. Equal locations lead to the same file."""

    path: str
    """Path of the file, as its file system spells it."""

    filesystem: Any = field(default=None, hash=False)
    """File system of pyarrow or fsspec; None for the local one."""

    name: str = field(default="", compare=False)
    """Name of the file in messages; "" stands for the path."""

    inner: str = field(default="", compare=False)
    """Path within the folder that the caller named; "" if the caller named the file or a pattern.
    """

    found: Any = field(default=None, compare=False)
    """Information on the file from a listing, used instead of a request for some seconds."""

    found_at: float = field(default=0.0, compare=False)
    """Time of the listing, seconds since 1970 UTC."""

    def __str__(self) -> str:
        return self.name or self.path

    def __repr__(self) -> str:
        return f"Location({redacted(str(self))!r})"

    def open(self) -> AbstractContextManager[Source]:
        """Open the file for reading.

        Raises:
            UnsupportedFile: If it is no regular file.
            OSError: What opening raises.
        """
        if self.filesystem is None:
            return open_local(self.path, name=str(self))
        from parquet_bloomwriter.source.remote import open_arrow, open_fsspec

        found = self.found if 0 <= time.time() - self.found_at < _TRUSTED_S else None
        opener = open_fsspec if is_fsspec(self.filesystem) else open_arrow
        return opener(self.filesystem, self.path, name=str(self), found=found)

    def named(self, footer: Footer) -> Footer:
        """Return the footer with the column names that users know: here those of the file."""
        return footer


_THREADS = 16
"""Number of parallel requests, where many paths are named."""


def find_sources(
    given: StrPath | Location | Iterable[StrPath | Location],
    *,
    filesystem: object = None,
    leftovers: Leftovers | None = None,
) -> list[Location]:
    """Find the files that paths name; each file is returned once, in the order of the paths.

    Folders are searched for Parquet files, by the rule of `folders`. If nothing of a name exists,
    it counts as a file; opening it reports the error.

    Args:
        given: Paths or URLs of files and folders, and glob patterns; one or many.
        filesystem: What the paths are relative to: a file system of pyarrow or fsspec, or the URL
            of a folder on one.
        leftovers: Takes what is passed over in folders.

    Raises:
        InvalidArgument: If a folder or pattern matches nothing, or a URL cannot be opened here.
        OSError: If a folder cannot be listed.
    """
    left = Leftovers() if leftovers is None else leftovers
    several = [given] if isinstance(given, str | os.PathLike | Location) else list(given)
    # In this thread: fsspec makes another file system, unequal to the first, for each thread.
    places = [one if isinstance(one, Location) else locate(one, filesystem) for one in several]
    if len(places) == 1:
        return _expand(places[0], left)
    if sum(isinstance(one, ResolvedPath) and one.filesystem is not None for one in places) > 1:
        with ThreadPoolExecutor(min(_THREADS, len(places))) as pool:
            groups = list(pool.map(lambda place: _expand(place, left), places))
    else:
        groups = [_expand(one, left) for one in places]
    once: dict[Location, Location] = {}
    for group in groups:
        for location in group:
            once.setdefault(_plain(location), location)
    return list(once.values())


def _expand(place: ResolvedPath | Location, leftovers: Leftovers) -> list[Location]:
    if isinstance(place, Location):
        return [place]
    now = time.time()
    if place.filesystem is None:
        paths = find_local(place.path, leftovers)
        inner = _inner(place, is_folder=os.path.isdir(place.path))
        if place.name == place.path:
            return [Location(path=path, inner=inner(path)) for path in paths]
        found: list[Listed] = [(path, None) for path in paths]
    else:
        found = _find_remote(place, leftovers)
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


def _inner(place: ResolvedPath, *, is_folder: bool) -> Callable[[str], str]:
    """Return the function from a file's path to its path within the named folder, else to ""."""
    return lambda path: inner_path(path, place.path) if is_folder else ""


def _find_remote(place: ResolvedPath, leftovers: Leftovers) -> list[Listed]:
    from parquet_bloomwriter.source.remote import asking_fsspec, naming_permissions

    asking = asking_fsspec if is_fsspec(place.filesystem) else naming_permissions
    with asking(place.name):
        return _list_remote(place, leftovers)


def _list_remote(place: ResolvedPath, leftovers: Leftovers) -> list[Listed]:
    kind, info = _stat(place)
    if kind == "directory":
        return _members(place, leftovers) or none_in(place.name, leftovers)
    if kind == "file" or not has_magic(place.path):
        return [(place.path, info)]
    folder, patterns = split_pattern(place.path)
    files = _list_files(place, folder, None if "**" in patterns else len(patterns))
    found = [one for one in files if matches(patterns, inner_path(one[0], folder).split("/"))]
    return sorted(found, key=_path) or none_matches(place.name)


def _stat(place: ResolvedPath) -> tuple[str, Any]:
    """Return "file", "directory" or "nothing", and the store's information on it."""
    from parquet_bloomwriter.source.remote import stat_arrow, stat_fsspec

    stat = stat_fsspec if is_fsspec(place.filesystem) else stat_arrow
    return stat(place.filesystem, place.path)


def _list_files(place: ResolvedPath, folder: str, depth: int | None) -> list[Listed]:
    from parquet_bloomwriter.source.remote import list_arrow, list_fsspec

    list_files = list_fsspec if is_fsspec(place.filesystem) else list_arrow
    return list_files(place.filesystem, folder, depth)


def _members(place: ResolvedPath, leftovers: Leftovers) -> list[Listed]:
    """Return the files of a folder that count, in the order of their paths."""
    spell_path = _speller(place)

    def spell(one: Listed) -> str:
        return spell_path(one[0])

    def why_not(one: Listed) -> Why | None:
        size = size_in(one[1])
        if not size:
            return None if size is None else Why.EMPTY
        at = Location(
            path=one[0],
            filesystem=place.filesystem,
            name=spell(one),
            found=one[1],
            found_at=time.time(),
        )
        with at.open() as source:
            return why_not_by_magic(size, source.read_at)

    sure, doubtful = sort_out(
        _list_files(place, place.path, None),
        inner=lambda one: inner_path(one[0], place.path),
        spell=spell,
        leftovers=leftovers,
    )
    sure += by_magic(doubtful, why_not=why_not, spell=spell, leftovers=leftovers)
    return sorted(sure, key=_path)


def size_in(found: object) -> int | None:
    """Return the size of a file in bytes from a listing's information; None if it has none."""
    size = found.get("size") if isinstance(found, Mapping) else getattr(found, "size", None)
    return None if size is None else int(size)


def _path(found: Listed) -> str:
    return found[0]


def inner_path(path: str, folder: str) -> str:
    """Return the path relative to a folder that it lies in."""
    return path.lstrip("/").removeprefix(folder.strip("/")).lstrip("/")


def _speller(place: ResolvedPath) -> Callable[[str], str]:
    """Return the function that spells a found path as the caller spelled the folder or pattern."""
    name, path = place.name.rstrip("/"), place.path.rstrip("/")
    shown, hidden = name, path
    while shown and hidden and shown[-1] == hidden[-1]:
        shown, hidden = shown[:-1], hidden[:-1]

    def spell(found: str) -> str:
        return shown + found.removeprefix(hidden) if found.startswith(hidden) else found

    return spell


def _plain(location: Location) -> Location:
    """Return an equal location for all spellings of a local path, except by symbolic links."""
    if location.filesystem is not None or is_plain(location.path):
        return location
    return Location(path=os.path.abspath(location.path))  # noqa: PTH100  no object needed


def is_plain(path: str) -> bool:
    """Return whether a path is absolute and in its normal spelling."""
    return os.sep == "/" and path.startswith("/") and "//" not in path and "/." not in path
