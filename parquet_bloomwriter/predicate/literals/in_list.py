"""The literals of an IN list -> keys of a column, long lists of plain integers or text at once."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.metadata.logical_types import Kind
from parquet_bloomwriter.predicate.literals.numbers import EXACT_IN_DOUBLE
from parquet_bloomwriter.predicate.literals.range import LiteralSet, UnknownRange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parquet_bloomwriter.predicate.expression import Value
    from parquet_bloomwriter.predicate.literals.domain import Domain

_MAX_KEYS = 1_000_000
"""If literals stand for several keys each, more keys than this are not worth looking up."""

_MIXED = UnknownRange("some readers compare all of such a mixed list as floating-point numbers")
_TOO_MANY = UnknownRange("the list stands for too many values to look up")


def place_all(domain: Domain, values: tuple[Value, ...]) -> LiteralSet | UnknownRange:
    """Return where the literals of a list fall; unknown if that is unknown of one of them."""
    kinds = set(map(type, values))
    if domain.column.kind is Kind.INTEGER and kinds == {int}:
        return _place_integers(domain, values)
    if kinds == {str} and domain.column.kind is Kind.TEXT:
        literals = _place_texts(values)
        if literals is not None:
            return literals
    if not kinds.isdisjoint((float, Decimal)) and any(map(_is_large_integer, values)):
        return _MIXED
    return _place_each(domain, values)


def _place_integers(domain: Domain, values: Iterable[Any]) -> LiteralSet | UnknownRange:
    keys = sorted(set(values))
    low, high = domain.limits or (keys[0], keys[-1])
    if low <= keys[0] and keys[-1] <= high:
        return LiteralSet(tuple(keys), is_exact=True)
    outside = _place_each(domain, [key for key in keys if not low <= key <= high])
    if isinstance(outside, UnknownRange):
        return outside
    kept = tuple(key for key in keys if low <= key <= high)
    return LiteralSet(kept, is_exact=True, reason=outside.reason)


def _place_texts(values: Iterable[Any]) -> LiteralSet | None:
    """Return the texts as keys; None if one of them is not valid Unicode."""
    try:
        return LiteralSet(tuple(sorted({value.encode() for value in values})), is_exact=True)
    except UnicodeEncodeError:
        return None


def _is_large_integer(value: Value) -> bool:
    return type(value) is int and abs(value) >= EXACT_IN_DOUBLE


def _place_each(domain: Domain, values: Iterable[Value]) -> LiteralSet | UnknownRange:
    keys: set[Any] = set()
    is_exact, reason = True, ""
    for value in values:
        found = domain.place(value)
        if isinstance(found, UnknownRange):
            return found
        keys.update(found.keys)
        if len(keys) > _MAX_KEYS and not found.is_exact:
            return _TOO_MANY
        is_exact &= found.is_exact
        reason = reason or found.reason
    return LiteralSet(tuple(sorted(keys)), is_exact, reason)
