"""Files that change after an index was built: answers never do, and what is known is still pruned.

Every table has files of distinct ids, spread so that statistics do not tell them apart. Most have
partitions: half of the files are in each of two.
"""

# ruff: noqa: S608  tests compose their SQL
from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import index
from tests.spark.both_ways import BothWays, both_ways, eager_session
from tests.spark.generated.tables import quoted
from tests.support.draws import drawn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

Mode = Literal["incremental", "full", "quick"]
NUM_FILES = 6
STEP = 1000
"""Ids of one file lie so far apart, and those of all files between each other."""


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """Return a session of its own beside the shared one."""
    assert spark is not None
    with eager_session() as own:
        yield own


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """A table whose file i has the ids i, i + STEP, ..., and what its files are."""

    folder: Path
    is_partitioned: bool

    def place(self, i: int) -> Path:
        """Where a file lies."""
        part = f"p={'a%20b' if i % 2 else '7'}" if self.is_partitioned else ""
        return self.folder / part / f"part-{i}.parquet"

    def write(self, i: int, ids: list[int] | None = None) -> Path:
        """Write or overwrite a file."""
        path = self.place(i)
        path.parent.mkdir(parents=True, exist_ok=True)
        columns = {"id": pa.array(ids_of(i) if ids is None else ids, pa.int64())}
        pq.write_table(pa.table(columns), path, use_dictionary=False, compression="none")
        return path

    def find(self, session: SparkSession, *ids: int) -> BothWays:
        """Ask for some ids."""
        wanted = ", ".join(map(str, ids))
        name = quoted(str(self.folder))
        return both_ways(session, f"SELECT id FROM parquet.{name} WHERE id IN ({wanted})")


def ids_of(i: int) -> list[int]:
    """Ids of one file."""
    return [i + STEP * j for j in range(20)]


@pytest.fixture
def events(request: pytest.FixtureRequest, tmp_path: Path) -> Events:
    """Return a table with an index that knows all of its files; with partitions, if not told."""
    table = Events(folder=tmp_path / "events", is_partitioned=getattr(request, "param", True))
    for i in range(NUM_FILES):
        table.write(i)
    index.create(table.folder, ["id"], name="ids", fpp=0.0001)
    return table


@pytest.mark.parametrize("events", [False], indirect=True)
def test_unchanged(session: SparkSession, events: Events) -> None:
    found = events.find(session, 3)
    assert (found.values, found.files) == ([3], (NUM_FILES, 1))
    found = events.find(session, 3, 4 + STEP)
    assert (found.values, found.files) == ([STEP + 4, 3], (NUM_FILES, 2))
    assert events.find(session, NUM_FILES).files == (NUM_FILES, 0)


def test_appended(session: SparkSession, events: Events) -> None:
    events.write(NUM_FILES, [3, 77])
    found = events.find(session, 3)
    assert (found.values, found.files) == ([3, 3], (NUM_FILES + 1, 2))
    assert events.find(session, 77).values == [77]


def test_appended_in_a_new_partition(session: SparkSession, events: Events) -> None:
    path = events.folder / "p=new" / "part-9.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"id": pa.array([3], pa.int64())}), path)
    found = events.find(session, 3)
    assert (found.values, found.files) == ([3, 3], (NUM_FILES + 1, 2))


def test_deleted(session: SparkSession, events: Events) -> None:
    events.place(3).unlink()
    found = events.find(session, 3)
    assert (found.values, found.files) == ([], (NUM_FILES - 1, 0))
    assert events.find(session, 4).files == (NUM_FILES - 1, 1)


def test_overwritten_by_other_content(session: SparkSession, events: Events) -> None:
    events.write(3, [4, 77])
    found = events.find(session, 4)
    assert (found.values, found.files) == ([4, 4], (NUM_FILES, 2))
    assert events.find(session, 77).values == [77]
    assert events.find(session, 3).values == []


def test_overwritten_by_content_of_the_same_size(session: SparkSession, events: Events) -> None:
    before = events.place(3).stat()
    after = events.write(3, [one + NUM_FILES for one in ids_of(3)])
    os.utime(after, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000))
    assert after.stat().st_size == before.st_size
    found = events.find(session, 3 + NUM_FILES)
    assert (found.values, found.files) == ([3 + NUM_FILES], (NUM_FILES, 1))


def test_two_files_that_change_places(session: SparkSession, events: Events) -> None:
    one, two, aside = events.place(1), events.place(3), events.folder / "_aside"
    for i, path in enumerate((one, two)):
        os.utime(path, (1_700_000_000 + i, 1_700_000_000 + i))
    index.refresh(events.folder, name="ids")
    one.rename(aside)
    two.rename(one)
    aside.rename(two)
    for id_ in (1, 3):
        found = events.find(session, id_)
        assert (found.values, found.files) == ([id_], (NUM_FILES, 2))


def test_renamed(session: SparkSession, events: Events) -> None:
    events.place(3).rename(events.place(3).with_name("other name.parquet"))
    assert events.find(session, 3).values == [3]
    assert events.find(session, 4).files == (NUM_FILES, 2)


def test_touched(session: SparkSession, events: Events) -> None:
    os.utime(events.place(3), (1_600_000_000, 1_600_000_000))
    assert events.find(session, 3).values == [3]
    assert events.find(session, 4).files == (NUM_FILES, 2)


def test_a_table_moved_with_its_index(session: SparkSession, events: Events) -> None:
    """By a copy that keeps times of modification; a renamed folder is no different."""
    there = events.folder.with_name("elsewhere é")
    shutil.copytree(events.folder, there)
    shutil.rmtree(events.folder)
    moved = Events(folder=there, is_partitioned=events.is_partitioned)
    found = moved.find(session, 3)
    assert (found.values, found.files) == ([3], (NUM_FILES, 1))


@pytest.mark.parametrize("events", [False], indirect=True)
def test_a_table_behind_a_symbolic_link(session: SparkSession, events: Events) -> None:
    link = events.folder.with_name("link")
    link.symlink_to(events.folder)
    found = Events(folder=link, is_partitioned=events.is_partitioned).find(session, 3)
    assert found.values == [3]


@pytest.mark.parametrize(
    ("events", "mode"),
    [(True, "incremental"), (False, "full"), (True, "quick")],
    indirect=["events"],
)
def test_all_that_at_once_and_a_refresh(session: SparkSession, events: Events, mode: Mode) -> None:
    events.write(NUM_FILES, [3, 77])
    events.place(0).unlink()
    events.write(1, [500])
    events.place(2).rename(events.place(2).with_name("renamed.parquet"))
    os.utime(events.place(4), (1_600_000_000, 1_600_000_000))
    before = events.find(session, 3)
    assert (before.values, before.files) == ([3, 3], (NUM_FILES, 5))
    index.refresh(events.folder, name="ids", mode=mode)
    after = events.find(session, 3)
    assert after.values == [3, 3]
    assert after.files == (NUM_FILES, 2)
    assert events.find(session, 0, 1, 2, 4, 500).values == [2, 4, 500]


@pytest.mark.parametrize("events", [False], indirect=True)
def test_changes_after_a_refresh(session: SparkSession, events: Events) -> None:
    events.write(NUM_FILES, [77])
    index.refresh(events.folder, name="ids")
    events.write(NUM_FILES, [78, 79])
    events.write(NUM_FILES + 1, [80])
    assert events.find(session, 77, 78, 79, 80).values == [78, 79, 80]
    assert events.find(session, 80).values == [80]


def test_files_appended_after_a_frame_was_made(session: SparkSession, events: Events) -> None:
    frame = session.read.parquet(str(events.folder))
    events.write(NUM_FILES, [3])
    index.refresh(events.folder, name="ids")
    found = both_ways(session, lambda _: frame.filter("id = 3").select("id"))
    assert (found.values, found.files) == ([3], (NUM_FILES, 1))


@pytest.mark.parametrize("events", [False], indirect=True)
@pytest.mark.parametrize(
    "end",
    [
        lambda folder: (index.delete(folder, name="ids"), index.vacuum(folder, name="ids")),
        lambda folder: shutil.rmtree(folder / "_bloom_index"),
        lambda folder: [
            path.write_bytes(b"") for path in (folder / "_bloom_index").rglob("*.bfindex")
        ],
        lambda folder: [path.write_text("{") for path in (folder / "_bloom_index").rglob("_log/*")],
    ],
    ids=["vacuumed", "removed", "emptied", "torn"],
)
def test_an_index_that_goes_away(
    session: SparkSession, events: Events, end: Callable[[Path], object]
) -> None:
    assert events.find(session, 3).files == (NUM_FILES, 1)
    end(events.folder)
    found = events.find(session, 3)
    assert found.values == [3]
    # Entries of the log are never written twice, so that one may be remembered.
    is_remembered = (events.folder / "_bloom_index/ids/_log/0").exists() and found.files[1] == 1
    assert is_remembered or found.files == (NUM_FILES, NUM_FILES)


@pytest.mark.parametrize("events", [False], indirect=True)
def test_an_index_that_comes_back(session: SparkSession, events: Events) -> None:
    index.delete(events.folder, name="ids")
    events.write(NUM_FILES, [3])
    index.restore(events.folder, name="ids")
    found = events.find(session, 3)
    assert (found.values, found.files) == ([3, 3], (NUM_FILES + 1, 2))


@pytest.fixture
def others(session: SparkSession, tmp_path: Path) -> str:
    """Return a view of many ids, of which an index of the events can drop most."""
    pq.write_table(pa.table({"k": pa.array(range(3000), pa.int64())}), tmp_path / "other.parquet")
    session.read.parquet(str(tmp_path / "other.parquet")).createOrReplaceTempView("others")
    return "others"


JOINS = {
    "inner": "SELECT k, id FROM {o} JOIN {e} ON k = id",
    "semi": "SELECT k FROM {o} LEFT SEMI JOIN {e} ON k = id",
    "in": "SELECT k FROM {o} WHERE k IN (SELECT id FROM {e})",
    "right": "SELECT k, id FROM {o} RIGHT JOIN {e} ON k = id",
    "of events": "SELECT id, k FROM {e} LEFT JOIN {o} ON k = id",
    "anti": "SELECT id FROM {e} LEFT ANTI JOIN {o} ON k = id",
}
PRESERVING = {
    "left": "SELECT k, id FROM {o} LEFT JOIN {e} ON k = id",
    "full": "SELECT k, id FROM {o} FULL JOIN {e} ON k = id",
    "not": "SELECT k FROM {o} LEFT ANTI JOIN {e} ON k = id",
}


@pytest.mark.shares
@pytest.mark.parametrize(
    ("events", "kinds"),
    [(True, ["inner"]), (False, ["left"]), (False, [*JOINS]), (False, ["full", "not"])],
    indirect=["events"],
)
def test_joins_with_changed_files(
    session: SparkSession, events: Events, others: str, kinds: list[str]
) -> None:
    """Each change by itself for one join of either sort, all at once for the others.

    Of the others, each run draws one of either sort.
    """
    kind = drawn(kinds, 1)[0]
    sql = (JOINS | PRESERVING)[kind].format(o=others, e=f"parquet.{quoted(str(events.folder))}")
    found = both_ways(session, sql)
    assert (found.off.num_probes, found.on.num_probes) == (0, int(kind in JOINS))
    if kind in JOINS:
        assert found.on.shuffle_rows < found.off.shuffle_rows // 2
    events.write(NUM_FILES, [700, 701, 7])
    is_whole = kind in {"inner", "left"}
    if is_whole:
        both_ways(session, sql)
    events.write(1, [800, 7])
    if is_whole:
        both_ways(session, sql)
    events.place(0).unlink()
    events.place(2).rename(events.place(2).with_name("renamed.parquet"))
    both_ways(session, sql)
    modes: tuple[Mode, ...] = ("quick", "incremental", "full") if is_whole else ("incremental",)
    for mode in modes:
        index.refresh(events.folder, name="ids", mode=mode)
        found = both_ways(session, sql)
        assert kind in PRESERVING or mode == "quick" or found.on.num_probes == 1
    events.write(NUM_FILES + 1, [900])
    both_ways(session, sql)


def test_a_table_of_the_catalog(session: SparkSession, events: Events) -> None:
    by = "PARTITIONED BY (p)" if events.is_partitioned else ""
    columns = "id BIGINT, p STRING" if events.is_partitioned else "id BIGINT"
    session.sql("DROP TABLE IF EXISTS changing")
    session.sql(f"CREATE TABLE changing ({columns}) USING parquet {by} LOCATION '{events.folder}'")
    if events.is_partitioned:
        session.sql("MSCK REPAIR TABLE changing")
    values = "(3, 'x y'), (77, '7')" if events.is_partitioned else "(3), (77)"
    asked = "SELECT id FROM changing WHERE id = {}"
    found = both_ways(session, asked.format(3))
    assert (found.values, found.files) == ([3], (NUM_FILES, 1))
    session.sql(f"INSERT INTO changing VALUES {values}")
    assert both_ways(session, asked.format(3)).values == [3, 3]
    assert both_ways(session, asked.format(77)).values == [77]
    index.refresh(events.folder, name="ids")
    found = both_ways(session, asked.format(77))
    assert (found.values, found.files[1]) == ([77], 1)
    if events.is_partitioned:
        session.sql("ALTER TABLE changing DROP PARTITION (p = '7')")
        assert both_ways(session, asked.format(77)).values == []
    session.sql(f"INSERT OVERWRITE changing VALUES {values}")
    assert both_ways(session, asked.format(3)).values == [3]
    assert both_ways(session, asked.format(4)).values == []
    session.sql("DROP TABLE changing")
