"""What a predicate asks of the filters of an index, for columns of given types.

    Contains    a value with one of these hashes is in a column
    Every       all of several are so
    Some        at least one is so; Some(()) is never so
    None        nothing is asked: any file might match

Only equality is concluded from, and what a column's type rules out. As everywhere, what is asked
may be wider than the predicate, never narrower.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from parquet_bloomwriter.hashing import xxh64
from parquet_bloomwriter.predicate.bind import bind
from parquet_bloomwriter.predicate.bound import AllOf, AnyOf, Members, Never
from parquet_bloomwriter.predicate.expression import And, Comparison, IsIn, IsNull, Not, Or

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.predicate.bound import Bound
    from parquet_bloomwriter.predicate.expression import Expression


@dataclass(frozen=True, slots=True, eq=False)
class Contains:
    """A column holds a value with one of these hashes."""

    column: str
    hashes: NDArray[np.uint64]
    """Ascending, each once, at least one."""


@dataclass(frozen=True, slots=True, eq=False)
class Every:
    """All parts are so, of one row."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Some:
    """Some part is so."""

    parts: tuple[Condition, ...]


Condition: TypeAlias = Contains | Every | Some

NEVER = Some(())


def columns_in(expression: Expression) -> set[str]:
    """Names of the columns that a predicate is about."""
    match expression:
        case And(operands) | Or(operands):
            return set().union(*map(columns_in, operands))
        case Not(operand):
            return columns_in(operand)
        case Comparison() | IsIn() | IsNull():
            return {expression.column}
    return set()


def condition_of(expression: Expression, leaves: Sequence[Leaf]) -> Condition | None:
    """What a predicate asks of files with these columns; None if any might match.

    Args:
        expression: The predicate.
        leaves: The indexed columns, with their names in the index.
    """
    return _asked(bind(expression, leaves))


def _asked(bound: Bound) -> Condition | None:
    match bound:
        case Members():
            return _contains(bound)
        case Never():
            return NEVER
        case AllOf(parts):
            return _every([one for one in map(_asked, parts) if one is not None])
        case AnyOf(parts):
            return _some(list(map(_asked, parts)))
    return None


def _contains(members: Members) -> Condition | None:
    if members.plains is None:
        return None
    hashes = {xxh64(plain) for plains in members.plains for plain in plains}
    return _of(members.leaf.name, np.array(sorted(hashes), np.uint64))


def _of(column: str, hashes: NDArray[np.uint64]) -> Condition:
    return Contains(column, hashes) if len(hashes) else NEVER


def _every(parts: list[Condition]) -> Condition | None:
    if not parts:
        return None
    if any(isinstance(one, Some) and not one.parts for one in parts):
        return NEVER
    return parts[0] if len(parts) == 1 else Every(tuple(sorted(parts, key=_cost)))


def _some(parts: list[Condition | None]) -> Condition | None:
    """At least one; values of one column are looked for together."""
    hashes: dict[str, list[NDArray[np.uint64]]] = {}
    others: list[Condition] = []
    for part in parts:
        if part is None:
            return None
        if isinstance(part, Contains):
            hashes.setdefault(part.column, []).append(part.hashes)
        elif not isinstance(part, Some) or part.parts:
            others.append(part)
    together = (_of(column, np.unique(np.concatenate(of))) for column, of in hashes.items())
    found = [*together, *others]
    return found[0] if len(found) == 1 else Some(tuple(sorted(found, key=_cost)))


def _cost(condition: Condition) -> int:
    """Blocks to read of each file, at most."""
    if isinstance(condition, Contains):
        return len(condition.hashes)
    return sum(map(_cost, condition.parts))
