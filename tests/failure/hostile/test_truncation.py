"""Files that lost bytes are refused, or read as far as they are there; a fixed share."""

from __future__ import annotations

from tests.torture.hostile.filters_judge import REFUSED, RIGHT
from tests.torture.hostile.filters_kinds import CUT_KINDS
from tests.torture.hostile.filters_running import tally, tasks_of
from tests.torture.hostile.truncation_files import count_cuts, smalls

_BOMB = {"path": "holes:59232-59233:1"}
"""Bytes that come to lie where a page header was, and claim two gigabytes."""

_TRIES = {"lengths": 2500, "glued": 900, "holes": 900}


def test_files_that_lost_bytes_are_refused_or_read_right() -> None:
    tasks = [task for kind in CUT_KINDS for task in tasks_of(kind, _TRIES[kind], seed=0)]
    tasks.append(_BOMB)
    found = tally(tasks, processes=1)
    assert [problem for one in found.values() for problem in one.problems] == []
    assert all(found[kind].tried >= _TRIES[kind] for kind in CUT_KINDS)
    assert found["lengths"].outcomes.keys() == {REFUSED}
    assert found["holes"].outcomes[RIGHT] > found["holes"].outcomes[REFUSED] > 0


def test_there_are_thirty_files_and_all_their_lengths() -> None:
    assert len(smalls()) == 30
    assert len({small.file.name for small in smalls()}) == 30
    assert count_cuts("lengths") == sum(len(small.file.data) for small in smalls())
