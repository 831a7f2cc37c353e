"""Open any input (path, URL, file object, buffer), and read its footer.

`opened_with_footer` is the frame of all verbs that only read. A footer takes as few requests as
possible. The modules for stores and streams are imported when they are first needed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

from parquet_bloomwriter.arguments import is_frame, is_of_library, remedy_for
from parquet_bloomwriter.errors import FileProblem, InvalidArgument, NotParquet
from parquet_bloomwriter.source.base import RangeReader, not_found
from parquet_bloomwriter.source.filesystems import is_url, locate
from parquet_bloomwriter.source.listing import Location, is_pattern
from parquet_bloomwriter.source.local import open_local

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.metadata import Footer
    from parquet_bloomwriter.source.base import Source
    from parquet_bloomwriter.source.filesystems import StrPath
    from parquet_bloomwriter.source.stream import BinaryStream

Input: TypeAlias = (
    "StrPath | Location | Source | BinaryStream | bytes | bytearray | memoryview | Any"
)
"""An input; `Any` stands for open files of pyarrow and fsspec: Buffer, NativeFile, OpenFile."""


_MAGIC = b"PAR1"
_TAIL_BYTES = 8
"""Bytes of footer length and magic."""


def open_for_reading(source: Input, *, filesystem: object = None) -> AbstractContextManager[Source]:
    """Open an input for reading only; nothing is locked, and nothing need be writable.

    Args:
        source: A path; a URL (`s3://...`, `file:///...`, `memory://...`, whatever pyarrow or
            fsspec knows); a binary file object that can seek, whose position is moved; a file or
            buffer of pyarrow's; bytes; or a `Source`. What is open already stays open.
        filesystem: What the path is relative to: a file system of pyarrow or fsspec, or the URL of
            a folder on one.

    Raises:
        InvalidArgument: If there is no way to read it.
        UnsupportedFile: If it is no regular file.
        OSError: What opening raises, with the path.
    """
    if isinstance(source, str | os.PathLike):
        path = os.fsdecode(source)
        if filesystem is None and not is_url(path):
            if is_pattern(path):
                raise not_found(path)
            return open_local(path)
        place = locate(path, filesystem)
        return Location(path=place.path, filesystem=place.filesystem, name=place.name).open()
    if filesystem is not None:
        raise InvalidArgument(
            "a file system was given, but no path on it",
            remedy="Pass a path, or leave the file system out.",
        )
    if isinstance(source, Location):
        return source.open()
    if is_of_library(source, "fsspec", "OpenFile"):
        return _open_file_of_fsspec(source)
    return nullcontext(wrapped(source))


def wrapped(source: Any) -> Source:  # noqa: ANN401  of any library
    """Return a source over an open file or a buffer, which its owner closes.

    Raises:
        InvalidArgument: If there is no way to read it.
    """
    if isinstance(source, RangeReader):
        return source
    from parquet_bloomwriter.source.stream import BufferSource, StreamSource

    if is_buffer(source):
        return BufferSource(source)
    if is_of_library(source, "pyarrow", "NativeFile"):
        from parquet_bloomwriter.source.remote import ArrowSource

        return ArrowSource(source, name=None)
    if hasattr(source, "read_ranges"):
        return source  # type: ignore[no-any-return]  # another Source
    if hasattr(source, "read") and hasattr(source, "seek"):
        return StreamSource(source)
    raise InvalidArgument(
        f"nothing can be read from {type(source).__name__}",
        remedy=remedy_for(source) or "Pass a path, a URL, an open binary file, or bytes.",
    )


def listed(given: object) -> list[Any] | None:
    """Return the items of an iterable of files; None if a single file, path or buffer is given.

    Raises:
        InvalidArgument: If rows in memory are given.
    """
    if is_frame(given):
        raise InvalidArgument(
            f"a {type(given).__name__} is no file: its rows are in memory",
            remedy="Pass the path of a Parquet file.",
        )
    is_one = isinstance(given, str | os.PathLike | Location) or is_buffer(given)
    is_open = any(hasattr(given, name) for name in ("read", "read_ranges", "__buffer__"))
    return None if is_one or is_open or not isinstance(given, Iterable) else list(given)


def is_buffer(source: object) -> bool:
    """Return whether an object is bytes in memory."""
    is_bytes = isinstance(source, bytes | bytearray | memoryview)
    return is_bytes or is_of_library(source, "pyarrow", "Buffer")


@contextmanager
def _open_file_of_fsspec(file: Any) -> Iterator[Source]:  # noqa: ANN401  fsspec has no types
    """Read an `fsspec.core.OpenFile` by ranges, or, if it is compressed, as a file object."""
    if file.compression is None:
        with open_for_reading(file.path, filesystem=file.fs) as source:
            yield source
        return
    with file as opened:
        yield wrapped(opened)


@contextmanager
def opened_with_footer(
    source: Input, *, filesystem: object | None = None
) -> Iterator[tuple[Source, Footer]]:
    """Open an input, and view its footer; errors get its path.

    Raises:
        InvalidArgument: If there is no way to read it.
        FileProblem: If it is no Parquet file, or its footer cannot be read.
        OSError: If reading fails.
    """
    name: str | None = None
    try:
        with open_for_reading(source, filesystem=filesystem) as file:
            name = file.name
            footer = read_footer(file)
            yield file, source.named(footer) if isinstance(source, Location) else footer
    except FileProblem as error:  # reading changes nothing, so "left unchanged" says nothing
        error.path, error.outcome = error.path or name, ""
        raise


def read_footer(source: Source, *, check_head: bool = True) -> Footer:
    """Read and view the footer of a Parquet file.

    One request finds it at the end of a remote file, unless it is longer than `tail_bytes`.

    Args:
        source: The file.
        check_head: Check the first four bytes, too, by one request more. Needed before a rewrite,
            not for reading.

    Raises:
        NotParquet: If it is no Parquet file.
        MalformedFile: If the footer is broken.
        UnsupportedFile: If the file is encrypted.
        OSError: If reading fails.
    """
    from parquet_bloomwriter.metadata import locate_footer, parse_footer  # brings numpy

    if source.size < _TAIL_BYTES:
        raise NotParquet(
            f"the file has {source.size} bytes, fewer than the smallest Parquet file",
            remedy="Check that it was copied whole.",
        )
    tail = source.read_tail(source.tail_bytes)
    head = source.read_at(0, len(_MAGIC)) if check_head else _MAGIC
    start = locate_footer(head, tail[-_TAIL_BYTES:], source.size)
    end = source.size - _TAIL_BYTES
    tail_start = source.size - len(tail)
    if start >= tail_start:
        return parse_footer(tail[start - tail_start : end - tail_start], start=start)
    rest = source.read_at(start, tail_start)
    return parse_footer(rest + tail[:-_TAIL_BYTES], start=start)
