"""Index, query and rewrite a table at `s3a://` with executors of their own; print what came of it.

python run_cluster.py TABLE OUTPUT EVENTS JAR SETTINGS    SETTINGS: of Hadoop, as JSON
"""

from __future__ import annotations

import json
import os
import sys
import tempfile

from parquet_bloomwriter.spark import BFIndexConfig, Hyperspace, bloomify_table
from tests.spark.metrics import num_files
from tests.support.spark_session import WORKERS, quiet


def main() -> None:
    """Do it."""
    from pyspark.sql import SparkSession

    table, output, events, jar, settings = sys.argv[1:]
    os.environ.update(WORKERS)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        builder = SparkSession.builder.appName("child").config("spark.jars", jar)
        for name, value in quiet(folder, master="local-cluster[2,1,1024]").items():
            builder = builder.config(name, value)
        for name, value in json.loads(settings).items():
            builder = builder.config(f"spark.hadoop.{name}", value)
        builder = builder.config("spark.eventLog.enabled", "true")
        builder = builder.config("spark.eventLog.dir", f"file:{events}")
        builder = builder.config("spark.eventLog.compress", "false")
        spark = builder.getOrCreate()
        hs = Hyperspace(spark)
        report = hs.create_index(table, BFIndexConfig("ids", ["id"], fpp=1e-6))
        hs.enable()
        query = spark.read.parquet(table).where("id = 1003")
        rows = [row.id for row in query.collect()]
        tables = [bloomify_table(spark, table, ["id"], output=one) for one in (output, None)]
        found = {
            "files": report.num_files,
            "rows": rows,
            "opened": num_files(query),
            "tables": [[row.asDict() for row in one.collect()] for one in tables],
            "again": [row.id for row in spark.read.parquet(output).where("id = 1003").collect()],
        }
        spark.stop()
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
