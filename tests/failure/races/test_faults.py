"""A share of all tries: the same ones every time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from campaigns.harness import Plan, run, spread
from campaigns.races.campaign import Races

if TYPE_CHECKING:
    from collections.abc import Iterator


pytestmark = pytest.mark.xdist_group("faults")  # what is made once takes seconds


@pytest.fixture(scope="module")
def races(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Races]:
    with Races(Plan(scratch=tmp_path_factory.mktemp("races"))) as opened:
        yield opened


PLACES = range(27)


@pytest.mark.parametrize("place", PLACES)
def test_a_share_of_the_tries(races: Races, place: int) -> None:
    group = races.groups[place]
    names = spread(races.names(group), group.num_quick)
    found = run(races, names)[group.what]
    assert found.problems == []
    assert found.survived == len(names) > 0


def test_all_groups_are_tried(races: Races) -> None:
    assert len(races.groups) == len(PLACES)
