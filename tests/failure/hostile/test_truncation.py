"""Files that lost bytes are refused, or read as far as they are there; a fixed share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from campaigns.harness import Plan, run
from campaigns.hostile.filters_campaign import CUT_KINDS, Filters, cases_of
from campaigns.hostile.filters_judge import REFUSED, RIGHT
from campaigns.hostile.truncation_files import count_cuts, smalls

if TYPE_CHECKING:
    from pathlib import Path

_BOMB = "holes/59232"
"""Bytes that come to lie where a page header was, and claim two gigabytes."""

_TRIES = {"lengths": 200, "glued": 75, "holes": 75}


def test_files_that_lost_bytes_are_refused_or_read_right(tmp_path: Path) -> None:
    cases = [case for kind in CUT_KINDS for case in cases_of(kind, _TRIES[kind])]
    with Filters(Plan(scratch=tmp_path)) as filters:
        found = run(filters, [*cases, _BOMB])
    assert [problem for one in found.values() for problem in one.problems] == []
    assert all(found[kind].tried >= _TRIES[kind] for kind in CUT_KINDS)
    assert found["lengths"].seen.keys() == {REFUSED}
    assert found["holes"].seen[RIGHT] > found["holes"].seen[REFUSED] > 0


def test_there_are_thirty_files_and_all_their_lengths() -> None:
    assert len(smalls()) == 30
    assert len({small.file.name for small in smalls()}) == 30
    assert count_cuts("lengths") == sum(len(small.file.data) for small in smalls())
