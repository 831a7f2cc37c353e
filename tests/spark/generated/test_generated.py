"""Answers never change: random tables and queries, with the rules off and on.

`make torture TORTURE_ARGS="--only queries"` does the same for thousands of queries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.spark.both_ways import eager_session
from tests.spark.generated.trials import Summary, Trial

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.shares

SEED, QUERIES = 2, 24


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """Return a session of its own beside the shared one."""
    assert spark is not None
    with eager_session() as own:
        yield own


def test_answers_never_change(session: SparkSession, tmp_path: Path) -> None:
    summary = Summary()
    Trial(spark=session, folder=tmp_path, seed=SEED, summary=summary).run(num_queries=QUERIES)
    assert not summary.wrong, "\n\n".join(summary.wrong[:3])
    # A proof that hardly ever prunes would prove little.
    assert summary.num_queries == QUERIES
    assert summary.pruned.total() >= summary.num_queries * 0.3, summary
    assert summary.probed.total() >= summary.num_queries * 0.05, summary
    assert summary.num_empty <= summary.num_queries * 0.6, summary
    assert summary.failed.total() + summary.spared.total() <= summary.num_queries * 0.05, summary
