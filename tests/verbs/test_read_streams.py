"""`iter_batches` and `dataset`: batches in bounded memory, and what other engines make of it."""

from __future__ import annotations

import io
import os
import pickle
import signal
import threading
from typing import TYPE_CHECKING, Any

import datafusion
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import ColumnNotFound, FileChanged, InvalidArgument
from parquet_bloomwriter.scan import snapshots, stream
from parquet_bloomwriter.scan.held_files import HeldFiles
from parquet_bloomwriter.verbs.read import dataset, iter_batches, read_table
from tests.support.cells import ABSENT, CELLS, IDS, ROWS, WatchedFile, bloomed

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow.dataset as ds

ID = int(IDS[4321])


@pytest.fixture(scope="module")
def cells() -> bytes:
    return bloomed(CELLS, "id", "text")


@pytest.fixture
def path(tmp_path: Path, cells: bytes) -> Path:
    file = tmp_path / "cells.parquet"
    file.write_bytes(cells)
    return file


def test_batches_come_from_surviving_row_groups_only(cells: bytes) -> None:
    file = WatchedFile(cells)

    (batch,) = iter_batches(file, filters=f"id = {ID} OR id = {ABSENT}")

    assert batch.to_pylist() == [{"id": ID, "text": f"t{ID}", "group": 4}]
    assert file.row_groups_read() == {4}


def test_batches_have_no_more_rows_than_asked_for(cells: bytes) -> None:
    batches = list(iter_batches(cells, batch_size=300))

    assert max(batch.num_rows for batch in batches) == 300
    assert pa.Table.from_batches(batches).equals(CELLS)


def test_only_columns_that_are_needed_are_decoded(cells: bytes) -> None:
    """The middle column is neither returned nor asked about."""
    file = WatchedFile(cells)
    metadata = pq.read_metadata(io.BytesIO(cells))
    chunks = [metadata.row_group(4).column(place) for place in range(3)]
    start, stop = chunks[1].dictionary_page_offset, chunks[2].dictionary_page_offset

    (batch,) = iter_batches(file, filters=f"id = {ID}", columns=["group"])

    assert batch.to_pylist() == [{"group": 4}]
    reads = [read for read in file.reads if read[1] < len(cells)]
    assert not any(start <= first < stop for first, _ in reads)


def test_memory_is_bounded_by_batches(tmp_path: Path) -> None:
    path = tmp_path / "one row group.parquet"
    table = pa.table({"a": np.arange(4_000_000), "b": np.arange(4_000_000) * 3})
    pq.write_table(table, path, row_group_size=len(table), use_dictionary=False, compression="none")
    del table
    before, most, rows = pa.total_allocated_bytes(), 0, 0
    filters = pc.field("b") >= 0
    for batch in iter_batches(path, filters=filters, batch_size=20_000):
        most = max(most, pa.total_allocated_bytes() - before)
        rows += batch.num_rows

    assert rows == 4_000_000
    assert most < 32_000_000, "of 64,000,000 bytes; how far pyarrow reads ahead varies"


def test_batches_of_a_condition_have_no_more_rows_than_asked_for(tmp_path: Path) -> None:
    """More rows than that may be decoded at once."""
    path = tmp_path / "a.parquet"
    table = pa.table({"a": np.arange(1_000), "b": np.arange(1_000) % 2})
    pq.write_table(table, path, row_group_size=300)
    batches = list(iter_batches(path, filters="b = 1", batch_size=7))
    assert {batch.num_rows for batch in batches[:-1]} <= set(range(1, 8))
    assert len(batches) < 1_000 / 7
    assert pa.Table.from_batches(batches) == table.filter(pc.field("b") == 1)


def test_a_reader_may_stop_early(path: Path) -> None:
    batches = iter_batches(path, batch_size=10)
    assert next(batches).num_rows == 10
    del batches
    path.unlink()


def test_what_is_wrong_is_said_at_once(path: Path) -> None:
    with pytest.raises(ColumnNotFound):
        iter_batches(path, filters="nope = 1")
    with pytest.raises(InvalidArgument, match="0 rows"):
        iter_batches(path, batch_size=0)


# Datasets.


@pytest.fixture(params=[f"id = {ID}", f"id = {ABSENT}", "id >= 0", f"text = 't{ID}' AND id > 0"])
def asked(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _expected(asked: str) -> list[int]:
    cells = CELLS.to_pandas()
    return sorted(cells.query(asked.replace("AND", "and").replace(" = ", " == "))["id"])


def _by_duckdb(query: str, rows: ds.Dataset) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        return connection.execute(query).fetchall()


def test_errors_name_the_file_of_a_folder(path: Path) -> None:
    (path.parent / "damaged.parquet").write_bytes(b"PAR1 is not all")
    with pytest.raises(pa.ArrowInvalid, match=r"damaged\.parquet"):
        list(iter_batches(path.parent, filters=f"id = {ID}"))


def test_datasets_hold_the_rows_asked_for_in_every_engine(path: Path, asked: str) -> None:
    rows = dataset(path, filters=asked)
    by_duckdb = _by_duckdb("SELECT id FROM rows WHERE id >= 0", rows)
    by_polars = pl.scan_pyarrow_dataset(rows).filter(pl.col("id") >= 0).select("id").collect()

    expected = _expected(asked)
    assert sorted(row[0] for row in by_duckdb) == expected
    assert sorted(by_polars["id"].to_list()) == expected
    assert sorted(rows.to_table().to_pandas()["id"]) == expected
    assert rows.count_rows() == len(expected)
    assert rows.schema.equals(CELLS.schema)


def test_unfiltered_datasets_hold_all_rows_of_surviving_row_groups(path: Path, asked: str) -> None:
    rows = dataset(path, filters=asked, filter_rows=False)
    context = datafusion.SessionContext()
    context.register_dataset("rows", rows)

    expected = _expected(asked)
    query = f"SELECT id FROM rows WHERE {asked}"  # noqa: S608  the tests' own text
    by_datafusion = context.sql(query).to_arrow_table()
    assert sorted(by_datafusion["id"].to_pylist()) == expected
    by_duckdb = _by_duckdb(query, rows)
    assert sorted(row[0] for row in by_duckdb) == expected
    by_polars = pl.scan_pyarrow_dataset(rows).filter(pl.sql_expr(asked)).collect()
    assert sorted(by_polars["id"].to_list()) == expected
    assert len(rows.to_table()) == {0: 0, 1: ROWS}.get(len(expected), len(CELLS))


def test_engines_read_nothing_of_what_was_pruned(cells: bytes) -> None:
    file = WatchedFile(cells)
    rows = dataset(file, filters=f"id = {ID}", filter_rows=False)

    query = f"SELECT text FROM rows WHERE id = {ID}"  # noqa: S608  the tests' own text
    assert _by_duckdb(query, rows) == [(f"t{ID}",)]
    assert file.row_groups_read() == {4}


def test_a_dataset_keeps_the_version_that_was_probed(tmp_path: Path) -> None:
    """Ordinals of row groups mean nothing in another version of the file."""
    many = 103  # more than are kept open
    for place in range(many):
        (tmp_path / f"k={place}").mkdir()
        table = pa.table({"id": range(1_000 * place, 1_000 * place + 10)})
        pq.write_table(table, tmp_path / f"k={place}" / "x.parquet", row_group_size=5)
    single = tmp_path / "k=7" / "x.parquet"
    rows = dataset(single, filters="id = 7007")
    parts = dataset(single, filters="id = 7007", filter_rows=False)
    some = dataset(tmp_path, filters=[("id", "in", [1_000 * place for place in range(many)])])
    assert some.count_rows() == many

    table = pa.table({"id": range(7_009, 6_999, -1)})
    pq.write_table(table, tmp_path / "new.parquet", row_group_size=3)
    (tmp_path / "new.parquet").rename(single)

    for _ in range(2):
        assert rows.to_table()["id"].to_pylist() == [7007]
        assert parts.to_table()["id"].to_pylist() == [7005, 7006, 7007, 7008, 7009]
        assert some.count_rows() == many
    with pytest.raises(FileChanged, match="after the dataset was made"):
        pickle.loads(pickle.dumps(parts)).to_table()  # noqa: S301
    for place in range(many):
        path = tmp_path / f"k={place}" / "x.parquet"
        path.write_bytes(b" " * 10 + path.read_bytes())
    with pytest.raises(FileChanged, match=r"x\.parquet: the file was changed"):
        some.to_table()
    assert duckdb.execute("FROM rows").fetchall() == [(7007,)]


def test_rows_of_which_a_condition_is_null_are_not_counted(tmp_path: Path) -> None:
    """Neither by pyarrow's shortcuts for counts, nor where a file or a folder has only nulls."""
    rows = {
        "n": range(8),
        "a": [1, None, 3, 4, None, 6, 7, 8],
        "b": [2, 2, None, 4, None, 0, -7, 8],
        "s": ["x", "yy", None, "zz", "", "xx", None, "q"],
    }
    for key, columns in (("1", "nabs"), ("__HIVE_DEFAULT_PARTITION__", "nabs"), ("2", "ns")):
        (tmp_path / f"k={key}").mkdir()
        table = pa.table({name: rows[name] for name in columns})
        pq.write_table(table, tmp_path / f"k={key}" / "x.parquet", row_group_size=3)
    conditions = [
        *("a + b = 3", "NOT (a + b = 3)", "a * 2 > b", "NOT (a * 2 > b)", "a = b", "NOT (a <> b)"),
        *("abs(b) = 7", "NOT (abs(b) = 7)", "length(s) = 2", "NOT (length(s) = 2)", "a = a"),
        *("NOT (upper(s) = 'XX')", "NOT (s LIKE 'x%')", "a NOT IN (1, NULL)", "NOT (a = NULL)"),
        *("NOT (a IN (3, NULL) OR b = 4)", "(a + b) IS NULL", "a + b BETWEEN 1 AND 8"),
        *("k + 1 = 2", "NOT (k + 1 = 2)", "k + a > 2", "NOT (k = 1)", "b + 0 = b", "a + b <> k"),
        *("coalesce(a, b) > 1", "a % 2 = 1", "a IS DISTINCT FROM b", "k IS NOT DISTINCT FROM a"),
    ]
    files = f"read_parquet('{tmp_path}/*/*.parquet', hive_partitioning => true, union_by_name => 1)"
    with duckdb.connect() as engine:
        for condition in conditions:
            query = f"SELECT n FROM {files} WHERE {condition}"  # noqa: S608  the tests' own text
            expected = sorted(n for (n,) in engine.execute(query).fetchall())
            found = dataset(tmp_path, filters=condition)
            count = len(expected)
            assert sorted(found.to_table()["n"].to_pylist()) == expected, condition
            counts = {
                "count_rows": found.count_rows(),
                "scanner": found.scanner().count_rows(),
                "of no column": found.scanner(columns=[]).count_rows(),
                "filtered": found.filter(pc.field("n") >= 0).count_rows(),
                "without threads": found.scanner(use_threads=False).count_rows(),
                "head": found.head(1000).num_rows,
                "take": found.scanner(columns=["n"]).take(list(range(count))).num_rows,
                "batches": sum(batch.num_rows for batch in found.to_batches()),
                "reader": found.scanner(columns=["n"]).to_reader().read_all().num_rows,
            }
            assert counts == dict.fromkeys(counts, count), condition
            with pytest.raises(IndexError):
                found.scanner(columns=["n"]).take([count])


NUM_FILES = 200


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of many files."""
    for place in range(NUM_FILES):
        pq.write_table(pa.table({"id": range(10)}), tmp_path / f"{place:03}.parquet")
    return tmp_path


def test_who_stops_after_a_batch_does_not_read_the_rest(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def open_file(path: str, *, memory_map: bool) -> snapshots.OpenFile:
        opened.append(path)
        return snapshots.open_file(path, memory_map=memory_map)

    monkeypatch.setattr(stream, "open_file", open_file)
    rows = iter_batches(folder, filters="id < 5")
    assert next(rows).num_rows == 5
    del rows
    assert 0 < len(opened) < 20


def test_ctrl_c_ends_the_scan_of_a_table(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    sent = threading.Event()

    def open_input_file(files: HeldFiles, path: str) -> pa.NativeFile:
        opened.append(path)
        is_main = threading.current_thread() is threading.main_thread()
        if not is_main and not sent.is_set():
            sent.set()
            os.kill(os.getpid(), signal.SIGINT)
        return found(files, path)

    found = HeldFiles.open_input_file
    monkeypatch.setattr(HeldFiles, "open_input_file", open_input_file)
    with pytest.raises(KeyboardInterrupt):
        read_table(folder, filters="id < 5")
    assert sent.is_set()
    assert len(opened) < NUM_FILES
