"""The rules in a real Spark: what is pruned and filtered, where, and that answers stay the same."""

# ruff: noqa: SLF001  Spark's objects of the JVM
from __future__ import annotations

import os
import shutil
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import clear_cache, index
from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.index.report import Code
from parquet_bloomwriter.spark import Hyperspace, rules
from parquet_bloomwriter.spark.adaptor.compiler import put_jar
from parquet_bloomwriter.spark.rules import session as rules_session
from parquet_bloomwriter.spark.rules.session import method_of
from tests.spark.both_ways import set_for_now
from tests.spark.conftest import INTERPRETED
from tests.spark.metrics import metrics_of
from tests.support.draws import drawn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

NUM_FILES = 12
ROWS = 500
PLANNED_ONCE = {"spark.sql.adaptive.enabled": "false"}
"""Otherwise Spark plans all of a query again after each shuffle: too often, for many joins."""

_A_WHILE_AGO_NS = 1_790_000_000_123_000_000


def write(folder: Path, tables: list[pa.Table]) -> str:
    """Write one file for each table, and return the folder's path."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, table in enumerate(tables):
        pq.write_table(table, folder / f"part-{i:02}.parquet")
    return str(folder)


def events(first: int) -> pa.Table:
    """A table whose ids are spread over the whole range, so that statistics do not tell."""
    ids = [(first + NUM_FILES * i) * 1_000_003 % 100_000_007 for i in range(ROWS)]
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "email": [f"user{i}@mail.example" for i in ids],
            "s": pa.array([{"x": i % 1_000_000, "y": i} for i in ids]),
            "kind": pa.array([i % 7 for i in range(ROWS)], pa.int32()),
        }
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder of files with an index over three columns."""
    path = write(tmp_path_factory.mktemp("events"), [events(i) for i in range(NUM_FILES)])
    index.create(path, ["id", "email", "s.x"], name="ids")
    return path


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """Return a session with the rules on, in which joins are shuffled."""
    settings = {
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.bloomwriter.join.minBytes": "1",
    }
    for name, value in settings.items():
        spark.conf.set(name, value)
    assert rules.enable(spark)
    yield spark
    rules.disable(spark)
    for name in settings:
        spark.conf.unset(name)


@contextmanager
def switched_off(spark: SparkSession) -> Iterator[None]:
    rules.disable(spark)
    try:
        yield
    finally:
        rules.enable(spark)


def rows_of(df: DataFrame) -> Counter[str]:
    return Counter(map(str, df.collect()))


def same_answer(spark: SparkSession, sql: str, *, num_rows: int | None = None) -> DataFrame:
    """Run a query with and without rules, compare, and return the one that was run with them."""
    with switched_off(spark):
        expected = rows_of(spark.sql(sql))
    df = spark.sql(sql)
    assert rows_of(df) == expected
    assert num_rows in (None, expected.total())
    return df


def an_id(table: str, file: int) -> int:
    value: int = pq.read_table(Path(table) / f"part-{file:02}.parquet")["id"][7].as_py()
    return value


def all_of(table: str, conditions: list[str], session: SparkSession) -> DataFrame:
    """Ask for the rows of each condition, in one query with a scan for each."""
    session.read.parquet(table).createOrReplaceTempView("events")
    parts = (f"SELECT {i} AS i, * FROM events WHERE {one}" for i, one in enumerate(conditions))  # noqa: S608
    return same_answer(session, " UNION ALL ".join(parts))


def test_a_condition_leaves_one_file(table: str, session: SparkSession) -> None:
    found = an_id(table, 3)
    conditions = [
        f"id = {found}",
        f"{found} = id",
        f"id <=> {found}",
        f"id IN ({found}, -5)",
        f"id IN ({found}, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12)",
        f"email = 'user{found}@mail.example'",
        f"id = {found} AND kind >= 0 AND upper(email) LIKE 'U%'",
        f"id = {found} OR (email = 'nobody' AND kind = 1)",
        f"s.x = {found % 1_000_000}",
        f"ID = {found}",
    ]
    df = all_of(table, conditions, session)
    scans = metrics_of(df).scans
    assert [scan.num_files for scan in scans] == [1] * len(conditions)
    assert [scan.location for scan in scans if not scan.location.endswith("pruned by ids")] == []
    assert sorted(row.i for row in df.collect()) == list(range(len(conditions)))


def test_other_conditions_leave_all(table: str, session: SparkSession) -> None:
    conditions = ["NOT id = 5", "id > 5", "id = 5 OR kind = 1", "abs(id) = 5", "kind = 3"]
    conditions += ["id IS NULL"]
    scans = metrics_of(all_of(table, conditions, session)).scans
    assert ["pruned by" in scan.location for scan in scans] == [False] * len(conditions)


def test_elements_of_arrays_and_maps(session: SparkSession, tmp_path: Path) -> None:
    tables = [
        pa.table(
            {
                "tags": [None, [], [None], [f"t{n}", None, f"u{n}"]],
                "s": [{"numbers": [n]}] * 4,
                "m": pa.array(
                    [None, {}, {f"k{n}": None}, {f"k{n}": n, "z": -n}],
                    pa.map_(pa.string(), pa.int32()),
                ),
            }
        )
        for n in range(100, 106)
    ]
    path = write(tmp_path / "lists", tables)
    columns = ["tags", "s.numbers.list.element", "m.key_value.key", "m.key_value.value"]
    index.create(path, columns, name="parts")
    conditions = {
        "array_contains(tags, 't103')": 1,
        "array_contains(TAGS, 't103') AND size(tags) > 1": 1,
        "array_contains(tags, 't103') OR array_contains(s.numbers, 104)": 2,
        "map_contains_key(m, 'k103')": 1,
        "array_contains(map_keys(m), 'k103')": 1,
        "array_contains(map_values(m), -103)": 1,
        "m['k103'] = 103": 1,
        "m['k103'] IN (103, 104)": 1,
        "m['z'] = 103": 1,  # the file with that value, though under another key
        "NOT array_contains(tags, 't103')": 6,
        "m['k103'] <=> NULL": 6,
        "m['k103'] IS NULL": 6,
        "array_contains(tags, concat('t', size(tags)))": 6,
        "exists(tags, one -> one = 't103')": 6,
    }
    scans = metrics_of(all_of(path, list(conditions), session)).scans
    found = [scan.num_files for scan in scans]
    assert dict(zip(conditions, found, strict=True)) == conditions


def test_wherever_the_relation_stands(table: str, session: SparkSession) -> None:
    session.read.parquet(table).createOrReplaceTempView("events")
    queries = [
        "SELECT * FROM parquet.`{table}` WHERE id = {id}",
        "WITH e AS (SELECT id, kind FROM events) SELECT kind FROM e WHERE id = {id}",
        "SELECT count(*) FROM events WHERE id = {id} GROUP BY kind",
        "SELECT (SELECT max(kind) FROM events WHERE id = {id})",
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM events WHERE id = {id})",
        "SELECT * FROM (SELECT id FROM events UNION ALL SELECT id FROM events) WHERE id = {id}",
    ]
    for query in drawn(queries, 3):
        df = same_answer(session, query.format(table=table, id=an_id(table, 5)))
        assert {scan.num_files for scan in metrics_of(df).scans} == {1}


def test_partitioned_catalog_tables(session: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "by day")
    for day in range(3):
        ids = [pa.array(range(day + first, 100, 6), pa.int64()) for first in (0, 3)]
        write(Path(path) / f"day=d{day}", [pa.table({"id": one}) for one in ids])
    ddl = "CREATE TABLE by_day (id long, day string) USING parquet PARTITIONED BY (day)"
    session.sql(f"{ddl} LOCATION '{path}'")
    session.sql("MSCK REPAIR TABLE by_day")
    try:
        index.create(path, ["id"], name="ids")
        df = same_answer(session, "SELECT * FROM by_day WHERE id = 11")
        assert [scan.num_files for scan in metrics_of(df).scans] == [1]
        df = same_answer(session, "SELECT * FROM by_day WHERE id = 11 AND day = 'd2'")
        assert [scan.num_files for scan in metrics_of(df).scans] == [1]
        df = same_answer(session, "SELECT * FROM by_day WHERE id = 11 AND day = 'd1'")
        assert sum(scan.num_files for scan in metrics_of(df).scans) == 0
    finally:
        session.sql("DROP TABLE by_day")


def test_a_pruned_side_is_small_enough_to_be_broadcast(table: str, session: SparkSession) -> None:
    session.read.parquet(table).createOrReplaceTempView("events")
    size = sum(file.stat().st_size for file in Path(table).glob("*.parquet"))
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", str(size // 3))
    joined = "SELECT * FROM events a JOIN events b ON a.kind = b.kind"
    sql = f"{joined} WHERE a.id = {an_id(table, 1)}"
    with set_for_now(session, PLANNED_ONCE):
        with switched_off(session):
            df = session.sql(sql)
            df.collect()
            assert "SortMergeJoin" in metrics_of(df).operators
        assert "BroadcastHashJoin" in metrics_of(same_answer(session, sql)).operators


def test_scans_that_are_pruned_differently_are_not_shared(
    table: str, session: SparkSession
) -> None:
    session.read.parquet(table).createOrReplaceTempView("events")
    one, other = an_id(table, 1), an_id(table, 2)
    part = "SELECT kind, count(*) n FROM events WHERE id = {} GROUP BY kind"
    sql = f"{part.format(one)} UNION ALL {part.format(other)}"
    assert len(same_answer(session, sql).collect()) == 2


# Joins.


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory, table: str) -> str:
    """Return a folder with many keys, a few of which are ids of the table."""
    shared = [an_id(table, i) for i in range(4)]
    keys = [-i for i in range(1, 4001)] + shared * 3 + [None]
    tables = [
        pa.table({"k": pa.array(keys[i::3], pa.int64()), "v": pa.array(range(len(keys[i::3])))})
        for i in range(3)
    ]
    return write(tmp_path_factory.mktemp("other"), tables)


def views(spark: SparkSession, table: str, other: str) -> None:
    spark.read.parquet(table).createOrReplaceTempView("a")
    spark.read.parquet(other).createOrReplaceTempView("b")


def test_probes_are_compiled_too(table: str, other: str, session: SparkSession) -> None:
    views(session, table, other)
    for name in INTERPRETED:
        session.conf.unset(name)
    try:
        df = same_answer(session, "SELECT * FROM b LEFT SEMI JOIN a ON a.id = b.k", num_rows=12)
    finally:
        for name, value in INTERPRETED.items():
            session.conf.set(name, value)
    assert metrics_of(df).num_probes == 1


def test_joins(table: str, other: str, session: SparkSession) -> None:
    """A fifth of these, others in each run."""
    views(session, table, other)
    queries = [
        "SELECT * FROM a JOIN b ON a.id = b.k",
        "SELECT * FROM b JOIN a ON b.k = a.id AND b.v > a.kind",
        "SELECT * FROM b, a WHERE b.k = a.id",
        "SELECT * FROM a LEFT JOIN b ON a.id = b.k",
        "SELECT * FROM b RIGHT JOIN a ON a.id = b.k",
        "SELECT * FROM b LEFT SEMI JOIN a ON a.id = b.k",
        "SELECT * FROM a LEFT SEMI JOIN b ON a.id = b.k",
        "SELECT * FROM a LEFT ANTI JOIN b ON a.id = b.k",
        "SELECT * FROM b WHERE k IN (SELECT id FROM a)",
        "SELECT * FROM b WHERE EXISTS (SELECT 1 FROM a WHERE a.id = b.k)",
        "SELECT k, n FROM (SELECT k, count(*) n FROM b GROUP BY k) JOIN a ON k = a.id",
        "SELECT * FROM b JOIN (SELECT id AS i, kind FROM a WHERE kind < 5) q ON b.k = q.i",
        "SELECT * FROM b JOIN (SELECT DISTINCT id FROM a) q ON b.k = q.id",
        "SELECT * FROM b JOIN a ON b.k = a.id JOIN b c ON c.k = a.id",  # shuffled once
        "SELECT * FROM (SELECT /*+ REPARTITION(3) */ * FROM b) q JOIN a ON q.k = a.id",
    ]
    for query in drawn(queries, 3):
        assert metrics_of(same_answer(session, query)).num_probes == 1


def test_joins_without_probes(table: str, other: str, session: SparkSession) -> None:
    """The rows of b must all stay, or those of a are told by no filter; but for the first query."""
    views(session, table, other)
    queries = [
        "SELECT * FROM a JOIN b ON a.id = b.k",
        "SELECT * FROM b LEFT JOIN a ON a.id = b.k",
        "SELECT * FROM a RIGHT JOIN b ON a.id = b.k",
        "SELECT * FROM b FULL JOIN a ON a.id = b.k",
        "SELECT * FROM b LEFT ANTI JOIN a ON a.id = b.k",
        "SELECT * FROM b WHERE k NOT IN (SELECT id FROM a)",
        "SELECT * FROM b JOIN a ON a.id <=> b.k",
        "SELECT * FROM b JOIN (SELECT id FROM a UNION ALL SELECT v FROM b) q ON b.k = q.id",
        "SELECT * FROM b JOIN (SELECT id + 1 AS i FROM a) q ON b.k = q.i",
        "SELECT * FROM b JOIN (SELECT max(id) AS i FROM a GROUP BY kind) q ON b.k = q.i",
        "SELECT * FROM b JOIN a ON a.kind = b.k",
        "SELECT /*+ BROADCAST(a) */ * FROM b JOIN a ON a.id = b.k",
    ]
    sums = (f"SELECT {i}, count(*), sum(hash(*)) FROM ({one})" for i, one in enumerate(queries))  # noqa: S608
    with set_for_now(session, PLANNED_ONCE):
        assert metrics_of(same_answer(session, " UNION ALL ".join(sums))).num_probes == 1


def test_a_join_asks_the_best_index_of_its_table(
    other: str, session: SparkSession, tmp_path: Path
) -> None:
    """The indexes know the same files; one has the column by another spelling."""
    path = write(tmp_path / "events", [events(i) for i in range(NUM_FILES)])
    fpps = {"b_good": 0.01, "d_worst": 0.45, "a_larger": 1e-6, "c_worse": 0.3}
    for name, fpp in fpps.items():
        index.create(path, ["ID" if name == "a_larger" else "id"], name=name, fpp=fpp)
    views(session, path, other)
    df = same_answer(session, "SELECT * FROM a JOIN b ON a.ID = b.k")
    plan = df._jdf.queryExecution().optimizedPlan().toString()
    assert [name for name in fpps if f"Bloom filter of {name}.id" in plan] == ["b_good"]
    of_join = [one for one in rules.trace(df) if one.rule == "JoinBFIndexRule"]
    assert [one.index for one in of_join if one.was_used] == ["b_good"]
    why = {one.index: one.reason for one in of_join if one.reason is not None}
    assert set(why) == {"a_larger", "c_worse", "d_worst"}
    assert {one.code for one in why.values()} == {Code.ANOTHER_INDEX_APPLIED}
    assert why["a_larger"].text.endswith("b_good is smaller at about the same rate")
    assert why["d_worst"].text.endswith("b_good lets fewer keys pass")


def test_a_join_shuffles_only_what_may_match(table: str, other: str, session: SparkSession) -> None:
    views(session, table, other)
    df = same_answer(session, "SELECT * FROM a JOIN b ON a.id = b.k", num_rows=12)
    a_rows, matching = NUM_FILES * ROWS, 12
    assert metrics_of(df).shuffle_rows <= a_rows + matching + 100


KEYS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "tinyint": (pa.int8(), [1, -7, 100, None]),
    "smallint": (pa.int16(), [1, -700, 3000, None]),
    "int": (pa.int32(), [1, -70_000, 2**31 - 1, None]),
    "bigint": (pa.int64(), [1, -70_000, 2**63 - 1, None]),
    "string": (pa.string(), ["", "a", "grün", "x" * 100, None]),
    "binary": (pa.binary(), [b"", b"\xff\x00", b"x" * 33, None]),
    "date": (pa.date32(), [date(2024, 2, 29), date(1582, 10, 15), date(1200, 1, 1), None]),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        [datetime(2024, 2, 29, 1, 2, 3, 4, UTC), datetime(1850, 1, 1, tzinfo=UTC), None],
    ),
    "timestamp_ntz": (pa.timestamp("us"), [datetime(2024, 2, 29, 1, 2, 3, 4), None]),  # noqa: DTZ001
    "float": (pa.float32(), [0.0, -0.0, 1.5, float("nan"), float("inf"), None]),
    "double": (pa.float64(), [0.0, -0.0, 0.1, float("nan"), float("-inf"), None]),
    "decimal(7,2)": (pa.decimal128(7, 2), [Decimal("1.20"), Decimal("-99999.99"), None]),
    "decimal(15,3)": (pa.decimal128(15, 3), [Decimal("1.200"), Decimal("-999999999999.999"), None]),
}


def test_join_keys_of_every_type(session: SparkSession, tmp_path: Path) -> None:
    """One join on keys of all types at once; only decimals that are bytes have no probe."""
    columns = {name: pa.array(values, kind) for name, (kind, values) in KEYS.items()}
    joins = []
    for number, (type_, column) in enumerate(columns.items()):
        for stored_as_integers in (True, False) if type_.startswith("decimal") else (True,):
            root = tmp_path / f"{number}{stored_as_integers}"
            for name in ("a", "b"):
                (root / name).mkdir(parents=True)
                pq.write_table(
                    pa.table({"k": column}),
                    root / name / "part.parquet",
                    store_decimal_as_integer=stored_as_integers,
                )
            index.create(root / "a", ["k"], name="keys")
            a, b = (f"parquet.`{root / name}`" for name in ("a", "b"))
            join = f"SELECT hash(b.k), '{type_}' FROM {b} b LEFT SEMI JOIN {a} a ON a.k = b.k"  # noqa: S608
            joins.append(join)
    num_rows = sum(len(column) - 1 for column in columns.values())
    num_rows += sum(len(columns[name]) - 1 for name in columns if name.startswith("decimal"))
    with set_for_now(session, PLANNED_ONCE):
        df = same_answer(session, " UNION ALL ".join(joins), num_rows=num_rows)
    assert metrics_of(df).num_probes == len(KEYS)


# Changes.


@pytest.fixture
def changing(tmp_path: Path) -> str:
    """Return a table with an index, to be changed."""
    path = write(tmp_path / "t", [events(i) for i in range(4)])
    index.create(path, ["id"], name="ids")
    return path


def test_an_index_that_was_made_anew_from_nothing_counts(
    changing: str, session: SparkSession
) -> None:
    """Its log begins as the old one's, but its files are in another order."""
    session.read.parquet(changing).createOrReplaceTempView("a")
    same_answer(session, f"SELECT * FROM a WHERE id = {an_id(changing, 3)}")  # noqa: S608
    shutil.rmtree(Path(changing) / "_bloom_index")
    (Path(changing) / "part-00.parquet").rename(Path(changing) / "part-09.parquet")
    index.create(changing, ["id"], name="ids")
    session.read.parquet(changing).createOrReplaceTempView("a")
    for file in (1, 2, 3, 9):
        df = same_answer(session, f"SELECT * FROM a WHERE id = {an_id(changing, file)}")  # noqa: S608
        assert metrics_of(df).num_files == 1


def test_joins_know_appended_files_if_they_are_few(changing: str, session: SparkSession) -> None:
    more = Path(changing) / "more.parquet"
    pq.write_table(events(5).slice(0, 100), more)
    # A file of this very moment is not read for a join if its time happens to be a whole second.
    os.utime(more, ns=(_A_WHILE_AGO_NS, _A_WHILE_AGO_NS))
    pq.write_table(
        pa.table({"k": events(5)["id"].slice(0, 3), "v": [1, 2, 3]}), Path(changing).parent / "b"
    )
    views(session, changing, str(Path(changing).parent / "b"))
    df = same_answer(session, "SELECT * FROM a JOIN b ON a.id = b.k", num_rows=3)
    assert metrics_of(df).num_probes == 1


def test_joins_do_without_if_many_files_were_appended(
    changing: str, other: str, session: SparkSession
) -> None:
    for i in range(4, 8):
        pq.write_table(events(i), Path(changing) / f"more-{i}.parquet")
    views(session, changing, other)
    query = "SELECT * FROM a JOIN b ON a.id = b.k"
    assert metrics_of(same_answer(session, query)).num_probes == 0
    reasons = [one.reason.code for one in rules.trace(session.sql(query)) if one.reason]
    assert Code.TOO_MUCH_APPENDED in reasons
    index.refresh(changing, name="ids", mode="quick")
    views(session, changing, other)
    assert metrics_of(same_answer(session, query)).num_probes == 1


def test_without_hybrid_scans_a_changed_table_is_read_whole(
    changing: str, session: SparkSession
) -> None:
    query = "SELECT id FROM a WHERE id = -1"
    pq.write_table(pa.table({"id": [-1]}), Path(changing) / "more.parquet")
    session.read.parquet(changing).createOrReplaceTempView("a")
    session.conf.set("spark.bloomwriter.hybridScan.enabled", "false")
    try:
        assert metrics_of(same_answer(session, query)).num_files == 5
        (decision,) = rules.trace(session.sql(query))
        assert decision.reason is not None
        assert decision.reason.code is Code.SOURCE_DATA_CHANGED
    finally:
        session.conf.unset("spark.bloomwriter.hybridScan.enabled")


# Switches, and what goes wrong.


def test_rules_are_switched_on_and_off(table: str, session: SparkSession) -> None:
    def location() -> str:
        df = session.read.parquet(table).where("id = -7")
        df.collect()
        return metrics_of(df).scans[0].location

    assert rules.is_enabled(session)
    assert location().endswith("pruned by ids")
    rules.enable(session)
    assert session._jsparkSession.experimental().extraOptimizations().length() == 2
    rules.disable(session)
    assert not rules.is_enabled(session)
    assert "pruned by" not in location()
    rules.disable(session)
    rules.enable(session)
    assert location().endswith("pruned by ids")


def test_other_sessions_are_left_alone(table: str, session: SparkSession) -> None:
    another = session.newSession()
    assert not rules.is_enabled(another)
    df = another.read.parquet(table).where("id = -7")
    df.collect()
    assert "pruned by" not in metrics_of(df).scans[0].location


def test_a_decision_tells_what_was_read(table: str, session: SparkSession) -> None:
    rules.disable(session)
    df = session.read.parquet(table).where(f"id = {an_id(table, 2)}")
    (decision,) = rules.trace(df)
    assert not rules.is_enabled(session)
    sizes = {file.name: file.stat().st_size for file in Path(table).glob("*.parquet")}
    assert (decision.rule, decision.index, decision.reason) == ("PushDownBFIndexRule", "ids", None)
    assert (decision.num_files, decision.num_kept) == (NUM_FILES, 1)
    assert decision.num_bytes == sum(sizes.values())
    assert decision.bytes_kept == sizes["part-02.parquet"]


def test_a_decision_tells_why_not(table: str, session: SparkSession) -> None:
    (decision,) = rules.trace(session.read.parquet(table).where("kind = 1"))
    assert decision.index == "ids"
    assert decision.reason is not None
    assert decision.reason.code is Code.NO_USABLE_CONDITION


def test_a_broken_index_changes_nothing(changing: str, session: SparkSession) -> None:
    for part in Path(changing).rglob("part-*.bfindex"):
        os.truncate(part, 100)
    session.read.parquet(changing).createOrReplaceTempView("a")
    df = same_answer(session, f"SELECT * FROM a WHERE id = {an_id(changing, 2)}")  # noqa: S608
    assert metrics_of(df).num_files == 4
    (decision,) = rules.trace(df)
    assert decision.reason is not None
    assert decision.reason.code is Code.INDEX_BROKEN


def test_caches_can_be_cleared(table: str, session: SparkSession) -> None:
    session.read.parquet(table).createOrReplaceTempView("a")
    sql = f"SELECT * FROM a WHERE id = {an_id(table, 2)}"  # noqa: S608
    for _ in range(2):
        assert metrics_of(same_answer(session, sql)).num_files == 1
        clear_cache()


def test_an_error_in_python_changes_nothing(
    table: str, session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("on purpose")

    monkeypatch.setattr("parquet_bloomwriter.spark.rules.bridge.matching_indexes", fail)
    session.read.parquet(table).createOrReplaceTempView("a")
    df = same_answer(session, f"SELECT * FROM a WHERE id = {an_id(table, 2)}")  # noqa: S608
    assert metrics_of(df).num_files == NUM_FILES
    (decision,) = rules.trace(df)
    assert decision.reason is not None
    assert (decision.reason.code, decision.reason.text) == (Code.INTERNAL_ERROR, "on purpose")


def test_an_answer_that_makes_no_sense_changes_nothing(
    table: str, session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parquet_bloomwriter.spark.rules.bridge.Bridge.apply", lambda *_: "{}")
    session.read.parquet(table).createOrReplaceTempView("a")
    df = same_answer(session, f"SELECT * FROM a WHERE id = {an_id(table, 2)}")  # noqa: S608
    assert metrics_of(df).num_files == NUM_FILES


def test_rules_that_do_not_compile_leave_queries_alone(
    table: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "Bad.java").write_text("package bloomwriter; class Bad { no }")
    monkeypatch.setattr("parquet_bloomwriter.spark.adaptor.compiler._SOURCES", tmp_path)
    another = spark.newSession()
    assert not rules.enable(another)
    assert not rules.is_enabled(another)
    df = another.read.parquet(table).where(f"id = {an_id(table, 2)}")
    assert len(df.collect()) == 1
    (decision,) = rules.trace(df)
    assert decision.reason is not None
    assert decision.reason.code is Code.ADAPTOR_UNAVAILABLE
    with pytest.raises(BloomwriterError, match=r"cannot be added to Spark .*Bad\.java") as caught:
        Hyperspace(another).enable()
    assert "\n" not in caught.value.problem
    assert "\tat " not in caught.value.problem
    assert "`where` needs none" in str(caught.value)


def test_a_command_is_traced_and_not_run_again(session: SparkSession, table: str) -> None:
    session.read.parquet(table).createOrReplaceTempView("a")
    session.sql("CREATE TABLE copied (id BIGINT) USING parquet")
    try:
        one = events(0)["id"][0].as_py()
        command = session.sql(
            "INSERT INTO copied SELECT id FROM a WHERE id = :id", args={"id": one}
        )
        assert session.table("copied").count() == 1
        decisions = rules.trace(command)
        assert [one.was_used for one in decisions] == [True]
        assert session.table("copied").count() == 1
    finally:
        session.sql("DROP TABLE copied")


def test_whatever_fails_while_rules_are_added_leaves_queries_alone(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise TypeError("'JavaPackage' object is not callable")

    monkeypatch.setattr("parquet_bloomwriter.spark.rules.session.put_jar", fail)
    another = spark.newSession()
    assert not rules.enable(another)
    with pytest.raises(BloomwriterError, match=r"cannot be added .*'JavaPackage' object is not"):
        Hyperspace(another).enable()


def test_the_jar_of_the_rules_may_lie_in_any_folder(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "a b#c%20d'e"
    folder.mkdir()
    monkeypatch.setattr(
        "parquet_bloomwriter.spark.rules.session.scratch_folder", lambda: str(folder)
    )
    another = spark.newSession()
    assert rules.enable(another)
    loader: Any = another._jsparkSession.sharedState().jarClassLoader()
    (jar,) = folder.iterdir()
    assert str(jar) in [url.toURI().getPath() for url in loader.getURLs()]
    assert another.range(3).repartition(2).count() == 3, "tasks fetch the jar"


def test_a_plan_too_deep_for_the_rules_stays_as_it_is(session: SparkSession) -> None:
    adaptor: Any = rules_session._adaptors[session]
    context: Any = session.sparkContext
    java, jvm = adaptor.java, context._jvm
    error = jvm.java.lang.StackOverflowError("too deep")
    (failed,) = [one for one in java.getClass().getDeclaredMethods() if one.getName() == "failed"]
    failed.setAccessible(True)
    arguments = context._gateway.new_array(jvm.java.lang.Object, 2)
    arguments[0], arguments[1] = "PushDownBFIndexRule", error
    assert failed.invoke(java, arguments) is None


def test_rules_are_loaded_anew_after_the_context_was_stopped(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The JVM stays, and py4j in it remembers methods of classes that are not used any more."""
    context: Any = spark.sparkContext
    jvm, gateway = context._jvm, context._gateway
    urls = gateway.new_array(jvm.java.net.URL, 1)
    urls[0] = jvm.java.io.File(put_jar(spark, str(tmp_path))).toURI().toURL()
    parent = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for _ in range(2):
        bridge = rules_session._new(context, jvm.java.net.URLClassLoader(urls, parent), "Bridge")
        method_of(gateway, bridge, "setForTracing")(True)  # noqa: FBT003  Java's
        mailbox = method_of(gateway, bridge, "mailbox")()
        assert method_of(gateway, mailbox, "answer")("1", "") is None
