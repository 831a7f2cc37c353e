"""Parse Polars expressions into trees that are true at least for the same rows.

Polars has no public way to walk an expression: its serialized forms change between versions. It
can take the inputs of an expression (`meta.pop`), build expressions, and compare two of them
(`meta.eq`). So an expression is understood by making it again: if the inputs are a and b, and
`a == b` is the expression itself, then it is that comparison, whatever Polars calls it inside. An
expression that no attempt makes again becomes `Opaque`, and nothing is pruned for it. The same
happens if a version of Polars gives the inputs in another order, renames a function, or raises.
Literals are evaluated by Polars, and come as Arrow arrays of one type.

The optimizer hands over comparisons in which both sides are of one type: it casts the literal, or
else the column. A literal is used if it is of the column's own type in the table, so that Polars
and the file compare the same values, or if the column is cast without loss:

    integers    to wider ones; to floats that hold all of them; to DOUBLE, if the literal is below
                2**53 and above -2**53, where no two integers become the same DOUBLE
    FLOAT       to DOUBLE
    categories  text stands for them in `==`, `!=` and `is_in`; their order may be another

In Polars NaN equals NaN and is greater than any number, -0.0 equals 0.0, `is_in` is null for null
unless nulls are equal, and `&` and `|` are Kleene's. `bind` agrees as far as it concludes anything:
it takes NaN to satisfy all that has no upper limit, and looks up both zeros. NaN as a literal, and
all that is not the same under a negation (`eq_missing`, nulls in a list), is left alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from parquet_bloomwriter.predicate.dnf import membership
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
    Operator,
    Or,
    UnknownKind,
    is_deep,
)
from parquet_bloomwriter.predicate.literals.numbers import EXACT_IN_DOUBLE
from parquet_bloomwriter.predicate.literals.python_values import plain_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from parquet_bloomwriter.predicate.expression import Value

    Build = Callable[[pl.Expr, pl.Expr], pl.Expr]

_COMPARISONS: tuple[tuple[Operator, Operator, Build], ...] = (
    ("=", "=", lambda left, right: left == right),
    ("!=", "!=", lambda left, right: left != right),
    ("<", ">", lambda left, right: left < right),
    ("<=", ">=", lambda left, right: left <= right),
    (">", "<", lambda left, right: left > right),
    (">=", "<=", lambda left, right: left >= right),
)
"""Operator with the column on the left, with it on the right, and the function that builds it."""

_CONNECTIVES: tuple[tuple[type[And | Or], Build], ...] = (
    (And, lambda left, right: left & right),
    (Or, lambda left, right: left | right),
)

_SIDES = 2
"""Number of inputs of comparisons and connectives."""

_Closed = Literal["both", "left", "right", "none"]
_BETWEEN: dict[_Closed, tuple[Operator, Operator]] = {
    "both": (">=", "<="),
    "left": (">=", "<"),
    "right": (">", "<="),
    "none": (">", "<"),
}
"""Comparisons with both ends of a range, by the ends that belong to it."""

_CATEGORIES = (pl.Categorical, pl.Enum)
_FLOATS = (pl.Float32, pl.Float64)
_SAME = (pl.String, pl.Binary, pl.Boolean, pl.Date, pl.Time)
"""Types without parameters; a literal must have the type of the column."""

_EXACT_BITS = {pl.Float32: 24, pl.Float64: 53}
"""Bits of the integers that a floating-point type holds without loss."""


_CASTS = ({"strict": False}, {"strict": True}, {"strict": False, "wrap_numerical": True})
"""Options of casts, which differ in the treatment of values that do not fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """A column, or a field of a struct, and the type that it is cast to."""

    name: str
    """Dotted path of the column."""

    type: pl.DataType
    cast: pl.DataType | None = None


def from_polars(expression: pl.Expr, schema: Mapping[str, pl.DataType]) -> Expression:
    """Make a tree of a predicate; `Opaque` where it cannot be understood.

    Args:
        expression: What Polars hands to a source: a predicate whose types agree.
        schema: Of the table that is scanned.
    """
    try:
        tree = _condition(expression, schema, is_negated=False)
        return Opaque(str(expression)) if is_deep(tree) else tree
    except (RecursionError, *_SURPRISES):
        return Opaque(str(expression))


_SURPRISES = (
    *(pl.exceptions.PolarsError, pl.exceptions.PanicException, Warning),
    *(AttributeError, ArithmeticError, IndexError, KeyError, TypeError, ValueError),
)
"""Errors and warnings that are raised where Polars is not as this module expects."""


def _condition(node: pl.Expr, schema: Mapping[str, pl.DataType], *, is_negated: bool) -> Expression:
    try:
        found = _of_node(node, schema, is_negated=is_negated)
    except (UnknownKind, *_SURPRISES):
        found = None
    return Opaque(str(node)) if found is None else found


def _of_node(
    node: pl.Expr, schema: Mapping[str, pl.DataType], *, is_negated: bool
) -> Expression | None:
    """Return the tree of an expression; None if it is not understood.

    Args:
        node: The expression.
        schema: Of the table.
        is_negated: Whether the tree stands below a NOT, where it must be exact.
    """
    column = _column(node, schema)
    if column is not None:
        is_boolean = column.type == pl.Boolean
        return Comparison(column.name, "=", value=True) if is_boolean else None
    if node.meta.is_literal():
        value = pl.select(node).item()
        return Constant(value) if isinstance(value, bool) else None
    inputs = node.meta.pop()
    match len(inputs):
        case 1:
            return _of_one(node, inputs[0], schema)
        case 2:
            return _of_two(node, inputs, schema, is_negated=is_negated)
        case 3:
            return _between(node, inputs, schema)
    return None


def _of_one(
    node: pl.Expr, operand: pl.Expr, schema: Mapping[str, pl.DataType]
) -> Expression | None:
    if (~operand).meta.eq(node):
        return Not(_condition(operand, schema, is_negated=True))
    column = _column(operand, schema)
    if column is None:
        return None
    if operand.is_null().meta.eq(node):
        return IsNull(column.name)
    return Not(IsNull(column.name)) if operand.is_not_null().meta.eq(node) else None


def _of_two(
    node: pl.Expr, inputs: list[pl.Expr], schema: Mapping[str, pl.DataType], *, is_negated: bool
) -> Expression | None:
    for kind, build in _CONNECTIVES:
        if _in_order(node, inputs, build) is not None:
            return kind(
                tuple(
                    _condition(one, schema, is_negated=is_negated) for one in _operands(node, build)
                )
            )
    for operator, mirrored, build in _COMPARISONS:
        sides = _in_order(node, inputs, build)
        if sides is not None:
            left, right = sides
            found = _compare(left, operator, right, schema)
            return found or _compare(right, mirrored, left, schema)
    for build in _LIST_CONTAINS:
        sides = _in_order(node, inputs, build)
        if sides is not None:
            return _holding(*sides, schema)
    return None if is_negated and _may_find_nulls(node, inputs) else _test(node, inputs, schema)


def _in_order(node: pl.Expr, inputs: list[pl.Expr], build: Build) -> tuple[pl.Expr, pl.Expr] | None:
    """Return both inputs in the order that makes the expression again; None if neither does.

    Polars 2.1 gives the last input first.
    """
    first, second = inputs
    for left, right in ((second, first), (first, second)):
        if build(left, right).meta.eq(node):
            return left, right
    return None


def _operands(node: pl.Expr, build: Build) -> Iterator[pl.Expr]:
    """Yield the operands of a run of the same connective, in order, without recursion."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        inputs = [] if one.meta.is_literal() else one.meta.pop()
        sides = _in_order(one, inputs, build) if len(inputs) == _SIDES else None
        if sides is None:
            yield one
        else:
            waiting.extend(reversed(sides))


def _column(node: pl.Expr, schema: Mapping[str, pl.DataType]) -> _Column | None:
    """Return the column of an expression that is a column with an unambiguous name, else None."""
    name = node.meta.output_name(raise_if_undetermined=False)
    if name is None or "." in name or node.meta.is_literal():
        return None
    if pl.col(name).meta.eq(node):
        return _Column(name=name, type=schema[name]) if name in schema else None
    return _field(node, name, schema)


def _field(node: pl.Expr, name: str, schema: Mapping[str, pl.DataType]) -> _Column | None:
    """Return the field of a struct, if an expression is one, else None."""
    inputs = node.meta.pop()
    if len(inputs) != 1 or not inputs[0].struct.field(name).meta.eq(node):
        return None
    parent = _column(inputs[0], schema)
    if parent is None or not isinstance(parent.type, pl.Struct):
        return None
    types = [field.dtype for field in parent.type.fields if field.name == name]
    path = f"{parent.name}.{name}"
    if len(types) != 1 or not isinstance(types[0], pl.DataType) or path in schema:
        return None
    return _Column(name=path, type=types[0])


def _compared(
    node: pl.Expr, target: pl.DataType, schema: Mapping[str, pl.DataType]
) -> _Column | None:
    """Return the column of a comparison, which may be cast to the literal's type, or None."""
    column = _column(node, schema)
    if column is not None or node.meta.is_literal():
        return column
    inputs = node.meta.pop()
    if len(inputs) != 1:
        return None
    for options in _CASTS:
        if inputs[0].cast(target, **options).meta.eq(node):
            inner = _column(inputs[0], schema)
            return inner and _Column(name=inner.name, type=inner.type, cast=target)
    return None


def _compare(
    node: pl.Expr, operator: Operator, literal: pl.Expr, schema: Mapping[str, pl.DataType]
) -> Expression | None:
    """Return a comparison of a column with a literal; None if it is another, or may not be used."""
    if not literal.meta.is_literal(allow_aliasing=True):
        return None
    values = pl.select(literal).to_series()
    column = _compared(node, values.dtype, schema)
    if column is None or len(values) != 1:
        return None
    plain = _plain(column, values)
    is_ordered = operator not in {"=", "!="}
    if plain is None or plain[0] is None or (is_ordered and isinstance(column.type, _CATEGORIES)):
        return None
    return Comparison(column.name, operator, plain[0])


def _between(
    node: pl.Expr, inputs: list[pl.Expr], schema: Mapping[str, pl.DataType]
) -> Expression | None:
    for one, low, high in (reversed(inputs), inputs):
        for closed, (at_least, at_most) in _BETWEEN.items():
            if one.is_between(low, high, closed=closed).meta.eq(node):
                lower = _compare(one, at_least, low, schema)
                upper = _compare(one, at_most, high, schema)
                return And((lower, upper)) if lower and upper else None
    return None


_LIST_CONTAINS: tuple[Build, ...] = (
    lambda left, right: left.list.contains(right, nulls_equal=True),
    lambda left, right: left.list.contains(right, nulls_equal=False),
)


def _holding(
    node: pl.Expr, literal: pl.Expr, schema: Mapping[str, pl.DataType]
) -> Expression | None:
    """Return a test of the elements of a list that are all of the literal's type, or None."""
    column = _column(node, schema)
    if column is None or not isinstance(column.type, pl.List | pl.Array):
        return None
    element = column.type.inner
    if not isinstance(element, pl.DataType) or not literal.meta.is_literal(allow_aliasing=True):
        return None
    values = pl.select(literal).to_series()
    plain = _plain(_Column(name=column.name, type=element), values) if len(values) == 1 else None
    if plain is None or plain[0] is None:  # null equals null here
        return None
    return Holds(column.name, "element", plain[0])


def _equal_missing(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return left.eq_missing(right)


def _is_in(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return left.is_in(right)


def _is_in_with_nulls(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    return left.is_in(right, nulls_equal=True)


def _may_find_nulls(node: pl.Expr, inputs: list[pl.Expr]) -> bool:
    """Return whether the negation of a test is true of other rows than the negation of its tree."""
    sides = _in_order(node, inputs, _is_in)
    return sides is None or not _is_list(sides[1]) or _members(sides[1]).null_count() > 0


def _test(
    node: pl.Expr, inputs: list[pl.Expr], schema: Mapping[str, pl.DataType]
) -> Expression | None:
    """Return a test of equality with nulls, or of membership, or None."""
    sides = _in_order(node, inputs, _equal_missing)
    if sides is not None:
        left, right = sides
        found = _compare(left, "=", right, schema)
        return found or _compare(right, "=", left, schema)
    for build in (_is_in, _is_in_with_nulls):
        sides = _in_order(node, inputs, build)
        if sides is not None:
            finds_nulls = build is _is_in_with_nulls
            return _membership(*sides, schema, finds_nulls=finds_nulls)
    return None


def _membership(
    node: pl.Expr, members: pl.Expr, schema: Mapping[str, pl.DataType], *, finds_nulls: bool
) -> Expression | None:
    if not _is_list(members):
        return None
    values = _members(members)
    column = _compared(node, values.dtype, schema)
    plain = None if column is None else _plain(column, values)
    if column is None or plain is None:
        return None
    if finds_nulls:
        return membership(column.name, plain)
    return IsIn(column.name, tuple(value for value in plain if value is not None))


def _is_list(node: pl.Expr) -> bool:
    return node.meta.is_literal(allow_aliasing=True)


def _members(node: pl.Expr) -> pl.Series:
    """Return the values of a literal list: a value of a list type, or a column of values.

    Raises:
        ValueError: If it is neither.
    """
    values = pl.select(node).to_series()
    if not isinstance(values.dtype, pl.List | pl.Array):
        return values
    if len(values) != 1 or values[0] is None:
        raise ValueError("the list is no single value")
    members: pl.Series = values[0]
    return members


def _plain(column: _Column, values: pl.Series) -> list[Value | None] | None:
    """Return literals as plain values; None if they must not be compared with stored values."""
    if not _is_comparable(column, values):
        return None
    if isinstance(values.dtype, _CATEGORIES):
        values = values.cast(pl.String)
    plain = plain_values(values.to_arrow())
    return None if any(map(_is_nan, plain)) else plain


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _is_comparable(column: _Column, values: pl.Series) -> bool:
    """Return whether stored values equal the literals exactly where Polars finds them equal."""
    type_, literal = column.type, values.dtype
    if column.cast is not None:
        return literal == column.cast and _keeps_values(type_, values)
    if isinstance(type_, _CATEGORIES):
        return isinstance(literal, (*_CATEGORIES, pl.String))
    if isinstance(type_, pl.Datetime):
        return (
            isinstance(literal, pl.Datetime)
            and literal.time_unit == type_.time_unit
            and (literal.time_zone is None) is (type_.time_zone is None)
        )
    if isinstance(type_, pl.Decimal):
        return isinstance(literal, pl.Decimal) and _fit_scale(values, type_.scale)
    is_known = type_.is_integer() or isinstance(type_, (*_FLOATS, *_SAME))
    return is_known and literal == type_


def _fit_scale(values: pl.Series, scale: int) -> bool:
    """Return whether decimals have at most `scale` digits after the point."""
    exponents = [value.normalize().as_tuple().exponent for value in values.drop_nulls().to_list()]
    return all(isinstance(exponent, int) and -exponent <= scale for exponent in exponents)


def _keeps_values(type_: pl.DataType, values: pl.Series) -> bool:
    """Return whether all values of a type stay distinct when cast to the literals' type."""
    target = values.dtype
    if isinstance(type_, pl.Float32) and isinstance(target, pl.Float64):
        return True
    if not type_.is_integer():
        return False
    if target.is_integer():
        return _holds(target, type_)
    if not isinstance(target, _FLOATS):
        return False
    if _bits(type_) <= _EXACT_BITS[type(target)]:
        return True
    limits = values.drop_nulls().abs().max()
    return isinstance(target, pl.Float64) and _is_below(limits, EXACT_IN_DOUBLE)


def _is_below(number: Any, limit: int) -> bool:  # noqa: ANN401  what Polars makes of a maximum
    return number is None or bool(number < limit)


def _holds(target: pl.DataType, type_: pl.DataType) -> bool:
    """Return whether all integers of a type are integers of another."""
    if target.is_signed_integer():
        spare = 0 if type_.is_signed_integer() else 1
        return _bits(target) >= _bits(type_) + spare
    return type_.is_unsigned_integer() and _bits(target) >= _bits(type_)


def _bits(type_: pl.DataType) -> int:
    return int(str(type_).removeprefix("U").removeprefix("Int"))
