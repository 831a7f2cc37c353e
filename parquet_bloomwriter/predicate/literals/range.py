"""The place of literals among the keys of a column, as far as readers agree on it.

    LiteralRange     one literal      equal to some keys, or between two
    LiteralSet       an IN list       the keys that its values are equal to
    UnknownRange     either           readers differ, or nothing is known

Keys are those of `predicate.bound`. A literal may be a key (5 among integers), lie between two keys
(5.5), or lie somewhere among a few: readers round it, cut it or take it unchanged, and every key
that some reader makes of the literal is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.predicate.bound import Key


@dataclass(frozen=True, slots=True)
class UnknownRange:
    """The unknown place of a literal."""

    reason: str
    """Why the place is unknown, a clause."""


@dataclass(frozen=True, slots=True)
class LiteralRange:
    """The place of a literal: the keys equal to it, and the limits of lesser and greater keys."""

    keys: tuple[Any, ...]
    """Keys that some reader takes to be equal to the literal, ascending; may be empty."""

    before: Any
    """Upper limit of the keys that some reader takes to be less than the literal."""

    at_most: Any
    """Upper limit of the keys that some reader takes to be less than or equal to the literal."""

    after: Any
    """Lower limit of the keys that some reader takes to be greater than the literal."""

    at_least: Any
    """Lower limit of the keys that some reader takes to be greater than or equal to the literal."""

    is_exact: bool = True
    """Whether all readers take exactly `keys` to be equal to the literal."""

    reason: str = ""
    """Why there are no keys; "" without a reason."""

    order_problem: str = ""
    """Why readers disagree on which keys are less or greater, "" if they agree."""

    @staticmethod
    def at(key: int) -> LiteralRange:
        """Return the range of a literal that equals an integer."""
        return LiteralRange((key,), key - 1, key, key + 1, key)

    @staticmethod
    def between(key: int, reason: str) -> LiteralRange:
        """Return the range of a literal between an integer and the next."""
        return LiteralRange((), key, key, key + 1, key + 1, reason=reason)

    @staticmethod
    def among(keys: Sequence[Key], low: Key | None = None, high: Key | None = None) -> LiteralRange:
        """Return the range of a literal that is one of several keys, each for some reader.

        Args:
            keys: Ascending.
            low: Where the literal may lie at least, if that is below all keys.
            high: Where the literal may lie at most, if that is above all keys.
        """
        low, high = keys[0] if low is None else low, keys[-1] if high is None else high
        return LiteralRange(tuple(keys), high, high, low, low, is_exact=False)

    @staticmethod
    def inside(key: Key, *, is_stored: bool = True, reason: str = "") -> LiteralRange:
        """Return the range of a literal whose neighbours are unknown: text, bytes, floats.

        Args:
            key: The literal as a key.
            is_stored: Whether the column can hold the key.
            reason: Why the column cannot hold it.
        """
        return LiteralRange((key,) if is_stored else (), key, key, key, key, reason=reason)


@dataclass(frozen=True, slots=True)
class LiteralSet:
    """The keys that are equal to a literal of an IN list."""

    keys: tuple[Any, ...]
    """Keys that some reader takes to be equal to a literal of the list, ascending."""

    is_exact: bool
    """Whether all readers take exactly `keys` to be equal to a literal."""

    reason: str = ""
    """Why there are no keys: what is wrong with the first literal."""


def fraction(numerator: int, denominator: int, reason: str) -> LiteralRange:
    """Return the place of an exact fraction among integers.

    Args:
        numerator: Of the literal, in units of the column.
        denominator: Of the literal; positive.
        reason: Why the literal is no key, if it lies between two.
    """
    whole, rest = divmod(numerator, denominator)
    return LiteralRange.between(whole, reason) if rest else LiteralRange.at(whole)
