"""A share of all tries, others in each run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from campaigns.harness import Plan, run
from campaigns.races.campaign import Races
from tests.support.draws import drawn

if TYPE_CHECKING:
    from pathlib import Path


def test_a_share_of_the_tries(tmp_path: Path) -> None:
    with Races(Plan(scratch=tmp_path)) as races:
        assert len(races.groups) == 27
        for group in races.groups:
            names = drawn(races.names(group), group.num_quick)
            found = run(races, names)[group.what]
            assert found.problems == []
            assert found.survived == len(names) > 0
