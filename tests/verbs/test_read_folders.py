"""Reading folders: partitions, and files whose schemas differ."""

# ruff: noqa: ANN401  filters of any form, and arguments of pyarrow's
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.predicate.arrow_out import to_arrow
from parquet_bloomwriter.verbs.probe import probe
from parquet_bloomwriter.verbs.read import dataset, iter_batches, read_table
from parquet_bloomwriter.verbs.scan_polars import scan_polars
from tests.support.cells import CELLS, IDS, ROWS, bloomed, same
from tests.support.random_tables import Column, conjunctions, expressions, files

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

ID = int(IDS[4321])


def _write(
    folder: Path, tables: Mapping[str, pa.Table], *columns: str, statistics: bool = True
) -> Path:
    for name, table in tables.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bloomed(table, *columns, row_group_size=2, write_statistics=statistics))
    return folder


def _check(source: Any, filters: Any, **options: Any) -> int:
    """Compare with pyarrow; return how many rows survive."""
    everything = pq.read_table(source, **options)
    condition = to_arrow(filters, everything.schema)
    expected = pq.read_table(source, filters=condition, **options)
    assert same(read_table(source, filters=filters, **options), expected)
    batches = iter_batches(source, filters=filters, batch_size=3, **options)
    streamed = pa.Table.from_batches(batches, expected.schema)
    assert streamed.to_pylist() == expected.to_pylist()
    pruned = dataset(source, filters=filters, filter_rows=False, **options)
    return len(pruned.to_table())


@pytest.fixture(scope="module")
def years(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hive folder: years 2020 to 2024, and one file with no year; two row groups each."""
    root = tmp_path_factory.mktemp("years")
    for part in range(5):
        folder = root / (f"year={2020 + part}" if part else "year=__HIVE_DEFAULT_PARTITION__")
        folder.mkdir()
        piece = CELLS.slice(part * 2 * ROWS, 2 * ROWS)
        (folder / "a b.parquet").write_bytes(bloomed(piece, "id", "text"))
    return root


@pytest.mark.parametrize(
    ("filters", "surviving"),
    [
        ([("year", "=", 2022)], 2 * ROWS),
        ([("year", "=", 2022), ("id", "=", ID)], ROWS),
        ([("year", "=", 2023), ("id", "=", ID)], 0),
        ([("id", "=", ID)], ROWS),
        ([("id", "=", 1)], 0),
        ([[("year", "=", 2021)], [("id", "=", ID)]], 10 * ROWS),
        (f"year = 2022 AND id = {ID}", ROWS),
        (f"NOT (year <> 2022 OR id <> {ID})", ROWS),
        ("year IS NULL", 2 * ROWS),
        (f"year IS NULL AND id = {IDS[0]}", ROWS),
        (pc.field("year").isin([2022, 2023]) & (pc.field("text") == f"t{ID}"), ROWS),
    ],
)
def test_hive_folders(years: Path, filters: Any, surviving: int) -> None:
    assert _check(str(years), filters) == surviving


@pytest.mark.parametrize("columns", [["year"], ["year", "id"], ["text"], []])
def test_columns_of_paths_are_returned_if_asked_for(years: Path, columns: list[str]) -> None:
    filters = [("id", "in", [ID, int(IDS[0])])]
    expected = pq.read_table(years, filters=filters, columns=columns)

    assert same(read_table(years, filters=filters, columns=columns), expected)
    streamed = list(iter_batches(years, filters=filters, columns=columns))
    assert [row for batch in streamed for row in batch.to_pylist()] == expected.to_pylist()


def test_other_ways_to_partition(tmp_path: Path) -> None:
    table = pa.table({"id": range(10)})
    _write(tmp_path, {"1/x.parquet": table, "2/x.parquet": table}, "id")
    typed = ds.partitioning(pa.schema([("part", pa.int16())]))

    assert _check(tmp_path, [("part", "=", 1), ("id", "=", 3)], partitioning=["part"]) == 2
    assert _check(tmp_path, "part = 2 AND id = 3", partitioning=typed) == 2
    assert _check(tmp_path, "id = 3", partitioning=None) == 4


def test_values_from_the_path_come_before_those_in_the_file(tmp_path: Path) -> None:
    table = pa.table({"id": range(10), "k": [7] * 10})
    _write(tmp_path, {"k=1/x.parquet": table, "k=2/x.parquet": table}, "id", "k")
    hive = ds.partitioning(pa.schema([("k", pa.int64())]), flavor="hive")

    assert _check(tmp_path, [("k", "=", 1)], partitioning=hive) == 10
    assert _check(tmp_path, [("k", "=", 1), ("id", "=", 5)], partitioning=hive) == 2
    assert _check(tmp_path, [("k", "=", 7)], partitioning=hive) == 0


def test_columns_that_some_severallack(tmp_path: Path) -> None:
    old = pa.table({"id": [1, 2, 3, 4]})
    new = pa.table({"id": [5, 6, 7, 8], "tag": ["a", "b", "c", "d"]})
    _write(tmp_path, {"b.parquet": old, "a.parquet": new}, "id")

    assert _check(tmp_path, [("tag", "=", "a")]) == 2 + 4
    assert _check(tmp_path, [("tag", "=", "a"), ("id", "<", 9)]) == 2 + 4
    assert _check(tmp_path, "tag IS NULL") == 4
    assert _check(tmp_path, "tag IS NULL AND id = 2") == 2
    assert _check(tmp_path, [("tag", "not in", ["a"]), ("id", "=", 7)]) == 2


def test_a_column_that_only_the_callers_schema_has(tmp_path: Path) -> None:
    _write(tmp_path, {"a.parquet": pa.table({"id": [1, 2, 3, 4]})}, "id")
    schema = pa.schema([("id", pa.int64()), ("late", pa.int8())])

    assert _check(tmp_path, "late IS NULL AND id = 3", schema=schema) == 2
    assert _check(tmp_path / "a.parquet", "late = 5", schema=schema) == 4


def test_integers_that_became_wider_are_pruned(tmp_path: Path) -> None:
    narrow = pa.table({"id": pa.array([1, 2, 3, 4], pa.int32())})
    wide = pa.table({"id": pa.array([5, 2**40, 7, 8], pa.int64())})
    _write(tmp_path, {"a.parquet": wide, "b.parquet": narrow}, "id")

    assert _check(tmp_path, f"id = {2**40}") == 2
    assert _check(tmp_path, [("id", "=", 3)]) == 2


def test_values_that_pyarrow_rounds_are_not_pruned(tmp_path: Path) -> None:
    narrow = pa.table({"x": pa.array([1, 2], pa.float32())})
    wide = pa.table({"x": pa.array([0.1, 0.2], pa.float64())})
    _write(tmp_path, {"a.parquet": narrow, "b.parquet": wide}, "x")
    rounded = pa.scalar(0.1, pa.float32())

    assert rounded.as_py() != 0.1
    assert _check(tmp_path, pc.field("x") == rounded) == 2
    assert len(read_table(tmp_path, filters=pc.field("x") == rounded)) == 1


def test_values_that_the_callers_schema_changes_are_not_pruned(tmp_path: Path) -> None:
    texts = pa.table({"x": ["01", "2"]})
    path = _write(tmp_path, {"a.parquet": texts}, "x", statistics=False) / "a.parquet"
    schema = pa.schema([("x", pa.int64())])

    assert len(read_table(path, filters=[("x", "=", 1)], schema=schema)) == 1
    assert _check(path, [("x", "=", 1)], schema=schema) == 2


def test_timestamps_without_a_zone_are_not_those_with_one(tmp_path: Path) -> None:
    utc, naive = pa.timestamp("us", "UTC"), pa.timestamp("us")
    moments = pa.table({"t": pa.array([0, 10**9], naive)})
    _write(tmp_path, {"a.parquet": moments}, "t", statistics=False)
    condition = pc.field("t") == pa.scalar(10**9, utc)

    assert _check(tmp_path, condition, schema=pa.schema([("t", utc)])) == 2


def test_a_name_with_a_dot_and_a_field_of_a_struct_are_two_things(tmp_path: Path) -> None:
    flat = pa.table({"s.x": [1, 2]})
    nested = pa.table({"s": [{"x": 3}, {"x": 4}]})
    both = pa.table({"s.x": [1, 2], "s": [{"x": 5}, {"x": 6}]})
    _write(tmp_path / "1", {"a.parquet": flat, "b.parquet": nested})
    _write(tmp_path / "2", {"a.parquet": both, "b.parquet": flat, "c.parquet": nested})

    assert _check(tmp_path / "1", pc.field("s.x").is_null()) == 2
    assert _check(tmp_path / "2", pc.field("s", "x").is_null()) == 6
    assert _check(tmp_path / "2", ~(pc.field("s", "x") == 3)) == 6


def test_severalwithout_filters_and_files_with_them(tmp_path: Path) -> None:
    table = pa.table({"id": [3, 900, 5, 800]})
    pq.write_table(table, tmp_path / "plain.parquet", row_group_size=2, use_dictionary=False)
    _write(tmp_path, {"bloomed.parquet": table}, "id")

    assert _check(tmp_path, "id = 5") == 4 + 2


def test_an_empty_folder(tmp_path: Path) -> None:
    assert same(read_table(tmp_path), pq.read_table(tmp_path))
    with pytest.raises(ValueError, match="id"):
        read_table(tmp_path, filters=[("id", "=", 1)])


WIDER = {
    pa.int8(): pa.int32(),
    pa.int32(): pa.int64(),
    pa.uint16(): pa.uint32(),
    pa.float32(): pa.float64(),
    pa.string(): pa.large_string(),
}


@st.composite
def _folders(draw: st.DrawFn) -> tuple[list[bytes], Any]:
    """Files of one table: the first has the widest types, and not all have all columns."""
    types = draw(st.lists(st.sampled_from(list(WIDER)), min_size=1, max_size=2))
    narrow = [Column(path=("ab"[place],), type=type_) for place, type_ in enumerate(types)]
    wide = [Column(path=one.path, type=WIDER[one.type]) for one in narrow]
    found = [draw(files(wide))]
    for _ in range(draw(st.integers(1, 2))):
        kept = [draw(st.sampled_from(pair)) for pair in zip(narrow, wide, strict=True)]
        found.append(draw(files(kept[draw(st.integers(0, len(kept) - 1)) :])))
    asked = draw(st.one_of(conjunctions(narrow), expressions(narrow)))
    return [one.data for one in found], asked


@settings(max_examples=12)
@given(_folders())
def test_any_folder(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[list[bytes], Any]
) -> None:
    folder = tmp_path_factory.mktemp("folder")
    for place, data in enumerate(case[0]):
        (folder / f"part={place}").mkdir()
        (folder / f"part={place}" / "x.parquet").write_bytes(data)
    every, asked = pq.read_table(folder), case[1]
    # Not `read_table(..., filters=...)`: pyarrow prunes `in [0.0]` wrongly by statistics.
    expected = every.filter(pq.filters_to_expression(asked) if isinstance(asked, list) else asked)

    table = read_table(folder, filters=case[1])

    assert table.schema.equals(expected.schema, check_metadata=True)
    assert _rows(table) == _rows(expected)
    streamed = pa.Table.from_batches(iter_batches(folder, filters=case[1]), expected.schema)
    assert _rows(streamed) == _rows(expected)


def _rows(table: pa.Table) -> list[str]:
    """The rows; pyarrow's threads promise no order between files and row groups."""
    return sorted(map(repr, table.to_pylist()))


def _collected(source: object) -> pa.Table:
    return scan_polars(source).collect().to_arrow()


READERS = [
    read_table,
    lambda source: pa.Table.from_batches(iter_batches(source)),
    lambda source: dataset(source).to_table(),
    _collected,
]


@pytest.mark.parametrize("reader", READERS)
def test_severalby_an_iterator(years: Path, reader: Callable[[object], pa.Table]) -> None:
    paths = sorted(map(str, years.rglob("*.parquet")))
    expected = reader(paths)
    assert expected.num_rows > 0
    for several in (iter(paths), map(str, paths), tuple(paths), dict.fromkeys(paths)):
        assert reader(several).equals(expected)


@pytest.mark.parametrize("reader", READERS)
def test_no_files(reader: Callable[[object], pa.Table]) -> None:
    empty: tuple[object, ...] = ([], (), iter(()))
    for nothing in empty:
        with pytest.raises(InvalidArgument, match=r"^the list of files is empty\. If an index"):
            reader(nothing)


@pytest.mark.parametrize("reader", [*READERS, lambda source: probe(source, "id = 5")])
def test_rows_in_memory_are_no_files(reader: Callable[[object], object]) -> None:
    for kind in (pa.Table.from_pydict, pd.DataFrame, pl.DataFrame, pl.LazyFrame):
        frame = kind({"id": [1]})
        with pytest.raises(InvalidArgument) as caught:
            reader(frame)
        assert str(caught.value) == (
            f"a {type(frame).__name__} is no file: its rows are in memory. "
            "Pass the path of a Parquet file."
        )


@pytest.fixture(scope="module")
def scattered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files of 60 row groups, whose numbers come in no order."""
    folder = tmp_path_factory.mktemp("scattered")
    numbers = [n * 77 % 241 for n in range(240)]
    for name, some in {"a.parquet": numbers[:120], "b.parquet": numbers[120:]}.items():
        pq.write_table(pa.table({"n": some}), folder / name, row_group_size=2)
    return folder


@settings(max_examples=10)
@given(
    wanted=st.sets(st.integers(0, 240), min_size=1, max_size=30).map(sorted),
    name=st.sampled_from(["", "a.parquet", "b.parquet"]),
)
@example(wanted=[77, 77 * 16 % 241], name="")
def test_rows_come_in_the_order_of_the_files(scattered: Path, wanted: list[int], name: str) -> None:
    path = scattered / name
    filters = [("n", "in", wanted)]
    expected = pq.read_table(path, filters=filters)["n"].to_pylist()

    assert read_table(path, filters=filters)["n"].to_pylist() == expected
    assert dataset(path, filters=filters).to_table()["n"].to_pylist() == expected
    batches = iter_batches(path, filters=filters)
    assert [n for batch in batches for n in batch["n"].to_pylist()] == expected
    lazy = scan_polars(path).filter(pl.col("n").is_in(wanted))
    assert lazy.collect()["n"].to_list() == expected
    assert lazy.head(1).collect()["n"].to_list() == expected[:1]


@pytest.mark.parametrize(
    ("read", "make", "operator", "count"),
    [
        (read_table, iter, "in", 3),
        (iter_batches, lambda values: map(int, values), "in", 3),
        (dataset, lambda values: (n for n in values), "not in", 237),
    ],
)
def test_values_that_can_be_read_only_once(
    scattered: Path, read: Any, make: Any, operator: str, count: int
) -> None:
    filters = [[("n", operator, make([1, 2, 77]))], [("n", operator, make([1, 2, 77]))]]

    found = read(scattered, filters=filters)

    table = found.to_table() if read is dataset else found
    assert sum(map(len, table) if read is iter_batches else [len(table)]) == count
