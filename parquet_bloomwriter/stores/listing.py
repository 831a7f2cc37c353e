"""The Parquet files that a URL names: an object, all below a prefix, or what a pattern matches.

What counts as a file of a folder is as in `source.folders`, what a pattern matches is as in
`source.listing`. Objects on
S3 are listed with the credentials by which they are written; other stores by their own file system.
"""

from __future__ import annotations

from dataclasses import dataclass
from glob import has_magic
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.source.filesystems import locate, without_secrets
from parquet_bloomwriter.source.folders import Leftovers
from parquet_bloomwriter.source.listing import (
    find_sources,
    matches,
    none_in,
    none_matches,
    size_in,
    split_pattern,
)
from parquet_bloomwriter.stores.s3.client import open_bucket
from parquet_bloomwriter.stores.s3.urls import ObjectPath, is_s3, parse_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parquet_bloomwriter.stores.s3.answers import Listed


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file on a store."""

    url: str
    size: int
    """Bytes; 0 if that is not known."""

    inner: str
    """Its path below the prefix or the folder of the pattern; its name, if it was named itself."""

    is_found: bool = True
    """Whether it was found below a prefix or by a pattern, and not named itself."""


def find_remote(url: str, leftovers: Leftovers | None = None) -> list[RemoteFile]:
    """Find the files that a URL names, in the order of their names.

    A name that is not there is taken for a file: opening it says so.

    Args:
        url: Of a file, a folder or a pattern.
        leftovers: Takes what is passed over in a folder.

    Raises:
        InvalidArgument: If nothing is below the prefix, or nothing matches the pattern.
        OSError, FileProblem: If the store cannot be listed.
    """
    leftovers = Leftovers() if leftovers is None else leftovers
    if is_s3(url):
        return _find_objects(url, leftovers)
    # Imported here: commands on local files need none of it.
    from parquet_bloomwriter.stores.conditional import is_conditional
    from parquet_bloomwriter.stores.open import check_url, find_conditional, reaching

    if is_conditional(url):
        return [
            RemoteFile(found.url, found.size, found.inner, is_found=found.is_found)
            for found in find_conditional(url, leftovers)
        ]
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


def _find_objects(url: str, leftovers: Leftovers) -> list[RemoteFile]:
    place = parse_url(url)
    bucket = open_bucket(place.bucket)
    key = place.key
    if key and not key.endswith("/"):
        named, below = None, False
        for one in bucket.objects(key):
            if one.key == key:
                named = one
            below = one.key.startswith(f"{key}/")
            if named or below or one.key > f"{key}/":
                break
        if named is not None or not (below or has_magic(key)):
            size = 0 if named is None else named.size
            return [RemoteFile(str(place), size, key.rpartition("/")[2], is_found=False)]
        if not below:
            return _matching(url, place, bucket.objects(_fixed(key)))
        key += "/"
    from parquet_bloomwriter.stores.buckets import candidates_in, parquet_among

    sure, doubtful = candidates_in(bucket, key, leftovers)
    found = sorted(sure + parquet_among(bucket, doubtful, leftovers))
    return [
        RemoteFile(bucket.spell(one.key), one.size, one.key.removeprefix(key)) for one in found
    ] or none_in(url, leftovers)


def _fixed(pattern: str) -> str:
    """Return what all keys begin with that a pattern can match."""
    length = next(i for i, letter in enumerate(pattern) if letter in "*?[")
    return pattern[:length]


def _matching(url: str, place: ObjectPath, listed: Iterable[Listed]) -> list[RemoteFile]:
    folder, patterns = split_pattern(place.key)
    start = f"{folder}/" if folder else ""
    found = [
        RemoteFile(str(ObjectPath(place.bucket, one.key)), one.size, one.key.removeprefix(start))
        for one in listed
        if one.key.startswith(start) and matches(patterns, one.key.removeprefix(start).split("/"))
    ]
    return found or none_matches(url)
