"""The hand-picked files, one hazard each, and what becomes of them.

`hazards.csv` says for each: the outcome, new filters, old ones found to be complete, old ones that
had to be replaced, and a part of the reason given. That the bytes of everything else are preserved,
that filters hold every value and that taking them out restores the file are checks of
`support.rewriting`, and would be problems.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from parquet_bloomwriter import ColumnNotFound, Status, bloomify, repair, strip
from tests.support import compact
from tests.support.manifest import entries, file_of
from tests.support.rewriting import PLACEMENTS
from tests.support.workers import Crash, Task, work

pytestmark = pytest.mark.shares

with (Path(__file__).parent / "hazards.csv").open(newline="", encoding="utf-8") as rows:
    HAZARDS = {row["path"]: row for row in csv.DictReader(rows)}

PEAK_BYTES = 512 << 20
TESTING = "apache__parquet-testing/data"
DUCKDB = "duckdb__duckdb/data/parquet-testing"
CLICKHOUSE = "Altinity__clickhouse-regression/parquet/data"


@pytest.fixture(scope="module")
def outcomes(corpus_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Task | Crash]:
    """Return what became of each file, by its path in the corpus."""
    tasks = [{"path": str(file_of(corpus_dir, path))} for path in HAZARDS]
    answers = work("tests.support.rewriting", tasks, str(tmp_path_factory.mktemp("scratch")))
    return dict(zip(HAZARDS, answers, strict=True))


@pytest.mark.parametrize("path", HAZARDS)
def test_hazard(path: str, outcomes: dict[str, Task | Crash]) -> None:
    outcome, expected = outcomes[path], HAZARDS[path]
    assert not isinstance(outcome, Crash)
    assert outcome["problems"] == []
    assert outcome["status"] == dict.fromkeys(PLACEMENTS, expected["outcome"])
    counts = {key: int(expected[key]) for key in ("built", "kept", "replaced")}
    assert _counts(outcome) == counts
    assert expected["says"] in "\n".join([outcome["reason"], *outcome["skipped"]])
    assert outcome["peak_bytes"] < PEAK_BYTES


def test_every_hand_picked_file_is_in_the_table(corpus_dir: Path) -> None:
    assert set(HAZARDS) == {entry.path for entry in entries(corpus_dir) if entry.hazard}


def test_empty_filters_of_boolean_columns_are_distrusted_and_can_be_stripped(
    corpus_dir: Path,
) -> None:
    data = file_of(corpus_dir, f"{CLICKHOUSE}/bloom/boolean_bloom.gz.parquet").read_bytes()
    (column,) = bloomify(data).columns
    assert [chunk.status for chunk in column.chunks] == [Status.SKIPPED]
    stripped = strip(data)
    assert (stripped.num_filters, stripped.left_bytes) == (1, 0)
    assert stripped.data is not None
    assert compact.filters_of(compact.footer_of(stripped.data)) == {}
    assert stripped.size_after < stripped.size_before


@pytest.mark.parametrize("length", ["missing", "there"])
def test_missing_length_is_filled_in(length: str, corpus_dir: Path) -> None:
    name = {"missing": "encoding_stats", "there": "encoding_with_length"}[length]
    path = file_of(corpus_dir, f"{TESTING}/data_index_bloom_{name}.parquet")
    data = path.read_bytes()
    report = repair(data)
    if length == "there":
        assert (report.written, report.num_repaired) == (False, 0)
        return
    assert report.num_repaired == 1
    assert report.data is not None
    ((before, none),) = compact.filters_of(compact.footer_of(data)).values()
    ((offset, found),) = compact.filters_of(compact.footer_of(report.data)).values()
    assert (none, offset) == (None, before)
    header = compact.decode(data[offset:])
    assert found == header[1] + header[0][1]


def test_replacing_builds_every_filter_anew(corpus_dir: Path) -> None:
    data = file_of(corpus_dir, f"{TESTING}/data_index_bloom_encoding_stats.parquet").read_bytes()
    replaced = bloomify(data, replace=True)
    assert replaced.num_built == 1
    assert replaced.data is not None
    assert strip(replaced.data).data == strip(data).data


@pytest.mark.parametrize("path", ["bloom_filter_bad_length_range", "bloom_filter_bad_numbytes"])
def test_untrustworthy_filters_are_not_repaired(path: str, corpus_dir: Path) -> None:
    data = file_of(corpus_dir, f"{DUCKDB}/{path}.parquet").read_bytes()
    report = repair(data)
    assert report.num_repaired == 0
    assert len(report.unrepaired) == 30


def test_bytes_that_may_not_be_the_filters_stay(corpus_dir: Path) -> None:
    data = file_of(corpus_dir, f"{DUCKDB}/bloom_filter_short_numbytes.parquet").read_bytes()
    report = strip(data)
    assert (report.num_filters, report.left_bytes) == (1, 272)


def test_duplicate_names_are_chosen_by_ordinal(corpus_dir: Path) -> None:
    data = file_of(corpus_dir, f"{DUCKDB}/bug13053-2.parquet").read_bytes()
    names = [column.name for column in bloomify(data, dry_run=True).columns]
    twice = next(name for name in names if names.count(name) > 1)
    with pytest.raises(ColumnNotFound, match="2 columns are named"):
        bloomify(data, [twice])
    last = len(names) - 1
    report = bloomify(data, [f"#{last}"])
    assert report.data is not None
    filters = compact.filters_of(compact.footer_of(report.data))
    assert {column for _, column in filters} == {last}


@pytest.mark.parametrize(
    "path",
    [
        f"{CLICKHOUSE}/datatypes/bug4859.parquet",  # dots in names
        f"{DUCKDB}/bug13053.parquet",  # names that differ in case only
        f"{DUCKDB}/silly-names.parquet",  # empty and non-ASCII names
    ],
)
def test_odd_names_are_found_as_they_are_shown(path: str, corpus_dir: Path) -> None:
    data = file_of(corpus_dir, path).read_bytes()
    for column in bloomify(data, dry_run=True).columns:
        (found,) = bloomify(data, [column.name], dry_run=True).columns
        assert found.ordinal == column.ordinal


def _counts(outcome: Task) -> dict[str, int]:
    return {
        "built": len(outcome["built"]),
        "kept": outcome["kept"],
        "replaced": outcome["replaced"],
    }
