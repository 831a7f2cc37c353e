"""Run jobs of ours in a process of its own, and print what they say as JSON, a list.

python run_jobs.py MASTER TABLE JOB...    MASTER: local[2], local-cluster[...], connect
                                          JOB: table=, table=OUTPUT, index=HOME
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from typing import TYPE_CHECKING

from parquet_bloomwriter.index import actions
from parquet_bloomwriter.spark import SparkEngine, bloomify_table
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
    report = actions.create(table, ["id"], name="ids", home=home, engine=engine)
    return [engine.num_groups, report.num_files]


def main() -> None:
    """Do it."""
    master, table, *jobs = sys.argv[1:]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        spark = session(master, folder)
        runs = {"table": run_table, "index": run_index}
        found = [runs[what](spark, table, place) for what, _, place in map(_parted, jobs)]
        spark.stop()
    sys.stdout.write(json.dumps(found))


def _parted(job: str) -> tuple[str, str, str]:
    return job.partition("=")


if __name__ == "__main__":
    main()
