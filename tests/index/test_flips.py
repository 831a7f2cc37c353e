"""Damage anywhere in an index: no file is excluded that holds the value, and no process dies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import index
from parquet_bloomwriter.index.format import slice_file
from tests.index.flips import num_damages
from tests.support.delta_tables import append, make_table
from tests.support.iceberg_tables import append as append_rows
from tests.support.iceberg_tables import make_warehouse, rows_of_append
from tests.support.workers import Crash, work

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS = ["plain", "plain, sliced", "delta", "delta, sliced", "iceberg", "iceberg, sliced"]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return what makes an index of a small table of a kind, and returns its folder."""

    def of(kind: str) -> Path:
        what, _, sliced = kind.partition(", ")
        monkeypatch.setattr(slice_file, "MIN_FILTERS", 1 if sliced else 1 << 30)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        return {"plain": _plain, "delta": _delta, "iceberg": _iceberg}[what](tmp_path, monkeypatch)

    return of


def _plain(folder: Path, _: pytest.MonkeyPatch) -> Path:
    table = folder / "table"
    table.mkdir()
    for number in range(3):
        ids = range(1000 * number, 1000 * number + 40)
        pq.write_table(pa.table({"id": ids}), table / f"f{number}.parquet")
        if number == 1:
            index.create(table, "id", name="ids")
    # The filter of all values does not cover the last file.
    index.refresh(table, name="ids", mode="quick")
    return table / "_bloom_index" / "ids"


def _delta(folder: Path, _: pytest.MonkeyPatch) -> Path:
    table = make_table(folder / "table", num_files=2, rows=40)
    index.create(table, "id", name="ids")
    append(table, 2, rows=40)
    index.refresh(table, name="ids", mode="quick")
    return table / "_bloom_index" / "ids"


def _iceberg(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    warehouse = make_warehouse(folder / "ground", monkeypatch)
    table = warehouse.create("people")
    for number in range(3):
        append_rows(table, rows_of_append(number))
    report = index.create(warehouse.url("people"), "id", name="ids")
    return Path(report.folder)


def _values_of(folder: Path) -> list[tuple[str, str]]:
    """Return a predicate for each file of the table, and its name."""
    found = []
    for path in sorted(folder.parent.parent.rglob("*.parquet")):
        values = pq.read_table(path, columns=["id"])["id"].to_pylist()
        found.append((f"id = {values[7]}", path.name))
    return found


def _check(folder: Path, kind: str, step: int) -> dict[str, int]:
    """Damage an index; return how many damages were noticed, of how many."""
    values = _values_of(folder)
    assert len(values) == 3
    total = num_damages(folder, kind)
    tasks = [{"path": f"{kind} {number}"} for number in range(step // 2, total, step)]
    assert tasks
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    num_noticed = 0
    for answer in work("tests.index.flips", tasks, str(folder), json.dumps(values)):
        assert not isinstance(answer, Crash), answer
        assert answer["wrong"] == [], answer
        num_noticed += answer["noticed"]
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {"noticed": num_noticed, "of": len(tasks)}


@pytest.mark.parametrize("kind", ["plain", "plain, sliced", "delta, sliced", "iceberg"])
def test_no_damage_excludes_a_file_that_holds_the_value(
    make: Callable[[str], Path], kind: str
) -> None:
    folder = make(kind)
    for damage, step in (("bit", 1999), ("byte", 997), ("sector", 2)):
        found = _check(folder, damage, step)
        assert found["noticed"] > found["of"] // 4


@pytest.mark.shares
@pytest.mark.parametrize("damage", ["bit", "byte", "sector"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_flipped_bit_at_all(make: Callable[[str], Path], kind: str, damage: str) -> None:
    _check(make(kind), damage, 1)
