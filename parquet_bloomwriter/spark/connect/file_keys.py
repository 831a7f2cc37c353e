"""Names of files in Spark's `_metadata`, and the condition that leaves files out by these names.

`_metadata.file_path` is a URI as `java.net.URI` composes it of its parts:

    file:/data/a%20b/café.parquet

ASCII characters that a path of a URI cannot have, and blanks and control characters beyond ASCII,
are written as `%` and two hexadecimal digits for each byte of UTF-8. Others are unchanged.

The condition names a file by path, size and time of modification, and only leaves files out. If
Spark spells a path in another way than this module does, the file is read, not lost.

Source: RFC 2396, section 3.3; java.net.URI, "Character categories"; Hadoop, Path.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_ODD = re.compile(r"[^a-zA-Z0-9_\-!.~'()*,;:$&+=@/]")
"""A character that may be escaped."""

_ESCAPED_CATEGORIES = frozenset({"Zs", "Zl", "Zp", "Cc"})
"""Categories of characters beyond ASCII that Java escapes: isSpaceChar and isISOControl."""

_KEY = (
    "concat_ws('|', _metadata.file_path, _metadata.file_size, "
    "unix_micros(_metadata.file_modification_time))"
)


def file_uri(path: str) -> str:
    """Return the value of `_metadata.file_path` for an absolute local path."""
    return "file:" + _ODD.sub(lambda odd: _spelled(odd[0]), path)


def file_key(path: str, size: int, modified_ms: int) -> str | None:
    """Return a file's key: URI, bytes, microseconds since 1970.

    Return None if the path has bytes that are not UTF-8, which Java cannot represent.
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        return None
    return f"{file_uri(path)}|{size}|{modified_ms * 1000}"


def leaving_out(keys: Iterable[str]) -> str:
    """Return the SQL condition that is false for the rows of exactly these files.

    The only special characters of SQL in a key are quotation marks: URIs escape backslashes and
    braces.
    """
    listed = ",".join(["'" + key.replace("'", "\\'") + "'" for key in keys])
    return f"NOT ({_KEY} IN ({listed}))"


def _spelled(one: str) -> str:
    if not one.isascii() and unicodedata.category(one) not in _ESCAPED_CATEGORIES:
        return one
    return "".join(f"%{byte:02X}" for byte in one.encode())
