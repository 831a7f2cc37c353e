"""One instance of each engine; Spark takes seconds to start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.readers.engines import ClickHouse, DataFusion, DuckDB, Engine, Spark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Return a local Spark without web server or catalog."""
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    settings: dict[str, bool | float | int | str | None] = {
        "spark.default.parallelism": "1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(folder),
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",  # compiling takes longer than our queries
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("readers")
    session = builder.config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


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
