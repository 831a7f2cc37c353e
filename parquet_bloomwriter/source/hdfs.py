"""HDFS by `hdfs-native`, which needs neither Java nor Hadoop: clients, and files in one version.

Blocks of HDFS are never changed once a file is closed. Whoever has opened a file reads the blocks
that it had then; if it was replaced meanwhile they are there a while longer, and then gone. So a
file that is the same before and after it was opened is read in one version, or not at all.

Size and time of change, which HDFS keeps in milliseconds, identify a version of a file.

Name nodes, whether there are several of them, Kerberos and encryption are found in Hadoop's
configuration (HADOOP_CONF_DIR, HADOOP_HOME), and the user in HADOOP_USER_NAME or a ticket.

Source: Hadoop, "HDFS Architecture"; hdfs-native, `Client`.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.errors import (
    BloomwriterError,
    FileChanged,
    InvalidArgument,
    StoreProblem,
    UnsupportedFile,
    raise_if_final,
    redacting,
)
from parquet_bloomwriter.source.base import RemoteReader
from parquet_bloomwriter.source.identity import is_settled
from parquet_bloomwriter.text import redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import hdfs_native

    from parquet_bloomwriter.source.settings import HdfsConnection

_TRIES = 3
_CLIENTS = 16
_NS_PER_MS = 1_000_000
_JAVA_STACK = re.compile(r"(?:\\n|\n)\s*(?:\\t)?\s*at .*", re.DOTALL)
_RPC_ERROR = re.compile(r'^\w+Error\("[\w.$]+", "|"\)$')
_DENIED = "security.AccessControlException"
_MAX_WORDS = 300
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_PROPERTY = re.compile(r"<property>(.*?)</property>", re.DOTALL)
_NAME_OR_VALUE = re.compile(r"<(name|value)>\s*([^<]*?)\s*</\1>")
_VARIABLES = (
    *("HADOOP_CONF_DIR", "HADOOP_HOME", "HADOOP_USER_NAME", "HADOOP_PROXY_USER"),
    *("HADOOP_TOKEN_FILE_LOCATION", "KRB5CCNAME"),
)
"""Environment variables that hdfs-native and Kerberos read."""


class HdfsUrl(NamedTuple):
    """The URL of a file on HDFS, split into file system and path."""

    base: str
    """`hdfs://host:port`, or `hdfs://nameservice`."""

    path: str
    """Path without escapes; begins with a slash."""


class Version(NamedTuple):
    """The version of a file: size and time by which it differs from other files of its name."""

    size: int
    """Size of the file, bytes."""

    changed_ms: int
    """Time when the file was closed, milliseconds since 1970 UTC."""

    @classmethod
    def of(cls, status: hdfs_native.FileStatus) -> Version:
        """Return the version of a file from a name node's status of it."""
        return cls(status.length, status.modification_time)

    @property
    def etag(self) -> str:
        """A text that serves as an ETag, with its quotes."""
        return f'"{self.changed_ms:x}-{self.size:x}"'

    @property
    def changed_ns(self) -> int:
        """Time when the file was closed, nanoseconds since 1970 UTC."""
        return self.changed_ms * _NS_PER_MS


def is_installed() -> bool:
    """Return whether `hdfs-native` is installed."""
    return find_spec("hdfs_native") is not None


def split_url(url: str, settings: HdfsConnection) -> HdfsUrl:
    """Split the URL of a file; `hdfs:///path` is on the default file system of settings or Hadoop.

    Raises:
        InvalidArgument: If it names no name node, and there is no default; or if a user is in it.
    """
    address, _, path = url[len("hdfs://") :].partition("/")
    if not address:
        default = settings.default or _configuration("core-site.xml").get("fs.defaultFS", "")
        if not default.lower().startswith("hdfs://"):
            raise InvalidArgument(
                f'"{url}" names no name node, and Hadoop\'s configuration has no default one',
                remedy="Name it as hdfs://host:port/path, or set HADOOP_CONF_DIR.",
            )
        address = default[len("hdfs://") :].partition("/")[0]
    if "@" in address:
        raise InvalidArgument(
            "the URL has a user in it", remedy="Leave it out, and set HADOOP_USER_NAME."
        )
    return HdfsUrl(f"hdfs://{address}", f"/{path}")


def open_client(base: str, settings: HdfsConnection) -> hdfs_native.Client:
    """Return a client of one or several name nodes; no request is made yet.

    Args:
        base: `hdfs://host:port` or `hdfs://nameservice`.
        settings: Override Hadoop's configuration on this machine.

    Raises:
        InvalidArgument: If `hdfs-native` is missing, or the address cannot be used.
    """
    if not is_installed():
        raise InvalidArgument(
            "HDFS is read and written with hdfs-native, which is not installed",
            remedy="Install it: pip install hdfs-native.",
        )
    environment = tuple(os.environ.get(name) for name in _VARIABLES)
    return _client(base, settings.settings, environment)


@lru_cache(_CLIENTS)
def _client(
    base: str, settings: tuple[tuple[str, str], ...], environment: tuple[str | None, ...]
) -> hdfs_native.Client:
    from hdfs_native import Client

    del environment  # it is read again; other values are another client
    try:
        return Client(base, dict(settings))
    except Exception as error:
        raise InvalidArgument(
            f'hdfs-native cannot open "{base}": {words_of(error)}',
            remedy="Check the address; for the name of several name nodes, HADOOP_CONF_DIR.",
        ) from error


register(_client.cache_clear)


def open_version(client: hdfs_native.Client, path: str, *, name: str) -> HdfsSource:
    """Open a file for reading, in the version that it has now.

    Args:
        client: Of its name node.
        path: Begins with a slash.
        name: What to call it in messages.

    Raises:
        FileNotFoundError: If there is none.
        UnsupportedFile: If it is a folder.
        FileChanged: If it was replaced again and again meanwhile.
        StoreProblem: If the name node refuses or does not answer.
    """
    with naming(name):
        before = client.get_file_info(path)
        for _ in range(_TRIES):
            if before.isdir:
                raise UnsupportedFile("this is a directory", path=name, remedy="Name a file in it.")
            reader = client.read(path)
            after = client.get_file_info(path)
            if Version.of(before) == Version.of(after) and len(reader) == after.length:
                return HdfsSource(client, path, reader, Version.of(after), name=name)
            before = after
    raise FileChanged("another program wrote the file meanwhile", path=name, remedy="Try again.")


class HdfsSource(RemoteReader):
    """One version of a file on HDFS, as a source of bytes."""

    def __init__(
        self,
        client: hdfs_native.Client,
        path: str,
        reader: hdfs_native.FileReader,
        version: Version,
        *,
        name: str,
    ) -> None:
        """Read a file that was opened in a version."""
        known = (client, path, version) if is_settled(version.changed_ns) else None
        super().__init__(version.size, name=name, identity=known)
        self.version = version
        self.etag = version.etag
        self.count: Callable[[int], None] | None = None
        """Called with the number of bytes of each read."""
        self._client, self._path, self._reader = client, path, reader

    def _fetch(self, start: int, stop: int) -> bytes:
        stop = min(stop, self.size)  # hdfs-native panics when it reads past the end
        if start >= stop:
            return b""
        try:
            with naming(self.name or self._path):
                data = self._reader.read_range(start, stop - start)
        except StoreProblem as error:
            with naming(self.name or self._path):
                now = Version.of(self._client.get_file_info(self._path))
            if now != self.version:
                raise FileChanged(
                    "another program replaced the file while it was read",
                    path=self.name,
                    remedy="Try again.",
                ) from error
            raise
        if self.count is not None:
            self.count(len(data))
        return data


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Turn errors of hdfs-native into errors that name the file.

    Raises:
        FileNotFoundError: If there is no such file or folder.
        FileExistsError: If there is one that must not be there.
        StoreProblem: For all else.
    """
    try:
        with redacting():
            yield
    except (BloomwriterError, MemoryError):
        raise
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno or 2, os.strerror(2), name) from error
    except FileExistsError as error:
        raise FileExistsError(error.errno or 17, os.strerror(17), name) from error
    except BaseException as error:
        raise_if_final(error)
        if isinstance(error, PermissionError) or _DENIED in str(error):
            raise StoreProblem(
                f"HDFS forbids it: {words_of(error)}",
                path=name,
                remedy="Check the rights to the file and to its folder; the user is that of "
                "HADOOP_USER_NAME, of HADOOP_PROXY_USER, or of the Kerberos ticket.",
            ) from PermissionError(words_of(error))
        raise StoreProblem(f"HDFS does not do it: {words_of(error)}", path=name) from error


def words_of(error: BaseException) -> str:
    """Return the message of a name node's error, in one line, without Java's stack."""
    text = _RPC_ERROR.sub("", _JAVA_STACK.sub("", redacted(str(error))))
    return " ".join(text.split())[:_MAX_WORDS] or type(error).__name__


def cluster_of(base: str, settings: HdfsConnection) -> str:
    """Return a text by which caches know a cluster: two name services may have the same name.

    Args:
        base: `hdfs://host:port` or `hdfs://nameservice`.
        settings: Override Hadoop's configuration on this machine.
    """
    service = base.partition("://")[2]
    if ":" in service:
        return "HDFS"
    given = {**_configuration("hdfs-site.xml"), **dict(settings.settings)}
    prefix = f"dfs.namenode.rpc-address.{service}."
    addresses = {text for name, text in given.items() if name.startswith(prefix)}
    return " ".join(["HDFS", *sorted(addresses)])


def _configuration(file: str) -> dict[str, str]:
    """Return values by name in a file of Hadoop's configuration; {} if it cannot be read."""
    home = os.environ.get("HADOOP_HOME")
    folder = os.environ.get("HADOOP_CONF_DIR") or (home and f"{home}/etc/hadoop")
    try:
        text = Path(folder or "", file).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    found = [dict(_NAME_OR_VALUE.findall(one)) for one in _PROPERTY.findall(_COMMENT.sub("", text))]
    return {one.get("name", ""): one.get("value", "") for one in reversed(found)}
