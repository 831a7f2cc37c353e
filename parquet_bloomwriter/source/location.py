"""A file that has been found but not opened.

What a listing says of a file, its size and identity, goes with it, so that opening a thousand files
does not ask a thousand times. It is trusted for as long as it takes to get to the last of them, and
no longer: a list of locations may be kept for hours, while files are written anew.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.source.filesystems import is_fsspec
from parquet_bloomwriter.source.fsspec import open_fsspec
from parquet_bloomwriter.source.local import open_local
from parquet_bloomwriter.source.remote import open_arrow

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.source.face import Source

_NEWS_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Where a file is. Equal ones lead to the same file."""

    path: str
    """As its file system spells it."""

    filesystem: Any = field(default=None, hash=False)
    """A file system of pyarrow's or fsspec's; None for the local one."""

    name: str = field(default="", compare=False)
    """What to call it in messages; the path if there is nothing better."""

    inner: str = field(default="", compare=False, repr=False)
    """Its path within the folder that was named; "" if the file was, or a pattern."""

    found: Any = field(default=None, compare=False, repr=False)
    """What a listing said of it, which saves asking again as long as that is news."""

    found_at: float = field(default=0.0, compare=False, repr=False)
    """When it said so, seconds since 1970 UTC."""

    def __str__(self) -> str:
        return self.name or self.path

    def open(self) -> AbstractContextManager[Source]:
        """Open it for reading.

        Raises:
            UnsupportedFile: If it is no regular file.
            OSError: What opening raises.
        """
        if self.filesystem is None:
            return open_local(self.path, name=str(self))
        found = self.found if 0 <= time.time() - self.found_at < _NEWS_S else None
        opener = open_fsspec if is_fsspec(self.filesystem) else open_arrow
        return opener(self.filesystem, self.path, name=str(self), found=found)
