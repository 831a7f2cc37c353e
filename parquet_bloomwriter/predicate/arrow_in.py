"""pyarrow expressions -> trees.

What is not understood is `Opaque`, and nothing is pruned for it: positions instead of names, casts,
functions, literals of unknown kinds, and any surprise in the form that expressions are pickled in.

Nulls are those of pyarrow: `is_in` is never null. That makes no difference to the rows asked for,
except under a NOT: there the tree says what becomes of nulls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.predicate.arrow_tree import Call, Constant, Field, Node, take_apart
from parquet_bloomwriter.predicate.dnf import membership, non_membership
from parquet_bloomwriter.predicate.expression import (
    And,
    Comparison,
    Expression,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Operator,
    Or,
)
from parquet_bloomwriter.predicate.expression import Constant as Always
from parquet_bloomwriter.predicate.literals.plain import UnknownKind, plain_value, plain_values

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMPARISONS: dict[str, tuple[Operator, Operator]] = {
    "equal": ("=", "="),
    "not_equal": ("!=", "!="),
    "less": ("<", ">"),
    "less_equal": ("<=", ">="),
    "greater": (">", "<"),
    "greater_equal": (">=", "<="),
}
"""With the column on the left, and on the right."""

_CONNECTIVES: dict[str, type[And | Or]] = {
    "and": And,
    "and_": And,
    "and_kleene": And,
    "or": Or,
    "or_": Or,
    "or_kleene": Or,
}
"""Those that are not Kleene's are true for fewer rows, never for more."""

_MATCH, _SKIP = 0, 1
"""SetLookupOptions::NullMatchingBehavior of Arrow C++."""


def from_arrow(expression: object) -> Expression:
    """Make a tree of a pyarrow expression; there is none that is an error."""
    import pyarrow as pa

    try:
        return _condition(take_apart(expression), is_negated=False)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return Opaque(str(expression))
    except pa.ArrowException:
        return Opaque(str(expression))


def _condition(node: Node, *, is_negated: bool) -> Expression:
    try:
        found = _of_node(node, is_negated=is_negated)
    except UnknownKind:
        found = None
    return Opaque(_text(node)) if found is None else found


def _of_node(node: Node, *, is_negated: bool) -> Expression | None:
    if isinstance(node, Field):
        return Comparison(node.path, "=", value=True)
    if isinstance(node, Constant):
        value = plain_value(node.scalar)
        return Always(value) if isinstance(value, bool) else None
    if node.function in _CONNECTIVES:
        kind = _CONNECTIVES[node.function]
        return kind(tuple(_condition(one, is_negated=is_negated) for one in _operands(node)))
    if node.function == "invert" and len(node.arguments) == 1:
        return _negation(_condition(node.arguments[0], is_negated=True))
    return _comparison(node) if node.function in _COMPARISONS else _test(node, is_negated)


def _operands(call: Call) -> Iterator[Node]:
    """Yield the operands of a run of the same connective, in order, without recursion."""
    waiting: list[Node] = [call]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Call) and one.function == call.function:
            waiting.extend(reversed(one.arguments))
        else:
            yield one


def _comparison(call: Call) -> Expression | None:
    as_written, mirrored = _COMPARISONS[call.function]
    match call.arguments:
        case (Field(column), Constant(scalar)):
            return Comparison(column, as_written, plain_value(scalar))
        case (Constant(scalar), Field(column)):
            return Comparison(column, mirrored, plain_value(scalar))
    return None


def _test(call: Call, is_negated: bool) -> Expression | None:  # noqa: FBT001  passed on
    """Make a tree of a question about one column."""
    match call.arguments:
        case (Field(column),):
            pass
        case _:
            return None
    if call.function == "is_valid":
        return Not(IsNull(column))
    if call.function == "is_null" and not call.options["nan_is_null"].as_py():
        return IsNull(column)
    if call.function == "is_in":
        return _membership(column, call, is_negated)
    return None


def _membership(column: str, call: Call, is_negated: bool) -> Expression | None:  # noqa: FBT001
    behavior = call.options["null_matching_behavior"].as_py()
    values = plain_values(call.options["value_set"].values)
    if behavior == _SKIP:
        values = [value for value in values if value is not None]
    elif behavior != _MATCH:
        return None
    members = membership(column, values)
    if is_negated and None not in values:
        return And((members, Not(IsNull(column))))
    return members


def _negation(operand: Expression) -> Expression:
    """Negate; what is asked of `~field.isin(...)` reads as it does in pyarrow's filters."""
    match operand:
        case And((IsIn(column, values), Not(IsNull()))):
            return non_membership(column, values)
    return Not(operand)


def _text(node: Node) -> str:
    if isinstance(node, Field):
        return node.path
    if isinstance(node, Constant):
        return str(node.scalar)
    return f"{node.function}({', '.join(_text(one) for one in node.arguments)})"
