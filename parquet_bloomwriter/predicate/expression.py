"""The tree of a predicate, the same for all notations.

    Comparison  column = 5                IsNull  column IS NULL      And, Or   of any number
    IsIn        column IN (1, 2)          Not     of one operand      Constant  true, false
    Holds       list_contains(column, 5)
    Opaque      anything else: any row might satisfy it

A predicate selects the rows for which the tree is true, in three-valued logic: a comparison with a
null is neither true nor false. Trees say nothing about types; `bind` combines a tree with the
columns of a file.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Callable

    from parquet_bloomwriter.metadata.elements import Part

Operator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]

OPERATORS: dict[Operator, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""Python's function for each operator."""

OPPOSITES: dict[Operator, Operator] = {
    "=": "!=",
    "!=": "=",
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
}
"""The operator that is true where the other is false, nulls and NaN aside."""


@dataclass(frozen=True, slots=True, order=True)
class Instant:
    """A point in time beyond `datetime`: too fine, too early, too late, or disputed."""

    nanoseconds: int
    """Nanoseconds since 1970-01-01 00:00:00; of UTC if `is_zoned`, else of an unnamed clock."""

    is_zoned: bool

    may_lose_zone: bool = False
    """Whether some readers ignore the offset that was written, as DuckDB does in a TIMESTAMP."""


@dataclass(frozen=True, slots=True, order=True)
class TimeOfDay:
    """A time of day that is too fine for `time`."""

    nanoseconds: int
    """Nanoseconds since midnight."""


Value: TypeAlias = (
    bool | int | float | str | bytes | Decimal | date | datetime | time | UUID | Instant | TimeOfDay
)
"""A literal. `literals.python_values` makes them of scalars of NumPy, Arrow and pandas."""

Texts: TypeAlias = tuple[str | None, ...]
"""Possible texts of a value that is not stored in files, as of a partition column; None is null.
Without any text, the value is not known."""

UUID_TEXT = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
"""The form of UUIDs that all engines read."""


class UnknownKind(TypeError):
    """The error for a literal that no `Value` can express; the message names its type."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The condition `column operator value`."""

    column: str
    """Dotted path of a leaf column."""

    operator: Operator
    value: Value | None
    """Value of the literal; None is null: the comparison is true for no row."""


@dataclass(frozen=True, slots=True)
class IsIn:
    """The condition `column IN values`; values without nulls."""

    column: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class IsNull:
    """The condition `column IS NULL`."""

    column: str


Holding: TypeAlias = Literal[
    "list_contains",
    "array_contains",
    "ANY",
    "map_contains",
    "map_contains_key",
    "map_contains_value",
]
"""The function by which a condition asks for an element; they differ where they are not true.

                        null list   no such element, but a null   no such element
    list_contains       null        false                         false             DuckDB
    array_contains      null        null                          false             Spark
    ANY                 false       null                          false             DuckDB

Functions of maps are null for a null map; keys are never null.
"""


@dataclass(frozen=True, slots=True)
class Holds:
    """The condition that a list has an element, or a map a key or a value, equal to a literal."""

    column: str
    """Dotted path of the list or the map, not of the leaf column in it."""

    part: Part
    value: Value | None
    """Value of the literal; None is null: neither the condition nor its negation is true for any
    row."""

    function: Holding = "list_contains"


@dataclass(frozen=True, slots=True)
class Not:
    """The negation: true where the operand is false."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class And:
    """The conjunction: true where every operand is true."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """The disjunction: true where any operand is true."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A condition that is true, or false, for every row."""

    value: bool
    text: str = ""
    """The condition as it was written; "" if it was written as a constant."""

    reason: str = ""
    """Why the condition has this value, a clause; "" without a reason."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A condition that is not understood here: any row may satisfy it."""

    text: str
    """The condition as it was written."""

    is_sql: bool = field(default=False, compare=False, repr=False)
    """Whether the text is SQL, which `read_table` may be able to evaluate."""


Expression: TypeAlias = Comparison | IsIn | IsNull | Holds | Not | And | Or | Constant | Opaque

_MOST_LEVELS = 64
"""Most nested connectives. Functions that walk a tree recurse over them, by several calls for each,
and must not meet Python's limit of 1,000 calls."""


def is_deep(tree: Expression) -> bool:
    """Return whether the connectives of a tree are nested too deeply for recursive functions."""
    level = [tree]
    for _ in range(_MOST_LEVELS):
        level = [
            part
            for one in level
            if isinstance(one, Not | And | Or)
            for part in ((one.operand,) if isinstance(one, Not) else one.operands)
        ]
        if not level:
            return False
    return True
