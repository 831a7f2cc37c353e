"""A share of all tries: the same ones every time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.torture.races.catalogue import Hands, groups, hands
from tests.torture.races.tries import attempt_all, spread

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def given() -> Iterator[Hands]:
    with hands() as found:
        yield found


PLACES = range(27)


@pytest.mark.parametrize("place", PLACES)
def test_a_share_of_the_tries(given: Hands, tmp_path: Path, place: int) -> None:
    group = groups(given)[place]
    found = attempt_all(spread(group.tries(), group.num_quick), tmp_path)
    assert found.problems == ()
    assert found.tried > 0


def test_all_groups_are_tried(given: Hands) -> None:
    assert len(groups(given)) == len(PLACES)
