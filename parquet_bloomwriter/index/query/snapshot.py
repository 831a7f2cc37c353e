"""One version of an index, opened for queries. Nothing in an index can make a query fail.

If a file of the index is missing, cut short or broken, every file of the table might match, and
`problem` says why. What is read of a version stays in memory as long as the snapshot is in use:
about 90 bytes for each filter and 120 for each file; the filters themselves are not kept. If a
column has slices (see `sliced`), these facts are read only for lookups that slices cannot answer.

Snapshots that were opened lately are kept in `SNAPSHOTS`. Entries are written once: as long as the
log's folder is the same folder and lists the same names, the newest stable entry is the same.
"""

# ruff: noqa: PTH116, PTH118  paths are strings, as in the entries
from __future__ import annotations

import os
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, partial
from threading import Lock, RLock
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.errors import BloomwriterError, FileProblem, IndexProblem, raise_if_final
from parquet_bloomwriter.index.changes import are_unchanged
from parquet_bloomwriter.index.entry import State
from parquet_bloomwriter.index.format.columns import leaf_of
from parquet_bloomwriter.index.format.manifest import read_manifest
from parquet_bloomwriter.index.homes import warn_of_home
from parquet_bloomwriter.index.layout import LOG, is_among
from parquet_bloomwriter.index.log.log import IndexLog
from parquet_bloomwriter.index.query.conditions import about_columns, columns_in, scope_of
from parquet_bloomwriter.index.query.join_filter import JoinFilters
from parquet_bloomwriter.index.query.probe import ColumnProbe, open_probe
from parquet_bloomwriter.index.query.sliced import SlicedIndex
from parquet_bloomwriter.index.report import Code, Reason
from parquet_bloomwriter.index.storage.base import storage_of
from parquet_bloomwriter.index.table.metadata import state_of
from parquet_bloomwriter.index.table.records import why_not_plain
from parquet_bloomwriter.predicate.expression import Constant
from parquet_bloomwriter.text import safe, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.entry import Entry, IndexedColumn
    from parquet_bloomwriter.index.files import FileId
    from parquet_bloomwriter.index.format.manifest import FileTable
    from parquet_bloomwriter.index.query.conditions import Scope
    from parquet_bloomwriter.index.query.join_filter import JoinFilter
    from parquet_bloomwriter.index.table.metadata import TableState
    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.predicate.expression import Expression
    from parquet_bloomwriter.replace.external_references import ReferenceKind
    from parquet_bloomwriter.sbbf import Sbbf

T = TypeVar("T")

_MAX_BYTES = 512 * 1024 * 1024
"""Maximum size in memory of all snapshots that are kept, except the newest, bytes."""

_REMOTE_THREADS = 16
"""Number of simultaneous requests to a store."""

_MAX_SCOPES = 8
"""Maximum number of combinations of columns whose scopes are kept."""


def open_snapshots(
    folders: Iterable[str],
    asked: Iterable[str],
    *,
    with_files: bool = True,
    reads_logs: bool = False,
) -> Iterator[tuple[str, Snapshot | Reason]]:
    """Open indexes for a query.

    Records of other table formats beside or above the files are looked for once for each table,
    not for each index.

    Args:
        folders: Folders of the indexes, absolute.
        asked: The folders and files that the query is about, absolute.
        with_files: As for `open_snapshot`.
        reads_logs: Whether the query takes the files of a Delta or Iceberg table from its metadata.
            If not, indexes of such tables are not used.

    Yields:
        The index's folder, and its newest stable version; or why it must not be used.
    """
    reasons: dict[tuple[str, ReferenceKind | None], Reason | None] = {}
    folders, asked = list(folders), list(asked)
    if len(folders) > 1 and storage_of(folders[0]).is_remote:
        with ThreadPoolExecutor(_REMOTE_THREADS) as pool:
            opened = list(pool.map(partial(open_snapshot, with_files=with_files), folders))
    else:
        opened = [open_snapshot(folder, with_files=with_files) for folder in folders]
    for folder, snapshot in zip(folders, opened, strict=True):
        if isinstance(snapshot, Snapshot):
            state = snapshot.table_state if reads_logs else None
            known = None if state is None else state.kind
            key = snapshot.root, known
            if key not in reasons:
                reasons[key] = _why_not_plain(snapshot, asked, known=known)
            if is_among(snapshot.root, asked):
                warn_of_home(folder, snapshot.root)
            yield folder, reasons[key] or snapshot
        else:
            yield folder, snapshot


def open_snapshot(folder: str, *, with_files: bool = True) -> Snapshot | Reason:
    """Open the newest stable version of an index, or take it from memory.

    Args:
        folder: The index's folder, absolute.
        with_files: Whether its files are needed. If not, `Snapshot.files` may raise an error.

    Returns:
        The version; or the reason why no version can be used.
    """
    try:
        snapshot = SNAPSHOTS.get(folder) or SNAPSHOTS.put(folder, _open)
        if with_files:
            _ = snapshot.files
    except _NotActiveError as error:
        return Reason(code=Code.INDEX_NOT_ACTIVE, text=str(error))
    except BaseException as error:  # noqa: BLE001  see the head of the module
        raise_if_final(error)
        return _reason_of(error, folder)
    return snapshot


def with_files(folder: str, opened: Snapshot | Reason) -> Snapshot | Reason:
    """Return an opened index after reading its files, or the reason why they cannot be read.

    Args:
        folder: The index's folder.
        opened: What `open_snapshot` returned. If its files cannot be read, there may be a newer
            version by now.
    """
    if isinstance(opened, Reason):
        return opened
    if opened.problem is None:
        try:
            _ = opened.files
        except BaseException as error:  # noqa: BLE001  see the head of the module
            raise_if_final(error)
        else:
            return opened
    return open_snapshot(folder)


class Snapshot:
    """The newest stable version of an index, as it was when opened. Safe in threads.

    Attributes:
        entry: The version, as the log has it.
        folder: The index's folder, absolute.
        root: Folder that paths of files are relative to, absolute.
        problem: The last thing that went wrong; None as long as nothing has.
    """

    def __init__(self, entry: Entry, folder: str) -> None:
        self.entry = entry
        self.folder = folder
        self.root = entry.root_in(folder)
        self.problem: Reason | None = None
        self._lock = RLock()
        self._files: FileTable | None = None
        self._probes: dict[str, ColumnProbe] = {}
        self._scopes: dict[tuple[str, ...], Scope] = {}
        self._join_filters: JoinFilters | None = None
        self._sliced = SlicedIndex(entry, folder, self._read_files)

    @cached_property
    def table_state(self) -> TableState | None:
        """The state of the Delta or Iceberg table that the index was built from."""
        return state_of(self.entry.options)

    @property
    def is_table_on_store(self) -> bool:
        """Whether the table, not its index, is on a store."""
        return storage_of(self.root).is_remote

    @property
    def files(self) -> FileTable:
        """The data files that the version knows; answers are in their order.

        Raises:
            IndexProblem: If the manifest is not as it was written.
            OSError: If it cannot be read.
        """
        with self._lock:
            if self._files is None:
                self._files = self._read_files()
            return self._files

    @property
    def num_bytes_held(self) -> int:
        """Approximate size in memory, bytes."""
        with self._lock:
            held = [one.num_bytes_held for one in self._probes.values()]
            held += [one.num_bytes_held for one in self._scopes.values()]
            others = (self._files, self._join_filters, self._sliced)
            held += [one.num_bytes_held for one in others if one is not None]
        return sum(held)

    def about_columns(self, expression: Expression) -> Expression:
        """Return a predicate in which conditions on lists and maps name indexed columns instead."""
        try:
            return about_columns(expression, [column.name for column in self.entry.columns])
        except RecursionError as error:
            self._note(error)
            return Constant(value=True)

    def could_exclude(self, expression: Expression) -> bool:
        """Return whether the index could exclude any file by a predicate."""
        expression = self.about_columns(expression)

        def find(expression: Expression) -> bool:
            scope = self._scope(expression)
            return scope is not None and scope.could_exclude(expression)

        found = self._by_slices(self._sliced.could_exclude, expression)
        return bool(self._ask(find, expression)) if found is None else found

    def might_match(self, expression: Expression) -> NDArray[np.bool_]:
        """Return for each data file whether it might hold a row for which a predicate is true.

        Returns:
            In the order of `files`, shape (m,). All are true if something is wrong.
        """

        def find_by_slices(expression: Expression) -> NDArray[np.bool_] | None:
            ids = self._sliced.ids_of_matches(expression)
            if ids is None:
                return None
            self._sliced.check_files(expression, self.files)
            return np.isin(self.files.ids, ids)

        def find(expression: Expression) -> NDArray[np.bool_] | None:
            scope = self._scope(expression)
            return None if scope is None else scope.might_match(expression, self._probes)

        expression = self.about_columns(expression)
        might = self._by_slices(find_by_slices, expression)
        if might is None:
            might = self._ask(find, expression)
        return np.ones(len(self.files.ids), np.bool_) if might is None else might

    def matching_files(self, expression: Expression) -> list[FileId] | None:
        """Return the data files that might match a predicate, without going through all files.

        Returns:
            The files that `might_match` finds, by id; None if there are no slices that tell.
        """

        def find(expression: Expression) -> list[FileId] | None:
            ids = self._sliced.ids_of_matches(expression)
            return None if ids is None else self._sliced.files(expression, ids)

        return self._by_slices(find, self.about_columns(expression))

    def types(self, column: str) -> tuple[Leaf, ...]:
        """Return the types that an indexed column has in data files; none if something is wrong."""
        indexed = self.entry.column(column)
        if indexed is None:
            return ()
        try:
            return tuple(map(leaf_of, self._probe(indexed).filters.types))
        except BaseException as error:  # noqa: BLE001  see the head of the module
            self._note(error)
            return ()

    def join_filter(
        self, column: str, present: NDArray[np.bool_], extra: Sequence[Sbbf] = ()
    ) -> JoinFilter | Reason:
        """Make one filter of all values that a column has in some of the files.

        Args:
            column: Name of the column in the index.
            present: Whether each file counts, in the order of `files`, shape (m,).
            extra: Filters of the values in files that the index does not know.
        """
        try:
            indexed = self.entry.column(column)
            if indexed is None:
                text = f'the index "{self.entry.name}" is not over the column {column}'
                return Reason(code=Code.MISSING_INDEXED_COL, text=text)
            filters = self._probe(indexed).filters
            with self._lock:
                if self._join_filters is None:
                    self._join_filters = JoinFilters(self.entry, self.folder, self.files)
            return self._join_filters.get(indexed, filters, present, extra)
        except BaseException as error:  # noqa: BLE001  see the head of the module
            return self._note(error)

    def are_unchanged(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Look at data files, and return for each whether it is as the version knows it.

        Args:
            places: 0-based positions in `files`, shape (n,).

        Returns:
            Shape (n,).
        """
        return are_unchanged(self.files, self.root, places)

    def _by_slices(self, ask: Callable[[Expression], T | None], expression: Expression) -> T | None:
        """Ask slices; return None if they give no answer, or are damaged."""
        return None if self.problem is not None else self._ask(ask, expression)

    def _ask(self, ask: Callable[[Expression], T], expression: Expression) -> T | None:
        """Ask files of the index; return None if they cannot be read, and keep the reason."""
        try:
            return ask(expression)
        except BaseException as error:  # noqa: BLE001  see the head of the module
            self._note(error)
            return None

    def _note(self, error: BaseException) -> Reason:
        """Keep as `problem` why the index cannot be read, and return it.

        Raises:
            BaseException: The error itself, if it must end the process.
        """
        raise_if_final(error)
        reason = self.problem = _reason_of(error, self.folder)
        return reason

    def _read_files(self) -> FileTable:
        """Return the data files that the version knows; keep them only if `files` was asked for."""
        if self._files is not None:
            return self._files
        if self.entry.manifest is None:
            raise IndexProblem("the index's entry names no manifest", path=self.folder)
        manifest = self.entry.manifest
        path = os.path.join(self.folder, manifest.path)
        files = read_manifest(path, manifest.size, manifest.first_crc)
        if storage_of(self.folder).is_remote:
            self._files = files.by_id()
            return self._files
        return files

    def _scope(self, expression: Expression) -> Scope | None:
        """Return the scope of a predicate; None if none of its columns is indexed."""
        names = columns_in(expression)
        columns = [one for one in self.entry.columns if one.name in names]
        key = tuple(one.name for one in columns)
        if not columns:
            return None
        with self._lock:
            if key not in self._scopes:
                filters = {one.name: self._probe(one).filters for one in columns}
                if len(self._scopes) >= _MAX_SCOPES:
                    self._scopes.clear()
                self._scopes[key] = scope_of(filters, len(self.files.ids))
            return self._scopes[key]

    def _probe(self, column: IndexedColumn) -> ColumnProbe:
        """Return the probe of a column's filters; the first time, read the column's parts."""
        with self._lock:
            if column.name not in self._probes:
                probe = open_probe(self.folder, column, column.parts, self.files)
                self._probes[column.name] = probe
            return self._probes[column.name]


class SnapshotCache:
    """A cache of snapshots of indexes, by folder. Safe in threads."""

    def __init__(self, max_bytes: int = _MAX_BYTES) -> None:
        """Make a cache of at most `max_bytes`; the newest snapshot is always kept."""
        self._max_bytes = max_bytes
        self._kept: OrderedDict[str, tuple[Hashable, Snapshot]] = OrderedDict()
        self._lock = Lock()

    def get(self, folder: str) -> Snapshot | None:
        """Return an index's cached snapshot; None if there is none or the log has changed since."""
        with self._lock:
            found = self._kept.get(folder)
        if found is None or found[0] != _state_of(folder) or found[1].problem is not None:
            return None
        with self._lock:
            if folder in self._kept:
                self._kept.move_to_end(folder)
        return found[1]

    def put(self, folder: str, open_: Callable[[str, Snapshot | None], Snapshot]) -> Snapshot:
        """Open the snapshot of an index, and cache it.

        Args:
            folder: The index's folder.
            open_: Opens it; gets the snapshot that was kept so far, which it may return.

        Raises:
            Exception: What `open_` raises; then nothing is cached.
        """
        with self._lock:
            _, before = self._kept.pop(folder, (None, None))
        state = _state_of(folder)  # before opening: an entry written meanwhile changes the state
        snapshot = open_(folder, before)
        with self._lock:
            self._kept[folder] = (state, snapshot)
            self._kept.move_to_end(folder)
            held = sum(one.num_bytes_held for _, one in self._kept.values())
            while held > self._max_bytes and len(self._kept) > 1:
                _, (_, oldest) = self._kept.popitem(last=False)
                held -= oldest.num_bytes_held
        return snapshot

    def clear(self) -> None:
        """Remove all snapshots from the cache."""
        with self._lock:
            self._kept.clear()


SNAPSHOTS = SnapshotCache()
"""The cache of `open_snapshot`: everything that lookups keep in memory."""

register(SNAPSHOTS.clear)


class _NotActiveError(Exception):
    """The index has no version that queries may use."""


def _open(folder: str, before: Snapshot | None) -> Snapshot:
    """Open the newest version, or return `before` if it is still the newest version."""
    log = IndexLog(folder)
    entry = log.latest_stable(just_listed=True)
    if before is not None and before.problem is None and before.entry == entry:
        return before
    if entry is None:
        raise _NotActiveError(f'the index in "{folder}" was never finished; create it')
    if entry.state is not State.ACTIVE or entry.manifest is None:
        raise _NotActiveError(f'the index "{entry.name}" is {entry.state}; restore or create it')
    if not log.storage.is_remote:  # on a store, the manifest is checked when it is read
        path = os.path.join(folder, entry.manifest.path)
        size = os.stat(path).st_size
        if size != entry.manifest.size:
            raise IndexProblem(f"it has {size} bytes, not {entry.manifest.size}", path=path)
    return Snapshot(entry, folder)


def _state_of(folder: str) -> Hashable:
    """Return a value that changes when the log of an index changes."""
    return storage_of(folder).log_state(os.path.join(folder, LOG))


def _why_not_plain(
    snapshot: Snapshot, asked: Sequence[str], *, known: ReferenceKind | None
) -> Reason | None:
    root = [snapshot.root] if is_among(snapshot.root, asked) else []
    try:
        found = why_not_plain([*root, *asked], known=known)
    except (OSError, FileProblem) as error:
        return _reason_of(error, snapshot.folder)
    if found is None or known is not None or snapshot.table_state is None:
        return found
    text = (
        f'the index is of the table "{snapshot.root}", whose folder is read here as plain files, '
        "old rows included: read the table as a table, and ask `bloomify index lookup`"
    )
    return replace(found, text=text)


def _reason_of(error: BaseException, folder: str) -> Reason:
    """Return the reason for not using an index that cannot be read."""
    is_ours = isinstance(error, RecursionError | MemoryError)
    problem = (
        str(error)
        if isinstance(error, BloomwriterError)
        else f"{type(error).__name__}: {words_of(error)}"
    )
    where = "" if safe(folder) in safe(problem) else f' in "{folder}"'
    return Reason(
        code=Code.INTERNAL_ERROR if is_ours else Code.INDEX_BROKEN,
        text=f"the index{where} cannot be read: {problem}".rstrip("."),
    )
