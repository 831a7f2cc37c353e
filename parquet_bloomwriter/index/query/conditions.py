"""Conditions: what a predicate demands of the filters of an index, and which files meet it.

    Contains    a column holds a value with one of these hashes
    AllOf       all parts are true of the same row
    AnyOf       at least one part is true; AnyOf(()) never is
    None        there is no condition: any file might match

Only equality leads to a condition, and what the type of a column rules out. A condition may be
wider than its predicate, never narrower.

Conditions are evaluated over a scope of units, because those on several columns must be true of the
same rows. A unit is a file; or one row group of a file that has filters by row groups in some of
the columns concerned. A filter of the whole file then speaks for each of its row groups. A file
might match if one of its units might.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from parquet_bloomwriter.hashing import xxh64
from parquet_bloomwriter.index.format.columns import columns_holding, leaf_of
from parquet_bloomwriter.metadata import Repetition
from parquet_bloomwriter.predicate import bound
from parquet_bloomwriter.predicate.bind import Domains, bind
from parquet_bloomwriter.predicate.expression import (
    And,
    Comparison,
    Holds,
    IsIn,
    IsNull,
    Not,
    Or,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.query.column_filters import ColumnFilters
    from parquet_bloomwriter.index.query.probe import ColumnProbe
    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.metadata.elements import Part
    from parquet_bloomwriter.predicate.expression import Expression


@dataclass(frozen=True, slots=True, eq=False)
class Contains:
    """A column holds a value with one of these hashes."""

    column: str
    hashes: NDArray[np.uint64]
    """The hashes, ascending, without duplicates; at least one."""


@dataclass(frozen=True, slots=True, eq=False)
class AllOf:
    """All parts are true of one row."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AnyOf:
    """At least one part is true of a row."""

    parts: tuple[Condition, ...]


Condition: TypeAlias = Contains | AllOf | AnyOf

NEVER = AnyOf(())


def about_columns(expression: Expression, names: Sequence[str]) -> Expression:
    """Return a predicate in which conditions on lists and maps name indexed columns instead.

    Args:
        expression: The predicate.
        names: Names of the indexed columns.
    """
    match expression:
        case And(operands) | Or(operands):
            return type(expression)(tuple(about_columns(one, names) for one in operands))
        case Not(operand):
            return Not(about_columns(operand, names))
        case Holds(column, part):
            found = columns_holding(names, column, part)
            return And(tuple(replace(expression, column=one) for one in found or (column,)))
    return expression


def columns_in(expression: Expression) -> set[str]:
    """Return the names of the columns that a predicate is about."""
    match expression:
        case And(operands) | Or(operands):
            return set().union(*map(columns_in, operands))
        case Not(operand):
            return columns_in(operand)
        case Comparison() | IsIn() | IsNull() | Holds():
            return {expression.column}
    return set()


def condition_of(expression: Expression, leaves: Sequence[Leaf]) -> Condition | None:
    """Return the condition of a predicate on files with these columns; None if any might match.

    Args:
        expression: The predicate, as `about_columns` returns it.
        leaves: The indexed columns, with their names in the index.
    """
    parts = {(leaf.name, part): [leaf] for leaf in leaves for part in _repeated_parts(leaf)}
    return _condition(bind(expression, Domains.of(leaves, parts)))


def _repeated_parts(leaf: Leaf) -> tuple[Part, ...]:
    """Return the parts of a list or map that a leaf may hold; `columns_holding` chose the leaf."""
    return ("element", "key", "value") if Repetition.REPEATED in leaf.repetitions else ()


@dataclass(frozen=True, slots=True, eq=False)
class UnitGroup:
    """Units whose data files have the same types in all columns concerned."""

    leaves: tuple[Leaf, ...]
    """Leaf columns, of the columns that have filters."""

    units: NDArray[np.int64]
    """Ordinals of the units, ascending."""


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """The u units (files or row groups) of m data files, for some columns."""

    first: NDArray[np.int64]
    """Ordinal of the first unit of each file, shape (m,)."""

    num_units: int
    rows: Mapping[str, NDArray[np.int64]]
    """By column name: the filter of each unit, shape (u,); -1: no filter."""

    num_rows: Mapping[str, int]
    """By column name: the number of the column's filters."""

    groups: tuple[UnitGroup, ...]

    @property
    def num_bytes_held(self) -> int:
        """Size in memory, bytes."""
        arrays = (*self.rows.values(), self.first, *(group.units for group in self.groups))
        return sum(one.nbytes for one in arrays)

    def could_exclude(self, expression: Expression) -> bool:
        """Return whether filters could exclude any file by a predicate."""
        return any(condition_of(expression, group.leaves) is not None for group in self.groups)

    def might_match(
        self, expression: Expression, probes: Mapping[str, ColumnProbe]
    ) -> NDArray[np.bool_]:
        """Return for each file whether it might hold a row for which a predicate is true.

        Args:
            expression: The predicate.
            probes: By column name, the probe of the column's filters.

        Returns:
            Shape (m,).
        """
        might = np.ones(self.num_units, np.bool_)
        for group in self.groups:
            condition = condition_of(expression, group.leaves)
            if condition is not None:
                might[group.units] = self._holds(condition, group.units, probes)
        if len(self.first) == self.num_units:
            return might
        return np.logical_or.reduceat(might, self.first)

    def _holds(
        self, condition: Condition, units: NDArray[np.int64], probes: Mapping[str, ColumnProbe]
    ) -> NDArray[np.bool_]:
        """Return for each of some units whether a condition might be true of it."""
        if isinstance(condition, Contains):
            return self._contains(condition, units, probes)
        is_all = isinstance(condition, AllOf)
        found = np.full(len(units), is_all)
        for part in condition.parts:
            open_ = np.flatnonzero(found == is_all)
            if len(open_):
                found[open_] = self._holds(part, units[open_], probes)
        return found

    def _contains(
        self, condition: Contains, units: NDArray[np.int64], probes: Mapping[str, ColumnProbe]
    ) -> NDArray[np.bool_]:
        """Return for each unit whether its filter might contain a hash; ask each filter once."""
        probe, rows = probes[condition.column], self.rows[condition.column][units]
        might = np.zeros(self.num_rows[condition.column], np.bool_)
        might[rows] = True
        needed = np.flatnonzero(might)
        might[needed] = probe.might_contain(needed, condition.hashes)
        return might[rows]


def scope_of(columns: Mapping[str, ColumnFilters], num_files: int) -> Scope:
    """Make the scope of all data files: their units, and the filter of each unit.

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
    return Scope(
        first=first,
        num_units=len(files),
        rows=rows,
        num_rows={name: len(filters.starts) for name, filters in columns.items()},
        groups=_groups(columns, rows, len(files)),
    )


def _condition(predicate: bound.Bound) -> Condition | None:
    match predicate:
        case bound.InSet():
            return _contains(predicate)
        case bound.AlwaysFalse():
            return NEVER
        case bound.AllOf(parts):
            return _all_of([one for one in map(_condition, parts) if one is not None])
        case bound.AnyOf(parts):
            return _any_of(list(map(_condition, parts)))
    return None


def _contains(members: bound.InSet) -> Condition | None:
    if members.plains is None:
        return None
    hashes = {xxh64(plain) for plains in members.plains for plain in plains}
    return _contains_any(members.leaf.name, np.array(sorted(hashes), np.uint64))


def _contains_any(column: str, hashes: NDArray[np.uint64]) -> Condition:
    return Contains(column, hashes) if len(hashes) else NEVER


def _all_of(parts: list[Condition]) -> Condition | None:
    if not parts:
        return None
    if any(isinstance(one, AnyOf) and not one.parts for one in parts):
        return NEVER
    return parts[0] if len(parts) == 1 else AllOf(tuple(sorted(parts, key=_cost)))


def _any_of(parts: list[Condition | None]) -> Condition | None:
    """Join conditions by OR; hashes of one column become one condition."""
    hashes: dict[str, list[NDArray[np.uint64]]] = {}
    others: list[Condition] = []
    for part in parts:
        if part is None:
            return None
        if isinstance(part, Contains):
            hashes.setdefault(part.column, []).append(part.hashes)
        elif not isinstance(part, AnyOf) or part.parts:
            others.append(part)
    together = (
        _contains_any(column, np.unique(np.concatenate(arrays)))
        for column, arrays in hashes.items()
    )
    found = [*together, *others]
    return found[0] if len(found) == 1 else AnyOf(tuple(sorted(found, key=_cost)))


def _cost(condition: Condition) -> int:
    """Return the maximum number of blocks that a condition reads for each file."""
    if isinstance(condition, Contains):
        return len(condition.hashes)
    return sum(map(_cost, condition.parts))


def _rows(
    filters: ColumnFilters,
    files: NDArray[np.int64],
    group_of: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the filter of each unit; -1 for none, or if other columns have more row groups."""
    is_known = np.where(filters.is_split, filters.count == counts, filters.count == 1)
    has_filter = is_known[files]
    files, group_of = files[has_filter], group_of[has_filter]
    rows = np.full(len(has_filter), -1, np.int64)
    rows[has_filter] = filters.order[filters.first[files] + group_of * filters.is_split[files]]
    return rows


def _groups(
    columns: Mapping[str, ColumnFilters], rows: Mapping[str, NDArray[np.int64]], num_units: int
) -> tuple[UnitGroup, ...]:
    codes = np.zeros(num_units, np.int64)
    for name, filters in columns.items():
        codes *= len(filters.types) + 1
        codes += np.append(filters.type_of, -1)[rows[name]] + 1
    if num_units and (codes == codes[0]).all():
        return (UnitGroup(_leaves(columns, int(codes[0])), np.arange(num_units)),)
    return tuple(
        UnitGroup(_leaves(columns, code), np.flatnonzero(codes == code))
        for code in np.unique(codes).tolist()
    )


def _leaves(columns: Mapping[str, ColumnFilters], code: int) -> tuple[Leaf, ...]:
    """Return the leaf columns of a group of units, under their names in the index."""
    leaves = []
    for name, filters in reversed(list(columns.items())):
        code, type_ = divmod(code, len(filters.types) + 1)
        if type_:
            leaves.append(replace(leaf_of(filters.types[type_ - 1]), path=(name,)))
    return tuple(leaves)
