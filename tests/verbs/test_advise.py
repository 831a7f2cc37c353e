"""Advice: the verdicts that a person would give, figures that come true, a command that works."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from functools import cache
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from parquet_bloomwriter import ColumnNotFound, InvalidArgument, bloomify
from parquet_bloomwriter.advising import sample as sampling
from parquet_bloomwriter.advising.report import Advice, AdviseReport, ColumnAdvice
from parquet_bloomwriter.hashing import hash_array
from parquet_bloomwriter.source import BufferSource
from parquet_bloomwriter.values import LeafReader
from parquet_bloomwriter.verbs.advise import advise, merge_advice
from tests.support.split_block import ReferenceFilter
from tests.verbs.broken_filters import with_bytes
from tests.verbs.files import (
    filter_bytes,
    footer_of,
    listing,
    with_bytes_behind_entries,
    with_filter_at,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from parquet_bloomwriter.values import DictionaryPage

ADD, CONSIDER, HAS_FILTER, SKIP = Advice
ROWS, ROW_GROUPS = 20_000, 10


@cache
def events() -> pa.Table:
    """One column for each reason."""
    rng = np.random.default_rng(7)
    ids = rng.permutation(ROWS)
    return pa.table(
        {
            "sorted": np.arange(ROWS),
            "id": ids.astype(np.int64) * 7919,
            "email": [f"user{i}@mail.example" for i in ids.tolist()],
            "user": rng.integers(0, 400, ROWS),
            "city": [("Bern", "Lima", "Oslo")[i % 3] for i in range(ROWS)],
            "session": np.repeat(rng.permutation(ROWS // 10), 10),
            "tenant": np.repeat(rng.permutation(200), ROWS // 200),
            "price": rng.normal(size=ROWS),
            "number": ids.astype(np.float64),
            "tags": pa.array([[int(i)] for i in ids], pa.list_(pa.int64())),
            "flag": rng.random(ROWS) < 0.5,
            "constant": np.zeros(ROWS, np.int64),
            "nothing": pa.nulls(ROWS, pa.int64()),
        }
    )


def file_of(table: pa.Table | None = None, **options: object) -> bytes:
    options = {"row_group_size": ROWS // ROW_GROUPS, "use_dictionary": ["city"]} | options
    return written(events() if table is None else table, **options)


@cache
def usual() -> AdviseReport:
    """What is advised for a file of these events."""
    return advise(file_of())


def by_name(report: AdviseReport) -> dict[str, ColumnAdvice]:
    return {column.name: column for column in report.columns}


# ---------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("name", "verdict", "says"),
    [
        ("sorted", SKIP, "sorted: by statistics, a lookup reads 10 % of the row groups"),
        ("id", ADD, "a lookup reads 10 % of the row groups instead of 100 %"),
        ("email", ADD, "a lookup reads 10 % of the row groups instead of 99 %"),
        ("user", SKIP, "of the row groups, and 100 % without"),
        ("city", SKIP, "of the row groups, and 100 % without"),
        ("session", ADD, "of the row groups instead of"),
        ("tenant", ADD, "of the row groups instead of"),
        ("price", SKIP, "numbers with fractions are hardly ever looked up"),
        ("number", CONSIDER, "but floating-point numbers are rarely looked up by equality"),
        ("tags.list.element", SKIP, "in lists and maps, readers look up no values"),
        ("flag", SKIP, "BOOLEAN columns get no filters"),
        ("constant", SKIP, "a single value per row group"),
        ("nothing", SKIP, "it has no values"),
    ],
)
def test_verdicts(name: str, verdict: Advice, says: str) -> None:
    column = by_name(usual())[name]
    assert (column.verdict, says in column.reason) == (verdict, True), column.reason


def test_the_report() -> None:
    data = file_of()
    report = advise(data)
    assert [column.name for column in report.columns] == [
        name.replace("tags", "tags.list.element") for name in events().column_names
    ]
    assert (report.num_files, report.num_rows, report.num_row_groups) == (1, ROWS, ROW_GROUPS)
    assert (report.size, report.paths, report.command) == (len(data), (), None)
    assert [column.name for column in report.added] == [
        "id",
        "email",
        "session",
        "tenant",
    ]
    added = [column.num_filter_bytes or 0 for column in report.added]
    assert report.num_filter_bytes == sum(added) > 0
    assert report.share == sum(added) / len(data)
    assert all(not column.notes for column in report.columns if column.verdict is SKIP)


def test_columns_can_be_chosen() -> None:
    assert list(by_name(advise(file_of(), ["session", "id"]))) == ["id", "session"]
    with pytest.raises(ColumnNotFound):
        advise(file_of(), ["nosuch"])


def test_columns_in_dictionaries() -> None:
    report = advise(file_of(use_dictionary=True))
    columns = by_name(report)
    assert {column.name for column in report.added} == {"id", "email"}
    for name in ("id", "email"):
        assert "values are in dictionaries, which Spark reads" in columns[name].notes[0]
    for name in ("session", "tenant"):
        assert columns[name].verdict is CONSIDER
        assert "if DuckDB or DataFusion reads; Spark" in columns[name].reason
        assert not any("Spark" in note for note in columns[name].notes)
    partly = advise(file_of(events().select(["email"]), dictionary_pagesize_limit=1000))
    assert [(column.name, column.notes) for column in partly.added] == [("email", ())]


def test_advice_is_for_an_engine() -> None:
    """As measured with 2,000 files: DuckDB scans all before, and 7 after."""
    data = file_of(use_dictionary=True)
    verdicts = {
        engine: {column.name for column in advise(data, engine=engine).added}
        for engine in ("any", "duckdb", "datafusion", "spark", "clickhouse", "trino", "polars")
    }
    large, all_ = {"id", "email"}, {"id", "email", "session", "tenant"}
    assert verdicts.pop("duckdb") == verdicts.pop("datafusion") == all_
    assert set(map(frozenset, verdicts.values())) == {frozenset(large)}
    session = by_name(advise(data, engine="spark"))["session"]
    assert (session.verdict, "Spark looks at those" in session.reason) == (SKIP, True)
    notes = [note for column in advise(data, engine="duckdb").columns for note in column.notes]
    assert not any("Spark reads" in note for note in notes)
    with pytest.raises(InvalidArgument, match='nothing is known of the engine "oracle"'):
        advise(data, engine="oracle")
    with pytest.raises(InvalidArgument, match="the same rate and engine"):
        merge_advice([advise(data, engine="spark"), advise(data)])


def test_only_columns_that_queries_compare_with_values_deserve_filters() -> None:
    data = file_of()
    queries = [
        "SELECT * FROM events WHERE email = 'a@b' AND id > 3; tenant IN (1, 2)",
        "number = 1.0",
    ]
    report = advise(data, queries=queries)
    columns = by_name(report)
    assert {column.name for column in report.added} == {"email", "tenant", "number"}
    assert columns["session"].reason == "no query asks for it"
    assert columns["id"].reason.startswith("asked for in 1 of 3 queries, but by <, BETWEEN")
    assert columns["tenant"].notes == ("asked for by = or IN in 1 of 3 queries",)
    noted = "-- who; when\n" + queries[0] + "; -- behind it\n /* x; */ " + queries[1]
    assert advise(data, queries=noted) == report
    merged = merge_advice([report, advise(data, queries=queries)])
    assert {column.name for column in merged.added} == {"email", "tenant", "number"}
    for wrong in ("", ";", "id = = 3", "id = 'a"):
        with pytest.raises(InvalidArgument):
            advise(data, queries=wrong)


def test_large_row_groups_are_named_with_the_remedy() -> None:
    """What the note promises of row groups of 100,000 rows comes true."""
    ids = np.random.default_rng(3).permutation(600_000)
    large, small = (
        advise(file_of(pa.table({"id": ids}), row_group_size=rows)) for rows in (300_000, 100_000)
    )
    (note,) = large.columns[0].notes
    promised = re.search(r"reads 50 % of the rows, and ([\d.]+) % in row groups of 100,000", note)
    assert promised
    assert 1 - (small.columns[0].skipped_present or 0) == pytest.approx(
        float(promised[1]) / 100, abs=0.001
    )
    assert "row_group_size=100000" in note
    assert small.columns[0].notes == ()


def test_an_index_is_proposed_for_many_small_files() -> None:
    parts = [
        file_of(events().slice(start, 400), use_dictionary=True) for start in range(0, ROWS, 400)
    ]
    reports = [advise(part, ["id", "city"], engine="spark") for part in parts]
    reports = [replace(one, paths=(f"lake/{i}.parquet",)) for i, one in enumerate(reports)]
    for number, expected in ((50, True), (49, False)):
        merged = merge_advice(reports[:number], paths="lake")
        assert (merged.index_command is not None) is expected
        said = [one.sentence for one in merged.summary().remarks if one.label == "index"]
        expected_words = ["bloomify index create lake --columns id"] * expected
        assert [one.partition(": ")[2].partition(": ")[2] for one in said] == expected_words
    assert merge_advice(reports).index_command is None  # files, not a folder


def test_filters_that_cost_too_much_are_not_recommended() -> None:
    repeated = pa.table({"x": np.repeat(np.random.default_rng(1).permutation(ROWS // 50), 50)})
    report = advise(file_of(repeated, compression="zstd", use_dictionary=False), fpp=1e-9)
    (column,) = report.columns
    assert (column.verdict, report.added) == (CONSIDER, ())
    assert column.reason.endswith(", but the filters would take more bytes than the column")


def test_columns_are_ranked() -> None:
    rng = np.random.default_rng(3)
    keys = rng.permutation(ROWS)
    halves = np.concatenate([half + rng.permutation(ROWS // 2) for half in (0, ROWS // 2)])
    table = pa.table({"tag": [[1]] * ROWS, "n": keys / 1.0, "halves": halves, "id": keys})
    report = advise(file_of(table, use_dictionary=False))
    names = [column.name for column in report.ranked]
    assert names == ["id", "halves", "n", "tag.list.element"]
    assert [column.verdict for column in report.ranked] == [ADD, ADD, CONSIDER, SKIP]
    assert [column.name for column in report.added] == ["id", "halves"]
    assert [round(column.gain, 1) for column in report.ranked] == [0.9, 0.4, 0.9, 0.0]


def test_a_small_gain_is_not_recommended() -> None:
    """Each value is in 6 of 10 row groups."""
    values = np.concatenate([(np.arange(ROWS // 10) + i * 1000) % 3333 for i in range(10)])
    groups = [
        np.random.default_rng(i).permutation(part) for i, part in enumerate(np.split(values, 10))
    ]
    (column,) = advise(
        file_of(pa.table({"x": np.concatenate(groups)}), use_dictionary=False)
    ).columns
    assert column.verdict is CONSIDER
    assert column.holding == pytest.approx(0.6, abs=0.1)
    assert column.reason.endswith(" of the row groups instead of 80 %, but that is not much less")


# ---------------------------------------------------------------- figures


def test_bytes_are_what_bloomify_takes() -> None:
    table = events()
    for fpp in (0.1, 0.01, 1e-4):
        predicted = by_name(advise(file_of(table), fpp=fpp))
        report = bloomify(file_of(table), fpp=fpp, dry_run=True)
        real = {column.name: column.bytes_added for column in report.columns}
        names = ("id", "email", "session", "tenant", "city", "sorted")
        sizes = {name: predicted[name].num_filter_bytes or 0 for name in names}
        assert sum(sizes.values()) == pytest.approx(sum(real[name] for name in names), rel=0.05)
        assert sizes["id"] == real["id"]
        # Near a power of two chance decides which one is taken.
        assert all(real[name] / 2 < sizes[name] < real[name] * 2 for name in names)


def test_sizes_and_values_are_those_of_the_file() -> None:
    data = file_of()
    metadata = pq.read_metadata(pa.BufferReader(data))
    for ordinal, column in enumerate(advise(data).columns):
        chunks = [metadata.row_group(i).column(ordinal) for i in range(ROW_GROUPS)]
        assert column.num_compressed_bytes == sum(chunk.total_compressed_size for chunk in chunks)
        assert column.num_values == (0 if column.name == "nothing" else ROWS)
        assert column.num_row_groups == (0 if column.name == "nothing" else ROW_GROUPS)


@pytest.mark.parametrize("name", ["id", "session", "tenant", "sorted", "user"])
def test_what_is_skipped_comes_true(name: str) -> None:
    table = events().select([name])
    old = file_of(table)
    (column,) = advise(old).columns
    new = bloomify(old).data or b""
    parts = [table.column(0)[i : i + 2000].to_pylist() for i in range(0, ROWS, 2000)]
    filters = [ReferenceFilter.parse(filter_bytes(new, (i, 0))) for i in range(ROW_GROUPS)]

    def shares(value: int) -> tuple[float, float, float]:
        """By statistics, in truth, and skipped with statistics and filters."""
        within = [min(part) <= value <= max(part) for part in parts]
        passed = [f.contains(value.to_bytes(8, "little")) for f in filters]
        read = sum(a and b for a, b in zip(within, passed, strict=True))
        holding = sum(value in part for part in parts)
        return sum(within) / ROW_GROUPS, holding / ROW_GROUPS, 1 - read / ROW_GROUPS

    distinct = table.column(0).unique().to_pylist()
    present = np.mean([shares(value) for value in distinct[:: 1 + len(distinct) // 300]], axis=0)
    found = (column.read_by_statistics, column.holding, column.skipped_present)
    assert found == pytest.approx(tuple(present), abs=0.05)
    assert column.skipped_by_statistics == pytest.approx(1 - present[0], abs=0.05)


def test_what_is_skipped_of_absent_values_comes_true() -> None:
    table = pa.table({"x": np.random.default_rng(1).permutation(ROWS) * 2})
    (column,) = advise(file_of(table), fpp=0.1).columns
    new = bloomify(file_of(table), fpp=0.1).data or b""
    filters = [ReferenceFilter.parse(filter_bytes(new, (i, 0))) for i in range(ROW_GROUPS)]
    odd = range(1, 2 * ROWS, 100)
    passed = [f.contains(n.to_bytes(8, "little")) for f in filters for n in odd]
    assert column.skipped_absent == pytest.approx(1 - np.mean(passed), abs=0.02)
    assert (column.skipped_absent or 1) < 1


def test_without_statistics_all_is_read() -> None:
    column = by_name(advise(file_of(write_statistics=False)))["sorted"]
    assert (column.verdict, column.read_by_statistics, column.holding) == (ADD, 1.0, 0.1)


def test_the_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    batches = LeafReader.batches

    def counted(self: LeafReader, row_group: int, *, max_rows: int) -> Iterator[pa.Array]:
        read.append(row_group)
        return batches(self, row_group, max_rows=max_rows)

    monkeypatch.setattr(LeafReader, "batches", counted)
    table = pa.table({"x": np.random.default_rng(1).permutation(ROWS)})
    (column,) = advise(file_of(table, row_group_size=1000), sample_rows=400).columns
    assert sorted(read) == [2, 7, 12, 17]
    assert column.evidence is not None
    assert [sample.num_read for sample in column.evidence.samples] == [100] * 4
    assert column.verdict is ADD
    assert column.ndv == pytest.approx(1000)
    (column,) = advise(file_of(table), sample_rows=1).columns
    assert column.evidence is not None
    assert len(column.evidence.samples) == 1


def test_few_values_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of large dictionaries, and of row groups much larger than the sample."""
    hashed: list[int] = []

    def counted(array: pa.Array) -> NDArray[np.uint64]:
        hashed.append(len(array))
        return hash_array(array)

    monkeypatch.setattr(sampling, "hash_array", counted)
    rows = 200_000
    keys = np.random.default_rng(1).permutation(rows)
    table = pa.table({"plain": keys, "text": [f"{key}" for key in keys.tolist()]})
    data = file_of(table, row_group_size=rows // 2, use_dictionary=["text"])
    report = advise(data)
    assert sum(hashed) == 2 * 32_768
    assert [column.verdict for column in report.columns] == [ADD, ADD]
    assert [column.ndv for column in report.columns] == pytest.approx([rows // 2] * 2)
    few = pa.table({"text": [f"{i % 500}" for i in range(rows)]})
    (column,) = advise(file_of(few, row_group_size=rows // 2, use_dictionary=True)).columns
    assert column.ndv == pytest.approx(500)


@pytest.mark.parametrize("has_other_values", [False, True])
def test_row_groups_between_two_with_the_same_values_are_not_read(
    monkeypatch: pytest.MonkeyPatch,
    has_other_values: bool,  # noqa: FBT001
) -> None:
    """The last row group decides: with one value that the first does not have, all are read."""
    read: list[int] = []
    dictionary = LeafReader.dictionary

    def counted(self: LeafReader, row_group: int) -> DictionaryPage | None:
        read.append(row_group)
        return dictionary(self, row_group)

    monkeypatch.setattr(LeafReader, "dictionary", counted)
    values = np.arange(8 * 2000) % 1500
    if has_other_values:
        values[7 * 2000 :] += 700
    data = file_of(pa.table({"x": values}), row_group_size=2000, use_dictionary=True)
    (column,) = advise(data).columns
    assert read == ([1, 7, 5, 3] if has_other_values else [1, 7])
    assert column.ndv == 1500
    assert column.evidence is not None
    shares = [one.share_in(two) for one, two in permutations(column.evidence.samples, 2)]
    assert any(share != 1 for share in shares) == has_other_values


def test_few_values_in_common_say_nothing_of_the_row_groups_between() -> None:
    values = np.repeat([0, 1, 2, 0], 4000) * 1000 + np.arange(16_000) % 100
    (column,) = advise(file_of(pa.table({"x": values}), row_group_size=4000)).columns
    assert column.evidence is not None
    assert len(column.evidence.samples) == 4


def test_bytes_behind_the_entries_of_a_dictionary_are_no_obstacle() -> None:
    data = written(
        pa.table({"x": ["a", "b", "a"]}), compression="none", row_group_size=3,
        write_statistics=False,
    )  # fmt: skip
    (column,) = advise(with_bytes_behind_entries(data, 10)).columns
    (usual,) = advise(data).columns
    assert column.evidence is not None
    assert column.evidence.unreadable is None
    assert (column.verdict, column.ndv, column.reason) == (usual.verdict, usual.ndv, usual.reason)


def test_nothing_is_modified_and_threads_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(file_of())
    before = listing(tmp_path)
    assert advise(path, jobs=1) == advise(path, jobs=7)
    assert listing(tmp_path) == before


# ---------------------------------------------------------------- one row group


def test_single_row_groups() -> None:
    columns = by_name(advise(file_of(row_group_size=ROWS)))
    added = {name for name, column in columns.items() if column.verdict is ADD}
    assert added == {"id", "email", "session"}
    assert columns["sorted"].verdict is SKIP
    assert columns["sorted"].reason.startswith("sorted, in a single row group")
    assert columns["id"].reason.endswith(
        "a lookup reads all of the file if the value is there, else nothing"
    )
    assert columns["user"].verdict is CONSIDER
    assert columns["user"].reason.endswith("values that repeat so often are held by many files")
    assert columns["id"].notes == (
        (
            "there is a single row group: filters let readers skip the whole file, or nothing; "
            "write smaller row groups first, if you can"
        ),
    )
    assert (columns["id"].skipped_present, columns["id"].holding) == (0.0, 1.0)
    few = pa.table({"x": np.arange(1000) % 90})
    (column,) = advise(file_of(few, use_dictionary=False)).columns
    assert column.verdict is SKIP
    assert column.reason == "only about 90 distinct values in a single row group"


# ---------------------------------------------------------------- filters that are there


def test_columns_that_have_filters() -> None:
    new = bloomify(file_of(), ["id"]).data or b""
    columns = by_name(advise(new))
    assert (columns["id"].verdict, columns["id"].num_filters) == (HAS_FILTER, ROW_GROUPS)
    assert (columns["email"].verdict, columns["email"].num_filters) == (ADD, 0)
    assert [column.name for column in advise(new).added] == ["email", "session", "tenant"]


def test_some_row_groups_have_filters() -> None:
    new = bloomify(file_of(), ["id"]).data or b""
    for row_group in (0, 4, 9):
        new = with_filter_at(new, (row_group, 1), None)
    column = by_name(advise(new))["id"]
    assert (column.verdict, column.num_filters) == (ADD, 7)
    assert "7 row groups have a filter already" in column.notes
    every = by_name(advise(file_of()))["id"].num_filter_bytes or 0
    assert column.num_filter_bytes == every * 3 // 10


def test_filters_that_cannot_be_trusted_do_not_count() -> None:
    new = bloomify(file_of(), ["id"], dialect="murmur3").data or b""
    column = by_name(advise(new))["id"]
    assert (column.verdict, column.num_filters) == (ADD, 0)
    assert any("cannot be trusted" in note and "draft" in note for note in column.notes)


# ---------------------------------------------------------------- chunks that cannot be read


def test_unreadable_columns_are_skipped() -> None:
    data = file_of(events().select(["id"]), write_page_checksum=True)
    starts = footer_of(data).chunk_starts()[:, 0].tolist()
    broken = data
    for start in starts:
        broken = with_bytes(broken, start + 500, bytes([data[start + 500] ^ 1]))
    (column,) = advise(broken).columns
    assert (column.verdict, column.ndv) == (SKIP, None)
    assert column.reason.startswith("a column chunk cannot be read: ")
    one_broken = with_bytes(data, starts[6] + 500, bytes([data[starts[6] + 500] ^ 1]))
    (column,) = advise(one_broken).columns
    assert column.verdict is ADD
    assert column.notes[-1].startswith("some row groups cannot be read: ")


# ---------------------------------------------------------------- the command


def test_the_command_adds_the_filters(tmp_path: Path) -> None:
    path = tmp_path / "it's $HOME; a.parquet"
    path.write_bytes(file_of())
    command = advise(path).command or ""
    assert shlex.split(command) == [
        "bloomify",
        str(path),
        "--columns",
        "id,email,session,tenant",
    ]
    assert advise(path, fpp=0.02).command == command + " --fpp 0.02"
    bloomify(path, shlex.split(command)[3].split(","))
    assert advise(path).command is None
    assert {column.verdict for column in advise(path).columns} == {HAS_FILTER, CONSIDER, SKIP}


def test_odd_names_in_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    names = ["a,b", " a", "", "same", "same", "a b", "ä", "ta\tb"]
    columns = [pa.array(rng.permutation(3000)) for _ in names]
    data = file_of(pa.Table.from_arrays(columns, names), use_dictionary=False)
    (tmp_path / "-x.parquet").write_bytes(data)
    words = shlex.split(advise("-x.parquet").command or "")
    assert words[1] == "./-x.parquet"
    report = bloomify(data, words[3].split(","), dry_run=True)
    assert [column.ordinal for column in report.columns] == list(range(len(names)))
    assert words[3].split(",") == ["#0", "#1", "#2", "#3", "#4", "a b", "ä", "#7"]


# ---------------------------------------------------------------- several files


def parts(table: pa.Table, count: int, **options: object) -> list[AdviseReport]:
    rows = len(table) // count
    return [advise(file_of(table[i * rows : (i + 1) * rows], **options)) for i in range(count)]


def test_merged_advice_is_that_of_one_large_file() -> None:
    whole = advise(file_of())
    merged = merge_advice(parts(events(), 5))
    assert (merged.num_files, merged.num_rows, merged.num_row_groups) == (5, ROWS, ROW_GROUPS)
    for one, other in zip(merged.columns, whole.columns, strict=True):
        assert (one.name, one.verdict) == (other.name, other.verdict)
        assert (one.num_values, one.num_row_groups) == (other.num_values, other.num_row_groups)
        if other.ndv is None:
            continue
        assert one.ndv == pytest.approx(other.ndv, rel=0.05)
        assert one.num_filter_bytes == pytest.approx(other.num_filter_bytes, rel=0.1)
        assert one.read_by_statistics == pytest.approx(other.read_by_statistics, abs=0.1)
        assert one.skipped_present == pytest.approx(other.skipped_present, abs=0.1)
        assert one.skipped_absent == pytest.approx(other.skipped_absent, abs=0.02)


def test_many_files_of_one_row_group_show_what_each_cannot() -> None:
    reports = parts(events(), 10, row_group_size=ROWS)
    assert all(by_name(report)["id"].skipped_present == 0.0 for report in reports)
    columns = by_name(merge_advice(reports))
    assert columns["sorted"].verdict is SKIP
    assert columns["sorted"].reason.startswith("sorted")
    assert columns["id"].verdict is ADD
    assert columns["id"].skipped_present == pytest.approx(0.9, abs=0.03)


def test_merging_step_by_step_is_merging_at_once() -> None:
    reports = parts(events(), 5)
    step = reports[0]
    for report in reports[1:]:
        step = merge_advice([step, report])
    assert step == merge_advice(reports)


def test_files_of_different_schemas() -> None:
    rng = np.random.default_rng(1)
    narrow = pa.table({"a": rng.permutation(ROWS).astype(np.int32)})
    wide = pa.table({"b": rng.permutation(ROWS), "a": [f"{i}" for i in rng.permutation(ROWS)]})
    merged = merge_advice([advise(file_of(narrow)), advise(file_of(wide))])
    assert [column.name for column in merged.columns] == ["a", "b"]
    assert [column.num_row_groups for column in merged.columns] == [20, 10]
    assert [column.verdict for column in merged.columns] == [SKIP, ADD]
    differs = "its type differs between files: INT32 in 1, STRING in 1 (a buffer)"
    assert merged.columns[0].reason == differs
    assert merged.columns[1].notes[0].startswith("not in 1 of 2 files (a buffer); ")


def test_columns_of_the_same_name_stay_apart() -> None:
    numbers = pa.array(np.random.default_rng(1).permutation(ROWS))
    table = pa.Table.from_arrays([numbers, pa.array(np.arange(ROWS))], ["x", "x"])
    report = advise(file_of(table))
    merged = merge_advice([report, report])
    assert [column.ordinal for column in merged.columns] == [0, 1]
    assert [column.num_row_groups for column in merged.columns] == [2 * ROW_GROUPS] * 2
    assert [column.verdict for column in merged.columns] == [ADD, SKIP]


@pytest.mark.parametrize(
    ("others", "named"),
    [(["a,b", "z"], {"#0", "z"}), (["z", "a,b"], {"z"}), (["z"], {"z"}), (["z", "x"], {"z"})],
)
def test_an_ordinal_in_the_command_is_that_of_every_file(
    others: list[str], named: set[str]
) -> None:
    columns = dict.fromkeys(["a,b", "z", "x"], events()["id"])
    files = [pa.table({name: columns[name] for name in names}) for names in (["a,b", "z"], others)]
    merged = merge_advice([advise(file_of(table)) for table in files], paths="mix")
    words = shlex.split(merged.command or "")
    assert set(words[words.index("--columns") + 1].split(",")) - {"x"} == named
    notes = " ".join(by_name(merged)["a,b"].notes)
    assert ("not in the command" in notes) == ("#0" not in named)


def test_the_command_of_merged_advice(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.parquet" for i in range(2)]
    for path in paths:
        path.write_bytes(file_of(events().select(["id"])))
    reports = [advise(path) for path in paths]
    files = " ".join(map(str, paths))
    assert merge_advice(reports).command == f"bloomify {files} --columns id"
    assert merge_advice(reports, paths=["my folder"]).command == "bloomify 'my folder' --columns id"


def test_what_cannot_be_merged() -> None:
    data = file_of(events().select(["id"]))
    with pytest.raises(InvalidArgument):
        merge_advice([])
    with pytest.raises(InvalidArgument):
        merge_advice([advise(data), advise(data, fpp=0.1)])


# ---------------------------------------------------------------- options and other writers


@pytest.mark.parametrize("options", [{"fpp": 0.0}, {"fpp": 1.0}, {"sample_rows": 0}, {"jobs": 0}])
def test_impossible_options(options: dict[str, float]) -> None:
    with pytest.raises(InvalidArgument):
        advise(file_of(), **options)  # type: ignore[arg-type]


def test_files_of_every_writer(fixtures_dir: Path) -> None:
    paths = sorted(fixtures_dir.glob("*/*.parquet"))
    assert len(paths) > 30
    for path in paths:
        report = advise(path)
        assert len(report.columns) == len(footer_of(path.read_bytes()).leaves)
        for column in report.columns:
            assert column.reason
            shares = (column.read_by_statistics, column.holding, column.skipped_present)
            assert all(share is None or 0 <= share <= 1 for share in shares)


def test_files_without_rows(fixtures_dir: Path) -> None:
    report = advise(fixtures_dir / "pyarrow/no_rows.parquet")
    assert {(column.verdict, column.reason) for column in report.columns} == {
        (SKIP, "it has no values")
    }
    assert (report.command, report.share) == (None, 0.0)


def test_a_source_that_is_open_stays_open() -> None:
    source = BufferSource(file_of())
    assert advise(source) == advise(source)


def test_files_on_file_systems(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(file_of())
    folder = SubTreeFileSystem(str(tmp_path), LocalFileSystem())
    on_folder = advise("a.parquet", filesystem=folder)
    local = advise(tmp_path / "a.parquet")
    assert on_folder.columns == local.columns != ()
