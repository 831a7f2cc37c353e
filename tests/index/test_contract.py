"""Contracts: files are looked at, or promised never to change."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import index
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.index.build.threads import ThreadEngine
from parquet_bloomwriter.index.entry import with_checksum
from parquet_bloomwriter.index.files import are_unchanged
from parquet_bloomwriter.index.log.log import IndexLog
from parquet_bloomwriter.index.query.snapshot import Snapshot, open_snapshot

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from parquet_bloomwriter.index.contract import Contract
    from parquet_bloomwriter.index.engine import BuildPlan, FileTask, GroupResult, Progress

NUM_FILES = 4
ROWS = 20


def write(path: Path, first: int) -> Path:
    """Write a file of ids, of the same size whatever they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ids = pa.array(range(first, first + ROWS), pa.int64())
    pq.write_table(pa.table({"id": ids}), path, use_dictionary=False, compression="none")
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a table whose file i, in one of two folders, has the ids from 1000 * i on."""
    root = tmp_path / "events"
    for i in range(NUM_FILES):
        write(root / f"day={i % 2}" / f"{i}.parquet", 1000 * i)
    return root


def create(table: Path, contract: Contract, *, name: str = "ids") -> None:
    index.create(table, ["id"], name=name, fpp=1e-6, contract=contract)


def kept(table: Path, id_: int) -> list[str]:
    """Names of the files that might hold an id."""
    return [Path(path).name for path in index.lookup(table, f"id = {id_}").paths]


# What is written.


@pytest.mark.parametrize("contract", ["checked", "immutable"])
def test_the_contract_is_written_and_kept(table: Path, contract: Contract) -> None:
    create(table, contract)
    write(table / "day=0" / "new.parquet", 9000)
    index.refresh(table, name="ids")
    index.refresh(table, name="ids", mode="full")
    index.optimize(table, name="ids")
    log = IndexLog(str(table / "_bloom_index" / "ids"))
    assert {log.get(entry_id).contract for entry_id in log.ids()} == {contract}
    assert index.index(table, name="ids").options["contract"] == contract


@pytest.mark.parametrize("written", [None, "of a later version"])
def test_an_index_without_a_contract_that_is_known_is_checked(
    table: Path, written: str | None
) -> None:
    create(table, "immutable")
    for path in (table / "_bloom_index" / "ids" / "_log").iterdir():
        entry = json.loads(path.read_bytes())
        entry["options"].pop("contract")
        entry["options"] |= {"contract": written} if written else {}
        entry.pop("crc")
        path.unlink()
        path.write_bytes(with_checksum(entry))
    write(table / "day=1" / "1.parquet", 5000)
    assert kept(table, 5000) == ["1.parquet"]
    index.refresh(table, name="ids", mode="full")
    write(table / "day=1" / "1.parquet", 6000)
    assert kept(table, 6000) == ["1.parquet"]


def test_a_contract_that_is_none_is_refused(table: Path) -> None:
    with pytest.raises(InvalidArgument, match="checked, immutable"):
        create(table, "eternal")  # type: ignore[arg-type]
    assert not (table / "_bloom_index").exists()


# Checked.


def test_replaced_files_are_found(table: Path) -> None:
    create(table, "checked")
    assert kept(table, 5000) == []
    write(table / "day=1" / "1.parquet", 5000)
    assert kept(table, 5000) == ["1.parquet"]


def test_files_are_looked_at_one_by_one(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("same", "larger", "touched", "gone", "n\0ne")]
    for path in paths[:3]:
        path.write_bytes(b"12")
        os.utime(path, ns=(0, 1_700_000_000_123_456_789))
    paths[1].write_bytes(b"123")
    os.utime(paths[1], ns=(0, 1_700_000_000_123_456_789))
    os.utime(paths[2], ns=(0, 1_700_000_000_124_456_789))
    sizes, times = [2] * len(paths), [1_700_000_000_123] * len(paths)
    found = are_unchanged(map(str, paths), sizes, times)
    assert found == [True, False, False, False, False]


def test_files_outside_of_the_root_are_looked_at_where_they_are(
    table: Path, tmp_path: Path
) -> None:
    other = write(tmp_path / "elsewhere.parquet", 5000)
    inside = table / "day=1" / "1.parquet"
    index.create(table, ["id"], name="ids", files=[inside, other])
    snapshot = open_snapshot(str(table / "_bloom_index" / "ids"))
    assert isinstance(snapshot, Snapshot)
    paths = snapshot.files.paths.to_pylist()
    assert sorted(paths) == sorted(["day=1/1.parquet", str(other)])
    places = np.arange(2)
    assert snapshot.are_unchanged(places).tolist() == [True, True]
    write(other, 6000)
    found = snapshot.are_unchanged(places).tolist()
    assert found == [path != str(other) for path in paths]


def test_a_file_with_a_coarse_time_that_changes_within_its_second(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where times are whole seconds, a file that has just been written is not indexed yet."""
    path = table / "day=1" / "1.parquet"
    second = (time.time_ns() // 1_000_000_000 + 1) * 1_000_000_000  # late enough for a busy machine
    os.utime(path, ns=(0, second))

    def replaced(_: float) -> None:
        write(path, 5000)
        os.utime(path, ns=(0, second))

    monkeypatch.setattr("parquet_bloomwriter.index.files.time.sleep", replaced)
    create(table, "checked")
    assert path.stat().st_mtime_ns == second
    assert kept(table, 5000) == ["1.parquet"]


def test_a_coarse_time_ahead_of_the_clock_is_not_trusted(table: Path) -> None:
    """The file server's clock may be ahead, and the file change within the same second of it."""
    path = table / "day=1" / "1.parquet"
    ahead = int(time.time()) + 30
    os.utime(path, (0, ahead))
    report = index.create(table, ["id"], name="ids")
    assert [one.path for one in report.left_out] == ["day=1/1.parquet"]
    write(path, 5000)
    os.utime(path, (0, ahead))
    assert kept(table, 5000) == ["1.parquet"]


# Immutable.


def test_nothing_is_looked_at_nor_listed(table: Path) -> None:
    create(table, "immutable")
    whole = index.lookup(table, "id >= 0")
    for day in (0, 1):
        shutil.rmtree(table / f"day={day}")
    (table / "day=1").mkdir()
    write(table / "new.parquet", 1000)
    assert kept(table, 1001) == ["1.parquet"]
    assert kept(table, 77) == []
    report = index.lookup(table, "id = 1001")
    assert (report.num_files, report.num_unknown) == (NUM_FILES, 0)
    assert report.num_bytes == whole.num_bytes
    assert kept(table / "day=1", 3001) == ["3.parquet"]
    assert index.lookup(table / "day=1", "id = 3001").num_files == 2


def test_files_that_are_named_are_not_looked_at(table: Path) -> None:
    create(table, "immutable")
    names = [table / "day=0" / "2.parquet", table / "day=1" / "1.parquet"]
    for path in names:
        path.unlink()
    new = write(table / "new.parquet", 9000)
    report = index.lookup(table, "id = 2000", files=[*names, new])
    assert [Path(path).name for path in report.paths] == ["2.parquet", "new.parquet"]
    assert (report.num_files, report.num_unknown) == (3, 1)


def test_what_the_index_does_not_know_is_listed(table: Path) -> None:
    create(table, "immutable")
    new = write(table / "day=2" / "new.parquet", 9000)
    assert kept(new, 1) == ["new.parquet"]
    assert kept(new.parent, 1) == ["new.parquet"]


def test_a_refresh_finds_new_files(table: Path) -> None:
    create(table, "immutable")
    write(table / "new.parquet", 9000)
    assert kept(table, 9000) == []
    index.refresh(table, name="ids")
    assert kept(table, 9000) == ["new.parquet"]


def test_with_another_index_that_is_checked_files_are_listed(table: Path) -> None:
    create(table, "immutable")
    create(table, "checked", name="other")
    write(table / "day=1" / "1.parquet", 5000)
    assert kept(table, 5000) == ["1.parquet"]
    index.delete(table, name="other")
    assert kept(table, 5000) == []


def test_indexes_that_contradict_each_other_promise_nothing(table: Path) -> None:
    create(table, "immutable")
    write(table / "day=1" / "1.parquet", 5000)
    create(table, "immutable", name="later")
    assert kept(table, 5000) == ["1.parquet"]
    assert kept(table, 1001) == []


def test_indexes_of_other_tables_are_not_asked_for_their_files(table: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    index.create(table, ["id"], name="ids", home=home, contract="immutable")
    other = write(tmp_path / "others" / "a.parquet", 77)
    index.create(other.parent, ["id"], name="other", home=home, contract="immutable")
    report = index.lookup(other.parent, "id = 77", home=home)
    assert report.paths == (str(other),)
    assert report.num_files == 1


def test_a_file_that_cannot_be_read_is_refused(table: Path) -> None:
    """Lookups would never find it."""
    (table / "broken.parquet").write_bytes(b"PAR1")
    with pytest.raises(InvalidArgument, match=r"1 file cannot be indexed; broken\.parquet: "):
        create(table, "immutable")
    assert not (table / "_bloom_index").exists()
    create(table, "checked")
    assert kept(table, 77) == ["broken.parquet"]


@pytest.mark.parametrize("mode", ["incremental", "quick", "full"])
def test_a_refresh_refuses_a_file_that_cannot_be_read(table: Path, mode: str) -> None:
    create(table, "immutable")
    (table / "broken.parquet").write_bytes(b"PAR1")
    with pytest.raises(InvalidArgument, match="immutable"):
        index.refresh(table, name="ids", mode=mode)  # type: ignore[arg-type]
    assert kept(table, 1001) == ["1.parquet"]


class _Replacing(ThreadEngine):
    """Replaces a file before the work begins."""

    def __init__(self, path: Path) -> None:
        super().__init__(1)
        self.path = path

    def build(
        self,
        groups: Sequence[Sequence[FileTask]],
        plan: BuildPlan,
        progress: Progress | None,
    ) -> Generator[GroupResult, None, None]:
        write(self.path, 5000)
        yield from super().build(groups, plan, progress)


def test_a_file_that_changes_meanwhile_breaks_the_promise(table: Path) -> None:
    engine = _Replacing(table / "day=1" / "1.parquet")
    with pytest.raises(InvalidArgument, match=r"day=1/1\.parquet: it changed while"):
        index.create(table, ["id"], name="ids", contract="immutable", engine=engine)
    assert index.indexes(table) == ()
