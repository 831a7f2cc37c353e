"""An index that Spark has built is the one that threads build."""

from __future__ import annotations

import dataclasses
import io
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import bloomify, index
from parquet_bloomwriter.errors import BloomwriterError, InvalidArgument
from parquet_bloomwriter.index import api
from parquet_bloomwriter.index.build.threads import ThreadEngine
from parquet_bloomwriter.index.format.filter_file import read_global
from parquet_bloomwriter.index.format.part_writer import CHECKS
from parquet_bloomwriter.index.log.log import IndexLog
from parquet_bloomwriter.source.settings import BucketSettings, StoreSettings, use, use_for_buckets
from parquet_bloomwriter.spark import SparkEngine, jobs
from parquet_bloomwriter.spark.progress import JobLine, TaskProgress

if TYPE_CHECKING:
    from typing import Literal

    from pyspark.sql import SparkSession

    from parquet_bloomwriter.index.engine import Engine
    from parquet_bloomwriter.index.entry import Entry

NUM_FILES = 9
ROWS = 700


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a table of files of several sizes; one is damaged, one lacks a column."""
    folder = tmp_path_factory.mktemp("engine") / "a b%20ü"
    for i in range(NUM_FILES):
        path = folder / f"p={i % 2}" / f"f {i}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        values = range(i * ROWS, i * ROWS + ROWS - 50 * i)
        data = {"id": list(values), "name": [f"n{value}" for value in values]}
        pq.write_table(pa.table(data), path, row_group_size=300)
        if i < 3:
            bloomify(path, ["id", "name"])
    pq.write_table(pa.table({"id": [-1, -2]}), folder / "p=0" / "no name.parquet")
    (folder / "p=0" / "damaged.parquet").write_bytes(b"PAR1")
    return folder


@pytest.mark.parametrize("origin", ["values", "embedded", "auto"])
def test_both_engines_build_the_same(
    spark: SparkSession, table: Path, tmp_path: Path, origin: Literal["values", "embedded", "auto"]
) -> None:
    engines: dict[str, Engine] = {"threads": ThreadEngine(2), "spark": SparkEngine(spark)}
    reports = {
        name: api.create(
            table, ["id", "name"], name="ids", home=tmp_path / name, origin=origin, engine=engine
        )
        for name, engine in engines.items()
    }
    threads, ours = (reports[name] for name in engines)
    assert (ours.unindexed, ours.left_out) == (threads.unindexed, threads.left_out)
    assert ours.unindexed
    assert whole(ours.folder) == whole(threads.folder)
    for predicate in ("id = 1234", "name = 'n5'", "id IN (-1, 6)", "id = 99999999"):
        answers = [
            api.lookup(table, predicate, name="ids", home=tmp_path / name) for name in engines
        ]
        assert answers[0].paths == answers[1].paths
        assert answers[0].num_unknown == answers[1].num_unknown
    assert answers[0].num_excluded > 0


def test_files_that_change_meanwhile_are_left_out(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    for name in ("a.parquet", "b.parquet"):
        pq.write_table(pa.table({"id": [1, 2, 3]}), folder / name)

    class Late(SparkEngine):
        def build(self, *arguments: Any) -> Any:  # noqa: ANN401  as the engine's
            pq.write_table(pa.table({"id": [7]}), folder / "b.parquet")
            return super().build(*arguments)

    report = index.create(folder, ["id"], name="ids", engine=Late(spark))
    assert report.num_files == 1
    assert [one.path for one in report.left_out] == ["b.parquet"]
    kept = api.lookup(folder, "id = 7").paths
    assert [Path(path).name for path in kept] == ["b.parquet"]


def test_a_failure_to_write_is_told_as_it_is(
    spark: SparkSession, table: Path, tmp_path: Path
) -> None:
    class Misled(SparkEngine):
        def build(self, groups: Any, plan: Any, progress: Any) -> Any:  # noqa: ANN401
            (tmp_path / "file").touch()
            wrong = dataclasses.replace(plan, folder=str(tmp_path / "file" / "v__=0"))
            return super().build(groups, wrong, progress)

    with pytest.raises(NotADirectoryError):
        api.create(table, ["id"], name="ids", home=tmp_path / "h", engine=Misled(spark))


def test_progress_is_told_of_every_file(spark: SparkSession, table: Path, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []

    class Listener:
        def begin(self, *, num_files: int, num_bytes: int) -> None:
            told.append(("begin", num_files, num_bytes))

        def done(self, *, num_files: int, num_bytes: int) -> None:
            told.append(("done", num_files, num_bytes))

    api.create(
        table,
        ["id"],
        name="ids",
        home=tmp_path,
        engine=SparkEngine(spark, num_groups=4),
        progress=Listener(),
    )
    (kind, *totals), *rest = told
    assert kind == "begin"
    assert [sum(counts) for counts in list(zip(*rest, strict=True))[1:]] == totals


def test_there_is_a_group_for_every_core(spark: SparkSession) -> None:
    assert SparkEngine(spark).num_groups == spark.sparkContext.defaultParallelism
    assert SparkEngine(spark, num_groups=7).num_groups == 7
    with pytest.raises(InvalidArgument):
        SparkEngine(spark, num_groups=0)


# Jobs.


def test_every_argument_gets_one_result(spark: SparkSession) -> None:
    def square(number: int) -> int:
        return number**2

    told: list[int] = []
    results = jobs.run(
        spark, square, list(range(20)), description="squares", on_progress=told.append
    )
    assert sorted(results) == [number**2 for number in range(20)]
    assert told == sorted(told)
    assert told[-1] == 20
    assert list(jobs.run(spark, square, [], description="nothing")) == []


def test_workers_have_the_keys_of_an_iceberg_catalog(spark: SparkSession) -> None:
    def key_of(bucket: str) -> str | None:
        from parquet_bloomwriter.source.settings import settings_in_use

        settings = settings_in_use().of_bucket(bucket)
        return None if settings is None else settings.access_key

    use_for_buckets({"b": BucketSettings(access_key="vended")})
    try:
        assert list(jobs.run(spark, key_of, ["b"], description="keys")) == ["vended"]
    finally:
        use(StoreSettings())
    assert list(jobs.run(spark, key_of, ["b"], description="keys")) == [None]


def test_errors_of_ours_come_back_whole(spark: SparkSession) -> None:
    def refuse(number: int) -> int:
        raise InvalidArgument(f"{number} is odd", path="here", remedy="Take another.")

    with pytest.raises(InvalidArgument) as caught:
        list(jobs.run(spark, refuse, [3], description="refuse"))
    assert str(caught.value) == "here: 3 is odd. Take another."


def test_workers_that_lack_a_module_are_told_of(spark: SparkSession) -> None:
    def lost(_: int) -> int:
        raise ModuleNotFoundError("No module named 'thrift'", name="thrift")

    with pytest.raises(BloomwriterError, match=r"cannot import thrift.*PYSPARK_PYTHON"):
        list(jobs.run(spark, lost, [1], description="lost"))


def test_workers_of_another_version_are_told_of(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "__version__", "99.0")
    with pytest.raises(BloomwriterError, match=r"driver has version 99\.0"):
        list(jobs.run(spark, len, [[1]], description="len"))


def test_the_number_of_cores_needs_no_context(spark: SparkSession) -> None:
    class Connected:
        """What is left of a session on Spark Connect."""

        range = spark.range

    Connected.__module__ = "pyspark.sql.connect.session"
    found = jobs.default_parallelism(Connected())  # type: ignore[arg-type]
    assert found == spark.sparkContext.defaultParallelism


# Progress.


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def test_the_line_says_how_far_the_job_is() -> None:
    stream = Terminal()
    ticks = itertools.count()
    with JobLine("indexing ev\x1bents", stream, clock=lambda: next(ticks)) as line:
        line.begin(num_files=2000, num_bytes=5_583_457_485)
        line.done(num_files=1204, num_bytes=3_328_599_654)
        line.done(num_files=1, num_bytes=0)
    drawn = stream.getvalue().split("\r\x1b[K")
    assert drawn[0] == drawn[-1] == ""
    assert drawn[1].endswith("  0 %   0 of 2,000 files   0 bytes of 5.2 GiB")
    assert drawn[2].startswith(r"indexing ev\x1bents   ")
    assert drawn[2].endswith(" 59 %   1,204 of 2,000 files   3.1 of 5.2 GiB")
    assert drawn[3].endswith(" 59 %   1,205 of 2,000 files   3.1 of 5.2 GiB")


def test_the_line_is_for_terminals() -> None:
    stream = io.StringIO()
    with JobLine("indexing", stream) as line:
        line.begin(num_files=1, num_bytes=1)
        line.done(num_files=1, num_bytes=1)
    assert stream.getvalue() == ""


def test_tasks_are_told_of_once() -> None:
    told: list[tuple[int, int]] = []

    class Listener:
        def begin(self, *, num_files: int, num_bytes: int) -> None: ...

        def done(self, *, num_files: int, num_bytes: int) -> None:
            told.append((num_files, num_bytes))

    teller = TaskProgress([(1, 10), (2, 20), (3, 30)], Listener())
    for done in (0, 2, 1, 2, 3, 5):
        teller(done)
    assert told == [(1, 10), (2, 20), (3, 30)]


# What an index holds.


def whole(folder: str) -> dict[str, Any]:
    """Everything that an index says, whatever files it is in."""
    entry = IndexLog(folder).latest_stable()
    assert entry is not None
    return {
        "manifest": rows_of(folder, [entry.manifest.path] if entry.manifest else []),
        "columns": {column.name: of_column(folder, entry, column.name) for column in entry.columns},
    }


def of_column(folder: str, entry: Entry, name: str) -> list[Any]:
    column = entry.column(name)
    assert column is not None
    parts = rows_of(folder, [part.path for part in column.parts])
    assert parts
    union = column.global_filter
    if union is None:
        return [parts, column.no_global]
    bits = read_global(folder, union.file).blocks.tobytes()
    return [parts, bits, union.fpp, union.ndv, union.stop]


def rows_of(folder: str, paths: list[str]) -> list[dict[str, Any]]:
    tables = [pq.read_table(Path(folder, path), partitioning=None) for path in paths]
    rows = [row for table in tables for row in table.to_pylist()]
    for row in rows:
        row.pop(CHECKS, None)  # they depend on the names of files, which are random
    return sorted(rows, key=lambda row: (row["fileId"], row.get("rowGroup", 0)))
