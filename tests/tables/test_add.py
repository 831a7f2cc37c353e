"""`bloomify_table`: which files get filters, and what the log says of them."""

from __future__ import annotations

import json
import os
import threading
import time
from typing import TYPE_CHECKING
from urllib.parse import unquote

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.schema import PrimitiveType

from parquet_bloomwriter import (
    BloomwriterError,
    ColumnNotFound,
    InvalidArgument,
    TableChanged,
    UnsafeTarget,
    UnsupportedTable,
    bloomify,
    bloomify_table,
    inspect,
    strip_table,
    verify,
)
from parquet_bloomwriter.delta import commit
from parquet_bloomwriter.delta.commit import replace_files
from parquet_bloomwriter.delta.place import local
from parquet_bloomwriter.durable import create_whole
from parquet_bloomwriter.tables import replacement
from parquet_bloomwriter.tables.replacement import Limits
from parquet_bloomwriter.tables.report import FileFate
from parquet_bloomwriter.tables.request import ask_for_filters
from tests.support.delta_tables import (
    actions,
    append,
    entry,
    listing,
    make_table,
    rows_by_duckdb,
    rows_of,
    versions,
)

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloomwriter import TableReport


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of three files, versions 0 to 2."""
    return make_table(tmp_path / "events")


def files_of(table: Path) -> list[Path]:
    """Return the active files."""
    uris = DeltaTable(os.fspath(table)).file_uris()
    return [table.parent / unquote(uri).removeprefix("file://") for uri in uris]


def filtered_columns(file: Path) -> set[str]:
    """Return the columns of a file that have a filter in each row group, all checked."""
    assert verify(file).passed
    found = inspect(file)
    return {one.name for one in found.columns if len(one.filters) == found.num_row_groups}


def test_all_files_get_filters_and_readers_see_the_same_rows(table: Path) -> None:
    before, by_duckdb = rows_of(table), rows_by_duckdb(table)
    by_polars = pl.read_delta(os.fspath(table)).sort("id")
    report = bloomify_table(table, ["id", "email"])
    assert report.commits == (3,)
    assert report.num_filters == 6
    assert report.count(FileFate.REPLACED) == report.num_files == 3
    assert [filtered_columns(file) for file in files_of(table)] == [{"id", "email"}] * 3
    assert rows_of(table) == before
    assert rows_by_duckdb(table) == by_duckdb
    assert pl.read_delta(os.fspath(table)).sort("id").equals(by_polars)
    assert rows_by_duckdb(table, "id = 4711000") == []
    assert len(rows_by_duckdb(table, "email = 'user1500@example.org'")) == 1


def test_manifests_of_symbolic_links_are_not_left_stale(table: Path) -> None:
    name = "delta.compatibility.symlinkFormatManifest.enabled"
    bloomify_table(table, "id")

    def switch(value: str) -> None:
        DeltaTable(os.fspath(table)).alter.set_table_properties(
            {name: value}, raise_if_not_exists=False
        )

    switch("true")
    before, first = listing(table), min(files_of(table))
    for attempt in (
        lambda: bloomify_table(table, "email"),
        lambda: strip_table(table, "id"),
        lambda: ask_for_filters(table, ["id"]),
    ):
        with pytest.raises(UnsupportedTable, match=f"{name}.*Set it to false.*GENERATE"):
            attempt()
    with pytest.raises(UnsafeTarget, match="Delta"):
        bloomify(first, ["email"])
    assert listing(table) == before
    switch("false")
    assert bloomify_table(table, "email").count(FileFate.REPLACED) == 3
    assert strip_table(table, "id").count(FileFate.REPLACED) == 3


def test_time_travel_and_history(table: Path) -> None:
    before = [rows_of(table, version=one) for one in range(3)]
    bloomify_table(table, "id")
    assert [rows_of(table, version=one) for one in range(3)] == before
    newest = DeltaTable(os.fspath(table)).history()[0]
    assert newest["operation"] == "OPTIMIZE"
    assert newest["version"] == 3


def test_the_new_add_is_the_old_one_but_for_its_file(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", num_files=2, partition_by=["day"])
    old = {one["path"]: one for n in range(2) for one in actions(table, n, "add")}
    bloomify_table(table, "id")
    removes = {one["path"]: one for one in actions(table, 2, "remove")}
    assert removes.keys() == old.keys()
    own = ("path", "size", "modificationTime", "dataChange", "tags")
    adds = actions(table, 2, "add")
    by_partition = {json.dumps(one["partitionValues"]): one for one in old.values()}
    for new in adds:
        before = by_partition[json.dumps(new["partitionValues"])]
        assert {k: v for k, v in new.items() if k not in own and v is not None} == {
            k: v for k, v in before.items() if k not in own and v is not None
        }
        assert new["dataChange"] is False
        assert (table / unquote(new["path"])).stat().st_size == new["size"]
        remove = removes[before["path"]]
        assert remove["dataChange"] is False
        assert remove["partitionValues"] == before["partitionValues"]
        assert remove["size"] == before["size"]
    assert all(one["path"] not in old for one in adds)


def test_old_files_stay_until_vacuum(table: Path) -> None:
    old = {name: data for name, data in listing(table).items() if name.endswith(".parquet")}
    report = bloomify_table(table, "id")
    now = listing(table)
    assert old.items() <= now.items()
    assert report.bytes_before == sum(map(len, old.values()))
    DeltaTable(os.fspath(table)).vacuum(
        retention_hours=0, dry_run=False, enforce_retention_duration=False
    )
    left = {name for name in listing(table) if name.endswith(".parquet")}
    assert left == {os.fspath(file.relative_to(table)) for file in files_of(table)}


def test_a_second_run_has_nothing_to_do_and_reads_no_footer(table: Path) -> None:
    bloomify_table(table, "id")
    before = listing(table)
    report = bloomify_table(table, "id")
    assert (report.commits, report.num_to_do, report.num_footers) == ((), 0, 0)
    assert "nothing to do" in str(report)
    assert listing(table) == before


def test_only_new_files_are_touched(table: Path) -> None:
    bloomify_table(table, "id")
    append(table, 3)
    report = bloomify_table(table, "id")
    assert report.num_footers == report.count(FileFate.REPLACED) == 1
    assert report.num_files == 4


def test_another_column_is_added_to_files_that_have_some(table: Path) -> None:
    bloomify_table(table, "id")
    report = bloomify_table(table, ["id", "email"])
    assert report.num_filters == 3
    assert all(filtered_columns(file) == {"id", "email"} for file in files_of(table))


def test_what_other_writers_did_is_seen_in_footers_once(table: Path) -> None:
    for file in files_of(table):
        data = pq.read_table(file, partitioning=None)
        pq.write_table(data, file, bloom_filter_options={"id": {"ndv": 1000, "fpp": 0.01}})
    first, second = bloomify_table(table, "id"), bloomify_table(table, "id")
    assert (first.num_footers, first.num_to_do) == (3, 0)
    assert second.num_footers == 0


def test_columns_in_structs_and_groups(table: Path) -> None:
    bloomify_table(table, "place")
    assert [filtered_columns(one) for one in files_of(table)] == [{"place.city", "place.zip"}] * 3


def test_the_table_says_what_it_wants(tmp_path: Path) -> None:
    wanted = {"bloomify.columns": "id, place.zip", "bloomify.fpp": "0.05, id=0.001"}
    table = make_table(tmp_path / "t")
    DeltaTable(os.fspath(table)).alter.set_table_properties(wanted, raise_if_not_exists=False)
    report = bloomify_table(table)
    assert report.asked_by_table
    assert report.columns == ("id", "place.zip")
    assert {one.name: one.asked_fpp for one in report.totals} == {"id": 0.001, "place.zip": 0.05}
    (note,) = strip_table(table).notes
    assert note.startswith("the property bloomify.columns still asks for id, place.zip: unset it")


def test_properties_have_patterns_and_percent(tmp_path: Path) -> None:
    wanted = {"bloomify.columns": "*d, place.*", "bloomify.fpp": "5%, *i*=0.1%, place.city=2%"}
    table = make_table(tmp_path / "t")
    DeltaTable(os.fspath(table)).alter.set_table_properties(wanted, raise_if_not_exists=False)
    named = bloomify_table(table, ["email", "day"], exclude="place")
    assert {one.name: one.asked_fpp for one in named.totals} == {"email": 0.001, "day": 0.05}
    by_table = bloomify_table(table)
    rates = {one.name: one.asked_fpp for one in by_table.totals}
    assert rates == {"id": 0.001, "place.city": 0.02, "place.zip": 0.001}


def test_rates_by_pattern_are_for_the_columns_that_are_chosen(table: Path) -> None:
    report = bloomify_table(table, "*", exclude=["place", "day"], fpp={"*": "5%", "*i*": 0.001})
    rates = {one.name: one.asked_fpp for one in report.totals}
    assert (rates["id"], rates["email"]) == (0.001, 0.001)
    assert "place.zip" not in rates
    with pytest.raises(InvalidArgument, match="none of the columns chosen"):
        bloomify_table(table, "id", fpp={"place*": 0.1})


def test_nothing_asked_for(table: Path) -> None:
    before = listing(table)
    with pytest.raises(InvalidArgument, match=r"no property bloomify\.columns"):
        bloomify_table(table)
    with pytest.raises(ColumnNotFound, match="emial"):
        bloomify_table(table, "emial")
    with pytest.raises(InvalidArgument, match="none of the columns chosen"):
        bloomify_table(table, "id", fpp={"email": 0.1})
    assert listing(table) == before


def test_a_partition_column_is_in_no_file(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", partition_by=["day"])
    with pytest.raises(InvalidArgument, match="partition column"):
        bloomify_table(table, ["id", "day"])


def test_batches_and_budgets(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", num_files=7)
    report = bloomify_table(table, "id", limits=Limits(num_files=2), max_files=5)
    assert report.commits == (7, 8, 9)
    assert [len(actions(table, one, "add")) for one in report.commits] == [2, 2, 1]
    assert report.num_waiting == 2
    again = bloomify_table(table, "id", limits=Limits(num_bytes=1))
    assert [len(actions(table, one, "add")) for one in again.commits] == [1, 1]
    assert all(filtered_columns(file) == {"id"} for file in files_of(table))


def test_newest_first_within_bytes(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", num_files=4)
    newest = actions(table, 3, "add")[0]
    report = bloomify_table(table, "id", newest_first=True, max_bytes_rewritten=newest["size"])
    assert [one.path for one in report.changes] == [unquote(newest["path"])]


def test_a_dry_run_writes_nothing(table: Path) -> None:
    before = listing(table)
    report = bloomify_table(table, ["id", "email"], limits=Limits(num_files=2), dry_run=True)
    assert listing(table) == before
    assert (report.num_filters, report.num_commits_planned) == (6, 2)
    assert report.count(FileFate.PLANNED) == 3
    assert "would be added" in str(report)


def test_a_broken_file_does_not_stop_the_others(table: Path) -> None:
    victim = files_of(table)[1]
    victim.write_bytes(victim.read_bytes()[:-1])
    report = bloomify_table(table, "id")
    [failed] = [one for one in report.changes if one.fate is FileFate.FAILED]
    assert failed.path == victim.name
    assert report.count(FileFate.REPLACED) == 2
    assert len(actions(table, 3, "remove")) == 2


def test_new_files_of_a_batch_that_fails_are_removed(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = listing(table)
    calls = []

    def fail_at_last(*args: object, **options: object) -> object:
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*args, **options)  # type: ignore[arg-type]

    real = bloomify
    monkeypatch.setattr("parquet_bloomwriter.tables.add.bloomify", fail_at_last)
    with pytest.raises(KeyboardInterrupt) as caught:
        bloomify_table(table, "id", jobs=1)
    assert listing(table) == before
    so_far: TableReport = caught.value.report  # type: ignore[attr-defined]
    assert (so_far.commits, so_far.left_over) == ((), ())


def test_new_files_that_cannot_be_removed_are_named(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = listing(table)
    calls = []

    def fail_at_last(*args: object, **options: object) -> object:
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*args, **options)  # type: ignore[arg-type]

    def refuse(*_: object) -> None:
        raise PermissionError("no")

    real = bloomify
    monkeypatch.setattr("parquet_bloomwriter.tables.add.bloomify", fail_at_last)
    monkeypatch.setattr("parquet_bloomwriter.table_files.delta.DeltaTable.remove", refuse)
    with pytest.raises(KeyboardInterrupt) as caught:
        bloomify_table(table, "id", jobs=1)
    so_far: TableReport = caught.value.report  # type: ignore[attr-defined]
    new = set(listing(table)) - set(before)
    assert len(new) == 2
    assert new <= set(so_far.left_over)


def test_files_that_vanish_meanwhile_are_dropped(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def delete_then_build(*args: object, **options: object) -> object:
        if not versions(table)[-1] > 2:
            DeltaTable(os.fspath(table)).delete("day = 1")
        return real(*args, **options)  # type: ignore[arg-type]

    real = bloomify
    monkeypatch.setattr("parquet_bloomwriter.tables.add.bloomify", delete_then_build)
    report = bloomify_table(table, "id", jobs=1)
    assert report.count(FileFate.DROPPED) == 1
    assert report.count(FileFate.REPLACED) == 2
    assert len(report.left_over) == 1
    assert len(rows_of(table)) == 2000
    assert rows_by_duckdb(table, "day = 1") == []


def test_nothing_to_build_is_recorded(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", num_files=2, rows=1)
    before = listing(table)
    for file in files_of(table):  # a chunk without values gets no filter
        size = file.stat().st_size
        pq.write_table(pq.read_table(file, partitioning=None).slice(0, 0), file)
        for log in (table / "_delta_log").glob("*.json"):
            text = log.read_text().replace(f'"size":{size},', f'"size":{file.stat().st_size},')
            log.write_text(text)
    report = bloomify_table(table, "id")
    assert report.commits == ()
    assert bloomify_table(table, "id").num_footers == 0
    assert before.keys() == listing(table).keys()


def test_strip_gives_the_bytes_back(table: Path) -> None:
    old = sorted(file.read_bytes() for file in files_of(table))
    before = rows_of(table)
    bloomify_table(table, ["id", "email"])
    report = strip_table(table)
    assert (report.num_filters, report.commits) == (6, (4,))
    assert sorted(file.read_bytes() for file in files_of(table)) == old
    assert rows_of(table) == before
    assert all("bloomify" not in (one.get("tags") or {}) for one in actions(table, 4, "add"))
    assert bloomify_table(table, "id").num_filters == 3


def test_strip_one_column(table: Path) -> None:
    bloomify_table(table, ["id", "email"])
    strip_table(table, "id")
    assert [filtered_columns(file) for file in files_of(table)] == [{"email"}] * 3


def test_a_copied_tag_is_not_believed(table: Path) -> None:
    bloomify_table(table, "id")
    [tag] = {one["tags"]["bloomify"] for one in actions(table, 3, "add")[:1]}
    log = table / "_delta_log" / f"{3:020}.json"
    text = [json.loads(line) for line in log.read_text().splitlines()]
    for one in text:
        if "add" in one:
            one["add"]["tags"]["bloomify"] = tag.replace("part-", "other-")
    log.write_text("".join(json.dumps(one) + "\n" for one in text))
    assert bloomify_table(table, "id").num_footers == 3


def test_commit_info_names_the_attempt(table: Path) -> None:
    bloomify_table(table, "id")
    [info] = [one["commitInfo"] for one in entry(table, 3) if "commitInfo" in one]
    assert next(iter(entry(table, 3)[0])) == "commitInfo"
    assert info["operationMetrics"]["numAddedFiles"] == "3"
    assert info["txnId"]


@pytest.mark.parametrize("where", ["not there", "empty"])
def test_no_table(tmp_path: Path, where: str) -> None:
    path = tmp_path / "t"
    if where == "empty":
        (path / "_delta_log").mkdir(parents=True)
    with pytest.raises(BloomwriterError, match=r"no table|there is no"):
        bloomify_table(path, "id")


def delete_text(table: Path, version: int) -> str:
    """Return the text of an entry that removes the file which a version added."""
    [add] = actions(table, version, "add")
    remove = {
        "path": add["path"],
        "deletionTimestamp": int(time.time() * 1000),
        "dataChange": True,
        "extendedFileMetadata": True,
        "partitionValues": {},
        "size": add["size"],
    }
    info = {"timestamp": 1, "operation": "DELETE"}
    return "".join(json.dumps(one) + "\n" for one in ({"commitInfo": info}, {"remove": remove}))


@pytest.mark.parametrize("when", ["before the run", "between commits"])
def test_an_entry_that_is_filled_late_deletes_rows_for_good(
    table: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """A writer creates the entry before it fills it: what it removes must not come back."""
    text, version = delete_text(table, 2), 3 if when == "before the run" else 4
    path = table / "_delta_log" / f"{version:020}.json"

    def create() -> threading.Timer:
        path.touch()
        timer = threading.Timer(0.3, lambda: path.write_text(text))
        timer.start()
        return timer

    timers = []
    if when == "before the run":
        timers.append(create())
    else:
        real = replace_files

        def commit_then_create(*args: object, **options: object) -> object:
            committed = real(*args, **options)  # type: ignore[arg-type]
            if not timers:
                timers.append(create())
            return committed

        monkeypatch.setattr(commit, "replace_files", commit_then_create)
    bloomify_table(table, "id", limits=Limits(num_files=1), jobs=1)
    timers[0].join()
    assert len(rows_of(table)) == 2000
    assert len(rows_by_duckdb(table)) == 2000


def test_a_run_stopped_just_after_its_commit_says_that_files_may_be_in_the_table(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, real = rows_of(table), create_whole

    def create_then_stop(path: str, data: bytes) -> bool:
        real(path, data)
        raise KeyboardInterrupt

    monkeypatch.setattr(local, "create_whole", create_then_stop)
    with pytest.raises(KeyboardInterrupt) as caught:
        bloomify_table(table, "id")
    report: TableReport = caught.value.report  # type: ignore[attr-defined]
    assert report.left_over == ()
    assert sorted(report.undecided) == sorted(file.name for file in files_of(table))
    assert "is not in the table" not in str(report)
    assert rows_of(table) == before


def test_nobody_writes_on_after_a_run_was_stopped(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, calls, real = listing(table), [], bloomify

    def build_slowly(*args: object, **options: object) -> object:
        calls.append(args)
        if len(calls) > 1:
            time.sleep(0.5)
        return real(*args, **options)  # type: ignore[arg-type]

    def stop(*_args: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("parquet_bloomwriter.tables.add.bloomify", build_slowly)
    monkeypatch.setattr(replacement, "FileReplacement", stop)
    with pytest.raises(KeyboardInterrupt):
        bloomify_table(table, "id", jobs=3)
    assert listing(table) == before
    time.sleep(1)
    assert listing(table) == before


def test_a_user_without_a_home(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pathlib.Path.home", fail)
    assert bloomify_table(table, "id").num_filters == 3


def test_a_column_that_another_one_hides_is_no_choice(tmp_path: Path) -> None:
    table = tmp_path / "t"
    struct = pa.array([{"b": 1}], pa.struct([("b", pa.int64())]))
    write_deltalake(table, pa.table({"a.b": ["x"], "a": struct, "c": ["y"]}))
    before = listing(table)
    with pytest.raises(ColumnNotFound, match=r"two columns .*a\.b"):
        bloomify_table(table, "*")
    with pytest.raises(ColumnNotFound, match=r"two columns .*a\.b"):
        strip_table(table)
    assert listing(table) == before
    assert bloomify_table(table, "c").num_filters == 1


@pytest.mark.parametrize("limits", [{"num_files": 0}, {"num_bytes": -1}])
def test_commits_of_nothing(limits: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument):
        Limits(**limits)


def test_a_file_larger_than_the_limit_does_not_hold_up_the_others(tmp_path: Path) -> None:
    table = tmp_path / "t"
    append(table, 0, rows=5000)
    append(table, 1, rows=10)
    [large], [small] = (actions(table, one, "add") for one in (0, 1))
    assert large["size"] > small["size"]
    report = bloomify_table(table, "id", max_bytes_rewritten=small["size"])
    assert [one.path for one in report.changes] == [unquote(small["path"])]
    assert report.num_waiting == 1


def test_a_schema_that_changes_between_commits_ends_the_run(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = replace_files

    def commit_then_widen(*args: object, **options: object) -> object:
        committed = real(*args, **options)  # type: ignore[arg-type]
        DeltaTable(os.fspath(table)).alter.add_columns([Field("more", PrimitiveType("long"))])
        return committed

    monkeypatch.setattr(commit, "replace_files", commit_then_widen)
    with pytest.raises(TableChanged, match="schema") as caught:
        bloomify_table(table, "id", limits=Limits(num_files=1))
    report: TableReport = caught.value.report  # type: ignore[attr-defined]
    assert (report.commits, report.left_over, report.undecided) == ((3,), (), ())
    assert len([name for name in listing(table) if name.endswith(".parquet")]) == 4


def test_a_file_that_is_not_the_one_of_the_log_is_not_made_valid(table: Path) -> None:
    victim = files_of(table)[1]
    pq.write_table(pq.read_table(victim, partitioning=None).slice(0, 5), victim)
    report = bloomify_table(table, "id")
    [failed] = [one for one in report.changes if one.fate is FileFate.FAILED]
    assert (failed.path, "the table says" in failed.reason) == (victim.name, True)
    assert report.count(FileFate.REPLACED) == 2
