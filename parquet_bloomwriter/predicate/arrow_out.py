"""Convert predicates into pyarrow expressions that are true for the same rows.

The expression is made from the tree that row groups are pruned by, so a literal means the same to
both. Literals are compared exactly: each becomes a value of the column's own type, see
`literals.arrow`. pyarrow would cast literals or columns to a common type, which fails for some
values, rounds others, and differs between its reading of statistics and of rows.

The expression is true where the condition is: negations are pushed down to the comparisons, so that
neither a comparison with null, nor its negation, nor NOT IN of a null is ever true. Comparisons of
floats are those of IEEE 754, as everywhere in Arrow: NaN equals nothing, and is neither below nor
above anything.

pyarrow itself evaluates expressions of pyarrow with a part that is not understood here, and
conditions in its lists whose literal SQL would not compare with the column (bytes with a string,
durations).
"""

from __future__ import annotations

import functools
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.predicate.arrow_columns import Column, column_at
from parquet_bloomwriter.predicate.arrow_comparison import (
    check_number,
    compare,
    compare_as_pyarrow,
    compare_with_any,
    joined,
    not_evaluated,
)
from parquet_bloomwriter.predicate.arrow_in import nesting_of
from parquet_bloomwriter.predicate.dnf import conjunctions, of_predicate
from parquet_bloomwriter.predicate.expression import (
    And,
    Comparison,
    Constant,
    Expression,
    Holds,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Or,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa
    import pyarrow.compute as pc

    from parquet_bloomwriter.predicate.dnf import Predicate

    _TrueFor: TypeAlias = Callable[[Expression], pc.Expression]


_MANY_CONDITIONS = 100
"""Number of alternatives from which `column = value` become one IN."""


def to_arrow(filters: object, schema: pa.Schema) -> pc.Expression:
    """Return the pyarrow expression that is true for the rows that a predicate selects.

    Args:
        filters: What `parse` takes.
        schema: Schema of the data.

    Raises:
        ColumnNotFound: If the schema has no such column.
        InvalidArgument: If SQL does not compare a literal with its column, or not without a time
            zone; if the SQL text has parts that only an SQL engine can evaluate; if pyarrow cannot
            make an expression of the filters.
    """
    from parquet_bloomwriter.predicate import is_arrow, parse

    tree = parse(filters)
    if isinstance(filters, list | tuple):
        return _of_filters(filters, schema)
    if is_arrow(filters):
        return _of_arrow(filters, tree, schema)
    return _true_for(tree, _Columns(schema, is_sql=True), is_negated=False)


def _of_arrow(given: pc.Expression, tree: Expression, schema: pa.Schema) -> pc.Expression:
    """Return the expression of a tree, with exact literals; or `given` unchanged if impossible.

    Raises:
        InvalidArgument: If the expression is nested more deeply than pyarrow can evaluate.
    """
    check_number(nesting_of(given), "calls in each other")
    try:
        return _true_for(tree, _Columns(schema, is_sql=False), is_negated=False)
    except (InvalidArgument, RecursionError):
        return given


def _of_filters(filters: Sequence[Any], schema: pa.Schema) -> pc.Expression:
    """Make the disjunction of the conjunctions in pyarrow's lists."""
    every = conjunctions(filters)
    for number in (len(every), *map(len, every)):
        check_number(number)
    alternatives = [
        joined([_of_predicate(one, schema) for one in conjunction], by_and=True)
        for conjunction in every
    ]
    return joined(alternatives, by_and=False)


def _of_predicate(predicate: Predicate, schema: pa.Schema) -> pc.Expression:
    import pyarrow as pa

    path, operator_, value = predicate
    column = column_at(schema, path)
    columns = _Columns(schema, is_sql=False, only=column)
    try:
        return _true_for(of_predicate(predicate), columns, is_negated=False)
    except InvalidArgument as problem:
        condition = compare_as_pyarrow(column, operator_, value)
        with suppress(pa.ArrowException):
            nulls = [pa.nulls(1, field.type) for field in schema]  # a row, or kernels do not run
            try:
                pa.Table.from_arrays(nulls, schema=schema).filter(condition)
            except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
                raise problem from None
        return condition


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns of a tree, and the rules for comparing its literals."""

    schema: pa.Schema
    is_sql: bool
    """Whether `compare_with_any` follows SQL."""

    only: Column | None = None
    """The only column of the tree, if that is known; else None."""

    def find(self, name: str) -> Column:
        """Find a column by its dotted name.

        Raises:
            ColumnNotFound: If no column has the name, or several.
            InvalidArgument: If the column lies in a list or a map.
        """
        return self.only or column_at(self.schema, name)


def _true_for(node: Expression, columns: _Columns, *, is_negated: bool) -> pc.Expression:
    """Return an expression true where the node is true; or, negated, where it is false."""
    import pyarrow.compute as pc

    match node:
        case Constant(value):
            return pc.scalar(value is not is_negated)
        case Opaque():
            return _true_for_opaque(node, columns, is_negated=is_negated)
        case Holds(name):
            from parquet_bloomwriter.predicate.arrow_elements import holds

            return holds(columns.find(name), node, is_negated=is_negated)
        case Not(operand):
            return _true_for(operand, columns, is_negated=not is_negated)
        case And(operands) | Or(operands):
            is_merged = columns.is_sql and isinstance(node, Or)
            parts = _merged(operands) if is_merged else operands
            true_for = functools.partial(_true_for, columns=columns, is_negated=is_negated)
            return _joined(parts, true_for, by_and=isinstance(node, And) is not is_negated)
    return _true_for_column(node, columns, is_negated=is_negated)


def _true_for_opaque(node: Opaque, columns: _Columns, *, is_negated: bool) -> pc.Expression:
    if not node.is_sql:
        raise not_evaluated(node.text)
    from parquet_bloomwriter.predicate.sql_to_arrow import true_for_sql

    return true_for_sql(node.text, columns.schema, is_negated=is_negated)


def _true_for_column(
    node: Comparison | IsIn | IsNull, columns: _Columns, *, is_negated: bool
) -> pc.Expression:
    column = columns.find(node.column)
    if isinstance(node, IsNull):
        return column.field.is_valid() if is_negated else column.field.is_null()
    if isinstance(node, IsIn):
        is_sql = columns.is_sql
        return compare_with_any(column, node.values, is_negated=is_negated, is_sql=is_sql)
    return compare(column, node.operator, node.value, is_negated=is_negated)


def _joined(operands: Sequence[Expression], true_for: _TrueFor, *, by_and: bool) -> pc.Expression:
    check_number(len(operands))  # before any becomes an expression
    return joined([true_for(operand) for operand in operands], by_and=by_and)


def _merged(operands: Sequence[Expression]) -> Sequence[Expression]:
    """Return the operands, in which many alternatives `column = value` are merged into one IN."""
    if len(operands) <= _MANY_CONDITIONS:
        return operands
    values: dict[str, list[Value]] = {}
    others: list[Expression] = []
    for operand in operands:
        match operand:
            case Comparison(column, "=", value) if value is not None:
                values.setdefault(column, []).append(value)
            case IsIn(column, members):
                values.setdefault(column, []).extend(members)
            case _:
                others.append(operand)
    return [*others, *(IsIn(column, tuple(members)) for column, members in values.items())]
