"""What a client of Spark Connect does with an index, step by step; it prints what came out."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.spark import BFIndexConfig, Hyperspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame


def main(remote: str, table: str) -> dict[str, object]:
    spark = SparkSession.builder.remote(remote).getOrCreate()
    hs = Hyperspace(spark)
    df = spark.read.parquet(table)
    report = hs.create_index(df, BFIndexConfig("ids", ["id", "name"], fpp=1e-4))
    facts: dict[str, object] = {
        "session": type(spark).__module__,
        "created": [report.num_files, len(report.unindexed), str(report.state)],
        "indexes": [[row.name, row.state, row.indexedColumns] for row in hs.indexes().collect()],
        "enable": _told(hs.enable),
        "is_enabled": hs.is_enabled(),
        "explain": _told(lambda: hs.explain(df)),
    }
    spoilt = _spoil(Path(table), but="p=1/0003 é.parquet")
    facts["spoilt"] = spoilt
    facts["unpruned"] = _told(df.filter("id = 31").collect)
    facts["where"] = _rows(df.transform(hs.where("id = 31")))
    facts["typed"] = _rows(df.transform(hs.where([("name", "in", ["n31", "n32"])])))
    facts["partition"] = _rows(df.transform(hs.where("p = 1 AND NAME = 'n31'")))
    facts["above"] = _rows(df.filter("id > 5").alias("a").transform(hs.where("id = 31")))
    facts["globbed"] = _rows(spark.read.parquet(f"{table}/p=*").transform(hs.where("id = 31")))
    relative = spark.read.parquet(os.path.relpath(table))
    facts["relative"] = _rows(relative.transform(hs.where("id = 31")))
    facts["quick"] = _quick(df, hs, Path(table))
    facts["kept"] = {name: _codes(make(df), hs) for name, make in _NO_READS.items()}
    facts["explained"] = hs.where("id = 31").explain(df)
    return facts


def _view(df: DataFrame) -> DataFrame:
    df.createOrReplaceTempView("seen")
    return df.sparkSession.table("seen")


_NO_READS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "renamed": lambda df: df.withColumnRenamed("id", "x").withColumnRenamed("p", "id"),
    "replaced": lambda df: df.selectExpr("p AS id"),
    "selected": lambda df: df.select("id"),
    "limited": lambda df: df.limit(3),
    "sql": lambda df: df.sparkSession.sql("SELECT 31 AS id"),
    "table": _view,
}


def _codes(df: DataFrame, hs: Hyperspace) -> list[str]:
    where = hs.where("id = 31")
    assert where.exclusion(df).keys == ()
    return [str(one.reason and one.reason.code) for one in where.decisions(df)]


def _quick(df: DataFrame, hs: Hyperspace, root: Path) -> list[object]:
    """Append a file, look for it; refresh, look again."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {"id": pa.array([1000], pa.int64()), "name": ["new"]}
    pq.write_table(pa.table(columns), root / "p=1" / "new")
    after = df.sparkSession.read.parquet(str(root))
    found = [_rows(after.transform(hs.where("id = 1000")))]
    hs.refresh_index("ids", "quick")
    info = hs.index("ids").first()
    assert info is not None
    return [
        *found,
        _rows(after.transform(hs.where("id = 1001"))),
        [info.numFiles, info.appendedFiles],
    ]


def _rows(df: DataFrame) -> dict[str, object]:
    rows = sorted(tuple(row) for row in df.collect())
    return {"rows": rows, "num_files": _num_files(df)}


def _num_files(df: DataFrame) -> int:
    """Files that the server's scans read: metrics come with the answer."""
    execution: Any = df.executionInfo
    metrics = [one for node in execution.metrics._metrics for one in node.metrics]  # noqa: SLF001
    return sum(int(one.value) for one in metrics if one.name == "numFiles")


def _spoil(table: Path, *, but: str) -> list[str]:
    """Overwrite files with zeros, so that reading one fails, and keep their size and time."""
    spoilt = []
    for path in sorted(table.glob("p=*/*")):
        name = str(path.relative_to(table))
        if name == but or path.name.startswith("0000"):  # Spark takes the schema from the first
            continue
        stat = path.stat()
        path.write_bytes(bytes(stat.st_size))
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        spoilt.append(name)
    return spoilt


def _told(do: Callable[[], object]) -> str:
    """The error of what must fail."""
    try:
        do()
    except InvalidArgument as error:
        return str(error)
    except Exception as error:  # noqa: BLE001  Spark's
        return type(error).__name__
    return "no error"


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))  # noqa: T201
