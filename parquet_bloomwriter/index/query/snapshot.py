"""One version of an index, ready to be asked. Nothing that is in it can make a query fail.

Whatever is missing, cut short or not as it must be: every file might match, and `problem` says why.
What is read of a version stays in memory as long as it is in use (about 60 bytes for each filter
and 120 for each file), the filters themselves do not.

Snapshots that were opened lately, as long as the log is what it was then.

Entries are written once: as long as the log's folder lists the same names, and is the same folder,
the newest stable entry is the same.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from threading import Lock, RLock
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.errors import BloomwriterError, IndexProblem
from parquet_bloomwriter.index.format.columns import leaf_of
from parquet_bloomwriter.index.format.filter_file import might_hold
from parquet_bloomwriter.index.format.manifest import read_manifest
from parquet_bloomwriter.index.format.part_reader import read_part
from parquet_bloomwriter.index.layout import LOG, root_of
from parquet_bloomwriter.index.log.entry import State
from parquet_bloomwriter.index.log.log import IndexLog
from parquet_bloomwriter.index.query.column_filters import gathered
from parquet_bloomwriter.index.query.conditions import columns_in, units_of
from parquet_bloomwriter.index.query.join_filter import Joining
from parquet_bloomwriter.index.query.probe import ask
from parquet_bloomwriter.index.report import Code, Reason
from parquet_bloomwriter.index.table_formats import why_not_plain
from parquet_bloomwriter.parallel import default_jobs
from parquet_bloomwriter.source.local import FileIdentity
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.format.manifest import FileTable
    from parquet_bloomwriter.index.log.entry import Entry, IndexedColumn
    from parquet_bloomwriter.index.query.column_filters import ColumnFilters
    from parquet_bloomwriter.index.query.conditions import Units
    from parquet_bloomwriter.index.query.join_filter import JoinFilter
    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.predicate.expression import Expression
    from parquet_bloomwriter.sbbf import Sbbf

# ruff: noqa: PTH118, PTH116, PTH208  paths are strings, as in the entries


_MAX_BYTES = 512 * 1024 * 1024
"""Of all snapshots but the newest."""


class SnapshotCache:
    """Safe in threads."""

    def __init__(self, max_bytes: int = _MAX_BYTES) -> None:
        """Keep so many bytes, but always the newest snapshot."""
        self._max_bytes = max_bytes
        self._kept: OrderedDict[str, tuple[Hashable, Snapshot]] = OrderedDict()
        self._lock = Lock()

    def get(self, folder: str) -> Snapshot | None:
        """Return the snapshot of an index; None if there is none, or it is not of this log."""
        with self._lock:
            found = self._kept.get(folder)
        if found is None or found[0] != _state_of(folder) or found[1].problem is not None:
            return None
        with self._lock:
            if folder in self._kept:
                self._kept.move_to_end(folder)
        return found[1]

    def put(self, folder: str, open_: Callable[[str, Snapshot | None], Snapshot]) -> Snapshot:
        """Open the snapshot of an index, and keep it.

        Args:
            folder: The index's.
            open_: Opens it; told of the one that was kept so far, which it may return.

        Raises:
            Exception: Whatever opening raises; nothing is kept then.
        """
        with self._lock:
            _, before = self._kept.pop(folder, (None, None))
        state = _state_of(folder)  # Before: what is written meanwhile is noticed the next time.
        snapshot = open_(folder, before)
        with self._lock:
            self._kept[folder] = (state, snapshot)
            self._kept.move_to_end(folder)
            held = sum(one.num_bytes_held for _, one in self._kept.values())
            while held > self._max_bytes and len(self._kept) > 1:
                _, (_, oldest) = self._kept.popitem(last=False)
                held -= oldest.num_bytes_held
        return snapshot


def _state_of(folder: str) -> Hashable:
    """What changes when the log does."""
    log = os.path.join(folder, LOG)
    return FileIdentity.of(os.stat(log)), frozenset(os.listdir(log))


# ruff: noqa: PTH118, PTH116  paths are strings, as in the entries


_MAX_LAYOUTS = 8
"""Combinations of columns of which the layout is kept."""

_FEW_FILTERS = 16
"""Up to so many it is as well to ask them as the global one first."""


class Snapshot:
    """The newest stable version of an index, as it was when opened. Safe in threads.

    Attributes:
        entry: What the log says of the version.
        folder: The index's, absolute.
        root: What paths of files are relative to, absolute.
        files: The files that the version knows; answers are in their order.
        problem: What went wrong last; None as long as all is well.
    """

    def __init__(self, entry: Entry, folder: str, files: FileTable) -> None:
        self.entry = entry
        self.folder = folder
        self.root = root_of(folder, entry)
        self.files = files
        self.problem: Reason | None = None
        self._lock = RLock()
        self._filters: dict[str, ColumnFilters] = {}
        self._layouts: dict[tuple[str, ...], Units] = {}
        self._joining = Joining(entry, folder, files)

    @property
    def num_bytes_held(self) -> int:
        """Memory, bytes, about."""
        with self._lock:
            held = [one.num_bytes_held for one in self._filters.values()]
            held += [one.num_bytes_held for one in self._layouts.values()]
        held += [int(getattr(self.files, name).nbytes) for name in _FILE_COLUMNS]
        return sum(held) + self._joining.num_bytes_held

    def could_exclude(self, expression: Expression) -> bool:
        """Whether the index might have something to say about a predicate."""
        try:
            units = self._units(expression)
            return units is not None and units.could_exclude(expression)
        except Exception as error:  # noqa: BLE001  see the head of the module
            self.problem = reason_of(error, self.folder)
            return False

    def might_match(self, expression: Expression) -> NDArray[np.bool_]:
        """For each file, whether it might hold a row for which a predicate is true.

        Returns:
            In the order of `files`, shape (m,). All are true if something is wrong.
        """
        try:
            units = self._units(expression)
            if units is not None:
                return units.might_match(expression, self._ask)
        except Exception as error:  # noqa: BLE001  see the head of the module
            self.problem = reason_of(error, self.folder)
        return np.ones(len(self.files.ids), np.bool_)

    def types(self, column: str) -> tuple[Leaf, ...]:
        """The types that an indexed column has in the files; none if something is wrong."""
        indexed = self.entry.column(column)
        if indexed is None:
            return ()
        try:
            with self._lock:
                return tuple(map(leaf_of, self._column(indexed).types))
        except Exception as error:  # noqa: BLE001  see the head of the module
            self.problem = reason_of(error, self.folder)
            return ()

    def join_filter(
        self, column: str, present: NDArray[np.bool_], extra: Sequence[Sbbf] = ()
    ) -> JoinFilter | Reason:
        """Make one filter of all values that a column has in some of the files.

        Args:
            column: Its name in the index.
            present: Which files, in the order of `files`, shape (m,).
            extra: Filters of the values in files that the index does not know.
        """
        try:
            with self._lock:
                indexed = self.entry.column(column)
                if indexed is None:
                    text = f'the index "{self.entry.name}" is not over the column {column}'
                    return Reason(code=Code.MISSING_INDEXED_COL, text=text)
                filters = self._column(indexed)
            return self._joining.filter_of(indexed, filters, present, extra)
        except Exception as error:  # noqa: BLE001  see the head of the module
            self.problem = reason_of(error, self.folder)
            return self.problem

    def _units(self, expression: Expression) -> Units | None:
        """The units for the indexed columns of a predicate; None if there are no such columns."""
        names = columns_in(expression)
        columns = [one for one in self.entry.columns if one.name in names]
        key = tuple(one.name for one in columns)
        if not columns:
            return None
        with self._lock:
            if key not in self._layouts:
                filters = {one.name: self._column(one) for one in columns}
                if len(self._layouts) >= _MAX_LAYOUTS:
                    self._layouts.clear()
                self._layouts[key] = units_of(filters, len(self.files.ids))
            return self._layouts[key]

    def _column(self, column: IndexedColumn) -> ColumnFilters:
        """Where the filters of a column lie."""
        if column.name not in self._filters:
            places = [os.path.join(self.folder, part.path) for part in column.parts]
            sizes = [part.size for part in column.parts]
            with ThreadPoolExecutor(default_jobs()) as pool:
                parts = list(pool.map(read_part, places, sizes))
            self._filters[column.name] = gathered(parts, self.files)
        return self._filters[column.name]

    def _ask(
        self, column: str, rows: NDArray[np.int64], hashes: NDArray[np.uint64]
    ) -> NDArray[np.bool_]:
        """Ask filters of a column, but not for values that the global filter does not hold."""
        filters, indexed = self._filters[column], self.entry.column(column)
        whole = None if indexed is None else indexed.global_filter
        if whole is None or len(rows) <= _FEW_FILTERS:
            return ask(filters, rows, hashes)
        held = might_hold(self.folder, whole.file, hashes)
        if held.all():
            return ask(filters, rows, hashes)
        is_covered = self.files.ids[filters.owners[rows]] < whole.stop
        found = np.empty(len(rows), np.bool_)
        found[is_covered] = ask(filters, rows[is_covered], hashes[held])
        found[~is_covered] = ask(filters, rows[~is_covered], hashes)
        return found


_FILE_COLUMNS = ("ids", "paths", "sizes", "modified_ms", "num_rows")

_opened = SnapshotCache()


def open_snapshots(
    folders: Iterable[str], asked: Iterable[str]
) -> Iterator[tuple[str, Snapshot | Reason]]:
    """Open indexes for a question.

    What other table formats keep beside or above the files is looked for once for each table, not
    for each index.

    Args:
        folders: Those of the indexes, absolute.
        asked: The folders and files that the question is about, absolute.

    Yields:
        The index's folder, and its newest stable version; or why it must not be used.
    """
    reasons: dict[str, Reason | None] = {}
    for folder in folders:
        snapshot = open_snapshot(folder)
        if isinstance(snapshot, Snapshot):
            if snapshot.root not in reasons:
                reasons[snapshot.root] = _why_not_plain(snapshot, asked)
            yield folder, reasons[snapshot.root] or snapshot
        else:
            yield folder, snapshot


def _why_not_plain(snapshot: Snapshot, asked: Iterable[str]) -> Reason | None:
    try:
        return why_not_plain(snapshot.root, asked)
    except OSError as error:
        return reason_of(error, snapshot.folder)


def open_snapshot(folder: str) -> Snapshot | Reason:
    """Open the newest stable version of an index, or take it from memory.

    Args:
        folder: The index's, absolute.
    """
    try:
        return _opened.get(folder) or _opened.put(folder, _open)
    except _NotActiveError as error:
        return Reason(code=Code.INDEX_NOT_ACTIVE, text=str(error))
    except Exception as error:  # noqa: BLE001  see the head of the module
        return reason_of(error, folder)


class _NotActiveError(Exception):
    """There is no version to ask."""


def _open(folder: str, before: Snapshot | None) -> Snapshot:
    """Open the newest version, unless it is still the same."""
    entry = IndexLog(folder).latest_stable()
    if before is not None and before.problem is None and before.entry == entry:
        return before
    if entry is None:
        raise _NotActiveError(f'the index in "{folder}" was never finished; create it')
    if entry.state is not State.ACTIVE or entry.manifest is None:
        raise _NotActiveError(f'the index "{entry.name}" is {entry.state}; restore or create it')
    path = os.path.join(folder, entry.manifest.path)
    size = os.stat(path).st_size
    if size != entry.manifest.size:
        raise IndexProblem(f"it has {size} bytes, not {entry.manifest.size}", path=path)
    return Snapshot(entry, folder, read_manifest(path))


def reason_of(error: Exception, folder: str) -> Reason:
    """What to tell about an index that cannot be read."""
    is_ours = isinstance(error, RecursionError | MemoryError)
    told = str(error) if isinstance(error, BloomwriterError) else f"{type(error).__name__}: {error}"
    where = "" if safe(folder) in safe(told) else f' in "{folder}"'
    return Reason(
        code=Code.INTERNAL_ERROR if is_ours else Code.INDEX_BROKEN,
        text=f"the index{where} cannot be read: {told}".rstrip("."),
    )
