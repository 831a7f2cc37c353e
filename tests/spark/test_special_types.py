"""Types and values of which equality is not that of stored bytes, or that readers change.

Each case is a column `v`, one list of values for each file, and conditions with the number of files
that are left to read. A number of None says that nothing needs to be pruned; that the answer stays
the same is said of all.
"""

# ruff: noqa: S608  tests compose their SQL
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import index
from parquet_bloomwriter.spark import rules
from tests.spark.both_ways import all_both_ways, both_ways, eager_session, set_for_now
from tests.spark.generated.tables import quoted
from tests.spark.metrics import metrics_of
from tests.spark.test_special import by_sql
from tests.support.draws import drawn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.shares

NAN = float("nan")
SQL = "spark.sql."
PARQUET = f"{SQL}parquet."


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """Return a session of its own beside the shared one."""
    assert spark is not None
    with eager_session() as own:
        yield own


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One column over some files."""

    files: list[tuple[pa.DataType, Sequence[Any]]]
    asked: dict[str, int | None]
    """Condition -> files read with the rules on."""

    sql: str | None = None
    """The column's type as the reader is told; None lets it infer."""

    settings: dict[str, str] = field(default_factory=dict)
    writing: dict[str, Any] = field(default_factory=dict)
    """Options of pyarrow's writer."""

    reading: dict[str, str] = field(default_factory=dict)
    """Options of Spark's reader."""


def same(type_: pa.DataType, *files: Sequence[Any]) -> list[tuple[pa.DataType, Sequence[Any]]]:
    """Files of one type."""
    return [(type_, values) for values in files]


def check(session: SparkSession, folder: Path, case: Case) -> None:
    """Write the files, index them, and ask with the rules off and on."""
    folder.mkdir()
    for i, (type_, values) in enumerate(case.files):
        table = pa.table({"v": pa.array(values, type_), "n": pa.array([i] * len(values))})
        pq.write_table(table, folder / f"part-{i}.parquet", **case.writing)
    index.create(folder, ["v"], name="vs", fpp=0.00001)

    # Spark's own pruning by dictionaries loses -0.0 where 0.0 is asked for.
    with set_for_now(session, {f"{PARQUET}filterPushdown": "false"} | case.settings):
        _ask(session, folder, case)


def _ask(session: SparkSession, folder: Path, case: Case) -> None:
    from pyspark.sql import DataFrame
    from pyspark.sql.functions import lit

    def read() -> DataFrame:
        reader = session.read.options(**case.reading)
        if case.sql:
            reader = reader.schema(f"v {case.sql}, n bigint")
        return reader.parquet(str(folder))

    truths = [f"({condition}) IS TRUE" for condition in case.asked]
    answers = read().selectExpr("n", *truths).collect()
    expected = Counter(
        (condition, row[0])
        for i, condition in enumerate(case.asked, 1)
        for row in answers
        if row[i]
    )
    counted = [condition for condition, number in case.asked.items() if number]
    empty = [condition for condition, number in case.asked.items() if number == 0]
    others = [condition for condition, number in case.asked.items() if number is None]
    found: Counter[tuple[str, int]] = Counter()
    rules.enable(session)
    try:
        # One query of each sort: Spark may leave out scans of those that are not counted.
        for conditions in filter(None, (counted, empty, others)):
            frames = [read().where(one).select(lit(one), "n") for one in conditions]
            frame = reduce(DataFrame.unionAll, frames)
            found += Counter(map(tuple, frame.collect()))
            files = [scan.num_files for scan in metrics_of(frame).scans]
            if conditions is counted:
                assert dict(zip(counted, files, strict=True)) == {
                    condition: case.asked[condition] for condition in counted
                }
            assert conditions is not empty or sum(files) == 0
    finally:
        rules.disable(session)
    assert found == expected
    both_ways(session, lambda _: read().alias("a").join(read().alias("b"), "v").selectExpr("a.n"))


ZEROS: list[list[Any]] = [[0.0, 1.0], [-0.0, 2.0], [NAN, 3.0], [float("inf"), 4.0], [None, 5.0]]
ZERO_FILES: dict[str, int | None] = {
    "v = 0.0D": 2,
    "v = -0.0D": 2,
    "v <=> -0.0D": 2,
    "v = 0": 2,
    "v IN (-0.0D, 5D)": 3,
    "v = double('NaN')": None,
    "v <=> double('NaN')": None,
    "v IN (double('NaN'), 3D)": None,
    "v = double('inf')": 1,
    "v = 7D": 0,
    "v <=> null": None,
    "v = null": None,
    "NOT v = 1D": None,
    "v = 1D OR v = 2D": 2,
    "v = 1D OR n = 4": None,
    "v = 1D AND n = 4": 1,
}
# Before 1582 and 1900, what is stored may be of the other calendar.
DAYS: list[list[Any]] = [
    [date(1500, 3, 1), date(2000, 1, 1)],
    [date(1582, 10, 4)],
    [date(1900, 1, 1)],
]
DAY_FILES: dict[str, int | None] = {
    "v = date'1500-03-01'": None,
    "v = date'1500-03-11'": None,
    "v = date'1582-10-04'": None,
    "v = date'2000-01-01'": 1,
    "v = '2000-01-01'": 1,
    "v = timestamp_ntz'2000-01-01 00:00:00'": None,
    "v = timestamp_ntz'2000-01-01 00:00:01'": None,
}
MOMENTS: list[list[Any]] = [
    [datetime(1500, 3, 1, 1, 2, 3, 456789)],  # noqa: DTZ001  Arrow adds the zone
    [datetime(1899, 12, 31, 23, 59, 59), datetime(1970, 1, 1)],  # noqa: DTZ001  as above
    [datetime(2024, 2, 29, 12)],  # noqa: DTZ001  as above
]
MOMENT_FILES: dict[str, int | None] = {
    "v = timestamp_{0}'1500-03-01 01:02:03.456789'": None,
    "v = timestamp_{0}'1899-12-31 23:59:59'": None,
    "v = timestamp_{0}'2024-02-29 12:00:00'": 1,
    "v = timestamp_{0}'2024-02-29 12:00:01'": 0,
    "v = '2024-02-29 12:00:00'": 1,
    "v = date'1970-01-01'": 1,
    "cast(v as date) = date'2024-02-29'": None,
}
DECIMALS = [["1.50", "-1.50"], ["2.00", "0.00"], ["999.99"], ["-999.99"]]


def asking(how: dict[str, int | None], zone: str) -> dict[str, int | None]:
    """The conditions on moments for a type with or without zone."""
    return {condition.format(zone): files for condition, files in how.items()}


def unknown(how: dict[str, int | None]) -> dict[str, int | None]:
    """The same conditions, where nothing needs to be pruned."""
    return dict.fromkeys(how)


def decimals(type_: pa.DataType) -> list[tuple[pa.DataType, Sequence[Any]]]:
    """Files of decimals."""
    return same(type_, *([Decimal(text) for text in texts] for texts in DECIMALS))


DECIMAL_FILES: dict[str, int | None] = {
    "v = 1.5": 1,
    "v = 1.50": 1,
    "v = 1.500": 1,
    "v = 1.501": 0,
    "v = 2": 1,
    "v = 2D": None,
    "v = '2.0'": None,
    "v = -999.99": 1,
    "v IN (0, 7, 999.99)": 2,
    "v = 12345678901234567890": None,
}
TEXTS: list[list[Any]] = [["a", "b"], ["A", "ab"], ["a ", ""], ["ä", None], ["z"]]

CASES = {
    "double": Case(files=same(pa.float64(), *ZEROS), asked=ZERO_FILES),
    "float": Case(files=same(pa.float32(), *ZEROS), asked=ZERO_FILES),
    "float as double": Case(
        files=[(pa.float32(), [0.1, 1.0]), (pa.float64(), [0.1]), (pa.float32(), [-0.0])],
        sql="double",
        asked={"v = 0.1D": None, "v = cast(0.1 as float)": 1, "v = 0D": 1, "v = 1": 1, "v = 9": 0},
    ),
    "int as long": Case(
        files=[
            (pa.int32(), [-1, 7]),
            (pa.int64(), [7, 2**40]),
            (pa.int16(), [-1]),
            (pa.uint32(), [2**32 - 1]),
        ],
        sql="bigint",
        asked={"v = -1": 2, "v = 7": 2, f"v = {2**40}": 1, f"v = {2**32 - 1}": 1, "v = 8": 0},
    ),
    "int as double": Case(
        files=[(pa.int32(), [-1, 7]), (pa.float64(), [7.0, -0.0])],
        sql="double",
        asked={"v = -1": None, "v = 7": None, "v = 7.5D": None, "v = 0": None},
    ),
    "int as decimal": Case(
        files=[(pa.int32(), [-1, 7]), (pa.decimal128(12, 2), [Decimal(7)])],
        sql="decimal(12,2)",
        asked={"v = -1": None, "v = 7": None, "v = 7.5": None},
    ),
    "small ints": Case(
        files=[(pa.int8(), [-1, 7]), (pa.int8(), [127])],
        asked={"v = -1": 1, "v = 127": 1, "v = 300": 0, "v = 7.0": 1, "v = '7'": None},
    ),
    "unsigned": Case(
        files=same(pa.uint32(), [2**32 - 1, 7], [2**31], [0]),
        asked={f"v = {2**32 - 1}": 1, f"v = {2**31}": 1, "v = -1": None, "v = 0": 1},
    ),
    "unsigned long": Case(
        files=same(pa.uint64(), [2**64 - 1, 7], [2**63], [0]),
        asked={f"v = {2**64 - 1}": None, f"v = {2**63}": None, "v = 0": None, "v = -1": None},
    ),
    "wider decimal": Case(
        files=[
            (pa.decimal128(5, 2), [Decimal("1.50")]),
            (pa.decimal128(9, 3), [Decimal("1.500"), Decimal("2.125")]),
            (pa.decimal128(20, 3), [Decimal("1.500")]),
        ],
        sql="decimal(20,3)",
        asked={"v = 1.5": None, "v = 2.125": None, "v = 7": None},
    ),
    **{
        f"decimal {name}": Case(
            files=decimals(type_), asked=DECIMAL_FILES, writing={"store_decimal_as_integer": stored}
        )
        for name, type_, stored in (
            ("5 int32", pa.decimal128(5, 2), True),
            ("15 int64", pa.decimal128(15, 2), True),
            ("15 fixed", pa.decimal128(15, 2), False),
            ("30", pa.decimal128(30, 2), False),
        )
    },
    "date": Case(files=same(pa.date32(), *DAYS), asked=DAY_FILES),
    "date rebased by setting": Case(
        files=same(pa.date32(), *DAYS),
        asked=unknown(DAY_FILES),
        settings={f"{PARQUET}datetimeRebaseModeInRead": "LEGACY"},
    ),
    "date rebased by option": Case(
        files=same(pa.date32(), *DAYS),
        asked=unknown(DAY_FILES),
        reading={"datetimeRebaseMode": "LEGACY"},
    ),
    "date as ntz": Case(
        files=same(pa.date32(), *DAYS),
        sql="timestamp_ntz",
        asked={"v = timestamp_ntz'2000-01-01 00:00:00'": None, "v = date'1900-01-01'": None},
    ),
    **{
        f"{name} {unit}": Case(
            files=same(
                pa.timestamp(unit, zone),
                *(
                    [one.replace(microsecond=0) if unit == "ms" else one for one in few]
                    for few in MOMENTS
                ),
            ),
            asked=(unknown if unit == "ms" else dict)(asking(MOMENT_FILES, name)),
            settings={f"{SQL}session.timeZone": "UTC"},
        )
        for name, zone in (("ltz", "UTC"), ("ntz", None))
        for unit in ("us", "ms")
    },
    "ltz elsewhere": Case(
        files=same(pa.timestamp("us", "UTC"), *MOMENTS),
        settings={f"{SQL}session.timeZone": "America/Los_Angeles"},
        asked={
            "v = timestamp_ltz'2024-02-29 04:00:00'": 1,
            "v = timestamp_ltz'2024-02-29 12:00:00Z'": 1,
            "v = '2024-02-29 12:00:00'": 0,
            "v = timestamp_ntz'2024-02-29 04:00:00'": None,
        },
    ),
    "ltz rebased": Case(
        files=same(pa.timestamp("us", "UTC"), *MOMENTS),
        asked=unknown(asking(MOMENT_FILES, "ltz")),
        settings={f"{PARQUET}datetimeRebaseModeInRead": "LEGACY"},
    ),
    "ntz as ltz": Case(
        files=same(pa.timestamp("us"), *MOMENTS),
        asked=unknown(asking(MOMENT_FILES, "ltz")),
        settings={
            f"{PARQUET}inferTimestampNTZ.enabled": "false",
            f"{SQL}session.timeZone": "America/Los_Angeles",
        },
    ),
    "nanoseconds as long": Case(
        files=same(pa.timestamp("ns", "UTC"), [datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)], [None]),
        asked={"v = 1000000000": None, "v = 1": None, "v = 1000000": None},
        settings={f"{SQL}legacy.parquet.nanosAsLong": "true"},
    ),
    "binary as string": Case(
        files=same(pa.binary(), [b"a"], [b"b", b"\xff"]),
        asked={"v = 'a'": None, "v = 'b'": None, "v = ''": None},
        settings={f"{PARQUET}binaryAsString": "true"},
    ),
    "string as binary": Case(
        files=same(pa.string(), ["a"], ["ä", "b"]),
        sql="binary",
        asked={"v = X'61'": None, "v = X'C3A4'": None, "v = cast('b' as binary)": None},
    ),
    "binary": Case(
        files=same(pa.binary(), [b"", b"a"], [b"\x00"], [b"\xff" * 100]),
        asked={
            "v = X''": 1,
            "v = X'00'": 1,
            "v = 'a'": None,
            "v = X'FF'": 0,
            "v IN (X'61', X'62')": 1,
        },
    ),
    "string": Case(
        files=same(pa.string(), *TEXTS),
        asked={
            "v = 'a'": 1,
            "v = 'A'": 1,
            "v = 'a '": 1,
            "v = ''": 1,
            "v = 'ä'": 1,
            "v = 'a\u0308'": 0,
            "v LIKE 'a'": None,
            "v LIKE 'a%'": None,
            "upper(v) = 'A'": None,
            "v = 7": None,
            "v IN ('a', 'z', 'no')": 2,
            "v IN ('1','2','3','4','5','6','7','8','9','10','11','12','z')": 1,
        },
        settings={f"{SQL}ansi.enabled": "false"},
    ),
    "collated string": Case(
        files=same(pa.string(), *TEXTS),
        sql="string collate utf8_lcase",
        asked={"v = 'a'": None, "v = 'A'": None, "v = 'Ä'": None, "v IN ('AB', 'Z')": None},
    ),
    "trimming string": Case(
        files=same(pa.string(), *TEXTS),
        sql="string collate utf8_binary_rtrim",
        asked={"v = 'a'": None, "v = 'a   '": None},
    ),
    "string compared by collation": Case(
        files=same(pa.string(), *TEXTS),
        asked={"v collate utf8_lcase = 'A'": None, "v = 'A' collate unicode_ci": None},
    ),
    "boolean-like numbers": Case(
        files=same(pa.int32(), [0], [1], [2]),
        asked={"v = true": None, "cast(v as boolean)": None, "v = 1": 1},
        settings={f"{SQL}ansi.enabled": "false"},
    ),
    "decimal as its digits": Case(
        files=decimals(pa.decimal128(15, 2)),
        sql="bigint",
        asked={"v = 150": None, "v = 1": None, "v = 99999": None, "v IN (0, 200)": None},
        writing={"store_decimal_as_integer": True},
    ),
    "small decimal as its digits": Case(
        files=decimals(pa.decimal128(5, 2)),
        sql="int",
        asked={"v = 150": None, "v = 1": None, "v = 99999": None, "v IN (0, 200)": None},
        writing={"store_decimal_as_integer": True},
    ),
    "int as byte": Case(
        files=same(pa.int32(), [300, 1], [44, 7], [-212]),
        sql="tinyint",
        asked={"v = 44": None, "v = 1": None, "v = 7": None},
    ),
    "unsigned as signed": Case(
        files=same(pa.uint8(), [200, 1], [7]),
        sql="tinyint",
        asked={"v = -56": None, "v = 1": None, "v = 7": None},
    ),
    "date as int": Case(
        files=same(pa.date32(), *DAYS),
        sql="int",
        asked={"v = 10957": None, "v = 7": None},
    ),
    "int as date": Case(
        files=same(pa.int32(), [10957], [7], [-200_000]),
        sql="date",
        asked={"v = date'2000-01-01'": None, "v = date'1970-01-08'": None},
    ),
    "moment as long": Case(
        files=same(pa.timestamp("us"), *MOMENTS),
        sql="bigint",
        asked={"v = 0": None, "v = 1709208000000000": None},
    ),
    "time": Case(
        files=same(pa.time64("us"), [time(1, 2, 3)], [time(23, 59, 59, 999_999)]),
        asked={"v = time'01:02:03'": None, "v = time'00:00:00'": None},
        settings={f"{SQL}timeType.enabled": "true"},
    ),
    "all null": Case(
        files=same(pa.int64(), [None, None], [1], [None, 2]),
        asked={"v = 1": 1, "v IS NULL": None, "v <=> null": None, "v = 1 OR v IS NULL": None},
    ),
}


def test_special_types(session: SparkSession, tmp_path: Path) -> None:
    """A third of the cases, others in each run, and one of them without the vectorized reader."""
    names = drawn(sorted(CASES), len(CASES) // 3)
    for number, name in enumerate(names):
        check(session, tmp_path / str(number), CASES[name])
    with set_for_now(session, {f"{PARQUET}enableVectorizedReader": "false"}):
        name = drawn(["double", "date rebased by setting", "int as long", "ltz us"], 1)[0]
        check(session, tmp_path / "t", CASES[name])


def test_written_by_spark_with_old_dates(session: SparkSession, tmp_path: Path) -> None:
    times, mode = drawn(
        [
            ("TIMESTAMP_MICROS", "LEGACY"),
            ("TIMESTAMP_MICROS", "CORRECTED"),
            ("TIMESTAMP_MILLIS", "CORRECTED"),
            ("INT96", "LEGACY"),
        ],
        1,
    )[0]
    settings = {
        f"{PARQUET}datetimeRebaseModeInWrite": mode,
        f"{PARQUET}int96RebaseModeInWrite": mode,
        f"{PARQUET}outputTimestampType": times,
    }
    folder = tmp_path / "old"
    rows = [
        "1500-03-01 01:02:03",
        "1582-10-03 00:00:00",
        "1899-12-31 00:00:00",
        "2024-02-29 12:00:00",
    ]
    with set_for_now(session, settings):
        for text in rows:
            row = f"SELECT date'{text[:10]}' AS d, timestamp_ltz'{text}' AS t, '{text}' AS s"
            session.sql(row).coalesce(1).write.mode("append").parquet(str(folder))
    columns = ["d", "s"] if times == "INT96" else ["d", "t", "s"]
    index.create(folder, columns, name="all", fpp=0.0001)
    table = f"parquet.{quoted(str(folder))}"
    select = f"SELECT s FROM {table} WHERE "
    for condition in ("d = date'{:.10}'", "t = timestamp_ltz'{}'", "s = '{}'"):
        each = [select + condition.format(text) for text in rows]
        found = both_ways(session, " UNION ALL ".join(each))
        assert found.values == rows
    assert found.on.num_files == len(rows)
    joins = [f"SELECT a.s FROM {table} a JOIN {table} b USING ({key})" for key in ("d", "t")]
    both_ways(session, " UNION ALL ".join(joins))


def test_char_and_varchar_of_the_catalog(session: SparkSession, tmp_path: Path) -> None:
    session.sql("DROP TABLE IF EXISTS padded")
    session.sql(
        f"CREATE TABLE padded (c CHAR(4), v VARCHAR(4)) USING parquet LOCATION '{tmp_path / 'p'}'"
    )
    for text in ("a", "ab", "abc", "abcd", "b "):
        session.sql(f"INSERT INTO padded VALUES ('{text}', '{text}')")
    index.create(tmp_path / "p", ["c", "v"], name="both", fpp=0.0001)
    asked = [
        f"SELECT c, v FROM padded WHERE {column} {condition}"
        for text in ("a", "a ", "a   ", "abcd", "b", "b ", "none")
        for column in ("c", "v")
        for condition in (f"= '{text}'", f"IN ('{text}', 'abc')")
    ]
    asked += [
        f"SELECT x.c, y.v FROM padded x JOIN padded y ON {keys}"
        for keys in ("x.c = y.c", "x.c = y.v", "x.v = y.v", "x.v = y.c")
    ]
    all_both_ways(session, [by_sql(text) for text in asked])
    session.sql("DROP TABLE padded")
