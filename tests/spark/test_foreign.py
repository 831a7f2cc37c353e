"""Relations of table formats, which derive from Spark's own classes: the rules leave them alone.

The Java sources in `foreign` are compiled as those of the rules are.
"""

# ruff: noqa: ANN401, SLF001  objects of the JVM
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import index
from parquet_bloomwriter.index.report import Code
from parquet_bloomwriter.spark import rules
from parquet_bloomwriter.spark.adaptor import compiler
from parquet_bloomwriter.spark.rules import session as rules_session
from tests.spark.both_ways import both_ways, eager_session
from tests.spark.metrics import metrics_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

SOURCES = Path(__file__).parent / "foreign"
NUM_FILES = 4
ROWS = 20


@pytest.fixture(scope="module")
def session(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    """Return a session of its own that knows the foreign classes."""
    assert spark is not None
    with eager_session() as own:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiler, "_SOURCES", SOURCES)
            patch.setattr(compiler, "keep", lambda *_: None)
            jar = compiler.put_jar(own, str(tmp_path_factory.mktemp("jar")))
        own.sql(f"ADD JAR '{jar}'")
        yield own


@pytest.fixture
def table(session: SparkSession, tmp_path: Path) -> DataFrame:
    """Return a plain read of files whose column `b` is `a` + 1,000,000; every other is hidden."""
    folder = tmp_path / "t"
    folder.mkdir()
    for i in range(NUM_FILES):
        ids = [i + NUM_FILES * j for j in range(ROWS)]
        columns = {"a": ids, "b": [1_000_000 + one for one in ids]}
        columns["hidden"] = [j % 2 == 1 for j in range(ROWS)]
        pq.write_table(pa.table(columns), folder / f"{i}.parquet")
    index.create(folder, ["a", "b"], name="both", fpp=1e-6)
    return session.read.parquet(str(folder))


@pytest.fixture
def others(session: SparkSession, tmp_path: Path) -> DataFrame:
    """Return keys, among them all values of `a` and `b`."""
    keys = pa.array([*range(1000), *range(1_000_000, 1_001_000)], pa.int64())
    pq.write_table(pa.table({"k": keys}), tmp_path / "others.parquet")
    return session.read.parquet(str(tmp_path / "others.parquet"))


def foreign(session: SparkSession, name: str, *arguments: object) -> Any:
    """Make an object of a foreign class."""
    gateway: Any = session.sparkContext._gateway
    loader = session._jsparkSession.sharedState().jarClassLoader()
    kind = gateway.jvm.java.lang.Class.forName(f"foreign.{name}", True, loader)  # noqa: FBT003  Java's
    parameters = gateway.new_array(gateway.jvm.java.lang.Object, len(arguments))
    for i, argument in enumerate(arguments):
        parameters[i] = argument
    return kind.getConstructors()[0].newInstance(parameters)


def relation_of(df: DataFrame) -> Any:
    return df._jdf.queryExecution().analyzed().relation()


def with_parts(df: DataFrame, *, format_: Any = None, location: Any = None) -> DataFrame:
    """Return a plain read with another format or FileIndex."""
    from pyspark.sql import DataFrame

    session, relation = df.sparkSession, relation_of(df)
    jvm: Any = session.sparkContext._jvm
    other = jvm.org.apache.spark.sql.execution.datasources.HadoopFsRelation(
        relation.location() if location is None else location,
        relation.partitionSchema(),
        relation.dataSchema(),
        relation.bucketSpec(),
        relation.fileFormat() if format_ is None else format_,
        relation.options(),
        relation.sparkSession(),
    )
    return DataFrame(session._jsparkSession.baseRelationToDataFrame(other), session)


@pytest.fixture
def swapped(session: SparkSession, table: DataFrame) -> DataFrame:
    """Return a read by a subclass of Spark's Parquet format that swaps `a` and `b`."""
    return with_parts(table, format_=foreign(session, "SwappedFormat"))


@pytest.fixture
def hiding(session: SparkSession, table: DataFrame) -> Iterator[DataFrame]:
    """Return a read by a FileIndex of another class; a rule hides rows of it."""
    present = rules_session._all_rules(session)
    rules_session._set_rules(session, [*present, foreign(session, "HidingRule")])
    location = foreign(session, "HidingIndex", relation_of(table).location())
    yield with_parts(table, location=location)
    rules_session._set_rules(session, [])


def put_our_rules_first(session: SparkSession) -> None:
    """Let ours see relations that no other rule has seen."""
    experimental = session._jsparkSession.experimental()
    set_rules = getattr(experimental, "extraOptimizations_$eq")
    set_rules(experimental.extraOptimizations().reverse())


def check_reasons(df: DataFrame, rule: str, named: str) -> None:
    """Check that why_not tells which class is the reason."""
    found = [one for one in rules.trace(df) if one.rule == rule]
    reasons = [one.reason for one in found if one.reason]
    assert [one.index for one in found] == ["both"]
    assert [one.code for one in reasons] == [Code.UNSUPPORTED_RELATION]
    assert named in reasons[0].text


def test_columns_that_a_subclass_swaps(session: SparkSession, swapped: DataFrame) -> None:
    swapped.createOrReplaceTempView("swapped")
    for condition in ("a = 1000005", "b = 5", "a = 1000005 AND b = 5"):
        found = both_ways(session, f"SELECT * FROM swapped WHERE {condition}")  # noqa: S608
        assert found.rows.total() == 1
        assert found.files == (NUM_FILES, NUM_FILES)
    check_reasons(swapped.where("b = 5"), "PushDownBFIndexRule", "foreign.SwappedFormat")


@pytest.mark.parametrize("is_left", [True, False])
@pytest.mark.parametrize("how", ["inner", "left_semi"])
def test_joins_on_columns_that_a_subclass_swaps(
    session: SparkSession, swapped: DataFrame, others: DataFrame, how: str, *, is_left: bool
) -> None:
    keys = others.where("k >= 1000000")  # what the column "a" is read as
    condition = keys.k == swapped.a
    sides = (swapped, keys) if is_left else (keys, swapped)
    joined = sides[0].join(sides[1], condition, how)
    found = both_ways(session, lambda _: sides[0].join(sides[1], condition, how))
    assert found.rows.total() == NUM_FILES * ROWS
    if not is_left:
        check_reasons(joined, "JoinBFIndexRule", "foreign.SwappedFormat")


def test_rows_that_a_subclass_reads_may_be_dropped_by_their_keys(
    session: SparkSession, swapped: DataFrame, table: DataFrame
) -> None:
    """The filter of a plain read is asked for the values that Spark has read."""
    few = table.where("a >= 0")
    found = both_ways(session, lambda _: swapped.join(few, swapped.a == few.b))
    assert (found.rows.total(), found.on.num_probes) == (NUM_FILES * ROWS, 1)
    found = both_ways(session, lambda _: swapped.join(few, swapped.b == few.b))
    assert found.rows.total() == 0


def test_rows_that_another_listing_hides(session: SparkSession, hiding: DataFrame) -> None:
    def shown(condition: str) -> tuple[int, int]:
        df = hiding.where(condition)
        return len(df.collect()), metrics_of(df).num_files

    conditions = ["a = 0", "a = 4", "b IN (1000003, 1000007)"]
    expected = [(1, NUM_FILES), (0, NUM_FILES), (1, NUM_FILES)]
    assert [shown(one) for one in conditions] == expected
    rules.enable(session)
    put_our_rules_first(session)
    try:
        assert [shown(one) for one in conditions] == expected
        check_reasons(hiding.where("a = 4"), "PushDownBFIndexRule", "foreign.HidingIndex")
    finally:
        rules.disable(session)


def test_joins_with_rows_that_another_listing_hides(
    session: SparkSession, hiding: DataFrame, others: DataFrame
) -> None:
    joined = others.join(hiding, others.k == hiding.a)
    expected = sorted(joined.collect())
    assert len(expected) == NUM_FILES * ROWS // 2
    rules.enable(session)
    put_our_rules_first(session)
    try:
        again = others.join(hiding, others.k == hiding.a)
        assert sorted(again.collect()) == expected
        check_reasons(again, "JoinBFIndexRule", "foreign.HidingIndex")
    finally:
        rules.disable(session)


def test_plain_reads_are_pruned_beside_them(session: SparkSession, table: DataFrame) -> None:
    again = with_parts(table)
    found = both_ways(session, lambda _: again.where("a = 4"))
    assert (found.rows.total(), found.files) == (1, (NUM_FILES, 1))
