"""Arguments that take one name or many, one path or many.

A string is one name, and one path: Python would take it for a sequence of its characters.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterable

    StrPath = str | os.PathLike[str]


def names_of(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return column names as a tuple; a string is one name.

    Raises:
        InvalidArgument: If a name is not text.
    """
    return tuple(_several(given, str, "the name of a column"))


def paths_of(given: StrPath | Iterable[StrPath]) -> tuple[str, ...]:
    """Return paths as a tuple of strings; a string, or an object with a path, is one path.

    Raises:
        InvalidArgument: If an element is no path.
    """
    return tuple(map(os.fspath, _several(given, (str, os.PathLike), "a path")))


def _several(given: Any, kinds: Any, what: str) -> list[Any]:  # noqa: ANN401  checked here
    if isinstance(given, kinds):
        return [given]
    try:
        several = [given] if isinstance(given, bytes | bytearray | memoryview) else list(given)
    except TypeError:
        several = [given]
    strange = [one for one in several if not isinstance(one, kinds)]
    if strange:
        raise InvalidArgument(f"{what} is text, but {strange[0]!r:.80} was given")
    return several
