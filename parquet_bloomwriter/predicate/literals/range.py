"""Where a literal falls among the keys of a column, as far as readers agree on it.

Keys are those of `predicate.bound`. A literal is a key (5 among integers), lies between two keys
(5.5), or somewhere among a few: readers round it, cut it or take it as it is, and whatever any of
them makes of it is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.predicate.bound import Key


@dataclass(frozen=True, slots=True)
class Unclear:
    """Nothing can be said about where it falls."""

    reason: str
    """A clause."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where it falls."""

    keys: tuple[Any, ...]
    """Keys that some reader takes to be equal to it, ascending; none if no key is."""

    before: Any
    """No reader takes a greater key to be less than it."""

    at_most: Any
    """No reader takes a greater key to be less than it, or equal."""

    after: Any
    """No reader takes a lesser key to be greater than it."""

    at_least: Any
    """No reader takes a lesser key to be greater than it, or equal."""

    is_exact: bool = True
    """Whether all readers take just `keys` to be equal to it."""

    reason: str = ""
    """Why there are no keys."""

    order_problem: str = ""
    """Why readers disagree on which keys are less or greater, "" if they do not."""

    @staticmethod
    def at(key: int) -> Spot:
        """At an integer."""
        return Spot((key,), key - 1, key, key + 1, key)

    @staticmethod
    def between(key: int, reason: str) -> Spot:
        """Between an integer and the next."""
        return Spot((), key, key, key + 1, key + 1, reason=reason)

    @staticmethod
    def among(keys: Sequence[Key], low: Key | None = None, high: Key | None = None) -> Spot:
        """At one of several ascending keys, or between `low` and `high`, if these are wider."""
        low, high = keys[0] if low is None else low, keys[-1] if high is None else high
        return Spot(tuple(keys), high, high, low, low, is_exact=False)

    @staticmethod
    def inside(key: Key, *, is_stored: bool = True, reason: str = "") -> Spot:
        """At a key without neighbours; a key that is not among the column's if not `is_stored`."""
        return Spot((key,) if is_stored else (), key, key, key, key, reason=reason)


def fraction(numerator: int, denominator: int, reason: str) -> Spot:
    """Where an exact fraction falls among integers.

    Args:
        numerator: Of the literal, in units of the column.
        denominator: The same, positive.
        reason: Why it is no key, if it is not.
    """
    whole, rest = divmod(numerator, denominator)
    return Spot.between(whole, reason) if rest else Spot.at(whole)
