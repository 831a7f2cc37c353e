"""All filters of one indexed column: the file that each filter belongs to, and its position.

A file has one filter for all its rows, or one for each of its row groups, numbered from 0 without a
gap. A file without filters, or with filters that break this rule, may hold any value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.entry import damaged
from parquet_bloomwriter.index.format.block_checks import CheckedGroups
from parquet_bloomwriter.index.format.part_writer import WHOLE_FILE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.format.manifest import FileTable
    from parquet_bloomwriter.index.format.part_reader import Part
    from parquet_bloomwriter.index.storage.object_file import ObjectName
    from parquet_bloomwriter.source.identity import FileIdentity


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnFilters:
    """The n filters of a column, in the order of parts and rows, for m files of the manifest."""

    paths: tuple[str, ...]
    """Absolute paths of the parts."""

    states: tuple[FileIdentity | ObjectName, ...]
    """Identities of the parts' files when they were read."""

    sizes: NDArray[np.int64]
    """Sizes of the parts, bytes."""

    crcs: tuple[int | None, ...]
    """CRC-32 of each part; None for parts of older versions of this package."""

    owners: NDArray[np.int64]
    """Ordinal in the manifest of each filter's data file, shape (n,)."""

    part_of: NDArray[np.int32]
    """Ordinal of each filter's part, ascending, shape (n,)."""

    starts: NDArray[np.int64]
    """Position of each filter's header in its part, bytes, shape (n,)."""

    num_bytes: NDArray[np.int64]
    """Size of each filter's header and bitset, bytes, shape (n,)."""

    has_values: NDArray[np.bool_]
    """Whether each filter has values, so that it may contain a hash, shape (n,)."""

    ndv: NDArray[np.int64]
    """Upper estimate of each filter's number of distinct values; -1: unknown. Shape (n,)."""

    types: tuple[str, ...]
    """The distinct types of the column, as JSON."""

    type_of: NDArray[np.int32]
    """Ordinal of each filter's column type in `types`, shape (n,)."""

    order: NDArray[np.int64]
    """The filters sorted by data file and row group, shape (n,)."""

    first: NDArray[np.int64]
    """Position in `order` of the first filter of each data file, shape (m,)."""

    count: NDArray[np.int64]
    """Number of usable filters of each data file, shape (m,); 0: the file may hold any value."""

    is_split: NDArray[np.bool_]
    """Whether the data file has filters for row groups instead of one for the whole file, shape
    (m,)."""

    groups: CheckedGroups
    """The groups of filters that checksums cover, including filters of files that are gone."""

    member_of: NDArray[np.int64]
    """Ordinal of each filter among the members of `groups`, shape (n,); -1: the filter has no
    checksum."""

    @property
    def num_bytes_held(self) -> int:
        """Size in memory, bytes."""
        held = (getattr(self, name) for name in self.__slots__)
        arrays = sum(one.nbytes for one in held if isinstance(one, np.ndarray))
        return arrays + self.groups.num_bytes_held

    def malformed(self, row: int) -> IndexProblem:
        """Return the error for a filter with another header than it should have."""
        path, byte = self.paths[int(self.part_of[row])], int(self.starts[row])
        return damaged(path, "the Bloom filter has a malformed header", byte=byte)


def gather_filters(parts: Sequence[Part], files: FileTable) -> ColumnFilters:
    """Join the parts of a column, without the filters of data files that are gone.

    Raises:
        IndexProblem: If a part and the manifest have different files under one id.
    """
    by_id = _FilesById.of(files)
    kept = [by_id.find(part) for part in parts]
    rows = [row for row, _ in kept]
    owners = _joined([owner for _, owner in kept], np.int64)
    row_groups = _joined(
        [part.row_groups[row] for part, row in zip(parts, rows, strict=True)], np.int32
    )
    types, type_of = _common_types(parts, rows)

    def picked(name: str, dtype: type[np.generic]) -> NDArray[Any]:
        pairs = zip(parts, rows, strict=True)
        return _joined([getattr(part, name)[row] for part, row in pairs], dtype)

    ndv, num_values = picked("ndv", np.int64), picked("num_values", np.int64)
    checked = [number for number, part in enumerate(parts) if part.groups is not None]
    groups = [part.groups for part in parts if part.groups is not None]
    return ColumnFilters(
        paths=tuple(part.path for part in parts),
        states=tuple(part.state for part in parts),
        sizes=np.array([part.state.size for part in parts], np.int64),
        crcs=tuple(part.crc for part in parts),
        owners=owners,
        part_of=np.repeat(np.arange(len(parts), dtype=np.int32), [len(row) for row in rows]),
        starts=picked("starts", np.int64),
        num_bytes=picked("num_bytes", np.int32).astype(np.int64),
        has_values=num_values != 0,
        ndv=np.where(ndv < 0, num_values, ndv),
        types=types,
        type_of=type_of,
        groups=CheckedGroups.joined(groups, checked),
        member_of=_members(parts, rows),
        **_by_file(owners, row_groups, len(by_id.ids)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _FilesById:
    """The data files of the manifest, ordered by their ids."""

    ids: NDArray[np.int64]
    sorter: NDArray[np.int64]
    files: FileTable

    @staticmethod
    def of(files: FileTable) -> _FilesById:
        sorter = np.argsort(files.ids, kind="stable")
        return _FilesById(files.ids[sorter], sorter, files)

    def find(self, part: Part) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows of a part that belong to known files, and the ordinals of these files.

        Raises:
            IndexProblem: If a file is not the file that the manifest has under its id.
        """
        at = np.searchsorted(self.ids, part.file_ids)
        at[at == len(self.ids)] = 0
        known = self.ids[at] == part.file_ids if len(self.ids) else np.zeros(len(at), np.bool_)
        rows = np.flatnonzero(known)
        owners = self.sorter[at[rows]]
        same = self.files.sizes[owners] == part.sizes[rows]
        same &= self.files.modified_ms[owners] == part.modified_ms[rows]
        if not same.all():
            raise IndexProblem("the part is about other files than the manifest", path=part.path)
        return rows, owners


def _members(parts: Sequence[Part], rows: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the ordinal of each filter among the members of the groups of all parts."""
    found, before = [], 0
    for part, row in zip(parts, rows, strict=True):
        member_of = part.member_of[row]
        found.append(np.where(member_of < 0, -1, member_of + before))
        before += 0 if part.groups is None else len(part.groups.starts)
    return _joined(found, np.int64)


def _joined(arrays: Sequence[NDArray[Any]], dtype: type[np.generic]) -> NDArray[Any]:
    """Concatenate arrays; without any, return an empty array."""
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype)


def _common_types(
    parts: Sequence[Part], rows: Sequence[NDArray[np.int64]]
) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Return the distinct column types of all parts, and the ordinal of each filter's type."""
    numbers: dict[str, int] = {}
    type_of = []
    for part, row in zip(parts, rows, strict=True):
        common = [numbers.setdefault(one, len(numbers)) for one in part.types]
        type_of.append(np.array(common, np.int32)[part.type_of[row]])
    return tuple(numbers), _joined(type_of, np.int32)


def _by_file(
    owners: NDArray[np.int64], groups: NDArray[np.int32], num_files: int
) -> dict[str, NDArray[Any]]:
    """Return the arrays of `ColumnFilters` that have an element for each data file."""
    order = np.lexsort((groups, owners))
    count = np.bincount(owners, minlength=num_files)
    first = np.cumsum(count) - count
    sorted_owners, sorted_groups = owners[order], groups[order]
    in_turn = sorted_groups == np.arange(len(order)) - first[sorted_owners]
    is_whole = (sorted_groups == WHOLE_FILE) & (count[sorted_owners] == 1)
    num_split = np.bincount(sorted_owners[in_turn], minlength=num_files)
    num_whole = np.bincount(sorted_owners[is_whole], minlength=num_files)
    is_split = (num_split == count) & (count > 0)
    return {
        "order": order,
        "first": first,
        "count": np.where(is_split | (num_whole == 1), count, 0),
        "is_split": is_split,
    }
