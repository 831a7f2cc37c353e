"""Damaged filters and lying sources lose no row; a fixed share of what `make torture` tries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from campaigns.harness import Plan, run
from campaigns.hostile import filters_judge
from campaigns.hostile.filters_bits import LOST, flips
from campaigns.hostile.filters_campaign import FILTER_KINDS, Filters, cases_of, count
from campaigns.hostile.filters_damage import damage
from campaigns.hostile.filters_judge import RIGHT, UNSURE, Wrong, judge
from parquet_bloomwriter.verbs.probe import probe

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloomwriter.probing.report import ProbeReport

pytestmark = pytest.mark.shares

_TRIES = {"sources": 100, "bits": 100}
_OTHERS = 25
"""Tries of each kind that is not named above."""


def test_damaged_filters_lose_no_row(tmp_path: Path) -> None:
    cases = [case for kind in FILTER_KINDS for case in cases_of(kind, _TRIES.get(kind, _OTHERS))]
    with Filters(Plan(scratch=tmp_path)) as filters:
        found = run(filters, cases)
    assert [problem for one in found.values() for problem in one.problems] == []
    assert found.keys() == set(FILTER_KINDS)
    assert all(one.tried >= _TRIES.get(kind, _OTHERS) for kind, one in found.items())
    assert all(one.survived == one.tried for one in found.values())
    assert found["bits"].seen[LOST] > 0
    unsure = {kind for kind, one in found.items() if one.seen[UNSURE]}
    assert unsure <= {"sizes", "header-bits"}


def test_every_kind_has_many_cases() -> None:
    assert all(count(kind) > 3000 for kind in FILTER_KINDS)
    assert len(flips()) == count("bits")


def test_the_judge_notices_a_lost_row_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = damage("header-bits").case(0)
    assert judge(case, "inspect", tmp_path) == RIGHT
    honest = probe

    def forgetful(source: bytes, filters: object) -> ProbeReport:
        report = honest(source, filters)  # type: ignore[arg-type]
        object.__setattr__(report.files[0], "surviving", ())
        return report

    monkeypatch.setattr(filters_judge, "probe", forgetful)
    with pytest.raises(Wrong, match="is ruled out"):
        judge(case, "inspect", tmp_path)
