"""Columns that stand in paths: what they decide, and what they leave open."""

# ruff: noqa: ANN401, DTZ001, FBT001  literals of any kind, moments without a zone
from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parquet_bloomwriter import ColumnNotFound, probe
from parquet_bloomwriter.predicate.expression import Comparison, IsIn, IsNull, Not
from parquet_bloomwriter.probing.partitions import outcome, partition_of

if TYPE_CHECKING:
    from pathlib import Path

NULL = "__HIVE_DEFAULT_PARTITION__"


def verdict(text: str, operator: Any, literal: Any) -> bool | None:
    """What the folder `k=TEXT` says of `k OPERATOR literal`; None if it leaves that open."""
    path = f"k={quote(text, safe='')}/x.parquet"
    partition = partition_of(path, path, ["k"])
    assert partition is not None
    condition = IsIn("k", literal) if operator == "in" else Comparison("k", operator, literal)
    return outcome(partition.decided(condition, ()))


@pytest.mark.parametrize(
    ("text", "operator", "literal", "expected"),
    [
        ("2023", "=", 2023, True),
        ("2023", "=", 2022, False),
        ("02023", "=", 2023, None),
        ("2023", "=", Decimal("2023.0"), None),
        ("2023", ">", 2022.5, True),
        ("2023", "in", (1, "x", 2023), True),
        ("2023", "in", (1, 2), False),
        ("2023", "in", (1, date(2023, 1, 1)), None),
        ("2023", "=", "2023", True),
        ("2023", "=", "2024", False),
        ("02023", "=", "2023", None),
        ("0x10", "=", "16", None),
        ("0x10", ">=", "16", None),
        ("0b11", "=", "3", None),
        ("2020-1-1", "=", "2020-01-01", None),
        ("12020-01-01", ">", "2020-01-01", None),
        ("epoch", "=", "1970-01-01", None),
        ("1_000", "=", "1000", None),
        ("2020/01/01", "=", "2020-01-01", None),
        ("5.4", "=", 5, None),
        ("5.6", "=", 6, None),
        ("5.4", "=", 7, False),
        ("b7", "=", "c7", False),
        ("2023", "=", " 2023", None),
        ("10", "<", "9", None),
        ("10", "<", "20", True),
        ("9007199254740993", "=", 9007199254740992.0, None),
        ("0.1", "=", 0.1, None),
        ("abc", "=", 5, None),
        ("abc", "=", "abd", False),
        ("1e400", "=", 10**400, None),
        ("5", "=", 10**500, None),
        ("5", "=", float("nan"), None),
        ("nan", "=", float("nan"), None),
        ("2024-01-31", "=", date(2024, 1, 31), True),
        ("2024-01-31", "<", date(2024, 1, 31), False),
        ("2024-01-31", "=", datetime(2024, 1, 31), True),
        ("2024-01-31", "=", datetime(2024, 1, 31, 12), None),
        ("2024-01-31", "=", datetime(2024, 1, 31, tzinfo=UTC), None),
        ("2024-01-31", "=", "2024-01-31 12:00:00", None),
        ("2024-01-31 12:00:00", "=", "2024-01-31T12:00:00", None),
        ("2024-01-31", "=", "2024-02-01", False),
        ("12:00", "=", "12:00:00", None),
        ("12:00", "=", time(12), None),
        ("true", "=", True, True),
        ("True", "=", False, False),
        ("true", "=", "TRUE", None),
        ("1", "=", True, None),
        ("a b/ü", "=", "a b/ü", None),  # it may be spelled so, or percent-encoded
        ("a", "=", b"a", None),
        ("5", "=", None, False),
    ],
)
def test_a_value_without_a_type(
    text: str, operator: str, literal: Any, expected: bool | None
) -> None:
    assert verdict(text, operator, literal) is expected


def test_nulls() -> None:
    partition = partition_of("t/k=x/f.parquet", f"k={NULL}/f.parquet", ["k"])
    assert partition is not None

    assert outcome(partition.decided(IsNull("k"), ())) is True
    assert outcome(partition.decided(Not(IsNull("k")), ())) is False
    assert outcome(partition.decided(Comparison("k", "!=", 5), ())) is False
    empty = partition_of("", "k=/f.parquet", ["k"])
    assert empty is not None
    assert outcome(empty.decided(IsNull("k"), ())) is None
    assert partition_of("", "k/f=1.parquet", ["k", "f"]) is None
    for text in ("null", "NULL"):  # to DuckDB; text to others
        partition = partition_of("", f"k={text}/f.parquet", ["k"])
        assert partition is not None
        assert outcome(partition.decided(IsNull("k"), ())) is None
        assert outcome(partition.decided(Comparison("k", "=", text), ())) is None
        assert outcome(partition.decided(Comparison("k", "=", "a"), ())) is False


def test_numbers_that_polars_compares_as_text() -> None:
    for text, operator, literal, found in (
        ("01", "=", 1, None),
        ("01", "!=", 1, None),
        ("1", "!=", 1, False),
        ("1", "=", 1, True),
        ("1.0", "!=", 1, None),
        ("2", "=", 1, False),
        ("01", "<", 1, False),
    ):
        assert verdict(text, operator, literal) is found, (text, operator)


VALUES = st.one_of(
    st.integers(-5, 5).map(str),
    st.sampled_from(
        ["2023", "01", "1.5", "a", "a b", "x%2Fy", "1=2", "2024-01-31", "true", "é", NULL]
    ),
)
LITERALS = st.sampled_from(
    [
        0,
        1,
        2023,
        1.5,
        -3,
        "1",
        "01",
        "a",
        "a b",
        "x%2Fy",
        "x/y",
        "1=2",
        "2023",
        "é",
        "2024-01-31",
        "b",
    ]
)


@settings(max_examples=30)
@given(
    st.lists(VALUES, min_size=1, max_size=4, unique=True),
    st.sampled_from(["=", "!=", "<", ">="]),
    LITERALS,
)
@example(["01", "a"], "=", "1")
@example(["x%2Fy"], "=", "x/y")
def test_no_file_is_excluded_in_which_a_reader_finds_rows(
    tmp_path_factory: pytest.TempPathFactory, values: list[str], operator: str, literal: Any
) -> None:
    root = tmp_path_factory.mktemp("table")
    for place, value in enumerate(values):
        (root / f"k={quote(value, safe='')}").mkdir()
        pq.write_table(
            pa.table({"row": [place]}), root / f"k={quote(value, safe='')}" / "x.parquet"
        )
    report = probe(str(root), [("k", operator, literal)])
    kept = {values[int(row)] for file in report.might_match for row in _rows(file.path)}

    for read in (_by_pyarrow, _by_duckdb):
        assert {values[row] for row in read(root, operator, literal)} <= kept


def _rows(path: str | None) -> list[int]:
    rows: list[int] = pq.ParquetFile(path).read()["row"].to_pylist()
    return rows


def _by_pyarrow(root: Path, operator: str, literal: Any) -> list[int]:
    try:
        found: list[int] = pq.read_table(root, filters=[("k", operator, literal)])[
            "row"
        ].to_pylist()
    except (pa.ArrowException, NotImplementedError):
        return []
    return found


def _by_duckdb(root: Path, operator: str, literal: Any) -> list[int]:
    files = f"read_parquet('{root}/*/*.parquet', hive_partitioning=true)"
    text = f"SELECT row FROM {files} WHERE k {operator} ?"  # noqa: S608  of this test
    try:
        return [row for (row,) in duckdb.execute(text, [literal]).fetchall()]
    except duckdb.Error:
        return []


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """Two years of two files each, and a file without a year."""
    for year in ("2022", "2023", NULL):
        for part in range(2):
            folder = tmp_path / "t" / f"year={year}"
            folder.mkdir(parents=True, exist_ok=True)
            table = pa.table({"id": [part * 10, part * 10 + 1]})
            pq.write_table(table, folder / f"{part}.parquet")
    return tmp_path / "t"


@pytest.mark.parametrize(
    ("condition", "opened", "kept"),
    [
        ("year = 2023", 2, 2),
        ("year = 2023 AND id = 11", 2, 1),
        ("year = 2023 OR id = 11", 6, 4),
        ("year IS NULL AND id < 5", 2, 1),
        ("NOT (year <> 2022 OR id <> 0)", 2, 1),
        ("year = 1999", 0, 0),
        ("year > 1 AND abs(id) = 99", 4, 4),
    ],
)
def test_files_that_paths_exclude_are_not_opened(
    warehouse: Path, condition: str, opened: int, kept: int
) -> None:
    report = probe(warehouse, condition)

    assert len(report.might_match) == kept
    assert report.num_excluded == 6 - opened
    assert sum(file.num_row_groups > 0 for file in report.files) == opened
    assert [file.path for file in report.files] == sorted(map(str, warehouse.rglob("*.parquet")))


def test_a_pattern_excludes_too(warehouse: Path) -> None:
    report = probe(f"{warehouse}/*/*.parquet", "year = 2023")

    assert len(report.might_match) == 2
    (check,) = report.files[0].row_groups[0].checks
    assert (check.text, check.reason) == ("year = 2023", "the value in the path does not meet it")


def test_a_mistyped_name_is_told_although_paths_exclude_everything(warehouse: Path) -> None:
    with pytest.raises(ColumnNotFound, match='"idd"'):
        probe(warehouse, "year = 1999 AND idd = 1")


def test_a_mistyped_name_of_a_folder(warehouse: Path) -> None:
    with pytest.raises(ColumnNotFound, match="Did you mean year") as caught:
        probe(warehouse, "yaer = 2023")
    assert caught.value.problem == 'there is no column "yaer"'
    with pytest.raises(ColumnNotFound, match=r"The columns are: id, .*year"):
        probe(warehouse, "qqqqq = 2023")


def test_the_path_hides_a_stored_column_of_the_same_name(tmp_path: Path) -> None:
    folder = tmp_path / "t" / "year=2023"
    folder.mkdir(parents=True)
    pq.write_table(
        pa.table({"year": pa.array([2022], pa.int32()), "id": [1]}), folder / "x.parquet"
    )

    assert len(probe(tmp_path / "t", "year = 2023").might_match) == 1
    assert len(probe(tmp_path / "t", "year = 2022").might_match) == 0
    # Given by itself, it has the path's year to some readers, and its own to others.
    for year in (2022, 2023):
        assert len(probe(folder / "x.parquet", f"year = {year}").might_match) == 1
        assert len(probe(folder, f"year = {year}").might_match) == 1
    assert len(probe(folder, "year = 2021").might_match) == 0
    for year in (2022, 2023):
        assert len(probe(folder / "x.parquet", f"NOT year <> {year}").might_match) == 1
