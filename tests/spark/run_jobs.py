"""Run jobs of ours in a process of its own, and print what they say as JSON, a list.

python run_jobs.py MASTER TABLE JOB...    MASTER: local[2], local-cluster[...], connect
                                          JOB: table=, table=OUTPUT, index=HOME, join=FOLDER
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from typing import TYPE_CHECKING

from parquet_bloomwriter.index import api
from parquet_bloomwriter.spark import SparkEngine, bloomify_table, rules
from tests.spark.metrics import metrics_of
from tests.support.spark_session import WORKERS, quiet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def session(master: str, folder: str) -> SparkSession:
    """Start Spark; for "connect" with a local server between."""
    from pyspark.sql import SparkSession

    os.environ.update(WORKERS)
    settings = quiet(folder, master=master)
    builder = SparkSession.builder.appName("child")
    if master == "connect":
        del settings["spark.master"]
        builder = builder.remote("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def run_table(spark: SparkSession, table: str, output: str) -> object:
    """Add filters to a table."""
    report = bloomify_table(spark, table, ["id"], output=output or None)
    return [row.asDict() for row in report.collect()]


def run_index(spark: SparkSession, table: str, home: str) -> object:
    """Make an index of a table."""
    engine = SparkEngine(spark)
    report = api.create(table, ["id"], name="ids", home=home, engine=engine)
    return [engine.num_groups, report.num_files]


def run_join(spark: SparkSession, _table: str, folder: str) -> object:
    """Join two tables, one with an index, without rules and with them."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.conf.set("spark.bloomwriter.join.minBytes", "1")
    for name, step in (("a", 1000), ("b", 7)):
        spark.range(0, 100_000, step).repartition(3).write.parquet(f"{folder}/{name}")
    api.create(f"{folder}/a", ["id"], name="ids")
    counts = []
    for is_on in (False, True):
        (rules.enable if is_on else rules.disable)(spark)
        a, b = (spark.read.parquet(f"{folder}/{name}") for name in "ab")
        df = b.join(a, "id")
        num_rows = len(df.collect())
        point = spark.read.parquet(f"{folder}/a").where("id = 7000")
        counts.append([num_rows, metrics_of(df).num_probes, len(point.collect())])
    return counts


def main() -> None:
    """Do it."""
    master, table, *jobs = sys.argv[1:]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        spark = session(master, folder)
        runs = {"table": run_table, "index": run_index, "join": run_join}
        found = [runs[what](spark, table, place) for what, _, place in map(_parted, jobs)]
        spark.stop()
    sys.stdout.write(json.dumps(found))


def _parted(job: str) -> tuple[str, str, str]:
    return job.partition("=")


if __name__ == "__main__":
    main()
