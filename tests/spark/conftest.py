"""Spark as its users have it: whole-stage code generation and adaptive execution are on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.spark_session import local_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Return a local Spark of two cores, with a session of its own."""
    with local_session({}) as session:
        yield session
