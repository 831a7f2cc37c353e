"""`bloomify_table` on tables that Spark and others have written, whatever happens meanwhile."""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import inspect, strip
from parquet_bloomwriter.errors import ColumnNotFound, InvalidArgument, UnsafeTarget
from parquet_bloomwriter.spark import bloomify_table
from parquet_bloomwriter.spark.table.checksums import checksums_of, crc_paths
from parquet_bloomwriter.spark.table.files import check_is_plain, names_in, table_files
from parquet_bloomwriter.spark.table.journal import digest
from parquet_bloomwriter.spark.table.rewrite import RewriteOptions
from tests.support.spark_children import Child

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RUN_JOBS = Path(__file__).with_name("run_jobs.py")
NUM_FILES = 40
ADJACENT = (
    "ClickHouse 26.1 to 26.3 loses rows of columns whose filters lie next to each other; placement "
    "column-chunk is right"
)


def test_every_file_of_a_partitioned_table_gets_its_filters(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = written_by_spark(spark, tmp_path / "t")
    before = contents(table)
    rows = report(bloomify_table(spark, table, ["id", "name"]))
    files = data_files(table)
    assert [row["path"] for row in rows] == [str(path) for path in files]
    for row, path in zip(rows, files, strict=True):
        old = before[str(path.relative_to(table))]
        assert row == unremarkable(
            path,
            status="rewritten",
            built=2,
            bytes_before=len(old),
            bytes_after=size(path),
            notes=[f"id: {ADJACENT}"],
        )
        assert strip(path.read_bytes()).data == old
        assert filtered_columns(path) == {"id", "name"}
    assert contents(table).keys() == before.keys()
    assert_checksums_fit(table, num=len(files))
    assert_finds_every_row(spark, table)


def test_journals_know_the_options_of_earlier_versions() -> None:
    options = RewriteOptions(
        columns=("id",),
        fpp=0.01,
        ndv=None,
        max_bytes=1 << 27,
        sizing="pow2",
        placement="end",
        replace=False,
        force=False,
        regenerate_crc=True,
    )
    assert digest(options) == "8846264db52b2a7a406be86c5f9ba721"


def test_a_second_run_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    table = written_by_spark(spark, tmp_path / "t")
    bloomify_table(spark, table, ["id"])
    before = states(table)
    rows = report(bloomify_table(spark, table, ["id"]))
    assert states(table) == before
    for row, path in zip(rows, data_files(table), strict=True):
        assert row == unremarkable(path, status="unchanged", kept=1)


def test_an_output_has_the_table_with_filters(spark: SparkSession, tmp_path: Path) -> None:
    table, output = written_by_spark(spark, tmp_path / "t"), tmp_path / "new" / "u"
    (table / "nothing.txt").touch()
    before = states(table)
    rows = report(bloomify_table(spark, table, ["id"], output=output))
    assert states(table) == before
    names = [str(path.relative_to(table)) for path in data_files(table)]
    copied = unremarkable(
        table / "nothing.txt", status="copied", notes=["an empty file, which Spark passes over"]
    )
    assert rows == [copied | {"output": str(output / "nothing.txt")}] + [
        unremarkable(table / name, status="rewritten", built=1)
        | {"output": str(output / name), "bytes_after": size(output / name)}
        for name in names
    ]
    visible = {name for name in contents(output) if not name.startswith("_bloomify/")}
    assert visible == {*names, "nothing.txt", "_SUCCESS"}
    for name in names:
        assert strip((output / name).read_bytes()).data == (table / name).read_bytes()
    assert_finds_every_row(spark, output)


def test_an_output_is_gone_on_with(spark: SparkSession, tmp_path: Path) -> None:
    table, output = written_by_pyarrow(tmp_path / "t", 4), tmp_path / "u"
    bloomify_table(spark, table, ["id"], output=output)
    (output / "f1.parquet").unlink()
    (output / "f2.parquet").write_bytes(b"damaged")
    pq.write_table(numbers(99), table / "f3.parquet")
    rows = report(bloomify_table(spark, table, ["id"], output=output))
    assert [row["status"] for row in rows] == ["skipped", *["rewritten"] * 3]
    for path in data_files(table):
        assert strip((output / path.name).read_bytes()).data == path.read_bytes()
    rows = report(bloomify_table(spark, table, ["id"], output=output))
    assert [row["status"] for row in rows] == ["skipped"] * 4
    rows = report(bloomify_table(spark, table, ["id"], output=output, fpp="0.1%"))
    assert [row["status"] for row in rows] == ["rewritten"] * 4


def test_files_that_the_table_lost_are_named(spark: SparkSession, tmp_path: Path) -> None:
    table, output = written_by_pyarrow(tmp_path / "t", 2), tmp_path / "u"
    bloomify_table(spark, table, ["id"], output=output)
    (table / "f0.parquet").unlink()
    (table / "_SUCCESS").touch()
    rows = report(bloomify_table(spark, table, ["id"], output=output))
    assert [(row["output"], row["status"]) for row in rows] == [
        (str(output / "f0.parquet"), "stale"),
        (str(output / "f1.parquet"), "skipped"),
    ]
    assert not (output / "_SUCCESS").exists()


def test_a_foreign_folder_is_no_output(spark: SparkSession, tmp_path: Path) -> None:
    table, output = written_by_pyarrow(tmp_path / "t", 1), tmp_path / "u"
    written_by_pyarrow(output, 1)
    before = states(tmp_path)
    for place in (output, table, table / "inside", tmp_path):
        with pytest.raises(InvalidArgument):
            bloomify_table(spark, table, ["id"], output=place)
    assert states(tmp_path) == before


@pytest.mark.parametrize("to_output", [False, True])
def test_names_may_hold_any_characters(
    spark: SparkSession, tmp_path: Path, *, to_output: bool
) -> None:
    table = tmp_path / "a b%20#1ü+日"
    frame = spark.range(60).selectExpr(
        "id", "element_at(array('x y', 'a%b', 'ü#[]'), 1 + cast(id % 3 as int)) p"
    )
    frame.coalesce(1).write.partitionBy("p").parquet(str(table))
    for path in data_files(table):
        path.rename(path.with_name("50% of [all] #1 é.parquet"))
    for path in table.rglob(".*.crc"):
        path.unlink()
    output = tmp_path / "o%2F ü" if to_output else None
    rows = report(bloomify_table(spark, table, ["id"], output=output))
    assert [row["status"] for row in rows] == ["rewritten"] * 3
    result = output or table
    assert {filtered for path in data_files(result) for filtered in filtered_columns(path)} == {
        "id"
    }
    read = spark.read.parquet(str(result))
    assert sorted(read.where("id = 7").collect()) == [(7, "a%b")]
    assert sorted(map(tuple, read.collect())) == sorted(map(tuple, frame.collect()))


def test_one_bad_file_does_not_stop_the_others(spark: SparkSession, tmp_path: Path) -> None:
    table = written_by_pyarrow(tmp_path / "t", 4)
    whole = (table / "f1.parquet").read_bytes()
    (table / "f1.parquet").write_bytes(whole[:-4])
    (table / "f2.parquet").write_bytes(b"")
    before = contents(table)
    rows = report(bloomify_table(spark, table, ["id"]))
    assert [row["status"] for row in rows] == ["rewritten", "failed", "skipped", "rewritten"]
    assert "f1.parquet" in rows[1]["error"]
    after = contents(table)
    assert {name for name in after if after[name] != before[name]} == {"f0.parquet", "f3.parquet"}


def test_damaged_data_is_not_made_to_look_sound(spark: SparkSession, tmp_path: Path) -> None:
    table = written_by_spark(spark, tmp_path / "t")
    bad = data_files(table)[0]
    place = pq.read_metadata(bad).row_group(0).column(1).data_page_offset
    data = bytearray(bad.read_bytes())
    data[place + 100] ^= 1
    bad.write_bytes(data)
    before = contents(table)
    for output in (None, tmp_path / "u"):
        rows = report(bloomify_table(spark, table, ["id"], output=output))
        assert {row["path"] for row in rows if row["status"] == "failed"} == {str(bad)}
        assert "checksum" in rows[0]["error"]
    after = contents(table)
    crc = str(Path(crc_paths(str(bad))[0]).relative_to(table))
    for name in (str(bad.relative_to(table)), crc):
        assert after[name] == before[name]
    assert not (tmp_path / "u" / "_SUCCESS").exists()
    rows = report(bloomify_table(spark, table, ["id"], force=True))
    assert {row["status"] for row in rows} == {"rewritten", "unchanged"}
    assert_checksums_fit(table, num=len(rows))


def test_what_killed_runs_left_is_removed(spark: SparkSession, tmp_path: Path) -> None:
    table = written_by_spark(spark, tmp_path / "t")
    before = contents(table).keys()
    path = data_files(table)[0]
    for left in (
        f"..{path.name}.crc.bloomify-0123456789abcdef.tmp",
        f".{path.name}.bloomify-0123456789abcdef.tmp",
    ):
        path.with_name(left).touch()
    report(bloomify_table(spark, table, ["id"]))
    assert contents(table).keys() == before


def test_checksum_files_can_be_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    table = written_by_spark(spark, tmp_path / "t")
    before = contents(table)
    rows = report(bloomify_table(spark, table, ["id"], regenerate_crc=False))
    assert {row["status"] for row in rows} == {"failed"}
    assert contents(table) == before


@pytest.mark.parametrize(
    ("sign", "word", "to_output"),
    [
        ("_delta_log/00000000000000000000.json", "Delta", False),
        ("metadata/v1.metadata.json", "Iceberg", True),
        (".hoodie/hoodie.properties", "Hudi", False),
    ],
)
def test_managed_tables_are_refused(
    spark: SparkSession, tmp_path: Path, sign: str, word: str, *, to_output: bool
) -> None:
    table = written_by_pyarrow(tmp_path / "t" / "data", 2).parent
    (table / sign).parent.mkdir()
    (table / sign).touch()
    before = states(tmp_path)
    output = tmp_path / "u" if to_output else None
    parts = (table / "data", table / "data" / "f0.parquet")
    for path in parts if word == "Delta" else (table, *parts):  # a Delta table itself is no part
        with pytest.raises(UnsafeTarget, match=rf"{word}.*Nothing was changed"):
            bloomify_table(spark, path, ["id"], output=output)
    assert states(tmp_path) == before
    rows = report(bloomify_table(spark, table / "data", ["id"], output=output, force=True))
    assert [row["status"] for row in rows] == ["rewritten", "rewritten"]


def test_metadata_that_cannot_be_listed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, files = table_files(str(written_by_pyarrow(tmp_path / "t", 1)))
    hidden = tmp_path / "metadata"
    hidden.mkdir()
    real = os.scandir

    def refuse(path: str) -> object:
        if str(path) == str(hidden):
            raise PermissionError
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(UnsafeTarget) as caught:
        check_is_plain(root, files, in_place=False)
    assert caught.value.problem == f"{hidden} cannot be listed, and may be a table's"


def test_a_summary_file_forbids_only_work_in_place(spark: SparkSession, tmp_path: Path) -> None:
    table = written_by_pyarrow(tmp_path / "t", 1)
    (table / "_metadata").touch()
    with pytest.raises(UnsafeTarget, match="_metadata"):
        bloomify_table(spark, table, ["id"])
    rows = report(bloomify_table(spark, table, ["id"], output=tmp_path / "u"))
    assert [row["status"] for row in rows] == ["rewritten"]
    assert not (tmp_path / "u" / "_metadata").exists()


def test_columns_may_be_missing_from_some_files(spark: SparkSession, tmp_path: Path) -> None:
    table = written_by_pyarrow(tmp_path / "t", 1)
    pq.write_table(pa.table({"ID": [1, 2], "new": ["a", "b"]}), table / "f1.parquet")
    pq.write_table(pa.table({"other": [1]}), table / "f2.parquet")
    rows = report(bloomify_table(spark, table, ["id", "new"], fpp={"id": 0.1, "*": 0.001}))
    assert [(row["status"], row["built"], row["notes"]) for row in rows] == [
        ("rewritten", 1, ['there is no column "new"']),
        ("rewritten", 2, [f"ID: {ADJACENT}"]),
        ("unchanged", 0, ['there is no column "id"', 'there is no column "new"']),
    ]


def test_columns_may_be_excluded(spark: SparkSession, tmp_path: Path) -> None:
    table = written_by_pyarrow(tmp_path / "t", 1)
    pq.write_table(pa.table({"ID": [1, 2], "new_id": [3, 4]}), table / "f1.parquet")
    pq.write_table(pa.table({"new_id": [1]}), table / "f2.parquet")
    rows = report(bloomify_table(spark, table, ["id", "*_id"], exclude="new_id"))
    assert [(row["status"], row["built"], row["error"]) for row in rows] == [
        ("rewritten", 1, None),
        ("rewritten", 1, None),
        ("unchanged", 0, None),
    ]
    assert [filtered_columns(path) for path in data_files(table)] == [{"id"}, {"ID"}, set()]
    report(bloomify_table(spark, table, exclude=["new_id", "NAME"]))
    assert [filtered_columns(path) for path in data_files(table)] == [{"id"}, {"ID"}, set()]


def test_wishes_are_checked_before_any_work(spark: SparkSession, tmp_path: Path) -> None:
    table = written_by_pyarrow(tmp_path / "t", 2)
    before = states(tmp_path)
    wrong: list[tuple[type[Exception], dict[str, Any]]] = [
        (ColumnNotFound, {"columns": ["id", "nope"]}),
        (ColumnNotFound, {"columns": ["id"], "fpp": {"nope": 0.1}}),
        (InvalidArgument, {"columns": ["id"], "fpp": {"name": 0.1}}),
        (ColumnNotFound, {"columns": ["id"], "exclude": ["nope"]}),
        (InvalidArgument, {"fpp": 1.5}),
        (InvalidArgument, {"fpp": "a lot"}),
        (InvalidArgument, {"fpp": {"id": None}}),
        (InvalidArgument, {"fpp": {"id": 0.1, "name": 0}}),
        (InvalidArgument, {"max_bytes": 7}),
        (InvalidArgument, {"placement": "middle"}),
        (InvalidArgument, {"sizing": "huge"}),
    ]
    for error, wishes in wrong:
        for output in (None, tmp_path / "u"):
            with pytest.raises(error):
                bloomify_table(spark, table, output=output, **wishes)
    for place in ("viewfs://cluster/t", tmp_path / "nothing"):
        with pytest.raises(InvalidArgument):
            bloomify_table(spark, place, ["id"])
    assert states(tmp_path) == before


def test_files_are_what_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    table = written_by_pyarrow(tmp_path / "t", 1)
    data = (table / "f0.parquet").read_bytes()
    for name in ("part-00001", "_k=1/x", "k=2/.hidden", "_bloom_index/f.parquet", "y._COPYING_"):
        (table / name).parent.mkdir(exist_ok=True)
        (table / name).write_bytes(data)
    (table / "link.parquet").symlink_to("f0.parquet")
    rows = report(bloomify_table(spark, table.as_uri(), ["id"]))
    assert [(row["path"].removeprefix(f"{table}/"), row["status"]) for row in rows] == [
        ("_k=1/x", "rewritten"),
        ("f0.parquet", "rewritten"),
        ("link.parquet", "skipped"),
        ("part-00001", "rewritten"),
    ]
    assert (table / "link.parquet").is_symlink()


def test_large_dictionaries_are_remarked_on(spark: SparkSession, tmp_path: Path) -> None:
    values = pa.table({"id": pa.array(range(20_000)), "few": pa.array([1, 2] * 10_000)})
    (tmp_path / "t").mkdir()
    pq.write_table(values, tmp_path / "t" / "f.parquet", compression="none")
    (row,) = report(bloomify_table(spark, tmp_path / "t", ["id", "few"]))
    first, note = row["notes"]
    assert first == f"id: {ADJACENT}"
    assert note.startswith("id: ")
    assert "parquet.filter.dictionary.enabled" in note


def test_progress_is_told_of_all_files(spark: SparkSession, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []

    class Listener:
        def begin(self, *, num_files: int, num_bytes: int) -> None:
            told.append(("begin", num_files, num_bytes))

        def done(self, *, num_files: int, num_bytes: int) -> None:
            told.append(("done", num_files, num_bytes))

    table = written_by_pyarrow(tmp_path / "t", 5)
    total = sum(map(size, data_files(table)))
    bloomify_table(spark, table, ["id"], num_tasks=2, progress=Listener())
    assert told[0] == ("begin", 5, total)
    assert {kind for kind, _, _ in told[1:]} == {"done"}
    assert [sum(counts) for counts in list(zip(*told[1:], strict=True))[1:]] == [5, total]


@pytest.mark.shares
def test_a_killed_run_is_simply_run_again(spark: SparkSession, tmp_path: Path) -> None:
    """In place or to an output: one of these in each run, since each takes a JVM."""
    to_output = secrets.choice([False, True])
    table = tmp_path / "t"
    frame = spark.range(0, NUM_FILES * 1000, 1, NUM_FILES).selectExpr("id", "cast(id as string) s")
    frame.write.parquet(str(table))
    before = contents(table)
    output = tmp_path / "u"
    result = output if to_output else table
    child = Child(RUN_JOBS, "local[2]", str(table), f"table={output if to_output else ''}")
    deadline = time.monotonic() + 120
    while num_with_filters(result) < 3:
        assert child.process.poll() is None, child.process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.002)
    child.kill()
    done = num_with_filters(result)
    assert 3 <= done < NUM_FILES
    # Whatever the run has left: every file is whole, and Spark reads it.
    assert all(strip_of(path) == before[path.name] for path in data_files(result))
    assert spark.read.parquet(str(table)).count() == NUM_FILES * 1000
    rows = report(bloomify_table(spark, table, ["id"], output=output if to_output else None))
    statuses = [row["status"] for row in rows]
    earlier = "skipped" if to_output else "unchanged"
    assert statuses.count("rewritten") + statuses.count(earlier) == NUM_FILES
    # A file may be there without the journal saying so: it is written again.
    assert 0 <= done - statuses.count(earlier) <= (2 if to_output else 0)
    assert num_with_filters(result) == NUM_FILES
    assert all(strip_of(path) == before[path.name] for path in data_files(result))
    assert not list(result.rglob("*.tmp"))
    for path in table.glob(".*.crc"):
        if path.name != "._SUCCESS.crc":
            assert path.read_bytes() == checksums_of(str(table / path.name[1:-4]))
    assert spark.read.parquet(str(result)).where("id = 12345").collect() == [(12345, "12345")]


# Tables, and what is in them.


def written_by_spark(spark: SparkSession, folder: Path) -> Path:
    frame = spark.range(3000).selectExpr("id", "concat('n', id) name", "id % 3 as p")
    frame.repartition(2).write.partitionBy("p").parquet(str(folder))
    return folder


def assert_finds_every_row(spark: SparkSession, table: Path) -> None:
    frame = spark.read.parquet(str(table))
    assert frame.count() == 3000
    for value in (0, 1234, 2999):
        row = (value, f"n{value}", value % 3)
        assert frame.where(f"id = {value}").collect() == [row]
        assert frame.where(f"name = 'n{value}'").collect() == [row]
    assert frame.where("id = 3001").collect() == []


def numbers(seed: int) -> pa.Table:
    values = range(seed * 1000, seed * 1000 + 500)
    return pa.table({"id": list(values), "name": [f"n{value}" for value in values]})


def written_by_pyarrow(folder: Path, num_files: int) -> Path:
    folder.mkdir(parents=True)
    for i in range(num_files):
        pq.write_table(numbers(i), folder / f"f{i}.parquet")
    return folder


def data_files(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*.parquet")
        if path.is_file() and not path.name.startswith((".", "_"))
    )


def contents(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def states(folder: Path) -> dict[str, tuple[int, int]]:
    found = {str(path.relative_to(folder)): path.stat() for path in folder.rglob("*")}
    return {name: (stat.st_ino, stat.st_mtime_ns) for name, stat in found.items()}


def size(path: Path) -> int:
    return path.stat().st_size


def strip_of(path: Path) -> bytes | None:
    data = path.read_bytes()
    return strip(data).data if filtered_columns(path) else data


def filtered_columns(path: Path) -> set[str]:
    return {column.name for column in inspect(path).columns if column.filters}


def num_with_filters(folder: Path) -> int:
    return sum(bool(filtered_columns(path)) for path in data_files(folder))


def assert_checksums_fit(table: Path, *, num: int) -> None:
    crcs = [path for path in table.rglob(".*.crc") if path.name != "._SUCCESS.crc"]
    assert len(crcs) == num
    for path in crcs:
        assert path.read_bytes() == checksums_of(str(path.with_name(path.name[1:-4])))


def report(frame: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict() for row in frame.collect()]


def unremarkable(path: Path, **facts: object) -> dict[str, object]:
    """The report on a file, but for the facts named."""
    nothing: dict[str, object] = {
        "output": None,
        "built": 0,
        "kept": 0,
        "empty": 0,
        "skipped": 0,
        "notes": [],
    }
    sizes: dict[str, object] = {"bytes_before": size(path), "bytes_after": size(path)}
    return {"path": str(path), "error": None} | nothing | sizes | facts


def test_dataframes_that_were_made_before_miss_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    """They keep the sizes of their files, and leave out row groups that lie beyond."""
    rows = pa.table({"id": range(3000), "name": [f"user{i}@example.com" for i in range(3000)]})
    pq.write_table(rows, tmp_path / "a.parquet", row_group_size=500, compression="none")
    frame = spark.read.parquet(str(tmp_path))
    old_size = size(tmp_path / "a.parquet")
    bloomify_table(spark, tmp_path, ["id", "name"], fpp=1e-7).collect()
    assert size(tmp_path / "a.parquet") > 1.5 * old_size
    assert frame.selectExpr("count(name)", "sum(id)").first() == (3000, 3000 * 2999 // 2)


def test_backups_beside_their_files_are_left_alone(tmp_path: Path) -> None:
    """A rewrite in place would otherwise change the only old version; another file is data."""
    for name in ("a.parquet", "a.parquet.bak", "b.parquet.bak", "part-0", "part-0_copy_1"):
        pq.write_table(pa.table({"id": [1]}), tmp_path / name)
    names = ["a.parquet", "b.parquet.bak", "part-0", "part-0_copy_1"]
    assert sorted(names_in(str(tmp_path))) == names
