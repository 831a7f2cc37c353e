"""Sources of files on stores: file systems of pyarrow and fsspec, and open files of pyarrow.

Both kinds of file systems offer the same three steps here: `stat_*` says what is at a path,
`list_*` what is in a folder, and `open_*` gives a source. An open file of pyarrow's is read at
positions; files of fsspec are not opened, and `cat_ranges` asks for all ranges at the same time
where the file system is asynchronous underneath (S3, GCS, Azure, HTTP). Other file systems of
fsspec are read by one thread at a time.

Whether an object is the same as before is decided by its ETag, version or checksum, else by its
size and time of change, if that is older than the store's clock is coarse. `identity` is a key for
what is known of the content; `told_version` says which version was opened, and nothing else.
"""

from __future__ import annotations

import errno
import re
from contextlib import contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from parquet_bloomwriter.errors import (
    BloomwriterError,
    FileProblem,
    InvalidArgument,
    StoreProblem,
    UnsupportedFile,
    redacting,
)
from parquet_bloomwriter.source.base import (
    FileSystemKey,
    RangeReader,
    RemoteReader,
    blame,
    not_found,
)
from parquet_bloomwriter.source.filesystems import is_fsspec
from parquet_bloomwriter.source.identity import identity_of, is_settled, tells_versions
from parquet_bloomwriter.text import words_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

    import pyarrow as pa
    import pyarrow.fs as pafs
    from fsspec import AbstractFileSystem

    from parquet_bloomwriter.source.base import Range, Source

_MOST_AT_ONCE = 64 * 1024 * 1024
"""Most bytes of one request: pyarrow allocates all of them before the store has sent any."""

_DENIED = re.compile(r"AWS Error ACCESS_DENIED during (\w+) operation")
_PERMISSIONS = {
    "HeadObject": "s3:GetObject",
    "GetObject": "s3:GetObject",
    "ListObjectsV2": "s3:ListBucket",
    "HeadBucket": "s3:ListBucket",
}
"""Permission of S3 that each request needs."""


@contextmanager
def naming_permissions(name: str | None) -> Iterator[None]:
    """Add the missing permission to an error where a request to S3 is forbidden.

    Secrets are left out of every error.
    """
    try:
        with redacting():
            yield
    except OSError as error:
        denied = _DENIED.search(str(error))
        if denied is None:
            raise
        needed = _PERMISSIONS.get(denied[1], denied[1])
        problem = f"the store forbids it; this needs the permission {needed}"
        raise PermissionError(errno.EACCES, problem, name) from error


class ObjectInfo(NamedTuple):
    """A store's information on a file. Unlike pyarrow's `FileInfo`, it can be pickled."""

    size: int | None
    """Size of the file, bytes; None if the store does not say."""

    mtime_ns: int | None
    """Time of the last change, nanoseconds since 1970 UTC; None if the store does not say."""


class ArrowSource(RemoteReader):
    """A source over a `pyarrow.NativeFile`, which may be on a remote store."""

    def __init__(
        self, file: pa.NativeFile, *, name: str | None, identity: Hashable | None = None
    ) -> None:
        """Read from `file`, which its opener closes.

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
        with naming_permissions(self.name):
            data: bytes = self._file.read_at(min(stop - start, _MOST_AT_ONCE), start)
        return data

    def _fetch_all(self, ranges: list[Range]) -> list[bytes]:
        if self._is_near:
            return [self._fetch(start, stop) for start, stop in ranges]
        return super()._fetch_all(ranges)

    def for_arrow(self) -> object:
        """Return the file itself: pyarrow reads it at positions, too."""
        return self._file


@contextmanager
def open_arrow(
    filesystem: pafs.FileSystem, path: str, *, name: str, found: ObjectInfo | None = None
) -> Iterator[ArrowSource]:
    """Open a file on a file system of pyarrow, and close it at the end.

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
        with naming_permissions(name):
            kind, found = stat_arrow(filesystem, path)
    if found is None:
        raise not_found(name)
    if kind == "directory":
        raise UnsupportedFile("this is a directory", path=name, remedy="Name a file in it.")
    with naming_permissions(name):
        opened = filesystem.open_input_file(path)
    with redacting(), opened as file:
        try:
            version = _arrow_version(file, found)
            identity = _arrow_identity(filesystem, path, found, version)
            source = ArrowSource(file, name=name, identity=identity)
            source.told_version = version
            yield source
        except FileProblem as error:
            blame(error, name)
            raise


def _arrow_version(file: pa.NativeFile, found: ObjectInfo) -> Hashable | None:
    """Return the version of an opened file: its tag, else its size and time of change."""
    said = {str(key).lower(): value for key, value in (file.metadata() or {}).items()}
    tag: bytes | None = said.get("etag")
    if tag:
        return tag
    is_told = found.mtime_ns is not None and tells_versions(found.mtime_ns)
    return (found.size, found.mtime_ns) if is_told else None


def _arrow_identity(
    filesystem: pafs.FileSystem, path: str, found: ObjectInfo, version: Hashable | None
) -> Hashable | None:
    if found.mtime_ns is None or not is_settled(found.mtime_ns):
        return None
    return (FileSystemKey(filesystem), path, found, version)


def stat_arrow(filesystem: pafs.FileSystem, path: str) -> tuple[str, ObjectInfo | None]:
    """Return "file", "directory" or "nothing", and the store's information on a path.

    Raises:
        OSError: If asking fails.
    """
    import pyarrow.fs as pafs

    info = filesystem.get_file_info(path)
    if info.type == pafs.FileType.NotFound:
        return "nothing", None
    kind = "directory" if info.type == pafs.FileType.Directory else "file"
    return kind, ObjectInfo(info.size, info.mtime_ns)


def list_arrow(
    filesystem: pafs.FileSystem, folder: str, depth: int | None
) -> list[tuple[str, ObjectInfo]]:
    """List the files in a folder and in those below.

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
    return [(info.path, ObjectInfo(info.size, info.mtime_ns)) for info in files]


@contextmanager
def asking_fsspec(name: str | None) -> Iterator[None]:
    """Add the file's name to errors of fsspec's packages, and remove secrets from them.

    Raises:
        OSError: Those of the operating system, and those for missing files and rights.
        StoreProblem: For all else, such as errors of the packages' own libraries.
    """
    try:
        with redacting():
            yield
    except (BloomwriterError, MemoryError):
        raise
    except OSError:
        raise
    except Exception as error:
        raise StoreProblem(f"the store does not answer: {words_of(error)}", path=name) from error


TAGS = ("ETag", "etag", "md5Hash", "generation")
"""Keys of fsspec's information whose value differs for every version."""

TIMES = ("LastModified", "last_modified", "mtime", "updated", "modified")
"""Keys of fsspec's information with the time of change."""

_NS_PER_S = 1_000_000_000


class FsspecSource(RemoteReader):
    """A source over one file of an fsspec file system."""

    def __init__(
        self, filesystem: AbstractFileSystem, path: str, *, name: str, found: Mapping[str, Any]
    ) -> None:
        """Read the file at `path`, of which `filesystem` gave the information `found`."""
        identity = _fsspec_identity(filesystem, path, found)
        super().__init__(int(found["size"]), name=name, identity=identity)
        self._filesystem = filesystem
        self._path = path
        self._turn = nullcontext() if filesystem.async_impl else Lock()

    def _fetch(self, start: int, stop: int) -> bytes:
        with self._turn, asking_fsspec(self.name):
            return bytes(self._filesystem.cat_file(self._path, start=start, end=stop))

    def _fetch_all(self, ranges: list[Range]) -> list[bytes]:
        starts = [start for start, _ in ranges]
        stops = [stop for _, stop in ranges]
        with self._turn, asking_fsspec(self.name):
            return list(
                map(
                    bytes,
                    self._filesystem.cat_ranges(
                        [self._path] * len(ranges), starts, stops, on_error="raise"
                    ),
                )
            )


@contextmanager
def open_fsspec(
    filesystem: AbstractFileSystem, path: str, *, name: str, found: Mapping[str, Any] | None = None
) -> Iterator[Source]:
    """Prepare to read a file on an fsspec file system. Nothing stays open.

    If the file system has a method `open_source(path, name=...)`, the `RangeReader` that this
    method returns reads the file; otherwise the file system's `cat_file` and `cat_ranges` do.

    Args:
        filesystem: Where it is.
        path: As that file system spells it, without the protocol.
        name: What to call it in messages.
        found: What a listing said of it, which saves asking again.

    Raises:
        InvalidArgument: If the file system was made for use in coroutines.
        UnsupportedFile: If it is a directory, or its size is not known.
        OSError: What asking for its size raises.
    """
    if getattr(filesystem, "asynchronous", False):
        raise InvalidArgument(
            "the file system is one for coroutines", remedy="Make it with asynchronous=False."
        )
    kind = "file"
    if found is None:
        with asking_fsspec(name):
            kind, found = stat_fsspec(filesystem, path)
    if found is None:
        raise not_found(name)
    if kind == "directory":
        raise UnsupportedFile("this is a directory", path=name, remedy="Name a file in it.")
    if found.get("size") is None:
        raise UnsupportedFile("its size is not known", path=name, remedy="Make a copy of it first.")
    open_source = getattr(filesystem, "open_source", None)  # HDFS: one version for all reads
    try:
        source: RangeReader
        if open_source is None:
            source = FsspecSource(filesystem, path, name=name, found=found)
        else:
            source = open_source(path, name=name)
        source.told_version = _fsspec_version(found)
        yield source
    except FileProblem as error:
        blame(error, name)
        raise


def stat_fsspec(filesystem: AbstractFileSystem, path: str) -> tuple[str, Mapping[str, Any] | None]:
    """Return "file", "directory" or "nothing", and the store's information on a path.

    fsspec may keep old listings; they are dropped first.

    Raises:
        OSError: If asking fails.
    """
    filesystem.invalidate_cache(path)
    try:
        info: Mapping[str, Any] = filesystem.info(path)
    except FileNotFoundError:
        return "nothing", None
    return "directory" if info.get("type") == "directory" else "file", info


def list_fsspec(
    filesystem: AbstractFileSystem, folder: str, depth: int | None
) -> list[tuple[str, Mapping[str, Any]]]:
    """List the files in a folder and in those below.

    Args:
        filesystem: Where it is.
        folder: As that file system spells it.
        depth: Levels of folders, 1 for this one only; None for all.

    Returns:
        Paths, and what the listing said of each.

    Raises:
        OSError: If it cannot be listed.
    """
    filesystem.invalidate_cache(folder)
    infos = filesystem.find(folder, maxdepth=depth, detail=True)
    return [(path, info) for path, info in infos.items() if info.get("type") == "file"]


def _fsspec_identity(
    filesystem: AbstractFileSystem, path: str, found: Mapping[str, Any]
) -> Hashable | None:
    tag = next((found[key] for key in TAGS if found.get(key)), None)
    if tag is not None:
        weak = str(tag).startswith("W/")  # RFC 9110, 8.8.1: other bytes may have the same one
        return None if weak else (filesystem, path, found["size"], str(tag))
    changed = next((found[key] for key in TIMES if found.get(key)), None)
    nanoseconds = _nanoseconds(changed)
    if nanoseconds is None or not is_settled(nanoseconds):
        return None
    return (filesystem, path, found["size"], nanoseconds)


def _fsspec_version(found: Mapping[str, Any]) -> Hashable | None:
    """Return the version of a file: its tag, else its size and time of change."""
    tag = next((str(found[key]) for key in TAGS if found.get(key)), None)
    if tag is not None and not tag.startswith("W/"):
        return tag
    # A file that is written anew is also created anew in memory.
    changed = next((found[key] for key in (*TIMES, "created") if found.get(key)), None)
    nanoseconds = _nanoseconds(changed)
    if nanoseconds is None or not tells_versions(nanoseconds):
        return None
    return (found["size"], nanoseconds)


def version_of(
    filesystem: pafs.FileSystem | AbstractFileSystem | None,
    path: str,
    file: pa.NativeFile | None = None,
) -> Hashable | None:
    """Ask a store for the version that a file has now.

    Args:
        filesystem: Where it is; None for a disk that is reached by another file system.
        path: As that file system spells it.
        file: The file, if it was opened a moment ago on a file system of pyarrow's; then its own
            version is returned, which takes no request where the store gave a tag.

    Returns:
        What is equal for equal versions only; None if the store does not say enough.

    Raises:
        OSError: If there is no such file, or asking fails.
    """
    if filesystem is None:
        return identity_of(Path(path).stat())
    if is_fsspec(filesystem):
        _, found = stat_fsspec(filesystem, path)
        if found is None:
            raise not_found(path)
        return _fsspec_version(found)
    if file is None:
        with filesystem.open_input_file(path) as opened:
            return version_of(filesystem, path, opened)
    unknown = ObjectInfo(None, None)
    tag = _arrow_version(file, unknown)
    if tag is not None:
        return tag
    _, said = stat_arrow(filesystem, path)
    return _arrow_version(file, said or unknown)


def _nanoseconds(changed: object) -> int | None:
    """Return a time of change in nanoseconds since 1970 UTC; None if it has another form."""
    if isinstance(changed, datetime) and changed.tzinfo is not None:
        changed = changed.timestamp()
    if isinstance(changed, int | float) and not isinstance(changed, bool):
        return int(changed * _NS_PER_S)
    return None
