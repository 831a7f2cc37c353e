"""The names of files in Spark's `_metadata`, and the condition that excludes files by name.

`_metadata.file_path` is a URI as `java.net.URI` composes it of its parts:

    file:/data/a%20b/café.parquet
    s3a://bucket/a%20b/café.parquet

ASCII characters that a path of a URI cannot have, and blanks and control characters beyond ASCII,
are written as `%` and two hexadecimal digits for each byte of UTF-8. Others are unchanged.

The condition names a file by path, size and time of modification, and only leaves files out. If
Spark spells a path in another way than this module does, the file is read, not lost. Of objects on
a store, whole seconds of the time count: some answers have no more. The caller compares ETags.

Source: RFC 2396, section 3.3; java.net.URI, "Character categories"; Hadoop, Path.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_ODD = re.compile(r"[^a-zA-Z0-9_\-!.~'()*,;:$&+=@/]")
"""Pattern of a character that may need an escape."""

_ESCAPED_CATEGORIES = frozenset({"Zs", "Zl", "Zp", "Cc"})
"""Unicode categories beyond ASCII that Java escapes: isSpaceChar and isISOControl."""

_DISK = "file"
_LOCAL = f"{_DISK}:"
_MICROSECONDS = "unix_micros(_metadata.file_modification_time)"
_SECONDS = "unix_seconds(_metadata.file_modification_time)"


def file_uri(path: str, scheme: str = _DISK) -> str:
    """Return the value of `_metadata.file_path` for an absolute local path or the URL of an object.

    Args:
        path: The path, or the URL.
        scheme: Scheme by which Spark reads it, such as "s3a" for an object.
    """
    rest = path if scheme == _DISK else f"//{path.partition('://')[2]}"
    return f"{scheme}:" + _ODD.sub(lambda odd: _spelled(odd[0]), rest)


def file_key(path: str, size: int, modified_ms: int, *, scheme: str = _DISK) -> str | None:
    """Return a file's key: URI, bytes, microseconds since 1970; for an object, seconds.

    Return None if the path has bytes that are not UTF-8, which Java cannot represent.
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        return None
    time = modified_ms * 1000 if scheme == _DISK else modified_ms // 1000
    return f"{file_uri(path, scheme)}|{size}|{time}"


def leaving_out(keys: Iterable[str]) -> str:
    """Return the SQL condition that is false for the rows of exactly these files.

    All of them are on disks, or all of them are objects.

    The only special characters of SQL in a key are quotation marks: URIs escape backslashes and
    braces.
    """
    given = list(keys)
    is_local = all(key.startswith(_LOCAL) for key in given)
    time = _MICROSECONDS if is_local else _SECONDS
    key = f"concat_ws('|', _metadata.file_path, _metadata.file_size, {time})"
    listed = ",".join(["'" + key.replace("'", "\\'") + "'" for key in given])
    return f"NOT ({key} IN ({listed}))"


def _spelled(one: str) -> str:
    if not one.isascii() and unicodedata.category(one) not in _ESCAPED_CATEGORIES:
        return one
    return "".join(f"%{byte:02X}" for byte in one.encode())
