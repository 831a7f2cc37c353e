"""Files are left out of DataFrames that plainly read them, by their names, and of no others."""

from __future__ import annotations

import os
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import index
from parquet_bloomwriter.index.report import Code
from parquet_bloomwriter.spark.connect.file_keys import file_key, file_uri
from parquet_bloomwriter.spark.connect.where import Where
from tests.spark.metrics import metrics_of
from tests.support.draws import drawn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

NAMES = [
    "plain.parquet",
    "sp ace.parquet",
    "pct%20.parquet",
    "h#sh.parquet",
    "br[1].parquet",
    "pl+us.parquet",
    "q?x.parquet",
    "ü ñ.parquet",
    "emoji😀.parquet",
    "nb\u00a0sp\u3000\u2028.parquet",
    "sem;i,co'l!~(x)*@&$=.parquet",
    'cu{r}ly^|`"<>.parquet',
    "back\\slash.parquet",
    "no-suffix",
]
FOLDER = "t a%b#c+ü é{x}"


def write(path: Path, table: pa.Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


# Names of files.


@pytest.fixture(scope="module")
def odd_names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("odd") / FOLDER
    for number, name in enumerate(NAMES):
        table = pa.table({"id": pa.array([number], pa.int64())})
        write(root / f"k={number % 2} é" / name, table)
    index.create(
        root, ["id"], name="ids", files=[str(one) for one in root.rglob("*") if one.is_file()]
    )
    return root


def read(spark: SparkSession, root: Path) -> DataFrame:
    escaped = str(root)
    for special in "\\*?[]{}":
        escaped = escaped.replace(special, f"\\{special}")
    return spark.read.parquet(escaped)


def test_uris_are_those_of_spark(spark: SparkSession, odd_names: Path) -> None:
    found = {row[0] for row in read(spark, odd_names).select("_metadata.file_path").collect()}
    paths = [
        one for one in odd_names.rglob("*") if one.is_file() and "_bloom_index" not in str(one)
    ]
    assert found == {file_uri(str(one)) for one in paths}
    assert len(found) == len(NAMES)


def test_keys_are_those_of_spark(spark: SparkSession, odd_names: Path) -> None:
    key = "concat_ws('|', _metadata.file_path, _metadata.file_size, "
    key += "unix_micros(_metadata.file_modification_time))"
    found = {row[0] for row in read(spark, odd_names).selectExpr(key).collect()}
    made = set()
    for name, number in zip(NAMES, range(len(NAMES)), strict=True):
        path = odd_names / f"k={number % 2} é" / name
        stat = path.stat()
        made.add(file_key(str(path), stat.st_size, stat.st_mtime_ns // 1_000_000))
    assert found == made


def test_files_of_any_name_are_left_out(spark: SparkSession, odd_names: Path) -> None:
    whole = read(spark, odd_names)
    frames = [whole.transform(Where(filters=f"id = {i}")) for i in range(len(NAMES))]
    df = reduce(lambda one, other: one.unionAll(other), frames)
    assert [row.id for row in df.collect()] == list(range(len(NAMES)))
    assert [scan.num_files for scan in metrics_of(df).scans] == [1] * len(NAMES)


def test_names_that_are_no_unicode_have_no_key() -> None:
    assert file_key(os.fsdecode(b"/data/\xff.parquet"), 1, 2) is None


# What the DataFrame is.


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Six files, ids 0..59, `other` is id shifted by ten; partitions by `p`."""
    root = tmp_path_factory.mktemp("frames") / "t"
    for number in range(6):
        ids = pa.array(range(10 * number, 10 * number + 10), pa.int64())
        columns = {
            "id": ids,
            "other": pa.array([(one.as_py() + 10) % 60 for one in ids], pa.int64()),
        }
        write(root / f"p={number % 2}" / f"{number}.parquet", pa.table(columns))
    index.create(root, ["id", "other"], name="ids")
    spark.read.parquet(str(root)).createOrReplaceTempView("frames_view")
    yield root
    spark.sql("DROP TABLE IF EXISTS frames_table")
    spark.catalog.dropTempView("frames_view")


def catalog_table(df: DataFrame) -> DataFrame:
    spark = df.sparkSession
    (location,) = {one.split("/p=")[0] for one in df.inputFiles()}
    spark.sql(f"CREATE TABLE IF NOT EXISTS frames_table USING parquet LOCATION '{location}'")
    spark.sql("MSCK REPAIR TABLE frames_table")
    return spark.table("frames_table")


KEPT: dict[str, Callable[[DataFrame], DataFrame]] = {
    "renamed": lambda df: df.withColumnRenamed("id", "x").withColumnRenamed("other", "id"),
    "replaced": lambda df: df.withColumn("id", df.other),
    "swapped": lambda df: df.selectExpr("other AS id", "id AS other"),
    "toDF": lambda df: df.toDF("other", "id", "p"),
    "cast": lambda df: df.selectExpr("CAST(id AS STRING) AS id", "other"),
    "view": lambda df: df.sparkSession.table("frames_view"),
    "aggregated": lambda df: df.groupBy("id").count(),
    "limited": lambda df: df.orderBy("id").limit(50),
    "joined": lambda df: df.join(df.sparkSession.range(60), "id"),
    "union": lambda df: df.union(df),
    "local": lambda df: df.sparkSession.createDataFrame([(15, 1)], "id LONG, other LONG"),
}
LEFT_OUT: dict[str, Callable[[DataFrame], DataFrame]] = {
    "plain": lambda df: df,
    "filtered": lambda df: df.filter("other > 3"),
    "alias": lambda df: df.alias("id"),
    "selected": lambda df: df.select("other", "id"),
    "added": lambda df: df.withColumn("more", df.id + 1),
    "catalog": catalog_table,
}


def test_nothing_is_left_out_of_what_is_no_plain_read(spark: SparkSession, table: Path) -> None:
    """Nothing is left out of any; the rows of a third are compared, others in each run."""
    compared = drawn(KEPT, len(KEPT) // 3)
    for name, make in KEPT.items():
        df = make(spark.read.parquet(str(table)))
        where = Where(filters="id = 15")
        if name in compared:
            assert sorted(df.transform(where).collect()) == sorted(df.filter("id = 15").collect())
        assert where.exclusion(df).keys == (), name
        (decision,) = where.decisions(df)
        assert not decision.was_used, name
        assert decision.reason is not None, name
        assert decision.reason.code in (Code.COL_SCHEMA_MISMATCH, Code.NO_USABLE_CONDITION), name


def test_files_are_left_out_of_plain_reads(spark: SparkSession, table: Path) -> None:
    for name, make in LEFT_OUT.items():
        df = make(spark.read.parquet(str(table)))
        found = df.transform(Where(filters="id = 15"))
        rows = found.collect()
        assert rows == df.filter("id = 15").collect(), name
        assert (name, len(rows), metrics_of(found).num_files) == (name, 1, 1)


def test_what_is_added_is_not_taken_for_a_column_of_files(spark: SparkSession, table: Path) -> None:
    df = spark.read.parquet(str(table))
    df = df.withColumn("more", df.id + 1)
    where = Where(filters="more = 15")
    assert [row.id for row in df.transform(where).collect()] == [14]
    assert where.exclusion(df).keys == ()


def test_partitions_and_files_are_left_out_together(spark: SparkSession, table: Path) -> None:
    df = spark.read.parquet(str(table))
    found = df.transform(Where(filters="p = 1 AND other IN (25, 35)"))
    assert [row.other for row in found.collect()] == [25]
    assert metrics_of(found).num_files == 1


def test_a_part_of_the_table_is_a_plain_read(spark: SparkSession, table: Path) -> None:
    df = spark.read.parquet(str(table / "p=1"))
    where = Where(filters="id = 15")
    (decision,) = where.decisions(df)
    assert (decision.num_files, decision.num_kept) == (3, 1)
    assert [row.id for row in df.transform(where).collect()] == [15]


def test_a_partition_column_is_not_the_files_column(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "t"
    for number in range(3):
        folder = root / f"id={number}"
        folder.mkdir(parents=True)
        ids = pa.array([number + 100], pa.int64())
        pq.write_table(pa.table({"id": ids, "x": ids}), folder / "f.parquet")
    index.create(root, ["id", "x"], name="ids")
    df = spark.read.parquet(str(root))
    where = Where(filters="id = 1")
    assert [row.x for row in df.transform(where).collect()] == [101]
    assert where.exclusion(df).keys == ()
    assert len(Where(filters="x = 101").exclusion(df).keys) == 2


def test_an_alias_is_not_taken_for_a_struct(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "t"
    root.mkdir()
    for number in range(2):
        inner = pa.array([{"id": number}], pa.struct([("id", pa.int64())]))
        table = pa.table({"id": pa.array([1 - number], pa.int64()), "s": inner})
        pq.write_table(table, root / f"{number}.parquet")
    index.create(root, ["id", "s.id"], name="ids")
    df = spark.read.parquet(str(root)).alias("s")
    where = Where(filters="s.id = 1")
    assert df.transform(where).count() == df.filter("s.id = 1").count() == 1
    assert where.exclusion(df).keys == ()


@pytest.mark.parametrize(
    ("setting", "value"),
    [("spark.sql.caseSensitive", "true"), ("spark.sql.parquet.fieldId.read.enabled", "true")],
)
def test_settings_that_change_what_names_mean(
    spark: SparkSession, table: Path, setting: str, value: str
) -> None:
    df = spark.read.parquet(str(table))
    spark.conf.set(setting, value)
    try:
        assert Where(filters="id = 15").exclusion(df).keys == ()
    finally:
        spark.conf.unset(setting)


def test_char_columns_are_padded(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "chars"
    spark.sql(
        f"CREATE TABLE chars (c CHAR(5), v VARCHAR(5), i INT) USING parquet LOCATION '{root}'"
    )
    try:
        for number, text in enumerate(["ab", "cd", "ef"]):
            spark.sql(f"INSERT INTO chars VALUES ('{text}', '{text}', {number})")  # noqa: S608  our own
        index.create(root, ["c", "v", "i"], name="all")
        df = spark.table("chars")
        # Spark 3.5 hides the names of the files where it pads a column.
        fewest = 3 if spark.version.startswith("3.") else 1
        for filters, kept in [("c = 'ab'", 3), ("v = 'ab'", fewest), ("i = 0", fewest)]:
            found = df.transform(Where(filters=filters))
            assert [row.i for row in found.collect()] == [0]
            assert metrics_of(found).num_files == kept, filters
    finally:
        spark.sql("DROP TABLE chars")


# What has changed since.


@pytest.fixture
def changing(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / "t"
    root.mkdir()
    for number in range(4):
        pq.write_table(pa.table({"id": pa.array([number], pa.int64())}), root / f"{number}.parquet")
    index.create(root, ["id"], name="ids")
    yield root
    spark.catalog.clearCache()


def found_by(spark: SparkSession, root: Path, filters: str) -> tuple[list[int], int]:
    df = spark.read.parquet(str(root)).transform(Where(filters=filters))
    ids = sorted(row.id for row in df.collect())
    return ids, metrics_of(df).num_files


def test_appended_and_replaced_files_are_read(spark: SparkSession, changing: Path) -> None:
    assert found_by(spark, changing, "id = 77") == ([], 0)
    pq.write_table(pa.table({"id": pa.array([77], pa.int64())}), changing / "new.parquet")
    assert found_by(spark, changing, "id = 77") == ([77], 1)
    pq.write_table(pa.table({"id": pa.array([77], pa.int64())}), changing / "0.parquet")
    assert found_by(spark, changing, "id = 77") == ([77, 77], 2)
    (changing / "1.parquet").rename(changing / "renamed.parquet")
    assert found_by(spark, changing, "id = 1") == ([1], 3)


def test_a_touched_file_is_read(spark: SparkSession, changing: Path) -> None:
    stat = (changing / "3.parquet").stat()
    os.utime(changing / "3.parquet", ns=(stat.st_atime_ns, stat.st_mtime_ns + 1_000_000))
    assert found_by(spark, changing, "id = 2") == ([2], 2)


def test_a_broken_index_leaves_nothing_out(spark: SparkSession, changing: Path) -> None:
    for part in changing.glob("_bloom_index/ids/v__=*/**/*.bfindex"):
        part.write_bytes(b"")
    assert found_by(spark, changing, "id = 2") == ([2], 4)
    (decision,) = Where(filters="id = 2").decisions(spark.read.parquet(str(changing)))
    assert decision.reason is not None
    assert decision.reason.code is Code.INDEX_BROKEN


def test_a_deleted_index_leaves_nothing_out(spark: SparkSession, changing: Path) -> None:
    index.delete(changing, name="ids")
    assert found_by(spark, changing, "id = 2") == ([2], 4)


def test_what_fails_is_told_and_not_raised(
    spark: SparkSession,
    changing: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr("parquet_bloomwriter.spark.connect.where.exclude", fail)
    assert found_by(spark, changing, "id = 2") == ([2], 4)
    assert "out of order" in caplog.text
    (decision,) = Where(filters="id = 2").decisions(spark.read.parquet(str(changing)))
    assert decision.reason is not None
    assert decision.reason.code is Code.INTERNAL_ERROR


def test_only_the_index_that_is_named_is_asked(spark: SparkSession, changing: Path) -> None:
    df = spark.read.parquet(str(changing))
    assert len(Where(filters="id = 2", name="ids").exclusion(df).keys) == 3
    exclusion = Where(filters="id = 2", name="others").exclusion(df)
    assert exclusion.keys == ()
    assert [one.reason and one.reason.code for one in exclusion.decisions] == [Code.NO_COMMON_FILES]


def test_decisions_are_explained(
    spark: SparkSession, changing: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Where(filters="id = 2").explain(spark.read.parquet(str(changing)))
    assert "PushDownBFIndexRule" in text
    assert "1 of 4 files" in text
    assert capsys.readouterr().out == text + "\n"
