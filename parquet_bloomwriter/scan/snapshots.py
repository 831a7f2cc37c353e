"""One answer is of one version of each file, although somebody may replace files meanwhile.

Reading takes several steps: pyarrow looks at a footer for the schema, probing at the filters, and a
scan at the data. A footer of one version says nothing about the bytes of another. So

- a single file on disk is opened once, and every step reads what was opened;
- of several, each is opened anew for the scan, which reads its footer then: row groups are the same
  in all versions that `bloomify` and `strip` make;
- if one of several was replaced after it was probed, its row groups may be others altogether, and
  what probing found is of no use: `Versions` tells, and all is read without it.

On file systems that are not local every request counts: there the footer that was read first is
used for all.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.source.local import FileIdentity, FileSource, identity_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow.dataset as ds

    from parquet_bloomwriter.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A file on disk that is open, whoever takes its name."""

    file: Any
    """For pyarrow; closed when nobody reads it any more."""

    source: Source
    """The same file for probing."""


def hold(path: str, *, memory_map: bool) -> Held:
    """Open a file on disk.

    Raises:
        OSError: What opening raises.
    """
    import pyarrow as pa

    name = os.fsencode(path)
    file = pa.memory_map(name) if memory_map else pa.OSFile(name)
    found = os.fstat(file.fileno())
    source = FileSource(path, file.fileno(), found.st_size, identity=identity_of(found))
    return Held(file=file, source=source)


def is_local(fragment: ds.ParquetFileFragment) -> bool:
    """Whether it is a file on disk that is opened by its path."""
    import pyarrow.fs as pafs

    return isinstance(fragment.filesystem, pafs.LocalFileSystem)


def without_footer(
    fragment: ds.ParquetFileFragment, row_groups: Sequence[int] | None
) -> ds.ParquetFileFragment:
    """The same file, or some of its row groups, of which nothing was read yet."""
    return fragment.format.make_fragment(
        fragment.path, fragment.filesystem, fragment.partition_expression, row_groups=row_groups
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """In which state files on disk were at one moment."""

    states: dict[str, FileIdentity | None]

    @classmethod
    def of(cls, fragments: Iterable[ds.ParquetFileFragment]) -> Versions:
        """Look at files; those on other file systems, and open ones, are left out."""
        return cls(states={one.path: _state(one.path) for one in fragments if is_local(one)})

    def of_these(self, fragments: Iterable[ds.ParquetFileFragment]) -> Versions:
        """The same of some of the files."""
        local = (one.path for one in fragments if is_local(one))
        return Versions(states={path: self.states[path] for path in local})

    def are_current(self) -> bool:
        """Whether all files are still the same."""
        return all(_state(path) == state for path, state in self.states.items())

    def is_of(self, path: str, fd: int) -> bool:
        """Whether the open file is the one that the path led to."""
        return self.states.get(path) == _state(fd)


def _state(file: str | int) -> FileIdentity | None:
    try:
        return FileIdentity.of(os.stat(file))  # noqa: PTH116  one call for each of many files
    except OSError:
        return None
