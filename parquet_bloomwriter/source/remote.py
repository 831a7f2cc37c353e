"""Files that pyarrow reads: on its file systems, and those that are open already."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from parquet_bloomwriter.errors import FileProblem, InvalidArgument, UnsupportedFile
from parquet_bloomwriter.source.base import REMOTE_BYTES, RangeReader, blame
from parquet_bloomwriter.source.identity import FileSystemKey, is_settled, not_found

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    import pyarrow as pa
    import pyarrow.fs as pafs

    from parquet_bloomwriter.source.face import Range

_THREADS = 16
"""Requests at the same time for one file."""


class Seen(NamedTuple):
    """What a store said of a file. Unlike pyarrow's `FileInfo`, it can be pickled."""

    size: int | None
    """Bytes."""

    mtime_ns: int | None
    """Last change, nanoseconds since 1970 UTC; None if the store does not say."""


class ArrowSource(RangeReader):
    """A `pyarrow.NativeFile`, which may be at the other end of a network."""

    gap: ClassVar[int] = REMOTE_BYTES
    tail_bytes: ClassVar[int] = REMOTE_BYTES

    def __init__(
        self, file: pa.NativeFile, *, name: str | None, identity: Hashable | None = None
    ) -> None:
        """Read from `file`, which whoever opened it closes.

        Raises:
            InvalidArgument: If it is closed or cannot be read at any position.
        """
        if file.closed or not (file.readable() and file.seekable()):
            problem = "closed" if file.closed else "not one to be read at any position"
            raise InvalidArgument(f"the file is {problem}", remedy="Pass a path, or the bytes.")
        import pyarrow as pa

        self._file = file
        self._is_near = isinstance(
            file, pa.BufferReader | pa.MemoryMappedFile | pa.OSFile | pa.PythonFile
        )
        super().__init__(file.size(), name=name, identity=identity)

    def _fetch(self, start: int, stop: int) -> bytes:
        data: bytes = self._file.read_at(stop - start, start)
        return data

    def _fetch_all(self, ranges: list[Range]) -> list[bytes]:
        if len(ranges) == 1 or self._is_near:
            return super()._fetch_all(ranges)
        with ThreadPoolExecutor(min(_THREADS, len(ranges))) as pool:
            return list(pool.map(lambda bounds: self._fetch(*bounds), ranges))

    def for_arrow(self) -> object:
        """The file itself: pyarrow reads it at positions, too."""
        return self._file


@contextmanager
def open_arrow(
    filesystem: pafs.FileSystem, path: str, *, name: str, found: Seen | None = None
) -> Iterator[ArrowSource]:
    """Open a file on one of pyarrow's file systems, and close it at the end.

    Args:
        filesystem: Where it is.
        path: As that file system spells it.
        name: What to call it in messages.
        found: What a listing said of it, which saves asking again.

    Raises:
        UnsupportedFile: If it is a directory.
        OSError: What opening raises.
    """
    kind = "file"
    if found is None:
        kind, found = look_arrow(filesystem, path)
    if found is None:
        raise not_found(name)
    if kind == "directory":
        raise UnsupportedFile("this is a directory", path=name, remedy="Name a file in it.")
    with filesystem.open_input_file(path) as file:
        try:
            yield ArrowSource(file, name=name, identity=_identity(filesystem, path, found))
        except FileProblem as error:
            blame(error, name)
            raise


def _identity(filesystem: pafs.FileSystem, path: str, found: Seen) -> Hashable | None:
    if found.mtime_ns is None or not is_settled(found.mtime_ns):
        return None
    return (FileSystemKey(filesystem), path, found)


def look_arrow(filesystem: pafs.FileSystem, path: str) -> tuple[str, Seen | None]:
    """Tell what is at a path: "file", "directory" or "nothing", and what the store said of it.

    Raises:
        OSError: If asking fails.
    """
    import pyarrow.fs as pafs

    info = filesystem.get_file_info(path)
    if info.type == pafs.FileType.NotFound:
        return "nothing", None
    kind = "directory" if info.type == pafs.FileType.Directory else "file"
    return kind, Seen(info.size, info.mtime_ns)


def list_arrow(
    filesystem: pafs.FileSystem, folder: str, depth: int | None
) -> list[tuple[str, Seen]]:
    """The files in a folder and in those below.

    Args:
        filesystem: Where it is.
        folder: As that file system spells it.
        depth: Levels of folders, 1 for this one only; None for all.

    Returns:
        Paths, and what the listing said of each.

    Raises:
        OSError: If it cannot be listed.
    """
    import pyarrow.fs as pafs

    selector = pafs.FileSelector(folder, recursive=depth != 1)
    infos = filesystem.get_file_info(selector)
    files = (info for info in infos if info.type == pafs.FileType.File)
    return [(info.path, Seen(info.size, info.mtime_ns)) for info in files]
