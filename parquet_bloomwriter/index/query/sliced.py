"""Lookups in slices: find the files that might match, without going through all files of a version.

    file of the version                     is looked up
    id below `stop`, all filters in groups  in the slices of the columns concerned
    every other file                        in the parts, as without slices

Slices answer a predicate on one column group by group: the literals are hashed by the type of the
group, each value gives a row of bits, and AND and OR of conditions are AND and OR of such rows. A
file is excluded only if all of its filters are. A predicate on several columns is answered if their
slices are of the same units (files, or row groups of files), which the digest `units` says, and
each column has one type in all of them: then each condition gives a set of units. All other lookups
use the parts.

The answer is the same as that of a lookup in the parts. In both, the filter of all values is asked
first.

The manifest is read only if it knows other files than the slices do. Otherwise paths and sizes are
read from the slices, and only of the files that might match. Where a manifest is read, it must have
the files of the slices under the same ids, as with parts.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import RLock
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.format.bit_matrix import and_rows
from parquet_bloomwriter.index.format.columns import leaf_of
from parquet_bloomwriter.index.format.filter_file import might_hold
from parquet_bloomwriter.index.format.manifest import FileTable
from parquet_bloomwriter.index.format.slice_file import (
    ROWS_PER_BLOCK,
    SliceReader,
    owner_of,
    unit_keys,
)
from parquet_bloomwriter.index.query.conditions import (
    AnyOf,
    Contains,
    columns_in,
    condition_of,
    scope_of,
)
from parquet_bloomwriter.index.query.probe import ColumnProbe, open_probe
from parquet_bloomwriter.index.storage.base import storage_of
from parquet_bloomwriter.parallel import default_jobs
from parquet_bloomwriter.sbbf.block import BITS_PER_WORD, WORDS_PER_BLOCK, block_index, mask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.entry import Entry, GlobalFilter, IndexedColumn
    from parquet_bloomwriter.index.files import FileId
    from parquet_bloomwriter.index.format.slice_file import Group
    from parquet_bloomwriter.index.query.conditions import Condition, Scope
    from parquet_bloomwriter.index.storage.base import IndexSource
    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.predicate.expression import Expression

_MANY_BYTES = 1 << 20
"""Number of bytes from which several threads share the work of reading."""

_REMOTE_THREADS = 32
"""Number of simultaneous requests to a store."""

_MAX_SCOPES = 8
"""Maximum number of combinations of columns for which scopes of files without slices are kept."""

_BITS = 64
"""Number of bits in one number."""


class SlicedIndex:
    """The slices of one version of an index. Safe in threads."""

    def __init__(self, entry: Entry, folder: str, read_files: Callable[[], FileTable]) -> None:
        """Take a version; nothing is read.

        Args:
            entry: The version.
            folder: The index's folder, absolute.
            read_files: Returns the files that the version knows.
        """
        self._entry = entry
        self._folder = folder
        self._storage = storage_of(folder)
        self._read_files = read_files
        self._lock = RLock()
        self._columns: dict[str, SlicedColumn] = {}
        self._others: dict[str, _OtherFiles] = {}
        self._alive: dict[tuple[str, int], bool] = {}
        self._scopes: dict[tuple[str, ...], tuple[Scope, dict[str, ColumnProbe]]] = {}

    @property
    def num_bytes_held(self) -> int:
        """Size in memory, bytes."""
        with self._lock:
            held = sum(column.num_bytes_held for column in self._columns.values())
            held += sum(column.num_bytes_held for column in self._others.values())
            for scope, probes in self._scopes.values():
                held += scope.num_bytes_held
                held += sum(probe.num_bytes_held for probe in probes.values())
        return held

    def ids_of_matches(self, expression: Expression) -> NDArray[np.int64] | None:
        """Return the ids of the files that might match, ascending; None if slices give no answer.

        Raises:
            BloomwriterError, OSError: If the index cannot be read.
        """
        columns = self._concerned(expression)
        if columns is None:
            return None
        if self._storage.is_remote:
            with ThreadPoolExecutor(2) as pool:
                ordinals = pool.submit(_ordinals, columns, expression)
                others, rest = self._rest(columns, expression)
                found = others.known(columns[0].reader.file_ids[ordinals.result()])
        else:
            found = _ordinals(columns, expression)
            others, rest = self._rest(columns, expression)
            found = others.known(columns[0].reader.file_ids[found])
        return found if rest is None else np.sort(np.concatenate([found, rest]))

    def _rest(
        self, columns: Sequence[SlicedColumn], expression: Expression
    ) -> tuple[_OtherFiles, NDArray[np.int64] | None]:
        """Look up files in parts; return the files without slices, and the ids of those that match.

        The ids are None if there are no such files.
        """
        others = self._others_of(columns[0])
        if others.files is None:
            return others, None
        scope, probes = self._scope(columns, others.files)
        return others, others.files.ids[scope.might_match(expression, probes)]

    def check_files(self, expression: Expression, files: FileTable) -> None:
        """Check that the file ids of a predicate's answer mean the same files in the manifest.

        Raises:
            BloomwriterError, OSError: If they do not, or the index cannot be read.
        """
        for column in self._concerned(expression) or ():
            column.check_files(files)

    def could_exclude(self, expression: Expression) -> bool | None:
        """Return whether a predicate could exclude any file; None if slices give no answer.

        Raises:
            BloomwriterError, OSError: If the index cannot be read.
        """
        columns = self._concerned(expression)
        if columns is None:
            return None
        others = self._others_of(columns[0])
        is_usable: dict[Leaf, bool] = {}
        for number, leaf in enumerate(columns[0].leaves):
            if leaf not in is_usable:
                leaves = [leaf, *(column.leaves[0] for column in columns[1:])]
                is_usable[leaf] = condition_of(expression, leaves) is not None
            if is_usable[leaf] and self._is_alive(columns[0], number, others):
                return True
        if others.files is None:
            return False
        return self._scope(columns, others.files)[0].could_exclude(expression)

    def files(self, expression: Expression, ids: NDArray[np.int64]) -> list[FileId]:
        """Return files that `ids_of_matches` returned for a predicate, in the same order.

        Raises:
            BloomwriterError, OSError: If the index cannot be read.
        """
        columns = self._concerned(expression)
        if columns is None:
            raise IndexProblem("its slices tell nothing of this predicate", path=self._folder)
        reader, others = columns[0].reader, self._others_of(columns[0]).files
        if self._storage.is_remote:  # the manifest is on this machine, the records are not
            known = self._read_files().by_id()
            return known.take(np.searchsorted(known.ids, ids)).identities()
        if others is None:
            return reader.files(np.searchsorted(reader.file_ids, ids))
        place = np.minimum(np.searchsorted(others.ids, ids), len(others.ids) - 1)
        is_other = others.ids[place] == ids
        found = {
            True: iter(others.take(place[is_other]).identities()),
            False: iter(reader.files(np.searchsorted(reader.file_ids, ids[~is_other]))),
        }
        return [next(found[one]) for one in is_other.tolist()]

    def _concerned(self, expression: Expression) -> list[SlicedColumn] | None:
        """Return the indexed columns of a predicate; None if slices cannot answer it."""
        names = columns_in(expression)
        indexed = [column for column in self._entry.columns if column.name in names]
        if not indexed or any(column.slices is None for column in indexed):
            return None
        columns = [self._column(column) for column in indexed]
        if len(columns) > 1:
            same = {column.reader.directory.units for column in columns}
            if len(same) > 1 or any(len(set(column.leaves)) > 1 for column in columns):
                return None
        return columns

    def _column(self, column: IndexedColumn) -> SlicedColumn:
        with self._lock:
            if column.name not in self._columns:
                self._columns[column.name] = SlicedColumn(self._folder, column)
            return self._columns[column.name]

    def _others_of(self, column: SlicedColumn) -> _OtherFiles:
        """Return the files that are looked up in parts instead of slices."""
        units = column.reader.directory.units
        with self._lock:
            if units not in self._others:
                self._others[units] = _other_files(self._entry, column, self._read_files)
            return self._others[units]

    def _is_alive(self, column: SlicedColumn, number: int, others: _OtherFiles) -> bool:
        """Return whether the version knows any of the files of a group."""
        key = (column.column.name, number)
        with self._lock:
            if key not in self._alive:
                ids = column.reader.file_ids[column.reader.owners[number]]
                self._alive[key] = len(others.known(ids)) > 0
            return self._alive[key]

    def _scope(
        self, columns: Sequence[SlicedColumn], others: FileTable
    ) -> tuple[Scope, dict[str, ColumnProbe]]:
        """Return the scope and the probes by which files without slices are looked up in parts."""
        key = tuple(column.column.name for column in columns)
        with self._lock:
            if key not in self._scopes:
                if len(self._scopes) >= _MAX_SCOPES:
                    self._scopes.clear()
                probes = {column.column.name: column.probe_of(others) for column in columns}
                filters = {name: probe.filters for name, probe in probes.items()}
                self._scopes[key] = scope_of(filters, len(others.ids)), probes
            return self._scopes[key]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _OtherFiles:
    """The data files of a version that are not in slices."""

    files: FileTable | None
    """The files, ascending by id; None if there are no such files."""

    all_ids: NDArray[np.int64] | None
    """Ids of all files that the version knows, ascending; None if they are the files of the
    slices."""

    @property
    def num_bytes_held(self) -> int:
        held = 0 if self.all_ids is None else self.all_ids.nbytes
        return held + (0 if self.files is None else self.files.num_bytes_held)

    def known(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of the ids that the version knows."""
        if self.all_ids is None:
            return ids
        if not len(self.all_ids):
            return ids[:0]
        place = np.searchsorted(self.all_ids, ids)
        place[place == len(self.all_ids)] = 0
        known: NDArray[np.int64] = ids[self.all_ids[place] == ids]
        return known


def _other_files(
    entry: Entry, column: SlicedColumn, read_files: Callable[[], FileTable]
) -> _OtherFiles:
    """Find the data files that are not in slices.

    File ids are given once. So if the version knows as many files as the slices, and no id was
    given since, it knows the same.
    """
    reader = column.reader
    directory, ordinals = reader.directory, reader.without_slices.astype(np.int64)
    if entry.next_file_id == directory.stop and entry.num_files == directory.num_files:
        ids, files = reader.file_ids[ordinals], None
        if len(ids) and reader.storage.is_remote:
            known = read_files().by_id()
            files = known.select(np.isin(known.ids, ids))
        elif len(ids):
            files = FileTable.of_identities(ids, reader.files(ordinals))
        return _OtherFiles(files=files, all_ids=None)
    known = read_files().by_id()
    column.check_files(known)
    is_other = known.ids >= directory.stop
    is_other |= np.isin(known.ids, reader.file_ids[ordinals])
    files = known.select(is_other) if is_other.any() else None
    return _OtherFiles(files=files, all_ids=known.ids)


class SlicedColumn:
    """The slices of one column. Safe in threads.

    Attributes:
        column: The column.
        reader: Reader of the file of slices.
        leaves: The type of the column in each group, under its name in the index.
    """

    def __init__(self, folder: str, column: IndexedColumn) -> None:
        """Open the slices.

        Raises:
            IndexProblem: If they are damaged, or were made from other parts.
            OSError: If they cannot be read.
        """
        if column.slices is None:
            raise IndexProblem(f"the column {column.name} has no slices", path=folder)
        self._folder = folder
        self._has_same_files = False
        self.column = column
        self.reader = SliceReader(folder, column.slices)
        directory = self.reader.directory
        parts = {(part.path, part.size) for part in column.parts}
        if not parts.issuperset((part.path, part.size) for part in directory.parts):
            raise IndexProblem("the slices were made of other parts", path=self.reader.path)
        self.leaves = tuple(
            replace(leaf_of(group.column_type), path=(column.name,)) for group in directory.groups
        )

    @property
    def num_bytes_held(self) -> int:
        """Size in memory, bytes."""
        return self.reader.num_bytes_held

    def check_files(self, files: FileTable) -> None:
        """Check, once, that the manifest has the files of the slices under the same ids.

        Raises:
            IndexProblem: If it has not.
            OSError: If the slices cannot be read.
        """
        if not self._has_same_files:
            self.reader.check_files(files)
            self._has_same_files = True

    def probe_of(self, files: FileTable) -> ColumnProbe:
        """Return a probe for the filters of files that are not in slices.

        Raises:
            BloomwriterError, OSError: If a part cannot be read.
        """
        done = {part.path for part in self.reader.directory.parts if not part.has_others}
        parts = [part for part in self.column.parts if part.path not in done]
        return open_probe(self._folder, self.column, parts, files, few=0)

    def ordinals(self, expression: Expression) -> NDArray[np.int64]:
        """Return the ordinals of the files that might match a predicate on this column alone.

        Raises:
            IndexProblem: If the slices are not as they were written.
            OSError: If the slices cannot be read.
        """
        found, held = [np.zeros(0, np.int32)], _Held(self._folder, self.column.global_filter)
        # Once for each type: there may be many groups, and many values to hash.
        conditions = {leaf: condition_of(expression, [leaf]) for leaf in set(self.leaves)}
        with self.reader.opened() as source:
            self._prefetch(
                {n: conditions[leaf] for n, leaf in enumerate(self.leaves)}, source, held
            )
            for number, leaf in enumerate(self.leaves):
                owners = self.reader.owners[number]
                condition = conditions[leaf]
                if condition is not None:
                    owners = owners[_ordinals_of(self._bits(condition, number, source, held))]
                found.append(owners)
        return np.unique(np.concatenate(found)).astype(np.int64)

    def keys(self, contains: Contains) -> NDArray[np.int64]:
        """Return the units that might contain a hash, ascending, as numbers of `unit_keys`."""
        reader, found = self.reader, [np.zeros(0, np.int64)]
        held = _Held(self._folder, self.column.global_filter)
        with reader.opened() as source:
            self._prefetch(dict.fromkeys(range(len(reader.owners)), contains), source, held)
            for number, (owners, row_groups) in enumerate(
                zip(reader.owners, reader.row_groups, strict=True)
            ):
                which = _ordinals_of(self._matches(contains, number, source, held))
                of_units = None if row_groups is None else row_groups[which]
                found.append(unit_keys(owners[which], of_units))
        return np.sort(np.concatenate(found))

    def _prefetch(
        self, conditions: Mapping[int, Condition | None], source: IndexSource, held: _Held
    ) -> None:
        """Fetch all pages that a lookup reads from a store, at the same time if they are not many.

        Args:
            conditions: The condition to look up in each group, by the group's ordinal.
            source: The slices, opened.
            held: The filter of all values. If many pages are at stake, it is asked first.
        """
        if source.fd >= 0:
            return
        groups, whole = self.reader.directory.groups, self.column.global_filter
        asked = {
            number: contained
            for number, condition in conditions.items()
            if groups[number].num_blocks and (contained := list(_contained(condition)))
        }
        num_bytes = sum(
            groups[number].page_bytes * WORDS_PER_BLOCK * sum(len(one.hashes) for one in some)
            for number, some in asked.items()
        )
        are_all = whole is None or whole.stop < self.reader.directory.stop
        with ThreadPoolExecutor(_REMOTE_THREADS) as pool:
            every = {id(one): one for some in asked.values() for one in some}.values()
            answers = {id(one): pool.submit(held.by_whole, one) for one in every}
            rows: dict[int, set[int]] = {}
            for number, some in asked.items():
                for one in some:
                    hashes = one.hashes
                    if num_bytes > _MANY_BYTES and not are_all:
                        hashes = hashes[answers[id(one)].result()]
                    of_group = rows.setdefault(number, set())
                    for h in hashes.tolist():
                        of_group.update(rows_of(h, groups[number].num_blocks))
            self.reader.prefetch(source, rows)
            for answer in answers.values():
                answer.result()

    def _bits(
        self, condition: Condition, number: int, source: IndexSource, held: _Held
    ) -> NDArray[np.uint64]:
        """Return a bit for each filter of a group: whether it might meet a condition."""
        if isinstance(condition, Contains):
            return self._matches(condition, number, source, held)
        if not condition.parts:
            return np.zeros(self.reader.directory.groups[number].row_bytes // 8, np.uint64)
        found = self._bits(condition.parts[0], number, source, held)
        for part in condition.parts[1:]:
            if isinstance(condition, AnyOf):
                found |= self._bits(part, number, source, held)
            elif found.any():
                found &= self._bits(part, number, source, held)
        return found

    def _matches(
        self, contains: Contains, number: int, source: IndexSource, held: _Held
    ) -> NDArray[np.uint64]:
        """Return a bit for each filter of a group: whether it might contain a hash."""
        reader, whole, hashes = self.reader, self.column.global_filter, contains.hashes
        group = reader.directory.groups[number]
        if whole is None:
            return self._any_of(group, hashes.tolist(), source)
        is_held = held.by_whole(contains)
        found = self._any_of(group, hashes[is_held].tolist(), source)
        if not is_held.all() and whole.stop < reader.directory.stop:
            more = self._any_of(group, hashes[~is_held].tolist(), source)
            found |= more & _bits_of(reader.file_ids[reader.owners[number]] >= whole.stop)
        return found

    def _any_of(
        self, group: Group, hashes: Sequence[int], source: IndexSource
    ) -> NDArray[np.uint64]:
        """Return a bit for each filter of a group: whether it might contain any of the hashes."""
        if not group.num_blocks:  # filters without values
            return np.zeros(group.row_bytes // 8, np.uint64)
        jobs = default_jobs()
        if jobs == 1 or len(hashes) * WORDS_PER_BLOCK * group.page_bytes <= _MANY_BYTES:
            return self._joined(group, hashes, source)
        shares = [hashes[one::jobs] for one in range(jobs)]
        with ThreadPoolExecutor(jobs) as pool:
            found = pool.map(lambda share: self._joined(group, share, source), shares)
            joined: NDArray[np.uint64] = np.bitwise_or.reduce(list(found))
        return joined

    def _joined(
        self, group: Group, hashes: Sequence[int], source: IndexSource
    ) -> NDArray[np.uint64]:
        found = np.zeros(group.row_bytes // 8, np.uint64)
        each = np.empty_like(found)
        for h in hashes:
            rows = self.reader.rows(source, group, rows_of(h, group.num_blocks))
            if and_rows(rows, each):
                found |= each
        return found


class _Held:
    """The answers of the filter of all values during one lookup; each condition is asked once."""

    def __init__(self, folder: str, whole: GlobalFilter | None) -> None:
        self._folder = folder
        self._whole = whole
        self._found: dict[Contains, NDArray[np.bool_]] = {}  # by identity

    def by_whole(self, contains: Contains) -> NDArray[np.bool_]:
        """Return for each hash whether the filter might contain it; without a filter, true.

        Raises:
            IndexProblem: If the filter is not as it was written.
            OSError: If the filter cannot be read.
        """
        if contains not in self._found:
            hashes = contains.hashes
            self._found[contains] = (
                np.ones(len(hashes), np.bool_)
                if self._whole is None
                else might_hold(self._folder, self._whole.file, hashes)
            )
        return self._found[contains]


def rows_of(h: int, num_blocks: int) -> list[int]:
    """Return the eight rows of a matrix whose AND says which filters might contain a hash."""
    first = block_index(h, num_blocks) * ROWS_PER_BLOCK
    bits = enumerate(mask(h))
    return [first + word * BITS_PER_WORD + bit.bit_length() - 1 for word, bit in bits]


def _ordinals(columns: Sequence[SlicedColumn], expression: Expression) -> NDArray[np.int64]:
    """Return the ordinals of the files that might match, ascending."""
    if len(columns) == 1:
        return columns[0].ordinals(expression)
    by_name = {column.column.name: column for column in columns}
    condition = condition_of(expression, [column.leaves[0] for column in columns])
    if condition is None:
        return np.unique(np.concatenate(columns[0].reader.owners)).astype(np.int64)
    known: dict[int, NDArray[np.int64]] = {}
    if columns[0].reader.storage.is_remote:
        contained = list(_contained(condition))
        with ThreadPoolExecutor(_REMOTE_THREADS) as pool:
            found = pool.map(lambda one: by_name[one.column].keys(one), contained)
            known = dict(zip(map(id, contained), found, strict=True))
    return np.unique(owner_of(_keys(condition, by_name, known)))


def _contained(condition: Condition | None) -> Iterator[Contains]:
    """Yield the parts of a condition that filters answer."""
    if isinstance(condition, Contains):
        yield condition
    elif condition is not None:
        for part in condition.parts:
            yield from _contained(part)


def _keys(
    condition: Condition,
    columns: Mapping[str, SlicedColumn],
    known: Mapping[int, NDArray[np.int64]],
) -> NDArray[np.int64]:
    """Return the units that might meet a condition, ascending; some are `known`, by `id`."""
    if isinstance(condition, Contains):
        found = known.get(id(condition))
        return columns[condition.column].keys(condition) if found is None else found
    if not condition.parts:
        return np.zeros(0, np.int64)
    found = _keys(condition.parts[0], columns, known)
    for part in condition.parts[1:]:
        if isinstance(condition, AnyOf):
            found = np.union1d(found, _keys(part, columns, known))
        elif len(found):
            found = np.intersect1d(found, _keys(part, columns, known), assume_unique=True)
    return found


def _ordinals_of(bits: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the positions of the bits that are set, ascending."""
    numbers = np.flatnonzero(bits)
    each = np.unpackbits(bits[numbers].view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    which, bit = np.nonzero(each)
    return numbers[which] * _BITS + bit


def _bits_of(which: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return n flags as bits, in numbers of 64 bits."""
    padded = np.zeros(-(-len(which) // _BITS) * _BITS, np.bool_)
    padded[: len(which)] = which
    bits: NDArray[np.uint64] = np.packbits(padded, bitorder="little").view(np.uint64)
    return bits
