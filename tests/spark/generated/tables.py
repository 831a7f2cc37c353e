"""Random tables: their columns and partitions, and how they are read.

reading     schema     a view of `spark.read.schema(...)`: files may have narrower types, lack
                       columns, have them in another order or in other letter case
            catalog    CREATE TABLE ... USING parquet LOCATION, of files as above
            inferred   a view of `spark.read.parquet(...)`: all files have one schema
            path       parquet.`...`, likewise
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tests.spark.generated.values import KINDS, Kind

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from pyspark.sql import SparkSession

Reading = Literal["schema", "catalog", "inferred", "path"]

ROW = "rid"
"""A column that every table has: a number that no other row of it has."""

NEST = "nest"
NEST_SQL = "struct<a: bigint, b: string, deep: struct<c: int>>"

_ALWAYS = ("int", "long", "text")
_NAMES = ("{}", "{}", "{}", "My{}", "a {}", "x.{}", "%{}#", "é{}")
_FOLDERS = ("plain", "with space", "50%25", "a#b", "ünï")
_PARTITIONS = {
    "int": (None, -3, 1, 2, 7),
    "text": (None, "a", "b b", "x/y", "50%", "#[1]", "ä=ö"),
    "day": (None, *KINDS["day"].pool[3:7]),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Something of a table that queries can name."""

    sql: str
    """How SQL names it, without the table: a quoted name, or a field of a struct."""

    kind: Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table; its files come from `files.py`."""

    name: str
    folder: Path
    reading: Reading
    names: dict[str, Kind]
    """Stored columns but for `ROW` and `NEST`."""

    partitions: dict[str, Kind]
    partition_values: dict[str, tuple[object, ...]]
    """Values that folders may have."""

    is_mixed: bool
    """Whether files have columns of narrower types, and lack columns."""

    has_int96: bool
    """Whether Spark writes TIMESTAMP as INT96, of which there is no index."""

    @property
    def is_uniform(self) -> bool:
        """Whether all files must have one schema."""
        return self.reading in {"inferred", "path"}

    @property
    def columns(self) -> tuple[Column, ...]:
        """All that queries can name."""
        return (
            Column(sql=ROW, kind=KINDS["long"]),
            *(Column(sql=quoted(name), kind=kind) for name, kind in self.names.items()),
            Column(sql=f"{NEST}.a", kind=KINDS["long"]),
            Column(sql=f"{NEST}.b", kind=KINDS["text"]),
            Column(sql=f"{NEST}.deep.c", kind=KINDS["int"]),
            *(Column(sql=quoted(name), kind=kind) for name, kind in self.partitions.items()),
        )

    @property
    def indexable(self) -> tuple[str, ...]:
        """Dotted paths of the columns that an index can have."""
        bad = {"flag", *(["ltz"] if self.has_int96 else [])}
        plain = [name for name, kind in self.names.items() if kind.name not in bad]
        return (ROW, *plain, f"{NEST}.a", f"{NEST}.b", f"{NEST}.deep.c")

    @property
    def relation(self) -> str:
        """The table as SQL names it after FROM."""
        return f"parquet.{quoted(str(self.folder))}" if self.reading == "path" else self.name

    @property
    def ddl(self) -> str:
        """Its columns as SQL declares them."""
        fields = [f"{ROW} bigint", *_fields(self.names), f"{NEST} {NEST_SQL}"]
        return ", ".join(fields + _fields(self.partitions))

    def register(self, spark: SparkSession) -> None:
        """Let SQL name it, with the files that it has now."""
        if self.reading == "schema":
            spark.read.schema(self.ddl).parquet(str(self.folder)).createOrReplaceTempView(self.name)
        elif self.reading == "inferred":
            spark.read.parquet(str(self.folder)).createOrReplaceTempView(self.name)
        elif self.reading == "catalog":
            self._create(spark)

    def forget(self, spark: SparkSession) -> None:
        """Undo `register`."""
        if self.reading == "catalog":
            spark.sql(f"DROP TABLE {self.name}")
        elif self.reading != "path":
            spark.catalog.dropTempView(self.name)

    def _create(self, spark: SparkSession) -> None:
        spark.sql(f"DROP TABLE IF EXISTS {self.name}")
        by = ", ".join(quoted(name) for name in self.partitions)
        partitioned = f"PARTITIONED BY ({by})" if by else ""
        location = str(self.folder).replace("'", "\\'")
        spark.sql(
            f"CREATE TABLE {self.name} ({self.ddl}) USING parquet {partitioned} "
            f"LOCATION '{location}'"
        )
        if by:
            spark.sql(f"MSCK REPAIR TABLE {self.name}")


def random_table(rng: random.Random, folder: Path, name: str) -> Table:
    """Return a table of random columns, without files."""
    others = rng.sample([kind for kind in KINDS if kind not in _ALWAYS], rng.randint(3, 6))
    reading: Reading = rng.choice(["schema", "schema", "catalog", "catalog", "inferred", "path"])
    names = {rng.choice(_NAMES).format(kind): KINDS[kind] for kind in (*_ALWAYS, *others)}
    by = rng.sample(sorted(_PARTITIONS), rng.choice([0, 0, 1, 1, 2]))
    return Table(
        name=name,
        folder=folder / f"{name} {rng.choice(_FOLDERS)}",
        reading=reading,
        names=names,
        partitions={f"p_{kind}": KINDS[kind] for kind in by},
        partition_values={
            f"p_{kind}": tuple(rng.sample(_PARTITIONS[kind], rng.randint(2, 3))) for kind in by
        },
        is_mixed=rng.random() < 0.5,
        has_int96=reading != "path" and rng.random() < 0.25,
    )


def quoted(name: str) -> str:
    """Quote a name for SQL."""
    return "`" + name.replace("`", "``") + "`"


def _fields(names: dict[str, Kind]) -> list[str]:
    return [f"{quoted(name)} {kind.sql}" for name, kind in names.items()]
