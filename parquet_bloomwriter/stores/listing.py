"""Find the Parquet files that a URL names: a file, all files below a folder, or a pattern.

What counts as a file of a folder is as in `source.folders`, what a pattern matches is as in
`source.listing`. Objects are listed by the store that writes them, other files by their own file
system.
"""

from __future__ import annotations

from dataclasses import dataclass
from glob import has_magic
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.source.filesystems import locate, without_secrets
from parquet_bloomwriter.source.folders import Leftovers, by_magic, sort_out, why_not_by_magic
from parquet_bloomwriter.source.listing import (
    find_sources,
    matches,
    none_in,
    none_matches,
    size_in,
    split_pattern,
)
from parquet_bloomwriter.stores.conditional import is_conditional
from parquet_bloomwriter.stores.open import check_url, open_place, reaching
from parquet_bloomwriter.stores.s3.urls import is_s3

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.source.folders import Candidates, Why
    from parquet_bloomwriter.stores.base import Listed, TableStore


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file on a store."""

    url: str
    size: int
    """Size of the file, bytes; 0 if that is not known."""

    inner: str
    """Path below the prefix or the folder of the pattern; the file's name, if the URL names it."""

    is_found: bool = True
    """Whether the file was found below a prefix or by a pattern, and not named by the URL."""


def find_remote(url: str, leftovers: Leftovers | None = None) -> list[RemoteFile]:
    """Find the files that a URL names, in the order of their names.

    If nothing of that name exists, the URL counts as that of a file; opening it reports the error.

    Args:
        url: Of a file, a folder or a pattern.
        leftovers: Takes what is passed over in a folder.

    Raises:
        InvalidArgument: If nothing is below the prefix, or nothing matches the pattern.
        OSError, FileProblem: If the store cannot be listed.
    """
    leftovers = Leftovers() if leftovers is None else leftovers
    if is_s3(url) or is_conditional(url):
        return _find_objects(url, leftovers)
    check_url(url)
    with reaching(url):
        folder = locate(url).path
        places = find_sources(url, leftovers=leftovers)
    if url.endswith("/") and all(place.path == folder for place in places):
        none_in(url, leftovers)
    return [
        RemoteFile(
            url=url if place.path == folder else _spelled(url, folder, place.path),
            size=size_in(place.found) or 0,
            is_found=place.path != folder,
            inner=place.inner or place.path.rpartition("/")[2],
        )
        for place in places
    ]


def _find_objects(url: str, leftovers: Leftovers) -> list[RemoteFile]:
    store, key = open_place(url)
    if key and not key.endswith("/"):
        size, is_prefix = store.look(key)
        if size is not None or not (is_prefix or has_magic(key)):
            return [RemoteFile(store.spell(key), size or 0, key.rpartition("/")[2], is_found=False)]
        if not is_prefix:
            return _matching(store, key) or none_matches(url)
        key += "/"
    sure, doubtful = candidates_in(store, key, leftovers)
    found = sorted(sure + parquet_among(store, doubtful, leftovers))
    return [
        RemoteFile(store.spell(one.key), one.size, one.key.removeprefix(key)) for one in found
    ] or none_in(url, leftovers)


def _matching(store: TableStore, pattern: str) -> list[RemoteFile]:
    folder, patterns = split_pattern(pattern)
    start = f"{folder}/" if folder else ""
    fixed = next(i for i, letter in enumerate(pattern) if letter in "*?[")
    return [
        RemoteFile(store.spell(one.key), one.size, one.key.removeprefix(start))
        for one in sorted(store.objects(pattern[:fixed]))
        if one.key.startswith(start) and matches(patterns, one.key.removeprefix(start).split("/"))
    ]


def candidates_in(store: TableStore, prefix: str, leftovers: Leftovers) -> Candidates[Listed]:
    """List the objects below a prefix that count by their names, and those whose bytes decide.

    Args:
        store: Where they are.
        prefix: What keys begin with: empty, or with a slash at its end.
        leftovers: Takes what is passed over.

    Raises:
        StoreProblem: If the store refuses or does not answer.
    """
    return sort_out(
        store.objects(prefix),
        inner=lambda one: one.key.removeprefix(prefix),
        spell=lambda one: store.spell(one.key),
        leftovers=leftovers,
    )


def parquet_among(
    store: TableStore, doubtful: Sequence[Listed], leftovers: Leftovers
) -> list[Listed]:
    """Return the objects whose first or last bytes are the magic of Parquet."""

    def why_not(one: Listed) -> Why | None:
        return why_not_by_magic(one.size, lambda start, stop: store.read(one.key, start, stop)[0])

    return by_magic(
        doubtful, why_not=why_not, spell=lambda one: store.spell(one.key), leftovers=leftovers
    )


def _spelled(given: str, folder: str, found: str) -> str:
    """Return the URL of a file that was found below a folder or by a pattern.

    Args:
        given: URL of the folder or pattern. In a chain, the first link with a path names it:
            `zip://*.parquet::archive.zip`.
        folder: Its path, as the file system spells it.
        found: Path of the file, likewise.

    Raises:
        InvalidArgument: If the file system spells paths otherwise than URLs. A bare path would
            name a file on this machine.
    """
    links = given.split("::")
    n = next(i for i, link in enumerate(links) if "://" in link)
    link = links[n]
    if folder.strip("/"):
        start, ends_so, _ = link.rstrip("/").rpartition(folder.rstrip("/"))
        is_clear = bool(ends_so) and link.rstrip("/").endswith(folder.rstrip("/"))
        file = f"/{found.lstrip('/')}" if folder.startswith("/") else found
    else:
        start = link if link.endswith("/") else f"{link}/"
        is_clear, file = True, found.lstrip("/")
    links[n] = f"{start}{file}"
    if not (is_clear and "://" in links[n]):
        raise InvalidArgument(
            f'no URL is known for a file that "{without_secrets(given)}" names',
            remedy="Name each file by its own URL.",
        )
    return "::".join(links)
