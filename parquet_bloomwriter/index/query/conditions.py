"""What a predicate asks of the filters of an index, for columns of given types.

    Contains    a value with one of these hashes is in a column
    Every       all of several are so
    Some        at least one is so; Some(()) is never so
    None        nothing is asked: any file might match

Only equality is concluded from, and what a column's type rules out. As everywhere, what is asked
may be wider than the predicate, never narrower.

Conditions on several columns at once: evaluated where they must be true of the same rows.

A unit is a file, or one row group of a file that has filters by row groups in some column of those
concerned; filters of the whole file then speak of each of its row groups. A file might match if one
of its units does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from parquet_bloomwriter.hashing import xxh64
from parquet_bloomwriter.index.format.columns import leaf_of
from parquet_bloomwriter.predicate.bind import Domains, bind
from parquet_bloomwriter.predicate.bound import AllOf, AlwaysFalse, AnyOf, InSet
from parquet_bloomwriter.predicate.expression import And, Comparison, IsIn, IsNull, Not, Or

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.query.column_filters import ColumnFilters
    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.predicate.bound import Bound
    from parquet_bloomwriter.predicate.expression import Expression


@dataclass(frozen=True, slots=True, eq=False)
class Contains:
    """A column holds a value with one of these hashes."""

    column: str
    hashes: NDArray[np.uint64]
    """Ascending, each once, at least one."""


@dataclass(frozen=True, slots=True, eq=False)
class Every:
    """All parts are so, of one row."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Some:
    """Some part is so."""

    parts: tuple[Condition, ...]


Condition: TypeAlias = Contains | Every | Some

NEVER = Some(())


def columns_in(expression: Expression) -> set[str]:
    """Names of the columns that a predicate is about."""
    match expression:
        case And(operands) | Or(operands):
            return set().union(*map(columns_in, operands))
        case Not(operand):
            return columns_in(operand)
        case Comparison() | IsIn() | IsNull():
            return {expression.column}
    return set()


def condition_of(expression: Expression, leaves: Sequence[Leaf]) -> Condition | None:
    """What a predicate asks of files with these columns; None if any might match.

    Args:
        expression: The predicate.
        leaves: The indexed columns, with their names in the index.
    """
    return _asked(bind(expression, Domains.of(leaves)))


def _asked(bound: Bound) -> Condition | None:
    match bound:
        case InSet():
            return _contains(bound)
        case AlwaysFalse():
            return NEVER
        case AllOf(parts):
            return _every([one for one in map(_asked, parts) if one is not None])
        case AnyOf(parts):
            return _some(list(map(_asked, parts)))
    return None


def _contains(members: InSet) -> Condition | None:
    if members.plains is None:
        return None
    hashes = {xxh64(plain) for plains in members.plains for plain in plains}
    return _of(members.leaf.name, np.array(sorted(hashes), np.uint64))


def _of(column: str, hashes: NDArray[np.uint64]) -> Condition:
    return Contains(column, hashes) if len(hashes) else NEVER


def _every(parts: list[Condition]) -> Condition | None:
    if not parts:
        return None
    if any(isinstance(one, Some) and not one.parts for one in parts):
        return NEVER
    return parts[0] if len(parts) == 1 else Every(tuple(sorted(parts, key=_cost)))


def _some(parts: list[Condition | None]) -> Condition | None:
    """At least one; values of one column are looked for together."""
    hashes: dict[str, list[NDArray[np.uint64]]] = {}
    others: list[Condition] = []
    for part in parts:
        if part is None:
            return None
        if isinstance(part, Contains):
            hashes.setdefault(part.column, []).append(part.hashes)
        elif not isinstance(part, Some) or part.parts:
            others.append(part)
    together = (_of(column, np.unique(np.concatenate(of))) for column, of in hashes.items())
    found = [*together, *others]
    return found[0] if len(found) == 1 else Some(tuple(sorted(found, key=_cost)))


def _cost(condition: Condition) -> int:
    """Blocks to read of each file, at most."""
    if isinstance(condition, Contains):
        return len(condition.hashes)
    return sum(map(_cost, condition.parts))


class Ask(Protocol):
    """Looks hashes up in filters of a column, given by ascending rows; the answer is by row."""

    def __call__(
        self, column: str, rows: NDArray[np.int64], hashes: NDArray[np.uint64]
    ) -> NDArray[np.bool_]:
        """Whether each might contain any of the hashes."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Units whose files have the same types in all columns concerned."""

    leaves: tuple[Leaf, ...]
    """Of the columns that have filters."""

    units: NDArray[np.int64]
    """Ascending."""


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The u units of m files, for some columns."""

    first: NDArray[np.int64]
    """Where the units of each file begin, shape (m,)."""

    num_units: int
    rows: Mapping[str, NDArray[np.int64]]
    """By column: the filter of each unit, -1 for none, shape (u,)."""

    num_rows: Mapping[str, int]
    """By column: its filters in all."""

    groups: tuple[Group, ...]

    @property
    def num_bytes_held(self) -> int:
        """Memory, bytes."""
        arrays = (*self.rows.values(), self.first, *(group.units for group in self.groups))
        return sum(one.nbytes for one in arrays)

    def could_exclude(self, expression: Expression) -> bool:
        """Whether some file may turn out not to match."""
        return any(condition_of(expression, group.leaves) is not None for group in self.groups)

    def might_match(self, expression: Expression, ask: Ask) -> NDArray[np.bool_]:
        """Whether each file might, shape (m,)."""
        might = np.ones(self.num_units, np.bool_)
        for group in self.groups:
            condition = condition_of(expression, group.leaves)
            if condition is not None:
                might[group.units] = self._holds(condition, group.units, ask)
        if len(self.first) == self.num_units:
            return might
        return np.logical_or.reduceat(might, self.first)

    def _holds(self, condition: Condition, units: NDArray[np.int64], ask: Ask) -> NDArray[np.bool_]:
        """Whether a condition might be true of each of some units."""
        if isinstance(condition, Contains):
            return self._contains(condition, units, ask)
        is_every = isinstance(condition, Every)
        found = np.full(len(units), is_every)
        for part in condition.parts:
            open_ = np.flatnonzero(found == is_every)
            if len(open_):
                found[open_] = self._holds(part, units[open_], ask)
        return found

    def _contains(
        self, condition: Contains, units: NDArray[np.int64], ask: Ask
    ) -> NDArray[np.bool_]:
        """Ask each filter once, though it may be that of several units."""
        rows = self.rows[condition.column][units]
        is_asked = np.zeros(self.num_rows[condition.column], np.bool_)
        is_asked[rows] = True
        asked = np.flatnonzero(is_asked)
        is_asked[asked] = ask(condition.column, asked, condition.hashes)
        return is_asked[rows]


def units_of(columns: Mapping[str, ColumnFilters], num_files: int) -> Units:
    """Lay out the units of all files.

    Args:
        columns: The filters of the columns concerned.
        num_files: Files of the manifest.
    """
    counts = np.ones(num_files, np.int64)
    for filters in columns.values():
        np.maximum(counts, filters.count, out=counts)
    first = np.cumsum(counts) - counts
    files = np.repeat(np.arange(num_files), counts)
    group_of = np.arange(len(files)) - first[files]
    rows = {name: _rows(filters, files, group_of, counts) for name, filters in columns.items()}
    return Units(
        first=first,
        num_units=len(files),
        rows=rows,
        num_rows={name: len(filters.starts) for name, filters in columns.items()},
        groups=_groups(columns, rows, len(files)),
    )


def _rows(
    filters: ColumnFilters,
    files: NDArray[np.int64],
    group_of: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The filter of each unit, -1 where there is none or its row groups are not those of others."""
    is_known = np.where(filters.is_split, filters.count == counts, filters.count == 1)
    has_filter = is_known[files]
    files, group_of = files[has_filter], group_of[has_filter]
    rows = np.full(len(has_filter), -1, np.int64)
    rows[has_filter] = filters.order[filters.first[files] + group_of * filters.is_split[files]]
    return rows


def _groups(
    columns: Mapping[str, ColumnFilters], rows: Mapping[str, NDArray[np.int64]], num_units: int
) -> tuple[Group, ...]:
    codes = np.zeros(num_units, np.int64)
    for name, filters in columns.items():
        codes *= len(filters.types) + 1
        codes += np.append(filters.type_of, -1)[rows[name]] + 1
    if num_units and (codes == codes[0]).all():
        return (Group(_leaves(columns, int(codes[0])), np.arange(num_units)),)
    return tuple(
        Group(_leaves(columns, code), np.flatnonzero(codes == code))
        for code in np.unique(codes).tolist()
    )


def _leaves(columns: Mapping[str, ColumnFilters], code: int) -> tuple[Leaf, ...]:
    """The columns of a group, under their names in the index."""
    leaves = []
    for name, filters in reversed(list(columns.items())):
        code, type_ = divmod(code, len(filters.types) + 1)
        if type_:
            leaves.append(replace(leaf_of(filters.types[type_ - 1]), path=(name,)))
    return tuple(leaves)
