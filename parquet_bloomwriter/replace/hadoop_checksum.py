r"""Hadoop's checksum file of a file: its place, its layout, and its renewal.

`ChecksumFileSystem`, version 0, keeps it beside the file as `.NAME.crc`, big endian:

    63 72 63 00 | int32 bytesPerChecksum | CRC32 of each run of that many bytes; the last
    "crc\0"      | 512 unless configured  | run may be shorter; none for an empty file

Checksums of other bytes make a file unreadable for Hadoop and Spark, a missing checksum file does
not. So when a file is replaced, its old checksum file is taken away first, and the new one gets the
name afterwards. It keeps the number of bytes per checksum.
"""

# ruff: noqa: PTH105, PTH120  the steps are system calls, spelled as such
from __future__ import annotations

import contextlib
import os
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.replace.commit import complete, created_meanwhile, new_version
from parquet_bloomwriter.replace.copying import write_all
from parquet_bloomwriter.replace.external_references import crc_path
from parquet_bloomwriter.replace.names import CLOSE_BEFORE_RENAMING, sync_folder
from parquet_bloomwriter.replace.target import choose_target
from parquet_bloomwriter.replace.temporary import PRIVATE, Temporary, temporary_beside
from parquet_bloomwriter.source.local import open_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_bloomwriter.source.local import OpenedFile, StrPath

CHECKSUM_MAGIC_VERSION = b"crc\0"
BYTES_PER_CHECKSUM = 512
"""Hadoop's default of `file.bytes-per-checksum`."""

_HEADER = struct.Struct(">4si")
_READ = 4 << 20
"""Bytes read at a time, approximately."""


def has_stale_crc(path: StrPath) -> bool:
    """Return whether a Hadoop checksum file lies beside `path` that does not match its bytes.

    This is so after a program replaced the file alone.
    """
    if not crc_path(path).exists():
        return False
    with open_file(path) as data, open_file(crc_path(path)) as old:
        run = _bytes_per_checksum(old)
        with os.fdopen(os.dup(old.fd), "rb") as stored:
            stored.seek(0)
            return stored.read() != b"".join(_checksum_file(data, run=run))


def regenerate_crc(path: StrPath) -> None:
    """Replace the Hadoop checksum file beside `path` by one that matches its bytes.

    Raises:
        FileNotFoundError: If there is no checksum file.
        FileChanged: If the file or its checksum file changed meanwhile.
    """
    with (
        open_file(path) as data,
        open_file(crc_path(path)) as old,
        new_version(old, choose_target(old)) as new,
    ):
        for piece in _checksum_file(data, run=_bytes_per_checksum(old)):
            new.write(piece)
        new.complete()
        data.check_unchanged()
        new.commit()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewChecksums:
    """A complete checksum file under a temporary name."""

    path: str
    """Final path of the checksum file."""

    temporary: Temporary

    def commit(self) -> None:
        """Rename the checksum file to its path, which is free since the old file was taken away.

        Raises:
            FileChanged: If another program made such a file meanwhile.
            OSError: What any step raises.
        """
        if os.path.lexists(self.path):
            raise created_meanwhile(self.path)
        if CLOSE_BEFORE_RENAMING:
            os.close(self.temporary.fd)
        os.replace(self.temporary.path, self.path)
        sync_folder(os.path.dirname(self.path))


@contextlib.contextmanager
def new_checksums(path: StrPath, data: OpenedFile) -> Iterator[NewChecksums]:
    """Write a Hadoop checksum file that matches `data`, for when `path` has those bytes.

    Args:
        path: The file, absolute; its checksum file is there.
        data: The new bytes.

    Yields:
        The new checksum file; it is thrown away at the end unless it was committed.
    """
    crc = os.fspath(crc_path(path))
    with temporary_beside(crc, permissions=PRIVATE) as temporary:
        with open_file(crc) as old:
            for piece in _checksum_file(data, run=_bytes_per_checksum(old)):
                write_all(temporary.fd, piece)
            complete(temporary, old)
        yield NewChecksums(path=crc, temporary=temporary)


def _bytes_per_checksum(old: OpenedFile) -> int:
    """Return the bytes per checksum of a checksum file; the default if the file is malformed."""
    with os.fdopen(os.dup(old.fd), "rb") as file:
        header = file.read(_HEADER.size)
    if len(header) == _HEADER.size:
        magic, run = _HEADER.unpack(header)
        if magic == CHECKSUM_MAGIC_VERSION and 0 < run <= _READ:
            return int(run)
    return BYTES_PER_CHECKSUM


def _checksum_file(data: OpenedFile, *, run: int) -> Iterator[bytes]:
    """Yield the bytes of the checksum file that matches `data`."""
    yield _HEADER.pack(CHECKSUM_MAGIC_VERSION, run)
    for piece in _read(data, length=_READ // run * run or run):
        yield _checksums(piece, run=run)


def _read(data: OpenedFile, *, length: int) -> Iterator[bytes]:
    """Yield the whole file in pieces of `length` bytes, the last one shorter."""
    with os.fdopen(os.dup(data.fd), "rb") as file:
        while piece := file.read(length):
            yield piece


def _checksums(piece: bytes, *, run: int) -> bytes:
    view = memoryview(piece)
    values = [zlib.crc32(view[start : start + run]) for start in range(0, len(view), run)]
    return struct.pack(f">{len(values)}I", *values)
