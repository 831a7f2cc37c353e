"""Find the file system of a path or URL, and the path as that file system spells it.

A URL is resolved by pyarrow first, whose readers need no Python, and by fsspec for what pyarrow
does not know. Wrappers are taken off: a local file is read as one, however it is reached.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from parquet_bloomwriter.arguments import TAKE_TABLES, is_of_library
from parquet_bloomwriter.errors import InvalidArgument, StoreProblem, redact, redacting
from parquet_bloomwriter.text import words_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import fsspec
    import pyarrow.fs as pafs

    FileSystem: TypeAlias = pafs.FileSystem | fsspec.AbstractFileSystem
    StrPath: TypeAlias = str | os.PathLike[str]

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+::)*[A-Za-z][A-Za-z0-9+.\-]+://")
"""Scheme of a URL: two letters at least, as a single one is a drive; fsspec chains by `::`."""

SCHEMES: Mapping[str, tuple[str, ...]] = {
    "s3": ("s3", "s3a", "s3n"),
    "gs": ("gs", "gcs"),
    "azure": ("abfs", "abfss", "wasb", "wasbs", "az", "azure", "adl"),
    "sftp": ("sftp", "ssh"),
    "hdfs": ("hdfs", "viewfs"),
}
"""Schemes by which engines name each kind of store."""

_KINDS = {scheme: kind for kind, schemes in SCHEMES.items() for scheme in schemes}

_SECRETS = re.compile(r"(?<=://)(?:[^/\s]*@|[^/@]*@)|\?.*")

_NO_JAVA = re.compile(r"libjvm|libhdfs")
"""Error text of pyarrow where Java or Hadoop is missing, a line for each place it looked at."""

_SFTP = re.compile(r"(^|::)(sftp|ssh)://", re.IGNORECASE)
_SFTP_REMEDY = "Install what SFTP needs: pip install fsspec paramiko."


class ResolvedPath(NamedTuple):
    """A resolved path or URL: its file system, and the path as that file system spells it."""

    filesystem: FileSystem | None
    """The file system; None for the local one."""

    path: str
    name: str
    """The path or URL as the caller spelled it, without secrets, for messages."""

    def __repr__(self) -> str:
        return f"ResolvedPath({self.name!r})"


def locate(given: StrPath, filesystem: object = None) -> ResolvedPath:
    """Return the file system and the path of a path or URL; nothing is read.

    Args:
        given: A path, or, without `filesystem`, a URL.
        filesystem: What the path is relative to: a file system of pyarrow or fsspec, or the URL of
            a folder on one. None for local paths and URLs.

    Raises:
        InvalidArgument: If neither pyarrow nor fsspec here knows the file system or URL.
        OSError: If a store must be asked, and does not answer.
    """
    path = os.fsdecode(given)
    if filesystem is None:
        if not is_url(path):
            return ResolvedPath(None, path, path)
        place = _resolve(path)
        return ResolvedPath(*_unwrapped(*place), without_secrets(path))
    if isinstance(filesystem, str):
        base, prefix = _resolve(filesystem)
        return ResolvedPath(*_unwrapped(base, _joined(prefix, path)), path)
    return ResolvedPath(*_unwrapped(filesystem, path), path)


def is_url(path: str) -> bool:
    """Decide whether this is a URL rather than a local path: the first question about any path.

    Raises:
        InvalidArgument: If it has a NUL, which no path can have.
    """
    if "\0" in path:
        shown = repr(without_secrets(path))
        raise InvalidArgument(
            f"{shown} is no path: it has a NUL", remedy="Name a file or a folder."
        )
    return ":" in path and _URL.match(path) is not None


def store_kind(url: str) -> str:
    """Return the kind of store that a URL is on, by its scheme: a key of `SCHEMES`.

    For the URL of another kind, return its scheme in lower case; for a path, the path in lower
    case.
    """
    scheme = url.partition("://")[0].lower()
    return _KINDS.get(scheme, scheme)


def is_hdfs(path: str) -> bool:
    """Return whether this is a URL of HDFS."""
    return path[:7].lower() == "hdfs://"


def is_far(given: StrPath) -> bool:
    """Return whether a path is a store's URL: not a `file:` URL, nor the name of a local file."""
    path = os.fsdecode(given)
    return is_url(path) and not path.lower().startswith("file:") and not os.path.lexists(path)


def check_local(given: StrPath) -> None:
    """Refuse a URL or an empty path where a local path is needed.

    Raises:
        InvalidArgument: If it is a URL, and nothing here has that very name; or if it is empty,
            which would stand for the current folder.
    """
    path = os.fsdecode(given)
    if not path:
        raise InvalidArgument("the path is empty", remedy="Name a file or a folder.")
    if not is_url(path) or os.path.lexists(path):
        return
    is_here = path.lower().startswith("file:")
    remedy = "Name the file by its path." if is_here else "Copy the file here, or mount the store."
    shown = repr(without_secrets(path))
    raise InvalidArgument(f"{shown} is a URL, and a local path is needed", remedy=remedy)


def without_secrets(text: str) -> str:
    """Return a text in which URLs have no users, passwords and parameters."""
    return _SECRETS.sub("", text)


def is_fsspec(filesystem: object) -> bool:
    """Return whether this is a file system of fsspec."""
    return is_of_library(filesystem, "fsspec", "AbstractFileSystem")


def _resolve(url: str) -> tuple[FileSystem, str]:
    """Return the file system of a URL, and the path on it.

    A file system of this package's own has a branch here, as HDFS has.
    """
    import pyarrow as pa
    import pyarrow.fs as pafs

    if url.startswith("iceberg://"):
        problem = f'"{without_secrets(url)}" is a table, and this takes files'
        raise InvalidArgument(problem, remedy=TAKE_TABLES)
    if is_hdfs(url):
        from parquet_bloomwriter.source.hdfs import is_installed, split_url

        if is_installed():
            from parquet_bloomwriter.source.hdfs_fsspec import HdfsFileSystem
            from parquet_bloomwriter.source.settings import settings_in_use

            settings = settings_in_use().of_hdfs()
            base, path = split_url(url, settings)
            return HdfsFileSystem(base=base, settings=settings), path
    if store_kind(url) == "s3":
        url = f"s3://{url.partition('://')[2]}"
    key = ""
    if url.startswith("s3://") and not {"?", "@"} & set(url):
        # pyarrow would take `%20` in a key for a space, and refuse a space.
        bucket, slash, key = url.removeprefix("s3://").partition("/")
        url, key = f"s3://{bucket}", slash + key
    try:
        with redacting():
            filesystem, path = pafs.FileSystem.from_uri(url)
    except (pa.ArrowInvalid, NotImplementedError) as error:
        return _resolve_by_fsspec(url + key, words_of(error))
    except OSError as error:
        if _NO_JAVA.search(str(error)) is None:
            raise
        raise InvalidArgument(
            f'"{without_secrets(url)}" cannot be opened: HDFS is read by hdfs-native, or by Java '
            "and Hadoop's libhdfs, which were not both found here",
            remedy="Install it: pip install hdfs-native.",
        ) from error
    return filesystem, path + key


def _resolve_by_fsspec(url: str, problem: str) -> tuple[FileSystem, str]:
    shown = without_secrets(url)
    is_sftp = _SFTP.search(url) is not None
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise InvalidArgument(
            f'pyarrow cannot open "{shown}": {problem}',
            remedy=_SFTP_REMEDY
            if is_sftp
            else "Install fsspec, and its package for this kind of store.",
        ) from error
    try:
        filesystem, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        if shown.startswith(("http://", "https://")) and isinstance(error, ImportError):
            raise InvalidArgument(
                f'"{shown}" is read by fsspec over HTTP, '
                "which needs packages that are not installed",
                remedy="Type: pip install fsspec requests aiohttp. Or download the file first.",
            ) from error
        raise InvalidArgument(
            f'neither pyarrow nor fsspec can open "{shown}": {words_of(error)}',
            remedy=_SFTP_REMEDY
            if is_sftp and isinstance(error, ImportError)
            else "Check its beginning, or install fsspec's package for this kind of store.",
        ) from error
    except OSError as error:
        redact(error)
        raise
    except Exception as error:  # of the library that makes the connection
        raise StoreProblem(
            f"the store cannot be opened: {words_of(error)}",
            path=shown,
            remedy="Check the URL, the network and the credentials.",
        ) from error
    return filesystem, path


def _unwrapped(filesystem: object, path: str) -> tuple[FileSystem | None, str]:
    import pyarrow as pa
    import pyarrow.fs as pafs

    if is_fsspec(filesystem):
        return _unwrapped_fsspec(filesystem, path)
    if not isinstance(filesystem, pafs.FileSystem):
        raise InvalidArgument(
            f"{type(filesystem).__name__} is no file system",
            remedy="Pass one of pyarrow.fs or fsspec, or a URL.",
        )
    try:
        path = filesystem.normalize_path(path.rstrip("/") or path)
    except pa.ArrowInvalid as error:
        raise InvalidArgument(str(error)) from error
    if isinstance(filesystem, pafs.SubTreeFileSystem):
        return _unwrapped(filesystem.base_fs, _joined(filesystem.base_path, path))
    if isinstance(filesystem, pafs.LocalFileSystem):
        return None, path
    if isinstance(filesystem, pafs.PyFileSystem) and isinstance(
        filesystem.handler, pafs.FSSpecHandler
    ):
        return _unwrapped(filesystem.handler.fs, path)
    return filesystem, path


def _unwrapped_fsspec(
    filesystem: fsspec.AbstractFileSystem, path: str
) -> tuple[FileSystem | None, str]:
    from fsspec.implementations.local import LocalFileSystem

    path = filesystem._strip_protocol(path)  # noqa: SLF001  fsspec's own packages call it, too
    return (None if type(filesystem) is LocalFileSystem else filesystem), path


def _joined(folder: str, path: str) -> str:
    return f"{folder.rstrip('/')}/{path.lstrip('/')}" if folder else path
