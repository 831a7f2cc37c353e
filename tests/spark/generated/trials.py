"""Whole trials: tables, an index of each, queries with rules off and on, changes, queries again."""

# ruff: noqa: S311  the random numbers are to be the same again
from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from parquet_bloomwriter import index
from parquet_bloomwriter.spark import rules
from tests.spark.generated.comparing import Outcome, run
from tests.spark.generated.files import Filling
from tests.spark.generated.queries import Queries, Query
from tests.spark.generated.settings import random_settings
from tests.spark.generated.tables import random_table

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

INDEX = "all"
Mode = Literal["incremental", "full", "quick"]


@dataclass(slots=True, kw_only=True)
class Summary:
    """What was tried."""

    shapes: Counter[str] = field(default_factory=Counter)
    """Queries by shape."""

    pruned: Counter[str] = field(default_factory=Counter)
    """Those of which the rules kept files from being read."""

    probed: Counter[str] = field(default_factory=Counter)
    """Those of which the rules dropped rows before a join."""

    failed: Counter[str] = field(default_factory=Counter)
    """Errors, rules on or off alike."""

    spared: Counter[str] = field(default_factory=Counter)
    """Errors of files that were not read with the rules on."""

    num_replaced: int = 0
    """Queries of files that were replaced after Spark had listed them."""

    num_threaded: int = 0
    """Queries that were run with the rules on in a thread of their own."""

    num_empty: int = 0
    """Queries without any row."""

    wrong: list[str] = field(default_factory=list)
    """Queries whose outcome changed: how to find them again, and what differs."""

    @property
    def num_queries(self) -> int:
        """All queries."""
        return self.shapes.total()

    def __str__(self) -> str:
        lines = [
            f"{self.num_queries} queries, {self.num_empty} without rows",
            f"of replaced files {self.num_replaced}, in threads {self.num_threaded}",
            f"pruned {self.pruned.total()}, joins filtered {self.probed.total()}",
            f"failed alike {dict(self.failed)}, spared an error {dict(self.spared)}",
        ]
        lines += [
            f"  {shape:10} {count:5} pruned {self.pruned[shape]:5} probed {self.probed[shape]:5}"
            for shape, count in sorted(self.shapes.items())
        ]
        return "\n".join([*lines, f"wrong: {len(self.wrong)}"])


@dataclass(slots=True, kw_only=True)
class Trial:
    """One set of tables, and queries on it."""

    spark: SparkSession
    """A session of its own, in which sides of any size are filtered for joins."""

    folder: Path
    seed: int
    summary: Summary
    rng: random.Random = field(init=False)
    fillings: list[Filling] = field(init=False)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        tables = [
            random_table(self.rng, self.folder / str(self.seed), f"{name}_{self.seed}")
            for name in ("one", "two", "three")
        ]
        self.fillings = [Filling(table=one, rng=self.rng, spark=self.spark) for one in tables]

    def run(self, *, num_queries: int) -> None:
        """Write tables, ask; change files, ask; replace files that Spark has listed, ask."""
        for filling in self.fillings:
            filling.create()
            self._index(filling)
        num_each = num_queries // 3
        self._ask(num_queries - 2 * num_each)
        for filling in self.fillings:
            for _ in range(self.rng.randint(0, 4)):
                filling.change()
            self._refresh(filling)
            for _ in range(self.rng.choice([0, 0, 1, 2])):
                filling.change()
        self._ask(num_each)
        self._list()
        for filling in self.fillings:
            filling.replace()
        self._ask(num_each, is_listed=True)
        for filling in self.fillings:
            filling.table.forget(self.spark)

    def _index(self, filling: Filling) -> None:
        index.create(
            filling.table.folder,
            filling.table.indexable,
            name=INDEX,
            fpp=self.rng.choice([0.001, 0.01, 0.2]),
            origin=self.rng.choice(["values", "values", "embedded", "auto"]),
        )
        filling.story.append("index")

    def _refresh(self, filling: Filling) -> None:
        modes: list[Mode | None] = [None, None, "incremental", "full", "quick"]
        mode = self.rng.choice(modes)
        if mode:
            index.refresh(filling.table.folder, name=INDEX, mode=mode)
            filling.story.append(f"refresh {mode}")

    def _ask(self, count: int, *, is_listed: bool = False) -> None:
        """Ask queries of the files as they are, or as Spark has listed them before."""
        if not is_listed:
            self._list()
        maker = Queries(rng=self.rng, tables=[filling.table for filling in self.fillings])
        queries = [maker.query() for _ in range(count)]
        off = [run(self.spark, query) for query in queries]
        rules.enable(self.spark)
        try:
            on = [self._run_with_rules(query) for query in queries]
        finally:
            rules.disable(self.spark)
        self.summary.num_replaced += count * is_listed
        for query, one, other in zip(queries, off, on, strict=True):
            self._compare(query, one, other)

    def _list(self) -> None:
        """Let Spark list the files of all tables."""
        for name, value in random_settings(random.Random(0)).items():
            self.spark.conf.set(name, value)
        for filling in self.fillings:
            filling.table.register(self.spark)
            if filling.table.reading == "catalog":  # they are listed by the first query
                self.spark.sql(f"SELECT count(*) FROM {filling.table.name}").collect()  # noqa: S608

    def _run_with_rules(self, query: Query) -> Outcome:
        """Run a query here, or in a thread that Spark and its class loaders do not know."""
        if self.rng.random() < 0.5:
            return run(self.spark, query)
        self.summary.num_threaded += 1
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(run, self.spark, query).result()

    def _compare(self, query: Query, off: Outcome, on: Outcome) -> None:
        summary = self.summary
        summary.shapes[query.shape] += 1
        if on.metrics and off.metrics:
            summary.num_empty += not off.rows
            summary.pruned[query.shape] += on.metrics.num_files < off.metrics.num_files
            summary.probed[query.shape] += bool(on.metrics.num_probes)
        if off.is_same(on):
            summary.failed.update([on.error] if on.error else [])
        elif off.error and not on.error:
            summary.spared[off.error] += 1
        elif on.error and not off.error and self._fails_without(query) == on.error:
            summary.failed[on.error] += 1
        else:
            summary.wrong.append(self._told(query, off, on))

    def _fails_without(self, query: Query) -> str:
        """Run a query without rules, in full: an adaptive plan may end before a scan that fails."""
        settings = query.settings | {"spark.sql.adaptive.enabled": "false"}
        return run(self.spark, replace(query, settings=settings)).error

    def _told(self, query: Query, off: Outcome, on: Outcome) -> str:
        settings = "\n".join(f"SET {name}={value};" for name, value in query.settings.items())
        statements = ";\n".join([*query.before, query.sql])
        tables = "\n".join(
            f"{one.table.name} {one.table.reading} {one.table.folder} ({one.table.ddl})\n  "
            + "\n  ".join(one.story)
            for one in self.fillings
        )
        return (
            f"seed {self.seed}: {query.shape}\n{settings}\n{statements}\n"
            f"{_difference(off, on)}\n{tables}"
        )


def _difference(off: Outcome, on: Outcome) -> str:
    if off.rows is None or on.rows is None:
        return f"off: {off.error} {off.text}\non: {on.error} {on.text}"
    lost = list((off.rows - on.rows).items())
    gained = list((on.rows - off.rows).items())
    return (
        f"{off.rows.total()} rows off, {on.rows.total()} on; "
        f"lost {len(lost)}: {lost[:3]}; gained {len(gained)}: {gained[:3]}"
    )
