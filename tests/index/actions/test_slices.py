"""Slices through the life of an index: when they are written, kept, dropped and removed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from parquet_bloomwriter import Sbbf, index
from parquet_bloomwriter.errors import IndexBusy
from parquet_bloomwriter.index import entry as log_entry
from parquet_bloomwriter.index.actions import commit, optimize
from parquet_bloomwriter.index.build.slices import plan_slices
from parquet_bloomwriter.index.format import slice_file
from parquet_bloomwriter.index.log.log import IndexLog
from parquet_bloomwriter.index.query import snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

    from parquet_bloomwriter.index.entry import Entry

ROWS = 30
TICKS = iter(range(10**9))


@pytest.fixture(autouse=True)
def _small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slice_file, "MIN_FILTERS", 3)
    monkeypatch.setattr(os, "fsync", lambda _: None)


def write(root: Path, name: str, first: int, *, rows: int = ROWS) -> None:
    root.mkdir(exist_ok=True)
    ids = list(range(first, first + rows))
    table = pa.table({"id": pa.array(ids, pa.int64()), "email": [f"{i}@x" for i in ids]})
    pq.write_table(table, root / name, row_group_size=10)
    seconds = 1_600_000_000 + next(TICKS)
    os.utime(root / name, (seconds, seconds))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    root = tmp_path / "events"
    for number in range(8):
        write(root, f"{number}.parquet", number * ROWS)
    return root


def create(table: Path, **options: object) -> None:
    index.create(table, ["id", "email"], name="ids", fpp=1e-4, **options)  # type: ignore[arg-type]


def stable(table: Path) -> Entry:
    found = IndexLog(str(table / "_bloom_index/ids")).latest_stable()
    assert found is not None
    return found


def slices(table: Path) -> list[Path]:
    """The files of slices that are in force."""
    files = [one.slices.file for one in stable(table).columns if one.slices is not None]
    return [table / "_bloom_index/ids" / one.path for one in files]


def on_disk(table: Path) -> set[Path]:
    return set(table.rglob("*.bfslice"))


def by_parts(table: Path, predicates: list[str]) -> list[tuple[str, ...]]:
    """The answers without slices."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshot.Snapshot, "_by_slices", lambda *_: None)
        snapshot.SNAPSHOTS.clear()
        found = [index.lookup(table, one).paths for one in predicates]
    snapshot.SNAPSHOTS.clear()
    return found


def check_answers(table: Path, *, at_most: int = 1) -> None:
    """Assert that the answers are those of the parts, and that they miss no file."""
    paths = sorted(table.glob("*.parquet"))
    last = {str(path): _last_id(path) for path in {paths[0], paths[len(paths) // 2], paths[-1]}}
    questions = (
        "id = {0}",
        "id IN ({0}, -1)",
        "id = {0} AND email = '{0}@x'",
        "id = -1 OR email = '{0}@x'",
        "id = {0} AND email = '{1}@x'",
    )
    asked = [(one.format(v, v + 1), path) for one in questions for path, v in last.items()]
    predicates = [predicate for predicate, _ in asked]
    found = [index.lookup(table, one).paths for one in predicates]
    assert found == by_parts(table, predicates)
    for (_, path), kept in list(zip(asked, found, strict=True))[: -len(last)]:
        assert path in kept
        assert len(kept) <= at_most


def test_the_folder_of_a_column_is_a_dataset_of_its_filters(table: Path) -> None:
    """As the proposal has it: `fileName` and `BFBinary`; all other files there are hidden."""
    report = index.create(table, ["id"], name="ids")
    column = report.columns[0]
    assert column.global_path is not None
    folder = Path(column.global_path).parent
    assert [one.suffix for one in slices(table)] == [".bfslice"]
    stored = pq.read_table(folder, columns=["fileName", "BFBinary"])
    found = duckdb.read_parquet(f"{folder}/[!_]*")
    assert len(found.fetchall()) == len(stored)
    assert sorted(stored["fileName"].to_pylist()) == sorted(one.name for one in table.glob("*.p*"))
    for file, bits in zip(*(stored[name].to_pylist() for name in stored.column_names), strict=True):
        assert Sbbf.from_bytes(bits).check(_last_id(table / file), "INT64")


def _last_id(path: Path) -> int:
    metadata = pq.read_metadata(path)
    last: int = metadata.row_group(metadata.num_row_groups - 1).column(0).statistics.max
    return last


def test_create_writes_slices(table: Path) -> None:
    create(table)
    found = slices(table)
    assert len(found) == 2
    assert on_disk(table) == set(found)
    report = index.index(table, name="ids")
    sizes = [column.slice_bytes for column in report.columns]
    assert sizes == [path.stat().st_size for path in found]
    assert report.index_bytes == sum(
        path.stat().st_size for path in table.rglob("v__=*/**/*") if path.is_file()
    )
    assert "slices" in str(report)
    check_answers(table)


def test_no_slices_are_written_if_none_are_wanted(table: Path) -> None:
    create(table, slices=False)
    assert on_disk(table) == set()
    assert stable(table).options["slices"] == "no"
    index.optimize(table, name="ids")
    assert not index.optimize(table, name="ids").changed
    index.refresh(table, name="ids", mode="full")
    assert on_disk(table) == set()
    assert index.optimize(table, name="ids", slices=True).changed
    assert len(slices(table)) == 2
    assert "slices" not in stable(table).options
    check_answers(table)
    assert index.optimize(table, name="ids", slices=False).changed
    assert slices(table) == []
    index.vacuum(table, name="ids")
    assert on_disk(table) == set()
    check_answers(table)


def test_few_filters_have_no_slices(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slice_file, "MIN_FILTERS", 9)
    create(table)
    index.optimize(table, name="ids")
    assert on_disk(table) == set()
    assert not index.optimize(table, name="ids").changed


@pytest.mark.parametrize("mode", ["incremental", "quick", "full"])
def test_refreshed_indexes_answer_as_by_parts(table: Path, mode: str) -> None:
    create(table)
    before = slices(table)
    (table / "1.parquet").unlink()
    write(table, "2.parquet", 5000)
    write(table, "new.parquet", 9000)
    check_answers(table, at_most=3)  # files that the index does not know
    index.refresh(table, name="ids", mode=mode)  # type: ignore[arg-type]
    assert (slices(table) == before) == (mode != "full")
    check_answers(table)
    assert index.lookup(table, "id = 70").paths == ()
    index.optimize(table, name="ids")
    assert on_disk(table) >= {*before, *slices(table)}
    check_answers(table)
    index.vacuum(table, name="ids")
    assert on_disk(table) == set(slices(table))
    assert not set(before) & on_disk(table)
    check_answers(table)


def test_slices_stay_until_many_filters_are_new(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimize, "LARGE", 0)  # no part is joined with others
    create(table)
    before = slices(table)
    assert not index.optimize(table, name="ids").changed
    for number in range(2):
        write(table, f"new-{number}.parquet", 9000 + number * ROWS)
    index.refresh(table, name="ids")
    assert not index.optimize(table, name="ids").changed
    assert slices(table) == before
    check_answers(table)
    write(table, "more.parquet", 20_000)
    index.refresh(table, name="ids")
    assert index.optimize(table, name="ids").changed
    assert not set(slices(table)) & set(before)
    check_answers(table)


@pytest.mark.parametrize("at", ["page", "directory", "all"])
def test_optimize_writes_damaged_slices_anew(table: Path, at: str) -> None:
    create(table)
    index.optimize(table, name="ids")
    damaged, other = slices(table)
    with damaged.open("r+b") as file:
        if at == "all":
            damaged.unlink()
        else:
            file.seek(40 if at == "page" else damaged.stat().st_size - 30)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))
    check_answers(table)
    (use,) = index.lookup(table, "id = 40").indexes
    assert use.num_excluded == 7
    if at != "page":  # the page may be of another value
        assert use.reason is not None
        assert damaged.name in use.reason.text
    report = index.optimize(table, name="ids")
    assert report.changed
    assert any("slices" in note for note in report.notes)
    new, same = slices(table)
    assert (new != damaged, same) == (True, other)
    check_answers(table)
    assert not index.optimize(table, name="ids").changed


def test_indexes_without_their_slices_can_be_refreshed_and_restored(table: Path) -> None:
    create(table)
    for path in slices(table):
        path.unlink()
    write(table, "new.parquet", 9000)
    index.refresh(table, name="ids")
    check_answers(table)
    index.delete(table, name="ids")
    index.restore(table, name="ids")
    check_answers(table)
    index.optimize(table, name="ids")
    assert all(path.exists() for path in slices(table))


def test_deleted_and_restored_slices_are_used(table: Path) -> None:
    create(table)
    before = slices(table)
    index.delete(table, name="ids")
    index.restore(table, name="ids")
    assert slices(table) == before
    check_answers(table)
    index.delete(table, name="ids")
    index.vacuum(table, name="ids")
    assert on_disk(table) == set()


def test_a_cancelled_action_leaves_no_slices(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def plan(*arguments: object) -> object:
        found = planned(*arguments)  # type: ignore[arg-type]
        index.cancel(table, name="ids")
        return found

    planned = plan_slices
    monkeypatch.setattr(commit, "plan_slices", plan)
    with pytest.raises(IndexBusy):
        create(table)
    assert on_disk(table) == set()


def test_a_full_disk_leaves_no_slices(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", fail)
    with pytest.raises(OSError, match="space"):
        create(table)
    assert on_disk(table) == set()
    monkeypatch.undo()
    create(table)
    check_answers(table)


def test_older_versions_drop_slices_and_answers_stay(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older versions read entries without knowing the name `slices`, and write them so."""
    create(table)
    read = log_entry._column  # noqa: SLF001  what an older version had in its place
    with monkeypatch.context() as older:
        older.setattr(log_entry, "_column", lambda found: replace(read(found), slices=None))
        check_answers(table)
        write(table, "new.parquet", 9000)
        index.refresh(table, name="ids")
    assert slices(table) == []
    check_answers(table)
    with monkeypatch.context() as older:
        older.setattr(log_entry, "_column", lambda found: replace(read(found), slices=None))
        index.vacuum(table, name="ids")
    assert on_disk(table) == set()
    check_answers(table)


def test_an_immutable_table_is_neither_listed_nor_its_manifest_read(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(table, contract="immutable")
    (expected,) = by_parts(table, ["id = 40"])

    def refuse(*_: object) -> None:
        raise AssertionError

    snapshot.SNAPSHOTS.clear()
    monkeypatch.setattr(snapshot, "read_manifest", refuse)
    monkeypatch.setattr("parquet_bloomwriter.index.query.lookup.current_files", refuse)
    found = index.lookup(table, "id = 40")
    assert found.paths == expected == (str(table / "1.parquet"),)
    size = (table / "1.parquet").stat().st_size
    assert (found.num_files, found.num_unknown, found.kept_bytes) == (8, 0, size)
    assert found.num_bytes == sum(path.stat().st_size for path in table.glob("*.parquet"))
    (use,) = found.indexes
    assert (use.num_known, use.num_excluded, use.reason) == (8, 7, None)
    assert index.lookup(table, "id > 3 OR id = 40").num_kept == 8


@pytest.mark.parametrize("predicate", ["id = 40", "id = -5", "id IN (40, 100)", "id > 4"])
@pytest.mark.parametrize("contract", ["checked", "immutable"])
def test_reports_are_those_of_parts(table: Path, predicate: str, contract: str) -> None:
    create(table, contract=contract)
    found = index.lookup(table, predicate)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshot.Snapshot, "_by_slices", lambda *_: None)
        snapshot.SNAPSHOTS.clear()
        assert index.lookup(table, predicate) == found


NUMBERS = iter(range(10**9))


def append(table: Path, count: int) -> None:
    for _ in range(count):
        number = next(NUMBERS)
        write(table, f"{number}-new.parquet", number * 1000 + 500_000)


def some_file(table: Path) -> Path:
    files = sorted(table.glob("*.parquet"))
    return files[next(NUMBERS) % len(files)]


def replace_one(table: Path) -> None:
    write(table, some_file(table).name, next(NUMBERS) * 1000 + 500_000)


def remove_one(table: Path) -> None:
    if len(list(table.glob("*.parquet"))) > 1:
        some_file(table).unlink()


def delete_and_restore(table: Path) -> None:
    index.delete(table, name="ids")
    index.restore(table, name="ids")


def damage_one(table: Path) -> None:
    for path in slices(table)[:1]:
        path.write_bytes(path.read_bytes()[::-1])


STEPS: dict[str, Callable[[Path], object]] = {
    "append one": lambda table: append(table, 1),
    "append many": lambda table: append(table, 4),
    "replace": replace_one,
    "remove": remove_one,
    "incremental": lambda table: index.refresh(table, name="ids"),
    "quick": lambda table: index.refresh(table, name="ids", mode="quick"),
    "full": lambda table: index.refresh(table, name="ids", mode="full"),
    "optimize": lambda table: index.optimize(table, name="ids"),
    "slices": lambda table: index.optimize(table, name="ids", slices=True),
    "no slices": lambda table: index.optimize(table, name="ids", slices=False),
    "vacuum": lambda table: index.vacuum(table, name="ids"),
    "delete and restore": delete_and_restore,
    "damage": damage_one,
}


@example(["append many", "replace", "quick", "damage", "incremental", "no slices"], 0)
@example(["remove", "full", "slices", "append one", "optimize", "delete and restore", "vacuum"], 1)
@settings(
    deadline=None, max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.sampled_from(list(STEPS)), max_size=6), st.integers(0, 2))
def test_whatever_is_done_answers_are_those_of_the_parts(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], seed: int
) -> None:
    table = tmp_path_factory.mktemp("t") / "events"
    for number in range(7):
        rows = [ROWS, 3, 200][(number + seed) % 3]
        write(table, f"{number}.parquet", number * 1000, rows=rows)
    create(table)
    for step in steps:
        STEPS[step](table)
        check_answers(table, at_most=1000)


def test_new_parts_of_small_columns_are_not_read_again(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slice_file, "MIN_FILTERS", 9)  # one more than the table has files
    monkeypatch.setattr(commit, "plan_slices", lambda *_: pytest.fail("parts are read"))
    create(table)
    index.refresh(table, "ids", mode="full")
    assert slices(table) == []
