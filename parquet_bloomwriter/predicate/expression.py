"""The tree of a predicate, in whichever notation it was written.

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
    """A point in time that `datetime` cannot tell: too fine, too early, too late, or disputed."""

    nanoseconds: int
    """Since 1970-01-01 00:00:00; of UTC if `is_zoned`, of an unnamed clock otherwise."""

    is_zoned: bool

    may_lose_zone: bool = False
    """Whether some readers ignore the offset that was written, as DuckDB does in a TIMESTAMP."""


@dataclass(frozen=True, slots=True, order=True)
class TimeOfDay:
    """A time of day that is too fine for `time`."""

    nanoseconds: int
    """Since midnight."""


Value: TypeAlias = (
    bool | int | float | str | bytes | Decimal | date | datetime | time | UUID | Instant | TimeOfDay
)
"""A literal. `literals.python_values` makes them of scalars of NumPy, Arrow and pandas."""

Texts: TypeAlias = tuple[str | None, ...]
"""The texts that a value outside of files may be, as of a partition column; None is null. Without
any text, the value is not known."""

UUID_TEXT = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
"""The form of UUIDs that all engines read."""


class UnknownKind(TypeError):
    """No `Value` stands for a literal; the message names its type."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`column operator value`."""

    column: str
    """Dotted path of a leaf column."""

    operator: Operator
    value: Value | None
    """None is null: the comparison is true for no row."""


@dataclass(frozen=True, slots=True)
class IsIn:
    """`column IN values`; values without nulls."""

    column: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class IsNull:
    """`column IS NULL`."""

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
    """A list has an element that equals a value; or a map has such a key, or such a value."""

    column: str
    """Dotted path of the list or the map, not of the leaf column below."""

    part: Part
    value: Value | None
    """None is null: the condition is true for no row, nor is its negation."""

    function: Holding = "list_contains"


@dataclass(frozen=True, slots=True)
class Not:
    """True where the operand is false."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class And:
    """True where every operand is true."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True where any operand is true."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """True, or false, for every row."""

    value: bool
    text: str = ""
    """The condition as it was written, if not as a constant."""

    reason: str = ""
    """Why the condition has this value, a clause."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A condition that is not understood here: any row may satisfy it."""

    text: str
    """The condition as it was written."""

    is_sql: bool = field(default=False, compare=False, repr=False)
    """Whether the text is SQL, which `read_table` may be able to evaluate."""


Expression: TypeAlias = Comparison | IsIn | IsNull | Holds | Not | And | Or | Constant | Opaque

_MOST_LEVELS = 64
"""Connectives in each other. What walks a tree recurses over them, by several calls for each, and
must not meet Python's limit of 1,000 calls."""


def is_deep(tree: Expression) -> bool:
    """Whether connectives of a tree are nested too deeply for what walks trees."""
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
