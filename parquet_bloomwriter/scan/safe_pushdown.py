"""Which conditions on a table's columns may prune by what a file stores, in probing and in pyarrow.

A filter of pyarrow is about the columns of a table, probing is about those of a file. Mostly a
column of the table is the file's column of that name, with equal values. This does not hold if

- the values come from the path: `year=2024/`, whatever the file stores in a column of that name;
- the table's type differs, by another file's schema or the caller's, and values are rounded or
  shifted on the way: DOUBLE 0.1 as float32, timestamps with and without a zone, text as numbers;
- a name with a dot leads to a field of a struct in one of them, and to a column in the other.

Conditions on such columns become opaque: any row may satisfy them. All other conditions prune.

A scan by pyarrow leaves out row groups whose minimum and maximum contradict its filter. Minimum and
maximum say nothing about NaN, and give zero either sign. But pyarrow takes a column chunk for a
constant if both are equal: in [0.1, NaN] it finds no row that is `!= 0.1`, and in [0.0] no row that
is in [0.0]. So its answers depend on the size of row groups. (pyarrow 26; file_parquet.cc of Arrow
C++, ColumnChunkStatisticsAsExpression.) Below a struct it writes `null_count` 0 for dictionaries,
whatever the struct's nulls, and believes it when it reads. Where a condition may hold for NaN, asks
whether zero is a member, or is about a field of a struct, pyarrow gets the condition in a form that
no statistics contradict (`without_statistics`). By then, probing has excluded what can be excluded.

pyarrow's `count_rows` also counts the rows of row groups whose minimum and maximum confirm its
filter, NaN among them. A condition on floats gets a part that no statistics confirm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
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
from parquet_bloomwriter.probing.files import Bindings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from parquet_bloomwriter.metadata import Leaf, Schema
    from parquet_bloomwriter.metadata.logical_types import ColumnType

    Leaves = tuple[Leaf, ...]
    import pyarrow.compute as pc


@dataclass(slots=True, eq=False)
class TableBindings(Bindings):
    """A predicate on a table, and what it means for the schema of each of its files.

    pyarrow decides which columns there are: no file need have them all.
    """

    schema: pa.Schema = None
    """Schema of the table."""

    partition_columns: frozenset[str] = frozenset()

    def expression_for(self, schema: Schema) -> Expression:
        """Return the predicate; conditions that must not prune are opaque."""
        return self._guard(self.expression, schema.leaves)

    def check_columns(self, paths: Sequence[str], tables: Sequence[tuple[str, ...]] = ()) -> None:
        """Leave it to pyarrow which columns there are."""

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
        """Whether files and the table have the same elements in a list, or entries in a map."""
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
        """Whether a dotted name is a column's own name, and also leads into a struct."""
        names = [field.name for field in self.schema if has_name(field)]
        return name in names and any(name.startswith(f"{other}.") for other in names)


def _opaque(expression: Expression) -> Opaque:
    return Opaque(to_text(expression))


def keeps_values(stored: ColumnType, type_: pa.DataType) -> bool:
    """Whether stored values, read as an Arrow type, equal the same literals as before.

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


def without_statistics(
    condition: pc.Expression, tree: Expression, schema: pa.Schema
) -> pc.Expression:
    """Return a condition that is true for the same rows, and that pyarrow does not misjudge.

    Args:
        condition: What rows must satisfy.
        tree: The same condition as a tree.
        schema: Of the table.
    """
    import pyarrow.compute as pc

    # Random numbers are from 0 to 1: never below 0, but pyarrow does not know that.
    number = pc.Expression._call("random", [], pc.RandomOptions(initializer=0))  # noqa: SLF001
    if _compares_floats(tree, schema):
        condition = condition & (number >= 0)
    if _is_misread(tree, schema, is_negated=False):
        condition = condition | (number < 0)
    return condition


def _compares_floats(node: Expression, schema: pa.Schema) -> bool:
    match node:
        case Not(operand):
            return _compares_floats(operand, schema)
        case And(operands) | Or(operands):
            return any(_compares_floats(one, schema) for one in operands)
        case Opaque():
            return any(_holds_floats(field.type) for field in schema)
        case Comparison(column) | IsIn(column):
            return _is_floating(schema, column)
    return False


def _is_misread(node: Expression, schema: pa.Schema, *, is_negated: bool) -> bool:
    match node:
        case Not(operand):
            return _is_misread(operand, schema, is_negated=not is_negated)
        case And(operands) | Or(operands):
            return any(_is_misread(one, schema, is_negated=is_negated) for one in operands)
        case Opaque():
            return any(_is_struct(field.type) or _holds_floats(field.type) for field in schema)
        case Comparison(column, operator):
            matters = is_negated or operator == "!="
        case IsIn(column, values):
            matters = is_negated or any(map(_is_special, values))
        case IsNull(column):
            matters = False
        case _:
            return False
    return _is_field(schema, column) or (matters and _is_floating(schema, column))


def _is_field(schema: pa.Schema, name: str) -> bool:
    """Whether a name leads into a struct."""
    try:
        return len(column_at(schema, name).path) > 1
    except InvalidArgument:
        return True


def _is_struct(type_: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_struct(type_))


def _is_special(value: object) -> bool:
    """Whether a literal is zero or NaN."""
    return isinstance(value, int | float | Decimal) and (not value or math.isnan(value))


def _is_floating(schema: pa.Schema, name: str) -> bool:
    try:
        return _holds_floats(column_at(schema, name).type)
    except InvalidArgument:
        return True


def _holds_floats(type_: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(type_):
        return _holds_floats(type_.value_type)
    if pa.types.is_struct(type_):
        return any(_holds_floats(type_.field(index).type) for index in range(type_.num_fields))
    return bool(pa.types.is_floating(type_))
