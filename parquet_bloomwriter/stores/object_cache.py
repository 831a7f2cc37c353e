"""A cache on disk of objects, or ranges of them, shared by all processes of this machine.

    $XDG_CACHE_HOME/parquet-bloomwriter/objects/NAME    by default ~/.cache

    | bytes | what they are, JSON | length of the JSON, 8 bytes, little-endian |

NAME is the SHA-256 of endpoint, bucket, key and kind. The JSON has the ETag and the size of the
object, the CRC-32 of the bytes, and the ranges of the object that they are, one behind the other.
A file is written under a temporary name and renamed, so no process sees a part of it. It is
checked when a process opens it for the first time: its length and its checksum. A file that is
broken is not used. Nothing is read or written where another user could have put something else: the
folder must be the user's own, with no right for others to write into it.

The files together have at most `MAX_BYTES`; those that were not used for the longest time go
first. Any file may be removed at any time: what is open stays readable, and what is missing is
fetched again.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from parquet_bloomwriter.user_folders import cache_folder, is_own, make_private

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.source.base import Range

MAX_BYTES = 1 << 30
"""Most bytes of all files of the cache together."""

_LENGTH_BYTES = 8
_PIECE_BYTES = 4 << 20
_USED_S = 60.0
"""Seconds after which a file's time of use is noted again."""

_ABANDONED_S = 86_400.0
"""Age in seconds from which the writer of a temporary file counts as dead."""

_SWEEPS = 16
"""Number of clean-ups while `MAX_BYTES` are written."""

_MAX_CHECKED = 10_000
"""Number of files that are remembered as checked."""

_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
_TEMPORARY = "new-"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptObject:
    """A file of the cache, open for reading; the caller that opened it closes it."""

    fd: int
    path: str
    num_bytes: int
    """Bytes of the object in this file, from the file's beginning."""

    etag: str
    """ETag of the object, with its quotes."""

    size: int
    """Size of the whole object, bytes."""

    ranges: tuple[Range, ...]
    """Ranges of the object that the file holds, in the order of its bytes."""


class NewKept:
    """A file of the cache that is being written; no process sees it before `keep`."""

    def __init__(self, folder: Path) -> None:
        """Begin a temporary file.

        Raises:
            OSError: If there is no place for it.
        """
        make_private(folder)
        if not is_own(folder.stat()):
            raise PermissionError(errno.EPERM, "others can write into it", str(folder))
        self.path = str(folder / f"{_TEMPORARY}{secrets.token_hex(8)}")
        self.fd = os.open(self.path, _NEW, 0o600)

    def discard(self) -> None:
        """Close the file, and remove it if it was not kept."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
            with contextlib.suppress(OSError):
                Path(self.path).unlink(missing_ok=True)


class ObjectCache:
    """The cache files of one folder. Safe in threads, and with other processes."""

    def __init__(self, folder: Path, *, max_bytes: int = MAX_BYTES) -> None:
        """Use a folder, which need not exist."""
        self.folder = folder
        self.max_bytes = max_bytes
        self._written = max_bytes  # the first file that is kept looks at the others
        self._checked: set[tuple[int, ...]] = set()
        self._lock = Lock()

    def get(self, name: str) -> KeptObject | None:
        """Open the cache file of a name; None if there is none, or if it is broken."""
        path = self.folder / _file_name(name)
        try:
            if not is_own(self.folder.stat()):
                return None
            fd = os.open(path, _FLAGS)
        except OSError:
            return None
        try:
            kept = self._opened(fd, str(path))
        except (OSError, ValueError, KeyError, TypeError):
            kept = None
        if kept is None:
            os.close(fd)
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        return kept

    def begin(self) -> NewKept:
        """Begin a new file.

        Raises:
            OSError: If there is no place for it.
        """
        return NewKept(self.folder)

    def keep(  # noqa: PLR0913  what is noted of a file
        self, new: NewKept, name: str, *, etag: str, size: int, ranges: Sequence[Range], crc: int
    ) -> None:
        """Rename a finished file to its name in the cache; it stays open, and `discard` closes it.

        Args:
            new: The file, to which all bytes have been written.
            name: Its name.
            etag: Of the object.
            size: Of the object, bytes.
            ranges: What the bytes are.
            crc: CRC-32 of the bytes.

        Raises:
            OSError: If that fails; there is no file of the name, or the one before.
        """
        length = sum(stop - start for start, stop in ranges)
        facts = {"etag": etag, "size": size, "crc": crc, "ranges": [list(one) for one in ranges]}
        data = json.dumps(facts).encode()
        os.lseek(new.fd, length, os.SEEK_SET)
        with os.fdopen(os.dup(new.fd), "wb") as file:
            file.write(data + len(data).to_bytes(_LENGTH_BYTES, "little"))
        Path(new.path).replace(self.folder / _file_name(name))
        found = os.fstat(new.fd)
        self._note_checked(found)
        with self._lock:
            self._written += found.st_size
            is_due = self._written >= self.max_bytes // _SWEEPS
            if is_due:
                self._written = 0
        if is_due:
            self._sweep()

    def forget(self, name: str) -> None:
        """Remove the cache file of a name."""
        with contextlib.suppress(OSError):
            (self.folder / _file_name(name)).unlink(missing_ok=True)

    def _opened(self, fd: int, path: str) -> KeptObject | None:
        found = os.fstat(fd)
        if not is_own(found):
            return None
        end = found.st_size - _LENGTH_BYTES
        length = int.from_bytes(_read(fd, end, _LENGTH_BYTES), "little")
        facts = json.loads(_read(fd, end - length, length))
        ranges = tuple((int(start), int(stop)) for start, stop in facts["ranges"])
        num_bytes = sum(stop - start for start, stop in ranges)
        if num_bytes != end - length:
            return None
        state = _state_of(found)
        if state not in self._checked:
            if crc_of(fd, num_bytes) != facts["crc"]:
                return None
            self._note_checked(found)
        if time.time() - found.st_mtime > _USED_S:
            with contextlib.suppress(OSError):
                os.utime(path)
                self._note_checked(os.fstat(fd))
        return KeptObject(
            fd=fd,
            path=path,
            num_bytes=num_bytes,
            etag=str(facts["etag"]),
            size=int(facts["size"]),
            ranges=ranges,
        )

    def _note_checked(self, found: os.stat_result) -> None:
        with self._lock:
            if len(self._checked) >= _MAX_CHECKED:
                self._checked.clear()
            self._checked.add(_state_of(found))

    def _sweep(self) -> None:
        """Remove the files unused for the longest time, until at most `max_bytes` are left."""
        with contextlib.suppress(OSError):
            self._remove_oldest()

    def _remove_oldest(self) -> None:
        now, files = time.time(), []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    found = entry.stat(follow_symlinks=False)
                    if not entry.name.startswith(_TEMPORARY):
                        files.append((found.st_mtime, found.st_size, entry.path))
                    elif now - found.st_mtime > _ABANDONED_S:
                        Path(entry.path).unlink(missing_ok=True)
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= self.max_bytes:
                return
            with contextlib.suppress(OSError):
                Path(path).unlink(missing_ok=True)
                total -= size


def default_cache() -> ObjectCache:
    """Return the cache of this user; without a home folder, a cache that keeps nothing."""
    folder = (cache_folder() or Path(os.devnull)) / "objects"
    with _lock:
        if folder not in _caches:
            _caches[folder] = ObjectCache(folder)
        return _caches[folder]


_caches: dict[Path, ObjectCache] = {}
_lock = Lock()


def crc_of(fd: int, num_bytes: int) -> int:
    """Return the CRC-32 of a file's first bytes.

    Raises:
        OSError: If it has fewer, or cannot be read.
    """
    crc = 0
    for start in range(0, num_bytes, _PIECE_BYTES):
        crc = zlib.crc32(_read(fd, start, min(_PIECE_BYTES, num_bytes - start)), crc)
    return crc


def _state_of(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _read(fd: int, start: int, length: int) -> bytes:
    if start < 0:
        raise OSError("the file is too short")
    data = os.pread(fd, length, start)
    if len(data) != length:
        raise OSError("the file is too short")
    return data


def _file_name(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
