"""Paths of files in the log: URIs, relative to the table's folder or absolute.

    a%20b/part-0.parquet       a file "a b/part-0.parquet" below the table's folder
    day=a%2520b/part-0.parquet a folder "day=a%20b": Hive escapes values, and the log escapes that
    file:/data/t/x.parquet     absolute; as are file:///data/t/x.parquet and /data/t/x.parquet
    s3://bucket/t/x.parquet    absolute

A malformed escape ("100%") is taken literally, as are "?" and "#": some writers escape nothing.

Source: Delta protocol, "Add File and Remove File"; RFC 2396.
"""

from __future__ import annotations

import posixpath
import re
import uuid
from typing import NamedTuple
from urllib.parse import quote, unquote

from parquet_bloomwriter.errors import InvalidArgument

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_SUFFIX = re.compile(r"(\.[A-Za-z0-9_]{1,8}){0,2}\.parquet$", re.IGNORECASE)
_UNESCAPED = "-_.~=,+@!$'()&;"
_MAX_NAME_BYTES = 200
"""Maximum length of a new file's name, bytes: file systems allow 255, and a temporary name is
longer."""


class DataPath(NamedTuple):
    """The path of a file, without escapes."""

    scheme: str
    """Scheme in lower case; "" for a path relative to the table's folder, "file" for an absolute
    local path."""

    path: str
    """Path: relative, with "/"; absolute, with "/" at its begin; or on a store, `bucket/key`."""


def data_path(uri: str) -> DataPath:
    """Return the path that a URI in the log stands for.

    Raises:
        InvalidArgument: If it is empty, has a NUL, names another machine, or leads out of the
            table's folder.
    """
    if not uri or "\0" in uri or "%00" in uri:
        raise InvalidArgument(f'"{uri}" in the log is no path of a file')
    match = _SCHEME.match(uri)
    if match is None:
        path = _decoded(uri)
        if uri.startswith("/"):
            return DataPath("file", path)
        if _leaves(path):
            raise InvalidArgument(f'"{uri}" in the log leads out of the table\'s folder')
        return DataPath("", path)
    scheme, rest = match[1].lower(), uri[match.end() :]
    if scheme != "file":
        return DataPath(scheme, _decoded(rest.removeprefix("//")))
    host, path = "", rest
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        path = slash + path
    if host not in ("", "localhost") or not path.startswith("/"):
        raise InvalidArgument(f'"{uri}" in the log is no path of a file on this machine')
    return DataPath("file", _decoded(path))


def check_new(uri: str) -> str:
    """Check that a file may be written or removed; return its path relative to the table's folder.

    Raises:
        InvalidArgument: If it is absolute, or in a folder that is hidden, such as the log's.
    """
    scheme, path = data_path(uri)
    if scheme or ".." in path.split("/") or any(map(_is_hidden, path.split("/"))):
        raise InvalidArgument(f'"{uri}" is no name of a new data file below the table\'s folder')
    return path


def new_uri(old_uri: str) -> str:
    """See `LocalPlace.new_uri`."""
    try:
        scheme, path = data_path(old_uri)
    except InvalidArgument:
        scheme, path = "", ""
    new = quote(new_name(path.rpartition("/")[2]), safe=_UNESCAPED, errors="surrogateescape")
    folder, slash, _ = old_uri.rpartition("/")
    if scheme or not slash or folder.count("/") + 1 != path.count("/"):
        return new
    beside = f"{folder}/{new}"
    try:
        check_new(beside)
    except InvalidArgument:
        return new
    return beside


def new_name(old: str) -> str:
    """Return the name for a new file: the old file's name with another random id.

    The id stands in the place of the old one's, or before the ending.

    Args:
        old: Name without folders and escapes; "" for none.
    """
    new_id = str(uuid.uuid4())
    name, count = _UUID.subn(new_id, old, count=1)
    if not count:
        ending = _SUFFIX.search(old)
        end = ending[0] if ending else ".parquet"
        start = old[: ending.start()] if ending else old
        name = f"{start}-{new_id}{end}" if start else f"part-{new_id}{end}"
    name = name.lstrip("._")
    is_long = len(name.encode("utf-8", "surrogateescape")) > _MAX_NAME_BYTES
    return f"part-{new_id}.parquet" if is_long else name


def _decoded(uri: str) -> str:
    return unquote(uri, errors="surrogateescape")


def _leaves(path: str) -> bool:
    """Return whether a relative path leads out of its folder."""
    normal = posixpath.normpath(path)
    return normal in (".", "..") or normal.startswith(("../", "/"))


def _is_hidden(name: str) -> bool:
    """Return whether readers of folders skip files and folders of this name."""
    return not name or (name.startswith((".", "_")) and "=" not in name)
