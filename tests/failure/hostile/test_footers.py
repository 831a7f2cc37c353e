"""Mutated footers: every verb succeeds or says what is wrong, and what succeeds is right."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest

from campaigns.harness import Plan, run
from campaigns.hostile.bases import bases
from campaigns.hostile.footers import mutant
from campaigns.hostile.footers_campaign import FOOTERS, Footers, cases_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.shares

SHARE = 1_000
"""Of all in `make torture`, drawn anew in each run; `make sanitize` tries others."""


def test_mutated_footers_end_well(tmp_path: Path) -> None:
    first = secrets.randbelow(FOOTERS - SHARE)
    with Footers(Plan(scratch=tmp_path)) as footers:
        found = run(footers, cases_of(range(first, first + SHARE)))
    assert [problem for one in found.values() for problem in one.problems] == []
    assert found["verbs"].tried == SHARE
    assert found["verbs"].seen["rewritten"] > SHARE / 8
    assert found["verbs"].seen["bloomify MalformedFile"] > SHARE / 8
    assert found["pyarrow"].tried == found["duckdb"].tried > 10
    assert found["read_table"].tried == SHARE / 25


def test_a_number_always_gives_the_same_file() -> None:
    numbers = range(1000, 1100)
    first = [mutant(number).data for number in numbers]
    assert [mutant(number).data for number in numbers] == first
    assert len(set(first)) == len(numbers)


def test_every_mutant_differs_from_its_base() -> None:
    for made in map(mutant, range(500)):
        assert not made.data.startswith(made.base.body + made.base.footer)


def test_bases_are_of_every_writer() -> None:
    assert len(bases()) > 30
    assert sum(base.num_filters > 0 for base in bases()) >= 8
    assert {base.name.split("/")[0] for base in bases()} == {
        "chdb", "datafusion", "duckdb", "fastparquet", "polars", "pyarrow", "spark"
    }  # fmt: skip
