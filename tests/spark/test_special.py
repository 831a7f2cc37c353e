"""Names, folders, schemas and options that make a table hard to recognise.

Answers never depend on the rules; where files can be pruned safely, it is asserted that they are.
"""

# ruff: noqa: S608  tests compose their SQL
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import index
from parquet_bloomwriter.spark import rules
from tests.spark.both_ways import all_both_ways, both_ways, eager_session, set_for_now
from tests.spark.generated.tables import quoted
from tests.support.draws import drawn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    Read = Callable[[SparkSession], DataFrame]

pytestmark = pytest.mark.shares

NUM_FILES = 4
OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer"
NAMES = [
    "with space",
    "50%",
    "a%20b",
    "%2F",
    "hash#1",
    "question?",
    "[brackets]",
    "{braces}",
    "star*",
    "ünïcödé \U0001f600",
    "semi;colon",
    "plus+minus",
    "a=b",
    "quote'quote",
    "comma,",
    'double"quote',
]


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """Return a session of its own beside the shared one."""
    assert spark is not None
    with eager_session() as own:
        yield own


def write(folder: Path, *files: dict[str, Any] | pa.Table) -> Path:
    """Write one file for each mapping of columns, in a folder that is made if need be."""
    folder.mkdir(parents=True, exist_ok=True)
    first = sum(1 for _ in folder.glob("part-*"))
    for i, columns in enumerate(files, first):
        table = columns if isinstance(columns, pa.Table) else pa.table(columns)
        pq.write_table(table, folder / f"part-{i}.parquet")
    return folder


def numbered(name: str = "id") -> list[dict[str, Any]]:
    """Files of which the i-th has the numbers i, i + 100, i + 200."""
    return [{name: pa.array([i, i + 100, i + 200], pa.int64())} for i in range(NUM_FILES)]


def reader(folder: Path, **options: str) -> Read:
    """Read a folder, whatever its name looks like."""
    escaped = re.sub(r"([*?\[\]{}])", r"\\\1", str(folder))
    return lambda session: session.read.options(**options).parquet(escaped)


def by_sql(text: str) -> Read:
    """Ask a query."""
    return lambda session: session.sql(text)


def where(read: Read, condition: str) -> Read:
    """Filter what is read."""
    return lambda session: read(session).where(condition)


# Names.


def test_names_of_folders_and_files(session: SparkSession, tmp_path: Path) -> None:
    makes = []
    for name in drawn(NAMES, 5):
        folder = write(tmp_path / name / "t", *numbered())
        (folder / "part-2.parquet").rename(folder / f"part {name}.parquet")
        index.create(folder, ["id"], name="ids", fpp=0.0001)
        makes += [where(reader(folder), f"id = {id_}") for id_ in (102, 103)]
    found = all_both_ways(session, makes)
    assert found.values == sorted(range(len(makes)), key=str)
    assert {scan.num_files for scan in found.on.scans} == {1}
    assert {scan.num_files for scan in found.off.scans} == {NUM_FILES}


def test_names_of_partitions(session: SparkSession, tmp_path: Path) -> None:
    names = drawn(NAMES, 6)
    frame = session.createDataFrame(list(enumerate(names)), "id bigint, p string")
    frame.repartition(2).write.partitionBy("p").parquet(str(tmp_path / "t"))
    index.create(tmp_path / "t", ["id"], name="ids", fpp=0.0001)
    makes = [where(reader(tmp_path / "t"), f"id = {i}") for i in range(len(names))]
    found = all_both_ways(session, makes)
    assert sorted((row[0], row[2]) for row in found.rows) == list(enumerate(names))
    assert {scan.num_files for scan in found.on.scans} == {1}
    assert {scan.num_files for scan in found.off.scans} == {len(names)}


def test_names_of_columns(session: SparkSession, tmp_path: Path) -> None:
    names = ["with space", *drawn(NAMES[1:], 4), "back`tick", "#0", " "]
    names += ["é", "dot.ted", "a b.c d"]
    ids = [file["id"] for file in numbered()]
    folder = write(tmp_path / "t", *(dict.fromkeys(names, one) for one in ids))
    index.create(folder, names, name="ids", fpp=0.0001)
    makes = [where(reader(folder), f"{quoted(name)} = 102") for name in names]
    found = all_both_ways(session, makes)
    assert found.values == sorted(range(len(makes)), key=str)
    files = [scan.num_files for scan in found.on.scans]
    assert files[:-2] == [1] * (len(names) - 2)
    assert set(files[-2:]) <= {1, NUM_FILES}  # a dot may also lead into a group
    for name in ("with space", "dot.ted"):
        both_ways(session, lambda one: reader(folder)(one).join(reader(folder)(one), name))  # noqa: B023


def test_a_column_named_like_a_field(session: SparkSession, tmp_path: Path) -> None:
    nested = pa.StructArray.from_arrays([pa.array([2, None])], names=["b"])
    folder = write(
        tmp_path / "t",
        {"a.b": pa.array([1, 1]), "a": pa.StructArray.from_arrays([pa.array([5, 6])], names=["b"])},
        {"a.b": pa.array([3, 1]), "a": nested},
    )
    pq.write_table(pa.table({"a.b": pa.array([1, 7])}), folder / "part-9.parquet")
    index.create(folder, ["a.b"], name="ids", fpp=0.0001, files=[folder / "part-9.parquet"])
    asked = ("`a.b` = 1", "a.b = 2", "a.b = 5", "`a.b` = 3", "a.b = 1", "`a.b` = 2")
    all_both_ways(session, [where(reader(folder), condition) for condition in asked])


# Letter case.


@pytest.mark.parametrize("sensitive", ["false", "true"])
def test_letter_case(session: SparkSession, tmp_path: Path, sensitive: str) -> None:
    name = drawn(["id", "ID", "Id"], 1)[0]
    files = [
        {written: pa.array([i, i + 100], pa.int64())}
        for i, written in enumerate(["id", "ID", "Id", "iD"])
    ]
    folder = write(tmp_path / "t", *files)
    index.create(folder, ["id"], name="ids", fpp=0.0001)

    def read(session: SparkSession) -> DataFrame:
        return session.read.schema(f"{name} bigint").parquet(str(folder))

    with set_for_now(session, {"spark.sql.caseSensitive": sensitive}):
        asked = [f"{name} = {id_}" for id_ in (0, 1, 2, 3, 102, 7)]
        asked += [f"{one} OR {name} IS NULL" for one in asked]
        all_both_ways(session, [where(read, condition) for condition in asked])
        both_ways(
            session, lambda one: one.range(10).join(read(one).withColumnRenamed(name, "id"), "id")
        )


def test_letter_case_that_fits_is_pruned(session: SparkSession, tmp_path: Path) -> None:
    folder = write(tmp_path / "t", *numbered("Id"))
    index.create(folder, ["Id"], name="ids", fpp=0.0001)
    for sensitive, condition in (("true", "Id = 102"), ("false", "ID = 102")):
        with set_for_now(session, {"spark.sql.caseSensitive": sensitive}):
            found = both_ways(session, where(reader(folder), condition))
            assert (found.values, found.files) == ([102], (NUM_FILES, 1))


def test_letter_case_of_fields(session: SparkSession, tmp_path: Path) -> None:
    def files(outer: str, inner: str, first: int) -> dict[str, Any]:
        values = pa.StructArray.from_arrays([pa.array([first, first + 100])], names=[inner])
        return {outer: values}

    folder = write(tmp_path / "t", files("s", "x", 0), files("S", "x", 1), files("s", "X", 2))
    index.create(folder, ["s.x"], name="xs", fpp=0.0001)
    for sensitive in ("true", "false"):
        with set_for_now(session, {"spark.sql.caseSensitive": sensitive}):
            read = lambda one: one.read.schema("s struct<x: bigint>").parquet(str(folder))  # noqa: E731
            values = (0, 1, 2, 100, 101, 102)
            all_both_ways(session, [where(read, f"s.x = {value}") for value in values])


def test_two_columns_that_differ_in_letter_case(session: SparkSession, tmp_path: Path) -> None:
    files = [{"id": pa.array([i]), "ID": pa.array([i + 1])} for i in range(NUM_FILES)]
    folder = write(tmp_path / "t", *files)
    with set_for_now(session, {"spark.sql.caseSensitive": "true"}):
        pq.write_table(pa.table({"id": pa.array([1, 7])}), folder / "part-9.parquet")
        index.create(folder, ["id"], name="ids", fpp=0.0001, files=[folder / "part-9.parquet"])
        asked = ("id = 1", "ID = 1", "id = 0", "ID = 0", "id = 9", "ID = 4")
        all_both_ways(session, [where(reader(folder), condition) for condition in asked])


# Schemas.


def test_missing_columns(session: SparkSession, tmp_path: Path) -> None:
    folder = write(
        tmp_path / "t",
        {"id": pa.array([1, 2]), "n": pa.array([1, 2])},
        {"n": pa.array([1, 3])},
        {"n": pa.array([4]), "id": pa.array([3])},
    )
    index.create(folder, ["id"], name="ids", fpp=0.0001)
    for read in (
        reader(folder, mergeSchema="true"),
        lambda one: one.read.schema("n bigint, id bigint").parquet(str(folder)),
    ):
        asked = ("id = 1", "id IS NULL", "id <=> null", "id = 3 OR id IS NULL", "id = 9")
        all_both_ways(session, [where(read, condition) for condition in asked])
        assert both_ways(session, where(read, "id = 3")).on.num_files <= 2


def test_columns_with_a_default(session: SparkSession, tmp_path: Path) -> None:
    session.sql("DROP TABLE IF EXISTS grown")
    session.sql(f"CREATE TABLE grown (n BIGINT) USING parquet LOCATION '{tmp_path / 'g'}'")
    session.sql("INSERT INTO grown VALUES (1)")
    session.sql("ALTER TABLE grown ADD COLUMN (d BIGINT DEFAULT 42)")
    session.sql("INSERT INTO grown VALUES (2, 7)")
    session.sql("INSERT INTO grown VALUES (3, DEFAULT)")
    index.create(tmp_path / "g", ["n", "d"], name="all", fpp=0.0001)
    for value, rows in ((42, 2), (7, 1), (8, 0)):
        found = both_ways(session, f"SELECT n FROM grown WHERE d = {value}")
        assert found.rows.total() == rows
    both_ways(session, "SELECT a.n, b.n FROM grown a JOIN grown b ON a.d = b.d")
    both_ways(session, "SELECT id, n FROM range(100) JOIN grown ON id = d")
    assert both_ways(session, "SELECT d FROM grown WHERE n = 2").files == (3, 1)
    session.sql("DROP TABLE grown")


def test_columns_found_by_field_id(session: SparkSession, tmp_path: Path) -> None:
    def field(name: str, number: int) -> pa.Field:
        return pa.field(name, pa.int64(), metadata={"PARQUET:field_id": str(number)})

    tables = [
        pa.table([pa.array([1, 2]), pa.array([5, 6])], pa.schema([field("a", 1), field("b", 2)])),
        pa.table([pa.array([5, 7]), pa.array([1, 9])], pa.schema([field("b", 1), field("a", 2)])),
    ]
    folder = write(tmp_path / "t", *tables)
    index.create(folder, ["a", "b"], name="all", fpp=0.0001)
    from pyspark.sql.types import LongType, StructField, StructType

    schema = StructType(
        [
            StructField("a", LongType(), metadata={"parquet.field.id": 1}),
            StructField("b", LongType(), metadata={"parquet.field.id": 2}),
        ]
    )

    def read(session: SparkSession) -> DataFrame:
        return session.read.schema(schema).parquet(str(folder))

    settings = {
        "spark.sql.parquet.fieldId.read.enabled": "true",
        "spark.sql.parquet.filterPushdown": "false",  # it goes by names all the same
    }
    with set_for_now(session, settings):
        assert both_ways(session, where(read, "a = 7")).values == [7]
        asked = ("a = 1", "a = 5", "b = 1", "b = 5", "b = 9", "a = 9")
        all_both_ways(session, [where(read, condition) for condition in asked])
        both_ways(
            session, lambda one: one.range(10).join(read(one).selectExpr("a AS id", "b"), "id")
        )
        both_ways(session, lambda one: one.range(10).join(read(one).selectExpr("a AS id"), "id"))


def test_a_partition_that_hides_a_column(session: SparkSession, tmp_path: Path) -> None:
    for i in range(NUM_FILES):
        write(tmp_path / "t" / f"id={i}", {"id": pa.array([i + 50]), "n": pa.array([i])})
    index.create(tmp_path / "t", ["id", "n"], name="all", fpp=0.0001)
    read = reader(tmp_path / "t")
    assert both_ways(session, where(read, "id = 1")).rows.total() == 1
    assert both_ways(session, where(read, "id = 51")).rows.total() == 0
    found = both_ways(session, where(read, "n = 1"))
    assert (found.rows.total(), found.on.num_files) == (1, 1)
    both_ways(session, lambda one: one.range(60).join(read(one), "id"))


def test_files_of_other_schemas(session: SparkSession, tmp_path: Path) -> None:
    folder = write(tmp_path / "t", {"id": pa.array([1])}, {"id": pa.array(["1"])})
    index.create(folder, ["id"], name="ids", fpp=0.0001)
    good = where(lambda one: one.read.schema("id bigint").parquet(str(folder)), "id = 1")
    with pytest.raises(Exception, match=r"part-1\.parquet"):
        good(session).collect()


# Layouts.


def test_folders_above_and_below_the_index(session: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "t"
    for part in ("p=1", "p=2"):
        write(root / part, *numbered())
    index.create(root, ["id"], name="ids", fpp=0.0001)
    reads: list[tuple[Read, tuple[int, int]]] = [
        (reader(root / "p=1"), (4, 1)),
        (reader(root / "p=1" / "part-2.parquet"), (1, 1)),
        (reader(root / "p=1" / "part-1.parquet"), (1, 0)),
        (lambda one: one.read.parquet(f"{root}/p=*"), (8, 2)),
        (lambda one: one.read.parquet(f"{root}/p=*/part-[23].parquet"), (4, 2)),
        (lambda one: one.read.option("basePath", str(root)).parquet(f"{root}/p=2"), (4, 1)),
        (lambda one: one.read.parquet(f"file://{root}"), (8, 2)),
        (lambda one: one.read.parquet(f"{root}/p=1/", f"{root}/p=2/"), (8, 2)),
        (lambda one: one.read.parquet(*(f"{root}/p=1/part-{i}.parquet" for i in (1, 2))), (2, 1)),
        (lambda one: one.read.option("recursiveFileLookup", "true").parquet(str(root)), (8, 2)),
        (lambda one: one.read.option("pathGlobFilter", "*[12]*").parquet(str(root)), (4, 2)),
        (lambda one: one.read.option("modifiedAfter", "2001-01-01").parquet(str(root)), (8, 2)),
        (lambda one: one.read.parquet(f"{root}/p=1/../p=2"), (4, 1)),
    ]
    for i, (read, files) in enumerate(reads):
        found = both_ways(session, where(read, "id = 102"))
        assert found.files == files, i


def test_two_indexes_of_one_table(session: SparkSession, tmp_path: Path) -> None:
    files = [{"a": pa.array([i, 9]), "b": pa.array([i % 2, i])} for i in range(NUM_FILES)]
    folder = write(tmp_path / "t", *files)
    index.create(folder, ["a"], name="one", fpp=0.0001)
    index.create(folder, ["b"], name="two", fpp=0.0001)
    assert both_ways(session, where(reader(folder), "a = 2")).files == (NUM_FILES, 1)
    assert both_ways(session, where(reader(folder), "a = 9 AND b = 3")).files == (NUM_FILES, 1)
    assert both_ways(session, where(reader(folder), "a = 1 OR b = 3")).rows.total() == 2


def test_buckets(session: SparkSession, tmp_path: Path) -> None:
    for name in ("left", "right"):
        session.sql(f"DROP TABLE IF EXISTS {name}_b")
        frame = session.range(200).selectExpr("id * 3 AS k", "id")
        writer = frame.repartition(3).write.bucketBy(4, "k").sortBy("k")
        writer.option("path", str(tmp_path / name)).saveAsTable(f"{name}_b")
        index.create(tmp_path / name, ["k", "id"], name="ks", fpp=0.0001)
    for condition in ("l.k = 30", "l.id = 30", "r.id IN (30, 31)", "l.id = 5 AND r.k = 15"):
        found = both_ways(
            session, f"SELECT l.k FROM left_b l JOIN right_b r ON l.k = r.k WHERE {condition}"
        )
        assert found.on.num_files < found.off.num_files
    for name in ("left", "right"):
        session.sql(f"DROP TABLE {name}_b")


# Options and other ways of reading.


def test_corrupt_files_that_are_ignored(session: SparkSession, tmp_path: Path) -> None:
    folder = write(tmp_path / "t", *numbered())
    index.create(folder, ["id"], name="ids", fpp=0.0001)
    (folder / "part-1.parquet").write_bytes(b"PAR1 is not all that it takes PAR1")
    (folder / "part-9.parquet").write_bytes(b"")
    read = reader(folder, ignoreCorruptFiles="true")
    for id_, values in ((101, []), (102, [102])):
        assert both_ways(session, where(read, f"id = {id_}")).values == values
    index.refresh(folder, name="ids")
    assert both_ways(session, where(read, "id = 102")).values == [102]


def test_corrupt_files_that_are_known(session: SparkSession, tmp_path: Path) -> None:
    folder = write(tmp_path / "t", *numbered())
    (folder / "part-9.parquet").write_bytes(b"PAR1 is not all that it takes PAR1")
    index.create(folder, ["id"], name="ids", fpp=0.0001)
    read = reader(folder, ignoreCorruptFiles="true")
    found = both_ways(session, where(read, "id = 102"))
    assert (found.values, found.on.num_files) == ([102], 2)
    rules.enable(session)
    try:
        with pytest.raises(Exception, match=r"part-9\.parquet"):
            session.read.schema("id bigint").parquet(str(folder)).where("id = 102").collect()
    finally:
        rules.disable(session)


SETTINGS = [
    {"spark.sql.parquet.enableVectorizedReader": "false"},
    {"spark.sql.parquet.filterPushdown": "false"},
    {"spark.sql.sources.useV1SourceList": ""},
    {"spark.sql.optimizer.nestedSchemaPruning.enabled": "false"},
    {"spark.sql.optimizer.excludedRules": f"{OPTIMIZER}.ConstantFolding"},
    {"spark.sql.adaptive.enabled": "false"},
    {"spark.sql.cbo.enabled": "true", "spark.sql.cbo.planStats.enabled": "true"},
    {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"},
    {"spark.sql.files.maxPartitionBytes": "100"},
    {"spark.sql.autoBroadcastJoinThreshold": "10MB"},
]


def test_settings(session: SparkSession, tmp_path: Path) -> None:
    """Three of these, others in each run."""
    folder = write(tmp_path / "t", *numbered())
    index.create(folder, ["id"], name="ids", fpp=0.0001)
    table = f"parquet.{quoted(str(folder))}"
    queries = (
        f"SELECT id FROM {table} WHERE id = 102",
        f"SELECT id FROM {table} WHERE id IN (SELECT id FROM {table} WHERE id = 3)",
        f"SELECT a.id FROM {table} a JOIN {table} b USING (id) WHERE a.id > 100",
        f"SELECT r.id FROM range(500) r JOIN {table} b USING (id)",
        f"SELECT id + (SELECT max(id) FROM {table} WHERE id = 1) FROM {table} WHERE id = 2",
    )
    for settings in drawn(SETTINGS, 3):
        with set_for_now(session, settings):
            all_both_ways(session, [by_sql(text) for text in queries])


def test_metadata_columns(session: SparkSession, tmp_path: Path) -> None:
    folder = write(tmp_path / "t", *numbered())
    index.create(folder, ["id"], name="ids", fpp=0.0001)
    table = f"parquet.{quoted(str(folder))}"
    found = both_ways(
        session, f"SELECT _metadata.file_name, _metadata.row_index FROM {table} WHERE id = 102"
    )
    assert (found.rows.total(), found.files) == (1, (NUM_FILES, 1))
    for condition in (
        "_metadata.file_name = 'part-2.parquet' AND id = 102",
        "_metadata.file_name = 'part-1.parquet' AND id = 102",
        "_metadata.file_name = 'part-1.parquet' OR id = 102",
        "_metadata.row_index = 1",
        "_metadata.row_index = 1 AND id = 103",
    ):
        both_ways(session, f"SELECT id FROM {table} WHERE {condition}")


def test_caches(session: SparkSession, tmp_path: Path) -> None:
    folder = write(tmp_path / "t", *numbered())
    index.create(folder, ["id"], name="ids", fpp=0.0001)

    def twice(session: SparkSession) -> DataFrame:
        cached = where(reader(folder), "id IN (2, 102, 3)")(session).cache()
        one, two = cached.where("id = 2"), cached.where("id = 102")
        return one.union(two).union(where(reader(folder), "id = 1")(session))

    assert both_ways(session, twice).values == [1, 102, 2]
    session.catalog.clearCache()
    frame = reader(folder)(session)
    both = both_ways(session, lambda _: frame.where("id = 1").union(frame.where("id = 2")))
    assert (both.values, both.on.num_files) == ([1, 2], 2)
    assert both_ways(session, lambda _: frame).rows.total() == 3 * NUM_FILES


def test_prepared_statements_and_variables(session: SparkSession, tmp_path: Path) -> None:
    folder = write(tmp_path / "t", *numbered())
    index.create(folder, ["id"], name="ids", fpp=0.0001)
    table = f"parquet.{quoted(str(folder))}"
    found = both_ways(
        session, lambda one: one.sql(f"SELECT id FROM {table} WHERE id = :x", args={"x": 102})
    )
    assert (found.values, found.files) == ([102], (NUM_FILES, 1))
    session.sql("DECLARE OR REPLACE VARIABLE wanted BIGINT DEFAULT 3")
    both_ways(session, f"SELECT id FROM {table} WHERE id = wanted")
