"""Build the filters of one group of files: write parts, and insert values into partial filters.

A group holds in memory the filters of one file, the filters that wait to be written (16 MiB for
each column), and its partial filters of the whole table.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.index.build.file_filters import FileFilters, FilterRequest, read_filters_of
from parquet_bloomwriter.index.build.global_filter import Partial
from parquet_bloomwriter.index.engine import ColumnPlan, GroupResult, Unindexed
from parquet_bloomwriter.index.files import location
from parquet_bloomwriter.index.format.columns import column_type
from parquet_bloomwriter.index.format.part_writer import UNKNOWN, PartRow, PartWriter
from parquet_bloomwriter.parallel import balanced
from parquet_bloomwriter.sbbf.union import FilterUnion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from parquet_bloomwriter.index.engine import BuildPlan, FileTask, Origin
    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.sbbf import Sbbf

    Found = Mapping[str, FileFilters | str]

_BYTES_OF_OPENING = 256 * 1024
"""Number of bytes of data that take as long to read as opening a file and writing its filters
takes."""

_WORTH_A_GROUP = 8 << 20
"""Minimum size of the data in a group, bytes. Each group writes a part for each column, and a
lookup opens all parts. So a small table, or the few new files of a refresh, get one part."""

_OVERLOADED = 4
"""The union of the filters of row groups may reach this multiple of the requested FPP."""


def balanced_groups(tasks: Sequence[FileTask], most: int) -> list[list[FileTask]]:
    """Distribute files over groups of about equal work; no group is empty.

    The groups with most work come first; in each group, files are ordered by id.

    Args:
        tasks: The files.
        most: Maximum number of groups; fewer if there is less than `_WORTH_A_GROUP` for each.
    """
    by_id = sorted(tasks, key=_file_id)
    weights = [task.file.size + _BYTES_OF_OPENING for task in by_id]
    groups = balanced(by_id, weights, max(1, min(most, sum(weights) // _WORTH_A_GROUP)))
    return [sorted(group, key=_file_id) for group in groups]


def build_group(
    tasks: Sequence[FileTask],
    plan: BuildPlan,
    done: Callable[[FileTask], None] | None = None,
    *,
    partials_in_memory: bool = False,
) -> GroupResult:
    """Build the filters of a group of files.

    Args:
        tasks: The files.
        plan: How to build them.
        done: Called with each file when it is done. If it raises, nothing of the group is left.
        partials_in_memory: Return partial filters as they are, and write no files of them.

    Raises:
        OSError: If the index cannot be written.
    """
    with ExitStack() as stack:
        group = _Group(plan, stack)
        for task in tasks:
            group.add(task)
            if done is not None:
                done(task)
        return group.result(partials_in_memory=partials_in_memory)


class _Group:
    """The files of the index that a group is writing."""

    def __init__(self, plan: BuildPlan, stack: ExitStack) -> None:
        self._plan = plan
        names = [column.name for column in plan.columns]
        self._writers = {name: stack.enter_context(PartWriter(plan.folder, name)) for name in names}
        self._partials = {
            column.name: Partial(column.global_blocks)
            for column in plan.columns
            if column.global_blocks is not None
        }
        self._request = FilterRequest(
            columns=plan.columns,
            origin=plan.origin,
            partials=self._partials,
            folder=plan.folder,
        )
        self._unindexed: list[Unindexed] = []
        self._changed: list[int] = []

    def add(self, task: FileTask) -> None:
        """Build and write the filters of one file."""
        found = read_filters_of(location(self._plan.root, task.file), task.file, self._request)
        if found is None:
            self._changed.append(task.file_id)
            return
        for name, of_column in found.items():
            if isinstance(of_column, str):
                self._unindexed.append(_unindexed(task, name, of_column))
            else:
                for row in _rows(task, of_column):
                    self._writers[name].append(row)

    def result(self, *, partials_in_memory: bool) -> GroupResult:
        """Sync all written files to the disk, and return the list of them."""
        folder = self._plan.folder
        parts = [writer.close() for writer in self._writers.values()]
        lacking = {one.column for one in self._unindexed}
        partials = [
            partial.in_memory(name) if partials_in_memory else partial.write(folder, name)
            for name, partial in self._partials.items()
        ]
        return GroupResult(
            parts=tuple(part for part in parts if part is not None),
            partials=tuple(partials),
            incomplete=tuple(name for name in self._partials if name in lacking),
            unindexed=tuple(self._unindexed),
            changed=tuple(self._changed),
        )


def _unindexed(task: FileTask, column: str, reason: str) -> Unindexed:
    return Unindexed(file_id=task.file_id, path=task.file.path, column=column, reason=reason)


def _rows(task: FileTask, found: FileFilters) -> Iterator[PartRow]:
    for filter_ in found.filters:
        yield PartRow(
            file_id=task.file_id,
            file=task.file,
            row_group=filter_.row_group,
            column_type=column_type(found.leaf),
            num_values=filter_.num_values,
            ndv=filter_.ndv,
            data=b"" if filter_.bits is None else filter_.bits.to_bytes(),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FileFilter:
    """One filter of all values of a column in a data file."""

    bits: Sbbf
    leaf: Leaf
    num_values: int
    """Number of inserted values, nulls excluded; -1: unknown."""


def filter_of_file(location: str, column: str, *, fpp: float, max_bytes: int) -> FileFilter | str:
    """Make one filter of all values of a column in a data file, in memory.

    The file's own filters are united if the rate of their union is good enough, else its values are
    read.

    Args:
        location: The file's path, absolute.
        column: The column's name in an index.
        fpp: False positive probability asked for, in (0, 1).
        max_bytes: Largest bitset, bytes.

    Returns:
        The filter; or why there is none, a clause.
    """
    plan = ColumnPlan(name=column, fpp=fpp, max_bytes=max_bytes, global_blocks=None)
    found = _of_file(location, plan, "auto")
    if isinstance(found, FileFilter) and found.bits.exact_fpp() > _OVERLOADED * fpp:
        found = _of_file(location, plan, "values")
    return found


def _of_file(path: str, plan: ColumnPlan, origin: Origin) -> FileFilter | str:
    request = FilterRequest(columns=(plan,), origin=origin, partials={}, folder=None)
    found = read_filters_of(path, None, request)
    if found is None:
        return "the file is gone, or was changed just now"
    of_column = found[plan.name]
    if isinstance(of_column, str):
        return of_column
    union = FilterUnion(plan.max_bytes)
    for filter_ in of_column.filters:
        if filter_.bits is not None:
            union.add(filter_.bits.blocks)
    counts = [filter_.num_values for filter_ in of_column.filters]
    num_values = sum(counts) if min(counts) >= 0 else UNKNOWN
    return FileFilter(bits=union.joined(), leaf=of_column.leaf, num_values=num_values)


def _file_id(task: FileTask) -> int:
    return task.file_id
