"""The verbs of Hyperspace on a classic session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter.errors import IndexNotFound, InvalidArgument
from parquet_bloomwriter.index.entry import State
from parquet_bloomwriter.index.format import slice_file
from parquet_bloomwriter.index.query.sliced import SlicedIndex
from parquet_bloomwriter.spark import BFIndexConfig, Hyperspace
from parquet_bloomwriter.spark.plan.relations import list_table, table_of
from parquet_bloomwriter.spark.rules.explain import Decision, explanation, reasons
from tests.spark.metrics import metrics_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from parquet_bloomwriter.predicate.expression import Expression
    from parquet_bloomwriter.spark.hyperspace import Mode

FILES = 6
ROWS = 10
IDS = BFIndexConfig("ids", ["id"])


def make_table(root: Path, *, partitioned: bool = False) -> Path:
    for number in range(FILES):
        folder = root / f"p={number % 2}" if partitioned else root
        folder.mkdir(parents=True, exist_ok=True)
        write(folder / f"{number}.parquet", range(ROWS * number, ROWS * number + ROWS))
    return root


def write(path: Path, ids: range) -> None:
    columns = {"id": pa.array(ids, pa.int64()), "name": [f"n{one}" for one in ids]}
    pq.write_table(pa.table(columns), path)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return make_table(tmp_path / "events")


@pytest.fixture
def hs(spark: SparkSession) -> Iterator[Hyperspace]:
    yield Hyperspace(spark)
    Hyperspace.disable(spark)


# Configurations.


def test_a_configuration_has_hyperspaces_names_too() -> None:
    config = BFIndexConfig("ids", ["id", "email"], expected_num_items=5, fpp={"id": 0.1})
    assert config == BFIndexConfig.of(
        indexName="ids", indexedColumns=["id", "email"], expectedNumItems=5, fpp={"id": 0.1}
    )
    assert config.indexName == config.index_name == "ids"
    assert config.indexedColumns == config.indexed_columns == ("id", "email")
    assert config.expectedNumItems == config.expected_num_items == 5
    assert BFIndexConfig("ids", ["id"]).fpp == 0.01


@pytest.mark.parametrize(
    ("columns", "problem"),
    [([], "indexed_columns is empty"), ([5], "the name of a column is text, but 5 was given")],
)
def test_columns_must_be_names(columns: list[str], problem: str) -> None:
    with pytest.raises(InvalidArgument, match=problem):
        BFIndexConfig("ids", columns)


def test_a_string_is_one_column() -> None:
    assert BFIndexConfig("ids", "id").indexed_columns == ("id",)


# Which table it is.


def test_a_table_is_the_folder_that_was_read(spark: SparkSession, tmp_path: Path) -> None:
    table = make_table(tmp_path / "t x%20", partitioned=True)
    everything = tuple(sorted(str(one) for one in table.rglob("*.parquet")))
    whole = table_of(spark.read.parquet(str(table)))
    assert (whole.root, whole.files) == (str(table), everything)
    part = table_of(spark.read.parquet(str(table / "p=1")))
    assert part.root == str(table / "p=1")
    assert part.files == tuple(one for one in everything if "/p=1/" in one)


def test_a_table_of_several_paths_is_what_holds_them(spark: SparkSession, tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", partitioned=True)
    paths = [str(table / "p=1" / "1.parquet"), str(table / "p=1" / "3.parquet")]
    assert table_of(spark.read.parquet(*paths)).root == str(table)
    assert table_of(spark.read.parquet(*paths)).files == tuple(paths)
    assert table_of(spark.read.parquet(paths[0])).root == str(table / "p=1")


NO_TABLES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "filtered": lambda df: df.filter("id > 3"),
    "selected": lambda df: df.select("id"),
    "renamed": lambda df: df.withColumnRenamed("id", "x"),
    "joined": lambda df: df.join(df.select("id"), "id"),
    "computed": lambda df: df.sparkSession.range(3),
}


@pytest.mark.parametrize("make", NO_TABLES.values(), ids=NO_TABLES)
def test_only_plain_reads_are_indexed(
    hs: Hyperspace, table: Path, make: Callable[[DataFrame], DataFrame]
) -> None:
    df = make(hs.spark.read.parquet(str(table)))
    with pytest.raises(InvalidArgument, match="plain read"):
        hs.create_index(df, IDS)
    assert not (table / "_bloom_index").exists()


def test_other_formats_are_refused(hs: Hyperspace, tmp_path: Path) -> None:
    hs.spark.range(3).write.json(str(tmp_path / "json"))
    with pytest.raises(InvalidArgument, match="another format"):
        hs.create_index(hs.spark.read.json(str(tmp_path / "json")), IDS)


@pytest.mark.parametrize(
    ("record", "by_path"),
    [("_delta_log/0.json", True), ("metadata/0.metadata.json", False), (".hoodie/x", False)],
)
def test_tables_with_records_of_their_own_are_refused(
    hs: Hyperspace, table: Path, record: str, *, by_path: bool
) -> None:
    df = hs.spark.read.parquet(str(table))
    (table / record).parent.mkdir()
    (table / record).write_text("{}")
    with pytest.raises(InvalidArgument, match=f"table of another format: {table}"):
        hs.createIndex(str(table) if by_path else df, IDS)
    assert not (table / "_bloom_index").exists()


def test_files_of_any_name_are_listed(spark: SparkSession, tmp_path: Path) -> None:
    table = make_table(tmp_path / "a[b]{c}*?", partitioned=True)
    write(table / "p=0" / "no-suffix", range(3))
    write(table / "_hidden.parquet", range(3))
    (table / "_bloom_index").mkdir()
    (table / "_bloom_index" / "x.parquet").write_bytes(b"")
    expected = {str(one) for one in table.glob("p=*/*")}
    assert set(list_table(spark, str(table)) or ()) == expected
    assert len(expected) == FILES + 1


# Making and changing indexes.


def states(hs: Hyperspace) -> list[tuple[str, str]]:
    return sorted((row.name, row.state) for row in hs.indexes().collect())


def test_an_index_is_made_and_listed(hs: Hyperspace, table: Path) -> None:
    config = BFIndexConfig("both", ["id", "name"], expected_num_items={"id": 60}, fpp={"id": 0.001})
    report = hs.create_index(hs.spark.read.parquet(str(table)), config)
    assert (report.name, report.state, report.num_files) == ("both", State.ACTIVE, FILES)
    assert report.unindexed == ()
    (row,) = hs.indexes().collect()
    assert (row.name, row.kind, row.state) == ("both", "BloomFilterIndex", "ACTIVE")
    assert (row.root, row.indexLocation) == (str(table), str(table / "_bloom_index" / "both"))
    assert (row.indexedColumns, row.fpp) == (["id", "name"], [0.001, 0.01])
    assert (row.numFiles, row.busy, row.problem) == (FILES, None, None)
    assert row.sourceBytes == sum(one.stat().st_size for one in table.glob("*.parquet"))
    assert row.indexBytes == report.index_bytes > 0
    assert row.contract == "checked"


def test_an_index_is_described_by_column(hs: Hyperspace, table: Path) -> None:
    config = BFIndexConfig("both", ["id", "name"], expected_num_items=60)
    hs.create_index(str(table), config, contract="immutable")
    write(table / "new.parquet", range(1000, 1003))
    (table / "0.parquet").unlink()
    one, other = hs.index("both").collect()
    assert [one.indexedColumn, other.indexedColumn] == ["id", "name"]
    for row in (one, other):
        assert (row.name, row.state, row.numFiles) == ("both", "ACTIVE", FILES)
        assert (row.appendedFiles, row.deletedFiles) == (1, 1)
        assert (row.expectedNumItems, row.contract) == (60, "immutable")
        assert 54 <= row.globalNdv <= 66
        filters = hs.spark.read.parquet(row.globalBFPath.rpartition("/")[0])
        assert filters.select("fileName", "BFBinary").count() == FILES


@pytest.mark.parametrize("mode", [None, "quick"])
def test_an_index_is_refreshed(hs: Hyperspace, table: Path, mode: Mode | None) -> None:
    hs.create_index(hs.spark.read.parquet(str(table)), IDS)
    write(table / "no-suffix", range(1000, 1003))
    (table / "0.parquet").unlink()
    report = hs.refresh_index("ids", mode) if mode else hs.refreshIndex("ids")
    assert (report.action, report.num_files) == (f"refresh {mode or 'incremental'}", FILES)
    (row,) = hs.index("ids").collect()
    assert (row.appendedFiles, row.deletedFiles) == (0, 0)
    df = hs.spark.read.parquet(str(table)).transform(hs.where("id = 1001"))
    assert [one.id for one in df.collect()] == [1001]
    assert metrics_of(df).num_files == 1


def test_an_index_is_deleted_restored_and_vacuumed(hs: Hyperspace, table: Path) -> None:
    hs.create_index(hs.spark.read.parquet(str(table)), IDS)
    assert hs.delete_index("ids").state is State.DELETED
    assert states(hs) == [("ids", "DELETED")]
    assert hs.restore_index("ids").state is State.ACTIVE
    hs.optimize_index("ids")
    assert not hs.cancel("ids").changed
    assert states(hs) == [("ids", "ACTIVE")]
    hs.delete_index("ids")
    assert hs.vacuum_index("ids").state is State.DOES_NOT_EXIST
    assert states(hs) == []
    with pytest.raises(IndexNotFound):
        hs.restore_index("ids")


def test_hyperspaces_names_are_the_same_verbs() -> None:
    names = {
        "createIndex": "create_index",
        "refreshIndex": "refresh_index",
        "optimizeIndex": "optimize_index",
        "deleteIndex": "delete_index",
        "restoreIndex": "restore_index",
        "vacuumIndex": "vacuum_index",
        "isEnabled": "is_enabled",
        "whyNot": "why_not",
    }
    for theirs, ours in names.items():
        assert getattr(Hyperspace, theirs) is getattr(Hyperspace, ours)


# Names.


def test_an_index_of_a_table_that_was_not_seen_is_found_by_its_table(
    hs: Hyperspace, table: Path
) -> None:
    hs.create_index(hs.spark.read.parquet(str(table)), IDS)
    stranger = Hyperspace(hs.spark)
    with pytest.raises(IndexNotFound, match="table="):
        stranger.delete_index("ids")
    assert stranger.delete_index("ids", table=table).state is State.DELETED
    assert states(Hyperspace(hs.spark, tables=[table])) == [("ids", "DELETED")]


def test_a_name_that_means_several_indexes(hs: Hyperspace, tmp_path: Path) -> None:
    tables = [make_table(tmp_path / name) for name in ("one", "two")]
    for one in tables:
        hs.create_index(hs.spark.read.parquet(str(one)), IDS)
    with pytest.raises(InvalidArgument, match="2 indexes") as caught:
        hs.delete_index("ids")
    assert "table=" in str(caught.value)
    hs.delete_index("ids", table=tables[1])
    assert states(hs) == [("ids", "ACTIVE"), ("ids", "DELETED")]


def test_an_unknown_name_tells_those_that_there_are(hs: Hyperspace, table: Path) -> None:
    hs.create_index(hs.spark.read.parquet(str(table)), IDS)
    with pytest.raises(IndexNotFound, match=r'no index "idz".*Known indexes: ids'):
        hs.refresh_index("idz")
    with pytest.raises(InvalidArgument):
        hs.refresh_index("../ids")


@pytest.mark.parametrize("by_setting", [False, True])
def test_indexes_may_lie_in_a_folder_of_their_own(
    spark: SparkSession, table: Path, tmp_path: Path, *, by_setting: bool
) -> None:
    home = tmp_path / "indexes"
    setting = "spark.bloomwriter.index.path"
    if by_setting:
        spark.conf.set(setting, str(home))
    try:
        hs = Hyperspace(spark, None if by_setting else home)
    finally:
        spark.conf.unset(setting)
    hs.create_index(spark.read.parquet(str(table)), IDS)
    assert not (table / "_bloom_index").exists()
    assert (home / "ids" / "_log").is_dir()
    (row,) = hs.indexes().collect()
    assert (row.root, row.indexLocation) == (str(table), str(home / "ids"))
    write(table / "new.parquet", range(1000, 1003))
    assert hs.refresh_index("ids", "incremental").num_files == FILES + 1
    df = spark.read.parquet(str(table)).transform(hs.where("id = 15"))
    assert [one.id for one in df.collect()] == [15]
    assert metrics_of(df).num_files == 1


# Using them.


def test_rules_are_switched_on_and_off(hs: Hyperspace, table: Path) -> None:
    hs.create_index(hs.spark.read.parquet(str(table)), IDS)

    def num_files() -> int:
        df = hs.spark.read.parquet(str(table)).filter("id = 15")
        assert [row.id for row in df.collect()] == [15]
        return metrics_of(df).num_files

    assert not hs.is_enabled()
    assert num_files() == FILES
    assert hs.enable() is hs.spark
    assert hs.is_enabled()
    assert Hyperspace.isEnabled(hs.spark)
    assert num_files() == 1
    assert Hyperspace.disable(hs.spark) is hs.spark
    assert not hs.is_enabled()
    assert num_files() == FILES


def test_rules_look_values_up_in_slices(
    hs: Hyperspace, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slice_file, "MIN_FILTERS", 3)
    looked_up: list[object] = []
    look = SlicedIndex.ids_of_matches

    def noting(self: SlicedIndex, expression: Expression) -> object:
        found = look(self, expression)
        looked_up.append(found)
        return found

    monkeypatch.setattr(SlicedIndex, "ids_of_matches", noting)
    hs.create_index(hs.spark.read.parquet(str(table)), IDS)
    (row,) = hs.index("ids").collect()
    assert row.sliceBytes > 0
    hs.enable()
    for number in range(0, FILES, 3):
        df = hs.spark.read.parquet(str(table)).filter(f"id = {ROWS * number + 3}")
        assert [row.id for row in df.collect()] == [ROWS * number + 3]
        assert metrics_of(df).num_files == 1
    assert looked_up
    assert all(one is not None for one in looked_up)
    hs.optimize_index("ids", slices=False)
    (row,) = hs.index("ids").collect()
    assert row.sliceBytes is None


def test_rules_know_the_folder_of_indexes(spark: SparkSession, table: Path, tmp_path: Path) -> None:
    hs = Hyperspace(spark, tmp_path / "indexes")
    hs.create_index(spark.read.parquet(str(table)), IDS)
    hs.enable()
    try:
        df = spark.read.parquet(str(table)).filter("id = 15")
        assert [row.id for row in df.collect()] == [15]
        assert metrics_of(df).num_files == 1
    finally:
        hs.disable()


@pytest.mark.parametrize("enabled", [False, True])
def test_queries_are_explained(
    hs: Hyperspace, table: Path, capsys: pytest.CaptureFixture[str], *, enabled: bool
) -> None:
    hs.create_index(hs.spark.read.parquet(str(table)), IDS)
    if enabled:
        hs.enable()
    df = hs.spark.read.parquet(str(table)).filter("id = 15")
    text = hs.explain(df)
    assert capsys.readouterr().out == text + "\n"
    assert "PushDownBFIndexRule" in text
    assert f"1 of {FILES} files" in text
    assert hs.is_enabled() is enabled
    for told in (text, hs.why_not(df)):
        assert told.startswith("The rules are off in this session") is not enabled


def test_why_an_index_is_not_used(hs: Hyperspace, table: Path) -> None:
    hs.create_index(hs.spark.read.parquet(str(table)), IDS)
    df = hs.spark.read.parquet(str(table)).filter("name = 'n1'")
    told: list[str] = []
    text = hs.why_not(df, redirect_func=told.append)
    assert told == [text]
    assert "ids" in text
    assert "PushDownBFIndexRule" in text
    assert any(code in text for code in ("NO_USABLE_CONDITION", "MISSING_INDEXED_COL"))
    assert 'The index "other" is not known.' in hs.why_not(df, "other", redirect_func=told.append)


def test_only_indexes_of_the_querys_tables_are_spoken_of(hs: Hyperspace, tmp_path: Path) -> None:
    shared = Hyperspace(hs.spark, tmp_path / "indexes")
    for name in ("one", "two", "gone"):
        make_table(tmp_path / name)
        shared.create_index(str(tmp_path / name), BFIndexConfig(f"of-{name}", ["id"]))
    shared.delete_index("of-gone")
    shared.create_index(str(tmp_path / "one"), BFIndexConfig("deleted-of-one", ["id"]))
    shared.delete_index("deleted-of-one")
    one = hs.spark.read.parquet(str(tmp_path / "one"))
    for df in (one.filter("id = 15"), one.filter("name = 'n1'"), one.join(one.limit(3), "id")):
        told: list[str] = []
        shared.explain(df, verbose=True, redirect_func=told.append)
        shared.why_not(df, extended=True, redirect_func=told.append)
        text = "".join(told)
        assert [name for name in ("of-two", "of-gone") if name in text] == []
        assert "of-one" in text
        assert "deleted-of-one" in text
    where = shared.where("name = 'n1'")
    assert {decision.index for decision in where.decisions(one)} == {"of-one", "deleted-of-one"}


USED = Decision(
    rule="PushDownBFIndexRule",
    relation="/data/events",
    index="ids",
    condition="id = 42",
    num_files=2000,
    num_kept=1,
    num_bytes=5 << 30,
    bytes_kept=3 << 20,
)


def test_what_is_used_is_a_table() -> None:
    border, head, _, row, _ = explanation([USED]).splitlines()[3:]
    assert set(border) == {"+", "-"}
    assert head.split("|")[1:-1] == [
        " index ",
        " rule                ",
        " relation     ",
        " condition ",
        " files            ",
        " bytes              ",
    ]
    assert row.split("|")[1:-1] == [
        " ids   ",
        " PushDownBFIndexRule ",
        " /data/events ",
        " id = 42   ",
        " 1 of 2,000 files ",
        " 3.0 MiB of 5.0 GiB ",
    ]


def test_nothing_is_said_of_indexes_that_are_used_unless_asked() -> None:
    assert reasons([USED], extended=False) == "Every index that could be used is used.\n"
    assert "1 of 2,000 files" in reasons([USED], extended=True)
    assert "no relation with an index" in reasons([], extended=False)
