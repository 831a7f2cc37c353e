"""A predicate bound to the columns of a file: the conditions to test on each row group.

    AllOf, AnyOf    of parts
    InSet           some value equals one of these       statistics, Bloom filter, dictionary
    Interval        some value lies from low to high     statistics
    NotInSet        some value is none of these          statistics
    Nulls           some value is null                   null count
    NotNull         some value is not null               null count
    Unknown         might match; why no more is known
    AlwaysFalse     cannot match; why

There is no Not: `bind` pushes negations down to the leaves. Each part is true of a row group that
might hold a row for which the original is true; so parts may be wider than the condition as
written, never narrower.

Keys are values in the order of the column's statistics:

    Order.SIGNED       int      INT32, INT64 and all types stored in them, decimals unscaled
    Order.UNSIGNED     int      unsigned INT32, INT64, by value: never negative
    Order.FLOATING     float    FLOAT, DOUBLE, FLOAT16; never NaN; -0.0 and 0.0 are equal
    Order.BYTES        bytes    BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY, unsigned byte by byte
    Order.BIG_ENDIAN   int      decimals as BYTE_ARRAY or FIXED_LEN_BYTE_ARRAY, unscaled
    Order.BOOLEAN      int      0 and 1
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from parquet_bloomwriter.metadata import Leaf

Key: TypeAlias = int | float | bytes


class Order(Enum):
    """The order in which the values of a column compare."""

    SIGNED = auto()
    UNSIGNED = auto()
    FLOATING = auto()
    BYTES = auto()
    BIG_ENDIAN = auto()
    BOOLEAN = auto()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InSet:
    """True of a row group in which some value equals one of several."""

    leaf: Leaf
    text: str
    """The condition as text for people: `id = 42`."""

    keys: tuple[Key, ...] | None
    """Keys of the n values, ascending; None if the column's statistics have no order."""

    plains: tuple[tuple[bytes, ...], ...] | None
    """For each of the n values, in the order of `keys`, the PLAIN bytes of all equal stored values
    (both zeros, for instance); None where equal values may be stored in unknown ways, so that
    neither filters nor dictionaries help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """True of a row group in which some value lies between two keys, both included."""

    leaf: Leaf
    text: str
    low: Key | None
    """Least key; None for no limit."""

    high: Key | None
    matches_nan: bool
    """Whether some readers take NaN to be in the interval; statistics say nothing about NaN."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotInSet:
    """True of a row group in which some value is none of several, or is null."""

    leaf: Leaf
    text: str
    keys: frozenset[Key]


@dataclass(frozen=True, slots=True, kw_only=True)
class Nulls:
    """True of a row group in which some value is null."""

    leaf: Leaf
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotNull:
    """True of a row group in which some value is not null."""

    leaf: Leaf
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A condition that cannot be tested: any row group might match."""

    text: str
    reason: str
    """Why the condition cannot be tested, a clause."""

    column: str | None = None
    """Dotted path of the column; None if the condition is not about one column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlwaysFalse:
    """A condition that no row group can meet."""

    text: str
    reason: str
    column: str | None = None


@dataclass(frozen=True, slots=True)
class AllOf:
    """A condition that is true where every part is true of a row."""

    parts: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """A condition that is true where some part is true of a row."""

    parts: tuple[Bound, ...]


Atom: TypeAlias = InSet | Interval | NotInSet | Nulls | NotNull | Unknown | AlwaysFalse
Bound: TypeAlias = Atom | AllOf | AnyOf
