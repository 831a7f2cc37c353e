"""A Spark Connect server: writes its port to standard output, and ends with standard input."""

from __future__ import annotations

import sys
from typing import Any

from pyspark.sql import SparkSession

from tests.support.spark_session import quiet

PLUGIN = "org.apache.spark.sql.connect.SparkConnectPlugin"
SERVICE = "org.apache.spark.sql.connect.service.SparkConnectService$"


def main(folder: str) -> None:
    builder = SparkSession.builder.appName("connect")
    settings = quiet(folder) | {
        "spark.plugins": PLUGIN,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",  # any that is free
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    java: Any = spark.sparkContext._jvm  # noqa: SLF001  no other way to the port
    print("port", getattr(getattr(java, SERVICE), "MODULE$").localPort(), flush=True)  # noqa: T201
    sys.stdin.read()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
