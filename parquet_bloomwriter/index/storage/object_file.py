"""The files of an index on a store, read by ranges and kept on this machine.

Names of these files are random and never used again, so bytes that were fetched stay valid; the
cache (`stores.object_cache`) stores the ETag, and later requests carry it. Only the manifest of an
index that was copied from a disk has a name that other manifests have, too: its ETag is requested
first.

    up to 8 MiB, or read whole    fetched by one request, or in pieces at the same time; then it is
                                  a file here, read as fast as that of a local index. Checksums
                                  at its end that follow from the rest are made here (`Tail`)
    larger                        read by ranges. What every lookup needs (`keep`) is kept: the
                                  directory of slices, the columns of a part but the filters

`prefetch` is how a lookup saves round trips: it names all ranges that it will read, and these are
fetched at the same time, close ones by one request.
"""

from __future__ import annotations

import bisect
import os
import re
import tempfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.errors import BloomwriterError, FileProblem, IndexProblem, StoreProblem
from parquet_bloomwriter.index.entry import damaged
from parquet_bloomwriter.source.base import RemoteReader, as_arrow_file, merge
from parquet_bloomwriter.source.local import FileSource
from parquet_bloomwriter.stores.object_cache import KeptObject, NewKept, crc_of, default_cache

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from parquet_bloomwriter.index.entry import Tail
    from parquet_bloomwriter.source.base import Range
    from parquet_bloomwriter.stores.base import TableStore

WHOLE_BYTES = 8 << 20
"""Size up to which a file is fetched whole, bytes."""

_PIECE_BYTES = 8 << 20
"""Size of the pieces in which longer ranges are fetched at the same time, bytes."""

_THREADS = 32
"""Number of simultaneous requests for one file."""

_MAX_WASTE_BYTES = 1 << 20
"""Maximum number of unneeded bytes between ranges that one request may return in all."""

_MAX_KEPT_BYTES = 256 << 20
"""Maximum size of the ranges of one file that are kept, bytes; if there are more, none is kept."""

_WHOLE, _RANGES, _ENTRY = "whole", "ranges", "entry"

_GIVEN_ONCE = re.compile(r".*-[0-9a-f-]{32,36}\.[a-z]+")
"""Pattern of names with a random id, which are never used again."""

_MAX_ETAGS = 100_000

_etags: dict[str, str] = {}
"""ETags of the files that were read, by URL."""

register(_etags.clear)


class ObjectName(NamedTuple):
    """The identity of a file of an index on a store; no name is used twice."""

    url: str
    size: int
    """Size of the object, bytes."""


class CachedObject(FileSource):
    """A file of an index on a store, with all its bytes in a file on this machine."""

    def __init__(self, kept: KeptObject, url: str) -> None:
        super().__init__(kept.path, kept.fd, kept.size, name=url)
        self.object_name = ObjectName(url, kept.size)

    def for_arrow(self) -> object:
        """Return a file object for pyarrow that reads this open file, whose name may be gone."""
        return as_arrow_file(self)


class ObjectSource(RemoteReader):
    """A file of an index on a store that is read by ranges. Safe in threads."""

    fd = -1
    """-1: there is no file descriptor."""

    def __init__(self, bucket: TableStore, key: str, size: int, *, keep: bool) -> None:
        """Read an object of which the log says that it has `size` bytes."""
        url = bucket.spell(key)
        super().__init__(size, name=url)
        self.object_name = ObjectName(url, size)
        self._bucket = bucket
        self._key = key
        self._keep = keep
        self._lock = Lock()
        self._starts: list[int] = []
        self._pieces: list[bytes] = []
        self._num_loaded = 0
        if keep:
            self._load()

    def prefetch(self, ranges: Iterable[Range]) -> None:
        """Fetch ranges, all at the same time; reading them costs no request then.

        Raises:
            IndexProblem: If the store refuses, or the object is not as it was written.
            OSError: If there is no such object.
        """
        wanted = sorted({one for one in ranges if one[0] < one[1] and self._known(*one) is None})
        if wanted:
            requests, _ = merge(wanted, gap=self.gap, max_waste=_MAX_WASTE_BYTES)
            for (start, _), data in zip(requests, self._fetch_all(requests), strict=True):
                self._add(start, data)

    def close(self) -> None:
        """Keep the ranges that were read on this machine, if `keep` was asked for."""
        held = sum(map(len, self._pieces))
        if self._keep and held != self._num_loaded and held <= _MAX_KEPT_BYTES:
            pieces = list(zip(self._starts, self._pieces, strict=True))
            with suppress(OSError):
                _keep_ranges(self._bucket, self._key, self.size, pieces)

    def _known(self, start: int, stop: int) -> bytes | None:
        found = super()._known(start, stop)
        if found is not None:
            return found
        with self._lock:
            place = bisect.bisect_right(self._starts, start) - 1
            while place >= 0:
                first, data = self._starts[place], self._pieces[place]
                if first <= start and stop <= first + len(data):
                    return data[start - first : stop - first]
                if first + len(data) <= start:
                    return None
                place -= 1
        return None

    def _add(self, start: int, data: bytes) -> None:
        with self._lock:
            place = bisect.bisect_left(self._starts, start)
            if place < len(self._starts) and self._starts[place] == start:
                if len(data) > len(self._pieces[place]):
                    self._pieces[place] = data
                return
            self._starts.insert(place, start)
            self._pieces.insert(place, data)

    def _fetch(self, start: int, stop: int) -> bytes:
        (data,) = self._fetch_all([(start, stop)])
        return data

    def _fetch_all(self, ranges: list[Range]) -> list[bytes]:
        found = fetch_ranges(self._bucket, self._key, self.size, ranges)
        if self._keep:
            for (start, _), data in zip(ranges, found, strict=True):
                self._add(start, data)
        return found

    def _load(self) -> None:
        """Load the ranges of the object that are kept on this machine."""
        kept = default_cache().get(_name_of(self._bucket, self._key, _RANGES))
        if kept is None:
            return
        try:
            if kept.size != self.size:
                return
            _etags.setdefault(self.object_name.url, kept.etag)
            data, at = os.pread(kept.fd, kept.num_bytes, 0), 0
            for start, stop in kept.ranges:
                self._add(start, data[at : at + stop - start])
                at += stop - start
            self._num_loaded = kept.num_bytes
        finally:
            os.close(kept.fd)


@contextmanager
def open_object_file(  # noqa: PLR0913  what is known of the file
    bucket: TableStore, key: str, size: int, *, keep: bool, whole: bool, tail: Tail | None
) -> Iterator[CachedObject | ObjectSource]:
    """Open a file of an index on a store. See `base.open_file`.

    Raises:
        FileNotFoundError: If there is no such object.
        IndexProblem: If it has another size, or the store refuses.
    """
    if not _GIVEN_ONCE.fullmatch(key.rpartition("/")[2]):
        _forget_if_replaced(bucket, key)
    if whole or size <= WHOLE_BYTES:
        kept = _whole(bucket, key, size, tail)
        try:
            yield CachedObject(kept, bucket.spell(key))
        finally:
            os.close(kept.fd)
        return
    source = ObjectSource(bucket, key, size, keep=keep)
    yield source
    source.close()


def fetch_ranges(bucket: TableStore, key: str, size: int, ranges: Sequence[Range]) -> list[bytes]:
    """Fetch ranges of an object at the same time, and check that its size is that of the log.

    Raises:
        FileNotFoundError: If there is no such object.
        IndexProblem: If it has another size, was replaced meanwhile, or the store refuses.
    """
    url = bucket.spell(key)
    if len(_etags) > _MAX_ETAGS:
        _etags.clear()
    cuts = [list(_cut(start, stop)) for start, stop in ranges]
    pieces = [piece for one in cuts for piece in one]

    def fetch(piece: Range) -> bytes:
        data, state = bucket.read(key, *piece, if_match=_etags.get(url))
        if state.size != size:
            raise damaged(url, f"it has {state.size} bytes, and {size} were written")
        if _etags.setdefault(url, state.etag) != state.etag:
            raise IndexProblem("another program replaced it meanwhile", path=url)
        return data

    try:
        if len(pieces) == 1:
            found = [fetch(pieces[0])]
        else:
            with ThreadPoolExecutor(min(_THREADS, max(1, len(pieces)))) as pool:
                found = list(pool.map(fetch, pieces))
    except StoreProblem as error:
        raise problem_of(error, url) from error
    except FileProblem as error:  # the ETag has changed; the bytes may be the same
        forget(bucket, key)
        raise problem_of(error, url) from error
    except (IndexProblem, OSError):
        forget(bucket, key)
        raise
    parts = iter(found)
    return [b"".join(next(parts) for _ in one) for one in cuts]


def problem_of(error: BloomwriterError, path: str) -> IndexProblem:
    """Return an `IndexProblem` for an error of a store."""
    problem = error.problem
    return IndexProblem(problem, path=error.path or path, remedy=error.remedy)


def begin_file() -> NewKept | Any:  # noqa: ANN401  a file object of `tempfile`
    """Begin a file in the cache; if there is no folder for a cache, a temporary file."""
    try:
        return default_cache().begin()
    except OSError:
        return _Nameless()


def keep_whole(bucket: TableStore, key: str, new: NewKept, *, etag: str, size: int) -> None:
    """Put a file with all bytes of an object into the cache.

    Raises:
        OSError: If that fails.
    """
    _etags[bucket.spell(key)] = etag
    ranges, crc = [(0, size)], crc_of(new.fd, size)
    name = _name_of(bucket, key, _WHOLE)
    default_cache().keep(new, name, etag=etag, size=size, ranges=ranges, crc=crc)


def kept_entry(bucket: TableStore, key: str, etag: str) -> bytes | None:
    """Return a log entry from the cache on this machine, if it has this ETag."""
    kept = default_cache().get(_name_of(bucket, key, _ENTRY))
    if kept is None:
        return None
    try:
        return os.pread(kept.fd, kept.num_bytes, 0) if kept.etag == etag else None
    finally:
        os.close(kept.fd)


def keep_entry(bucket: TableStore, key: str, etag: str, data: bytes) -> None:
    """Put a log entry into the cache on this machine, if there is a folder for it."""
    with suppress(OSError):
        new = default_cache().begin()
        try:
            _write(new.fd, data)
            size, crc = len(data), zlib.crc32(data)
            name = _name_of(bucket, key, _ENTRY)
            default_cache().keep(new, name, etag=etag, size=size, ranges=[(0, size)], crc=crc)
        finally:
            new.discard()


def forget(bucket: TableStore, key: str) -> None:
    """Remove a deleted object from the cache."""
    _etags.pop(bucket.spell(key), None)
    for kind in (_WHOLE, _RANGES):
        default_cache().forget(_name_of(bucket, key, kind))


def _forget_if_replaced(bucket: TableStore, key: str) -> None:
    """Remove an object from the cache, unless it still has the same ETag."""
    url = bucket.spell(key)
    try:
        state = bucket.state(key)
    except FileProblem as error:
        raise problem_of(error, url) from error
    etag = None if state is None else state.etag
    found = {_etags.get(url, etag)}
    for kind in (_WHOLE, _RANGES):
        kept = default_cache().get(_name_of(bucket, key, kind))
        if kept is not None:
            os.close(kept.fd)
            found.add(kept.etag)
    if found != {etag}:
        forget(bucket, key)


class _Nameless:
    """A temporary file, for machines without a folder for the cache."""

    path = ""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  `discard` closes it
        self.fd = self._file.fileno()

    def discard(self) -> None:
        """Close the file, which removes it."""
        self._file.close()


def _cut(start: int, stop: int, step: int = _PIECE_BYTES) -> Iterator[Range]:
    for first in range(start, stop, step):
        yield first, min(first + step, stop)


def _tail_of(bucket: TableStore, key: str, size: int, fd: int, tail: Tail) -> bytes:
    """Return the end of an object, computed from the rest; if the checksum is wrong, fetched."""
    data = os.pread(fd, tail.start, 0)
    made = tail.of(data)
    if len(made) == size - tail.start and zlib.crc32(made, zlib.crc32(data)) == tail.crc:
        return made
    (fetched,) = fetch_ranges(bucket, key, size, [(tail.start, size)])
    return fetched


def _whole(bucket: TableStore, key: str, size: int, tail: Tail | None) -> KeptObject:
    """Return an object as a file on this machine; if it is not in the cache, fetch it."""
    name = _name_of(bucket, key, _WHOLE)
    kept = default_cache().get(name)
    if kept is not None:
        if kept.size == size == kept.num_bytes:
            return kept
        os.close(kept.fd)
    new = begin_file()
    try:
        for start, stop in _cut(0, size if tail is None else tail.start, _THREADS * _PIECE_BYTES):
            (data,) = fetch_ranges(bucket, key, size, [(start, stop)])
            _write(new.fd, data)
        if tail is not None:
            _write(new.fd, _tail_of(bucket, key, size, new.fd, tail))
        etag = _etags.get(bucket.spell(key), "")
        if isinstance(new, NewKept):
            with suppress(OSError):
                keep_whole(bucket, key, new, etag=etag, size=size)
        return KeptObject(
            fd=os.dup(new.fd), path=new.path, num_bytes=size, etag=etag, size=size, ranges=()
        )
    finally:
        new.discard()


def _keep_ranges(
    bucket: TableStore, key: str, size: int, pieces: Sequence[tuple[int, bytes]]
) -> None:
    etag = _etags.get(bucket.spell(key))
    if etag is None:
        return
    new = default_cache().begin()
    try:
        crc = 0
        for _, data in pieces:
            _write(new.fd, data)
            crc = zlib.crc32(data, crc)
        default_cache().keep(
            new,
            _name_of(bucket, key, _RANGES),
            etag=etag,
            size=size,
            ranges=[(start, start + len(data)) for start, data in pieces],
            crc=crc,
        )
    finally:
        new.discard()


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _name_of(bucket: TableStore, key: str, kind: str) -> str:
    return f"{bucket.endpoint}\n{bucket.name}\n{key}\n{kind}"
