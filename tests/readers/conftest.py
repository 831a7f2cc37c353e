"""One instance of each engine; Spark takes seconds to start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.readers.engines import ClickHouse, DataFusion, DuckDB, Engine, Spark
from tests.support.spark_session import local_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Return a local Spark that plans little: our queries take no time."""
    settings = {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",  # compiling takes longer than our queries
        "spark.sql.leafNodeDefaultParallelism": "1",
        "spark.sql.shuffle.partitions": "1",
    }
    with local_session(settings) as session:
        yield session


@pytest.fixture(scope="session", params=["duckdb", "datafusion", "chdb", "spark"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Return each engine that uses Bloom filters."""
    if request.param == "spark":
        return Spark(request.getfixturevalue("spark"))
    simple: dict[str, type[Engine]] = {
        "duckdb": DuckDB,
        "datafusion": DataFusion,
        "chdb": ClickHouse,
    }
    return simple[request.param]()
