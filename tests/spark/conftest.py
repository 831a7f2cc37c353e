"""Spark as its users have it, but that it generates no code: that takes longer than our queries.

Tests that need the generated code unset `INTERPRETED`. What is scanned or shuffled is one task, as
each costs more than the rows that tests have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.spark_session import local_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

FEW_TASKS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.files.minPartitionNum": "1",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Return a local Spark of two cores, with a session of its own."""
    with local_session(INTERPRETED | FEW_TASKS) as session:
        yield session
