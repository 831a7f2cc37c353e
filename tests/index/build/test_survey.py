"""The survey of a table: what is found, and what is refused, before any work."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from parquet_bloomwriter.errors import ColumnNotFound, InvalidArgument
from parquet_bloomwriter.index.build.group import build_group
from parquet_bloomwriter.index.build.survey import Survey, survey_files
from parquet_bloomwriter.index.config import IndexConfig
from parquet_bloomwriter.index.engine import ColumnPlan
from parquet_bloomwriter.index.entry import IndexedColumn
from parquet_bloomwriter.index.files import FileId
from parquet_bloomwriter.index.table.data_files import list_files
from tests.index.built import planned, write

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloomwriter.index.engine import Origin


def surveyed(
    root: Path,
    *columns: str | IndexedColumn,
    files: list[FileId] | None = None,
    strict: bool = True,
    **options: Any,  # noqa: ANN401
) -> Survey:
    """Survey a folder, or some files of it."""
    indexed = (
        IndexedColumn(name=one, fpp=0.01) if isinstance(one, str) else one for one in columns
    )
    limits: dict[str, Any] = {
        "origin": "auto",
        "max_file_bytes": 16 << 20,
        "max_total_bytes": 4 << 30,
    }
    config = IndexConfig(columns=tuple(indexed), **limits | options)
    found = list_files(str(root)) if files is None else files
    return survey_files(str(root), found, config, strict=strict)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    nested = pa.array([{"x": 1, "y": 2}] * 10)
    write(
        tmp_path,
        {
            "a.parquet": pa.table({"id": np.arange(1000), "email": ["a"] * 1000}),
            "b.parquet": pa.table({"id": [1, None, 2], "email": [None, "a", "b"]}),
            "c.parquet": pa.table({"other": range(7)}),
            "d.parquet": pa.table({"s": nested, "list": [[[1]]] * 10, "flag": [True] * 10}),
        },
    )
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing else PAR1")
    return tmp_path


def test_files_and_columns(table: Path) -> None:
    found = surveyed(table, "id", "s.x")
    assert [(file.path, num_rows) for file, num_rows in found.files] == [
        ("a.parquet", 1000),
        ("b.parquet", 3),
        ("c.parquet", 7),
        ("d.parquet", 10),
    ]
    assert [(one.path, one.reason) for one in found.left_out] == [
        ("broken.parquet", "the footer claims 543519596 bytes in a file of 26")
    ]
    ids, nested = found.columns
    assert (ids.name, ids.num_files, ids.num_values, ids.ndv) == ("id", 2, 1003, 1003)
    assert (nested.name, nested.num_files, nested.num_values, nested.ndv) == ("s.x", 1, 10, 10)


def test_expected_numbers_of_distinct_values_count(table: Path) -> None:
    column = IndexedColumn(name="id", fpp=0.01, expected_num_items=50)
    (found,) = surveyed(table, column).columns
    (without,) = surveyed(table, "id").columns
    assert (found.ndv, found.num_values) == (50, 1003)
    assert found.file_bytes < without.file_bytes
    assert found.global_blocks is not None
    assert without.global_blocks is not None
    assert found.global_blocks < without.global_blocks


def test_no_global_filter_is_planned_that_would_be_useless(table: Path) -> None:
    column = IndexedColumn(name="id", fpp=0.01, expected_num_items=10**10)
    (found,) = surveyed(table, column).columns
    assert (found.global_blocks, found.total_bytes) == (None, found.file_bytes)


@pytest.mark.parametrize(
    ("name", "problem", "remedy"),
    [
        ("ids", 'there is no column "ids"', "Did you mean id?"),
        ("s", "it is a group, of the columns s.x, s.y", "Name one of its columns, as in s.x."),
        ("flag", "BOOLEAN columns get no filters", ""),
        ("list.list.element.list.element", "its values are parts of elements of a list", ""),
        ("list", "it is a group, of the columns list.list.element", "list.list.element"),
    ],
)
def test_columns_that_no_file_can_index(name: str, problem: str, remedy: str, table: Path) -> None:
    (table / "a.parquet").rename(table / "0.parquet")
    with pytest.raises(InvalidArgument) as error:
        surveyed(table, "id", name)
    assert problem in error.value.problem
    assert remedy in error.value.remedy
    assert isinstance(error.value, ColumnNotFound) == (name == "ids")


@pytest.mark.parametrize(
    ("column", "kind", "options"),
    [
        ("int96", pa.timestamp("ns"), {"use_deprecated_int96_timestamps": True}),
        ("bool", pa.bool_(), {}),
    ],
)
def test_types_that_cannot_be_indexed(
    column: str, kind: pa.DataType, options: dict[str, Any], tmp_path: Path
) -> None:
    write(tmp_path, {"a.parquet": pa.table({column: pa.array([None], kind)})}, **options)
    with pytest.raises(InvalidArgument, match=f'the column "{column}" cannot be indexed'):
        surveyed(tmp_path, column)


def test_a_name_in_two_spellings_is_ambiguous(tmp_path: Path) -> None:
    write(tmp_path, {"a.parquet": pa.table({"id": [1], "ID": [2]})})
    with pytest.raises(InvalidArgument, match="if case does not matter"):
        surveyed(tmp_path, "id")


def test_a_name_in_another_spelling_is_taken(tmp_path: Path) -> None:
    write(tmp_path, {"a.parquet": pa.table({"ID": [2, 3]})})
    assert surveyed(tmp_path, "id").columns[0].num_values == 2


def test_no_files_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="no Parquet files"):
        surveyed(tmp_path, "id")


def test_files_that_are_all_broken_are_an_error(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.parquet").write_bytes(b"nothing that could be read as Parquet")
    with pytest.raises(InvalidArgument, match="none of the 2 files can be read; a"):
        surveyed(tmp_path, "id")


def test_what_a_refresh_adds_need_not_have_the_column(table: Path) -> None:
    found = surveyed(table, "nothing", strict=False)
    assert [(one.num_files, one.num_values, one.file_bytes) for one in found.columns] == [(0, 0, 0)]


def test_a_name_that_is_no_utf8_is_a_reason(tmp_path: Path) -> None:
    write(tmp_path, {"a.parquet": pa.table({"id": [1]})})
    os.rename(tmp_path / "a.parquet", os.fsencode(tmp_path) + b"/\xff.parquet")  # noqa: PTH104
    write(tmp_path, {"b.parquet": pa.table({"id": [1]})})
    found = surveyed(tmp_path, "id")
    assert [one.reason for one in found.left_out] == ["its name is no UTF-8"]
    assert found.columns[0].num_files == 1


def test_a_file_that_is_gone_is_a_reason(table: Path) -> None:
    files = [*list_files(str(table)), FileId("gone.parquet", 1, 1)]
    found = surveyed(table, "id", files=files)
    assert {one.path: one.reason for one in found.left_out}["gone.parquet"] == (
        "No such file or directory"
    )


def test_an_index_that_is_too_large_is_refused_with_figures(table: Path) -> None:
    with pytest.raises(InvalidArgument) as error:
        surveyed(table, "id", "email", max_total_bytes=1000)
    assert error.value.problem == (
        "the index of 5 files may have up to 8,400 bytes (id 4,200 bytes, email 4,200 bytes), "
        "and 1,000 bytes are allowed"
    )
    assert "distinct values" in error.value.remedy


@pytest.mark.parametrize("origin", ["values", "embedded", "auto"])
@pytest.mark.parametrize("max_file_bytes", [128, 1 << 20])
def test_what_is_built_is_no_larger_than_was_estimated(
    origin: Origin, max_file_bytes: int, tmp_path: Path
) -> None:
    root = tmp_path / "t"
    for number, count in enumerate([1, 10, 100, 3000]):
        options = {"bloom_filter_options": {"x": {"ndv": 500}}} if number % 2 else {}
        file = {f"{number}.parquet": pa.table({"x": np.arange(count)})}
        write(root, file, row_group_size=500, **options)
    (found,) = surveyed(root, "x", max_file_bytes=max_file_bytes, origin=origin).columns
    plan = ColumnPlan(name="x", fpp=0.01, max_bytes=max_file_bytes, global_blocks=None)
    tasks, how = planned(root, tmp_path, [plan], origin=origin)
    build_group(tasks, how)
    import pyarrow.parquet as pq

    paths = (tmp_path / "ix").rglob("part-*")
    built = sum(sum(pq.read_table(path)["numBytes"].to_pylist()) for path in paths)
    assert 0 < built <= found.file_bytes
