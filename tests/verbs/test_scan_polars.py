"""`scan_polars`: what is read, and that the rows are those of Polars' own scans."""

from __future__ import annotations

import datetime as dt
import io
import os
import subprocess
import sys
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import deltalake
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

from parquet_bloomwriter import (
    ColumnNotFound,
    InvalidArgument,
    TableProblem,
    bloomify,
    bloomify_table,
    scan_polars,
    strip,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from polars._typing import EngineType

ROWS, GROUP = 10_000, 1_000
ids = np.random.default_rng(7).permutation(ROWS) * 2
TABLE = pa.table(
    {
        "id": ids,
        "email": [f"{one}@mail.example" for one in ids],
        "score": np.where(ids % 7, ids / 3, np.nan),
        "kind": pa.array([("a", "b", None)[one % 3] for one in ids]).dictionary_encode(),
        "inner": pa.array([{"key": int(one)} for one in ids], pa.struct({"key": pa.int64()})),
        "at": pa.array(ids * 10**9, pa.timestamp("us", "UTC")),
    }
)
PLACE = 4321
ID = int(ids[PLACE])
"""In the fifth row group."""

ABSENT = 4711
"""Odd: in no file, and within every row group's minimum and maximum."""

col = pl.col


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scan") / "events.parquet"
    pq.write_table(TABLE, path, row_group_size=GROUP)
    bloomify(path, ["id", "email", "kind", "inner.key", "at"])
    return path


@dataclass
class Decoded:
    """What pyarrow decodes for batches; probing decodes dictionaries, of all columns there are."""

    row_groups: list[tuple[int, ...]] = field(default_factory=list)
    """Of each file."""

    columns: list[tuple[str, ...]] = field(default_factory=list)
    """Of each file."""

    sizes: list[int] = field(default_factory=list)
    """Rows of each batch."""

    def clear(self) -> None:
        """Forget all."""
        for seen in (self.row_groups, self.columns, self.sizes):
            seen.clear()


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> Decoded:
    seen = Decoded()
    iter_batches = pq.ParquetFile.iter_batches

    def watched(
        self: pq.ParquetFile,
        batch_size: int,
        row_groups: list[int] | None = None,
        **options: Any,  # noqa: ANN401  pyarrow's own
    ) -> Iterator[pa.RecordBatch]:
        is_counted = "columns" in options
        if is_counted:
            chosen = range(self.num_row_groups) if row_groups is None else row_groups
            seen.row_groups.append(tuple(chosen))
            seen.columns.append(tuple(options["columns"]))
        for batch in iter_batches(self, batch_size, row_groups=row_groups, **options):
            if is_counted:
                seen.sizes.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", watched)
    return seen


@pytest.mark.parametrize(
    "condition",
    [
        col("id") == ID,
        col("email") == f"{ID}@mail.example",
        col("inner").struct.field("key") == ID,
        col("at") == dt.datetime.fromtimestamp(ID * 1000, dt.UTC),
        (col("id") == ID) & (col("score") > 0),
        (col("id") == ABSENT) | (col("email") == f"{ID}@mail.example"),
        col("id").is_in([ABSENT, ID]),
        col("id") == float(ID),
    ],
    ids=str,
)
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_only_surviving_row_groups_are_read(
    path: Path, decoded: Decoded, condition: pl.Expr, engine: EngineType
) -> None:
    found = scan_polars(path).filter(condition).collect(engine=engine)
    assert decoded.row_groups == [(PLACE // GROUP,)]
    assert_frame_equal(found, pl.scan_parquet(path).filter(condition).collect())
    assert found["id"].to_list() == [ID]


def test_an_absent_value_reads_nothing(path: Path, decoded: Decoded) -> None:
    found = scan_polars(path).filter(col("id") == ABSENT).collect()
    assert decoded.row_groups == []
    assert_frame_equal(found, pl.scan_parquet(path).filter(col("id") == ABSENT).collect())


@pytest.mark.parametrize(
    "condition",
    [
        col("id").is_null(),
        col("kind") == "a",
        col("kind").is_null(),
        col("score") != 3,
        col("score") > 6000,
        col("score").is_nan(),
        ~(col("score") <= 6000),
        col("email").str.starts_with("12"),
        (col("id") == ID) ^ (col("kind") == "a"),
        col("id") > col("score"),
        col("kind").cast(pl.String).str.to_uppercase() == "B",
    ],
    ids=str,
)
def test_rows_are_those_of_scan_parquet(path: Path, condition: pl.Expr) -> None:
    expected = pl.scan_parquet(path).filter(condition).collect()
    assert_frame_equal(scan_polars(path).filter(condition).collect(), expected)
    streamed = scan_polars(path).filter(condition).collect(engine="streaming")
    assert_frame_equal(streamed, expected, check_row_order=False)


def test_columns_that_a_query_needs(path: Path, decoded: Decoded) -> None:
    frame = scan_polars(path)
    assert frame.collect_schema() == pl.scan_parquet(path).collect_schema()
    frame.filter(col("id") == ID).select("email").collect()
    assert decoded.row_groups == [(PLACE // GROUP,)]
    assert decoded.columns == [("id", "email")]
    decoded.clear()
    assert frame.select(pl.len()).collect().item() == ROWS
    assert [len(columns) for columns in decoded.columns] == [1]


def test_columns_that_the_frame_has(path: Path) -> None:
    frame = scan_polars(path, columns=["email", "id"])
    assert frame.collect_schema().names() == ["email", "id"]
    assert frame.filter(col("id") == ID).collect().row(0) == (f"{ID}@mail.example", ID)
    with pytest.raises(ColumnNotFound, match='there is no column "ids"'):
        scan_polars(path, columns=["ids"])
    with pytest.raises(InvalidArgument, match='several columns are named "id"'):
        scan_polars(path, columns=["id", "id"])


def test_slices(path: Path, decoded: Decoded) -> None:
    frame, expected = scan_polars(path), pl.scan_parquet(path).collect()
    assert_frame_equal(frame.head(5).collect(), expected.head(5))
    assert decoded.sizes == [5]
    assert_frame_equal(frame.slice(998, 4).collect(), expected.slice(998, 4))
    assert_frame_equal(frame.tail(3).collect(), expected.tail(3))
    some = col("id") > 100
    assert_frame_equal(frame.filter(some).head(2).collect(), expected.filter(some).head(2))
    assert frame.head(0).collect().height == 0


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_rows_of_a_slice_are_selected_after_it_is_cut(path: Path, engine: EngineType) -> None:
    frame, expected = scan_polars(path), pl.scan_parquet(path).collect()
    number = int(expected["id"][150])
    for some in (col("id") == number, col("id") != number, col("id").is_null()):
        for rows in (0, 100, 151, 500):
            found = frame.head(rows).filter(some).select("id").collect(engine=engine)
            assert_frame_equal(found, expected.head(rows).filter(some).select("id"))


def test_a_column_whose_name_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"": [7, 8], "id": [1, 2]}), path)

    assert_frame_equal(scan_polars(path).collect(), pl.scan_parquet(path).collect())
    assert scan_polars(path).filter(col("") == 8).collect().rows() == [(8, 2)]


def test_batches_are_as_small_as_polars_wishes(path: Path, decoded: Decoded) -> None:
    with pl.Config(streaming_chunk_size=500):
        found = scan_polars(path).select("id").collect(engine="streaming")
    assert found.height == sum(decoded.sizes) == ROWS
    assert max(decoded.sizes) <= 500


def test_joins_and_aggregates(path: Path) -> None:
    frame, plain = scan_polars(path), pl.scan_parquet(path)
    few = pl.LazyFrame({"id": [ID, ABSENT, int(ids[0])]})
    queries: list[Callable[[pl.LazyFrame], pl.LazyFrame]] = [
        lambda scan: scan.join(few, on="id").sort("id"),
        lambda scan: scan.join(scan, on="id").sort("id").select("id", "email_right"),
        lambda scan: scan.group_by("kind").agg(col("id").sum()).sort("kind"),
        lambda scan: scan.filter(col("id") > col("id").mean()).sort("id"),
        lambda scan: scan.with_row_index().filter(col("id") == ID),
        lambda scan: scan.filter(col("kind") == "a").filter(col("id") == ID),
        lambda scan: scan.rename({"id": "key"}).filter(col("key") == ID).select("key"),
    ]
    for query in queries:
        assert_frame_equal(query(frame).collect(), query(plain).collect())


def test_folders_and_patterns(tmp_path: Path, decoded: Decoded) -> None:
    for number in range(3):
        name = tmp_path / f"part-{number}.parquet"
        pq.write_table(TABLE.slice(number * GROUP, GROUP), name)
        bloomify(name, ["id"])
    one = col("id") == int(ids[1500])
    for source in (tmp_path, str(tmp_path), f"{tmp_path}/*.parquet", sorted(tmp_path.iterdir())):
        decoded.clear()
        assert scan_polars(source).filter(one).select("id").collect().height == 1
        assert len(decoded.row_groups) == 1
    decoded.clear()
    inner = pafs.SubTreeFileSystem(os.fspath(tmp_path), pafs.LocalFileSystem())
    assert scan_polars("", filesystem=inner).filter(one).collect().height == 1
    assert len(decoded.row_groups) == 1


def test_bytes_and_open_files(path: Path, decoded: Decoded) -> None:
    for source in (path.read_bytes(), io.BytesIO(path.read_bytes())):
        decoded.clear()
        assert scan_polars(source).filter(col("id") == ID).collect().height == 1
        assert decoded.row_groups == [(PLACE // GROUP,)]


def test_urls(path: Path, decoded: Decoded) -> None:
    found = scan_polars(path.as_uri()).filter(col("id") == ID).collect()
    assert (found.height, decoded.row_groups) == (1, [(PLACE // GROUP,)])


@pytest.fixture
def hive(tmp_path: Path) -> Path:
    for year in (2024, 2025, None):
        for city in ("Rome", "Oslo"):
            folder = tmp_path / f"year={year or '__HIVE_DEFAULT_PARTITION__'}" / f"city={city}"
            folder.mkdir(parents=True)
            pq.write_table(TABLE.slice(0, 10).select(["id"]), folder / "part.parquet")
    return tmp_path


@pytest.mark.parametrize(
    ("condition", "num_files"),
    [
        (col("year") == 2024, 2),
        ((col("year") == 2024) & (col("city") == "Oslo"), 1),
        ((col("year") == 2024) | (col("city") == "Oslo"), 4),
        (col("year").is_null(), 2),
        (col("year").is_in([2025, None], nulls_equal=True), 4),
        (~(col("year") == 2024) & (col("city") != "Oslo"), 1),
        ((col("year") > 2024) & (col("id") == int(ids[3])), 2),
        ((col("year") == 2024) & (col("id") == ABSENT), 0),
        (col("city").str.to_lowercase() == "oslo", 6),
    ],
    ids=str,
)
def test_hive_folders(hive: Path, decoded: Decoded, condition: pl.Expr, num_files: int) -> None:
    plain = pl.scan_parquet(hive, hive_partitioning=True).with_columns(col("year").cast(pl.Int32))
    frame = scan_polars(hive)
    assert frame.collect_schema() == plain.collect_schema()
    found = frame.filter(condition).collect()
    order = ["year", "city", "id"]
    expected = plain.filter(condition).collect()
    assert_frame_equal(found.sort(order), expected.sort(order))
    assert len(decoded.row_groups) == num_files


def test_files_of_other_types(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int64())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": pa.array([2, 3], pa.int16())}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"other": pa.array([2])}), tmp_path / "c.parquet")
    for name in ("a", "b"):
        bloomify(tmp_path / f"{name}.parquet", ["id"])
    frame = scan_polars(tmp_path)
    assert frame.filter(col("id") == 2).collect()["id"].to_list() == [2, 2]
    assert frame.filter(col("id").is_null()).collect().height == 1


def test_categories_that_differ_by_row_group(tmp_path: Path) -> None:
    words = pa.array(["x", "y", None, "z", "x", "w"]).dictionary_encode()
    inner = pa.StructArray.from_arrays([words], ["word"])
    pq.write_table(
        pa.table({"word": words, "inner": inner}), tmp_path / "words.parquet", row_group_size=2
    )
    bloomify(tmp_path / "words.parquet", ["word", "inner.word"])
    frame = scan_polars(tmp_path / "words.parquet")
    assert frame.filter(col("word") == "x").collect().height == 2
    assert frame.filter(col("inner").struct.field("word") == "x").collect().height == 2
    assert frame.collect()["word"].to_list() == ["x", "y", None, "z", "x", "w"]


def test_rows_that_change_after_the_frame_was_made(tmp_path: Path, decoded: Decoded) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(TABLE, path, row_group_size=GROUP, use_dictionary=False)
    frame = scan_polars(path).filter(col("id") == ABSENT)
    assert frame.collect().height == 0
    assert len(decoded.row_groups[0]) == ROWS // GROUP  # no filters yet
    bloomify(path, ["id"])
    decoded.clear()
    assert frame.collect().height == 0
    assert decoded.row_groups == []
    strip(path)
    changed = TABLE.set_column(0, "id", pa.array(ids + 1))
    pq.write_table(changed, path, row_group_size=GROUP // 2)
    assert frame.collect()["id"].to_list() == [ABSENT]


@pytest.fixture
def delta(tmp_path: Path) -> Path:
    table = TABLE.select(["id", "email", "at"]).append_column(
        "half", pa.array((np.arange(ROWS) // (ROWS // 2)).astype(np.int32))
    )
    path = tmp_path / "delta"
    deltalake.write_deltalake(path, table, partition_by=["half"])
    bloomify_table(path, ["id", "email"])
    return path


@pytest.mark.parametrize(
    ("condition", "num_files"),
    [
        (col("id") == ID, 1),
        (col("email").is_in([f"{ID}@mail.example", "x"]), 1),
        (col("id") == ABSENT, 0),
        (col("half") == 1, 1),
        ((col("half") == 1) & (col("id") == ID), 0),
        (col("half").is_in([0, 1]) & (col("id") == ID), 1),
        (col("at") == dt.datetime.fromtimestamp(ID * 1000, dt.UTC), 2),
        (col("id").cast(pl.String) == str(ID), 2),
    ],
    ids=str,
)
def test_delta_tables(delta: Path, decoded: Decoded, condition: pl.Expr, num_files: int) -> None:
    found = scan_polars(delta).filter(condition).collect()
    assert_frame_equal(
        found, pl.scan_delta(os.fspath(delta)).filter(condition).collect(), check_row_order=False
    )
    assert len(decoded.row_groups) == num_files


def test_versions_of_a_delta_table(delta: Path) -> None:
    table = deltalake.DeltaTable(delta)
    last = table.version()
    table.delete(f"id = {ID}")
    one = col("id") == ID
    assert scan_polars(delta).filter(one).collect().height == 0
    assert scan_polars(delta, version=last).filter(one).collect().height == 1
    assert scan_polars(delta, version=last).select("half").head(1).collect().columns == ["half"]
    with pytest.raises(InvalidArgument, match="partitioning has no meaning"):
        scan_polars(delta, partitioning=None)


def test_a_missing_file_of_a_delta_table(delta: Path) -> None:
    frame = scan_polars(delta)
    for file in delta.glob("half=0/*.parquet"):
        file.unlink()
    with pytest.raises(TableProblem, match="a file of the table is missing"):
        frame.collect()


def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError):
        scan_polars(tmp_path / "none.parquet")
    with pytest.raises(InvalidArgument, match="it has no versions"):
        scan_polars(tmp_path / "none.parquet", version=1)
    pq.write_table(pa.table({"wide": pa.array([1], pa.decimal256(50, 2))}), tmp_path / "w.parquet")
    with pytest.raises(InvalidArgument, match=r"Polars cannot read columns of type decimal256"):
        scan_polars(tmp_path / "w.parquet")
    monkeypatch.setattr(pl, "__version__", "1.9.0")
    with pytest.raises(InvalidArgument, match=r"needs Polars .* or newer, and 1\.9\.0"):
        scan_polars(tmp_path / "w.parquet")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(InvalidArgument, match="Polars, which is not installed"):
        scan_polars(tmp_path / "w.parquet")


def test_the_plan_names_the_source(path: Path) -> None:
    plan = scan_polars(path).filter(col("id") == 5).explain()
    assert "PYTHON[parquet_bloomwriter] SCAN" in plan
    assert os.fspath(path) in plan


def test_the_interpreter_ends_well_after_a_query_that_needed_few_rows(tmp_path: Path) -> None:
    """Polars' threads may still read then; one that runs Python too late aborts the process."""
    first = tmp_path / "00.parquet"
    rows = pa.table({"id": range(50_000), "text": [str(one) * 5 for one in range(50_000)]})
    pq.write_table(rows, first, row_group_size=5_000)
    for number in range(1, 40):
        os.link(first, tmp_path / f"{number:02}.parquet")
    program = (
        "import sys; from parquet_bloomwriter import scan_polars;"
        "rows = scan_polars(sys.argv[1]).slice(3, 9).collect(engine='streaming');"
        "assert rows.height == 9"
    )
    command = (sys.executable, "-c", program, os.fspath(tmp_path))
    ended = [subprocess.run(command, capture_output=True, check=False) for _ in range(2)]
    assert [(one.returncode, one.stderr) for one in ended] == [(0, b"")] * 2


def test_uuids_below_structs_and_lists(tmp_path: Path) -> None:
    uuids = pa.array([b"x" * 16, b"y" * 16], pa.uuid())
    struct = pa.StructArray.from_arrays([uuids], ["key"])
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), uuids)
    path = tmp_path / "one.parquet"
    pq.write_table(pa.table({"n": [1, 2], "s": struct, "l": lists}), path)

    found = scan_polars(path).filter(pl.col("n") == 2).collect()

    assert found.to_dicts() == [{"n": 2, "s": {"key": b"y" * 16}, "l": [b"y" * 16]}]


def test_decimals_of_all_widths_are_those_of_the_file(tmp_path: Path) -> None:
    """Pyarrow makes decimals of 32 and 64 bits, of which Polars would read 128 bits each."""
    path = tmp_path / "prices.parquet"
    numbers = [Decimal(cents) / 100 for cents in range(-500, 500)]
    for kind in (pa.decimal32(7, 2), pa.decimal64(12, 2), pa.decimal128(12, 2)):
        prices = pa.array(numbers, pa.decimal128(12, 2)).cast(kind)
        places = pa.array(range(len(numbers) + 1), pa.int32())
        keys = pa.array(map(str, numbers))
        table = pa.table(
            {
                "price": prices,
                "inner": pa.StructArray.from_arrays([prices], ["price"]),
                "list": pa.ListArray.from_arrays(places, prices),
                "pair": pa.FixedSizeListArray.from_arrays(prices, 1),
                "map": pa.MapArray.from_arrays(places, keys, prices),
            }
        )
        pq.write_table(table, path, row_group_size=100)
        found = scan_polars(path)
        assert found.filter(col("price") == Decimal("2.50")).collect().height == 1
        expected = [
            {
                "price": one,
                "inner": {"price": one},
                "list": [one],
                "pair": [one],
                "map": {str(one): one},
            }
            for one in numbers
        ]
        assert found.collect().to_dicts() == expected


def test_names_of_columns_are_no_patterns(tmp_path: Path) -> None:
    path = tmp_path / "names.parquet"
    table = pa.table({"^i.*$": [1, 2, 3], "id": [4, 5, 6], "*": [7, 8, 9]})
    pq.write_table(table, path)
    assert scan_polars(path).collect().to_dict(as_series=False) == table.to_pydict()
    assert scan_polars(path, columns=["^i.*$"]).head(2).collect().rows() == [(1,), (2,)]
    assert scan_polars(path).filter(col("id") == 5).collect().rows() == [(2, 5, 8)]
    only = scan_polars(path, columns=["^i.*$"]).filter(pl.nth(0) == 2)
    with pytest.raises((InvalidArgument, pl.exceptions.PolarsError), match="for a pattern"):
        only.collect()
