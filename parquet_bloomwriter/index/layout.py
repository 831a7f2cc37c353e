"""The names of an index's folders and files, computed from text alone, without file access.

    <root>/_bloom_index/<name>/_log/   unless another home is given

The home of a table's indexes is the folder that they are in. Its underscore hides it from readers
of datasets, which take a folder's files for the table. The root of a table is its folder; the root
of a single file is the folder that it is in. Paths are made absolute, and symbolic links in them
are not followed.

Table and home may each be on a disk or on a store (`s3://bucket/prefix`). There a folder is what
keys begin with, up to a slash. The absolute path of an object or prefix is its URL, without a slash
at the end.
"""

# ruff: noqa: PTH100, PTH118, PTH120  paths are strings, as in the log
from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.source.filesystems import SCHEMES as SPELLINGS
from parquet_bloomwriter.source.filesystems import store_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

HOME = "_bloom_index"
"""Name of the folder of a table's indexes, in the table's root."""

LOG = "_log"
"""Name of the log's folder, in the index's folder."""

_SPELLINGS = {
    "s3": SPELLINGS["s3"],
    "gs": SPELLINGS["gs"],
    "abfss": ("abfs", "abfss"),
    "hdfs": ("hdfs",),
}
"""Schemes of the stores that indexes can lie on (`stores.open`), each with its other spellings."""

SCHEMES = tuple(f"{scheme}://" for scheme in _SPELLINGS)
"""Prefixes of the absolute path of an object or prefix."""

_NAME = re.compile(r"[A-Za-z0-9-][A-Za-z0-9_.-]{0,127}")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:(?=/)")
_ON_STORE = re.compile(
    rf"({'|'.join(one for some in _SPELLINGS.values() for one in some)})://[^/]*", re.IGNORECASE
)
"""Pattern of the part of a URL that names the bucket, the container and account, or the name
node."""
_HERE = ("", "localhost")


def is_on_store(path: str) -> bool:
    """Return whether an absolute path is the URL of an object or a prefix."""
    return path.startswith(SCHEMES)


def are_mixed(paths: Iterable[str]) -> bool:
    """Return whether of absolute paths some are on a disk, and some on a store."""
    return len(set(map(is_on_store, paths))) > 1


def common_folder(files: Sequence[str]) -> str | None:
    """Return the folder that all files are below, all on disks or all on stores; or None."""
    if not is_on_store(files[0]):
        return os.path.commonpath(map(os.path.dirname, files))
    starts, keys = zip(*(one.split("://", 1) for one in files), strict=True)
    folder = os.path.commonpath([os.path.dirname(f"/{key}") for key in keys])
    return None if folder == "/" or len(set(starts)) > 1 else f"{starts[0]}:/{folder}"


def has_dots(path: str) -> bool:
    """Return whether an absolute local path has the names . or .. in it, as keys of objects may."""
    return not is_on_store(path) and not {".", ".."}.isdisjoint(path.split("/"))


def path_in(root: str, path: str) -> str:
    """Return the absolute path of a table's file; see `relative_path`."""
    if is_on_store(path):
        return path
    # Names in keys may be empty: of "s3://bucket/table//a", the path is "/a".
    return f"{root}/{path}" if is_on_store(root) else os.path.join(root, path)


def relative_path(root: str, path: str) -> str:
    """Return a file's path as an index stores it: relative to the table's root, if it is inside."""
    base = root if root.endswith(os.sep) else root + os.sep
    if not path.startswith(base) or is_on_store(path[len(base) :]):
        return path
    return path[len(base) :].replace(os.sep, "/")


def relative_to_index(version_folder: str, path: str) -> str:
    """Return a version file's path as log entries have it: relative to the index's folder."""
    return relative_to_folder(os.path.dirname(version_folder), path)


def relative_to_folder(folder: str, path: str) -> str:
    """Return the path of an index's file relative to the index's folder, with "/"."""
    if is_on_store(path):
        return path.removeprefix(folder.rstrip("/") + "/")
    return os.path.relpath(path, folder).replace(os.sep, "/")


def is_name(name: str) -> bool:
    """Return whether a name is a valid name of an index: one segment of a path on every system."""
    return _NAME.fullmatch(name) is not None


def check_name(name: str) -> str:
    """Check the name of an index, and return it.

    Raises:
        InvalidArgument: If it cannot.
    """
    if not is_name(name):
        raise InvalidArgument(
            f"an index cannot have the name {name!r}",
            remedy="Take letters, digits, _ . and -, at most 128, not beginning with _ or a dot.",
        )
    return name


def local_path(given: str | os.PathLike[str]) -> str:
    """Return the absolute local path of a path or a `file:` URL.

    Raises:
        InvalidArgument: If the path is empty, or a URL of another scheme or machine.
    """
    text = os.fspath(given)
    if not text:
        raise InvalidArgument("the path is empty", remedy="Name a folder.")
    if not _URL.match(text):
        return os.path.abspath(text)
    url = urlsplit(text)
    if store_kind(text) == "azure":
        raise InvalidArgument(
            f'"{text}" is a spelling of Azure that indexes do not know',
            remedy="Name it as abfss://container@account.dfs.core.windows.net/path.",
        )
    if url.scheme.lower() != "file" or url.netloc not in _HERE:
        raise InvalidArgument(
            f'"{text}" is not a local path, and indexes are kept on disks, S3, GCS, Azure or HDFS',
            remedy="Mount the store, or add Bloom filters to the files themselves.",
        )
    return os.path.abspath(unquote(text[text.index(":") + 1 :].removeprefix(f"//{url.netloc}")))


def absolute_path(given: str | os.PathLike[str]) -> str:
    """Return the absolute path of a path, a `file:` URL, or the URL of an object or a prefix.

    Raises:
        InvalidArgument: If the path is empty, or another URL.
    """
    text = os.fspath(given)
    if text.startswith("/"):
        return _normal_path(text)
    return known_spelling(text) if _ON_STORE.match(text) else local_path(text)


@lru_cache(maxsize=1024)
def _normal_path(path: str) -> str:
    # Each step of a lookup in a small table asks for the same few paths: a tenth of its time.
    return os.path.abspath(path)


register(_normal_path.cache_clear)


def known_spelling(path: str) -> str:
    """Return the URL of an object or a prefix in the spelling that indexes store.

    The metadata of tables may use any scheme of a store. Paths, and URLs on which there are no
    indexes, are returned unchanged.

    Raises:
        InvalidArgument: If the URL names no bucket, has secrets in it, or names no account of
            Azure.
    """
    if not _ON_STORE.match(path):
        return path
    from parquet_bloomwriter.stores.open import normal_url

    return normal_url(path)


def is_in(path: str, folder: str) -> bool:
    """Return whether a path is a folder itself or is below it, by comparing text."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def is_among(root: str, asked: Iterable[str]) -> bool:
    """Return whether the table of an index has to do with the folders and files of a caller.

    An index may come from a stranger. So the root in its log is compared before anything is done
    with it, and any other root is never opened, resolved or connected to.

    Args:
        root: Root of the index's table.
        asked: The folders and files that the caller named, absolute.
    """
    return any(is_in(root, one) or is_in(one, root) for one in asked)


def homes_above(path: str) -> list[str]:
    """Return the possible homes for a path on a store, nearest first, whether they exist or not.

    All of them are in its bucket: whoever may write above a table may write into it, too.
    """
    bucket = _ON_STORE.match(path)
    if bucket is None:
        return []
    return [f"{folder}/{HOME}" for folder in upwards(path) if len(folder) >= bucket.end()]


def upwards(folder: str) -> Iterator[str]:
    """Yield a folder, and then each folder above it."""
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def version_folder(folder: str, version: int) -> str:
    """Return the folder of a version's files, in the folder of an index."""
    return os.path.join(folder, f"v__={version}")
