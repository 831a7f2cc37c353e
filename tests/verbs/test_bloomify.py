"""Adding filters: in place, elsewhere, in memory; what is kept, replaced, chosen and refused."""

from __future__ import annotations

import io
import os
import shutil
import threading
from typing import TYPE_CHECKING, Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import (
    BloomwriterError,
    ColumnNotFound,
    InvalidArgument,
    MalformedFile,
    NotParquet,
    Sbbf,
    Status,
    UnsafeTarget,
    UnsupportedFile,
    bloomify,
    for_each_file,
    repair,
    strip,
    verify,
)
from parquet_bloomwriter.hashing import xxh64
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.parallel import in_order
from tests.verbs.files import (
    created_by,
    filter_bytes,
    footer_of,
    layout,
    listing,
    people,
    read,
    with_filter_at,
    with_number,
    with_unknown_field,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from parquet_bloomwriter import AddReport

PLACEMENTS: tuple[Any, ...] = ("column-chunk", "row-group", "end")
ALL = [(i, j) for i in (0, 1) for j in (0, 1, 2)]


def new_version(report: AddReport) -> bytes:
    assert report.data is not None
    return report.data


def statuses(report: AddReport) -> dict[str, list[Status]]:
    return {column.name: [chunk.status for chunk in column.chunks] for column in report.columns}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "people.parquet"
    path.write_bytes(written())
    return path


# ---------------------------------------------------------------- where the new version goes


def test_in_place_elsewhere_and_in_memory_are_one(file: Path) -> None:
    before = file.read_bytes()
    memory = new_version(bloomify(before))
    other = file.with_name("other.parquet")
    report = bloomify(file, output=other)
    assert (report.written, report.output, report.data) == (True, str(other), None)
    assert listing(file.parent) == {"people.parquet": before, "other.parquet": memory}
    report = bloomify(str(file))
    assert (report.path, report.output) == (str(file), str(file))
    assert listing(file.parent) == {"people.parquet": memory, "other.parquet": memory}
    assert (report.size_before, report.size_after) == (len(before), len(memory))


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_any_buffer(wrap: Any) -> None:  # noqa: ANN401
    before = written()
    assert new_version(bloomify(wrap(before))) == new_version(bloomify(before))


def test_a_buffer_has_no_output(tmp_path: Path) -> None:
    for dry_run in (False, True):
        with pytest.raises(InvalidArgument, match="a buffer"):
            bloomify(written(), output=tmp_path / "new.parquet", dry_run=dry_run)
    assert listing(tmp_path) == {}


def test_dry_runs_write_nothing(file: Path) -> None:
    before = listing(file.parent)
    for output in (None, file.with_name("other.parquet")):
        report = bloomify(file, output=output, dry_run=True)
        assert (report.written, report.dry_run, report.output, report.data) == (
            False, True, None, None,
        )  # fmt: skip
        assert listing(file.parent) == before
    assert report.size_after == len(new_version(bloomify(file.read_bytes())))
    assert report.num_built == 6
    assert report.pieces


def test_a_dry_run_says_what_a_run_refuses(file: Path) -> None:
    """A run that has nothing to do refuses nothing: see `test_kept_filters`."""
    bloomify(file, "id")
    other = file.with_name("other.parquet")
    other.write_bytes(b"precious")
    os.link(file, file.with_name("linked.parquet"))
    for verb in (bloomify, strip):
        each: tuple[dict[str, Any], ...] = ({"output": other}, {})
        for options in each:
            for dry_run in (True, False):
                with pytest.raises(UnsafeTarget):
                    verb(file, **options, dry_run=dry_run)
    file.with_name("linked.parquet").unlink()
    for record in ("_delta_log", ".hoodie", "_metadata"):
        folder = file.parent / record
        folder.mkdir()
        (folder / "00000000000000000000.json").write_text("{}")
        for verb in (bloomify, strip):
            for dry_run in (True, False):
                if record != "_metadata":
                    with pytest.raises(UnsafeTarget, match=f"{record} .*would be wrong about"):
                        verb(file, dry_run=dry_run)
            assert verb(file, dry_run=True, force=True).dry_run
        shutil.rmtree(folder)
    assert bloomify(file, output=file.parent / "new" / "a.parquet", dry_run=True).dry_run


def test_existing_outputs_stay(file: Path) -> None:
    other = file.with_name("other.parquet")
    other.write_bytes(b"precious")
    before = listing(file.parent)
    with pytest.raises(UnsafeTarget):
        bloomify(file, output=other)
    assert listing(file.parent) == before
    bloomify(file, output=other, overwrite=True, backup_suffix=".old")
    assert listing(file.parent) == {
        **before,
        "other.parquet": new_version(bloomify(file.read_bytes())),
        "other.parquet.old": b"precious",
    }


def test_right_after_writing(tmp_path: Path) -> None:
    path = tmp_path / "new.parquet"
    for rows in (10, 1000):
        pq.write_table(people(rows), path)
        assert bloomify(path).num_built == 3
        assert pq.read_table(path).equals(people(rows))


# ---------------------------------------------------------------- what is in it


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("page_index", [False, True])
def test_data_filters_and_the_way_back(placement: Any, page_index: bool) -> None:  # noqa: ANN401, FBT001
    before = written(write_page_index=page_index)
    report = bloomify(before, placement=placement)
    after = new_version(report)
    assert (report.placement, report.fallback) == (placement, None)
    assert read(after).equals(people())
    assert new_version(strip(after)) == before  # type: ignore[arg-type]
    for i, chunk in enumerate(people().to_batches(max_chunksize=500)):
        for value in chunk.column(1).drop_null().to_pylist():
            assert Sbbf.from_bytes(filter_bytes(after, (i, 1))).check_hash(xxh64(value.encode()))
    for column in report.columns:
        for chunk in column.chunks:
            where = (chunk.row_group, column.ordinal)
            filter_ = filter_bytes(after, where)
            assert chunk.length == len(filter_)
            assert after[chunk.offset : (chunk.offset or 0) + chunk.length] == filter_
            assert chunk.fpp == Sbbf.from_bytes(filter_).exact_fpp() <= 0.01


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("replace", [False, True])
def test_any_number_of_threads_makes_the_same_bytes(placement: Any, replace: bool) -> None:  # noqa: ANN401, FBT001
    some = {"email": {"ndv": 5000, "fpp": 0.01}}
    before = written(row_group_size=40, write_page_index=True, bloom_filter_options=some)
    one, *others = (
        new_version(bloomify(before, placement=placement, replace=replace, jobs=jobs))
        for jobs in (1, 2, 5)
    )
    assert others == [one, one]


def test_every_fixture_keeps_its_data(fixtures_dir: Path) -> None:
    for path in sorted(fixtures_dir.glob("*/*.parquet")):
        before = path.read_bytes()
        bare = strip(before).data or before
        report = bloomify(bare, jobs=2)
        if report.data is not None:
            assert pq.read_table(io.BytesIO(report.data)).equals(pq.read_table(path)) or (
                "nan" in str(pq.read_table(path).to_pylist())
            )
            assert strip(report.data).data == bare


# ---------------------------------------------------------------- filters that are there


def with_filters(table: pa.Table | None = None) -> bytes:
    options = {name: {"ndv": 500, "fpp": 0.01} for name in ("id", "email")}
    return written(table, bloom_filter_options=options)


def test_good_filters_are_kept() -> None:
    before = with_filters()
    report = bloomify(before)
    kept, built = [Status.KEPT] * 2, [Status.BUILT] * 2
    assert statuses(report) == {"id": kept, "email": kept, "city": built}
    after = new_version(report)
    for chunk in ((0, 0), (0, 1), (1, 0), (1, 1)):
        assert filter_bytes(after, chunk) == filter_bytes(before, chunk)
    again = bloomify(after)
    assert (again.written, again.data) == (False, after)
    assert statuses(again) == dict.fromkeys(("id", "email", "city"), kept)
    for column in again.columns:
        assert (column.ndv, [chunk.ndv for chunk in column.chunks]) == (None, [None, None])
        assert not any("NDV" in str(part) for part in (column, *column.chunks))


def test_replace_builds_all_anew() -> None:
    before = with_filters()
    report = bloomify(before, replace=True)
    assert statuses(report) == dict.fromkeys(("id", "email", "city"), [Status.BUILT] * 2)
    assert new_version(report) == new_version(bloomify(written()))


@pytest.mark.parametrize("dry_run", [False, True])
def test_filters_of_other_values_are_found_out(dry_run: bool) -> None:  # noqa: FBT001
    """Filters of another file, spliced in: sound bytes, wrong values."""
    other = with_filters(people().set_column(0, "id", pa.array(range(5000, 6000))))
    mine = with_filters()
    ours, theirs = footer_of(mine), footer_of(other)
    for chunk in ((0, 0), (1, 0)):
        start, stop = (
            int(f.chunks.value(ChunkField.BLOOM_FILTER_OFFSET)[chunk]) for f in (ours, theirs)
        )
        alien = filter_bytes(other, chunk)
        assert other[stop : stop + len(alien)] == alien
        mine = mine[:start] + alien + mine[start + len(alien) :]
    report = bloomify(mine, dry_run=dry_run)
    reasons = {column.name: column.reasons for column in report.columns}
    assert reasons["id"] == (
        "the old filter was replaced: values that readers look up are missing from it",
    )
    assert statuses(report)["id"] == [Status.BUILT] * 2
    assert statuses(report)["email"] == [Status.KEPT] * 2
    if not dry_run:
        hashes = [xxh64(n.to_bytes(8, "little")) for n in range(500)]
        filter_ = Sbbf.from_bytes(filter_bytes(new_version(report), (0, 0)))
        assert filter_.contains_all(np.array(hashes, np.uint64))


def test_filters_with_broken_headers_are_replaced() -> None:
    before = with_filters()
    broken = with_filter_at(before, (0, 0), (4, 1040))
    report = bloomify(broken)
    assert statuses(report)["id"] == [Status.BUILT, Status.KEPT]
    assert "the old filter was replaced" in report.columns[0].chunks[0].reason
    assert read(new_version(report)).equals(people())


def test_filters_that_cannot_be_checked_are_kept() -> None:
    broken = with_number(with_filters(), ChunkField.CODEC, 99)
    for replace, status in ((False, Status.KEPT), (True, Status.SKIPPED)):
        report = bloomify(broken, ["id"], replace=replace)
        assert [chunk.status for chunk in report.columns[0].chunks].count(status) >= 1
        new = report.data or broken
        assert filter_bytes(new, (0, 0)) == filter_bytes(broken, (0, 0)) != b""


# ---------------------------------------------------------------- notes


def test_sorted_columns_gain_nothing() -> None:
    """Statistics say so: at least three row groups, and no range of values overlaps another."""
    rows, size = 1000, 100
    table = pa.table(
        {
            "up": range(rows),
            "down": range(rows, 0, -1),
            "text": [f"{i:06}" for i in range(rows)],
            "touching": [i // 99 for i in range(rows)],
            "mixed": [i * 37 % rows for i in range(rows)],
            "nulls": [i if i // size != 5 else None for i in range(rows)],
        }
    )
    note = (
        "sorted: by minimum and maximum, a lookup reads one row group already; a filter gains "
        "nothing there"
    )
    for old in (written(table, row_group_size=size), written(table[:200], row_group_size=size)):
        report = bloomify(old)
        noted = {column.name for column in report.columns if note in column.notes}
        assert noted == ({"up", "down", "text"} if report.num_row_groups == 10 else set())
    bare = written(table, row_group_size=size, write_statistics=False)
    assert not any(column.notes for column in bloomify(bare).columns)
    again = bloomify(bloomify(written(table, row_group_size=size)).data or b"")
    assert not any(note in column.notes for column in again.columns)


# ---------------------------------------------------------------- options


def test_rates_and_numbers_by_column() -> None:
    report = bloomify(written(), fpp={"id": 0.2, "email": 1e-6}, ndv={"id": 10})
    rates = {column.name: (column.asked_fpp, column.achieved_fpp or 1) for column in report.columns}
    assert {name: asked for name, (asked, _) in rates.items()} == {
        "id": 0.2, "email": 1e-6, "city": 0.01,
    }  # fmt: skip
    assert all(achieved <= asked for asked, achieved in rates.values())
    sizes = [column.chunks[0].num_bytes for column in report.columns]
    assert sizes[0] < sizes[1] > sizes[2]


@pytest.mark.parametrize(
    "options",
    [
        {"fpp": 0},
        {"fpp": 1.0},
        {"fpp": {"id": -1}},
        {"ndv": -5},
        {"max_bytes": 16},
        {"sizing": "huge"},
        {"placement": "nowhere"},
        {"dialect": "md5"},
        {"jobs": 0},
    ],
)
def test_options_out_of_range(file: Path, options: dict[str, Any]) -> None:
    before = listing(file.parent)
    with pytest.raises(InvalidArgument):
        bloomify(file, **options)
    assert listing(file.parent) == before


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, pa.py_buffer])
def test_buffers_that_do_not_change_are_returned(kind: Callable[[bytes], Any]) -> None:
    before = written()
    with_filters = bloomify(kind(before), ["id"]).data or b""
    assert with_filters == bloomify(before, ["id"]).data != before
    for report in (strip(kind(before)), repair(kind(before)), bloomify(kind(before), [])):
        assert (report.data, report.written) == (before, False)
    assert bloomify(kind(with_filters), ["id"]).data == with_filters
    assert strip(before, dry_run=True).data is None
    assert bloomify(before, dry_run=True).data is None


def test_rates_as_text() -> None:
    report = bloomify(written(), fpp={"id": "20%", "email": "0.001", "*": "1%"}, dry_run=True)
    assert [column.asked_fpp for column in report.columns] == [0.2, 0.001, 0.01]
    (column,) = bloomify(written(), "id", fpp="0.1%", dry_run=True).columns
    assert column.asked_fpp == 0.001


@pytest.mark.parametrize("rate", ["", "1", "5 per cent", "100%", "%", None, [0.01], True])
def test_what_is_no_rate(file: Path, rate: Any) -> None:  # noqa: ANN401  anything
    before = listing(file.parent)
    with pytest.raises(InvalidArgument) as caught:
        bloomify(file, "id", fpp=rate)
    what = f"a number between 0 and 1, such as 0.001, not {rate!r}."
    assert str(caught.value) == f"fpp is {what}"
    with pytest.raises(InvalidArgument) as caught:
        bloomify(file, "id", fpp={"id": rate})
    assert str(caught.value) == f'fpp of "id" is {what}'
    assert listing(file.parent) == before


@pytest.mark.parametrize("max_bytes", [1 << 31, (1 << 31) + 1, 1 << 40])
def test_filters_larger_than_their_header_can_tell_are_refused_at_once(max_bytes: int) -> None:
    """Not when the first of them is built: the file is not even looked for."""
    with pytest.raises(InvalidArgument, match="no Bloom filter can have"):
        bloomify("/nowhere.parquet", ["id"], max_bytes=max_bytes)
    largest = bloomify(written(), ["id"], max_bytes=(1 << 31) - 1, dry_run=True)
    assert largest.num_built == 2


def test_chosen_columns() -> None:
    report = bloomify(written(), ["city", "#0", "city"])
    assert list(statuses(report)) == ["city", "id"]
    new = new_version(report)
    assert [chunk for chunk in ALL if filter_bytes(new, chunk)] == [(0, 0), (0, 2), (1, 0), (1, 2)]


def test_types_without_filters() -> None:
    table = pa.table({"flag": [True, False], "n": [1, 2]})
    report = bloomify(written(table))
    assert statuses(report) == {"flag": [Status.SKIPPED], "n": [Status.BUILT]}
    assert "BOOLEAN" in report.columns[0].chunks[0].reason
    assert not filter_bytes(new_version(report), (0, 0))
    before = written(table)
    nothing = bloomify(before, ["flag"])
    assert (nothing.written, nothing.data, nothing.num_built) == (False, before, 0)


def test_fallback_is_told() -> None:
    before = with_unknown_field(written(), "ColumnMetaData")
    report = bloomify(before)
    assert report.placement == "end"
    assert report.fallback == "the footer has fields that this version does not know"
    assert strip(new_version(report)).data == before


@pytest.mark.parametrize("may_move", [True, False])
def test_bytes_of_replaced_filters_are_counted_if_they_stay(*, may_move: bool) -> None:
    before = written(bloom_filter_options={"id": {"ndv": 500}}, write_page_index=True)
    before = before if may_move else with_unknown_field(before, "ColumnMetaData")
    before = bloomify(before, ["email"], placement="end").data or b""
    report = bloomify(before, ["id"], replace=True)
    assert report.num_built == 2
    old = [f.stop - f.offset for f in layout(before).existing if f.column == 0]
    assert report.left_bytes == (0 if may_move else sum(old))


def test_filters_at_the_end_leave_nothing_behind_where_nothing_else_may_move() -> None:
    before = with_unknown_field(written(write_page_index=True), "ColumnMetaData")
    sizes = set()
    data = bloomify(bloomify(before, ["id"]).data or b"", ["email"]).data or b""
    for column in ("id", "email", "id"):
        report = bloomify(data, [column], replace=True)
        assert (report.num_built, report.left_bytes) == (2, 0)
        data = report.data or b""
        sizes.add(len(data))
        assert verify(data).passed
        assert strip(data).data == before
    assert len(sizes) == 1


def test_the_writer_s_name_stays() -> None:
    before = created_by(written(), b"parquet-mr version 1.8.1")
    assert footer_of(new_version(bloomify(before))).created_by == b"parquet-mr version 1.8.1"


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", NotParquet),
        (b"PAR1" + bytes(100), NotParquet),
        (written()[:-100] + written()[-8:], MalformedFile),
        (b"PARE" + written()[4:-4] + b"PARE", UnsupportedFile),
    ],
)
def test_bad_files_stay_as_they_are(
    tmp_path: Path, data: bytes, error: type[BloomwriterError]
) -> None:
    path = tmp_path / "bad.parquet"
    path.write_bytes(data)
    with pytest.raises(error) as caught:
        bloomify(path)
    assert caught.value.path == str(path)
    assert listing(tmp_path) == {"bad.parquet": data}
    with pytest.raises(error):
        bloomify(data)


def test_unknown_columns(file: Path) -> None:
    before = listing(file.parent)
    with pytest.raises(ColumnNotFound, match="Did you mean city"):
        bloomify(file, ["City"])
    assert listing(file.parent) == before


# ---------------------------------------------------------------- how much is held at once


def test_weights_bound_what_is_ahead() -> None:
    """Whatever is started and not yet taken weighs little more than allowed."""
    lock = threading.Lock()
    held = peak = 0

    def work(weight: int) -> int:
        nonlocal held, peak
        with lock:
            held += weight
            peak = max(peak, held)
        return weight

    taken = []
    weights = [5, 1, 7, 3] * 50
    with in_order(weights, work, jobs=2, weight=lambda w: w, max_weight=20) as results:
        for task, result in results:
            assert task == result
            taken.append(task)
            with lock:
                held -= task
    assert taken == weights
    assert peak <= 20 + 7 * 2


def test_errors_come_in_turn_and_stop_the_rest() -> None:
    started = []

    def work(n: int) -> int:
        started.append(n)
        if n == 3:
            raise ValueError("three")
        return n

    with in_order(range(1000), work, jobs=1, weight=lambda _: 1, max_weight=1) as found:
        assert [next(found)[1] for _ in range(3)] == [0, 1, 2]
        with pytest.raises(ValueError, match="three"):
            next(found)
    assert len(started) < 20


def test_an_empty_path_is_not_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [1, 2]}), path)
    before = path.read_bytes()
    url = "memory://empty/a.parquet"
    fsspec.filesystem("memory").pipe_file("/empty/a.parquet", before)
    for source in (str(path), url):
        with pytest.raises(InvalidArgument, match="the path is empty"):
            bloomify(source, "id", output="")
        with pytest.raises(InvalidArgument, match="the path is empty"):
            list(for_each_file(source, lambda *given: given, output=""))
        for folder, problem in (("", "the path is empty"), ("s3://bucket", "is a URL")):
            output = None if source is not url else tmp_path / "b.parquet"
            with pytest.raises(InvalidArgument, match=problem):
                bloomify(source, "id", output=output, backup_dir=folder)
    assert [one.read_bytes() for one in tmp_path.iterdir()] == [before]
