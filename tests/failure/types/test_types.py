"""A share of the matrix: every type by pyarrow and a few by each other writer, in every engine.

`docs/compatibility.md` is of the whole of it. That the comparison can fail is shown by filters that
lie: engines that use them lose rows, and that must be seen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from campaigns.types import matrix, writers
from campaigns.types.asking import Effort
from campaigns.types.campaign import results_of
from campaigns.types.cases import CASES
from campaigns.types.engines import SPARK_SETTINGS, light_pairs, spark_pair
from campaigns.types.judging import judge
from campaigns.types.page import page_of
from campaigns.types.rows import rows_of
from campaigns.types.samples import sample_of
from tests.support.draws import drawn
from tests.support.spark_session import local_session

if TYPE_CHECKING:
    from pathlib import Path

    from campaigns.types.samples import Sample

pytestmark = pytest.mark.shares

PLAN = matrix.Plan(share=0.01, layouts=False, lies=False)
EDGES = ("DOUBLE", "STRING", "DATE", "INT(64, unsigned)", "DECIMAL(38, 2)", "TIMESTAMP(ns)")
BY_SPARK = ("INT(64, signed)", "STRING", "DECIMAL(18, 2)")
OF_SPARK = ("DOUBLE", "BYTE_ARRAY", "INT96")
OTHERS = {
    "duckdb": ("UUID", "TIMESTAMP(us)", "TIME(us)", "DECIMAL(38, 2)", "MAP of STRING"),
    "datafusion": ("STRING", "FLOAT16", "DECIMAL(9, 2) as integer", "STRUCT of INT64"),
    "chdb": ("ENUM", "UUID", "DECIMAL(18, 2)", "FIXED_LEN_BYTE_ARRAY(5)"),
    "polars": ("TIME(ns)", "DATE", "DECIMAL(38, 2)", "LIST of STRING"),
    "fastparquet": ("INT(32, unsigned)", "BYTE_ARRAY", "INT96", "FLOAT"),
}
USED = {"duckdb", "datafusion", "chdb"}
"""Who uses filters; Spark too, see `test_spark`."""

LITTLE = Effort(before=(3, 2), after=(3, 10), off=(2, 2))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """Return a file of pyarrow with numbers."""
    folder = tmp_path_factory.mktemp("plain")
    return sample_of(writers.PyArrow(), CASES["INT(64, signed)"], folder)


def problems(found: matrix.Matrix) -> list[str]:
    """Return what filters changed, and what this package gets wrong."""
    return [problem for result in results_of(found, "") for problem in result.problems]


def test_types_of_pyarrow() -> None:
    """A third of the types, others in each run; `make torture` takes all."""
    cases = tuple(drawn(sorted(CASES), len(CASES) // 3))
    found = matrix.light_part(replace(PLAN, writers=("pyarrow",), cases=cases))
    assert problems(found) == []
    right = {one.case for one in found.judged if one.verdict == "right"}
    assert {*cases} - right <= {"ENUM", "INTERVAL"}


@pytest.mark.parametrize("writer", OTHERS)
def test_some_types_of_other_writers(writer: str) -> None:
    found = matrix.light_part(replace(PLAN, writers=(writer,), cases=OTHERS[writer]))
    assert problems(found) == []
    assert [one.problem for one in found.written] == [""] * len(OTHERS[writer])
    for case in OTHERS[writer]:
        verdicts = [one.verdict for one in found.judged if one.case == case]
        assert verdicts.count("right") >= 2, case


def test_special_values(tmp_path: Path) -> None:
    case = drawn(EDGES, 1)[0]
    sample = sample_of(writers.PyArrow(), CASES[case], tmp_path, "edges")
    assert {
        pair.name: judge(sample, pair, LITTLE, lies=False).changes for pair in light_pairs()
    } == {pair.name: () for pair in light_pairs()}, case


@pytest.mark.xdist_group("spark")
def test_spark(plain: Sample, tmp_path: Path) -> None:
    with local_session(SPARK_SETTINGS) as session:
        pair = spark_pair(session)
        assert judge(plain, pair, LITTLE).uses
        for case in OF_SPARK:
            read = judge(
                sample_of(writers.PyArrow(), CASES[case], tmp_path), pair, LITTLE, lies=False
            )
            assert (read.verdict, read.changes) == ("right", ())
        for case in BY_SPARK:
            sample = sample_of(writers.Spark(session), CASES[case], tmp_path)
            for other in light_pairs():
                assert judge(sample, other, LITTLE, lies=False).changes == ()


def test_who_uses_filters(plain: Sample) -> None:
    found = {pair.name: judge(plain, pair, LITTLE) for pair in light_pairs()}
    assert {name for name, one in found.items() if one.uses} == USED
    assert {one.verdict for one in found.values()} == {"right"}
    assert all(one.changes == () for one in found.values())


def test_filters_that_lie_are_seen(plain: Sample) -> None:
    lied_to = replace(plain, paths={**plain.paths, "after": plain.paths["lying"]})
    found = {pair.name: judge(lied_to, pair, LITTLE) for pair in light_pairs()}
    assert {name for name, one in found.items() if one.changes} == USED
    (change, *_) = found["duckdb"].changes
    assert change.endswith("1 became 0, push-down on")
    assert problems(matrix.Matrix(written=[], judged=[*found.values()], own=[]))


def test_absent_values_lie_between_those_that_are_there() -> None:
    for case in CASES.values():
        rows = rows_of(case, writers.GROUP_ROWS)
        assert not set(map(str, rows.present)) & set(map(str, rows.absent))
        assert sum(rows.counts) == rows.table["c"].length() - rows.table["c"].null_count
        if case.size > 2 * writers.GROUP_ROWS:
            assert len(rows.absent) >= 1000
            assert len(rows.present) >= 50


@pytest.fixture
def small() -> matrix.Matrix:
    """Return what two engines make of two types."""
    plan = replace(PLAN, writers=("pyarrow", "fastparquet"), cases=("BOOLEAN", "UUID"))
    return matrix.light_part(replace(plan, engines=("pyarrow", "duckdb")))


def test_the_page(small: matrix.Matrix) -> None:
    page = page_of(small, "")
    nobody = "-: DuckDB, DataFusion, chdb, Polars"
    assert f"| UUID | FLBA(16) UUID; {nobody}, fastparquet, Spark |" in page
    assert f"| BOOLEAN | BOOLEAN †; {nobody}, Spark |" in page
    assert "| UUID | ○ | - | - | - | ✗ | - | - |" in page
    assert "- fails (`ArrowNotImplementedError" in page
    assert "): UUID\n" in page
