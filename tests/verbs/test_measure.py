"""What an engine does for a condition, without filters and with them: real engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import ColumnNotFound, InvalidArgument, bloomify, measure, strip
from parquet_bloomwriter.verbs.engines import queries

if TYPE_CHECKING:
    from pathlib import Path

ROWS, ROW_GROUPS = 40_000, 4


def write(path: Path, *, begin: int = 0) -> Path:
    ids = [begin + n * 7_919 % 200_003 for n in range(ROWS)]
    table = pa.table({"id": ids, "email": [f"o'user {one}@mail.example" for one in ids]})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=ROWS // ROW_GROUPS, use_dictionary=False)
    return path


def state(folder: Path) -> dict[str, bytes]:
    return {str(one): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def test_a_file_before_and_after(tmp_path: Path) -> None:
    """Every engine here finds the same row, and reads less where it says what it reads."""
    file = write(tmp_path / "data" / "it's a file #1.parquet")
    known = state(tmp_path)
    (tmp_path / "copies").mkdir()
    report = measure(
        file,
        "email = 'o''user 7919@mail.example' -- a comment",
        engines=["duckdb", "datafusion", "polars", "bloomify"],
        repeats=1,
        folder=tmp_path / "copies",
    )
    assert state(tmp_path) == known
    assert [one.problem for one in report.engines] == [""] * 4
    assert (report.columns, report.num_files, report.num_all_files) == (("email",), 1, 1)
    assert report.size_before == file.stat().st_size
    assert report.filter_bytes == report.size_after - report.size_before > 0
    assert report.copied_bytes == report.size_after
    assert report.build_seconds > 0
    for one in report.engines:
        before, after = one.before, one.after
        assert before is not None
        assert after is not None
        assert (before.num_rows, after.num_rows) == (1, 1)
        if one.engine == "polars":  # maps files into memory, and asks no filters
            assert (after.bytes_read, after.row_groups_read) == (None, None)
            continue
        assert (before.row_groups_read, before.num_row_groups) == (ROW_GROUPS, ROW_GROUPS)
        assert (after.row_groups_read, after.num_row_groups) == (1, ROW_GROUPS)
        if before.bytes_read is not None:
            assert after.bytes_read is not None
            assert 0 < after.bytes_read < before.bytes_read
        assert "1 of 4 row groups instead of 4, " in one.sentence
        assert "the filters of email take " in one.sentence
    assert str(report).splitlines() == [one.sentence for one in report.engines]


def test_filters_that_are_there_are_taken_out_before(tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet")
    plain = file.stat().st_size
    bloomify(file, ["id"])
    report = measure(file, "id = 7919", engines="duckdb", repeats=1)
    (duckdb,) = report.engines
    assert duckdb.before is not None
    assert duckdb.after is not None
    assert (duckdb.before.row_groups_read, duckdb.after.row_groups_read) == (ROW_GROUPS, 1)
    assert (report.size_before, report.build_seconds) == (plain, 0)
    assert " to add" not in duckdb.sentence
    strip(file)
    assert file.stat().st_size == plain


def test_a_folder_up_to_the_limit(tmp_path: Path) -> None:
    """Folders of partitions stay, and a file without the column is the same in both."""
    for n in range(3):
        write(tmp_path / f"kind={n}" / "part", begin=200_003 * n)
    (tmp_path / "kind=0" / "part").rename(tmp_path / "kind=0" / "part-0")
    write(tmp_path / "kind=2" / "part.parquet", begin=10**9)
    pq.write_table(pa.table({"other": [1]}), tmp_path / "kind=2" / "z.parquet")
    size = (tmp_path / "kind=0" / "part-0").stat().st_size
    for engine, limit, num in (("duckdb", 3 * size // 2, 1), ("bloomify", 10 * size, 5)):
        report = measure(
            tmp_path, "id IN (7919, 207922) AND kind >= 0", engines=engine, limit=limit, repeats=1
        )
        assert (report.num_files, report.num_all_files) == (num, 5)
        (found,) = report.engines
        assert (found.problem, report.has_wrong) == ("", False)
        assert found.after is not None
        assert found.after.num_rows == min(num, 2)
    with pytest.raises(InvalidArgument, match="more than the limit of 1,024 bytes"):
        measure(tmp_path, "id = 3", limit=1024)


def test_what_cannot_be_measured(tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet")
    refused: list[tuple[dict[str, Any], str]] = [
        ({"condition": "id > 3"}, "compares no column of the file with values by = or IN"),
        ({"condition": "id = = 3"}, "a query cannot be read as SQL"),
        ({"engines": "pyarrow"}, '"pyarrow" takes no condition in SQL'),
        ({"engines": "duckdbb"}, 'Did you mean "duckdb"'),
        ({"repeats": 0}, "0 runs are too few"),
    ]
    for given, message in refused:
        with pytest.raises(InvalidArgument, match=message):
            measure(file, **{"condition": "id = 3", **given})
    with pytest.raises(ColumnNotFound):
        measure(file, "id = 3", "idd")
    with pytest.raises(FileNotFoundError):
        measure(tmp_path / "b.parquet", "id = 3")
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / f"{0:020}.json").write_text("{}")
    with pytest.raises(InvalidArgument, match="this is a table"):
        measure(tmp_path, "id = 3")
    pq.write_table(pa.table({"flag": [True]}), file)
    with pytest.raises(InvalidArgument, match="no filter can be added to flag"):
        measure(file, "flag = true")


def test_an_engine_that_fails_and_one_that_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "a.parquet")
    report = measure(file, "id = 3 AND no_function(id)", "id", engines="duckdb", repeats=1)
    (duckdb,) = report.engines
    assert not report.is_complete
    assert (duckdb.before, duckdb.sentence) == (None, "")
    assert "no_function" in duckdb.problem
    asked = queries.measure

    def losing(*given: object, **options: Any) -> queries.Runs:  # noqa: ANN401
        found = asked(*given, **options)  # type: ignore[arg-type]
        found.runs[1]["rows"] = 0  # type: ignore[index]
        return found

    monkeypatch.setattr("parquet_bloomwriter.verbs.measure.measure_engine", losing)
    report = measure(file, "id = 7919", engines="duckdb", repeats=1)
    assert report.has_wrong
    assert "is WRONG on id = 7919: it counts 0 rows with filters, 1 without" in str(report)


@pytest.mark.spark
@pytest.mark.shares
def test_spark(tmp_path: Path) -> None:
    """The processor time is that of the Java process."""
    file = write(tmp_path / "a.parquet")
    (spark,) = measure(file, "id = 7919", engines="spark", repeats=1).engines
    assert spark.before is not None
    assert spark.after is not None
    assert (spark.before.num_rows, spark.after.num_rows) == (1, 1)
    assert spark.after.cpu_seconds > 0
