"""`probe`: whatever can be opened, whatever is asked, few bytes, errors that say whose fault."""

from __future__ import annotations

import io
import mmap
import os
from typing import TYPE_CHECKING, Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pytest

from parquet_bloomwriter import bloomify
from parquet_bloomwriter.caches import clear_cache
from parquet_bloomwriter.errors import (
    ColumnNotFound,
    InvalidArgument,
    MalformedFile,
    NotParquet,
    UnsupportedFile,
)
from parquet_bloomwriter.probing.verdict import Evidence, Verdict
from parquet_bloomwriter.verbs.probe import probe
from parquet_bloomwriter.verbs.read import read_table
from tests.source.stores import AsyncStore, CountingHandler
from tests.support.asking import asked
from tests.verbs.files import footer_of, people, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MIGHT, NOT = Verdict.MIGHT_MATCH, Verdict.CANNOT_MATCH
DATA = written(bloom_filter_options={"id": {"ndv": 500, "fpp": 0.001}})
"""Two row groups, the second from id 500 on."""

ABSENT = 77_777


@pytest.fixture(autouse=True)
def empty_cache() -> None:
    clear_cache()


# ---------------------------------------------------------------- what is asked


@pytest.mark.parametrize(
    "filters",
    [
        "id = 600",
        "600 = id AND city IN ('Bern', 'Lima', 'Oslo')",
        [("id", "=", 600)],
        [[("id", "==", 600)], [("id", "=", ABSENT)]],
        [("id", "in", np.array([600, 601]))],
        pc.field("id") == 600,
        (pc.field("id") == 600) & pc.field("email").is_valid(),
    ],
)
def test_every_way_to_ask(filters: Any) -> None:  # noqa: ANN401  of many kinds
    assert asked(DATA, filters).surviving == (1,)


@pytest.mark.parametrize("filters", ["id = = 3", "", [], [("id", "like", 3)], 5, None, [("id",)]])
def test_what_cannot_be_understood(filters: Any) -> None:  # noqa: ANN401  of many kinds
    with pytest.raises(InvalidArgument):
        probe(DATA, filters)


# ---------------------------------------------------------------- where it comes from

WAYS: dict[str, Callable[[Path], Any]] = {
    "path": lambda path: path,
    "text": str,
    "file URL": lambda path: path.as_uri(),
    "folder": lambda path: path.parent,
    "pattern": lambda path: f"{path.parent}/*.parquet",
    "bytes": lambda path: path.read_bytes(),
    "bytearray": lambda path: bytearray(path.read_bytes()),
    "memoryview": lambda path: memoryview(path.read_bytes()),
    "BytesIO": lambda path: io.BytesIO(path.read_bytes()),
    "Arrow buffer": lambda path: pa.py_buffer(path.read_bytes()),
    "Arrow reader": lambda path: pa.BufferReader(path.read_bytes()),
    "fsspec": lambda path: fsspec.open(str(path), "rb"),
    "list of one": lambda path: [path],
    "generator": lambda path: (one for one in [path]),
    "list of bytes": lambda path: [path.read_bytes()],
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_every_way_to_name_a_file(way: Callable[[Path], Any], tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(DATA)
    (found,) = probe(way(path), "id = 600").files
    assert (found.surviving, found.num_rows) == ((1,), 1000)


def test_open_files_stay_open(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(DATA)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        for _ in range(2):
            (found,) = probe(file, "id = 600").files
            assert (found.surviving, found.path) == ((1,), str(path))
            assert probe(mapped, "id = 600").files[0].surviving == (1,)
        assert not file.closed


def test_several_of_different_kinds(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(DATA)
    report = probe([path, DATA, io.BytesIO(DATA), tmp_path], "id = 600")
    assert [one.path for one in report.files] == [str(path), None, None, str(path)]
    assert [one.surviving for one in report.files] == [(1,)] * 4


def test_files_come_in_the_order_given_and_more_than_are_open_at_once(tmp_path: Path) -> None:
    paths = []
    for number in range(150):
        path = tmp_path / f"{number}.parquet"
        table = people(20).set_column(0, "id", [np.arange(20) + 20 * number])
        path.write_bytes(written(table, row_group_size=10, write_statistics=number % 2 == 0))
        paths.append(path)
    paths = [paths[i] for i in np.random.default_rng(0).permutation(150)]
    report = probe(paths, "id = 1234")
    assert [one.path for one in report.files] == [str(path) for path in paths]
    assert [one.path for one in report.might_match] == [str(tmp_path / "61.parquet")]
    assert report.might_match[0].surviving == (1,)


# ---------------------------------------------------------------- how much is read


def filtered_file(num_rows: int = 20_000, **options: Any) -> bytes:  # noqa: ANN401  of `bloomify`
    """A file whose filters alone can tell."""
    table = pa.table({"id": np.random.default_rng(3).permutation(num_rows) * 2})
    plain = written(
        table, row_group_size=num_rows // 4, use_dictionary=False, write_statistics=False
    )
    report = bloomify(plain, ["id"], fpp=0.01, **options)
    assert report.data is not None
    return report.data


@pytest.mark.parametrize("placement", ["column-chunk", "row-group", "end"])
@pytest.mark.parametrize("sizing", ["pow2", "exact"])
def test_a_filter_costs_at_most_128_bytes(placement: str, sizing: str) -> None:
    data = filtered_file(placement=placement, sizing=sizing)
    footer_bytes = len(footer_of(data).data) + 8
    for value in (1, 5, 20_001, 39_999):
        report = probe(data, [("id", "=", value)])
        assert report.num_filters == 4
        assert report.bytes_read - footer_bytes <= 4 * 128
        assert report.requests <= 2 + 4 * 2


def test_requests_agree_with_those_of_the_store() -> None:
    data = filtered_file()
    store = CountingHandler({"folder/a.parquet": data, "folder/b.parquet": data})
    filesystem = pafs.PyFileSystem(store)
    report = probe("folder", [("id", "=", 5)], filesystem=filesystem)
    reads = [one for one in store.log if isinstance(one[0], int)]
    assert report.requests == len(reads) > 0
    assert report.bytes_read == sum(size for _, size in reads)
    assert report.num_filters == 8
    store.log.clear()
    second = probe("folder", [("id", "=", 5)], filesystem=filesystem)
    reads = [one for one in store.log if isinstance(one[0], int)]
    footer_start = footer_of(data).start
    assert second.requests == len(reads) <= report.requests - 2
    assert all(start < footer_start for start, _ in reads)
    assert [one.surviving for one in second.files] == [one.surviving for one in report.files]


def test_asynchronous_stores_are_asked_for_many_things_at_once() -> None:
    data = filtered_file()
    files = {f"folder/{number}.parquet": data for number in range(5)}
    store = AsyncStore(files, mtime=0)
    report = probe("folder", [("id", "in", [5, 7, 4])], filesystem=store)
    assert len(report.files) == 5
    assert report.failed == ()
    assert {one.surviving for one in report.files} == {report.files[0].surviving}
    assert store.most_at_once > 1
    reads = [one for one in store.log if not isinstance(one[0], str)]
    assert report.requests == len(reads)


# ---------------------------------------------------------------- columns


def test_columns_of_no_file(tmp_path: Path) -> None:
    with pytest.raises(ColumnNotFound, match="Did you mean email"):
        probe(DATA, "emial = 'x'")
    with pytest.raises(ColumnNotFound, match='no column "ID"'):
        probe([DATA, DATA], 'id = 3 AND "ID" = 3')
    path = tmp_path / "kind=a" / "x.parquet"
    path.parent.mkdir()
    path.write_bytes(DATA)
    with pytest.raises(ColumnNotFound):
        probe(path, "other = 'a'")


def test_columns_of_partitions_are_no_error(tmp_path: Path) -> None:
    for kind in "ab":
        path = tmp_path / f"kind={kind}" / "x.parquet"
        path.parent.mkdir()
        path.write_bytes(DATA)
    report = probe(tmp_path, "kind = 'a' AND id = 600")
    assert [one.surviving for one in report.files] == [(1,), ()]
    assert [one.is_excluded for one in report.files] == [False, True]
    (check, _) = report.files[0].row_groups[1].checks
    assert (check.verdict, check.reason) == (MIGHT, "the value in the path meets it")
    report = probe(tmp_path, "kind LIKE 'a' AND id = 600")
    assert [one.surviving for one in report.files] == [(1,), (1,)]


def test_strings_in_double_quotes_are_told_from_names() -> None:
    data = written(pa.table({"x y": ["a"], "email": ["b"]}))
    for condition in ('email = "b"', "email IN (\"b\", 'c')", 'NOT email LIKE "b"'):
        with pytest.raises(ColumnNotFound, match='no column "b"') as caught:
            probe(data, condition)
        assert caught.value.remedy.startswith("Strings take single quotes: 'b';")
        with pytest.raises(ColumnNotFound, match="Strings take single quotes: 'b';"):
            read_table(data, filters=condition)
    assert probe(data, 'email = "x y"').num_surviving == 1


def test_strings_without_quotes_are_told_from_names() -> None:
    data = written(pa.table({"x": ["a"], "email": ["b"]}))
    for condition in ("email = ada", "NOT email IN (ada, x)", "email = 'b' AND upper(ada) = 'A'"):
        with pytest.raises(ColumnNotFound, match='no column "ada"') as caught:
            probe(data, condition)
        assert caught.value.remedy.startswith("Strings take single quotes: 'ada';")
    with pytest.raises(ColumnNotFound, match="Did you mean email"):
        probe(data, "lower(emial) = 'b'")
    for condition in ("email = x", "email LIKE x", "upper(email) = 'B'"):
        assert probe(data, condition).num_surviving == 1


def test_every_reason_is_told_once() -> None:
    zoned = written(pa.table({"t": pa.array([1, 2], pa.timestamp("us", "UTC")), "id": [1, 2]}))
    report = probe([zoned, zoned, DATA], "(t = '2024-01-01' OR t > '2024-01-01') AND id > 1")
    found = {one.reason: (one.conditions, one.num_files) for one in report.explanations}
    conditions = ("t = '2024-01-01'", "t > '2024-01-01'")
    assert found == {
        "the literal has no time zone, and the column's values are points in time: write it with a "
        "zone, as in '2026-01-31 12:30:00Z'": (conditions, 2),
        "there is no such column": (conditions, 1),
    }
    assert "why t = '2024-01-01'; t > '2024-01-01': the literal has no time zone" in str(report)
    assert probe(zoned, "t = '2024-01-01' AND id = 9").explanations == ()
    (one,) = probe([zoned, DATA], "id = 5.5").explanations
    assert (one.reason, one.num_files) == ("5.5 is no integer", 2)


def test_columns_of_some_files_only() -> None:
    other = written(pa.table({"other": [1, 2]}))
    report = probe([DATA, other], "id = 5000")
    assert [one.verdict for one in report.files] == [NOT, MIGHT]
    (check,) = report.files[1].row_groups[0].checks
    assert (check.evidence, check.reason) == (Evidence.NONE, "there is no such column")
    assert probe([other, DATA], "other = 3 AND id = 5000").verdict is NOT


def test_columns_whose_type_changed() -> None:
    kinds = [pa.int16(), pa.int32(), pa.int64(), pa.uint32(), pa.float64(), pa.string()]
    files = [written(pa.table({"x": pa.array([1, 200]).cast(kind)})) for kind in kinds]
    report = probe([*files, written(pa.table({"x": pa.array([1], pa.int8())}))], "x = 200")
    assert [one.verdict for one in report.files] == [MIGHT] * len(kinds) + [NOT]
    report = probe(files, "x = 150.5")
    assert [one.verdict for one in report.files[:5]] == [NOT] * 5


def test_columns_that_lack_filters_where_a_file_might_match() -> None:
    """Only those that are compared with values, and only of files that might match."""
    table = pa.table({"id": [1, 3], "kind": ["a", "c"], "n": [1, 3]})
    bloomed = bloomify(written(table, use_dictionary=False), ["id"]).data
    plain = written(table, use_dictionary=False)
    excluded = written(pa.table({"id": [7, 9]}), use_dictionary=False)
    cases = {
        "kind = 'b' AND id = 3": ("kind",),
        "kind > 'b' AND n IS NOT NULL": (),
        "id = 3": (),
    }
    found = {text: probe([bloomed, excluded], text).columns_without_filters for text in cases}
    assert found == cases
    assert probe([excluded, plain], "id = 3").columns_without_filters == ("id",)


def test_columns_of_the_same_name() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])
    found = asked(written(table), "x = 5")
    (check,) = found.row_groups[0].checks
    assert (check.verdict, check.reason) == (MIGHT, "2 columns have this name")


def test_groups_and_lists() -> None:
    data = written(pa.table({"s": [{"a": 1}, {"a": 3}], "l": [[1], [2]]}))
    assert asked(data, "s.a = 3").surviving == (0,)
    assert asked(data, "s.a = 4").surviving == ()
    assert asked(data, "s = 4").surviving == (0,)
    assert asked(data, '"l.list.element" = 4').surviving == (0,)


# ---------------------------------------------------------------- files that cannot be read


def broken(data: bytes) -> bytes:
    return data[:-100] + b"\xff" * 92 + data[-8:]


BAD: dict[str, tuple[bytes, type[Exception]]] = {
    "empty": (b"", NotParquet),
    "short": (b"PAR1", NotParquet),
    "text": (b"no Parquet file at all", NotParquet),
    "cut": (DATA[:-1], NotParquet),
    "encrypted": (DATA[:-4] + b"PARE", UnsupportedFile),
    "broken footer": (broken(DATA), MalformedFile),
}


@pytest.mark.parametrize(("data", "error"), BAD.values(), ids=BAD)
def test_the_only_file_raises_and_one_of_several_does_not(
    data: bytes, error: type[Exception], tmp_path: Path
) -> None:
    path = tmp_path / "bad.parquet"
    path.write_bytes(data)
    with pytest.raises(error) as raised:
        probe(path, "id = 5000")
    assert str(raised.value).startswith(f"{path}: ")
    assert "left unchanged" not in str(raised.value)  # Nothing was at stake.
    with pytest.raises(error):
        probe(data, "id = 5000")
    report = probe([DATA, path, data, DATA], "id = 5000")
    assert [type(one.error) for one in report.files] == [type(None), error, error, type(None)]
    assert [one.verdict for one in report.files] == [NOT, MIGHT, MIGHT, NOT]
    assert report.verdict is MIGHT


def test_files_that_are_not_there(tmp_path: Path) -> None:
    good = tmp_path / "good.parquet"
    good.write_bytes(DATA)
    with pytest.raises(FileNotFoundError):
        probe(tmp_path / "none.parquet", "id = 1")
    report = probe([good, tmp_path / "none.parquet"], "id = 5000")
    assert [one.verdict for one in report.files] == [NOT, MIGHT]
    with pytest.raises(InvalidArgument):
        probe(tmp_path / "*.orc", "id = 1")


def test_special_files_and_folders(tmp_path: Path) -> None:
    good, fifo = tmp_path / "good.parquet", tmp_path / "fifo.parquet"
    good.write_bytes(DATA)
    os.mkfifo(fifo)
    with pytest.raises(UnsupportedFile, match="FIFO"):
        probe(fifo, "id = 1")
    report = probe([fifo, good], "id = 5000")
    assert isinstance(report.files[0].error, UnsupportedFile)
    assert report.files[1].verdict is NOT


def test_a_missing_column_is_told_even_beside_broken_files() -> None:
    with pytest.raises(ColumnNotFound):
        probe([b"bad", DATA], "nothing = 1")
    assert probe([b"bad", b"worse"], "nothing = 1").verdict is MIGHT


def test_nothing_at_all() -> None:
    report = probe([], "id = 1")
    assert (report.files, report.num_row_groups) == ((), 0)
