"""The engine of threads: every group once, errors of the index raised, work stopped."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.index.build.file_filters import FilterRequest, read_filters_of
from parquet_bloomwriter.index.build.global_filter import Merged, merge_partials
from parquet_bloomwriter.index.build.group import balanced_groups
from parquet_bloomwriter.index.build.threads import ThreadEngine
from parquet_bloomwriter.index.engine import ColumnPlan
from parquet_bloomwriter.sbbf import Sbbf
from tests.index.built import Built, build, planned, write

if TYPE_CHECKING:
    from parquet_bloomwriter.index.engine import BuildPlan, FileTask
    from parquet_bloomwriter.index.files import FileId

COLUMNS = [ColumnPlan(name="x", fpp=0.01, max_bytes=1 << 20, global_blocks=1 << 10)]


class Told:
    """Adds up the progress."""

    def __init__(self) -> None:
        self.num_files = self.num_bytes = 0
        self._lock = threading.Lock()

    def begin(self, *, num_files: int, num_bytes: int) -> None:  # noqa: D102  Progress
        raise AssertionError("that is for whoever calls the engine", num_files, num_bytes)

    def done(self, *, num_files: int, num_bytes: int) -> None:  # noqa: D102  Progress
        with self._lock:
            self.num_files += num_files
            self.num_bytes += num_bytes


@pytest.fixture
def table(tmp_path: Path) -> Path:
    root = tmp_path / "t"
    write(
        root,
        {
            f"{number:02}.parquet": pa.table({"x": np.arange(100 * number, 100 * number + 150)})
            for number in range(12)
        },
    )
    return root


@pytest.mark.parametrize(("jobs", "num_groups"), [(1, 1), (2, 2), (3, 3), (2, 7)])
def test_threads_build_what_one_group_does(
    jobs: int, num_groups: int, table: Path, tmp_path: Path
) -> None:
    tasks, plan = planned(table, tmp_path / "threads", COLUMNS)
    engine, told = ThreadEngine(jobs), Told()
    assert (engine.name, engine.num_groups) == ("threads", jobs)
    results = list(engine.build(balanced_groups(tasks, num_groups), plan, told))
    assert len(results) == num_groups
    assert (told.num_files, told.num_bytes) == (12, sum(task.file.size for task in tasks))
    one = build(table, tmp_path / "one", "x", global_blocks=1 << 10)
    several = [Built(folder=tmp_path / "threads/ix/v__=0", tasks=tasks, result=r) for r in results]
    filters = {file: bits for built in several for file, bits in built.filters("x").items()}
    assert filters == one.filters("x")
    whole = Sbbf.empty(1 << 10)
    for built in several:
        whole = whole.merge(built.partial("x"))
    assert whole == one.partial("x")
    partials = [bits for built in several for bits in built.partials("x")]
    assert all(isinstance(bits, Sbbf) for bits in partials)
    assert list(Path(plan.folder).rglob("partial-*")) == []
    merged = merge_partials(partials, 0.01, version_folder=plan.folder, column="x")
    assert isinstance(merged, Merged)
    assert abs(merged.ndv - 1250) < 100


def test_an_error_of_the_index_is_raised(table: Path, tmp_path: Path) -> None:
    tasks, plan = planned(table, tmp_path, COLUMNS)
    (tmp_path / "ix" / "v__=0" / "column=x").write_text("in the way")
    with pytest.raises(OSError, match="column=x"):
        list(ThreadEngine(2).build(balanced_groups(tasks, 2), plan, None))


def test_threads_stop_if_nobody_wants_the_rest(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks, plan = planned(table, tmp_path, COLUMNS)
    closed = threading.Event()
    begun: list[str] = []

    def slow(path: str, file: FileId, request: FilterRequest) -> object:
        begun.append(path)
        if not path.endswith("00.parquet"):
            closed.wait(30)
        return read_filters_of(path, file, request)

    monkeypatch.setattr("parquet_bloomwriter.index.build.group.read_filters_of", slow)
    with closing(ThreadEngine(2).build([tasks[:1], tasks[1:]], plan, None)) as results:
        (part,) = next(results).parts
        threading.Timer(0.1, closed.set).start()
    assert part.num_rows == 1
    assert len(begun) == 2
    left = [path.name for path in (tmp_path / "ix").rglob("part-*")]
    assert left == [part.file.path.rpartition("/")[2]]


@pytest.mark.parametrize("jobs", [0, -1])
def test_no_threads_are_an_error(jobs: int) -> None:
    with pytest.raises(InvalidArgument):
        ThreadEngine(jobs)


def test_groups_without_files_are_done_at_once(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    _, plan = planned(tmp_path / "t", tmp_path, COLUMNS)
    (result,) = ThreadEngine(1).build([()], plan, None)
    assert (result.parts, result.unindexed, result.changed) == ((), (), ())
    assert list(ThreadEngine(1).build([], plan, None)) == []


def parts_of(tasks: tuple[FileTask, ...], plan: BuildPlan) -> list[int]:
    results = ThreadEngine(2).build(balanced_groups(tasks, 2), plan, None)
    return [part.num_rows for result in results for part in result.parts]


def test_building_twice_into_one_folder_mixes_nothing(table: Path, tmp_path: Path) -> None:
    tasks, plan = planned(table, tmp_path, COLUMNS)
    assert parts_of(tasks, plan) == parts_of(tasks, plan) == [6, 6]
    written = list((tmp_path / "ix").rglob("part-*.bfindex"))
    assert [pq.read_metadata(path).num_rows for path in written] == [6, 6, 6, 6]
