"""A lookup: the files of a table that none of its indexes excludes.

A misspelled name of a column would exclude no file at all. So each column of the predicate must be
known: to an index, to the metadata of a Delta or Iceberg table, or to an index that records the
names of all columns in its files. Files that no such index knows are opened until one has it.
"""

# ruff: noqa: PTH119  paths are strings, as in the log
from __future__ import annotations

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.arguments import paths_of
from parquet_bloomwriter.errors import (
    BloomwriterError,
    ColumnNotFound,
    FileProblem,
    IndexNotFound,
    InvalidArgument,
    Proposal,
    Way,
)
from parquet_bloomwriter.index.changes import positions
from parquet_bloomwriter.index.contract import is_complete, knows_all_files, recorded_names
from parquet_bloomwriter.index.describe import describe
from parquet_bloomwriter.index.files import location, relative_to
from parquet_bloomwriter.index.handle import not_found
from parquet_bloomwriter.index.homes import find_homes, index_folders
from parquet_bloomwriter.index.layout import (
    absolute_path,
    check_name,
    homes_above,
    is_among,
    is_in,
    relative_path,
)
from parquet_bloomwriter.index.query.snapshot import Snapshot, open_snapshots, with_files
from parquet_bloomwriter.index.report import Code, IndexUse, LookupReport, Reason
from parquet_bloomwriter.index.table.data_files import current_files, file_id, open_data_file
from parquet_bloomwriter.index.table.metadata import (
    DeltaState,
    check_named,
    delta_table,
    iceberg_table_at,
    is_delta,
)
from parquet_bloomwriter.index.table.records import why_not_plain
from parquet_bloomwriter.index.table.ref import TableRef
from parquet_bloomwriter.predicate import columns_of, parse, to_text
from parquet_bloomwriter.predicate.expression import And
from parquet_bloomwriter.probing.bindings import Bindings
from parquet_bloomwriter.source import read_footer
from parquet_bloomwriter.source.folders import Leftovers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from pyiceberg.table import DataScan, FileScanTask

    from parquet_bloomwriter.index.files import FileId
    from parquet_bloomwriter.index.table.metadata import MetadataTable
    from parquet_bloomwriter.metadata import Schema
    from parquet_bloomwriter.predicate.expression import Expression

    StrPath = str | os.PathLike[str]

_AT_ONCE = 256
"""Maximum number of files whose columns are read in one step; the first step is one file."""

_THREADS = 16
"""Number of simultaneous requests to a store."""


def prune(
    scan: DataScan, filters: object, *, name: str | None, home: str | os.PathLike[str] | None
) -> list[FileScanTask]:
    """Plan a scan; see `index.prune_scan`."""
    from parquet_bloomwriter.iceberg.catalog import check_version

    check_version()
    from parquet_bloomwriter.iceberg.row_filter import from_iceberg
    from parquet_bloomwriter.iceberg.scan import plan
    from parquet_bloomwriter.scan.iceberg_rows import filter_types
    from parquet_bloomwriter.scan.needed_columns import needed_names
    from parquet_bloomwriter.table_files.iceberg import IcebergTable, stored_file

    table = IcebergTable.of_scan(scan)
    tree = from_iceberg(scan.row_filter, filter_types(table))
    if filters is not None:
        further = parse(filters)
        needed_names([field.name for field in table.schema.fields], [], further)
        tree = further if tree is None else And((tree, further))
    tasks = plan(scan, table.path)
    if tree is None or not tasks:
        return tasks
    files = [stored_file(task.file) for task in tasks]
    asked = iceberg_table_at(table, planned=files)
    report = look_up(TableRef.of_iceberg(table.path, asked), tree, name=name, home=home)
    kept = set(report.paths)
    paths = [location(asked.root, asked.identity(file)) for file in files]
    return [task for task, path in zip(tasks, paths, strict=True) if path in kept]


def look_up(  # noqa: PLR0913  as `index.lookup`
    table: TableRef,
    expression: Expression,
    *,
    name: str | None,
    home: StrPath | None,
    files: StrPath | Sequence[StrPath] | None = None,
    version: int | None = None,
) -> LookupReport:
    """Look files up; see `index.lookup`."""
    path, metadata = table.path, table.iceberg
    if metadata is not None:
        check_named(files)
    if not table.is_on_store:
        _ = table.root  # raises if there is no such table
    folders = _folders(table, name, home)
    opened = dict(open_snapshots(folders, [path], with_files=False, reads_logs=True))
    if metadata is None or version is not None:
        metadata = _metadata_of(table, version, files, opened.values())
    if metadata is not None:
        opened = {
            folder: _if_about(metadata, index, expression) for folder, index in opened.items()
        }
    if files is None and (metadata is None or metadata.planned is None):
        report = _by_slices(table, name, opened, expression, metadata)
        if report is not None:
            _check_columns(expression, opened, metadata, report)
            return report
    root = _root_of(table, opened.values())
    opened = {folder: with_files(folder, index) for folder, index in opened.items()}
    if metadata is not None:
        current: list[FileId] | None = metadata.files()
    else:
        current = _promised_files(table, root, files, opened.values())
    was_listed = current is None and files is None
    left = Leftovers()
    if current is None:
        snapshots = [snapshot for snapshot in opened.values() if isinstance(snapshot, Snapshot)]
        are_known = partial(_are_known, snapshots, path) if snapshots else None
        current = current_files(table, files, left, root=root, are_known=are_known)
    roots = _roots(root, name)
    all_answers = {
        folder: _ask(folder, index, expression, current, root) for folder, index in opened.items()
    }
    answers = [
        answer
        for folder, answer in all_answers.items()
        if answer.use.num_known or is_about(folder, opened[folder], roots)
    ]
    if not answers:
        raise _no_index(table, name, home)
    report = replace(
        _report(expression, root, current, answers),
        root=path,
        was_listed=was_listed,
        passed_over=left.groups(),
    )
    files_to_ask = partial(_files_to_ask, root, current, opened, all_answers)
    _check_columns(expression, opened, metadata, report, files_to_ask)
    return report


def _report(
    expression: Expression, root: str, files: list[FileId], answers: Sequence[_Answer]
) -> LookupReport:
    """Return the files that every index keeps.

    Args:
        expression: The predicate.
        root: Folder that the paths of files are relative to, absolute.
        files: The files.
        answers: Of each index, about the files.
    """
    kept = np.logical_and.reduce([answer.might_match for answer in answers])
    known = np.logical_or.reduce([answer.is_known for answer in answers])
    sizes = np.array([file.size for file in files], dtype=np.int64)
    return LookupReport(
        predicate=to_text(expression),
        root=root,
        paths=tuple(location(root, files[position]) for position in np.flatnonzero(kept)),
        num_files=len(files),
        num_unknown=int(np.count_nonzero(kept & ~known)),
        num_bytes=int(sizes.sum()),
        kept_bytes=int(sizes[kept].sum()),
        indexes=tuple(answer.use for answer in answers),
    )


def _files_to_ask(
    root: str,
    files: Sequence[FileId],
    opened: Mapping[str, Snapshot | Reason],
    answers: Mapping[str, _Answer],
) -> tuple[list[str], list[str]]:
    """Return the paths of all files, and of the files whose columns no index records."""
    is_recorded = np.zeros(len(files), np.bool_)
    for folder, snapshot in opened.items():
        if isinstance(snapshot, Snapshot) and recorded_names(snapshot.entry.options) is not None:
            is_recorded |= answers[folder].is_known
    paths = [location(root, file) for file in files]
    return paths, [
        path for path, is_known in zip(paths, is_recorded.tolist(), strict=True) if not is_known
    ]


def _files_known_to(snapshot: Snapshot) -> tuple[list[str], list[str]]:
    """Return the paths of an index's files, and of the files whose columns it does not record."""
    paths = [location(snapshot.root, file) for file in snapshot.files.identities()]
    return paths, paths if recorded_names(snapshot.entry.options) is None else []


def _check_columns(
    expression: Expression,
    opened: Mapping[str, Snapshot | Reason],
    metadata: MetadataTable | None,
    report: LookupReport,
    files_to_ask: Callable[[], tuple[list[str], list[str]]] | None = None,
) -> None:
    """Check that the columns of a predicate exist, unless a file of the report says enough.

    Args:
        expression: The predicate.
        opened: The indexes of the table.
        metadata: The table, if it is of Delta or Iceberg.
        report: The report with the files that were found.
        files_to_ask: As `_files_to_ask`, of all files that were asked about; None: of those that
            the only index knows.

    Raises:
        ColumnNotFound: If a column is in no index and no file.
    """
    snapshots = [snapshot for snapshot in opened.values() if isinstance(snapshot, Snapshot)]
    known = tuple(column.name for snapshot in snapshots for column in snapshot.entry.columns)
    bindings = Bindings.of(expression)
    try:
        bindings.check_columns((), [known])
    except ColumnNotFound:
        if metadata is not None:
            bindings.check_columns((), [(*known, *metadata.table.column_names())])
            return
        if files_to_ask is None:
            (snapshot,) = snapshots
            files_to_ask = partial(_files_known_to, snapshot)
        recorded = (recorded_names(snapshot.entry.options) or () for snapshot in snapshots)
        known = (*known, *itertools.chain.from_iterable(recorded))
        (paths, unread), first = files_to_ask(), set(report.paths)
        unread = sorted(unread, key=lambda path: path not in first)
        _check_in_files(bindings, paths, unread, known)


def _check_in_files(
    bindings: Bindings, paths: Sequence[str], unread: Sequence[str], known: tuple[str, ...]
) -> None:
    """Check that each column of a predicate is known, in some file, or in some path.

    Nothing is concluded if any file cannot be read.

    Args:
        bindings: The columns of the predicate.
        paths: The files of the table, absolute or URLs.
        unread: The files among them whose columns are not known.
        known: Dotted names of the columns of the other files, and of indexes.

    Raises:
        ColumnNotFound: If a column is in none of them.
    """
    start, num = 0, 1
    with ThreadPoolExecutor(_THREADS) as pool:
        while True:
            try:
                bindings.check_columns(paths, [known])
            except ColumnNotFound:
                if start >= len(unread):
                    raise
            else:
                return
            for schema in pool.map(_schema_of, unread[start : start + num]):
                if schema is None:
                    return
                bindings.to(schema)
            start, num = start + num, min(16 * num, _AT_ONCE)


def _schema_of(path: str) -> Schema | None:
    try:
        with open_data_file(path) as source:
            return read_footer(source, check_head=False).schema
    except (BloomwriterError, OSError):
        return None


def _metadata_of(
    table: TableRef,
    version: int | None,
    files: object,
    opened: Iterable[Snapshot | Reason],
) -> MetadataTable | None:
    """Return the Delta or Iceberg table at the requested state; None if no metadata name its files.

    Raises:
        InvalidArgument: If a version is asked for of what is no Delta table, only a part of a
            table is named, or an index's table lies elsewhere by now; if it is an Iceberg table,
            which must be named.
    """
    path = table.path
    if version is not None:
        if not is_delta(path):
            raise InvalidArgument("only a Delta table has versions", path=path)
        check_named(files)
        return delta_table(path, version)
    for index in opened:
        if isinstance(index, Reason) or index.table_state is None or not is_in(path, index.root):
            continue
        check_named(files)
        state = index.table_state
        if path != index.root:
            known = index.root if isinstance(state, DeltaState) else state.name
            raise InvalidArgument(
                "this is a part of a table, whose metadata say which files it has",
                path=path,
                remedy=f'Name the table: "{known}".',
            )
        if why := table.why_unnamed(state):
            raise InvalidArgument(f"the index says nothing here: {why}", path=path)
        return delta_table(path, at_end=True)
    return None


def _if_about(
    table: MetadataTable, opened: Snapshot | Reason, expression: Expression
) -> Snapshot | Reason:
    """Return an index if its columns are those of the table, or the reason why they are not."""
    if isinstance(opened, Reason) or opened.table_state is None:
        return opened
    asked = {name.lower() for name in columns_of(opened.about_columns(expression))}
    own = [column.name for column in opened.entry.columns]
    why = opened.table_state.why_silent(table, [name for name in own if name.lower() in asked])
    if why is None:
        return opened
    text = f'the index "{opened.entry.name}" says nothing about the table: {why}'
    return Reason(code=Code.TABLE_FORMAT, text=text)


def _root_of(table: TableRef, opened: Iterable[Snapshot | Reason]) -> str:
    """Return the root of a table; if an index has this root, a store is not asked for it."""
    if table.is_on_store and any(
        isinstance(snapshot, Snapshot) and snapshot.root == table.path for snapshot in opened
    ):
        return table.path
    return table.root


def _are_known(
    snapshots: Sequence[Snapshot], folder: str, files: Sequence[FileId]
) -> Iterable[bool]:
    """Return for each file in a folder whether an index knows it in this state, so as Parquet."""
    found = [positions(relative_to(s.root, files, folder=folder), s.files) >= 0 for s in snapshots]
    return map(any, zip(*found, strict=True))


def is_about(folder: str, opened: Snapshot | Reason, paths: Iterable[str] | None) -> bool:
    """Return whether an index exists, and is of a table that some folders or files belong to.

    If the index's log cannot be read, the table is not known: True.

    Args:
        folder: The index's folder.
        opened: What `open_snapshot` returned.
        paths: The folders and files, absolute; None: any table will do.
    """
    if isinstance(opened, Snapshot):
        root = opened.root
    else:
        info = describe(folder)
        if info is None:  # the index no longer exists
            return False
        root = info.root
    if paths is None or not root:
        return True
    return is_among(root, paths)


def _by_slices(
    table: TableRef,
    name: str | None,
    opened: Mapping[str, Snapshot | Reason],
    expression: Expression,
    metadata: MetadataTable | None,
) -> LookupReport | None:
    """Look up files in the slices of the table's only index, without going through all its files.

    Returns:
        None if this is not possible: there are several indexes, the contract is not "immutable",
        the index is of another state of a Delta or Iceberg table, only a part of the table is
        asked about, the index does not know all files of it, or slices do not tell.
    """
    snapshots = [snapshot for snapshot in opened.values() if isinstance(snapshot, Snapshot)]
    if len(snapshots) != 1:
        return None
    (snapshot,), path = snapshots, table.path
    entry = snapshot.entry
    if path != snapshot.root or entry.contract != "immutable" or not entry.num_files:
        return None
    state = snapshot.table_state
    if metadata is None or state is None:
        if metadata is not None or state is not None or not knows_all_files(entry.options):
            return None
    elif not state.is_of(metadata) or not is_complete(entry.options):
        return None
    kept = snapshot.matching_files(expression)
    if kept is None:
        return None
    kept.sort(key=attrgetter("path"))
    num_excluded = entry.num_files - len(kept)
    known, why = entry.num_files, None
    if not num_excluded:
        why = _why_nothing(snapshot, expression, num_known=known, root=snapshot.root)
    own = _use_of(snapshot, num_known=known, num_excluded=num_excluded, reason=why)
    uses = [
        own if isinstance(one, Snapshot) else _silent(folder, one, 0).use
        for folder, one in opened.items()
        if one is snapshot or is_about(folder, one, _roots(path, name))
    ]
    return LookupReport(
        predicate=to_text(expression),
        root=path,
        paths=tuple(location(path, file) for file in kept),
        num_files=entry.num_files,
        num_unknown=0,
        num_bytes=entry.source_bytes,
        kept_bytes=sum(file.size for file in kept),
        indexes=tuple(uses),
    )


def _roots(root: str, name: str | None) -> list[str] | None:
    """Return the folders to compare an index's table with, for `is_about`."""
    return [root] if name is None else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Answer:
    """The answer of one index; arrays have one element for each file of the lookup."""

    use: IndexUse
    is_known: NDArray[np.bool_]
    might_match: NDArray[np.bool_]


def _folders(table: TableRef, name: str | None, home: StrPath | None) -> list[str]:
    """Return the folders of a table's indexes, or only that of the index with this name."""
    given = None if home is None else absolute_path(home)
    if table.is_on_store:
        folders = _folders_on_store(table.path, given)
    else:
        homes = find_homes(table.path) if given is None else [given]
        folders = [folder for one in homes for folder in index_folders(one)]
    if name is None:
        return folders
    return [folder for folder in folders if os.path.basename(folder) == check_name(name)]


def _folders_on_store(path: str, home: str | None) -> list[str]:
    """Find indexes of a table on a store; at the same time, look for records of other tables."""
    first, *others = homes_above(path) if home is None else [home]
    with ThreadPoolExecutor(_THREADS) as pool:
        records = pool.submit(why_not_plain, [path])  # its result is cached, and needed later
        above = pool.map(partial(index_folders, is_above=True), others)
        found = index_folders(first) + [folder for some in above for folder in some]
        with suppress(OSError, FileProblem):
            records.result()
    return found


def _promised_files(
    table: TableRef,
    root: str,
    files: StrPath | Sequence[StrPath] | None,
    opened: Iterable[Snapshot | Reason],
) -> list[FileId] | None:
    """Return a table's files as its indexes know them; None if the table must be listed.

    The table need not be listed if the contract of all its indexes is "immutable", they were made
    by the present rule for data files, and they know some of the queried files.
    """
    path = table.path
    about = [index for index in opened if isinstance(index, Snapshot) and is_in(path, index.root)]
    if not about or not all(knows_all_files(index.entry.options) for index in about):
        return None
    promised: dict[str, FileId] = {}
    for index in about:
        for file in relative_to(root, index.files.identities(), folder=index.root):
            if path != index.root and not is_in(location(root, file), path):
                continue
            if promised.setdefault(file.path, file) != file:
                return None  # indexes know different files of this path: one contract is broken
    if files is None:
        return sorted(promised.values()) or None
    wanted = {absolute_path(file) for file in paths_of(files)}
    return sorted(promised.get(relative_path(root, one)) or file_id(root, one) for one in wanted)


def _no_index(table: TableRef, name: str | None, home: StrPath | None) -> IndexNotFound:
    if name is not None:
        return not_found(table.home(home), name)
    path = table.root
    create = Proposal(Way.CREATE_INDEX, "Create one")
    return IndexNotFound("there is no index of the table", path=path, remedy=(create, "."))


def _ask(
    folder: str,
    snapshot: Snapshot | Reason,
    expression: Expression,
    found: Sequence[FileId],
    root: str,
) -> _Answer:
    """Look files up in one index."""
    if isinstance(snapshot, Reason):
        return _silent(folder, snapshot, len(found))
    files = relative_to(snapshot.root, found, folder=root)
    places = positions(files, snapshot.files)
    is_known = places >= 0
    might_match = np.ones(len(files), dtype=np.bool_)
    if is_known.any():
        might_match[is_known] = snapshot.might_match(expression)[places[is_known]]
    num_known = int(np.count_nonzero(is_known))
    num_excluded = int(np.count_nonzero(~might_match))
    why = snapshot.problem  # also if only its slices cannot be read
    if not num_excluded:
        why = _why_nothing(snapshot, expression, num_known=num_known, root=root)
    use = _use_of(snapshot, num_known=num_known, num_excluded=num_excluded, reason=why)
    return _Answer(use=use, is_known=is_known, might_match=might_match)


def _use_of(
    snapshot: Snapshot, *, num_known: int, num_excluded: int, reason: Reason | None
) -> IndexUse:
    return IndexUse(
        name=snapshot.entry.name,
        folder=snapshot.folder,
        columns=tuple(column.name for column in snapshot.entry.columns),
        num_known=num_known,
        num_excluded=num_excluded,
        reason=reason,
    )


def _silent(folder: str, reason: Reason, num_files: int) -> _Answer:
    """Return the answer of an index that cannot be used: it excludes no file."""
    use = IndexUse(
        name=os.path.basename(folder),
        folder=folder,
        columns=(),
        num_known=0,
        num_excluded=0,
        reason=reason,
    )
    return _Answer(
        use=use,
        is_known=np.zeros(num_files, dtype=np.bool_),
        might_match=np.ones(num_files, dtype=np.bool_),
    )


def _why_nothing(
    snapshot: Snapshot, expression: Expression, *, num_known: int, root: str
) -> Reason:
    """Return why an index excluded no file of the table with this root."""
    if snapshot.problem is not None:
        return snapshot.problem
    asked, indexed = columns_of(expression), [column.name for column in snapshot.entry.columns]
    if not set(columns_of(snapshot.about_columns(expression))) & set(indexed):
        named = ", ".join(asked) or "no column that can be looked up"
        text = f"the predicate is about {named}, the index about {', '.join(indexed)}"
        return Reason(code=Code.MISSING_INDEXED_COL, text=text)
    if not num_known:
        text = "the index knows none of the files as they are now; refresh it"
        if snapshot.root != root:
            text = f"the index is of {snapshot.root}, and knows none of the files here; refresh it"
        return Reason(code=Code.NO_COMMON_FILES, text=text)
    if not snapshot.could_exclude(expression):
        text = "a filter answers only = and IN, with values of the column's own type"
        return Reason(code=Code.NO_USABLE_CONDITION, text=text)
    return Reason(code=Code.NOTHING_EXCLUDED, text="every file that the index knows might match")
