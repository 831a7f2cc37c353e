"""Every value of a file is in its filter, and in that of all values; else there is a reason."""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_bloomwriter.filters.build import holds_all_values
from parquet_bloomwriter.hashing import xxh64
from parquet_bloomwriter.index.build import group
from parquet_bloomwriter.index.build.group import balanced_groups, build_group
from parquet_bloomwriter.index.engine import ColumnPlan, FileTask
from parquet_bloomwriter.index.files import FileId
from parquet_bloomwriter.index.format.columns import leaf_of
from parquet_bloomwriter.sbbf import Sbbf
from parquet_bloomwriter.source.open import opened_with_footer
from parquet_bloomwriter.values import LeafReader
from tests.index.built import build, hash_of, overwrite, planned, tables, write
from tests.support.draws import drawn

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloomwriter.index.engine import Origin

# Values.


@settings(max_examples=12)
@given(
    files=tables(),
    row_group_size=st.integers(1, 100),
    dictionary=st.booleans(),
    fpp=st.sampled_from([0.5, 0.1, 0.01, 1e-4]),
    max_bytes=st.sampled_from([64, 100, 1024, 1 << 20]),
)
def test_every_value_is_found(  # noqa: PLR0913, PLR0917  what varies
    files: dict[str, pa.Table],
    row_group_size: int,
    dictionary: bool,  # noqa: FBT001
    fpp: float,
    max_bytes: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root = tmp_path_factory.mktemp("t")
    write(root, files, row_group_size=row_group_size, use_dictionary=dictionary)
    built = build(root, tmp_path_factory.mktemp("i"), "x", fpp=fpp, max_bytes=max_bytes)
    filters, partial = built.filters("x"), built.partial("x")
    assert built.reasons() == {}
    assert set(filters) == set(files)
    for name, table in files.items():
        values = table["x"].drop_null().to_pylist()
        (bits,) = filters[name]
        assert (bits is None) == (not values)
        if bits is not None:
            assert all(bits.check_hash(hash_of(table["x"].type, value)) for value in values)
            assert all(partial.check_hash(hash_of(table["x"].type, value)) for value in values)
            assert 64 <= bits.num_bytes <= max_bytes
            assert bits.exact_fpp() <= fpp or 2 * bits.num_bytes > max_bytes
            assert bits.num_bytes == 64 or bits.fold(2).exact_fpp() > fpp


def test_rows_say_what_they_are_about(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([1, 2, 2, None], pa.int64())})
    write(tmp_path / "t", {"a=1/f.parquet": table})
    built = build(tmp_path / "t", tmp_path, "x")
    (row,) = built.rows("x")
    (task,) = built.tasks
    leaf = leaf_of(row.pop("columnType"))
    assert (leaf.path, leaf.physical_type.name) == (("x",), "INT64")
    assert len(row.pop("BFBinary")) == row.pop("numBytes") == 64 + 15 + 1
    assert row == {
        "fileName": "a=1/f.parquet",
        "fileId": task.file_id,
        "size": task.file.size,
        "modificationTime": task.file.modified_ms,
        "rowGroup": -1,
        "numValues": 2,
        "ndv": 2,
    }


def test_zeros_and_nans_are_found_in_any_spelling(tmp_path: Path) -> None:
    odd_nan = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000001))[0]
    files = {
        "minus.parquet": pa.table({"x": [-0.0]}),
        "plus.parquet": pa.table({"x": [0.0]}),
        "nan.parquet": pa.table({"x": pa.array([odd_nan])}),
    }
    write(tmp_path / "t", files)
    built = build(tmp_path / "t", tmp_path, "x")
    filters = built.filters("x")
    wanted = {"minus": (0.0, -0.0), "plus": (0.0, -0.0), "nan": (float("nan"), odd_nan)}
    for name, values in wanted.items():
        (bits,) = filters[f"{name}.parquet"]
        for value in values:
            h = hash_of(pa.float64(), value)
            assert bits is not None
            assert bits.check_hash(h)
            assert built.partial("x").check_hash(h)


def test_files_without_values_have_empty_filters(tmp_path: Path) -> None:
    kind = pa.schema([("x", pa.int64())])
    write(
        tmp_path / "t",
        {
            "nulls.parquet": pa.table({"x": pa.array([None] * 5, pa.int64())}),
            "no_rows.parquet": kind.empty_table(),
        },
    )
    pq.ParquetWriter(tmp_path / "t" / "no_groups.parquet", kind).close()
    for origin in ("values", "embedded", "auto"):
        built = build(tmp_path / "t", tmp_path / origin, "x", origin=origin)
        assert built.filters("x") == {
            name: [None] for name in ("nulls.parquet", "no_rows.parquet", "no_groups.parquet")
        }
        assert {(row["numValues"], row["ndv"]) for row in built.rows("x")} == {(0, 0)}
        assert not built.partial("x").blocks.any()
        assert built.result.incomplete == ()


def test_nested_leaves_have_their_values(tmp_path: Path) -> None:
    rows = [{"s": {"x": 1}}, {"s": None}, {"s": {"x": None}}, {"s": {"x": 7}}]
    kind = pa.schema([("s", pa.struct([("x", pa.int64())]))])
    write(tmp_path / "t", {"f.parquet": pa.Table.from_pylist(rows, kind)})
    built = build(tmp_path / "t", tmp_path, "s.x")
    ((bits,),) = built.filters("s.x").values()
    assert bits is not None
    assert [h for h in range(1000) if bits.check_hash(hash_of(pa.int64(), h))][:2] == [1, 7]
    assert built.rows("s.x")[0]["numValues"] == 2


@pytest.mark.parametrize(
    ("kind", "value", "plain"),
    [
        (pa.decimal128(9, 2), "1.50", struct.pack("<i", 150)),
        (pa.decimal128(18, 2), "-1.50", struct.pack("<q", -150)),
        (pa.decimal128(38, 2), "-1.50", (-150).to_bytes(16, "big", signed=True)),
    ],
)
def test_decimals_are_hashed_as_they_are_stored(
    kind: pa.DataType, value: str, plain: bytes, tmp_path: Path
) -> None:
    table = pa.table({"x": pa.array([value]).cast(kind)})
    write(tmp_path / "t", {"f.parquet": table}, store_decimal_as_integer=True)
    ((bits,),) = build(tmp_path / "t", tmp_path, "x").filters("x").values()
    assert bits is not None
    assert bits.check_hash(xxh64(plain))
    assert bits.fill() == 8 / (8 * bits.num_bytes)


# All writers' files.


def test_files_of_all_writers(fixtures_dir: Path, tmp_path: Path) -> None:
    """Half of them, others in each run."""
    paths = sorted(fixtures_dir.glob("*/*.parquet"))
    assert len(paths) > 30
    checked = 0
    for number, path in enumerate(drawn(paths, len(paths) // 2)):
        checked += check_file(path, tmp_path / str(number), "values")
        if "bloom" in path.name:
            check_file(path, tmp_path / f"{number}-embedded", "auto")
    assert checked > 50


def test_files_of_the_corpus(corpus_dir: Path, tmp_path: Path) -> None:
    paths = sorted((corpus_dir / "files").rglob("*.parquet"))[::43]
    checked = [check_file(path, tmp_path / str(n), "auto") for n, path in enumerate(paths)]
    assert sum(checked) > len(paths)


def check_file(path: Path, out: Path, origin: Origin) -> int:
    """Build filters of all columns, and look all values up; count the filters."""
    try:
        with opened_with_footer(path) as (_, footer):
            names = sorted({leaf.name for leaf in footer.leaves})
    except Exception:  # noqa: BLE001  what cannot be opened has no filters
        names = ["x"]
    file = FileId(path.name, path.stat().st_size, path.stat().st_mtime_ns // 1_000_000)
    built = build(path.parent, out, *names[:40], origin=origin, files=[file], global_blocks=None)
    reasons = built.reasons()
    assert built.result.changed == ()
    for name in names[:40]:
        if (file.path, name) in reasons:
            assert built.rows(name) == []
            continue
        check_column(path, name, built.rows(name))
    return len(names[:40]) - len(reasons)


def check_column(path: Path, name: str, rows: list[dict[str, Any]]) -> None:
    with opened_with_footer(path) as (source, footer):
        stored = leaf_of(rows[0]["columnType"])
        (leaf,) = [leaf for leaf in footer.leaves if leaf.name == stored.name]
        reader = LeafReader(source, footer, leaf)
        by_group = {row["rowGroup"]: row for row in rows}
        for row_group in range(footer.num_row_groups):
            row = by_group.get(row_group) or by_group[-1]
            if row["numValues"] == 0:
                assert all(a.null_count == len(a) for a in reader.batches(row_group)), name
            else:
                bits = Sbbf.from_bytes(row["BFBinary"])
                assert holds_all_values(bits, reader, leaf, row_group), name


# Files that cannot be indexed.


def test_reasons(tmp_path: Path) -> None:
    root = tmp_path / "t"
    good = pa.table({"x": [1], "l": [[[1]]], "b": [True]})
    write(
        root,
        {
            "both.parquet": pa.table({"x": [1], "X": [2], "l": [[[1]]]}),
            "good.parquet": good,
            "lacks.parquet": pa.table({"y": [1], "l": [[[1]]]}),
            "upper.parquet": pa.table({"X": [5], "l": [[[1]]]}),
        },
    )
    (root / "empty.parquet").write_bytes(b"")
    (root / "text.parquet").write_text("hello world, this is no Parquet file")
    data = (root / "good.parquet").read_bytes()
    (root / "cut.parquet").write_bytes(data[:-10])
    os.mkfifo(root / "fifo.parquet")
    built = build(root, tmp_path, "x", "l.list.element.list.element", "b")
    reasons = built.reasons()
    assert {file for file, _ in reasons} == {
        f"{name}.parquet"
        for name in ("both", "lacks", "upper", "empty", "text", "cut", "fifo", "good")
    }
    assert sorted(built.filters("x")) == ["good.parquet", "upper.parquet"]
    assert leaf_of(built.rows("x")[1]["columnType"]).path == ("X",)
    assert reasons["both.parquet", "x"] == '2 columns are named "x" if case does not matter'
    assert reasons["lacks.parquet", "x"] == 'there is no column "x"'
    assert reasons["good.parquet", "b"].startswith("BOOLEAN columns get no filters")
    assert reasons["good.parquet", "l.list.element.list.element"].startswith("its values are parts")
    assert reasons["text.parquet", "x"] == 'the last four bytes are not "PAR1"'
    assert reasons["fifo.parquet", "x"] == "this is a FIFO"
    assert built.result.incomplete == ("x", "l.list.element.list.element", "b")
    assert built.result.changed == ()


def test_a_page_that_cannot_be_read_spoils_its_column_only(tmp_path: Path) -> None:
    table = pa.table({"x": np.arange(1000), "y": np.arange(1000)})
    write(
        tmp_path / "t",
        {"f.parquet": table},
        write_page_checksum=True,
        use_dictionary=False,
        compression="none",
    )
    path = tmp_path / "t" / "f.parquet"
    chunk = pq.read_metadata(path).row_group(0).column(0)
    overwrite(path, chunk.data_page_offset + 200, b"\xff\xff")
    built = build(tmp_path / "t", tmp_path, "x", "y")
    assert built.rows("x") == []
    assert set(built.filters("y")) == {"f.parquet"}
    assert set(built.reasons()) == {("f.parquet", "x")}
    assert built.result.incomplete == ("x",)


# The group.


def test_several_columns_and_no_global_filter(tmp_path: Path) -> None:
    table = pa.table({"x": [1], "y": ["a"]})
    write(tmp_path / "t", {f"{number}.parquet": table for number in range(3)})
    built = build(tmp_path / "t", tmp_path, "x", "y", global_blocks=None)
    assert sorted(part.column for part in built.result.parts) == ["x", "y"]
    assert [part.num_rows for part in built.result.parts] == [3, 3]
    assert built.result.partials == ()
    assert built.result.incomplete == ()


def test_what_stops_a_group_leaves_nothing(tmp_path: Path) -> None:
    write(tmp_path / "t", {f"{number}.parquet": pa.table({"x": [1]}) for number in range(3)})
    seen: list[FileTask] = []

    def done(task: FileTask) -> None:
        seen.append(task)
        if len(seen) == 2:
            raise KeyboardInterrupt

    columns = [ColumnPlan(name="x", fpp=0.01, max_bytes=1024, global_blocks=64)]
    tasks, plan = planned(tmp_path / "t", tmp_path, columns)
    with pytest.raises(KeyboardInterrupt):
        build_group(tasks, plan, done)
    assert seen == list(tasks[:2])
    assert [path for path in (tmp_path / "ix").rglob("*") if path.is_file()] == []


@given(
    sizes=st.lists(st.integers(0, 10**9), max_size=50),
    num_groups=st.integers(0, 12),
)
def test_files_are_dealt_out_evenly(sizes: list[int], num_groups: int) -> None:
    tasks = [
        FileTask(file_id=number, file=FileId(str(number), size, 0), num_rows=0)
        for number, size in enumerate(sizes)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group, "_WORTH_A_GROUP", 1)
        groups = balanced_groups(tasks, num_groups)
    assert len(groups) == min(len(tasks), max(1, num_groups))
    assert sorted((task for group in groups for task in group), key=lambda t: t.file_id) == tasks
    loads = [sum(task.file.size + 256 * 1024 for task in group) for group in groups]
    assert all(groups)
    if loads:
        assert max(loads) <= min(loads) + max(sizes) + 256 * 1024


@pytest.mark.parametrize(
    ("num_files", "size", "expected"), [(10, 10, 1), (2, 8 << 20, 2), (99, 1 << 20, 4)]
)
def test_small_tables_get_one_part(
    monkeypatch: pytest.MonkeyPatch, num_files: int, size: int, expected: int
) -> None:
    monkeypatch.undo()
    tasks = [
        FileTask(file_id=number, file=FileId(str(number), size, 0), num_rows=0)
        for number in range(num_files)
    ]
    assert len(balanced_groups(tasks, 4)) == expected
