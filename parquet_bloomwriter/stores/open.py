"""Open the store of a URL: `_OF_TABLES` is the table of kinds of stores that tables lie on.

    s3://bucket/key                                         boto3        `s3.store`
    gs://bucket/key                                         obstore      `conditional`
    abfss://container@account.dfs.core.windows.net/key      obstore      `conditional`
    hdfs://host:port/key                                    hdfs-native  `hdfs`
    sftp://host/path                                        paramiko     `sftp`
    all others, and HDFS without hdfs-native                fsspec, pyarrow  `file_systems`

`source.filesystems.SCHEMES` has other names of these schemes. Tables and indexes lie on the first
four. `open_store` has a branch for each store that writes files as a whole. A store gets its part
of the settings in use (`source.settings`) here, when it is opened.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.errors import (
    BloomwriterError,
    FileProblem,
    InvalidArgument,
    NotParquet,
    StoreProblem,
)
from parquet_bloomwriter.source import hdfs
from parquet_bloomwriter.source.filesystems import (
    is_fsspec,
    is_hdfs,
    locate,
    store_kind,
    without_secrets,
)
from parquet_bloomwriter.source.settings import settings_in_use
from parquet_bloomwriter.stores import conditional
from parquet_bloomwriter.stores.conditional import ConditionalStore, is_conditional
from parquet_bloomwriter.stores.file_systems import (
    ArrowStore,
    FsspecStore,
    LibhdfsStore,
    RenamingStore,
)
from parquet_bloomwriter.stores.hdfs import HdfsStore
from parquet_bloomwriter.stores.s3 import client, urls
from parquet_bloomwriter.stores.sftp import SftpStore
from parquet_bloomwriter.text import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from parquet_bloomwriter.source.base import Source
    from parquet_bloomwriter.source.filesystems import ResolvedPath
    from parquet_bloomwriter.source.settings import StoreSettings
    from parquet_bloomwriter.stores.base import Store, TableStore, WholeStore
    from parquet_bloomwriter.stores.s3.store import S3Store

_PASSWORD = re.compile(r"://[^/]*:[^/]*@")
"""A user and a password, in any URL of a chain (`zip://a.parquet::sftp://...`)."""

_MAX_STORES = 64
_VARIABLES = ("GOOGLE_", "AZURE_", "HADOOP_", "KRB5")
"""Prefixes of the environment variables that obstore and hdfs-native read."""

_WITH_RENAME = frozenset(("ftp", "ftps", "smb", "webhdfs", "webHDFS"))
"""Protocols of fsspec whose `mv` is one request of the server's."""


class Place(NamedTuple):
    """The store and the key of an object or a prefix of a table."""

    store: TableStore
    path: str


class OpenedUrl(NamedTuple):
    """The store and the path of a file that is read and written as a whole."""

    store: WholeStore
    path: str
    """Path of the file, as the store spells it."""


class _Kind(NamedTuple):
    """A kind of store that tables can lie on."""

    split: Callable[[StoreSettings, str], tuple[str, str]]
    """Splits a URL into the part before the key, and the key; the slash between them is in neither.
    """

    settings: Callable[[StoreSettings, str], Hashable]
    """Returns the part of all settings that counts for the part of the URL before the key."""

    open: Callable[[str, Any], TableStore]
    """Opens a store by the part of the URL before the key, and its settings, without a request."""


def _split_s3(_: StoreSettings, url: str) -> tuple[str, str]:
    place = urls.parse_url(url)
    return f"s3://{place.bucket}", place.key


def _split_hdfs(settings: StoreSettings, url: str) -> tuple[str, str]:
    base, path = hdfs.split_url(url, settings.of_hdfs())
    return base, path.removeprefix("/")


_S3 = len("s3://")
_CLOUD = _Kind(
    lambda _, url: conditional.split_url(url),
    lambda settings, base: settings.of_cloud(base),
    ConditionalStore,
)
_OF_TABLES = {
    "s3": _Kind(
        _split_s3,
        lambda settings, base: settings.of_bucket(base[_S3:]),
        lambda base, own: client.open_bucket(base[_S3:], own),
    ),
    "gs": _CLOUD,
    "azure": _CLOUD,
    "hdfs": _Kind(_split_hdfs, lambda settings, _: settings.of_hdfs(), HdfsStore),
}


def normal_url(url: str) -> str:
    """Return the one spelling of a URL that tables and indexes use, without a final slash.

    Raises:
        InvalidArgument: If it names no bucket, has secrets in it, or names no account of Azure.
    """
    base, key = _OF_TABLES[store_kind(url)].split(settings_in_use(), url)
    if base.startswith("abfs"):
        base = f"abfss://{base.partition('://')[2]}"
        if "@" not in base:
            raise InvalidArgument(
                f'"{base}" names no account',
                remedy="Name the table as abfss://container@account.dfs.core.windows.net/key.",
            )
    return f"{base}/{key}".rstrip("/")


def open_place(url: str) -> Place:
    """Open the store of a URL that `normal_url` returned; a store is opened once and used again.

    Raises:
        InvalidArgument: If what the store needs is not installed, or its settings are unusable.
    """
    name = store_kind(url)
    kind = _OF_TABLES[name]
    in_use = settings_in_use()  # once: another thread may change it
    base, key = kind.split(in_use, url)
    settings = kind.settings(in_use, base)
    if name == "s3":  # boto3's client is kept, and the environment is looked at each time
        return Place(kind.open(base, settings), key)
    environment = tuple(one for one in os.environ.items() if one[0].startswith(_VARIABLES))
    store = _stores(name, base, settings, environment)
    return Place(store, key.strip("/") if name == "hdfs" else key)


@lru_cache(_MAX_STORES)
def _stores(kind: str, base: str, settings: Hashable, environment: Hashable) -> TableStore:
    del environment  # which libraries read again; another one is another store
    return _OF_TABLES[kind].open(base, settings)


register(_stores.cache_clear)


@contextmanager
def open_source(url: str) -> Iterator[Source]:
    """Open an object for reading; all requests are for the version found by the first one.

    Raises:
        NotParquet: If it is empty.
        FileNotFoundError: If there is none.
        StoreProblem: If the store refuses, or does not answer.
    """
    store, path = open_place(url)
    try:
        with store.opened(path) as source:
            if not source.size:
                raise NotParquet("the object is empty")
            yield source
    except FileProblem as error:
        error.path = error.path or url
        raise


def open_store(url: str) -> OpenedUrl:
    """Open the store of a file's URL, for any store but S3.

    Raises:
        InvalidArgument: If neither obstore, pyarrow nor fsspec here knows the URL, or it has a
            password in it.
        StoreProblem: If the store does not answer.
    """
    check_url(url)
    if is_conditional(url):
        base, key = conditional.split_url(url)
        if not key or key.endswith("/"):
            raise InvalidArgument(f'"{url}" is no object', remedy="Name its key, too.")
        if key.startswith("/"):  # which obstore would leave out, and write to another key
            raise InvalidArgument(f'"{url}" is no object', remedy="Name its key, without // in it.")
        return OpenedUrl(ConditionalStore(base, settings_in_use().of_cloud(base)), key)
    if is_hdfs(url) and hdfs.is_installed():
        settings = settings_in_use().of_hdfs()
        base, path = hdfs.split_url(url, settings)
        if path.endswith("/"):
            raise InvalidArgument(f'"{url}" is no file', remedy="Name its path, too.")
        return OpenedUrl(HdfsStore(base, settings), path)
    with reaching(url):
        place = locate(url)
        store = None if place.filesystem is None else _store_of(place)
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


def _store_of(place: ResolvedPath) -> FsspecStore:
    """Return the store of a file system of fsspec or pyarrow."""
    filesystem: Any = place.filesystem
    if not is_fsspec(filesystem):
        return (LibhdfsStore if filesystem.type_name == "hdfs" else ArrowStore)(place)
    if type(filesystem).__module__ == "fsspec.implementations.sftp":
        return SftpStore(place)
    protocol = filesystem.protocol
    first = protocol if isinstance(protocol, str) else protocol[0]
    return (RenamingStore if first in _WITH_RENAME else FsspecStore)(place)


def open_bucket(name: str) -> S3Store:
    """Open a bucket of S3.

    Raises:
        InvalidArgument: If boto3 is missing, or the settings of the bucket are unusable.
    """
    return client.open_bucket(name, settings_in_use().of_bucket(name))


def open_any(url: str) -> tuple[Store, str]:
    """Open the store of a file's URL, S3 included; return the store and the path on it.

    Raises:
        As `open_store`.
    """
    if urls.is_s3(url):
        place = urls.parse_url(url)
        return open_bucket(place.bucket), place.key
    return open_store(url)


@contextmanager
def reaching(url: str) -> Iterator[None]:
    """Turn errors of a library that cannot reach a store into an error that names the URL.

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
    """Refuse a URL with a password, which would end up in messages and process lists.

    Raises:
        InvalidArgument: If it has.
    """
    if _PASSWORD.search(url):
        raise InvalidArgument(
            f'"{without_secrets(url)}" is given with a password',
            remedy="Leave it out: keys are taken from the SSH agent or ~/.ssh, and what else "
            "fsspec needs from its configuration (~/.config/fsspec).",
        )
