"""Filters of files that an index does not know yet, made when a join needs them.

Hybrid scan, for joins: a filter of all values must know the appended files too. If they are a small
share of the table, and small, they are read on the spot, in the driver, and remembered. Files that
are gone do no harm but for the rate.
"""

# ruff: noqa: PTH110, PTH116, PTH118, PTH202  paths are strings, as in the index
from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.index.build.group import filter_of_file
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
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

    from parquet_bloomwriter.index.build.group import FileFilter
    from parquet_bloomwriter.index.query.snapshot import Snapshot

_MAX_KEPT = 1024
_MAX_FILE_BYTES = 16 * 1024 * 1024
"""Largest filter of one file."""

_MAX_LOOKED_FOR = 20_000
"""Files that are looked for when some of the index's are not read."""

Made = list["FileFilter"] | Reason


class Appended:
    """Makes and keeps filters of appended files for one session."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, ...], FileFilter | str] = {}

    def filters_of(
        self,
        spark: SparkSession,
        snapshot: Snapshot,
        present: NDArray[np.bool_],
        question: dict[str, Any],
    ) -> Made:
        """The filters of the files that a relation reads besides those that the index knows.

        Args:
            spark: Whose settings count.
            snapshot: Of the index.
            present: Which of its files are read.
            question: The rule's: "unknown", absolute paths, "num_unknown", "indexed_column".
        """
        paths = question["unknown"]
        problem = _problem(spark, snapshot, present, question)
        if problem is not None:
            return problem
        column = snapshot.entry.column(question["indexed_column"])
        fpp = 0.01 if column is None else column.fpp
        with ThreadPoolExecutor(default_jobs()) as pool:
            make: Callable[[str], FileFilter | str] = lambda path: self._filter_of(  # noqa: E731
                path, question["indexed_column"], fpp
            )
            made = list(pool.map(make, paths))
        for path, filter_ in zip(paths, made, strict=True):
            if isinstance(filter_, str):
                text = f"the appended file {path} has no filter: {filter_}"
                return Reason(code=Code.NO_GLOBAL_FILTER, text=text)
        return [one for one in made if not isinstance(one, str)]

    def _filter_of(self, path: str, column: str, fpp: float) -> FileFilter | str:
        found = os.stat(path)
        key = (path, column, fpp, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        if key not in self._kept:
            made = filter_of_file(path, column, fpp=fpp, max_bytes=_MAX_FILE_BYTES)
            while len(self._kept) >= _MAX_KEPT:
                self._kept.pop(next(iter(self._kept)), None)
            self._kept[key] = made
        return self._kept[key]


def _problem(
    spark: SparkSession,
    snapshot: Snapshot,
    present: NDArray[np.bool_],
    question: dict[str, Any],
) -> Reason | None:
    """Why an index is not used for a table that has changed."""
    paths = question["unknown"]
    missing = next((path for path in paths if not os.path.exists(path)), None)
    if missing is not None:
        text = f"Spark lists {missing}, which is gone; refresh Spark's listing of the table"
        return Reason(code=Code.SOURCE_DATA_CHANGED, text=text)
    gone = _bytes_gone(snapshot, present)
    if not question["num_unknown"] and not gone:
        return None
    if not flag_of(spark, HYBRID_ENABLED):
        text = "files of the table have changed, and hybrid scans are switched off"
        return Reason(code=Code.SOURCE_DATA_CHANGED, text=text)
    known = int(snapshot.files.sizes[present].sum())
    appended = sum(os.path.getsize(path) for path in paths)
    share = appended / max(1, appended + known)
    too_many = len(paths) < question["num_unknown"]
    most = number_of(spark, MAX_APPENDED_BYTES)
    if too_many or appended > most or share > number_of(spark, MAX_APPENDED):
        what = f"{count(question['num_unknown'], 'file')} of {size(appended)} ({percent(share)})"
        text = f"{what} are not in the index yet; refresh it"
        return Reason(code=Code.TOO_MUCH_APPENDED, text=text)
    share = gone / max(1, gone + known)
    if share > number_of(spark, MAX_DELETED):
        text = f"{percent(share)} of what the index knows is gone; refresh it"
        return Reason(code=Code.TOO_MUCH_DELETED, text=text)
    return None


def _bytes_gone(snapshot: Snapshot, present: NDArray[np.bool_]) -> int:
    """Bytes in files of the index that are no more; others may just not be read by the query."""
    import numpy as np

    if snapshot.entry.contract == "immutable":
        return 0
    absent = np.flatnonzero(~present)[:_MAX_LOOKED_FOR].tolist()
    files = snapshot.files
    return sum(
        int(files.sizes[i])
        for i in absent
        if not os.path.exists(os.path.join(snapshot.root, files.paths[i].as_py()))
    )
