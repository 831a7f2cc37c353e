"""Comparisons of one column with literals, as pyarrow expressions.

`compare` and `compare_with_any` follow SQL, with exact literals: each becomes a value of the
column's own type, or a bound between two of them (`literals.arrow`).

`compare_as_pyarrow` is for conditions in pyarrow's lists that SQL does not know: a string with
bytes, a boolean with a number, durations. pyarrow casts one side or the other, and raises an error
for what it cannot compare. Nothing is pruned for them.
"""

from __future__ import annotations

import functools
import operator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.predicate.expression import OPERATORS
from parquet_bloomwriter.predicate.literals.arrow import (
    ArrowFloor,
    Incomparable,
    compared_as,
    floor_finder,
    rounded,
)
from parquet_bloomwriter.predicate.to_sql import spell_value
from parquet_bloomwriter.text import clipped

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    import pyarrow.compute as pc

    from parquet_bloomwriter.predicate.arrow_columns import Column
    from parquet_bloomwriter.predicate.expression import Operator, Value

_MOST_CONDITIONS = 2_000
"""Most conditions joined by AND, or by OR, and most nested calls. pyarrow recurses over them: some
thousands more overflow its stack, and end the process."""

_BETWEEN: dict[Operator, Operator] = {"<": "<=", "<=": "<=", ">": ">", ">=": ">"}
"""Operator for the floor of a literal that is not a value of the column's type."""


class Operand(Protocol):
    """One side of a comparison with literals: a column, or an expression of columns."""

    @property
    def name(self) -> str:
        """Name of the operand, for messages."""
        ...

    @property
    def type(self) -> pa.DataType:
        """Arrow type of the values."""
        ...

    @property
    def field(self) -> pc.Expression:
        """Expression of pyarrow that yields the values."""
        ...


def compare(
    column: Operand, operator_: Operator, value: Value | None, *, is_negated: bool
) -> pc.Expression:
    """Return an expression true where `column operator value` is true; or, negated, false.

    Raises:
        InvalidArgument: If SQL does not compare the literal with the column.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if value is None:
        return pc.scalar(value=False)
    operand = _prepared(column, [value])
    found = operand.floors[0]
    if not found.is_exact and (found.floor is None or operator_ in ("=", "!=")):
        outcome = operator_ == "!=" or (operator_ in (">", ">=") and not found.is_nan)
        return pc.scalar(value=False) if outcome is is_negated else column.field.is_valid()
    effective = operator_ if found.is_exact else _BETWEEN[operator_]
    if found.first is None:
        condition = OPERATORS[effective](operand.field, pa.scalar(found.floor, operand.type))
    elif operator_ in ("=", "!="):
        condition = operand.between(found)
        is_negated = is_negated is not (operator_ == "!=")
    else:
        bound = found.first if operator_ in ("<", ">=") else found.floor
        condition = OPERATORS[operator_](operand.field, pa.scalar(bound, operand.type))
    return ~condition if is_negated else condition


def compare_with_any(
    column: Operand, values: Sequence[Value], *, is_negated: bool, is_sql: bool
) -> pc.Expression:
    """Return an expression true where `column IN values` is true; or, negated, false.

    Args:
        column: The column.
        values: Literals without nulls.
        is_negated: Whether to select the opposite.
        is_sql: Whether floats compare as by `=`. Otherwise as by pyarrow's `is_in`, which rounds
            them to the column's type, finds NaN, and tells the zeros apart.

    Raises:
        InvalidArgument: If SQL does not compare a literal with the column.
    """
    import pyarrow as pa

    if not is_sql:
        values = [rounded(value, column.type) for value in values]
    operand = _prepared(column, values)
    exact = [found for found in operand.floors if found.is_exact]
    members = [found.floor for found in exact if found.first is None]
    if is_sql and 0.0 in members and pa.types.is_floating(operand.type):
        members += [0.0, -0.0]  # is_in tells them apart
    condition = operand.field.isin(pa.array(members, operand.type))
    several = [found for found in exact if found.first is not None]
    check_number(len(several))
    ranges = map(operand.between, several)
    condition = functools.reduce(operator.or_, ranges, condition)
    return column.field.is_valid() & ~condition if is_negated else condition


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """An operand, and literals of the type with which pyarrow compares it."""

    field: pc.Expression
    type: pa.DataType
    """Arrow type of the literals."""

    floors: list[ArrowFloor]
    """Floor of each literal: the literal itself, or the value of the type below it."""

    def between(self, found: ArrowFloor) -> pc.Expression:
        """Return an expression true of all values that equal a literal."""
        import pyarrow as pa

        first, last = pa.scalar(found.first, self.type), pa.scalar(found.floor, self.type)
        return (self.field >= first) & (self.field <= last)


def _prepared(column: Operand, values: Sequence[Value]) -> _Prepared:
    import pyarrow as pa

    type_, field = column.type, column.field
    if pa.types.is_decimal(type_) and any(isinstance(value, float) for value in values):
        values = [_as_float(value) for value in values]  # as SQL engines compare them
    target = compared_as(type_)
    if target != column.type:
        field = field.cast(target)
    is_dictionary = pa.types.is_dictionary(target)
    found = _floors(column, values, type_)
    return _Prepared(field=field, type=target.value_type if is_dictionary else target, floors=found)


def _as_float(value: Value) -> Value:
    """Return a number as DOUBLE, unless it is beyond all DOUBLEs; return other values unchanged."""
    with suppress(OverflowError):
        if isinstance(value, int | Decimal) and not isinstance(value, bool):
            return float(value)
    return value


def _floors(column: Operand, values: Sequence[Value], type_: pa.DataType) -> list[ArrowFloor]:
    find = floor_finder(type_)
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


def joined(conditions: Sequence[pc.Expression], *, by_and: bool) -> pc.Expression:
    """Join conditions by AND, or by OR; constants decide the result, or are left out.

    Without this, pyarrow's `count_rows` counts all rows if it finds that a filter is false.

    Raises:
        InvalidArgument: If there are more than pyarrow can evaluate.
    """
    import pyarrow.compute as pc

    check_number(len(conditions))
    decisive, neutral = pc.scalar(not by_and), pc.scalar(by_and)
    if any(condition.equals(decisive) for condition in conditions):
        return decisive
    open_ = [condition for condition in conditions if not condition.equals(neutral)]
    join = operator.and_ if by_and else operator.or_
    return functools.reduce(join, open_) if open_ else neutral


def check_number(number: int, what: str = "conditions") -> None:
    """Refuse so many conditions that pyarrow's stack would overflow.

    Args:
        number: Of what is joined, or lies in each other.
        what: Its name, for the message.

    Raises:
        InvalidArgument: If there are too many.
    """
    if number > _MOST_CONDITIONS:
        raise InvalidArgument(
            f"{number:,} {what} are more than pyarrow can evaluate",
            remedy="Use IN or NOT IN for many values of one column.",
        )


def compare_as_pyarrow(column: Column, operator_: str, value: object) -> pc.Expression:
    """Return pyarrow's expression for one condition of its lists.

    Raises:
        InvalidArgument: If pyarrow has no type for the literal.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if operator_ in {"in", "not in"}:
            return _membership(column, _array(value), is_negated=operator_ == "not in")
        return pq.filters_to_expression([[(column.path, operator_, _exact(value))]])
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InvalidArgument(
            f"pyarrow cannot make an expression of these filters: {error}",
            remedy="Give values that pyarrow has types for.",
        ) from error


def _membership(column: Column, values: pa.Array, *, is_negated: bool) -> pc.Expression:
    """Return a comparison with each value: `is_in` misreads statistics where types differ."""
    if values.type == column.type or not len(values):
        condition = column.field.isin(values)
        return ~condition if is_negated else condition
    is_known = joined([column.field == value for value in values.drop_null()], by_and=False)
    has_null = values.null_count > 0
    if is_negated:
        differs = ~is_known & column.field.is_valid()
        return differs if has_null else differs | column.field.is_null()
    return is_known | column.field.is_null() if has_null else is_known


def _array(values: Any) -> pa.Array:  # noqa: ANN401  a collection of any kind
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        return values.combine_chunks()
    if isinstance(values, pa.Array):
        return values
    return pa.array([_exact(value) for value in values])


def _exact(value: object) -> object:
    """Return a duration of pandas with its nanoseconds, which pyarrow would cut off."""
    import pyarrow as pa

    if isinstance(value, timedelta) and hasattr(value, "nanoseconds") and hasattr(value, "value"):
        return pa.scalar(value.as_unit("ns").value, pa.duration("ns"))  # type: ignore[attr-defined]
    return value


def not_evaluated(text: str, why: str = "") -> InvalidArgument:
    """Return the error for a part of a condition that cannot become a pyarrow expression.

    Args:
        text: The part.
        why: The reason, a clause; "" if none is known.
    """
    reason = f": {why}" if why else ""
    quotes = "Write strings in single quotes; for all else, give" if '"' in text else "Give"
    return InvalidArgument(
        f"this part of the condition cannot be evaluated: {clipped(text)}{reason}",
        remedy=f"{quotes} a pyarrow expression.",
    )
