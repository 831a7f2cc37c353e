"""Indexes on S3, on stores that speak its language, on GCS, on Azure and on HDFS.

    log       an entry is put with `If-None-Match: *`: the store refuses one of two writers. It
              carries the attempt of the action, so that a lost answer is not taken for a conflict.
              On a store that ignores the condition, an index can be changed only if the caller
              says that there is one writer.
    files     are written to a file on this machine, and put whole, in parts if they are large.
              Their names are random and given once.
    reading   see `object_file`

A listing returns the entries of the log with their ETags, by which entries that were read before
are recognised. Other files are not found by listings, but by the entries that refer to them.
"""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import local
from typing import TYPE_CHECKING

from parquet_bloomwriter.caches import make_room, register
from parquet_bloomwriter.errors import (
    FileProblem,
    IndexProblem,
    InvalidArgument,
    OutcomeUnknown,
    Proposal,
    StoreProblem,
    Way,
)
from parquet_bloomwriter.index.storage.object_file import (
    begin_file,
    forget,
    keep_entry,
    keep_whole,
    kept_entry,
    open_object_file,
    problem_of,
)
from parquet_bloomwriter.stores.base import is_forbidden
from parquet_bloomwriter.stores.log_entries import create_entry
from parquet_bloomwriter.stores.object_cache import NewKept
from parquet_bloomwriter.stores.open import open_place

if TYPE_CHECKING:
    from collections.abc import Container, Hashable, Iterable, Iterator
    from contextlib import AbstractContextManager
    from typing import Self

    from parquet_bloomwriter.index.entry import IndexFile, Tail
    from parquet_bloomwriter.index.storage.object_file import CachedObject, ObjectSource
    from parquet_bloomwriter.stores.base import Listed

_THREADS = 16
"""Number of simultaneous requests."""

_VERSION = re.compile(r"v__=(0|[1-9][0-9]*)/")
_IN_VERSION = re.compile(r"/v__=(?:0|[1-9][0-9]*)/[^/]+(?:/[^/]+)?$")
_MAX_LISTED = 100_000
_MAX_ENTRIES = 4096
"""Maximum number of log entries that are kept in memory."""

_entries: dict[tuple[str, str], bytes] = {}
"""Log entries by URL and ETag."""

_listed: dict[str, tuple[str, int]] = {}
"""ETag and size of the log entries that were listed, by URL."""

_last = local()
"""The last log that each thread has listed: `state` holds its folder and the listed objects."""

register(_entries.clear)
register(_listed.clear)


class ObjectStorage:
    """The storage of indexes on object stores. The methods are those of `LocalStorage`."""

    is_remote = True
    removed_at_once = 256

    def check_writable(self, folder: str, *, one_writer: bool) -> None:
        """See `LocalStorage`. Once a day, the store's behaviour is tested on a scratch key."""
        if one_writer:
            return
        bucket, key = open_place(folder)
        with _as_problems(folder):
            why_not = bucket.why_not_exclusive(f"{key}/_log")
        if why_not:
            raise InvalidArgument(
                f"{why_not}, so two processes that change the index at the same "
                "time could destroy it",
                path=folder,
                remedy=(
                    "Keep the index elsewhere, or ",
                    Proposal(Way.ONE_WRITER, "promise that there is one writer"),
                    ".",
                ),
            )

    def has_log(self, folder: str) -> bool:
        """See `LocalStorage`."""
        bucket, key = open_place(folder)
        with _as_problems(folder):
            return bucket.has_prefix(f"{key}/_log/")

    def names_in_home(self, home: str, *, is_above: bool = False) -> list[str]:
        """Return the names of the folders in a home; some may have no log."""
        bucket, key = open_place(home)
        with _as_problems(home):
            try:
                return sorted(bucket.folders(f"{key}/"))
            except StoreProblem as error:
                if is_above and is_forbidden(error):
                    return []
                raise

    def log_names(self, log_folder: str, *, just_listed: bool = False) -> list[str]:
        """See `LocalStorage`."""
        state = getattr(_last, "state", None)
        found = state[1] if just_listed and state and state[0] == log_folder else None
        if found is None:
            found = self._log(log_folder)
        return [one.key.rpartition("/")[2] for one in found]

    def log_state(self, log_folder: str) -> Hashable:
        """Return the names and ETags of all entries of a log."""
        found = self._log(log_folder)
        _last.state = log_folder, found
        return frozenset((one.key, one.etag) for one in found)

    def make_log(self, log_folder: str, *, is_new: bool) -> None:
        """Do nothing: a store has no folders."""

    def read_entry(self, path: str, most: int) -> bytes | None:
        """See `LocalStorage`. An entry that was read before and listed since costs no request."""
        bucket, key = open_place(path)
        etag, size = _listed.get(path, ("", -1))
        found = _entries.get((path, etag)) or kept_entry(bucket, key, etag)
        if found is not None or size > most:
            return found
        with _as_problems(path):
            if size < 0:
                state = bucket.state(key)
                if state is None:
                    raise FileNotFoundError(2, os.strerror(2), path)
                size, etag = state.size, state.etag
                if size > most:
                    return None
            if not size:
                return b""
            data, state = bucket.read(key, 0, size, if_match=etag)
        make_room(_entries, most=_MAX_ENTRIES)
        _entries[path, state.etag] = data
        keep_entry(bucket, key, state.etag, data)
        return data

    def create_entry(self, path: str, data: bytes, *, attempt: str, one_writer: bool) -> bool:
        """See `LocalStorage`."""
        self.check_writable(path.rpartition("/_log/")[0], one_writer=one_writer)
        bucket, key = open_place(path)
        try:
            return create_entry(bucket, key, data, attempt=attempt, one_writer=one_writer)
        except OutcomeUnknown as error:
            raise IndexProblem(
                f"{error.problem}; whether the entry of the log was written is not known",
                path=path,
                remedy="List the indexes: the log shows what became of it.",
            ) from error
        except FileProblem as error:
            raise problem_of(error, path) from error

    def remove_leftovers(self, log_folder: str) -> None:
        """Do nothing: an entry is there as a whole or not at all."""

    def open(
        self,
        path: str,
        size: int,
        *,
        keep: bool = False,
        whole: bool = False,
        tail: Tail | None = None,
    ) -> AbstractContextManager[CachedObject | ObjectSource]:
        """See `LocalStorage`."""
        bucket, key = open_place(path)
        if size < 0:
            size = self.size_of(path)
        if size < 0:
            raise FileNotFoundError(2, os.strerror(2), path)
        return open_object_file(bucket, key, size, keep=keep, whole=whole, tail=tail)

    def new_file(self, path: str) -> ObjectNewFile:
        """See `LocalStorage`."""
        return ObjectNewFile(path)

    def manifest_name(self, attempt: str) -> str:
        """See `LocalStorage`. The name is unique, because of caches."""
        return f"manifest-{attempt}.bfindex"

    def make_version(self, folder: str, version_folder: str) -> None:
        """Do nothing: a store has no folders."""

    def are_intact(self, folder: str, files: Iterable[IndexFile]) -> bool:
        """See `LocalStorage`. The versions of the files are listed."""
        files = list(files)
        versions = dict.fromkeys(file.path.partition("/")[0] for file in files)
        bucket, key = open_place(folder)
        with _as_problems(folder), ThreadPoolExecutor(_THREADS) as pool:
            listed = pool.map(lambda one: list(bucket.objects(f"{key}/{one}/")), versions)
            sizes = {found.key: found.size for some in listed for found in some}
        return all(sizes.get(f"{key}/{file.path}") == file.size for file in files)

    def size_of(self, path: str) -> int:
        """See `LocalStorage`."""
        bucket, key = open_place(path)
        with _as_problems(path):
            state = bucket.state(key)
        return -1 if state is None else state.size

    def files_of_versions(self, folder: str, *, before: int) -> list[tuple[str, int]]:
        """See `LocalStorage`."""
        bucket, _ = open_place(folder)
        found = self._versions(folder)
        return sorted(
            (bucket.spell(one.key), one.size) for version, one in found if version < before
        )

    def discard_versions(self, folder: str, numbers: Container[int]) -> None:
        """See `LocalStorage`."""
        bucket, _ = open_place(folder)
        with suppress(IndexProblem, OSError):
            found = self._versions(folder)
            self.remove_files([bucket.spell(one.key) for n, one in found if n in numbers])

    def remove_version(self, version_folder: str) -> None:
        """See `LocalStorage`."""
        bucket, key = open_place(version_folder)
        with _as_problems(version_folder):
            paths = [bucket.spell(one.key) for one in bucket.objects(f"{key}/")]
        self.remove_files(paths)

    def remove_files(self, paths: Iterable[str]) -> None:
        """See `LocalStorage`. Where a bucket keeps versions, it keeps these objects, too."""

        def remove(path: str) -> None:
            bucket, key = open_place(path)
            with _as_problems(path):
                bucket.remove(key)
            forget(bucket, key)

        paths = list(paths)
        with ThreadPoolExecutor(_THREADS) as pool:
            for _ in pool.map(remove, paths):
                pass
        _remove_empty_folders(paths)

    def finish_removal(self, folder: str, *, before: int) -> None:
        """Do nothing: a store has no folders, and what was deleted is gone."""

    def _log(self, log_folder: str) -> list[Listed]:
        """List the entries of a log.

        Raises:
            FileNotFoundError: If there are none.
        """
        bucket, key = open_place(log_folder)
        with _as_problems(log_folder):
            found = list(bucket.objects(f"{key}/"))
        if len(_listed) > _MAX_LISTED:
            _listed.clear()
        for one in found:
            _listed[bucket.spell(one.key)] = one.etag, one.size
        if not found:
            raise FileNotFoundError(2, os.strerror(2), log_folder)
        return found

    def _versions(self, folder: str) -> list[tuple[int, Listed]]:
        """List the files of all versions, each with the number of its version."""
        bucket, key = open_place(folder)
        with _as_problems(folder):
            found = list(bucket.objects(f"{key}/v__="))
        pairs = ((_VERSION.match(one.key.removeprefix(f"{key}/")), one) for one in found)
        return [(int(match[1]), one) for match, one in pairs if match]


class ObjectNewFile:
    """A file of an index that is written on this machine, sent when finished, and cached."""

    def __init__(self, path: str) -> None:
        """Begin the file.

        Raises:
            OSError: If there is no place for it on this machine.
        """
        self._path = path
        self._new = begin_file()
        self.fd = self._new.fd

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._new.discard()

    def finish(self, *, is_kept: bool = True) -> int:  # noqa: ARG002
        """See `LocalNewFile`."""
        bucket, key = open_place(self._path)
        size = os.fstat(self.fd).st_size
        with _as_problems(self._path):
            state = bucket.create_file(key, self.fd, size)
        if isinstance(self._new, NewKept):
            with suppress(OSError):
                keep_whole(bucket, key, self._new, etag=state.etag, size=size)
        self._new.discard()
        return size


def _remove_empty_folders(paths: list[str]) -> None:
    """On a store with folders, remove the folders of versions whose files were removed."""
    folders = {path.rpartition("/")[0] for path in paths if _IN_VERSION.search(path)}
    folders |= {one.rpartition("/column=")[0] for one in folders} - {""}
    for folder in sorted(folders, reverse=True):  # from within
        bucket, key = open_place(folder)
        bucket.remove_empty(key)


@contextmanager
def _as_problems(path: str) -> Iterator[None]:
    """Raise an `IndexProblem` in place of an error of a store."""
    try:
        yield
    except FileProblem as error:
        raise problem_of(error, path) from error
