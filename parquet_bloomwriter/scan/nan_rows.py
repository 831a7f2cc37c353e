"""Conditions on floating-point columns, protected from pyarrow's use of statistics.

A scan by pyarrow leaves out row groups whose minimum and maximum contradict its filter. Minimum and
maximum say nothing about NaN, and give zero either sign. But pyarrow takes a column chunk for a
constant if both are equal: in [0.1, NaN] it finds no row that is `!= 0.1`, and in [0.0] no row that
is in [0.0]. So its answers depend on the size of row groups. (pyarrow 26; file_parquet.cc of Arrow
C++, ColumnChunkStatisticsAsExpression.)

Where a condition may hold for NaN, or asks whether zero is a member, pyarrow gets the condition in
a form that no statistics contradict. By then, probing has excluded what can be excluded.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.predicate.arrow_columns import column_at
from parquet_bloomwriter.predicate.expression import (
    And,
    Comparison,
    Expression,
    IsIn,
    Not,
    Opaque,
    Or,
)

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc


def without_statistics(
    condition: pc.Expression, tree: Expression, schema: pa.Schema
) -> pc.Expression:
    """Return a condition that is true for the same rows, but from which pyarrow prunes nothing.

    Args:
        condition: What rows must satisfy.
        tree: The same condition as a tree.
        schema: Of the table.
    """
    import pyarrow.compute as pc

    if not _is_misread(tree, schema, is_negated=False):
        return condition
    # Random numbers are from 0 to 1: never below 0, but pyarrow does not know that.
    number = pc.Expression._call("random", [], pc.RandomOptions(initializer=0))  # noqa: SLF001
    return condition | (number < 0)


def _is_misread(node: Expression, schema: pa.Schema, *, is_negated: bool) -> bool:
    match node:
        case Not(operand):
            return _is_misread(operand, schema, is_negated=not is_negated)
        case And(operands) | Or(operands):
            return any(_is_misread(one, schema, is_negated=is_negated) for one in operands)
        case Comparison(column, operator):
            return (is_negated or operator == "!=") and _is_floating(schema, column)
        case IsIn(column, values):
            return (is_negated or any(map(_is_special, values))) and _is_floating(schema, column)
        case Opaque():
            return any(_holds_floats(field.type) for field in schema)
    return False


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
