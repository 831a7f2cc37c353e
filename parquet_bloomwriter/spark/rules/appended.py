"""Bloom filters of files that were appended since the last refresh of an index, made for a join.

A filter that drops rows of a join must hold the values of all files that are read. Appended files
are read at once, in the driver, if they are few and a small share of the table, and their filters
are kept. Files that are gone only make the filter larger than it need be.
"""

# ruff: noqa: PTH110, PTH116, PTH202  paths are strings, as in the index
from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from parquet_bloomwriter.caches import make_room
from parquet_bloomwriter.index.build.group import filter_of_file
from parquet_bloomwriter.index.files import location
from parquet_bloomwriter.index.report import Code, Reason
from parquet_bloomwriter.parallel import default_jobs
from parquet_bloomwriter.spark.settings import (
    HYBRID_ENABLED,
    MAX_APPENDED,
    MAX_APPENDED_BYTES,
    MAX_DELETED,
    flag_of,
    number_of,
)
from parquet_bloomwriter.text import count, percent, size

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from parquet_bloomwriter.index.build.group import FileFilter
    from parquet_bloomwriter.index.query.snapshot import Snapshot
    from parquet_bloomwriter.spark.rules.protocol import JoinFilterRequest

_MAX_KEPT = 1024
_MAX_FILE_BYTES = 16 * 1024 * 1024
"""Maximum size of the filter of one file, bytes."""

_MAX_LOOKED_FOR = 20_000
"""Maximum number of files of the index whose existence is checked because the query does not read
them."""

_Key = tuple[str, str, float, int, int, int, int]
"""The key of a filter: path, column, rate, inode, size, time of modification, time of change."""


class AppendedFilters:
    """Makes filters of appended files for one session, and keeps the last ones."""

    def __init__(self) -> None:
        self._kept: dict[_Key, FileFilter | str] = {}

    def clear(self) -> None:
        """Forget all filters."""
        self._kept.clear()

    def filters_of(
        self,
        spark: SparkSession,
        snapshot: Snapshot,
        present: NDArray[np.bool_],
        request: JoinFilterRequest,
    ) -> list[FileFilter] | Reason:
        """Return the filters of the files that a relation reads and the index does not know.

        Args:
            spark: The session with the settings for appended files.
            snapshot: The index.
            present: Whether each file of the index is read.
            request: The rule's request, with the unknown files.
        """
        problem = _unread(snapshot, request) or _problem(spark, snapshot, present, request)
        if problem is not None:
            return problem
        column = snapshot.entry.column(request.indexed_column)
        fpp = 0.01 if column is None else column.fpp
        with ThreadPoolExecutor(default_jobs()) as pool:
            make = partial(self._filter_of, column=request.indexed_column, fpp=fpp)
            made = list(pool.map(make, request.unknown))
        for path, filter_ in zip(request.unknown, made, strict=True):
            if isinstance(filter_, str):
                text = f"the appended file {path} has no filter: {filter_}"
                return Reason(code=Code.NO_GLOBAL_FILTER, text=text)
        return [one for one in made if not isinstance(one, str)]

    def _filter_of(self, path: str, *, column: str, fpp: float) -> FileFilter | str:
        found = os.stat(path)
        key = (path, column, fpp, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        kept = self._kept.get(key)
        if kept is None:
            kept = filter_of_file(path, column, fpp=fpp, max_bytes=_MAX_FILE_BYTES)
            make_room(self._kept, most=_MAX_KEPT)
            self._kept[key] = kept
        return kept


def _unread(snapshot: Snapshot, request: JoinFilterRequest) -> Reason | None:
    """Return a reason if unknown files are on a store, where joins do not read them; or None."""
    if not (request.num_unknown and snapshot.is_table_on_store):
        return None
    text = (
        f"{count(request.num_unknown, 'file')} on the store are not in the index as they are now, "
        "and a join does not read them; refresh it"
    )
    return Reason(code=Code.TOO_MUCH_APPENDED, text=text)


def _problem(
    spark: SparkSession,
    snapshot: Snapshot,
    present: NDArray[np.bool_],
    request: JoinFilterRequest,
) -> Reason | None:
    """Return why an index is not used for a table that has changed, or None."""
    paths = request.unknown
    missing = next((path for path in paths if not os.path.exists(path)), None)
    if missing is not None:
        text = f"Spark lists {missing}, which is gone; refresh Spark's listing of the table"
        return Reason(code=Code.SOURCE_DATA_CHANGED, text=text)
    gone = _bytes_gone(snapshot, present)
    if not request.num_unknown and not gone:
        return None
    if not flag_of(spark, HYBRID_ENABLED):
        text = "files of the table have changed, and hybrid scans are switched off"
        return Reason(code=Code.SOURCE_DATA_CHANGED, text=text)
    known = int(snapshot.files.sizes[present].sum())
    appended = sum(os.path.getsize(path) for path in paths)
    share = appended / max(1, appended + known)
    too_many = len(paths) < request.num_unknown
    most = number_of(spark, MAX_APPENDED_BYTES)
    if too_many or appended > most or share > number_of(spark, MAX_APPENDED):
        what = f"{count(request.num_unknown, 'file')} of {size(appended)} ({percent(share)})"
        text = f"{what} are not in the index yet; refresh it"
        return Reason(code=Code.TOO_MUCH_APPENDED, text=text)
    share = gone / max(1, gone + known)
    if share > number_of(spark, MAX_DELETED):
        text = f"{percent(share)} of the bytes that the index knows were deleted; refresh it"
        return Reason(code=Code.TOO_MUCH_DELETED, text=text)
    return None


def _bytes_gone(snapshot: Snapshot, present: NDArray[np.bool_]) -> int:
    """Return the size of the files of the index that no longer exist, bytes.

    Files that exist and are not present are only not read by the query. A store is not asked, and
    names that lead out of the table's folder are not followed.
    """
    import numpy as np

    if snapshot.entry.contract == "immutable" or snapshot.is_table_on_store:
        return 0
    files = snapshot.files
    absent = files.take(np.flatnonzero(~present)[:_MAX_LOOKED_FOR]).identities()
    return sum(
        file.size
        for file in absent
        if not file.path.startswith("/")
        and ".." not in file.path.split("/")
        and not os.path.exists(location(snapshot.root, file))
    )
