"""Conditions over a table with one row in each file: whatever can be left out is, and no more."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal as D  # noqa: N817  there are many
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F  # noqa: N812  everybody's name for it

from parquet_bloomwriter import index
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.index.report import Code
from parquet_bloomwriter.spark import rules
from parquet_bloomwriter.spark.connect.where import Where
from tests.spark.metrics import metrics_of
from tests.support.draws import drawn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

TYPES = {
    "id": pa.int64(),
    "tiny": pa.int8(),
    "whole": pa.int32(),
    "price": pa.decimal128(10, 2),
    "large": pa.decimal128(38, 10),
    "ratio": pa.float64(),
    "part": pa.float32(),
    "name": pa.string(),
    "blob": pa.binary(),
    "day": pa.date32(),
    "at": pa.timestamp("us", "UTC"),
    "clock": pa.timestamp("us"),
    "s": pa.struct({"x": pa.int64(), "id": pa.int64(), "Deep": pa.int32()}),
    "date": pa.int64(),
}
ROWS: list[list[Any]] = [
    [0, 0, 0, D("0.00"), D(0), 0.0, 0.0, "", b"", date(2024, 1, 1), 0, 0, 1, 1],
    [1, 1, 1, D("1.00"), D(1), -0.0, -0.0, "a", b"a", date(1500, 2, 3), 1, 1, 2, 2],
    [
        2,
        -1,
        42,
        D("42.00"),
        D("42.0000000001"),
        0.1,
        0.1,
        "A",
        b"\x00\xff",
        date(1899, 1, 1),
        2,
        2,
        3,
        3,
    ],
    [3, 42, 16777217, D("1.20"), D("1.2"), 1.5, 1.5, "a ", b"id", date(1970, 1, 1), 3, 3, 4, 4],
    [4, 100, -5, D("0.01"), D("42.5"), 42.0, 42.0, "it's", b"a ", date(2024, 3, 31), 4, 4, 5, 5],
    [2**53, 5, 7, D("-1.00"), D(2**53 + 1), 2.0**53, 16777216.0, "a\\b", b"a\\b", None, 5, 5, 6, 6],
    [
        2**53 + 1,
        6,
        8,
        D("99999999.99"),
        None,
        float("nan"),
        float("nan"),
        "42",
        b"42",
        None,
        6,
        6,
        7,
        7,
    ],
    [-(2**63), 7, 9, None, None, float("inf"), None, "name", b"name", None, 7, 7, 8, 8],
    [None, None, None, None, None, None, None, None, None, None, None, None, None, None],
]
DAY = 86_400_000_000


def one_row(values: list[Any]) -> pa.Table:
    row = dict(zip(TYPES, values, strict=True))
    micros = None if row["at"] is None else 1_704_067_200_000_000 + row["at"] * DAY
    if micros is not None:
        row |= {
            "at": micros,
            "clock": micros,
            "s": {"x": row["s"], "id": -row["s"], "Deep": row["s"]},
        }
    return pa.table({name: pa.array([row[name]], type_) for name, type_ in TYPES.items()})


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("rows") / "t"
    root.mkdir()
    for number, values in enumerate(ROWS):
        pq.write_table(one_row(values), root / f"{number}.parquet")
    leaves = [name for name in TYPES if name != "s"] + ["s.x", "s.Deep"]
    index.create(root, leaves, name="all", fpp=1e-6)
    return root


@pytest.fixture(params=["true", "false"], ids=["ansi", "not ansi"])
def session(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    spark.conf.set("spark.sql.ansi.enabled", request.param)
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.unset("spark.sql.ansi.enabled")


PRUNING = [
    "id = 2",
    "id = 2.0",
    "id = '2'",
    "2 = id",
    "id = 9007199254740993",
    "id = 2.5",
    "ID IN (0, 1, 77)",
    "id = 2 AND length(name) > 0",
    "id = 2 OR id = 3",
    "NOT (id != 2)",
    "id <=> 2",
    "id = NULL",
    "tiny = 42",
    "tiny = 300",
    "whole = 42.00",
    "price = 42",
    "price = 1.2",
    "price = 1.205",
    "large = 42",
    "large = 42.5",
    "ratio = 42",
    "ratio = 0",
    "ratio = 0.1",
    "part = 1.5",
    "part = 0",
    "name = 'a'",
    "name = 'a '",
    "name = ''",
    "name IN ('A', 'b')",
    "blob = X'00ff'",
    "blob = X''",
    "day = DATE '2024-01-01'",
    "day = '2024-03-31'",
    "at = '2024-01-02T00:00:00Z'",
    "clock = '2024-01-02 00:00:00'",
    "s.x = 2",
    "S.deep = 3",
    "date = 2",
]
NOT_PRUNING = [
    "1 = 0",
    "id = 1 + 1",
    "id > 0",
    "id != 2",
    "NOT id = 2",
    "id IS NULL",
    "id = 2 OR length(name) = 1",
    "id = 9007199254740992.0",
    "id = 2.0000000000000001",
    "whole = '42.0'",
    "ratio = CAST('NaN' AS DOUBLE)",
    "ratio = '0.1'",
    "ratio = 9007199254740993",
    "part = 16777217",
    "price = '1.2'",
    "large = 42.00000000001",
    "large = 12345678901234567890",
    "name = 42",
    "name = 'it''s'",
    r"name = 'a\\b'",
    'name = "a"',
    "\"name\" = 'name'",
    "name = r'a\\b'",
    "name COLLATE UTF8_LCASE = 'a'",
    "rtrim(name) = 'a'",
    "blob = 'id'",
    "day = DATE '1500-02-03'",
    "day = '1500-02-13'",
    "day = DATE '1899-01-01'",
    "day = TIMESTAMP '2024-01-01 00:00:00'",
    "at = TIMESTAMP '2024-01-01 19:00:00'",
    "at = '2024-01-01 19:00:00'",
    "at = TIMESTAMP '2024-01-02 02:00:00+02:00'",
    "at = DATE '2024-01-02'",
    "clock = TIMESTAMP '2024-01-02 00:00:00'",
    "clock = DATE '2024-01-02'",
    "s.id = -2",
    "CASE WHEN id = 2 THEN true END",
    "id = (SELECT 2)",
    "1 = 1",
]


def test_whatever_can_be_left_out_is_and_no_file_with_a_row(
    session: SparkSession, rows: Path
) -> None:
    df = session.read.parquet(str(rows))
    columns = [f"({text}) AS c{number}" for number, text in enumerate(PRUNING)]
    truth = df.selectExpr("_metadata.file_path", *columns).collect()
    expected, left_out = {}, {}
    for number, text in enumerate(PRUNING):
        expected[text] = {row.file_path for row in truth if not row[f"c{number}"]}
        left_out[text] = {key.split("|")[0] for key in Where(filters=text).exclusion(df).keys}
    assert left_out == expected
    assert len(truth) == len(ROWS)


def test_conditions_of_which_nothing_is_certain_leave_no_file_out(
    session: SparkSession, rows: Path
) -> None:
    df = session.read.parquet(str(rows))
    for text in NOT_PRUNING:
        exclusion = Where(filters=text).exclusion(df)
        assert exclusion.keys == (), text
        (decision,) = exclusion.decisions
        assert decision.reason is not None
        assert decision.reason.code in (Code.NO_USABLE_CONDITION, Code.NOTHING_EXCLUDED), text


LISTS: list[tuple[Any, list[int | None]]] = [
    ([("id", "=", 2)], [2]),
    ([[("id", "in", [0, 1])], [("name", "=", "it's")]], [0, 1, 4]),
    ([("name", "=", "a\\b")], [2**53]),
    ([("name", "not in", ["a", "A"]), ("tiny", "<", 6)], [0, 2**53]),
    ([("price", "==", D("1.20"))], [3]),
    ([("ratio", "=", 1.5)], [3]),
    ([("blob", "=", b"\x00\xff")], [2]),
    ([("day", "=", date(2024, 1, 1))], [0]),
    ([("at", "=", datetime(2024, 1, 2, tzinfo=UTC))], [1]),
    ([("clock", "=", datetime(2024, 1, 2))], [1]),  # noqa: DTZ001  naive on purpose
    ([(("s", "x"), "=", 3)], [2]),
    ([("id", "in", [])], []),
    ([("id", "in", [None, 2])], [None, 2]),
    ([("id", "=", None)], []),
]


def test_lists_are_conditions(spark: SparkSession, rows: Path) -> None:
    for filters, ids in LISTS:
        df = spark.read.parquet(str(rows)).transform(Where(filters=filters))
        found = [row.id for row in df.collect()]
        assert (filters, sorted(found, key=str)) == (filters, sorted(ids, key=str))


def test_lists_leave_files_out(spark: SparkSession, rows: Path) -> None:
    df = spark.read.parquet(str(rows)).transform(Where(filters=[("name", "=", "it's")]))
    assert [row.id for row in df.collect()] == [4]
    assert metrics_of(df).num_files == 1


@pytest.mark.parametrize("filters", [[], 5, [("id", "~", 5)], [("id", "=", object())]])
def test_lists_without_a_meaning_are_refused(
    spark: SparkSession, rows: Path, filters: object
) -> None:
    with pytest.raises(InvalidArgument):
        spark.read.parquet(str(rows)).transform(Where(filters=filters))


# Values that Spark shows otherwise than they are stored.

CENTS = pa.array([D("42.00")], pa.decimal128(18, 2))
FEW_CENTS = pa.array([D("42.00")], pa.decimal128(5, 2))
EXACT = pa.array([D("42.005")], pa.decimal128(18, 3))


SHOWN = [
    (CENTS, "BIGINT", "x = 4200", "true"),
    (FEW_CENTS, "INT", "x = 4200", "true"),
    (FEW_CENTS, "DOUBLE", "x = 4200", "true"),
    (pa.array([200], pa.uint8()), "TINYINT", "x = -56", "true"),
    (pa.array([2**32 - 1], pa.uint32()), "INT", "x = -1", "false"),
    (pa.array([date(2024, 1, 1)]), "INT", "x = 19723", "true"),
    (pa.array([42], pa.int32()), "DATE", "x = DATE '1970-02-12'", "true"),
    (pa.array([date(2024, 1, 1)]), "TIMESTAMP_NTZ", "x = '2024-01-01 00:00:00'", "true"),
    (EXACT, "DECIMAL(18, 2)", "x = 42.01", "false"),
    (pa.array([1.1], pa.float32()), "DOUBLE", "x = 1.10000002384185791015625", "true"),
    (pa.array([42], pa.int32()), "DOUBLE", "x = 42", "true"),
    (pa.array([42], pa.int64()), "DECIMAL(38, 2)", "x = 42.00", "true"),
    (pa.array([b"a"]), "STRING", "x = 'a'", "true"),
]


def test_rows_are_found_by_what_spark_shows(spark: SparkSession, tmp_path: Path) -> None:
    """A third of the cases, others in each run."""
    for number, case in enumerate(drawn(SHOWN, len(SHOWN) // 3)):
        check_shown(spark, tmp_path / str(number), case)


def check_shown(spark: SparkSession, root: Path, case: tuple[pa.Array, str, str, str]) -> None:
    stored, schema, text, vectorized = case
    root.mkdir()
    pq.write_table(pa.table({"x": stored}), root / "f.parquet", store_decimal_as_integer=True)
    index.create(root, ["x"], name="all")
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
    spark.conf.set("spark.bloomwriter.join.minBytes", "1")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        df = spark.read.schema(f"x {schema}").parquet(str(root))
        assert df.filter(text).count() == 1
        assert df.transform(Where(filters=text)).count() == 1
        assert rules.enable(spark)
        assert df.filter(text).count() == 1
        assert df.join(df.select(df.x.alias("y")), on=F.expr("x = y")).count() == 1
    finally:
        rules.disable(spark)
        spark.conf.unset("spark.bloomwriter.join.minBytes")
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
        spark.conf.unset("spark.sql.parquet.enableVectorizedReader")
