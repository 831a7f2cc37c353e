"""One version of each file for one answer, although other processes may replace files meanwhile.

Reading takes several steps: pyarrow reads a footer for the schema, probing the filters, and a scan
the data. A footer of one version says nothing about the bytes of another. So

- a single file on disk is opened once, and every step reads the open file;
- of several files, each is opened again for the scan, which reads the footer then: row groups are
  the same in all versions that `bloomify` and `strip` make;
- a dataset, which may be scanned much later, keeps files open (`held_files`);
- if one of several files was replaced after it was probed, its row groups may be quite different,
  so the verdicts mean nothing. `FileStates` notices it, and the file is read as a whole.

A store gives the newest version to every request. So each step that opens a file there compares
what the store says of it (`source.remote.version_of`) with what it said when the file was probed,
and so does the end of reading, where it is known here.
"""

from __future__ import annotations

import os
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from parquet_bloomwriter.errors import BloomwriterError, FileChanged
from parquet_bloomwriter.source.filesystems import locate
from parquet_bloomwriter.source.identity import FileIdentity, identity_of
from parquet_bloomwriter.source.local import FileSource

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from typing import Self

    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds
    import pyarrow.fs as pafs

_THREADS = 16
"""Number of parallel requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenFile:
    """A file on disk that is open, so that it stays readable if another file takes its name."""

    file: Any
    """File object for pyarrow, which closes it when its last reader is gone."""

    source: FileSource
    """Source of the same file, for probing."""


def open_file(path: str, *, memory_map: bool) -> OpenFile:
    """Open a file on disk.

    Raises:
        OSError: If the file cannot be opened.
    """
    import pyarrow as pa

    opening = pa.memory_map if memory_map else pa.OSFile
    file = opening(os.fsencode(path))
    is_own = False
    try:
        fd = file.fileno()
    except AttributeError:  # so it is before pyarrow 25
        file.close()
        fd, is_own = os.open(path, os.O_RDONLY | os.O_CLOEXEC), True
        file = opening(f"/dev/fd/{fd}")
    found = os.fstat(fd)
    source = FileSource(path, fd, found.st_size, identity=identity_of(found))
    if is_own:
        weakref.finalize(source, os.close, fd)
    return OpenFile(file=file, source=source)


def is_local(fragment: ds.ParquetFileFragment) -> bool:
    """Return whether a fragment is a file on disk that is opened by its path."""
    import pyarrow.fs as pafs

    return isinstance(fragment.filesystem, pafs.LocalFileSystem)


def without_footer(
    fragment: ds.ParquetFileFragment,
    row_groups: Sequence[int] | None,
    *,
    partition_expression: pc.Expression | None = None,
    filesystem: pafs.FileSystem | None = None,
) -> ds.ParquetFileFragment:
    """Return a fragment of the same file, or some row groups, whose footer is not read yet.

    `make_fragment` makes a set of the row groups, and scans them in the order of this set.
    (`subset` keeps their order, but reads the footer.)

    Args:
        fragment: The file.
        row_groups: Ordinals of the row groups; None for all.
        partition_expression: What holds for all rows; None for what the fragment says.
        filesystem: What opens the file; None for the fragment's own.
    """
    if partition_expression is None:
        partition_expression = fragment.partition_expression
    return fragment.format.make_fragment(
        fragment.path,
        fragment.filesystem if filesystem is None else filesystem,
        partition_expression,
        row_groups=None if row_groups is None else list(map(_Ordinal, row_groups, count())),
    )


class _Ordinal(int):
    """The ordinal of a row group, hashed to its place: a set of these keeps the order of places."""

    place: int

    def __new__(cls, ordinal: int, place: int) -> Self:
        self = super().__new__(cls, ordinal)
        self.place = place
        return self

    def __eq__(self, other: object) -> bool:
        return int(self) == other

    def __hash__(self) -> int:
        return self.place


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStates:
    """The states of several files at one moment."""

    states: dict[str, FileIdentity | None]
    """Device, inode, size and times of local files by path; None for a file that could not be
    opened."""

    store: pafs.FileSystem | None = None
    """File system of the objects; None for local files."""

    objects: dict[str, Hashable | None] = field(default_factory=dict)
    """Probed versions of files on a store by path; None where the store does not tell versions."""

    @classmethod
    def of(
        cls,
        fragments: Sequence[ds.ParquetFileFragment],
        versions: Mapping[str, Hashable | None],
    ) -> FileStates:
        """Return the states of files in which they were probed.

        Args:
            fragments: The files, all on one file system.
            versions: What probing found, by path: identities of files on disk, versions of files
                on stores. A file that could not be opened has none. Open files are left out.
        """
        found = {one.path: versions[one.path] for one in fragments if one.path in versions}
        if found and not is_local(fragments[0]):
            return cls(states={}, store=fragments[0].filesystem, objects=found)
        return cls(states=cast("dict[str, FileIdentity | None]", found))

    def are_current(self) -> bool:
        """Return whether all files are still the same, as far as stores tell."""
        if not all(_state(path) == state for path, state in self.states.items()):
            return False
        if not self.objects:
            return True
        with ThreadPoolExecutor(min(_THREADS, len(self.objects))) as pool:
            return all(pool.map(self.may_be_current, self.objects))

    def may_be_current(self, path: str, file: pa.NativeFile | None = None) -> bool:
        """Return whether the store has the probed version now, as far as it tells versions.

        Args:
            path: Of one of the objects.
            file: The object, if it was just opened.
        """
        from parquet_bloomwriter.source.remote import version_of

        if self.objects[path] is None:
            return True
        place = locate(path, self.store)
        try:
            return version_of(place.filesystem, place.path, file) == self.objects[path]
        except (BloomwriterError, OSError):
            return False

    def is_of(self, path: str, fd: int) -> bool:
        """Return whether an open file is the one that was at the path."""
        return self.states.get(path) == _state(fd)

    def is_content_of(self, path: str, fd: int) -> bool:
        """Return whether an open file has the content of the file that was at the path."""
        known, found = self.states.get(path), _state(fd)
        return known is not None and found is not None and known.same_content(found)


def file_changed(path: str, when: str, remedy: str) -> FileChanged:
    """Return the error for a file whose readable version is not the one that was probed."""
    error = FileChanged(f"the file was changed {when}", path=path, remedy=remedy)
    error.outcome = ""
    return error


def _state(file: str | int) -> FileIdentity | None:
    try:
        return FileIdentity.of(os.stat(file))  # noqa: PTH116  one call for each of many files
    except OSError:
        return None
