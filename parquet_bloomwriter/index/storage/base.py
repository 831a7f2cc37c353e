"""The interface of storages: the disk or object store that holds the files of an index.

A folder is an absolute path, or the URL of a prefix, such as `s3://bucket/prefix`. Paths of files
are strings below it, joined by "/". `storage_of` returns the storage of a path, also of one in a
table: no other function asks whether a path is on a store (`layout` does in the text of paths), and
`is_remote` of what it returns is the answer. `local.LocalStorage` documents the methods.

    log           entries are created once, and listed
    files         are written once, as a whole, under names never used again; read by ranges
    versions      folders `v__=<N>`, which are listed only to remove files that no entry refers to
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, cast

from parquet_bloomwriter.index.layout import is_on_store
from parquet_bloomwriter.index.storage.local import LocalStorage
from parquet_bloomwriter.source.identity import FileIdentity

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager
    from typing import TypeAlias

    from parquet_bloomwriter.index.entry import Tail
    from parquet_bloomwriter.index.storage.local import LocalNewFile
    from parquet_bloomwriter.index.storage.object_file import ObjectName, ObjectSource
    from parquet_bloomwriter.index.storage.objects import ObjectNewFile, ObjectStorage
    from parquet_bloomwriter.source.base import Range
    from parquet_bloomwriter.source.local import FileSource

    IndexSource: TypeAlias = FileSource | ObjectSource
    NewFile: TypeAlias = LocalNewFile | ObjectNewFile
    Storage: TypeAlias = LocalStorage | ObjectStorage

_local = LocalStorage()


def storage_of(path: str) -> Storage:
    """Return the storage that an absolute path is in."""
    return _objects() if is_on_store(path) else _local


def open_file(
    path: str,
    size: int = -1,
    *,
    keep: bool = False,
    whole: bool = False,
    tail: Tail | None = None,
) -> AbstractContextManager[IndexSource]:
    """Open a file of an index for reading; on a disk, just as `open_local` does.

    Args:
        path: Absolute.
        size: The bytes that the log says it has; without them, a store is asked first.
        keep: Every lookup needs the bytes that are read: from a store, keep them on this machine.
        whole: All of it will be read: on a store, fetch it at once.
        tail: The end of the file, if it can be computed from the rest.

    Raises:
        OSError: If there is no such file, or it cannot be read.
        IndexProblem: If it is on a store, and has another size.
    """
    return storage_of(path).open(path, size, keep=keep, whole=whole, tail=tail)


def prefetch(source: IndexSource, ranges: Iterable[Range]) -> None:
    """Fetch ranges of a file on a store, all at the same time; of a file on a disk, do nothing.

    Raises:
        IndexProblem: If the store refuses, or the object is not as it was written.
        OSError: If there is no such object.
    """
    if source.fd < 0:
        cast("ObjectSource", source).prefetch(ranges)


def state_of(source: IndexSource) -> FileIdentity | ObjectName:
    """Return the identity of an open file of an index; files of an index never change."""
    found: ObjectName | None = getattr(source, "object_name", None)
    return FileIdentity.of(os.fstat(source.fd)) if found is None else found


@cache
def _objects() -> ObjectStorage:
    from parquet_bloomwriter.index.storage.objects import (
        ObjectStorage,  # lookups on disks need none
    )

    return ObjectStorage()
