"""Many literals at once: the values of an IN list."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.metadata.logical_types import Kind
from parquet_bloomwriter.predicate.literals.numbers import EXACT_IN_DOUBLE
from parquet_bloomwriter.predicate.literals.range import Unclear

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parquet_bloomwriter.predicate.expression import Value
    from parquet_bloomwriter.predicate.literals.coerce import Domain

_MAX_KEYS = 1_000_000
"""More than that, of literals that may each be many keys, are not worth looking up."""

_MIXED = Unclear("some readers compare all of such a mixed list as floating-point numbers")
_TOO_MANY = Unclear("the list stands for too many values to look up")


@dataclass(frozen=True, slots=True)
class Listing:
    """Where the values fall."""

    keys: tuple[Any, ...]
    """Keys that some reader takes to be equal to one of them, ascending."""

    is_exact: bool
    """Whether all readers take just these to be."""

    reason: str = ""
    """Why there are none: what is wrong with the first value."""


def place_all(domain: Domain, values: tuple[Value, ...]) -> Listing | Unclear:
    """Place the values of a list; one that is unclear makes all of them so."""
    kinds = set(map(type, values))
    if domain.column.kind is Kind.INTEGER and kinds == {int}:
        return _place_integers(domain, values)
    if kinds == {str} and domain.column.kind is Kind.TEXT:
        listing = _place_texts(values)
        if listing is not None:
            return listing
    if not kinds.isdisjoint((float, Decimal)) and any(map(_is_large_integer, values)):
        return _MIXED
    return _place_each(domain, values)


def _place_integers(domain: Domain, values: Iterable[Any]) -> Listing | Unclear:
    keys = sorted(set(values))
    low, high = domain.limits or (keys[0], keys[-1])
    if low <= keys[0] and keys[-1] <= high:
        return Listing(tuple(keys), is_exact=True)
    outside = _place_each(domain, [key for key in keys if not low <= key <= high])
    if isinstance(outside, Unclear):
        return outside
    kept = tuple(key for key in keys if low <= key <= high)
    return Listing(kept, is_exact=True, reason=outside.reason)


def _place_texts(values: Iterable[Any]) -> Listing | None:
    """None if one of them is no valid Unicode."""
    try:
        return Listing(tuple(sorted({value.encode() for value in values})), is_exact=True)
    except UnicodeEncodeError:
        return None


def _is_large_integer(value: Value) -> bool:
    return type(value) is int and abs(value) >= EXACT_IN_DOUBLE


def _place_each(domain: Domain, values: Iterable[Value]) -> Listing | Unclear:
    keys: set[Any] = set()
    is_exact, reason = True, ""
    for value in values:
        spot = domain.spot(value)
        if isinstance(spot, Unclear):
            return spot
        keys.update(spot.keys)
        if len(keys) > _MAX_KEYS and not spot.is_exact:
            return _TOO_MANY
        is_exact &= spot.is_exact
        reason = reason or spot.reason
    return Listing(tuple(sorted(keys)), is_exact, reason)
