"""How Spark names a file in `_metadata`, and the condition that leaves files out by it.

`_metadata.file_path` is a URI as `java.net.URI` composes it of its parts:

    file:/data/a%20b/café.parquet

Escaped, as `%` and two digits for each byte of UTF-8, are the characters of ASCII that no path of a
URI has, and blanks and control characters of all others. Whatever else is spelled as it is.

A file is left out by path, size and time of modification together, and only ever left out: a file
that is spelled another way than here is read, not lost.

Source: RFC 2396, section 3.3; java.net.URI, "Character categories"; Hadoop, Path.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_ODD = re.compile(r"[^a-zA-Z0-9_\-!.~'()*,;:$&+=@/]")
"""A character that is not certainly spelled as it is."""

_ESCAPED_CATEGORIES = frozenset({"Zs", "Zl", "Zp", "Cc"})
"""Java's isSpaceChar and isISOControl."""

_KEY = (
    "concat_ws('|', _metadata.file_path, _metadata.file_size, "
    "unix_micros(_metadata.file_modification_time))"
)


def file_uri(path: str) -> str:
    """Return what `_metadata.file_path` has for an absolute local path."""
    return "file:" + _ODD.sub(lambda odd: _spelled(odd[0]), path)


def file_key(path: str, size: int, modified_ms: int) -> str | None:
    """Return a file's key: URI, bytes, microseconds since 1970.

    None if the path has bytes that are no UTF-8, which Java cannot spell.
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        return None
    return f"{file_uri(path)}|{size}|{modified_ms * 1000}"


def leaving_out(keys: Iterable[str]) -> str:
    """Return the SQL condition that is false for rows of these files only.

    Quotation marks are the only characters of a key that SQL takes for something else: backslashes
    and braces are escaped in it.
    """
    listed = ",".join(["'" + key.replace("'", "\\'") + "'" for key in keys])
    return f"NOT ({_KEY} IN ({listed}))"


def _spelled(one: str) -> str:
    if not one.isascii() and unicodedata.category(one) not in _ESCAPED_CATEGORIES:
        return one
    return "".join(f"%{byte:02X}" for byte in one.encode())
