"""What Iceberg's own implementation makes of tables: run by the Python of `environment`.

Each line of the standard input is a question, in JSON: where the metadata of a table are. Each line
of the standard output is the answer: the rows that Spark sees, by what was done before.
"""

import json
import os
import shutil
import sys
from pathlib import Path

from pyspark.sql import SparkSession

GONE = "id % 7 = 3"
"""The rows that Spark deletes."""


def main() -> None:
    """Answer questions until there are no more."""
    warehouse, *jars = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # What Java prints is no answer.
    catalog = "spark.sql.catalog.java"
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.jars", ",".join(jars))
        .config("spark.driver.extraClassPath", ":".join(jars))
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.session.timeZone", "UTC")
        .config(
            "spark.sql.extensions",
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        )
        .config(catalog, "org.apache.iceberg.spark.SparkCatalog")
        .config(f"{catalog}.type", "hadoop")
        .config(f"{catalog}.warehouse", f"file://{warehouse}")
        .config(f"{catalog}.cache-enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    for line in sys.stdin:
        answers.write(json.dumps(answer(spark, **json.loads(line))) + "\n")
        answers.flush()


def answer(spark: SparkSession, table: str, metadata: str, snapshot: int) -> dict[str, object]:
    """Return the rows of a table at each step.

    Args:
        spark: With the catalog `java`.
        table: Namespace and name.
        metadata: Path of the table's metadata.
        snapshot: The one before filters were added.
    """
    folder = Path(metadata).parent
    shutil.copy(metadata, folder / "v1.metadata.json")
    (folder / "version-hint.text").write_text("1")
    name = f"java.{table}"

    def rows(what: str) -> list[str]:
        found = spark.sql(f"SELECT to_json(struct(*)) AS row FROM {what}").collect()  # noqa: S608
        return sorted(one.row for one in found)

    def call(procedure: str) -> None:
        spark.sql(f"CALL java.system.{procedure}").collect()

    steps = {"before": rows(f"{name} VERSION AS OF {snapshot}"), "now": rows(name)}
    spark.sql(f"DELETE FROM {name} WHERE {GONE}")  # noqa: S608
    steps["deleted"] = rows(name)
    call(f"rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))")
    call(f"rewrite_manifests('{table}')")
    steps["rewritten"] = rows(name)
    call(
        f"expire_snapshots(table => '{table}', older_than => TIMESTAMP '2100-01-01 00:00:00',"
        " retain_last => 1)"
    )
    steps["expired"] = rows(name)
    steps["gone"] = rows(f"{name} WHERE {GONE}")
    files = spark.sql(f"SELECT file_path FROM {name}.all_files").collect()  # noqa: S608
    return {**steps, "files": sorted({one.file_path for one in files})}


if __name__ == "__main__":
    main()
