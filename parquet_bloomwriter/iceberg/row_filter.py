"""Conversion of predicate trees into pyiceberg's expressions for planning a scan, and back.

An expression is true for every row for which the tree is true, and perhaps for further rows:
conditions with the same meaning in both are converted, all other conditions become `AlwaysTrue`.
Converted are comparisons with whole numbers, text, dates and times, of columns of just these types,
IN, and IS NULL. Floats and decimals, which pyiceberg rounds, and negations, which nulls make
difficult, are not converted. In the other direction, conditions that are not converted become
`Opaque`.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pyiceberg import expressions as pe
from pyiceberg.expressions.literals import DateLiteral, LongLiteral, StringLiteral, TimestampLiteral
from pyiceberg.types import (
    DateType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)

from parquet_bloomwriter.predicate.expression import (
    And,
    Comparison,
    Constant,
    Expression,
    IsIn,
    IsNull,
    Opaque,
    Or,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyiceberg.expressions.literals import Literal
    from pyiceberg.types import IcebergType

    from parquet_bloomwriter.predicate.expression import Operator, Value

_OPERATORS: Mapping[Operator, type[pe.LiteralPredicate]] = {
    "=": pe.EqualTo,
    "<": pe.LessThan,
    "<=": pe.LessThanOrEqual,
    ">": pe.GreaterThan,
    ">=": pe.GreaterThanOrEqual,
}
_MOST_VALUES = 200
"""Maximum number of values in an IN that pyiceberg evaluates; for more values, it keeps all
files."""

_SYMBOLS: Mapping[type, Operator] = {kind: symbol for symbol, kind in _OPERATORS.items()}

_ANY = pe.AlwaysTrue()
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  of no zone


def to_iceberg(tree: Expression, types: Mapping[str, IcebergType]) -> pe.BooleanExpression:  # noqa: PLR0911  a kind each
    """Return an expression that is true at least where a tree is.

    Args:
        tree: A predicate.
        types: Types of the columns that the expression may name, by dotted name.
    """
    match tree:
        case And(operands):
            return _all([to_iceberg(one, types) for one in operands])
        case Or(operands):
            return _any([to_iceberg(one, types) for one in operands])
        case Constant(value):
            return _ANY if value else pe.AlwaysFalse()
        case Comparison(column, operator, value) if operator in _OPERATORS:
            if _is_alike(value, types.get(column)):
                return _OPERATORS[operator](pe.Reference(column), value)
        case IsIn(column, values) if values and len(values) <= _MOST_VALUES:
            if all(_is_alike(value, types.get(column)) for value in values):
                several: set[Any] = set(values)
                return pe.In(term=pe.Reference(column), values=several)
        case IsNull(column) if column in types and "." not in column:
            # To pyiceberg required fields are never null, not even those of a struct that is null.
            return pe.IsNull(term=pe.Reference(column))
    return _ANY


def from_iceberg(expression: pe.BooleanExpression, types: Mapping[str, IcebergType]) -> Expression:
    """Return a tree that is true at least where an expression is.

    Args:
        expression: Expression of a scan, not bound to a schema.
        types: Types of the columns that the tree may name, by dotted name.
    """
    match expression:
        case pe.And(left=left, right=right):
            return And((from_iceberg(left, types), from_iceberg(right, types)))
        case pe.Or(left=left, right=right):
            return Or((from_iceberg(left, types), from_iceberg(right, types)))
        case pe.AlwaysTrue():
            return Constant(value=True)
        case pe.LiteralPredicate(term=pe.Reference(name=column)):
            operator = _SYMBOLS.get(type(expression))
            value = _python_value(expression.literal, types.get(column))
            if operator is not None and value is not None:
                return Comparison(column, operator, value)
        case pe.In(term=pe.Reference(name=column)):
            values = [_python_value(one, types.get(column)) for one in expression.literals]
            if None not in values:
                return IsIn(column, tuple(one for one in values if one is not None))
    return Opaque(str(expression))


def _python_value(  # noqa: PLR0911  a type each
    literal: Literal[Any], type_: IcebergType | None
) -> Value | None:
    """Return a literal as Python's value; None if pyiceberg would need a cast to compare it."""
    match type_, literal:
        case ((IntegerType() | LongType()), LongLiteral()):
            return literal.value
        case StringType(), StringLiteral():
            return literal.value
    try:
        match type_, literal:
            case DateType(), DateLiteral():
                return _EPOCH.date() + timedelta(days=literal.value)
            case TimestampType(), TimestampLiteral():
                return _EPOCH + timedelta(microseconds=literal.value)
            case TimestamptzType(), TimestampLiteral():
                return _EPOCH.replace(tzinfo=UTC) + timedelta(microseconds=literal.value)
    except OverflowError:
        return None  # Python's dates are of the years 1 to 9999.
    return None


def _all(parts: list[pe.BooleanExpression]) -> pe.BooleanExpression:
    found: pe.BooleanExpression = _ANY
    for one in parts:
        found = pe.And(found, one)
    return found


def _any(parts: list[pe.BooleanExpression]) -> pe.BooleanExpression:
    found: pe.BooleanExpression = pe.AlwaysFalse()
    for one in parts:
        found = pe.Or(found, one)
    return found


def _is_alike(value: Any, type_: IcebergType | None) -> bool:  # noqa: ANN401, PLR0911  a type each
    """Return whether pyiceberg understands a Python literal the same way, without rounding."""
    kind = type(value)  # no subclasses: bool is an int, and pandas has finer datetimes
    match type_:
        case IntegerType():
            return kind is int and -(2**31) <= value < 2**31
        case LongType():
            return kind is int and -(2**63) <= value < 2**63
        case StringType():
            return kind is str
        case DateType():
            return kind is date
        case TimestampType():
            return kind is datetime and value.tzinfo is None
        case TimestamptzType():
            return kind is datetime and value.tzinfo is not None
    return False
