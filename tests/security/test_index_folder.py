"""An index folder made by somebody else: nothing outside it is removed, written or waited for."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from campaigns.security.limits import little_memory, no_hang
from campaigns.security.logs import append, index_folder, newest, rewrite
from parquet_bloomwriter import clear_cache, index
from parquet_bloomwriter.errors import BloomwriterError, IndexNotFound, IndexProblem
from parquet_bloomwriter.index import homes
from parquet_bloomwriter.index.entry import from_json
from parquet_bloomwriter.index.layout import LOG
from parquet_bloomwriter.spark.plan.catalog import matching_indexes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

NAME = "ids"
QUICK = 10.0
"""Seconds after which a read of a FIFO is taken to hang."""

ACTIONS: dict[str, Callable[[Path], object]] = {
    "lookup": lambda table: index.lookup(table, "id = 3"),
    "list": lambda table: index.indexes(table, changes=True),
    "show": lambda table: index.index(table, name=NAME),
    "refresh": lambda table: index.refresh(table, name=NAME),
    "refresh in full": lambda table: index.refresh(table, name=NAME, mode="full"),
    "optimize": lambda table: index.optimize(table, name=NAME),
    "delete": lambda table: index.delete(table, name=NAME),
    "restore": lambda table: index.restore(table, name=NAME),
    "vacuum": lambda table: index.vacuum(table, name=NAME),
    "cancel": lambda table: index.cancel(table, name=NAME),
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = tmp_path_factory.mktemp("original")
    for i in range(2):
        pq.write_table(pa.table({"id": [i, i + 10, i + 20]}), table / f"{i}.parquet")
    index.create(table, ["id"], name=NAME)
    index.refresh(table, name=NAME, mode="full")
    return table


@pytest.fixture
def table(original: Path, tmp_path: Path) -> Path:
    """Return a table with an index of two versions, of which one is not needed any more."""
    shutil.copytree(original, tmp_path / "table", copy_function=shutil.copy2)
    return tmp_path / "table"


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """Return a folder that is nobody's business, laid out like a version of an index."""
    folder = tmp_path / "precious"
    (folder / "column=id").mkdir(parents=True)
    for name in ("manifest.bfindex", "thesis.txt", "column=id/part-1.bfindex"):
        (folder / name).write_text("years of work")
    return folder


def state(folder: Path) -> dict[str, str]:
    """Every file below a folder, and what is in it."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }


def attempt(action: str, table: Path) -> None:
    """Do an action; it may fail, but only in the way of this package."""
    with contextlib.suppress(BloomwriterError, OSError), no_hang():
        ACTIONS[action](table)


@pytest.mark.parametrize("status", ["ACTIVE", "DELETED", "CREATING", "REFRESHING", "VACUUMING"])
def test_nothing_behind_a_symbolic_link_is_removed_or_made(
    table: Path, precious: Path, status: str
) -> None:
    folder, before = index_folder(table, NAME), state(precious)
    upcoming = int(newest(folder)[0].name) + 1
    for version in ["v__=0", *[f"v__={upcoming + i}" for i in range(30)]]:
        if not (folder / version).exists():
            (folder / version).symlink_to(precious)
    shutil.rmtree(folder / "v__=0", ignore_errors=True)
    with contextlib.suppress(FileExistsError):
        (folder / "v__=0").symlink_to(precious)
    (folder / "v__=1000").mkdir()
    (folder / "v__=1000" / "column=id").symlink_to(precious)
    (folder / "v__=1000" / "thesis.txt").symlink_to(precious / "thesis.txt")
    append(folder, state=status)
    for action in ACTIONS:
        attempt(action, table)
        attempt("cancel", table)
        assert state(precious) == before, action


PATHS = ("../../../../precious/thesis.txt", "/etc/passwd", "v__=0/../x", "v__=0//x", "", "a\0b")


@pytest.mark.parametrize("path", [*PATHS, "\ud800", "./x", "v__=0/."])
def test_paths_that_lead_out_of_the_folder_are_no_entry(table: Path, path: str) -> None:
    folder = index_folder(table, NAME)
    entry = newest(folder)[1]
    rewrite(folder, manifest={"path": path, "size": 13})
    data = newest(folder)[0].read_bytes()
    with pytest.raises(IndexProblem):
        from_json(data, path="entry")
    rewrite(folder, manifest=entry["manifest"])
    for action in ACTIONS:
        attempt(action, table)


T = TypeVar("T")


def of_copies(table: Path, cases: Iterable[T]) -> Iterator[tuple[T, str, Path]]:
    """Yield each case with each action, and a copy of the table's folder in its place."""
    aside = table.with_name("aside")
    shutil.copytree(table, aside)
    for case in cases:
        for action in ACTIONS:
            sys.stdout.write(f"{case} {action}\n")
            shutil.rmtree(table)
            shutil.copytree(aside, table)
            yield case, action, table


def test_numbers_beyond_all_reason_are_told_of(table: Path) -> None:
    fields = ["id", "version", "next_file_id", "num_files", "created_ms"]
    for field, action, copy in of_copies(table, fields):
        append(index_folder(copy, NAME), **{field: 10**30})
        attempt(action, copy)


def test_times_that_no_calendar_has_are_told_of(table: Path) -> None:
    for status, action, copy in of_copies(table, ["ACTIVE", "REFRESHING"]):
        append(index_folder(copy, NAME), state=status, created_ms=2**62)
        attempt(action, copy)


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(table: Path) -> None:
    for place, action, copy in of_copies(table, ["log", "manifest", "part", "global"]):
        path = _place(copy, place)
        path.unlink()
        os.mkfifo(path)
        _with_size(copy, place, 0)
        with no_hang(QUICK):
            attempt(action, copy)


@pytest.mark.parametrize("place", ["log", "manifest", "part", "global"])
def test_an_endless_file_is_not_read(table: Path, place: str) -> None:
    path = _place(table, place)
    path.unlink()
    path.touch()
    size = 8 << 30
    os.truncate(path, size)
    _with_size(table, place, size)
    with little_memory(1 << 30):
        for action in ACTIONS:
            attempt(action, table)


@pytest.mark.parametrize("place", ["log", "manifest", "part", "global"])
def test_a_device_in_the_place_of_a_file_is_not_read(table: Path, place: str) -> None:
    path = _place(table, place)
    path.unlink()
    path.symlink_to("/dev/zero")
    _with_size(table, place, 0)
    with little_memory(1 << 30):
        for action in ACTIONS:
            attempt(action, table)


def test_an_index_of_another_table_is_not_refreshed(table: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    pq.write_table(pa.table({"id": [1234]}), other / "secret.parquet")
    rewrite(index_folder(table, NAME), root=str(other))
    for mode in ("refresh", "refresh in full"):
        with pytest.raises(BloomwriterError, match="of another table"):
            ACTIONS[mode](table)
    with pytest.raises(IndexNotFound, match="no index of the table"):
        index.lookup(table, "id = 3")


def _place(table: Path, place: str) -> Path:
    folder = index_folder(table, NAME)
    path, entry = newest(folder)
    (column,) = entry["columns"]
    files = {
        "manifest": entry["manifest"],
        "part": column["parts"][0],
        "global": column["global_filter"]["file"],
    }
    return path if place == "log" else folder / files[place]["path"]


def _with_size(table: Path, place: str, size: int) -> None:
    """Have the entry say that a file has `size` bytes."""
    if place == "log":
        return
    folder = index_folder(table, NAME)
    _, entry = newest(folder)
    (column,) = entry["columns"]
    if place == "manifest":
        rewrite(folder, manifest=entry["manifest"] | {"size": size})
    elif place == "part":
        rewrite(folder, columns=[column | {"parts": [column["parts"][0] | {"size": size}]}])
    else:
        whole = column["global_filter"]
        whole = whole | {"file": whole["file"] | {"size": size}}
        rewrite(folder, columns=[column | {"global_filter": whole}])


def test_the_places_are_those_of_an_index(table: Path) -> None:
    kinds = {place: _place(table, place) for place in ("log", "manifest", "part", "global")}
    assert kinds["log"].parent.name == LOG
    assert all(path.is_file() for path in kinds.values())
    assert set(index.lookup(table, "id = 11").paths) == {str(table / "1.parquet")}


@pytest.mark.parametrize("planted_by", ["stranger", "us", "owner of the table"])
def test_strangers_plant_no_index_above_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted_by: str
) -> None:
    """Where everybody may make folders, an index of theirs above ours excludes nothing."""
    public, table = tmp_path / "public", tmp_path / "public" / "table"
    table.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1, 2, 3]}), table / "0.parquet")
    index.create(public, ["id"], name=NAME)
    us, stranger, other = os.geteuid(), 4_711, 4_712
    owners = {"stranger": stranger, "us": us, "owner of the table": other}
    found = {
        str(public / "_bloom_index"): owners[planted_by],
        str(table): other,
        str(public): 0,
        str(tmp_path): 0,
    }
    monkeypatch.setattr(homes, "_owner", lambda path: found.get(path, 0))
    is_asked = planted_by != "stranger"
    assert homes.find_homes(str(table)) == [str(public / "_bloom_index")] * is_asked
    assert homes.find_homes(str(table / "0.parquet")) == [str(public / "_bloom_index")] * is_asked
    assert homes.find_homes(str(public)) == [str(public / "_bloom_index")]
    if is_asked:
        assert index.lookup(table, "id = 77").paths == ()
    else:
        with pytest.raises(IndexNotFound):
            index.lookup(table, "id = 77")


@pytest.mark.parametrize("mode", [0o1777, 0o1770, 0o777])
def test_strangers_plant_no_index_beside_files_that_they_may_not_replace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    """The sticky bit, as /tmp has it, keeps users from replacing files of others."""
    public, stranger, other = tmp_path / "public", 4_711, 4_712
    public.mkdir()
    file, home = public / "0.parquet", public / "_bloom_index"
    pq.write_table(pa.table({"id": [1, 2, 3]}), file)
    index.create(public, ["id"], name=NAME)
    public.chmod(mode)
    for owner in (stranger, other, os.geteuid()):
        found = {str(home): owner, str(file): other}
        monkeypatch.setattr(homes, "_owner", lambda path, found=found: found.get(path, 0))
        may_replace = mode == 0o777
        assert (homes.find_homes(str(public)) == [str(home)]) is (
            may_replace or owner == os.geteuid()
        )
        assert (homes.find_homes(str(file)) == [str(home)]) is (may_replace or owner != stranger)


def test_an_index_beside_one_table_says_nothing_about_another(table: Path, tmp_path: Path) -> None:
    """A query may read folders of several users at once."""
    other = tmp_path / "other"
    shutil.copytree(table, other, copy_function=shutil.copy2)
    theirs, ours = str(other), str(table)
    shutil.rmtree(table / "_bloom_index")
    assert [name for name, _ in matching_indexes([theirs, ours], [])] == [NAME]
    shutil.rmtree(other / "_bloom_index")
    index.create(table, ["id"], name="root", home=other / "_bloom_index")
    index.create(other, ["id"], name="names", files=[table / "0.parquet"])
    home = f"{other}/_bloom_index"
    for roots in ([theirs, ours], [theirs, f"{ours}/0.parquet"]):
        assert list(matching_indexes(roots, [])) == []
        assert [name for name, _ in matching_indexes(roots, [home])] == ["names", "root"]


def test_an_index_above_one_table_says_nothing_about_its_neighbours(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above both, as in /tmp, only the owner of one of two tables could make it."""
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    for folder in (theirs, ours):
        shutil.copytree(table, folder, copy_function=shutil.copy2)
        shutil.rmtree(folder / "_bloom_index")
    shutil.rmtree(table)
    index.create(tmp_path, ["id"], name=NAME)
    tmp_path.chmod(0o1777)
    stranger = 4_711
    strangers = {str(tmp_path / "_bloom_index"), str(theirs)}
    monkeypatch.setattr(homes, "_owner", lambda path: stranger if path in strangers else 0)

    def found(*roots: Path) -> list[str]:
        return [name for name, _ in matching_indexes([*map(str, roots)], [])]

    assert found(theirs) == found(theirs / "0.parquet", theirs / "1.parquet") == [NAME]
    assert found(ours) == found(theirs, ours) == found(ours / "0.parquet", theirs) == []
    elsewhere = tmp_path.parent / f"{tmp_path.name}-elsewhere"
    shutil.copytree(ours, elsewhere)
    assert found(elsewhere, theirs) == [NAME]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_home_with_more_writers_than_its_table_is_named_once(
    table: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Who can write only to the index could take rows from queries of the table."""

    def warnings(
        *, home: tuple[int, int, int], of_table: tuple[int, int, int], below: str = ""
    ) -> int:
        for path, (owner, group, mode) in ((place / "home" / below, home), (place, of_table)):
            os.chown(path, owner, group)
            path.chmod(mode)
        caplog.clear()
        for _ in range(2):
            clear_cache()
            assert index.lookup(place, "id = 11", home=place / "home").paths
        return len(caplog.records)

    def cases() -> Iterator[tuple[dict[str, Any], int]]:
        mine, open_ = (0, 0, 0o755), (0, 0, 0o777)
        yield {"home": mine, "of_table": mine}, 0
        yield {"home": mine, "of_table": open_}, 0
        yield {"home": open_, "of_table": mine}, 1
        yield {"home": open_, "of_table": open_}, 0
        yield {"home": open_, "of_table": (0, 0, 0o1777)}, 1
        yield {"home": (4711, 0, 0o755), "of_table": (0, 0, 0o1777)}, 1
        yield {"home": (0, 0, 0o1777), "of_table": mine}, 1
        yield {"home": (4711, 0, 0o755), "of_table": mine}, 1
        yield {"home": (4711, 0, 0o755), "of_table": (4711, 0, 0o755)}, 0
        yield {"home": (0, 4711, 0o775), "of_table": mine}, 1
        yield {"home": (0, 4711, 0o775), "of_table": (0, 4712, 0o775)}, 1
        yield {"home": (0, 4711, 0o775), "of_table": (0, 4711, 0o775)}, 0
        yield {"home": open_, "of_table": mine, "below": NAME}, 1
        yield {"home": open_, "of_table": mine, "below": f"{NAME}/{LOG}"}, 1

    for number, (case, expected) in enumerate(cases()):
        place = tmp_path / f"case {number}"
        shutil.copytree(table, place, copy_function=shutil.copy2)
        (place / "_bloom_index").rename(place / "home")
        assert warnings(**case) == expected, case
        assert all(str(place / "home") in one.message for one in caplog.records)
