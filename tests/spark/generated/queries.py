"""Random queries over some tables.

Whatever a query gives out is determined by the rows of its tables: no sums of floating numbers, no
first rows of no order. Every output has a name of its own.
"""

# ruff: noqa: S608  the random numbers are to be the same again; SQL is what is made here
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.spark.generated.conditions import Conditions, comparable
from tests.spark.generated.settings import random_settings
from tests.spark.generated.tables import ROW, Column
from tests.spark.generated.values import KINDS

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from tests.spark.generated.tables import Table

_JOINS = (
    *["JOIN"] * 5,
    *["LEFT JOIN"] * 3,
    *["RIGHT JOIN"] * 3,
    *["LEFT SEMI JOIN"] * 2,
    *["LEFT ANTI JOIN"] * 2,
    "FULL JOIN",
)
_ONE_SIDED = ("LEFT SEMI JOIN", "LEFT ANTI JOIN")
_HINTS = ("BROADCAST", "MERGE", "SHUFFLE_HASH")
_NAME = "it"
"""Name of what a query makes for itself and drops again: a view or a cached table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One query."""

    shape: str
    sql: str
    settings: dict[str, str]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    """Statements to run before and after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """Something to select from."""

    sql: str
    """With its alias."""

    columns: tuple[Column, ...]
    """Spelled with the alias."""


@dataclass(slots=True, kw_only=True)
class Queries:
    """Makes queries."""

    rng: random.Random
    tables: Sequence[Table]
    say: Conditions = field(init=False)
    _aliases: int = 0

    def __post_init__(self) -> None:
        self.say = Conditions(self.rng)

    def query(self) -> Query:
        """Return the next one."""
        self._aliases = 0
        shapes = {
            "filter": (self._filter, 6),
            "aggregate": (self._aggregate, 3),
            "join": (self._join, 10),
            "three": (self._three, 3),
            "subquery": (self._subquery, 6),
            "scalar": (self._scalar, 2),
            "union": (self._set_operation, 3),
            "window": (self._window, 2),
            "limit": (self._limit, 2),
            "with": (self._with, 2),
            "lateral": (self._lateral, 2),
            "cross": (self._cross, 1),
        }
        names = list(shapes)
        shape = self.rng.choices(names, [shapes[name][1] for name in names])[0]
        sql = shapes[shape][0]()
        settings = random_settings(self.rng)
        return self._wrapped(Query(shape=shape, sql=sql, settings=settings))

    def _wrapped(self, query: Query) -> Query:
        """The query itself, or the same through a view or a cache."""
        chance = self.rng.random()
        again = f"SELECT * FROM {_NAME} WHERE {self.say.pruning([Column(sql='c0', kind=_LONG)])}"
        if query.shape == "filter" and chance < 0.2:
            return Query(
                shape="view",
                sql=again,
                settings=query.settings,
                before=(f"CREATE OR REPLACE TEMPORARY VIEW {_NAME} AS {query.sql}",),
                after=(f"DROP VIEW {_NAME}",),
            )
        if query.shape in {"filter", "join"} and chance > 0.95:
            return Query(
                shape="cached",
                sql=again,
                settings=query.settings,
                before=(f"CACHE TABLE {_NAME} AS {query.sql}",),
                after=(f"UNCACHE TABLE {_NAME}", f"DROP VIEW {_NAME}"),
            )
        return query

    # What to select from.

    def _table(self, table: Table | None = None) -> _Source:
        chosen = table or self.rng.choice(self.tables)
        alias = self._alias()
        columns = tuple(Column(sql=f"{alias}.{one.sql}", kind=one.kind) for one in chosen.columns)
        return _Source(sql=f"{chosen.relation} {alias}", columns=columns)

    def _source(self) -> _Source:
        """A table, or something made of one."""
        chance = self.rng.random()
        inner = self._table()
        if chance < 0.6:
            return inner
        where = f"WHERE {self._condition(inner.columns)}"
        if chance < 0.8:
            picked = [inner.columns[0], *self._picked(inner, 5)]
            return self._derived(f"SELECT {_items(picked)} FROM {inner.sql} {where}", picked)
        if chance < 0.87:
            picked = self._picked(inner, 2)
            return self._derived(
                f"SELECT DISTINCT {_items(picked)} FROM {inner.sql} {where}", picked
            )
        picked = self._picked(inner, 1)
        if chance < 0.94:
            group = ", ".join(one.sql for one in picked)
            sums = f"max({inner.columns[0].sql}) AS c0, count(*) AS n"
            return self._derived(
                f"SELECT {sums}, {_items(picked, 1)} FROM {inner.sql} {where} GROUP BY {group}",
                [inner.columns[0], *picked],
            )
        picked = [inner.columns[0], *picked]
        return self._derived(
            f"SELECT {_items(picked)} FROM {inner.sql} {where} ORDER BY c0 LIMIT 20", picked
        )

    def _derived(self, sql: str, picked: Sequence[Column]) -> _Source:
        alias = self._alias()
        columns = tuple(
            Column(sql=f"{alias}.c{i}", kind=column.kind) for i, column in enumerate(picked)
        )
        return _Source(sql=f"({sql}) {alias}", columns=columns)

    def _alias(self) -> str:
        self._aliases += 1
        return f"t{self._aliases}"

    def _picked(self, source: _Source, most: int) -> list[Column]:
        return self.rng.sample(source.columns, min(len(source.columns), self.rng.randint(1, most)))

    def _condition(self, columns: Sequence[Column]) -> str:
        """A condition that is likely to exclude files."""
        chance = self.rng.random()
        if chance < 0.4:
            return self.say.pruning(columns)
        if chance < 0.6:
            return f"{self.say.pruning(columns)} AND {self.say.tree(columns, 1)}"
        return self.say.tree(columns)

    def _where(self, columns: Sequence[Column], chance: float) -> str:
        return f" WHERE {self._condition(columns)}" if self.rng.random() < chance else ""

    # Shapes.

    def _filter(self) -> str:
        source = self._source()
        picked = [source.columns[0], *self._picked(source, 4)]
        return f"SELECT {_items(picked)} FROM {source.sql} WHERE {self._condition(source.columns)}"

    def _aggregate(self) -> str:
        source = self._source()
        keys = self._picked(source, 2)
        group = ", ".join(key.sql for key in keys)
        how = self.rng.choice([group, group, group, f"ROLLUP({group})", f"CUBE({group})"])
        column = self.rng.choice(source.columns).sql
        having = " HAVING count(*) > 1" if self.rng.random() < 0.2 else ""
        filtered = f"count(*) FILTER (WHERE {self.say.tree(source.columns, 1)})"
        return (
            f"SELECT {_items(keys)}, count(*) AS n, count({column}) AS m, max({column}) AS x, "
            f"min({column}) AS y, count(DISTINCT {column}) AS d, {filtered} AS f "
            f"FROM {source.sql}{self._where(source.columns, 0.8)} GROUP BY {how}{having}"
        )

    def _join(self) -> str:
        rng = self.rng
        left, right = self._source(), self._source()
        if rng.random() < 0.1:
            return self._using()
        join = rng.choice(_JOINS)
        on = " AND ".join(
            self.say.key(left.columns, right.columns) for _ in range(rng.choice([1, 1, 1, 2]))
        )
        if rng.random() < 0.25:
            on += f" AND {self.say.tree(rng.choice([left, right]).columns, 1)}"
        both = left.columns if join in _ONE_SIDED else left.columns + right.columns
        picked = [left.columns[0], *rng.sample(both, min(3, len(both)))]
        if join not in _ONE_SIDED:
            picked.append(right.columns[0])
        where = self._where(both, 0.5)
        hint = f"/*+ {rng.choice(_HINTS)}({_alias_of(right)}) */ " if rng.random() < 0.15 else ""
        return f"SELECT {hint}{_items(picked)} FROM {left.sql} {join} {right.sql} ON {on}{where}"

    def _using(self) -> str:
        left, right = self._table(), self._table()
        join = self.rng.choice(_JOINS)
        one_sided = join in _ONE_SIDED
        more = [] if one_sided else self._picked(right, 2)
        items = _items([Column(sql=ROW, kind=_LONG), *self._picked(left, 2), *more])
        where = self._where(left.columns, 0.4)
        return f"SELECT {items} FROM {left.sql} {join} {right.sql} USING ({ROW}){where}"

    def _three(self) -> str:
        one, two, three = self._source(), self._source(), self._source()
        joins = [join for join in _JOINS if join not in _ONE_SIDED]
        first, second = self.rng.choices(joins, k=2)
        columns = one.columns + two.columns + three.columns
        key = self.rng.choice(columns)
        return (
            f"SELECT {key.sql} AS c0, count(*) AS n, count(DISTINCT {one.columns[0].sql}) AS s "
            f"FROM {one.sql} {first} {two.sql} ON {self.say.key(one.columns, two.columns)} "
            f"{second} {three.sql} ON "
            f"{self.say.key(self.rng.choice([one, two]).columns, three.columns)}"
            f"{self._where(columns, 0.6)} GROUP BY {key.sql}"
        )

    def _subquery(self) -> str:
        rng = self.rng
        outer, inner = self._source(), self._source()
        mine = rng.choice(comparable(outer.columns))
        same = [one for one in inner.columns if one.kind == mine.kind]
        if not same:
            mine = _as_text(mine)
            same = [_as_text(inner.columns[0])]
        where = self._where(inner.columns, 0.7)
        word = rng.choice(["IN", "IN", "NOT IN", "EXISTS", "EXISTS", "NOT EXISTS"])
        if word.endswith("IN"):
            test = f"{mine.sql} {word} (SELECT {rng.choice(same).sql} FROM {inner.sql}{where})"
        else:
            tie = self.say.key(outer.columns, inner.columns)
            more = f" AND {self._condition(inner.columns)}" if rng.random() < 0.5 else ""
            test = f"{word} (SELECT 1 FROM {inner.sql} WHERE {tie}{more})"
        word = rng.choice(["AND", "AND", "AND", "OR"])
        if rng.random() < 0.5:
            test += f" {word} {self._condition(outer.columns)}"
        picked = [outer.columns[0], *self._picked(outer, 2)]
        return f"SELECT {_items(picked)} FROM {outer.sql} WHERE {test}"

    def _scalar(self) -> str:
        rng = self.rng
        outer, inner = self._table(), self._table()
        mine = rng.choice(comparable(outer.columns))
        same = [one for one in inner.columns if one.kind == mine.kind]
        other = rng.choice(same) if same else mine
        where = self._where(inner.columns, 0.6)
        items = _items([outer.columns[0], mine])
        if rng.random() < 0.6 and same:
            value = f"(SELECT {rng.choice(['max', 'min'])}({other.sql}) FROM {inner.sql}{where})"
            return f"SELECT {items} FROM {outer.sql} WHERE {mine.sql} = {value}"
        tie = f"{inner.columns[1].sql} = {outer.columns[1].sql}"
        count = f"(SELECT count(*) FROM {inner.sql} WHERE {tie})"
        return f"SELECT {items}, {count} AS n FROM {outer.sql}{self._where(outer.columns, 0.7)}"

    def _set_operation(self) -> str:
        rng = self.rng
        left, right = self._table(), self._table()
        kinds = [one.kind for one in left.columns[:4]]
        words = ["UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL"]
        parts = []
        for side in (left, right):
            picked = [next(one for one in side.columns if one.kind == kind) for kind in kinds]
            where = self._where(side.columns, 0.7)
            parts.append(f"SELECT {_items(picked)} FROM {side.sql}{where}")
        both = f" {rng.choice(words)} ".join(parts)
        if rng.random() < 0.3:
            return both
        outside = self._derived(both, [Column(sql="", kind=kind) for kind in kinds])
        return f"SELECT * FROM {outside.sql} WHERE {self._condition(outside.columns)}"

    def _window(self) -> str:
        source = self._table()
        row = source.columns[0].sql
        key = self.rng.choice(source.columns)
        over = f"OVER (PARTITION BY {key.sql} ORDER BY {row})"
        inner = (
            f"SELECT {row} AS c0, {key.sql} AS c1, row_number() {over} AS n, "
            f"sum({row}) {over} AS s, lag({row}) {over} AS l "
            f"FROM {source.sql}{self._where(source.columns, 0.5)}"
        )
        outside = self._derived(inner, [Column(sql="", kind=_LONG), key])
        more = " AND n <= 2" if self.rng.random() < 0.4 else ""
        return f"SELECT * FROM {outside.sql} WHERE {self.say.pruning(outside.columns)}{more}"

    def _limit(self) -> str:
        source = self._table()
        picked = [source.columns[0], *self._picked(source, 3)]
        offset = " OFFSET 2" if self.rng.random() < 0.3 else ""
        return (
            f"SELECT {_items(picked)} FROM {source.sql}{self._where(source.columns, 0.9)} "
            f"ORDER BY c0 {self.rng.choice(['', 'DESC '])}LIMIT {self.rng.randint(1, 20)}{offset}"
        )

    def _with(self) -> str:
        inner = self._source()
        picked = [inner.columns[0], *self._picked(inner, 3)]
        body = f"SELECT {_items(picked)} FROM {inner.sql}{self._where(inner.columns, 0.7)}"
        names = [Column(sql=f"c{i}", kind=one.kind) for i, one in enumerate(picked)]
        x, y = ([Column(sql=f"{side}.{one.sql}", kind=one.kind) for one in names] for side in "xy")
        join = self.rng.choice([join for join in _JOINS if join not in _ONE_SIDED])
        return (
            f"WITH c AS ({body}) SELECT x.c0 AS c0, y.c0 AS c1 FROM c x {join} c y "
            f"ON {self.say.key(x, y)}{self._where(x, 0.5)}"
        )

    def _lateral(self) -> str:
        outer, inner = self._table(), self._table()
        items = _items([outer.columns[0], *self._picked(outer, 2)])
        if self.rng.random() < 0.4:
            row = outer.columns[0].sql
            key = self._alias()
            return (
                f"SELECT {items}, {key}.v FROM {outer.sql} LATERAL VIEW "
                f"explode(array({row}, {row} % 7)) {key} AS v{self._where(outer.columns, 0.9)}"
            )
        tie = f"{inner.columns[1].sql} = {outer.columns[1].sql}"
        body = f"SELECT max({inner.columns[0].sql}) AS v FROM {inner.sql} WHERE {tie}"
        if self.rng.random() < 0.5:
            body = f"SELECT {inner.columns[0].sql} AS v FROM {inner.sql} WHERE {tie}"
        alias = self._alias()
        where = self._where(outer.columns, 0.7)
        return f"SELECT {items}, {alias}.v FROM {outer.sql}, LATERAL ({body}) {alias}{where}"

    def _cross(self) -> str:
        left, right = self._source(), self._source()
        condition = self._condition(left.columns)
        return (
            f"SELECT count(*) AS n, count(DISTINCT {left.columns[0].sql}) AS s FROM {left.sql} "
            f"CROSS JOIN {right.sql} WHERE {condition} AND {self._condition(right.columns)}"
        )


_LONG = KINDS["long"]


def _items(columns: Sequence[Column], start: int = 0) -> str:
    return ", ".join(f"{one.sql} AS c{i}" for i, one in enumerate(columns, start))


def _as_text(column: Column) -> Column:
    return Column(sql=f"cast({column.sql} as string)", kind=KINDS["text"])


def _alias_of(source: _Source) -> str:
    return source.sql.rsplit(" ", 1)[1]
