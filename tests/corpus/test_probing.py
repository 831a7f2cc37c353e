"""Every file of the corpus is asked for everything; well-formed ones for values that are in them.

Hostile files may be refused, with a typed error, or answer as they like; statistics of fuzzed files
contradict their values on purpose. No exception of any other kind comes out, and no value of a
well-formed file is ruled out where it is. Of files without filters the tests draw one shard, and
the torture takes all of them; pyarrow reads a part of these.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter.errors import FileProblem, MalformedFilter
from parquet_bloomwriter.predicate.expression import Comparison
from parquet_bloomwriter.probing.verdict import Verdict
from parquet_bloomwriter.verbs.bloom_file import BloomFile
from parquet_bloomwriter.verbs.probe import probe
from tests.corpus.test_every_file import SHARDS
from tests.support.asking import found_in
from tests.support.manifest import entries, file_of
from tests.support.workers import Crash, work

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.workers import Task

pytestmark = pytest.mark.shares

PART = 2
"""Of normal files without filters, one of so many is read by pyarrow."""

DUCKDB = "duckdb__duckdb/data/parquet-testing"
TESTING = "apache__parquet-testing/data"
CLICKHOUSE = "Altinity__clickhouse-regression/parquet/data"

ABORTS_PYARROW_TOLERATED = {"fuzz", "malformed"}


def outcomes(tasks: list[Task]) -> list[Task]:
    """What each file said; none may crash the process."""
    answers = list(work("tests.support.probing", tasks))
    assert [answer for answer in answers if isinstance(answer, Crash)] == []
    return [answer for answer in answers if not isinstance(answer, Crash)]


def test_every_file_answers_or_is_refused(corpus_dir: Path) -> None:
    answers_or_is_refused(secrets.randbelow(SHARDS), corpus_dir)


def answers_or_is_refused(shard: int, corpus_dir: Path) -> None:
    """Assert it of one shard of the files."""
    chosen = [entry for entry in entries(corpus_dir)[shard::SHARDS] if not entry.num_filters]
    readable = [entry.kind == "normal" and entry.pyarrow_reads for entry in chosen]
    asked = outcomes(
        [
            {
                "path": str(file_of(corpus_dir, entry.path)),
                "values": is_readable and place % PART == 0,
            }
            for place, (entry, is_readable) in enumerate(zip(chosen, readable, strict=True))
        ]
    )
    assert {one["path"]: one["problems"] for one in asked if one["problems"]} == {}
    refused = {entry.path for entry, one in zip(chosen, asked, strict=True) if one["refused"]}
    errors = {cls.__name__ for cls in FileProblem.__subclasses__()}
    assert {one["refused"] for one in asked} <= {"", *errors}
    assert refused.isdisjoint(
        {entry.path for entry, reads in zip(chosen, readable, strict=True) if reads}
    )
    assert sum(one["num_lookups"] for one in asked) > 250
    assert sum(one["num_probes"] for one in asked) > 500
    assert sum(one["num_parts"] for one in asked) > 0


def test_every_value_of_every_filter_might_match(corpus_dir: Path) -> None:
    chosen = [entry for entry in entries(corpus_dir) if entry.num_filters]
    tasks = [
        {"path": str(file_of(corpus_dir, entry.path)), "values": entry.pyarrow_reads}
        for entry in chosen
    ]
    asked = outcomes(tasks)
    assert {one["path"]: one["problems"] for one in asked if one["problems"]} == {}
    assert [one["refused"] for one in asked] == [""] * len(chosen)
    assert sum(one["num_filters"] for one in asked) > 50
    assert sum(one["num_lookups"] for one in asked) > 5000
    useful = [one for one in asked if one["evidence"].get("NOT_BY_BLOOM")]
    assert len(useful) >= 2  # The others have one row group, or cannot be read.


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (f"{DUCKDB}/bloom_filter_bad_length_range.parquet", "the Bloom filter header"),
        (f"{DUCKDB}/bloom_filter_bad_numbytes.parquet", "the Bloom filter header"),
        (f"{DUCKDB}/bloom_filter_short_numbytes.parquet", "the footer gives it 528 bytes"),
        (f"{CLICKHOUSE}/bloom/boolean_bloom.gz.parquet", "BOOLEAN"),
    ],
)
def test_untrustworthy_filters(path: str, reason: str, corpus_dir: Path) -> None:
    file = file_of(corpus_dir, path)
    with BloomFile(file) as opened:
        names = [f"#{ordinal}" for ordinal in range(len(opened.columns))]
        errors = [(name, error) for name in names if (error := _error_of(opened, name))]
        for name, error in errors:
            assert reason in error.problem
            assert (error.path, error.row_group) == (str(file), 0)
            for values in (range(10), range(100)):
                assert found_in(opened, name, values).all()
    assert errors


def _error_of(file: BloomFile, name: str) -> MalformedFilter | None:
    try:
        file.filter(0, name)
    except MalformedFilter as error:
        return error
    return None


def test_a_filter_without_a_length_is_used(corpus_dir: Path) -> None:
    for name in ("encoding_stats", "encoding_with_length"):
        path = file_of(corpus_dir, f"{TESTING}/data_index_bloom_{name}.parquet")
        with BloomFile(path) as file:
            (column,) = file.columns
            assert file.might_contain(column, "Hello") is True
            assert file.might_contain(column, "nothing like it") is False
        (found,) = probe(path, Comparison(column, "=", "Hello")).files
        assert found.verdict is Verdict.MIGHT_MATCH
