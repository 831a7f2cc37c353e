"""Buckets of any store that tables and indexes lie on: by what URL, and what can be asked of them.

    s3://bucket/key                                         boto3      `s3.bucket`
    gs://bucket/key                                         obstore    `conditional`
    abfss://container@account.dfs.core.windows.net/key      obstore    `conditional`
    hdfs://host:port/key                                    hdfs-native  `hdfs`

All of them create an object only if there is none, give every object an ETag, and list ETags; that
of HDFS is made of time and size. `StoreBucket` gives the other stores the methods of `S3Bucket`
that tables and indexes need.
"""

from __future__ import annotations

import mmap
import os
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.errors import FileProblem, InvalidArgument, NotParquet
from parquet_bloomwriter.source import hdfs
from parquet_bloomwriter.source.filesystems import is_hdfs
from parquet_bloomwriter.source.folders import by_magic, sort_out, why_not_by_magic
from parquet_bloomwriter.stores import conditional
from parquet_bloomwriter.stores.cloud_settings import connection_of
from parquet_bloomwriter.stores.conditional import ConditionalStore, is_conditional, split_url
from parquet_bloomwriter.stores.hdfs import HdfsStore
from parquet_bloomwriter.stores.s3 import client
from parquet_bloomwriter.stores.s3.answers import Listed, quoted
from parquet_bloomwriter.stores.s3.answers import is_forbidden as s3_forbids
from parquet_bloomwriter.stores.s3.source import open_object
from parquet_bloomwriter.stores.s3.urls import is_s3, parse_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeAlias

    from parquet_bloomwriter.source.base import Source
    from parquet_bloomwriter.source.folders import Candidates, Leftovers, Why
    from parquet_bloomwriter.stores.cloud_settings import AzureConnection, GoogleConnection
    from parquet_bloomwriter.stores.s3.bucket import S3Bucket
    from parquet_bloomwriter.stores.whole import FileState

    Bucket: TypeAlias = "S3Bucket | StoreBucket"

_MAX_BUCKETS = 64
_NS_PER_MS = 1_000_000
_VARIABLES = ("GOOGLE_", "AZURE_", "HADOOP_", "KRB5")


class State(Protocol):
    """An object as a store has shown it."""

    @property
    def size(self) -> int:
        """Bytes."""

    @property
    def etag(self) -> str:
        """With its quotes."""

    @property
    def changed_ns(self) -> int:
        """Time of the last change, nanoseconds since 1970 UTC."""


class Place(NamedTuple):
    """Where an object or a prefix is."""

    bucket: Bucket
    key: str


def normal_url(url: str) -> str:
    """Return the one spelling of a URL that tables and indexes know, without a slash at its end.

    Raises:
        InvalidArgument: If it names no bucket, has secrets in it, or names no account of Azure.
    """
    if is_s3(url):
        return str(parse_url(url)).rstrip("/")
    if is_hdfs(url):
        return "".join(hdfs.split_url(url)).rstrip("/")
    base, key = split_url(url)
    if base.startswith("abfs"):
        base = f"abfss://{base.partition('://')[2]}"
        if "@" not in base:
            raise InvalidArgument(
                f'"{base}" names no account',
                remedy="Name the table as abfss://container@account.dfs.core.windows.net/key.",
            )
    return f"{base}/{key}".rstrip("/")


def open_place(url: str) -> Place:
    """Open the bucket of a URL as `normal_url` spells it.

    Raises:
        InvalidArgument: If what the store needs is not installed, or its settings are unusable.
    """
    if is_hdfs(url):
        base, path = hdfs.split_url(url)
        return Place(_buckets(base, hdfs.given(), _environment()), path.strip("/"))
    if not is_conditional(url):
        place = parse_url(url)
        return Place(client.open_bucket(place.bucket), place.key)
    base, key = split_url(url)
    return Place(_buckets(base, connection_of(base), _environment()), key)


@contextmanager
def open_source(url: str) -> Iterator[Source]:
    """Open an object. All requests are for the version that was found first.

    Raises:
        NotParquet: If it is empty.
        FileNotFoundError: If there is none.
        StoreProblem: If the store refuses, or does not answer.
    """
    bucket, key = open_place(url)
    if not isinstance(bucket, StoreBucket):
        with open_object(bucket, key) as source:
            yield source
        return
    state = bucket.store.state(key)
    if state is None:
        raise FileNotFoundError(2, os.strerror(2), url)
    if not state.size:
        raise NotParquet("the object is empty", path=url)
    try:
        with bucket.store.open(key, state) as source:
            yield source
    except FileProblem as error:
        error.path = error.path or url
        raise


def candidates_in(bucket: Bucket, prefix: str, leftovers: Leftovers) -> Candidates[Listed]:
    """List the objects below a prefix that count by their names, and those that might.

    Args:
        bucket: Where they are.
        prefix: What keys begin with: empty, or with a slash at its end.
        leftovers: Takes what is passed over.

    Raises:
        StoreProblem: If the store refuses or does not answer.
    """
    return sort_out(
        bucket.objects(prefix),
        inner=lambda one: one.key.removeprefix(prefix),
        spell=lambda one: bucket.spell(one.key),
        leftovers=leftovers,
    )


def parquet_among(bucket: Bucket, doubtful: Sequence[Listed], leftovers: Leftovers) -> list[Listed]:
    """Return the objects that are Parquet by their last or first bytes."""

    def why_not(one: Listed) -> Why | None:
        return why_not_by_magic(one.size, lambda start, stop: bucket.read(one.key, start, stop)[0])

    return by_magic(
        doubtful, why_not=why_not, spell=lambda one: bucket.spell(one.key), leftovers=leftovers
    )


def is_forbidden(error: BaseException) -> bool:
    """Whether an error says that a store forbids a request."""
    is_denied = isinstance(error.__cause__, PermissionError)
    return is_denied or s3_forbids(error) or conditional.is_forbidden(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreState:
    """See `State`."""

    size: int
    etag: str
    changed_ns: int


class StoreBucket:
    """A bucket on GCS, a container on Azure, or an HDFS, with the methods of `S3Bucket`.

    Safe in threads.
    """

    def __init__(self, base: str) -> None:
        """Open it."""
        self.store = HdfsStore(base) if is_hdfs(base) else ConditionalStore(base)
        self.endpoint = self.store.endpoint
        self.name = base

    def spell(self, key: str) -> str:
        """Return the URL of an object."""
        return self.store.spell(key)

    def head(self, key: str) -> StoreState | None:
        """Return the state of an object; None if there is none."""
        found = self.store.state(key)
        return None if found is None else _state_of(found)

    def read(
        self, key: str, start: int, stop: int, *, if_match: str | None = None
    ) -> tuple[bytes, StoreState]:
        """Return the bytes [start, stop) of an object, and its state.

        Raises:
            FileChanged: If it has another ETag.
            FileNotFoundError: If there is no object.
        """
        found = self.store.read_version(key, start, stop, if_match)
        etag, changed_ns = _quoted(found.etag), found.changed_ms * _NS_PER_MS
        return found.data, StoreState(size=found.size, etag=etag, changed_ns=changed_ns)

    def objects(self, prefix: str, *, start_after: str = "") -> Iterator[Listed]:
        """Yield the objects whose keys begin with a prefix, which may end within a name."""
        folder = prefix.rpartition("/")[0]
        for key, size, etag, changed_ms in self.store.listed(folder, offset=start_after):
            if key.startswith(prefix):
                yield Listed(key, size, _quoted(etag), changed_ms * _NS_PER_MS)

    def has_prefix(self, prefix: str, *, suffix: str | tuple[str, ...] = "") -> bool:
        """Whether any key begins so; with a `suffix`, whether one in the same folder ends so.

        The prefix is a name or a folder.
        """
        if not prefix:
            return any(one.key.endswith(suffix) for one in self.store.listed(""))
        return self.store.has_prefix(prefix, suffix=suffix)

    def folders(self, prefix: str) -> Iterator[str]:
        """Yield the names of folders right below a folder."""
        yield from self.store.folders(prefix.rstrip("/"))

    def put(
        self,
        key: str,
        data: bytes,
        *,
        attempt: str,  # noqa: ARG002  these stores make one of their own
        replaces: None,
        unconditional: bool = False,
    ) -> StoreState:
        """Create an object, if there is none.

        Raises:
            FileChanged: If there is one.
            OutcomeUnknown: If it cannot be found out whether the object was written.
        """
        del replaces, unconditional
        return _state_of(self.store.create(key, data))

    def put_file(self, key: str, fd: int, size: int) -> StoreState:
        """Create an object of the bytes of an open file.

        Raises:
            As `put`.
        """
        if not size:
            return _state_of(self.store.create(key, b""))
        with mmap.mmap(fd, size, prot=mmap.PROT_READ) as data:
            return _state_of(self.store.create(key, data))

    def delete(self, key: str) -> None:
        """Delete an object. None need be there."""
        self.store.remove(key)

    def remove_empty(self, key: str) -> None:
        """Remove a folder with nothing in it, where the store has folders."""
        if isinstance(self.store, HdfsStore):
            self.store.remove_empty(key)


def _state_of(state: FileState) -> StoreState:
    etag = _quoted(conditional.etag_of(state) or "")
    return StoreState(size=state.size, etag=etag, changed_ns=state.changed_ns)


def _quoted(etag: str) -> str:
    """Return an ETag with quotes: listings of Azure have none."""
    return etag if etag.startswith("W/") else quoted(etag.strip('"'))


def _environment() -> tuple[tuple[str, str], ...]:
    """Return what obstore and hdfs-native read of the environment."""
    return tuple(one for one in os.environ.items() if one[0].startswith(_VARIABLES))


@lru_cache(_MAX_BUCKETS)
def _buckets(
    base: str,
    given: AzureConnection | GoogleConnection | hdfs.HdfsConnection | None,
    environment: tuple[tuple[str, str], ...],
) -> StoreBucket:
    del given, environment  # they are found again; another value is another bucket
    return StoreBucket(base)


register(_buckets.cache_clear)
