"""Thousands of random queries with Spark's rules off and on.

A query that is wrong is found again by its seed: the same seed makes the same tables and queries.
"""

from __future__ import annotations

import logging
import shutil
from typing import TYPE_CHECKING

from tests.spark.both_ways import eager_session
from tests.spark.generated.trials import Summary, Trial
from tests.torture.section import Count, Section, Torture, of_counts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = 5_000
PER_TRIAL = 60
"""Queries of one set of tables."""

TEXT = """
Random tables (types, nulls, partitions, structs) with an index each are asked random queries
(filters, joins of every kind, subqueries, unions) with the optimizer's rules off and on: before and
after files were appended, removed, overwritten and renamed, and after files were replaced that
Spark had listed before. Every second query with the rules on runs in a thread of its own. Whole
results must be equal.
"""


def torture(plan: Torture) -> Section:
    """Run trials until there were enough queries."""
    logging.disable(logging.CRITICAL)
    summary = Summary()
    with eager_session() as spark:
        for seed in range(plan.seed, plan.seed + plan.some(QUERIES // PER_TRIAL)):
            _trial(spark, plan, seed, summary)
    return of_counts(
        "Spark's answers with the index", TEXT, tuple(_counts(summary)), tuple(summary.wrong)
    )


def _trial(spark: SparkSession, plan: Torture, seed: int, summary: Summary) -> None:
    Trial(spark=spark, folder=plan.scratch, seed=seed, summary=summary).run(num_queries=PER_TRIAL)
    shutil.rmtree(plan.scratch / str(seed))
    plan.say(
        f"seed {seed}: {summary.num_queries} queries, {summary.pruned.total()} pruned, "
        f"{summary.probed.total()} joins filtered, {len(summary.wrong)} wrong"
    )


def _counts(summary: Summary) -> list[Count]:
    wrong = len(summary.wrong)
    tried = summary.num_queries
    remark = (
        f"files were left out in {summary.pruned.total():,}, "
        f"rows dropped before a join in {summary.probed.total():,}; "
        f"{summary.num_replaced:,} of replaced files, {summary.num_threaded:,} in other threads"
    )
    return [Count(what="queries", tried=tried, survived=tried - wrong, remark=remark)]
