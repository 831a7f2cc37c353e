"""Random literals, conditions and keys, as SQL.

All of it is deterministic, and none of it can fail, whichever rows it is evaluated on: a rule may
change how often a condition is evaluated, and so whether it fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.spark.generated.values import KINDS

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from tests.spark.generated.tables import Column
    from tests.spark.generated.values import Kind

_COMPARISONS = ("<", "<=", ">", ">=", "<>")
_OF_NUMBERS = ("{} % 5 = {}", "sign({}) = {}", "coalesce({}, 0) = {}", "nullif({}, 1) = {}")
_OF_TEXTS = (
    "upper({}) = {}",
    "{} LIKE concat({}, '%')",
    "trim({}) = {}",
    "concat({}, '') = {}",
    "coalesce({}, '') = {}",
    "substring({}, 1, 1) = {}",
    "{} || 'x' = {}",
    "startswith({}, {})",
)


def comparable(columns: Sequence[Column]) -> Sequence[Column]:
    """Return the columns that are not BOOLEAN, or all if there is no other."""
    return [one for one in columns if one.kind.family != "flag"] or columns


@dataclass(frozen=True, slots=True)
class Conditions:
    """Makes conditions on some columns."""

    rng: random.Random

    def literal(self, kind: Kind) -> str:
        """Return a value that columns of this kind may have, or NULL now and then."""
        if self.rng.random() < 0.03:
            return "NULL"
        pool = kind.usual if self.rng.random() < 0.6 else kind.pool
        return kind.text(self.rng.choice(pool))

    def akin(self, kind: Kind) -> str:
        """Return a value that such columns can be compared with, perhaps of another type."""
        rng = self.rng
        if rng.random() < 0.6:
            return self.literal(kind)
        if kind.family in {"number", "time"}:
            family = [one for one in KINDS.values() if one.family == kind.family]
            return self.literal(rng.choice(family))
        if kind.family == "bytes":
            return f"cast({self.literal(KINDS['text'])} as binary)"
        return f"cast({self.literal(kind)} as {kind.sql})"

    def tree(self, columns: Sequence[Column], depth: int = 2) -> str:
        """Return a random condition."""
        choice = self.rng.random()
        if depth and choice < 0.45:
            word = "AND" if choice < 0.25 else "OR"
            return f"({self.tree(columns, depth - 1)} {word} {self.tree(columns, depth - 1)})"
        if depth and choice < 0.5:
            return f"NOT ({self.tree(columns, depth - 1)})"
        return self._leaf(columns)

    def pruning(self, columns: Sequence[Column]) -> str:
        """Return a condition that filters can answer: an equality or a short list."""
        column = self.rng.choice(comparable(columns))
        return self.rng.choice([self._equality, self._equality, self._membership])(column)

    def _leaf(self, columns: Sequence[Column]) -> str:
        rng = self.rng
        column = rng.choice(columns)
        if column.kind.family == "flag":
            return rng.choice(["{}", "NOT {}", "{} = true", "{} <=> false"]).format(column.sql)
        makers = [
            self._equality,
            self._equality,
            self._equality,
            self._membership,
            self._membership,
            self._comparison,
            self._null,
            self._function,
        ]
        if rng.random() < 0.1:
            return self._two_columns(column, columns)
        return rng.choice(makers)(column)

    def _equality(self, column: Column) -> str:
        value = self.akin(column.kind)
        how = self.rng.choice(["{0} = {1}", "{0} = {1}", "{1} = {0}", "{0} <=> {1}", "{0} == {1}"])
        return how.format(column.sql, value)

    def _membership(self, column: Column) -> str:
        rng = self.rng
        count = rng.choice([1, 2, 3, 3, 12])
        values = [self.literal(column.kind) for _ in range(count)]
        if rng.random() < 0.2:
            values[0] = self.akin(column.kind)
        word = "NOT IN" if rng.random() < 0.15 else "IN"
        return f"{column.sql} {word} ({', '.join(values)})"

    def _comparison(self, column: Column) -> str:
        value = self.akin(column.kind)
        if self.rng.random() < 0.3:
            return f"{column.sql} BETWEEN {value} AND {self.akin(column.kind)}"
        return f"{column.sql} {self.rng.choice(_COMPARISONS)} {value}"

    def _null(self, column: Column) -> str:
        return f"{column.sql} IS {self.rng.choice(['', 'NOT '])}NULL"

    def _function(self, column: Column) -> str:
        rng = self.rng
        value = self.literal(column.kind)
        general = [
            "({} = {}) IS TRUE",
            "(CASE WHEN {} = {} THEN 1 ELSE 0 END) = 1",
            "NOT ({} <> {})",
            "if({} = {}, true, false)",
        ]
        special = {"number": _OF_NUMBERS, "text": _OF_TEXTS}.get(column.kind.family, ())
        if column.kind.name == "text" and rng.random() < 0.3:
            return f"try_cast({column.sql} as int) = {self.literal(KINDS['int'])}"
        if column.kind.family != "bytes" and rng.random() < 0.2:
            return f"cast({column.sql} as string) = cast({value} as string)"
        return rng.choice([*general, *special]).format(column.sql, value)

    def _two_columns(self, column: Column, columns: Sequence[Column]) -> str:
        family = [one for one in columns if one.kind.family == column.kind.family]
        return (
            f"{column.sql} {self.rng.choice(['=', '=', '<=>', '<'])} {self.rng.choice(family).sql}"
        )

    def key(self, left: Sequence[Column], right: Sequence[Column]) -> str:
        """Return an equality of two sides of a join."""
        rng = self.rng
        mine = rng.choice(comparable(left))
        same = [one for one in right if one.kind == mine.kind]
        akin = [one for one in right if one.kind.family == mine.kind.family]
        if same and rng.random() < 0.75:
            return self._equal(mine, rng.choice(same))
        if akin and rng.random() < 0.7:
            return f"{mine.sql} = {rng.choice(akin).sql}"
        other = rng.choice(right)
        return f"cast({mine.sql} as string) = cast({other.sql} as string)"

    def _equal(self, mine: Column, other: Column) -> str:
        rng = self.rng
        if rng.random() < 0.8:
            return f"{mine.sql} = {other.sql}"
        if rng.random() < 0.4:
            return f"{mine.sql} <=> {other.sql}"
        how = {
            "number": ["{} % 5", "coalesce({}, 0)", "cast({} as double)", "try_cast({} as int)"],
            "text": ["upper({})", "coalesce({}, '')", "cast({} as binary)"],
            "time": ["cast({} as timestamp)", "cast({} as date)", "year({})"],
        }.get(mine.kind.family, ["{}"])
        both = rng.random() < 0.5
        expression = rng.choice(how)
        if "as" in expression and not both and mine.kind.family == "text":
            both = True
        second = expression.format(other.sql) if both or mine.kind.family == "time" else other.sql
        return f"{expression.format(mine.sql)} = {second}"
