"""The place of the indexes of a table.

    <root>/_bloom_index/<name>/    unless another home is given

The home of a table's indexes is the folder that they are in. Its underscore hides it from readers
of datasets, which take a folder's files for the table. The root of a table is its folder; the root
of a single file is the folder that it is in. Paths are made absolute, and symbolic links in them
are not followed.

Table and home may each be on a disk or on a store (`s3://bucket/prefix`). There a folder is what
keys begin with, up to a slash. The absolute path of an object or prefix is its URL, without a slash
at the end.
"""

# ruff: noqa: PTH100, PTH112, PTH113, PTH116, PTH118, PTH119, PTH120  paths are strings, as in the log
from __future__ import annotations

import os
import re
import stat
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.errors import IndexNotFound, InvalidArgument, Proposal, Way
from parquet_bloomwriter.iceberg.names import is_iceberg
from parquet_bloomwriter.index.storage.base import is_on_store, storage_of
from parquet_bloomwriter.index.storage.local import LOG as LOG  # noqa: PLC0414  also of this module
from parquet_bloomwriter.source.filesystems import SCHEMES, store_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from parquet_bloomwriter.errors import Remedy
    from parquet_bloomwriter.index.entry import Entry

HOME = "_bloom_index"
"""Folder of a table's indexes, in the table's root."""

_NAME = re.compile(r"[A-Za-z0-9-][A-Za-z0-9_.-]{0,127}")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:(?=/)")
_SCHEMES = (*SCHEMES["s3"], *SCHEMES["gs"], "abfs", "abfss", "hdfs")
_ON_STORE = re.compile(rf"({'|'.join(_SCHEMES)})://[^/]*", re.IGNORECASE)
"""The bucket, container and account, or name node, of a URL."""
_HERE = ("", "localhost")
_SHOWN = 5
"""Names that an error lists."""


def check_name(name: str) -> str:
    """Return the name of an index, if it can be one segment of a path on every system.

    Raises:
        InvalidArgument: If it cannot.
    """
    if not _NAME.fullmatch(name):
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

    That of an Iceberg table, given by its name, is its location.

    Raises:
        InvalidArgument: If the path is empty, or another URL; if there is no such Iceberg table.
        TableProblem: If the catalog of an Iceberg table does not answer.
    """
    text = os.fspath(given)
    if text.startswith("/"):
        return _normal_path(text)
    if is_iceberg(text):
        from parquet_bloomwriter.index.table.metadata import iceberg_table

        return iceberg_table(text).root
    return known_spelling(text) if _ON_STORE.match(text) else local_path(text)


@lru_cache(maxsize=1024)
def _normal_path(path: str) -> str:
    # Each step of a lookup in a small table asks for the same few paths: a tenth of its time.
    return os.path.abspath(path)


register(_normal_path.cache_clear)


def known_spelling(path: str) -> str:
    """Return the URL of an object or a prefix in the one spelling that indexes know.

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


def table_root(table: str | os.PathLike[str]) -> str:
    """Return the root of a table: its folder, or the folder that the single file is in.

    Raises:
        InvalidArgument: If there is no folder or file of that name.
        StoreProblem: If it is on a store that refuses or does not answer.
    """
    path = absolute_path(table)
    if is_on_store(path):
        from parquet_bloomwriter.index.table.objects import root_on_store

        return root_on_store(path)
    if os.path.isdir(path):
        return path
    if os.path.isfile(path):
        return os.path.dirname(path)
    raise InvalidArgument(
        f'there is no folder or file "{path}"', remedy="Name the folder of the table."
    )


def check_folder(table: str | os.PathLike[str]) -> None:
    """Check that a table whose folder is to get an index is named by its folder, not by a file.

    Raises:
        InvalidArgument: If it is named by a file, or there is no such table.
        StoreProblem: If it is on a store that refuses or does not answer.
    """
    root = table_root(table)
    if absolute_path(table) != root:
        raise InvalidArgument(
            "an index is of all files of a folder, and this is a file",
            path=os.fspath(table),
            remedy=f'Name its folder, "{root}".',
        )


def home_of(table: str | os.PathLike[str], home: str | os.PathLike[str] | None = None) -> str:
    """Return the folder of a table's indexes, whether it exists or not."""
    return os.path.join(table_root(table), HOME) if home is None else absolute_path(home)


def root_of(folder_of_index: str, entry: Entry) -> str:
    """Return the folder that an index's paths of files are relative to, as its log has it.

    It is only a name, until it is compared with what the caller named (`is_among`).
    """
    return os.path.dirname(os.path.dirname(folder_of_index)) if entry.root is None else entry.root


def is_in(path: str, folder: str) -> bool:
    """Return whether a path is a folder itself or lies below it, by their names alone."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def is_among(root: str, asked: Iterable[str]) -> bool:
    """Return whether a table that an index names has to do with what a caller named.

    An index may come from a stranger. So the root in its log is compared before anything is done
    with it, and any other root is never opened, resolved or connected to.

    Args:
        root: Of the table, as `root_of` returns it.
        asked: The folders and files that the caller named, absolute.
    """
    return any(is_in(root, one) or is_in(one, root) for one in asked)


def find_homes(path: str | os.PathLike[str]) -> list[str]:
    """Return the existing homes in a folder (of a file: its folder) and above it, nearest first.

    A home above the folder counts only if it belongs to root, to the user, or to the owner of a
    folder on the way there. The same holds for a home in a folder with the sticky bit: whoever may
    make a home there may not replace the files of other users. So where all users may make folders,
    as in /tmp, none can exclude rows of other users' queries.
    """
    found = []
    own = absolute_path(path)
    if is_on_store(own):
        first, *others = homes_above(own)
        homes = [first] if index_folders(first) else []
        return homes + [home for home in others if index_folders(home, is_above=True)]
    beside = os.path.dirname(own) if os.path.isfile(own) else own
    trusted = {0, os.getuid() if hasattr(os, "getuid") else 0}
    for folder in _upwards(own):
        home = os.path.join(folder, HOME)
        trusted.add(_owner(folder))
        may_replace = folder in {own, beside} and not _is_sticky(folder)
        if os.path.isdir(home) and (may_replace or _owner(home) in trusted):
            found.append(home)
    return found


def homes_above(path: str) -> list[str]:
    """Return the places of homes for a path on a store, nearest first, whether they exist or not.

    All of them are in its bucket: whoever may write above a table may write into it, too.
    """
    bucket = _ON_STORE.match(path)
    if bucket is None:
        return []
    return [f"{folder}/{HOME}" for folder in _upwards(path) if len(folder) >= bucket.end()]


def index_folders(home: str, *, is_above: bool = False) -> list[str]:
    """Return the folders of the indexes in a home, by name; also those of vacuumed indexes.

    On a store, folders without a log may be among them.

    Args:
        home: The home.
        is_above: It is above what is asked about, and passed over if a store forbids to list it.
    """
    names = storage_of(home).names_in_home(home, is_above=is_above)
    return [os.path.join(home, name) for name in names if _NAME.fullmatch(name)]


def index_folder(
    table: str | os.PathLike[str], name: str, home: str | os.PathLike[str] | None = None
) -> str:
    """Return the folder of an index, whether it exists or not.

    Raises:
        InvalidArgument: If the name is malformed, or there is no such table.
    """
    return os.path.join(home_of(table, home), check_name(name))


def find_index(
    table: str | os.PathLike[str], name: str, home: str | os.PathLike[str] | None = None
) -> str:
    """Return the folder of an index that exists, or existed before it was vacuumed.

    Raises:
        IndexNotFound: If there is no index of that name.
        InvalidArgument: If the name is malformed, or there is no such table.
    """
    folder = index_folder(table, name, home)
    if not storage_of(folder).has_log(folder):
        raise not_found(os.path.dirname(folder), name, above=None if home is not None else table)
    return folder


def not_found(
    home: str, name: str, *, above: str | os.PathLike[str] | None = None
) -> IndexNotFound:
    """Return the error for an index that does not exist; it names the indexes that do."""
    names = [os.path.basename(folder) for folder in index_folders(home) if _exists(folder)]
    remedy: Remedy = (Proposal(Way.CREATE_INDEX, "Create it first"), ".")
    if names:
        remedy = f"There are: {', '.join(names[:_SHOWN])}."
    for other in [] if above is None else find_homes(above):
        if storage_of(other).has_log(os.path.join(other, name)):
            remedy = f'There is one of that name of the table "{os.path.dirname(other)}".'
    return IndexNotFound(f'there is no index "{name}"', path=home, remedy=remedy)


def _exists(folder: str) -> bool:
    """Return whether there is an index, even if it was deleted or is broken, but not vacuumed."""
    from parquet_bloomwriter.index.describe import describe

    return describe(folder) is not None


def _owner(path: str) -> int:
    """Return the owner of a file, or of a symbolic link itself; -1 if there is none."""
    try:
        return os.lstat(path).st_uid
    except OSError:
        return -1


def _is_sticky(folder: str) -> bool:
    """Return whether users who may write to a folder may not replace files of others in it."""
    try:
        return bool(os.stat(folder).st_mode & stat.S_ISVTX)
    except OSError:
        return False


def _upwards(folder: str) -> Iterator[str]:
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above
