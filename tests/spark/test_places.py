"""Samples and random expressions draw by a row's place, so nothing is left out below them."""

# ruff: noqa: S608  SQL is composed from the tests' own constants
from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import index
from parquet_bloomwriter.index.report import Code
from parquet_bloomwriter.spark import rules
from tests.spark.both_ways import both_ways, eager_session, set_for_now
from tests.support.draws import drawn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

NUM_FILES = 8
ROWS = 40
ONE_FILE_EACH = {
    "spark.sql.files.maxPartitionBytes": "10000",
    "spark.sql.files.openCostInBytes": "10000",
}
"""As in a table of large files: every file is a partition."""


@pytest.fixture(scope="module")
def session(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    """Return a session of its own with views of two tables, each value of `id` in one file."""
    assert spark is not None
    folder = tmp_path_factory.mktemp("places")
    with eager_session() as own:
        for name in "ab":
            (folder / name).mkdir()
            for i in range(NUM_FILES):
                ids = [(i * 7 + NUM_FILES * (j // 4)) * 1_000_003 for j in range(ROWS)]
                data = {"id": pa.array(ids, pa.int64()), "n": pa.array(range(ROWS), pa.int64())}
                pq.write_table(pa.table(data), folder / name / f"{i}.parquet")
            index.create(folder / name, ["id"], name=f"ids_{name}")
            own.read.parquet(str(folder / name)).createOrReplaceTempView(name)
        yield own


IDS = ", ".join(str((i * 7 + NUM_FILES * 3) * 1_000_003) for i in (5, 6, 7))
WHERE = f"id IN ({IDS})"


DRAWS = [
    f"SELECT *, rand(7) AS r FROM a WHERE {WHERE}",
    f"SELECT *, randn(7) AS r FROM a WHERE {WHERE}",
    f"SELECT id, n FROM a WHERE {WHERE} AND rand(7) < 0.5",
    f"SELECT * FROM (SELECT * FROM a WHERE {WHERE}) TABLESAMPLE (50 PERCENT) REPEATABLE (7)",
    f"SELECT *, spark_partition_id() AS p FROM a WHERE {WHERE}",
    f"SELECT *, monotonically_increasing_id() AS m FROM a WHERE {WHERE}",
    f"SELECT id, r FROM (SELECT id, rand(7) AS r FROM a WHERE {WHERE}) WHERE r < 0.5",
]


def test_what_draws_by_place_gives_the_same_with_rules(session: SparkSession) -> None:
    """The rows of a few are compared, others in each run."""
    compared = drawn(DRAWS, 3)
    with set_for_now(session, ONE_FILE_EACH):
        for sql in DRAWS:
            if sql in compared:
                assert both_ways(session, sql).files == (NUM_FILES, NUM_FILES)
            codes = {one.reason.code for one in rules.trace(session.sql(sql)) if one.reason}
            assert Code.DEPENDS_ON_PLACE in codes, sql


def test_a_random_expression_above_a_join_leaves_both_sides(session: SparkSession) -> None:
    sql = "SELECT a.id, a.n, b.n, rand(7) AS r FROM a JOIN b ON a.id = b.id AND a.n = b.n"
    with set_for_now(session, ONE_FILE_EACH):
        assert both_ways(session, sql).on.num_probes == 0
        (decision,) = {one.reason.code for one in rules.trace(session.sql(sql)) if one.reason}
    assert decision is Code.DEPENDS_ON_PLACE


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT input_file_name() AS f, id FROM a WHERE {WHERE}",
        f"SELECT sort_array(collect_list(n)) AS l FROM a WHERE {WHERE}",
        f"SELECT id, first(id) AS f FROM a WHERE {WHERE} GROUP BY id",
        f"SELECT id, r FROM a JOIN (SELECT id, rand(7) AS r FROM b) USING (id) WHERE {WHERE}",
    ],
)
def test_other_expressions_and_other_branches_are_no_hindrance(
    session: SparkSession, sql: str
) -> None:
    found = both_ways(session, sql)
    assert found.on.num_files < found.off.num_files


def test_exists_in_an_or_is_no_error_and_drops_rows_of_the_inner_side(
    session: SparkSession,
) -> None:
    sql = (
        "SELECT a.id, a.n FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.id = a.id AND b.n > 30) "
        "OR a.n = 3"
    )
    found = both_ways(session, sql)
    assert found.on.num_probes == 1
    decisions = rules.trace(session.sql(sql))
    assert [one.rule for one in decisions if one.was_used] == ["JoinBFIndexRule"]
    assert not [one for one in decisions if one.reason and one.reason.code is Code.INTERNAL_ERROR]


def test_rows_are_dropped_below_the_join_of_an_exists(session: SparkSession) -> None:
    sql = (
        "SELECT x.id, b.n FROM (SELECT * FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.n = a.n) "
        "OR a.n = 3) x JOIN b ON x.id = b.id"
    )
    assert both_ways(session, sql).on.num_probes >= 1


SHUFFLED_INTO_FOUR = {**ONE_FILE_EACH, "spark.sql.shuffle.partitions": "4"}
SUBQUERY = f"SELECT n FROM b WHERE {WHERE}"
JOINED = f"SELECT * FROM a WHERE n IN ({SUBQUERY})"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT *, rand(7) AS r FROM a WHERE n IN ({SUBQUERY})",
        f"SELECT *, rand(7) AS r FROM a WHERE EXISTS ({SUBQUERY} AND b.n = a.n)",
        f"SELECT * FROM ({JOINED}) TABLESAMPLE (50 PERCENT) REPEATABLE (7)",
    ],
)
def test_subqueries_that_become_joins_are_left_below_a_draw(
    session: SparkSession, sql: str
) -> None:
    with set_for_now(session, SHUFFLED_INTO_FOUR):
        found = both_ways(session, sql)
    assert found.files == (2 * NUM_FILES, 2 * NUM_FILES)


@pytest.mark.parametrize(
    "sql",
    [
        JOINED,
        f"SELECT id FROM a WHERE n > (SELECT max(n) - 9 FROM ({SUBQUERY}))",
        f"SELECT *, rand(7) AS r FROM a WHERE n > (SELECT max(n) - 9 FROM ({SUBQUERY}))",
    ],
)
def test_subqueries_that_no_draw_depends_on_are_pruned(session: SparkSession, sql: str) -> None:
    with set_for_now(session, ONE_FILE_EACH):
        both_ways(session, sql)
        decisions = rules.trace(session.sql(sql))
    (used,) = [one for one in decisions if one.was_used and one.rule == "PushDownBFIndexRule"]
    assert used.relation.endswith("/b")
    assert (used.num_files, used.num_kept) == (NUM_FILES, 3)
