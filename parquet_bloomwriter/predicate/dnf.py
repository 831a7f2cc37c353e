"""Parse the lists of pyarrow's filters, as `pq.read_table(filters=...)` takes them, into trees.

    [(column, operator, value), ...]                  all conditions
    [[(column, operator, value), ...], [...], ...]    all conditions of any of these lists

A column is a name, plain or dotted, or a tuple of names. Nulls follow pyarrow: `in` finds nulls if
None is among the values, and `not in` is true of nulls otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import TYPE_CHECKING, Any, cast, get_args

from parquet_bloomwriter.errors import InvalidArgument
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
    UnknownKind,
    Value,
)
from parquet_bloomwriter.predicate.literals.python_values import plain_value, plain_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.predicate import Filters

_OPERATORS = {"==": "=", **{operator: operator for operator in get_args(Operator)}}
_MEMBERSHIPS = ("in", "not in")
_EXAMPLE = 'Give (column, operator, value), for example [("id", "=", 42)].'

Predicate = tuple[str | tuple[str, ...], str, Any]


def parse_dnf(filters: Sequence[Any]) -> Expression:
    """Return the tree of a list of tuples, or of lists of tuples.

    Raises:
        InvalidArgument: If the lists are empty or malformed.
    """
    anyof = [
        _joined(And, [of_predicate(predicate) for predicate in conjunction])
        for conjunction in conjunctions(filters)
    ]
    return _joined(Or, anyof)


def conjunctions(filters: Sequence[Any]) -> list[list[Predicate]]:
    """Return the filters in their longer form, a list of lists of tuples, and check them.

    Raises:
        InvalidArgument: If the lists are empty or malformed.
    """
    is_short = bool(filters) and all(_is_predicate(one) for one in filters)
    conjuncts: Sequence[Any] = [filters] if is_short else filters
    if not conjuncts:
        raise InvalidArgument("the list of filters is empty", remedy=_EXAMPLE)
    return [[_checked(one) for one in _members(conjunct)] for conjunct in conjuncts]


def repeatable(filters: Filters | None) -> Filters | None:
    """Return filters that can be read twice: iterators among the values are made lists."""
    if not isinstance(filters, list | tuple):
        return filters
    if _is_predicate(filters):
        return tuple(list(part) if isinstance(part, Iterator) else part for part in filters)
    return [repeatable(one) for one in filters]


def membership(column: str, values: Iterable[Value | None]) -> Expression:
    """Return the tree of pyarrow's `column in values`: a null among the values finds nulls."""
    given = tuple(values)
    known = tuple(value for value in given if value is not None)
    if len(known) == len(given):
        return IsIn(column, known)
    return Or((IsIn(column, known), IsNull(column))) if known else IsNull(column)


def non_membership(column: str, values: Iterable[Value | None]) -> Expression:
    """Return the tree of pyarrow's `column not in values`: true of nulls unless None is a value."""
    members = membership(column, values)
    return Or((Not(members), IsNull(column))) if isinstance(members, IsIn) else Not(members)


def of_predicate(predicate: Predicate) -> Expression:
    """Return the tree of one condition; `Opaque` if the literal is of an unknown kind."""
    path, operator, value = predicate
    column = path if isinstance(path, str) else ".".join(path)
    try:
        if operator in _MEMBERSHIPS:
            make = membership if operator == "in" else non_membership
            return make(column, _values(value))
        plain = plain_value(value)
        return Comparison(column, cast("Operator", _OPERATORS[operator]), plain)
    except UnknownKind:
        return Opaque(f"{column} {operator} {_shown(value)}")


def _shown(value: object) -> str:
    """Return the `repr` of a value, or the name of its type if that fails."""
    try:
        return repr(value)
    except (OverflowError, ValueError):
        return type(value).__name__


def _values(values: object) -> list[Value | None]:
    """Return the plain values of a collection, unchanged.

    A list is not made an array: `pa.array` would choose a type and round values to it.
    """
    import pyarrow as pa

    if isinstance(values, pa.Array | pa.ChunkedArray):
        return plain_values(values)
    if isinstance(values, list | tuple | set | frozenset):
        return [plain_value(value) for value in values]
    try:
        return plain_values(pa.array(values))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return [plain_value(value) for value in cast("Iterable[object]", values)]


def _joined(kind: type[And | Or], operands: list[Expression]) -> Expression:
    return operands[0] if len(operands) == 1 else kind(tuple(operands))


def _is_predicate(given: object) -> bool:
    """Return whether an argument looks like a predicate rather than a list of predicates."""
    return isinstance(given, list | tuple) and len(given) > 1 and isinstance(given[1], str)


def _members(conjunct: object) -> Sequence[Any]:
    if isinstance(conjunct, list | tuple) and conjunct:
        return conjunct
    raise InvalidArgument(f"{conjunct!r:.80} is no list of conditions", remedy=_EXAMPLE)


def _checked(given: Any) -> Predicate:  # noqa: ANN401  anything at all
    if not _is_predicate(given) or len(given) != len(("column", "operator", "value")):
        raise InvalidArgument(f"{given!r:.80} is no condition", remedy=_EXAMPLE)
    path, operator, value = given
    names = (path,) if isinstance(path, str) else path
    if not (isinstance(names, tuple) and names and all(isinstance(name, str) for name in names)):
        raise InvalidArgument(
            f"{path!r:.80} is no column",
            remedy="Give a name, or a tuple of the names that lead to it.",
        )
    if operator not in _OPERATORS and operator not in _MEMBERSHIPS:
        raise InvalidArgument(
            f'"{operator}" is no operator',
            column=".".join(names),
            remedy=f"Use one of {', '.join((*_OPERATORS, *_MEMBERSHIPS))}.",
        )
    is_collection = isinstance(value, Sized | Iterable) and not isinstance(value, str | bytes)
    if operator in _MEMBERSHIPS and not is_collection:
        raise InvalidArgument(
            f'"{operator}" needs a list of values, not {value!r:.80}', column=".".join(names)
        )
    return path, operator, value
