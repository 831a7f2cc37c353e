"""The Parquet files that a local path names: a file, a folder, a pattern.

Folders are searched through, and names that begin with `.` or `_` are left out, as readers of
datasets do. A name that is not there is taken for a file: opening it says so.
"""

# ruff: noqa: PTH112, PTH113, PTH118, PTH207  paths stay spelled as they were given
from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING, NoReturn

from parquet_bloomwriter.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SUFFIXES = (".parquet", ".parq", ".pq")
HIDDEN = (".", "_")


def find_local(given: str) -> list[str]:
    """Find the files.

    Raises:
        InvalidArgument: If there are none in the folder, or none matches.
        OSError: If a folder cannot be listed.
    """
    if os.path.isdir(given):
        return sorted(_walk(given)) or none_in(given)
    if is_pattern(given):
        matching = sorted(glob.glob(given, recursive=True))
        return [path for path in matching if os.path.isfile(path)] or none_matches(given)
    return [given]


def is_pattern(given: str) -> bool:
    """Whether it is a pattern: it looks like one, and nothing has that very name."""
    return glob.has_magic(given) and not os.path.lexists(given)


def is_listed(names: Sequence[str]) -> bool:
    """Whether a file belongs to the folder that is searched.

    Args:
        names: Its path relative to that folder, name by name.
    """
    return has_suffix(names[-1]) and not any(name.startswith(HIDDEN) for name in names)


def has_suffix(name: str) -> bool:
    """Whether a name ends as those of Parquet files do, in whatever case."""
    return name.lower().endswith(SUFFIXES)


def none_in(folder: str) -> NoReturn:
    """Raise the error for a folder without files."""
    raise InvalidArgument(f'there are no Parquet files in the folder "{folder}"')


def none_matches(pattern: str) -> NoReturn:
    """Raise the error for a pattern that nothing matches."""
    raise InvalidArgument(f'no file matches "{pattern}"')


def _walk(folder: str) -> Iterator[str]:
    for parent, folders, names in os.walk(folder, onerror=_raise):
        folders[:] = [name for name in folders if not name.startswith(HIDDEN)]
        for name in names:
            if has_suffix(name) and not name.startswith(HIDDEN):
                yield os.path.join(parent, name)


def _raise(error: OSError) -> None:
    raise error
