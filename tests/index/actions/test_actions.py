"""Actions on real tables: which files are indexed, and that lookups never lose a row."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parquet_bloomwriter import index
from parquet_bloomwriter.errors import (
    IndexNotFound,
    IndexProblem,
    InvalidArgument,
)
from parquet_bloomwriter.index.actions import commit, optimize
from parquet_bloomwriter.index.build.threads import ThreadEngine
from parquet_bloomwriter.index.format.manifest import read_manifest
from parquet_bloomwriter.index.layout import local_path
from parquet_bloomwriter.index.log.log import IndexLog
from tests.reports.parsing import Seen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parquet_bloomwriter.index.engine import BuildPlan, FileTask, GroupResult, Progress

ROWS = 40
TICKS = iter(range(10**9))


def write(root: Path, name: str, first: int, *, rows: int = ROWS) -> Path:
    """Write a file with ids from `first` on, as old as no other one and settled."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    ids = list(range(first, first + rows))
    pq.write_table(
        pa.table({"id": pa.array(ids, pa.int64()), "email": [f"{i}@x" for i in ids]}), path
    )
    seconds = 1_600_000_000 + next(TICKS)
    os.utime(path, (seconds, seconds))
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    root = tmp_path / "events"
    for number in range(6):
        write(root, f"day={number % 2}/{number}.parquet", number * ROWS)
    return root


@pytest.fixture
def made(table: Path) -> Path:
    index.create(table, ["id", "email"], name="ids")
    return table


def holding(root: Path, values: Iterable[int]) -> dict[int, set[str]]:
    """Names of the files that hold each id."""
    paths = [path for path in root.rglob("*.parquet") if "_bloom_index" not in path.parts]
    ids = {path: pq.ParquetFile(path).read(["id"])["id"].to_pylist() for path in paths}
    return {
        value: {str(path.relative_to(root)) for path in paths if value in ids[path]}
        for value in values
    }


def kept(root: Path, value: int) -> set[str]:
    report = index.lookup(root, f"id = {value}")
    return {os.path.relpath(path, root) for path in report.paths}


def check_answers(root: Path, values: Iterable[int]) -> int:
    """Assert that no file is missing that holds a value; count the files that hold none."""
    passed = 0
    for value, truth in holding(root, values).items():
        found = kept(root, value)
        assert truth <= found
        passed += len(found - truth)
    return passed


def tree(root: Path) -> list[str]:
    """Return the files of the index, with `*` for the random parts of names."""
    folder = root / "_bloom_index" / "ids"
    names = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return sorted(_without_uuid(name) for name in names)


def _without_uuid(name: str) -> str:
    head, dash, tail = name.partition("-")
    return f"{head}-*{tail[36:]}" if dash else name


def test_create(table: Path) -> None:
    report = index.create(table, ["id", "email"], name="ids", fpp={"id": 0.001})
    assert (report.action, report.changed, report.state) == ("create", True, index.State.ACTIVE)
    assert (report.num_files, report.appended, report.deleted) == (6, 6, 0)
    assert (report.left_out, report.unindexed, report.version, report.log_id) == ((), (), 0, 1)
    assert report.source_bytes == sum(path.stat().st_size for path in table.rglob("*.parquet"))
    folder = table / "_bloom_index" / "ids"
    data = [path for path in folder.rglob("v__=0/**/*") if path.is_file()]
    assert report.index_bytes == sum(path.stat().st_size for path in data)
    id_, email = report.columns
    assert (id_.name, id_.fpp, email.name, email.fpp) == ("id", 0.001, "email", 0.01)
    for column in report.columns:
        assert column.global_ndv == pytest.approx(240, rel=0.05)
        assert column.global_fpp is not None
        assert column.global_fpp <= column.fpp
        assert (column.no_global, column.global_stop) == ("", 6)
    assert [name for name in tree(table) if "part-" not in name] == [
        "_log/0",
        "_log/1",
        "v__=0/column=email/_global-*.bloom",
        "v__=0/column=id/_global-*.bloom",
        "v__=0/manifest.bfindex",
    ]
    assert check_answers(table, range(0, 240, 7)) <= 2
    json.dumps(index.plain(report), allow_nan=False)


def test_a_lookup_says_what_it_did(made: Path) -> None:
    report = index.lookup(made, "id = 3 AND email = '3@x'")
    assert report.paths == (str(made / "day=0/0.parquet"),)
    assert (report.num_files, report.num_kept, report.num_excluded, report.num_unknown) == (
        6,
        1,
        5,
        0,
    )
    assert report.kept_bytes == (made / "day=0/0.parquet").stat().st_size
    (use,) = report.indexes
    assert (use.name, use.columns, use.num_known, use.num_excluded) == (
        "ids",
        ("id", "email"),
        6,
        5,
    )
    assert use.reason is None
    json.dumps(index.plain(report), allow_nan=False)
    assert index.lookup(made, "id = 1000000").paths == ()


@pytest.mark.parametrize(
    ("predicate", "code"),
    [
        ("day = 1", index.Code.MISSING_INDEXED_COL),
        ("id > 3", index.Code.NO_USABLE_CONDITION),
        ("id = 3 OR day = 1", index.Code.NO_USABLE_CONDITION),
    ],
)
def test_a_lookup_says_why_nothing_was_excluded(
    made: Path, predicate: str, code: index.Code
) -> None:
    report = index.lookup(made, predicate)
    assert (report.num_kept, report.num_unknown) == (6, 0)
    assert [use.reason.code for use in report.indexes if use.reason] == [code]


def test_files_that_no_index_knows_are_kept(made: Path) -> None:
    write(made, "new.parquet", 1000)
    report = index.lookup(made, "id = 5000")
    assert (report.paths, report.num_unknown) == ((str(made / "new.parquet"),), 1)


def test_lookups_as_text_say_why_files_are_kept(made: Path) -> None:
    assert "kept" not in str(index.lookup(made, "id = 5000"))
    path = write(made, "new.parquet", 1000)
    assert str(index.lookup(made, "id = 5000")).splitlines() == [
        "id = 5000: 1 of 7 files might match",
        "  index ids: 6 of 6 known files excluded",
        "  1 file is kept because no index knows it: it is new, has changed, or could not be read",
        f"  {path}",
    ]
    write(made, "newer.parquet", 1000)
    told = "  2 files are kept because no index knows them: they are new, have changed, or could "
    assert str(index.lookup(made, "id = 5000")).splitlines()[2] == f"{told}not be read"


def test_reports_in_notebooks(made: Path) -> None:
    path = write(made, "new.parquet", 1000)
    looked_up = Seen(index.lookup(made, "id = 5000")._repr_html_())
    assert looked_up.rows == [[str(path)]]
    assert looked_up.text.startswith(f"{made}: id = 5000: 1 of 7 files might match; ")
    assert "index ids: 6 of 6 known files excluded" in looked_up.text
    assert "note: 1 file is kept because" in looked_up.text
    for report in (index.index(made), index.refresh(made)):
        shown = Seen(report._repr_html_())
        assert shown.text.startswith(f"{made}: index ids: ")
        assert [row[0] for row in shown.rows] == [column.name for column in report.columns]


def test_several_indexes_are_asked(table: Path) -> None:
    index.create(table, ["id"], name="a")
    write(table, "new.parquet", 1000)
    index.create(table, ["email"], name="b")
    report = index.lookup(table, "id = 5000 AND email = '1001@x'")
    assert (report.paths, report.num_unknown) == ((str(table / "new.parquet"),), 0)
    report = index.lookup(table, "id = 5000 AND email = '1001@x'", name="a")
    assert (report.paths, report.num_unknown) == ((str(table / "new.parquet"),), 1)
    assert [info.name for info in index.indexes(table)] == ["a", "b"]


def test_a_part_of_a_table_is_looked_up_in_the_index_of_the_whole(made: Path) -> None:
    assert index.lookup(made / "day=0", "id = 3").paths == (str(made / "day=0/0.parquet"),)
    assert index.lookup(made / "day=1", "id = 3").paths == ()
    assert index.lookup(made / "day=0/0.parquet", "id = 300").paths == ()


def test_a_single_file_is_a_table(tmp_path: Path) -> None:
    path = write(tmp_path, "one.parquet", 0)
    other = write(tmp_path, "other.parquet", 0)
    with pytest.raises(InvalidArgument, match="an index is of all files of a folder"):
        index.create(path, "id", name="ids")
    assert sorted(tmp_path.iterdir()) == [Path(path), Path(other)]
    assert index.create(path, "id", name="ids", files=path).num_files == 1
    assert index.lookup(path, "id = 99").paths == ()
    assert index.lookup(tmp_path, "id = 99").paths == (str(other),)


def test_the_caller_may_name_the_files(table: Path) -> None:
    shutil.copy2(table / "day=0/0.parquet", table / "day=0/no-suffix")
    given = [table / "day=0/no-suffix", table / "day=0/2.parquet"]
    assert index.create(table, ["id"], name="ids", files=given).num_files == 2
    report = index.lookup(table, "id = 3", files=given)
    assert report.paths == (str(table / "day=0/no-suffix"),)
    assert not index.refresh(table, name="ids", files=given).changed


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "_x", ".x", "a b", "ä", "a\n", "x" * 129])
def test_names_that_are_none(table: Path, name: str) -> None:
    with pytest.raises(InvalidArgument, match="cannot have the name"):
        index.create(table, ["id"], name=name)
    assert not (table / "_bloom_index").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"columns": []}, "at least one column"),
        ({"columns": ["id", "id"]}, 'more than once, as "id"'),
        ({"columns": ["id", "email", "ID"]}, 'more than once, as "id" and "ID"'),
        ({"columns": ["nothing"]}, "nothing"),
        ({"fpp": 0.0}, "fpp is a number between 0 and 1"),
        ({"fpp": {"email": 0.1}}, "which is not a column of the index"),
        ({"expected_num_items": 0}, "not a number of distinct"),
        ({"origin": "thin air"}, "not an origin"),
        ({"max_file_bytes": 1}, "at least 64 bytes"),
        ({"max_total_bytes": 100}, "bytes"),
        ({"table": "sftp://host/events"}, "not a local path"),
        ({"table": "az://container/events"}, "Name it as abfss://"),
        ({"table": "/no/such/folder"}, "there is no folder or file"),
        ({"files": []}, "no Parquet files"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    table: Path, arguments: dict[str, object], message: str
) -> None:
    whole = {"table": table, "columns": ["id"], "name": "ids"} | arguments
    with pytest.raises(InvalidArgument, match=message):
        index.create(**whole)  # type: ignore[arg-type]
    assert not (table / "_bloom_index").exists()


def test_urls_of_local_files(tmp_path: Path) -> None:
    assert local_path("file:///a%20b/c") == "/a b/c"
    assert local_path("file:/a%23b") == "/a#b"
    assert local_path("file://localhost/x") == "/x"
    assert local_path("/odd:/x%20y") == "/odd:/x%20y"
    with pytest.raises(InvalidArgument):
        local_path("file://host/x")
    assert index.indexes(tmp_path.as_uri()) == ()


def test_an_index_is_made_once(made: Path) -> None:
    with pytest.raises(InvalidArgument, match=r'an index "ids" already, which is ACTIVE. Refresh'):
        index.create(made, ["id"], name="ids")
    index.delete(made, name="ids")
    with pytest.raises(InvalidArgument, match=r"which is DELETED. Restore it, vacuum it first"):
        index.create(made, ["id"], name="ids")
    assert index.vacuum(made, name="ids").state is index.State.DOES_NOT_EXIST
    assert index.indexes(made) == ()
    with pytest.raises(IndexNotFound, match="there is no index of the table"):
        index.lookup(made, "id = 3")
    report = index.create(made, ["id"], name="ids")
    assert (report.log_id, report.version, report.num_files) == (7, 6, 6)
    assert check_answers(made, [3, 100]) == 0


def test_an_index_that_is_not_there(made: Path) -> None:
    for verb in (index.refresh, index.optimize, index.vacuum, index.delete, index.index):
        with pytest.raises(IndexNotFound, match=r'no index "other".* There are: ids'):
            verb(made, name="other")
    with pytest.raises(IndexNotFound, match=f'of that name of the table "{made}"'):
        index.refresh(made / "day=0", name="ids")
    with pytest.raises(IndexNotFound):
        index.lookup(made, "id = 3", name="other")
    index.delete(made, name="ids")
    index.vacuum(made, name="ids")
    with pytest.raises(IndexNotFound, match=r'no index "ids"\. Create it first'):
        index.index(made, name="ids")


def test_the_only_index_needs_no_name(made: Path) -> None:
    assert index.index(made).name == "ids"
    assert index.refresh(made, mode="full").name == "ids"
    for verb in (index.optimize, index.delete, index.restore, index.vacuum, index.cancel):
        assert verb(made).name == "ids"
    assert index.refresh(made, "ids").changed is False


def test_of_several_indexes_one_must_be_named(made: Path) -> None:
    index.create(made, ["email"], name="mails")
    index.delete(made, "mails")
    for verb in (index.delete, index.restore, index.vacuum, index.cancel):
        with pytest.raises(InvalidArgument) as caught:
            verb(made)
        assert str(caught.value) == (
            "say which index with name=; there are ids (ACTIVE), mails (DELETED)."
        )
    assert {index.refresh(made).name, index.optimize(made).name, index.index(made).name} == {"ids"}
    index.restore(made, "mails")
    with pytest.raises(InvalidArgument, match="say which index"):
        index.refresh(made)


def test_there_is_no_index_to_be_meant(table: Path) -> None:
    for verb in (index.refresh, index.delete, index.index):
        with pytest.raises(IndexNotFound) as caught:
            verb(table)
        assert str(caught.value) == f"{table}: the table has no index. Create one first."


def test_an_index_of_a_folder_above(made: Path) -> None:
    shutil.copy2(made / "day=0/0.parquet", made / "day=0/new.parquet")
    (made / "day=0/0.parquet").unlink()
    (use,) = index.lookup(made / "day=0/new.parquet", "id = 3").indexes
    assert use.reason is not None
    assert (
        use.reason.text == f"the index is of {made}, and knows none of the files here; refresh it"
    )


def test_a_deleted_index_is_not_asked(made: Path) -> None:
    index.delete(made, name="ids")
    report = index.lookup(made, "id = 3")
    assert (report.num_kept, report.num_unknown) == (6, 6)
    assert [use.reason.code for use in report.indexes if use.reason] == [
        index.Code.INDEX_NOT_ACTIVE
    ]
    index.restore(made, name="ids")
    assert index.lookup(made, "id = 3").num_kept == 1


def test_a_table_can_be_moved_with_its_index(made: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    made.rename(elsewhere)
    assert index.lookup(elsewhere, "id = 3").paths == (str(elsewhere / "day=0/0.parquet"),)
    assert not index.refresh(elsewhere, name="ids").changed


def test_an_index_can_be_kept_elsewhere(table: Path, tmp_path: Path) -> None:
    home = tmp_path / "indexes"
    index.create(table, ["id"], name="ids", home=home)
    assert not (table / "_bloom_index").exists()
    assert index.lookup(table, "id = 3", home=home).num_kept == 1
    assert index.index(table, name="ids", home=home).root == str(table)
    write(table, "new.parquet", 1000)
    assert index.refresh(table, name="ids", home=home).appended == 1
    assert index.lookup(table, "id = 1001", home=home).num_kept == 1
    with pytest.raises(InvalidArgument, match=f'of another table.*Name the folder "{table}"'):
        index.refresh(table / "day=0", name="ids", home=home)
    assert index.lookup(tmp_path, "id = 1001", home=home).num_kept == 1


def change(root: Path) -> None:
    """Append one file, delete one, overwrite one, rename one."""
    write(root, "day=0/new.parquet", 1000)
    (root / "day=1/1.parquet").unlink()
    old = root / "day=0/2.parquet"
    before = old.stat().st_size
    write(root, "day=0/2.parquet", 2000)
    assert abs(old.stat().st_size - before) < 200
    (root / "day=1/3.parquet").rename(root / "day=1/renamed.parquet")


VALUES = [0, 45, 90, 130, 170, 210, 1005, 2005, 9999]


@pytest.mark.parametrize("mode", ["incremental", "full", "quick"])
def test_refresh(made: Path, mode: str) -> None:
    change(made)
    check_answers(made, VALUES)
    info = index.index(made, name="ids")
    assert (info.appended, info.deleted) == (3, 3)
    report = index.refresh(made, name="ids", mode=mode)  # type: ignore[arg-type]
    assert (report.action, report.num_files, report.deleted) == (f"refresh {mode}", 6, 3)
    assert report.appended == (6 if mode == "full" else 3)
    assert (report.version, report.log_id, report.changed) == (2, 3, True)
    assert check_answers(made, VALUES) == 0
    assert index.lookup(made, "id = 9999").num_unknown == 0
    (column, _) = report.columns
    assert column.global_stop == {"quick": 6, "incremental": 9, "full": 12}[mode]
    expected = {"quick": 240, "incremental": 320, "full": 240}[mode]
    assert column.global_ndv == pytest.approx(expected, rel=0.05)
    info = index.index(made, name="ids")
    assert (info.appended, info.deleted, info.version, info.busy) == (0, 0, 2, None)


@pytest.mark.parametrize("mode", ["incremental", "quick"])
def test_nothing_changed_nothing_done(made: Path, mode: str) -> None:
    before = tree(made)
    report = index.refresh(made, name="ids", mode=mode)  # type: ignore[arg-type]
    assert (report.changed, report.log_id, report.appended, report.num_files) == (False, 1, 0, 6)
    assert tree(made) == before


def test_a_full_refresh_is_done_in_any_case(made: Path) -> None:
    report = index.refresh(made, name="ids", mode="full")
    assert (report.changed, report.appended, report.deleted) == (True, 6, 0)


def test_a_refresh_of_another_mode(made: Path) -> None:
    with pytest.raises(InvalidArgument, match="not a mode"):
        index.refresh(made, name="ids", mode="slow")  # type: ignore[arg-type]


def test_an_incremental_refresh_covers_what_a_quick_one_left(made: Path) -> None:
    write(made, "new.parquet", 1000)
    index.refresh(made, name="ids", mode="quick")
    assert not index.refresh(made, name="ids", mode="quick").changed
    report = index.refresh(made, name="ids")
    assert (report.appended, report.deleted, report.num_files) == (1, 0, 7)
    assert report.columns[0].global_stop == 8
    assert check_answers(made, [0, 1000, 5000]) == 0
    assert not index.refresh(made, name="ids").changed


def test_a_filter_of_all_files_that_lets_too_much_pass_is_dropped(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "MAX_EXCESS", 0.01)
    write(made, "new.parquet", 1000)
    report = index.refresh(made, name="ids")
    assert (report.appended, report.columns[0].global_fpp) == (1, None)
    assert re.fullmatch(
        r"with the new values it would let [\d.]+ % of all absent ones pass; refresh it .*",
        report.columns[0].no_global,
    )
    assert not [name for name in tree(made) if name.startswith("v__=2") and "global" in name]
    assert check_answers(made, [*VALUES, 1000]) <= 2
    assert not index.refresh(made, name="ids").changed
    assert index.refresh(made, name="ids", mode="full").columns[0].no_global == ""


def test_too_many_expected_values(table: Path) -> None:
    report = index.create(table, ["id"], name="ids", expected_num_items=10**10)
    assert "more values are expected" in report.columns[0].no_global
    assert check_answers(table, VALUES) == 0
    write(table, "new.parquet", 1000)
    assert "more values are expected" in index.refresh(table, name="ids").columns[0].no_global


def test_only_deleted_files(made: Path) -> None:
    (made / "day=1/1.parquet").unlink()
    report = index.refresh(made, name="ids")
    assert (report.appended, report.deleted, report.num_files) == (0, 1, 5)
    assert report.columns[0].global_stop == 6
    assert "v__=2/manifest.bfindex" in tree(made)
    assert check_answers(made, VALUES) == 0


def test_a_table_that_was_emptied(made: Path) -> None:
    shutil.rmtree(made / "day=0")
    shutil.rmtree(made / "day=1")
    report = index.refresh(made, name="ids")
    assert (report.deleted, report.num_files) == (6, 0)
    assert index.lookup(made, "id = 3").num_files == 0
    write(made, "again.parquet", 0)
    assert index.refresh(made, name="ids").num_files == 1
    assert check_answers(made, VALUES) == 0


def test_many_small_refreshes_and_then_optimize(made: Path) -> None:
    for number in range(4):
        write(made, f"new-{number}.parquet", 1000 * (number + 1))
        if number == 2:
            (made / "day=0/0.parquet").unlink()
        index.refresh(made, name="ids", mode="quick" if number % 2 else "incremental")
    before = [kept(made, value) for value in [*VALUES, 3000, 4000]]
    num_parts = index.index(made, name="ids").columns[0].num_parts
    report = index.optimize(made, name="ids")
    assert (report.changed, report.columns[0].num_parts, num_parts >= 5) == (True, 1, True)
    assert (report.num_files, report.columns[0].global_stop is not None) == (9, True)
    assert [kept(made, value) for value in [*VALUES, 3000, 4000]] == before
    part = next((made / "_bloom_index/ids").glob(f"v__={report.version}/column=id/part-*"))
    ids = pq.read_table(part, partitioning=None)["fileId"].to_pylist()
    manifest = IndexLog(report.folder).get(report.log_id).manifest
    assert manifest is not None
    assert sorted(ids) == sorted(read_manifest(f"{report.folder}/{manifest.path}").ids.tolist())
    assert not index.optimize(made, name="ids").changed
    removed = index.vacuum(made, name="ids")
    assert removed.removed_files >= 2 * num_parts
    assert [kept(made, value) for value in [*VALUES, 3000, 4000]] == before


def test_optimize_takes_filters_as_they_are(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(made, "new.parquet", 1000)
    index.refresh(made, name="ids")
    monkeypatch.setattr(optimize, "TARGET", 1)  # a part for every file
    folder = made / "_bloom_index" / "ids"
    rows = _filters(folder, 1, 3)
    assert len(rows) == 14
    report = index.optimize(made, name="ids")
    assert [column.num_parts for column in report.columns] == [7, 7]
    assert _filters(folder, 5) == rows


def _filters(folder: Path, *log_ids: int) -> list[tuple[object, ...]]:
    """All filters that entries refer to, each once."""
    entry = IndexLog(str(folder)).get(log_ids[-1])
    found = []
    for column in entry.columns:
        for part in column.parts:
            table = pq.read_table(folder / part.path, partitioning=None)
            rows = table.drop_columns("BFChecks").to_pylist()
            found += [(column.name, *row.values()) for row in rows]
    return sorted(found)


def test_vacuum_of_an_active_index(made: Path) -> None:
    change(made)
    index.refresh(made, name="ids", mode="full")
    report = index.vacuum(made, name="ids")
    assert (report.state, report.removed_files >= 5) == (index.State.ACTIVE, True)
    assert not [name for name in tree(made) if name.startswith("v__=0")]
    assert not (made / "_bloom_index/ids/v__=0").exists()
    assert check_answers(made, VALUES) == 0
    assert not index.vacuum(made, name="ids").changed


class Meddling:
    """An engine that does something before, and something to each result."""

    name = "meddling"

    def __init__(self, **changes: object) -> None:
        self._inner = ThreadEngine(jobs=2)
        self._changes = changes
        self.num_groups = 2

    def build(
        self, groups: Sequence[Sequence[FileTask]], plan: BuildPlan, progress: Progress | None
    ) -> Iterable[GroupResult]:
        """Build as threads do."""
        for result in self._inner.build(groups, plan, progress):
            yield replace(result, **self._changes)  # type: ignore[arg-type]


def test_files_that_change_while_they_are_read_are_left_out(table: Path) -> None:
    report = index.create(table, ["id"], name="ids", engine=Meddling(changed=(2,)))
    assert (report.num_files, report.appended, len(report.left_out)) == (5, 5, 1)
    (left,) = report.left_out
    assert left.path == "day=0/4.parquet"
    assert left.reason.startswith("it changed while it was being read")
    found = index.lookup(table, "id = 9999")
    assert (found.num_unknown, found.paths) == (1, (str(table / left.path),))
    assert index.refresh(table, name="ids").appended == 1
    assert check_answers(table, VALUES) == 0


def test_values_that_are_missing_leave_no_filter_of_all_files(table: Path) -> None:
    report = index.create(table, ["id", "email"], name="ids", engine=Meddling(incomplete=("id",)))
    assert (report.columns[0].global_fpp, report.columns[1].global_fpp is None) == (None, False)
    assert report.columns[0].no_global == "the values of some file could not be taken"
    assert check_answers(table, VALUES) == 0


def test_an_engine_that_brings_no_partial_filters(table: Path) -> None:
    report = index.create(table, ["id"], name="ids", engine=Meddling(partials=()))
    assert report.columns[0].global_fpp is None


def test_an_engine_that_does_less_than_it_says(table: Path) -> None:
    class Lazy(Meddling):
        def build(self, *arguments: object) -> Iterable[GroupResult]:
            return list(super().build(*arguments))[1:]  # type: ignore[arg-type]

    class Forgetful(Meddling):
        def build(
            self, groups: Sequence[Sequence[FileTask]], plan: BuildPlan, progress: object
        ) -> Iterable[GroupResult]:
            results = list(super().build(groups, plan, progress))  # type: ignore[arg-type]
            shutil.rmtree(plan.folder)
            return results

    with pytest.raises(IndexProblem, match=r"the engine \(meddling\) did 1 of 2 groups"):
        index.create(table, ["id"], name="ids", engine=Lazy())
    assert tree(table) == ["_log/0", "_log/1", "_log/2"]
    with pytest.raises((IndexProblem, OSError)):
        index.create(table, ["id"], name="ids", engine=Forgetful())
    assert index.indexes(table) == ()


def test_what_an_engine_leaves_lying_about_is_removed(table: Path) -> None:
    class Messy(Meddling):
        def build(
            self, groups: Sequence[Sequence[FileTask]], plan: BuildPlan, progress: object
        ) -> Iterable[GroupResult]:
            Path(plan.folder, "junk").write_text("x")
            return super().build(groups, plan, progress)  # type: ignore[arg-type]

    index.create(table, ["id"], name="ids", engine=Messy())
    assert {Path(name).name for name in tree(table) if name.startswith("v__")} == {
        "manifest.bfindex",
        "part-*.bfindex",
        "_global-*.bloom",
    }


def test_broken_files_are_left_out_and_looked_at_again(table: Path) -> None:
    whole = (table / "day=0/0.parquet").read_bytes()
    write(table, "bad.parquet", 0).write_bytes(b"no Parquet at all")
    report = index.create(table, ["id"], name="ids")
    assert (report.num_files, [left.path for left in report.left_out]) == (6, ["bad.parquet"])
    assert "bad.parquet" in kept(table, 9999)
    again = index.refresh(table, name="ids")
    assert (again.changed, [left.path for left in again.left_out]) == (False, ["bad.parquet"])
    (table / "bad.parquet").write_bytes(whole)
    assert index.refresh(table, name="ids").appended == 1
    assert kept(table, 9999) == set()


def test_a_broken_index_keeps_all_files_and_is_mended_by_a_full_refresh(made: Path) -> None:
    part = next((made / "_bloom_index/ids/v__=0/column=id").glob("part-*"))
    part.write_bytes(part.read_bytes()[:-1])
    report = index.lookup(made, "id = 3")
    assert report.num_kept == 6
    assert [use.reason.code for use in report.indexes if use.reason] == [index.Code.INDEX_BROKEN]
    for verb in (index.refresh, index.optimize):
        with pytest.raises(IndexProblem, match=r"gone, or not as they were.*Refresh it in full"):
            verb(made, name="ids")
    index.refresh(made, name="ids", mode="full")
    assert index.lookup(made, "id = 3").num_kept == 1


def test_an_unreadable_log_is_told_of(made: Path) -> None:
    folder = made / "_bloom_index/ids/_log"
    (folder / "2").write_bytes(b"{")
    (info,) = index.indexes(made)
    assert (info.state, info.log_id, "cannot be read" in info.problem) == (
        index.State.ACTIVE,
        1,
        True,
    )
    assert index.lookup(made, "id = 3").num_kept == 1


def test_a_log_of_which_nothing_can_be_read(made: Path) -> None:
    folder = made / "_bloom_index/ids/_log"
    for name in "01":
        (folder / name).write_bytes(b"{")
    (info,) = index.indexes(made, changes=True)
    assert (info.name, info.state, info.root, bool(info.problem)) == ("ids", None, "", True)
    report = index.lookup(made, "id = 3")
    assert (report.num_kept, report.num_unknown) == (6, 6)
    assert [use.reason.code for use in report.indexes if use.reason] == [index.Code.INDEX_BROKEN]
    for verb in (index.refresh, index.cancel, index.vacuum):
        with pytest.raises(IndexProblem, match=r"can.* be read"):
            verb(made, name="ids")
    json.dumps(index.plain(info), allow_nan=False)


def test_somebody_at_work_is_told_of(made: Path) -> None:
    log = IndexLog(str(made / "_bloom_index/ids"))
    stable = log.latest_stable()
    assert stable is not None
    state = index.State.REFRESHING
    assert log.write(replace(stable, id=2, state=state, created_ms=1_700_000_000_000))
    (info,) = index.indexes(made)
    assert (info.state, info.busy, info.busy_since_ms) == (
        index.State.ACTIVE,
        state,
        1_700_000_000_000,
    )
    report = index.cancel(made, name="ids")
    assert (report.changed, report.state, report.log_id) == (True, index.State.ACTIVE, 4)
    assert not index.cancel(made, name="ids").changed


CHANGES = ["append", "delete", "overwrite", "rename", "touch"]
ACTIONS = ["incremental", "quick", "full", "optimize", "vacuum"]
STEPS = st.lists(st.sampled_from([*CHANGES, *ACTIONS]), min_size=1, max_size=12)


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=STEPS, data=st.data())
def test_no_history_of_a_table_loses_rows(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("table")
    values = [number * 100 for number in range(3)]
    for first in values:
        write(root, f"{first}.parquet", first, rows=5)
    index.create(root, ["id"], name="ids")
    for number, step in enumerate(steps, 10):
        paths = sorted(root.glob("*.parquet"))
        chosen = data.draw(st.sampled_from(paths)) if paths else None
        if step == "append" or chosen is None:
            values.append(number * 100)
            write(root, f"{number}.parquet", number * 100, rows=5)
        elif step == "overwrite":
            values.append(number * 100)
            write(root, chosen.name, number * 100, rows=5)
        elif step == "delete":
            chosen.unlink()
        elif step == "rename":
            chosen.rename(root / f"renamed-{number}.parquet")
        elif step == "touch":
            seconds = 1_600_000_000 + next(TICKS)
            os.utime(chosen, (seconds, seconds))
        elif step in {"optimize", "vacuum"}:
            getattr(index, step)(root, name="ids")
        else:
            index.refresh(root, name="ids", mode=step)  # type: ignore[arg-type]
        check_answers(root, values)
    index.refresh(root, name="ids")
    assert check_answers(root, values) <= len(values)
    assert index.lookup(root, "id = 77777").num_unknown == 0


def test_only_indexes_of_the_table_are_asked(tmp_path: Path) -> None:
    home, tables = tmp_path / "home", [tmp_path / "one", tmp_path / "two", tmp_path / "on"]
    for table in tables:
        write(table, "0.parquet", 0)
    for number, name in enumerate(["of-one", "of-two", "deleted-of-one", "vacuumed"]):
        index.create(tables[number % 2], ["id"], name=name, home=home)
    index.delete(tables[0], name="deleted-of-one", home=home)
    index.delete(tables[1], name="vacuumed", home=home)
    index.vacuum(tables[1], name="vacuumed", home=home)

    def asked(table: Path, name: str | None = None) -> list[str]:
        report = index.lookup(table, "id = 5000", home=home, name=name)
        return [use.name for use in report.indexes]

    assert asked(tables[0]) == ["deleted-of-one", "of-one"]
    assert asked(tables[1]) == ["of-two"]
    assert asked(tmp_path) == ["deleted-of-one", "of-one", "of-two"]
    with pytest.raises(IndexNotFound, match="no index of the table"):
        asked(tables[2])
    with pytest.raises(IndexNotFound, match='no index "vacuumed"'):
        asked(tables[1], "vacuumed")
    assert asked(tables[0], "of-two") == ["of-two"]


def test_an_index_that_cannot_be_read_may_be_of_the_table(made: Path) -> None:
    (made / "_bloom_index" / "broken" / "_log").mkdir(parents=True)
    (made / "_bloom_index" / "broken" / "_log" / "0").write_bytes(b"?")
    assert [use.name for use in index.lookup(made, "id = 3").indexes] == ["broken", "ids"]
