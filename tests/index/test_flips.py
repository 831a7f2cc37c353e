"""Damage anywhere in an index: no file is excluded that holds the value, and no process dies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import index
from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.format import slice_file
from parquet_bloomwriter.index.format.manifest import read_manifest
from parquet_bloomwriter.kernels.layout import START
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.source import read_footer
from parquet_bloomwriter.source.local import open_local
from tests.index.flips import num_damages
from tests.index.support import small_index
from tests.support.delta_tables import append, make_table
from tests.support.iceberg_tables import append as append_rows
from tests.support.iceberg_tables import make_warehouse, rows_of_append
from tests.support.workers import Crash, work

if TYPE_CHECKING:
    from collections.abc import Callable


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


def _check(folder: Path, steps: dict[str, int]) -> dict[str, list[bool]]:
    """Damage an index in each way, every so many times; return which damages were noticed."""
    values = _values_of(folder)
    assert len(values) == 3
    tasks = [
        {"path": f"{damage} {number}"}
        for damage, step in steps.items()
        for number in range(step // 2, num_damages(folder, damage), step)
    ]
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    noticed: dict[str, list[bool]] = {damage: [] for damage in steps}
    for answer in work("tests.index.flips", tasks, str(folder), json.dumps(values)):
        assert not isinstance(answer, Crash), answer
        assert answer["wrong"] == [], answer
        noticed[answer["path"].split()[0]].append(answer["noticed"])
    assert all(noticed.values())
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return noticed


@pytest.mark.parametrize("kind", ["plain, sliced", "delta", "iceberg"])
def test_no_damage_excludes_a_file_that_holds_the_value(
    make: Callable[[str], Path], kind: str
) -> None:
    noticed = _check(make(kind), {"bit": 9999, "byte": 3999, "sector": 5}).values()
    assert sum(map(sum, noticed)) > sum(map(len, noticed)) // 4


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [("plain", "part-*"), ("iceberg", "part-*"), ("plain, sliced", "_global-*")],
)
def test_no_byte_of_a_filter_excludes_a_file_that_holds_the_value(
    make: Callable[[str], Path], kind: str, pattern: str
) -> None:
    folder = make(kind)
    tasks, num_before = [], 0
    paths = sorted(folder.rglob(pattern))
    for path in paths:
        data = path.read_bytes()
        filters = [data]
        if pattern == "part-*":
            filters = pq.read_table(path, columns=["BFBinary"])["BFBinary"].to_pylist()
        for one in filters:
            start = num_before + data.index(one)
            places = range(start + 16, start + len(one), 13)
            tasks += [{"path": f"byte {place}"} for place in places]
        num_before += len(data)
    num_wrong = num_noticed = 0
    values = json.dumps(_values_of(folder))
    for answer in work("tests.index.flips", tasks, str(folder), values, *map(str, paths)):
        assert not isinstance(answer, Crash), answer
        num_wrong += bool(answer["wrong"])
        num_noticed += answer["noticed"]
    assert (num_wrong, num_noticed > 0) == (0, True)


def test_no_codec_of_an_index_of_an_older_version_ends_the_process(tmp_path: Path) -> None:
    """Such an index has no checksums; pyarrow ends the process at a codec that does not exist."""
    folder = Path(small_index(tmp_path).folder)
    path = min(folder.rglob("part-*"))
    with open_local(str(path)) as source:
        footer = read_footer(source)
    column = [leaf.name for leaf in footer.leaves].index("BFBinary")
    places = footer.start + footer.chunks.spans[:, column, ChunkField.CODEC, START]
    tasks = [{"path": f"bit {8 * place + bit}"} for place in places.tolist() for bit in range(8)]
    values = json.dumps([("id = 1", ""), ("id = 3", "")])
    for answer in work("tests.index.flips", tasks, str(folder), values, str(path)):
        assert not isinstance(answer, Crash), answer
        assert answer["noticed"], answer


def test_a_name_that_is_not_utf8_is_a_problem_of_the_manifest(tmp_path: Path) -> None:
    made = small_index(tmp_path)
    path = Path(made.paths()[0])
    data, name = path.read_bytes(), b"day=1/part-10.parquet"
    table = pq.read_table(path)
    names = [one.as_py() for one in table["fileName"]]
    pq.write_table(table, path, compression="none", use_dictionary=False, write_statistics=False)
    data = path.read_bytes()
    assert data.count(name) == 1
    assert name.decode() in names
    path.write_bytes(data.replace(name, b"\xff" + name[1:]))
    with pytest.raises(IndexProblem, match="manifest of an index cannot be read"):
        read_manifest(str(path))


@pytest.mark.parametrize("which", ["part-*", "_global-*"])
def test_damage_is_not_copied_into_a_new_version(make: Callable[[str], Path], which: str) -> None:
    """What an action would copy is checked before; the old version stays, and damage is named."""
    folder = make("plain")
    table = folder.parent.parent
    path = next(folder.rglob(which))
    data = path.read_bytes()
    place = len(data) // 2 if which == "_global-*" else data.index(b"\x1c\x1c\0\0\0") + 30
    path.write_bytes(data[:place] + bytes([data[place] ^ 64]) + data[place + 1 :])
    action = index.optimize if which == "part-*" else index.refresh
    with pytest.raises(IndexProblem, match="not those that were written") as error:
        action(table, name="ids")
    assert error.value.path == str(path)
    assert len(index.lookup(table, "id = 7").paths) >= 1
    index.refresh(table, name="ids", mode="full")
    index.optimize(table, name="ids")


@pytest.mark.shares
@pytest.mark.parametrize("kind", ["plain", "delta, sliced", "iceberg, sliced"])
def test_more_damage_excludes_nothing(make: Callable[[str], Path], kind: str) -> None:
    """Each bit of an index (a step of 1) takes half an hour and more for each kind."""
    _check(make(kind), {"bit": 1499, "byte": 181, "sector": 2})
