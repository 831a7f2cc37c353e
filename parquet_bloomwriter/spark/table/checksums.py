"""Hadoop's checksum files, `.NAME.crc`, while a task replaces the files that they describe.

Spark writes checksum files on local disks, and fails to read a file that does not match its
checksum file. A file without one is read without a check. So the checksum file is removed before
its file is replaced, and written anew afterwards: at no moment, and after no kill, does a file have
a checksum file that does not match.

Before the checksum file is removed, the file is compared with it. A file that does not match is not
rewritten: a new checksum would make damaged data look sound.

`replace.hadoop_checksum` describes the layout.
"""

# ruff: noqa: PTH105, PTH108, PTH116, PTH118, PTH123, PTH208  the steps are system calls, as in `replace`
from __future__ import annotations

import contextlib
import os
import re
import struct
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import MalformedFile
from parquet_bloomwriter.replace.attributes import carry_over
from parquet_bloomwriter.replace.external_references import crc_path
from parquet_bloomwriter.replace.hadoop_checksum import BYTES_PER_CHECKSUM, CHECKSUM_MAGIC_VERSION
from parquet_bloomwriter.replace.temporary import PRIVATE, remove_stale, temporary_beside
from parquet_bloomwriter.source.local import open_local

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_HEADER = struct.Struct(">4si")
_TEMPORARY = re.compile(r"\.(\..+\.crc)\.bloomify-[0-9a-f]{16}\.tmp")
"""Pattern of the names of temporary files, as in `replace.temporary`."""

_READ = 4 << 20
"""Approximate number of bytes that are read at a time."""


@dataclass(slots=True, kw_only=True)
class Sidecar:
    """The checksum file of a file that `bloomify` rewrites, as the `Progress` of that call."""

    path: str
    """Path of the file that is rewritten."""

    gives_way: bool
    """Whether the file is replaced in place, so that its checksum file must be removed
    meanwhile."""

    trusted: bool = False
    """Whether the file is rewritten even if it does not match its checksums."""

    taken: dict[str, bytes] = field(default_factory=dict)
    """Contents of the checksum files that were removed, by path."""

    identity: tuple[int, ...] = ()
    """Device, inode, size and time of modification of the file when `begin` was called."""

    def begin(self, *, num_bytes: int, num_filters: int) -> None:
        """Compare the file with its checksum files, and remove these if the file is to be replaced.

        Raises:
            MalformedFile: If the file does not match its checksums.
        """
        del num_filters
        self.identity = _identity(self.path)
        found = {path: _read(path) for path in crc_paths(self.path)} if num_bytes else {}
        for path, checksums in found.items():
            if checksums is not None:
                self._check(path, checksums)
        if self.gives_way:
            self.taken = {path: data for path, data in found.items() if data is not None}
            for path in self.taken:
                os.unlink(path)

    def wrote(self, num_bytes: int) -> None:
        """Do nothing."""

    def built(self) -> None:
        """Do nothing."""

    def come_back(self) -> None:
        """Write the removed checksum files again, for the file's present bytes."""
        now = _identity(self.path) if self.taken else ()
        for path, taken in self.taken.items():
            same = now == self.identity
            checksums = taken if same else checksums_of(self.path, like=taken)
            if _identity(self.path) == now and not os.path.lexists(path):
                _write(path, checksums, like=self.path)
        self.taken = {}

    def _check(self, path: str, checksums: bytes) -> None:
        if not self.trusted and checksums != checksums_of(self.path, like=checksums):
            raise MalformedFile(
                f"its bytes do not match {path} (Hadoop checksum file)",
                path=self.path,
                remedy="Have it written anew; if you know that its data is right, remove the "
                "checksum file or force it.",
            )


def crc_paths(path: str) -> tuple[str, ...]:
    """Return the paths of a file's checksum files; a symbolic link has two."""
    return tuple(dict.fromkeys(str(crc_path(place)) for place in (path, os.path.realpath(path))))


def checksums_of(path: str, *, like: bytes = b"") -> bytes:
    """Return the content of a checksum file, with the bytes per checksum of an existing one."""
    run = _bytes_per_checksum(like)
    return _HEADER.pack(CHECKSUM_MAGIC_VERSION, run) + b"".join(_sums(path, run))


def remove_leftovers(folders: Iterable[str]) -> None:
    """Remove temporary files of runs that were killed while they wrote a checksum file."""
    for folder in folders:
        with contextlib.suppress(OSError):  # leftovers do no harm
            for found in filter(None, map(_TEMPORARY.fullmatch, os.listdir(folder))):
                remove_stale(os.path.join(folder, found.group(1)))


def _sums(path: str, run: int) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while piece := file.read(_READ // run * run):
            view = memoryview(piece)
            values = [zlib.crc32(view[start : start + run]) for start in range(0, len(view), run)]
            yield struct.pack(f">{len(values)}I", *values)


def _bytes_per_checksum(checksums: bytes) -> int:
    if len(checksums) >= _HEADER.size:
        magic, run = _HEADER.unpack_from(checksums)
        if magic == CHECKSUM_MAGIC_VERSION and 0 < run <= _READ:
            return int(run)
    return BYTES_PER_CHECKSUM


def _read(path: str) -> bytes | None:
    with contextlib.suppress(FileNotFoundError), open_local(path) as source:
        return source.read_at(0, source.size)
    return None


def _identity(path: str) -> tuple[int, ...]:
    found = os.stat(path)
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _write(path: str, data: bytes, *, like: str) -> None:
    """Write a checksum file with the permissions of the file that it describes."""
    remove_stale(path)
    with temporary_beside(path, permissions=PRIVATE) as temporary, open(like, "rb") as about:
        with os.fdopen(os.dup(temporary.fd), "wb") as file:
            file.write(data)
        carry_over(about.fileno(), temporary.fd, name=path)
        os.fsync(temporary.fd)
        os.replace(temporary.path, path)
