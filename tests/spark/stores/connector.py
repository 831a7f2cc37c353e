"""Gives a Spark the file system `SmallS3`, in place of Hadoop's own: no package index has that."""

# ruff: noqa: SLF001  objects of the JVM
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from parquet_bloomwriter.spark.adaptor import compiler

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.stores.servers import Store

SOURCES = Path(__file__).parent / "java"


def settings_for(store: Store) -> dict[str, str]:
    """Return what Hadoop's configuration must say to reach a store by `s3a://`."""
    return {
        "fs.s3a.impl": "smalls3.SmallS3",
        "fs.s3a.endpoint": store.endpoint,
        "fs.s3a.access.key": store.access_key,
        "fs.s3a.secret.key": store.secret_key,
        "fs.s3a.path.style.access": "true",
    }


def make_jar(spark: SparkSession, folder: Path) -> str:
    """Compile the file system; return the path of its jar."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiler, "_SOURCES", SOURCES)
        patch.setattr(compiler, "keep", lambda *_: None)
        return compiler.put_jar(spark, str(folder))


def connect(spark: SparkSession, store: Store, bucket: str, folder: Path) -> None:
    """Let the JVM of a local Spark reach a bucket by `s3a://`."""
    load(spark, settings_for(store), f"s3a://{bucket}/", folder)


def load(spark: SparkSession, settings: dict[str, str], url: str, folder: Path) -> None:
    """Let the JVM of a local Spark have the file system of a URL.

    Hadoop keeps a file system for all threads that name its scheme and bucket, so it need not be
    found again by class loaders that do not know it.
    """
    spark.sql(f"ADD JAR '{make_jar(spark, folder)}'")
    for name, value in settings.items():
        spark.conf.set(name, value)
    jvm: Any = spark.sparkContext._jvm
    state: Any = spark._jsparkSession.sessionState()
    configuration = state.newHadoopConf()
    configuration.setClassLoader(spark._jsparkSession.sharedState().jarClassLoader())
    uri = jvm.java.net.URI(url)
    jvm.org.apache.hadoop.fs.FileSystem.get(uri, configuration)
