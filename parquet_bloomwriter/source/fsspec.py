"""Files on any file system of fsspec, read range by range without opening them.

`cat_ranges` asks for all ranges at the same time where the file system is asynchronous underneath
(S3, GCS, Azure, HTTP). Others are read by one thread at a time.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

from parquet_bloomwriter.errors import FileProblem, InvalidArgument, UnsupportedFile
from parquet_bloomwriter.source.base import REMOTE_BYTES, RangeReader, blame
from parquet_bloomwriter.source.identity import is_settled, not_found
from parquet_bloomwriter.source.stream import as_arrow_file

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

    from fsspec import AbstractFileSystem

    from parquet_bloomwriter.source.face import Range

_TAGS = ("ETag", "etag", "md5Hash", "generation")
_TIMES = ("LastModified", "last_modified", "mtime", "updated", "modified")
_NS_PER_S = 1_000_000_000


class FsspecSource(RangeReader):
    """One file of an fsspec file system."""

    gap: ClassVar[int] = REMOTE_BYTES
    tail_bytes: ClassVar[int] = REMOTE_BYTES

    def __init__(
        self, filesystem: AbstractFileSystem, path: str, *, name: str, found: Mapping[str, Any]
    ) -> None:
        """Read the file at `path`, of which `filesystem` gave the information `found`."""
        identity = _identity(filesystem, path, found)
        super().__init__(int(found["size"]), name=name, identity=identity)
        self._filesystem = filesystem
        self._path = path
        self._turn = nullcontext() if filesystem.async_impl else Lock()

    def _fetch(self, start: int, stop: int) -> bytes:
        with self._turn:
            return bytes(self._filesystem.cat_file(self._path, start=start, end=stop))

    def _fetch_all(self, ranges: list[Range]) -> list[bytes]:
        starts = [start for start, _ in ranges]
        stops = [stop for _, stop in ranges]
        with self._turn:
            return list(
                map(
                    bytes,
                    self._filesystem.cat_ranges(
                        [self._path] * len(ranges), starts, stops, on_error="raise"
                    ),
                )
            )

    def for_arrow(self) -> object:
        """A file of pyarrow's that reads through this source."""
        return as_arrow_file(self)


@contextmanager
def open_fsspec(
    filesystem: AbstractFileSystem, path: str, *, name: str, found: Mapping[str, Any] | None = None
) -> Iterator[FsspecSource]:
    """Prepare to read a file on an fsspec file system. Nothing stays open.

    Args:
        filesystem: Where it is.
        path: As that file system spells it, without the protocol.
        name: What to call it in messages.
        found: What a listing said of it, which saves asking again.

    Raises:
        InvalidArgument: If the file system was made for use in coroutines.
        UnsupportedFile: If it is a directory, or nobody knows its size.
        OSError: What asking for its size raises.
    """
    if getattr(filesystem, "asynchronous", False):
        raise InvalidArgument(
            "the file system is one for coroutines", remedy="Make it with asynchronous=False."
        )
    kind = "file"
    if found is None:
        kind, found = look_fsspec(filesystem, path)
    if found is None:
        raise not_found(name)
    if kind == "directory":
        raise UnsupportedFile("this is a directory", path=name, remedy="Name a file in it.")
    if found.get("size") is None:
        raise UnsupportedFile("its size is not known", path=name, remedy="Make a copy of it first.")
    try:
        yield FsspecSource(filesystem, path, name=name, found=found)
    except FileProblem as error:
        blame(error, name)
        raise


def look_fsspec(filesystem: AbstractFileSystem, path: str) -> tuple[str, Mapping[str, Any] | None]:
    """Tell what is at a path: "file", "directory" or "nothing", and what the store says of it now.

    Listings that were kept may be old, and are dropped.

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
    filesystem.invalidate_cache(folder)
    infos = filesystem.find(folder, maxdepth=depth, detail=True)
    return [(path, info) for path, info in infos.items() if info.get("type") == "file"]


def _identity(
    filesystem: AbstractFileSystem, path: str, found: Mapping[str, Any]
) -> Hashable | None:
    tag = next((found[key] for key in _TAGS if found.get(key)), None)
    if tag is not None:
        weak = str(tag).startswith("W/")  # RFC 9110, 8.8.1: other bytes may have the same one
        return None if weak else (filesystem, path, found["size"], str(tag))
    changed = next((found[key] for key in _TIMES if found.get(key)), None)
    nanoseconds = _nanoseconds(changed)
    if nanoseconds is None or not is_settled(nanoseconds):
        return None
    return (filesystem, path, found["size"], nanoseconds)


def _nanoseconds(changed: object) -> int | None:
    """Nanoseconds since 1970 UTC; None for what cannot be told."""
    if isinstance(changed, datetime) and changed.tzinfo is not None:
        changed = changed.timestamp()
    if isinstance(changed, int | float) and not isinstance(changed, bool):
        return int(changed * _NS_PER_S)
    return None
