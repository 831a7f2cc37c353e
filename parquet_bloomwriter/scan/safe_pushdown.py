"""The conditions on a table's columns by which stored values may prune, in probing and in pyarrow.

A filter of pyarrow is about the columns of a table, probing is about those of a file. Mostly a
column of the table is the file's column of that name, with equal values. This does not hold if

- the values come from the path: `year=2024/`, whatever the file stores in a column of that name;
- the table's type differs, by another file's schema or the caller's, and values are rounded or
  shifted on the way: DOUBLE 0.1 as float32, timestamps with and without a zone, text as numbers;
- a name with a dot leads to a field of a struct in one of them, and to a column in the other.

Conditions on such columns become opaque: any row may satisfy them. All other conditions prune.

A scan by pyarrow leaves out row groups whose minimum and maximum contradict its filter, and
believes what probing does not: a minimum above the maximum, bounds that some writers cut without a
word, and `null_count` 0 of dictionaries below a struct. It takes a column chunk for a constant if
minimum and maximum are equal, though they say nothing about NaN, and give zero either sign: in
[0.1, NaN] it finds no row that is `!= 0.1`. Its `count_rows` also counts the rows of row groups
whose statistics confirm the filter, NaN among them. (pyarrow 26; file_parquet.cc of Arrow C++,
ColumnChunkStatisticsAsExpression.) So pyarrow gets every condition in a form that no statistics
contradict or confirm (`without_statistics`). By then, probing has excluded what can be excluded.

That form asks for random numbers, which no simplification can predict, and has a trap: pyarrow
keeps one row of a batch if the filter is an array and no column of the batch is. That happens where
a file has none of the columns that a scan needs. So the form asks for random numbers only where a
column of the condition is not null, and each fragment says by its partition expression which
columns its file lacks (`without_columns`): the condition then becomes a constant before rows are
looked at.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.metadata.elements import leaves_by_part
from parquet_bloomwriter.metadata.logical_types import Kind, type_of
from parquet_bloomwriter.predicate import to_text
from parquet_bloomwriter.predicate.arrow_columns import (
    column_at,
    has_name,
    is_binary,
    is_text,
    is_uuid,
    type_of_part,
)
from parquet_bloomwriter.predicate.arrow_in import fields_in
from parquet_bloomwriter.predicate.expression import (
    And,
    Comparison,
    Expression,
    Holds,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Or,
)
from parquet_bloomwriter.probing.bindings import Bindings

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    import pyarrow as pa

    from parquet_bloomwriter.metadata import Leaf, Schema
    from parquet_bloomwriter.metadata.logical_types import ColumnType
    from parquet_bloomwriter.scan.table import TableFiles

    Leaves = tuple[Leaf, ...]
    import pyarrow.compute as pc


@dataclass(slots=True, eq=False)
class TableBindings(Bindings):
    """A predicate on a table, and its binding for the schema of each of its files.

    pyarrow decides which columns there are: no file need have them all.
    """

    schema: pa.Schema = None
    """Schema of the table."""

    partition_columns: frozenset[str] = frozenset()

    def expression_for(self, schema: Schema) -> Expression:
        """Return the predicate, in which conditions that must not prune are opaque."""
        return self._guard(self.expression, schema.leaves)

    def check_columns(self, paths: Sequence[str], tables: Sequence[tuple[str, ...]] = ()) -> None:
        """Check nothing: pyarrow decides which columns exist."""

    def _guard(self, expression: Expression, leaves: Leaves) -> Expression:
        match expression:
            case Not(operand):
                return Not(self._guard(operand, leaves))
            case And(operands) | Or(operands):
                kind = And if isinstance(expression, And) else Or
                return kind(tuple([self._guard(one, leaves) for one in operands]))
            case Comparison(column) | IsIn(column) | IsNull(column):
                return expression if self._is_safe(column, leaves) else _opaque(expression)
            case Holds():
                return expression if self._keeps_part(expression, leaves) else _opaque(expression)
        return expression

    def _is_safe(self, name: str, leaves: Leaves) -> bool:
        try:
            column = column_at(self.schema, name)
        except InvalidArgument:
            return False
        if column.path[0] in self.partition_columns or self._is_ambiguous(name):
            return False
        named = [leaf for leaf in leaves if leaf.name == name]
        return all(
            leaf.path == column.path and keeps_values(type_of(leaf), column.type) for leaf in named
        )

    def _keeps_part(self, node: Holds, leaves: Leaves) -> bool:
        """Return whether files and table have the same elements in a list, or entries in a map."""
        try:
            column = column_at(self.schema, node.column)
            type_ = type_of_part(column, node.part)
        except InvalidArgument:
            return False
        if column.path[0] in self.partition_columns or self._is_ambiguous(node.column):
            return False
        named = leaves_by_part(leaves).get((node.column, node.part), ())
        return all(
            leaf.path[: len(column.path)] == column.path and keeps_values(type_of(leaf), type_)
            for leaf in named
        )

    def _is_ambiguous(self, name: str) -> bool:
        """Return whether a dotted name is a column's own name, and also leads into a struct."""
        names = [field.name for field in self.schema if has_name(field)]
        return name in names and any(name.startswith(f"{other}.") for other in names)


def _opaque(expression: Expression) -> Opaque:
    return Opaque(to_text(expression))


def keeps_values(stored: ColumnType, type_: pa.DataType) -> bool:
    """Return whether stored values, read as an Arrow type, still equal the same literals.

    Casts that pyarrow checks need not be excluded: they fail instead of changing a value.
    """
    import pyarrow as pa

    is_stored_as_uuid = stored.kind is Kind.UUID
    if is_uuid(type_) or is_stored_as_uuid:  # for plain bytes, text has another meaning
        return is_uuid(type_) and is_stored_as_uuid
    if isinstance(type_, pa.BaseExtensionType):
        return keeps_values(stored, type_.storage_type)
    if pa.types.is_dictionary(type_):
        return keeps_values(stored, type_.value_type)
    check = _checks().get(stored.kind)
    return check is not None and check(stored, type_)


def _checks() -> dict[Kind, Callable[[ColumnType, pa.DataType], bool]]:
    import pyarrow as pa

    types = pa.types
    return {
        Kind.INTEGER: lambda _, type_: types.is_integer(type_),
        Kind.FLOATING: lambda stored, type_: (
            types.is_floating(type_) and type_.bit_width >= stored.bits
        ),
        Kind.DECIMAL: lambda stored, type_: types.is_decimal(type_) and type_.scale >= stored.scale,
        Kind.BOOLEAN: lambda _, type_: types.is_boolean(type_),
        **dict.fromkeys(
            (Kind.TEXT, Kind.BINARY),
            lambda _, type_: is_text(type_) or is_binary(type_),
        ),
        Kind.DATE: lambda _, type_: types.is_date(type_),
        Kind.TIME: lambda _, type_: types.is_time(type_),
        Kind.TIMESTAMP: lambda stored, type_: (
            types.is_timestamp(type_) and (type_.tz is not None) is stored.is_adjusted
        ),
        Kind.INT96: lambda _, type_: type_ == pa.timestamp("ns"),
    }


def without_statistics(condition: pc.Expression, paths: Sequence[tuple[str, ...]]) -> pc.Expression:
    """Return a condition that is true for the same rows, which pyarrow cannot judge by statistics.

    Args:
        condition: What rows must satisfy.
        paths: The columns in the condition whose values do not come from paths of files.
    """
    import pyarrow.compute as pc

    if not paths:
        return condition
    # Random numbers are from 0 to 1: never below 0, but pyarrow does not know that.
    number = pc.Expression._call("random", [], pc.RandomOptions(initializer=0))  # noqa: SLF001
    is_stored = functools.reduce(operator.or_, [pc.field(*path).is_valid() for path in paths])
    return pc.if_else(~is_stored | (number >= 0), condition, pc.scalar(value=False))


def stored_paths(condition: pc.Expression, table: TableFiles) -> tuple[tuple[str, ...], ...]:
    """Return the paths of the condition's columns that are stored in files, from the top down.

    If the condition has parts of unknown form, all columns of the table are returned but those of
    extension types, whose statistics pyarrow cannot compare.
    """
    import pyarrow as pa

    fields = fields_in(condition)
    if fields is None:
        every = [field for field in table.schema if has_name(field)]
        names = [field.name for field in every]
        paths: list[tuple[str, ...]] = [
            (field.name,)
            for field in every
            if names.count(field.name) == 1 and not isinstance(field.type, pa.BaseExtensionType)
        ]
    else:
        paths = [field.names for field in fields]
    return tuple(dict.fromkeys(path for path in paths if path[0] not in table.partitions))


def without_columns(
    partition_expression: pc.Expression, paths: Sequence[tuple[str, ...]], stored: Collection[str]
) -> pc.Expression:
    """Return a file's partition expression, extended by nulls for the columns that the file lacks.

    Args:
        partition_expression: What the file's path says.
        paths: Columns of a condition.
        stored: Names of the file's columns, at the top level.
    """
    import pyarrow.compute as pc

    absent = [pc.field(*path).is_null() for path in paths if path[0] not in stored]
    return functools.reduce(operator.and_, absent, partition_expression)
