"""Predicates -> pyarrow expressions that are true for the same rows.

pyarrow's own forms go to pyarrow as they are. SQL, and trees, become an expression that is true
where the condition is: negations are pushed down to the comparisons, so that neither a comparison
with null, nor its negation, nor NOT IN of a null is ever true. Comparisons of floats are those of
IEEE 754, as everywhere in Arrow: NaN equals nothing, and is neither below nor above anything.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.predicate.arrow_columns import Column, column_at
from parquet_bloomwriter.predicate.arrow_literals import Incomparable, Place, compared_as, placer
from parquet_bloomwriter.predicate.expression import (
    And,
    Comparison,
    Constant,
    Expression,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Operator,
    Or,
    Value,
)
from parquet_bloomwriter.predicate.spelling import spell_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa
    import pyarrow.compute as pc

    _TrueFor: TypeAlias = Callable[[Expression], pc.Expression]

_MANY_CONDITIONS = 100
_MOST_CONDITIONS = 2_000
"""Joined by AND, or by OR. pyarrow recurses over them: some thousands more end its stack, and with
it the process."""

_COMPARE: dict[Operator, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_BETWEEN: dict[Operator, Operator] = {"<": "<=", ">=": ">"}
"""What becomes of an operator for the floor of a literal that is no value of the type itself."""


def to_arrow(filters: object, schema: pa.Schema) -> pc.Expression:
    """Return the pyarrow expression that is true for the rows a predicate asks for.

    Args:
        filters: What `parse` takes. Expressions of pyarrow are returned as they are.
        schema: Of the data that the expression is for.

    Raises:
        ColumnNotFound: If the schema has no such column.
        InvalidArgument: If SQL does not compare a literal with its column, or not without a time
            zone; if the SQL text has parts that only an SQL engine can evaluate; if pyarrow cannot
            make an expression of the filters.
    """
    from parquet_bloomwriter.predicate.parsing import is_arrow, parse

    if is_arrow(filters):
        return filters
    tree = parse(filters)
    if isinstance(filters, list | tuple):
        return _of_filters(filters, schema)
    return _true_for(tree, schema, is_negated=False)


def _of_filters(filters: Sequence[Any], schema: pa.Schema) -> pc.Expression:
    """Leave the filters to pyarrow, but for the names of their columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from parquet_bloomwriter.predicate.dnf import conjunctions

    named = [
        [(column_at(schema, path).path, operator_, value) for path, operator_, value in one]
        for one in conjunctions(filters)
    ]
    try:
        return pq.filters_to_expression(named)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidArgument(
            f"pyarrow cannot make an expression of these filters: {error}",
            remedy="Give values that pyarrow has types for.",
        ) from error


def _true_for(node: Expression, schema: pa.Schema, *, is_negated: bool) -> pc.Expression:
    """Return what is true where the node is; or, negated, where it is false."""
    import pyarrow.compute as pc

    match node:
        case Constant(value):
            return pc.scalar(value is not is_negated)
        case Opaque(text):
            raise InvalidArgument(
                f"this part of the condition cannot be evaluated: {text}",
                remedy="Write strings in single quotes; for all else, give a pyarrow expression.",
            )
        case Not(operand):
            return _true_for(operand, schema, is_negated=not is_negated)
        case And(operands) | Or(operands):
            join = operator.and_ if isinstance(node, And) is not is_negated else operator.or_
            parts = operands if isinstance(node, And) else _merged(operands)
            true_for = functools.partial(_true_for, schema=schema, is_negated=is_negated)
            return _joined(join, parts, true_for)
    column = column_at(schema, node.column)
    if isinstance(node, IsNull):
        return column.field.is_valid() if is_negated else column.field.is_null()
    if isinstance(node, IsIn):
        return _membership(column, node.values, is_negated=is_negated)
    return _comparison(column, node, is_negated=is_negated)


def _joined(
    join: Callable[[Any, Any], Any], operands: Sequence[Expression], true_for: _TrueFor
) -> pc.Expression:
    if len(operands) > _MOST_CONDITIONS:
        raise InvalidArgument(
            f"{len(operands):,} conditions are more than pyarrow can evaluate",
            remedy="Use IN or NOT IN for many values of one column.",
        )
    return functools.reduce(join, [true_for(one) for one in operands])


def _merged(operands: Sequence[Expression]) -> Sequence[Expression]:
    """Make one IN of many alternatives `column = value`, which programs like to write."""
    if len(operands) <= _MANY_CONDITIONS:
        return operands
    values: dict[str, list[Value]] = {}
    others: list[Expression] = []
    for one in operands:
        match one:
            case Comparison(column, "=", value) if value is not None:
                values.setdefault(column, []).append(value)
            case IsIn(column, members):
                values.setdefault(column, []).extend(members)
            case _:
                others.append(one)
    return [*others, *(IsIn(column, tuple(members)) for column, members in values.items())]


def _comparison(column: Column, node: Comparison, *, is_negated: bool) -> pc.Expression:
    import pyarrow as pa
    import pyarrow.compute as pc

    if node.value is None:
        return pc.scalar(value=False)
    operand = _operand(column, [node.value])
    found = operand.places[0]
    compare = _COMPARE[
        node.operator if found.is_exact else _BETWEEN.get(node.operator, node.operator)
    ]
    if not found.is_exact and (found.floor is None or node.operator in ("=", "!=")):
        outcome = node.operator in ("!=", ">", ">=")
        return pc.scalar(value=False) if outcome is is_negated else column.field.is_valid()
    condition = compare(operand.field, pa.scalar(found.floor, operand.type))
    return ~condition if is_negated else condition


def _membership(column: Column, values: Sequence[Value], *, is_negated: bool) -> pc.Expression:
    import pyarrow as pa

    operand = _operand(column, values)
    members = [found.floor for found in operand.places if found.is_exact]
    if 0.0 in members and pa.types.is_floating(operand.type):
        members += [0.0, -0.0]  # is_in tells them apart
    condition = operand.field.isin(pa.array(members, operand.type))
    return column.field.is_valid() & ~condition if is_negated else condition


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operand:
    """A column, ready to be compared with literals."""

    field: pc.Expression
    type: pa.DataType
    """Of the literals."""

    places: list[Place]
    """Of the literals, among the column's values."""


def _operand(column: Column, values: Sequence[Value]) -> _Operand:
    import pyarrow as pa

    type_, field = column.type, column.field
    if pa.types.is_decimal(type_) and any(isinstance(value, float) for value in values):
        type_ = pa.float64()  # as SQL engines compare them
    target = compared_as(type_)
    if target != column.type:
        field = field.cast(target)
    is_dictionary = pa.types.is_dictionary(target)
    found = _places(column, values, type_)
    return _Operand(field=field, type=target.value_type if is_dictionary else target, places=found)


def _places(column: Column, values: Sequence[Value], type_: pa.DataType) -> list[Place]:
    find = placer(type_)
    found = []
    for value in values:
        try:
            found.append(find(value, type_))
        except Incomparable as error:
            raise InvalidArgument(
                f"{spell_value(value)} cannot be compared with values of type {column.type}",
                column=column.name,
                remedy=str(error),
            ) from None
    return found
