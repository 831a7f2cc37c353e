"""From a URL to the store that it lies on, for files that are read and written as a whole."""

from __future__ import annotations

import re
from contextlib import contextmanager
from glob import has_magic
from typing import TYPE_CHECKING, NamedTuple

from parquet_bloomwriter.errors import BloomwriterError, InvalidArgument, StoreProblem
from parquet_bloomwriter.source import hdfs
from parquet_bloomwriter.source.filesystems import is_hdfs, locate, without_secrets
from parquet_bloomwriter.source.folders import by_magic, sort_out, why_not_by_magic
from parquet_bloomwriter.source.listing import (
    matches,
    none_in,
    none_matches,
    split_pattern,
)
from parquet_bloomwriter.stores.conditional import ConditionalStore, is_conditional, split_url
from parquet_bloomwriter.stores.file_systems import SftpStore, store_of
from parquet_bloomwriter.stores.hdfs import HdfsStore
from parquet_bloomwriter.text import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_bloomwriter.source.folders import Leftovers, Why
    from parquet_bloomwriter.stores.whole import WholeStore

    _KeyAndSize = tuple[str, int]

_PASSWORD = re.compile(r"://[^/]*:[^/]*@")
"""A user and a password, in whatever URL of a chain (`zip://a.parquet::sftp://...`)."""


class OpenedUrl(NamedTuple):
    """A URL, resolved."""

    store: WholeStore
    path: str
    """As the store spells it."""


def open_store(url: str) -> OpenedUrl:
    """Open the store that a URL of one file lies on. S3 is not among them.

    Raises:
        InvalidArgument: If neither obstore, pyarrow nor fsspec here knows the URL, or it has a
            password in it.
        StoreProblem: If the store does not answer.
    """
    check_url(url)
    if is_conditional(url):
        base, key = split_url(url)
        if not key or key.endswith("/"):
            raise InvalidArgument(f'"{url}" is no object', remedy="Name its key, too.")
        if key.startswith("/"):  # which obstore would leave out, and write to another key
            raise InvalidArgument(f'"{url}" is no object', remedy="Name its key, without // in it.")
        return OpenedUrl(ConditionalStore(base), key)
    if is_hdfs(url) and hdfs.is_installed():
        base, path = hdfs.split_url(url)
        if path.endswith("/"):
            raise InvalidArgument(f'"{url}" is no file', remedy="Name its path, too.")
        return OpenedUrl(HdfsStore(base), path)
    with reaching(url):
        place = locate(url)
        store = None if place.filesystem is None else store_of(place)
    if store is None:
        raise InvalidArgument(
            f'"{without_secrets(url)}" is a file here', remedy="Name it by its path."
        )
    if isinstance(store, SftpStore) and not url.endswith(place.path):
        raise InvalidArgument(
            f'"{without_secrets(url)}" has characters that fsspec leaves out',
            remedy="Rename the file: without control characters, and without # at its end.",
        )
    return OpenedUrl(store, place.path)


@contextmanager
def reaching(url: str) -> Iterator[None]:
    """Turn whatever a library raises that cannot reach a store into an error that names the URL.

    Raises:
        StoreProblem: For all but errors of this package, and files that are not there.
    """
    try:
        yield
    except (BloomwriterError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:
        raise StoreProblem(
            f"the store cannot be opened: {words_of(error)}",
            path=without_secrets(url),
            remedy="Check the URL, the network and the credentials.",
        ) from error


def check_url(url: str) -> None:
    """Refuse a URL that has a password in it, which would end up in messages and process lists.

    Raises:
        InvalidArgument: If it has.
    """
    if _PASSWORD.search(url):
        raise InvalidArgument(
            f'"{without_secrets(url)}" is given with a password',
            remedy="Leave it out: keys are taken from the SSH agent or ~/.ssh, and what else "
            "fsspec needs from its configuration (~/.config/fsspec).",
        )


class FoundObject(NamedTuple):
    """An object that a URL names."""

    url: str
    size: int
    """Bytes; 0 if it is not there."""

    is_found: bool
    """Whether it was found below a prefix or by a pattern."""

    inner: str
    """Its path below the prefix or the folder of the pattern; its name, if it was named itself."""


def find_conditional(url: str, leftovers: Leftovers) -> list[FoundObject]:
    """Find the objects on GCS or Azure that a URL names, in the order of their names.

    Args:
        url: Of an object, a prefix or a pattern.
        leftovers: Takes what is passed over below a prefix.

    Raises:
        InvalidArgument: If nothing is below the prefix, or nothing matches the pattern.
        StoreProblem: If the store cannot be listed.
    """
    base, key = split_url(url)
    store = ConditionalStore(base)
    folder = key.rstrip("/")
    if key and not key.endswith("/"):
        state = store.state(key)
        if state is not None:
            return [FoundObject(url, state.size, is_found=False, inner=key.rpartition("/")[2])]
    patterns: list[str] = []
    if has_magic(key):
        folder, patterns = split_pattern(key)
    start = f"{folder}/" if folder else ""
    listed = sorted((one, size) for one, size in store.objects(folder) if one.startswith(start))
    if not (listed or patterns or key.endswith("/") or not key):
        return [FoundObject(url, 0, is_found=False, inner=key.rpartition("/")[2])]
    if patterns:
        found = [one for one in listed if matches(patterns, one[0].removeprefix(start).split("/"))]
    else:
        found = _members(store, listed, start, leftovers)
    return [
        FoundObject(store.spell(key), size, is_found=True, inner=key.removeprefix(start))
        for key, size in found
    ] or (none_matches(url) if patterns else none_in(url, leftovers))


def _members(
    store: ConditionalStore, listed: list[_KeyAndSize], start: str, leftovers: Leftovers
) -> list[_KeyAndSize]:
    """Return the objects of a prefix that count, in the order of their keys."""

    def spell(one: _KeyAndSize) -> str:
        return store.spell(one[0])

    def why_not(one: _KeyAndSize) -> Why | None:
        key, size = one
        return why_not_by_magic(
            size, lambda first, stop: store.read_version(key, first, stop, None).data
        )

    sure, doubtful = sort_out(
        listed, inner=lambda one: one[0].removeprefix(start), spell=spell, leftovers=leftovers
    )
    sure += by_magic(doubtful, why_not=why_not, spell=spell, leftovers=leftovers)
    return sorted(sure)
