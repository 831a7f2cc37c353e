"""All tries, in groups: each a line of the table."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from campaigns.harness import spread
from campaigns.races import full_disks, limits, meddling, odd_paths, owners, writers
from campaigns.races.commands import Warm, powerless

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from campaigns.races.files import Tries

ROUNDS = 200
"""Of writers on one file."""

CROWDED_ROUNDS = 50
COLD_ROUNDS = 20
STEPS = {"add": 100}
OTHER_STEPS = 20
"""Steps of each command, spread evenly, before which somebody changes the file; the last of all
are always among them."""

LAST_STEPS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Hands:
    """What tries are done with."""

    warm: Warm
    powerless: Warm
    """Runs commands as a user who is not root."""

    scratch: Path
    """An empty folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Tries whose names begin alike."""

    key: str
    """How their names begin."""

    what: str
    """The line of the table."""

    tries: Callable[[], Tries]

    num_quick: int
    """How many of them are among the tests."""


@contextlib.contextmanager
def hands() -> Iterator[Hands]:
    """Begin the processes that run commands."""
    with (
        Warm() as warm,
        Warm(powerless()) as ordinary,
        tempfile.TemporaryDirectory(prefix="races-") as scratch,
    ):
        yield Hands(warm=warm, powerless=ordinary, scratch=Path(scratch))


def groups(with_: Hands) -> list[Group]:
    """All of them."""
    warm, ordinary = with_.warm, with_.powerless
    disks = [
        Group(
            key=f"full/{name}",
            what=f"full disk: {name}",
            tries=partial(full_disks.tries, warm, name),
            num_quick=2,
        )
        for name in full_disks.names()
    ]
    meddlers = [
        Group(
            key=f"meddling/{done}",
            what=f"changed meanwhile: {done}",
            tries=partial(_meddling, with_, done),
            num_quick=2,
        )
        for done in meddling.DONE
    ]
    rest = (
        ("full", "no inodes, a read-only disk, a full home of an index", 4, full_disks.other_tries),
        ("limits", "limits of file size and of open files", 4, limits.tries),
        ("odd", "links, devices, FIFOs and other odd paths", 30, odd_paths.tries),
        ("owners/watched", "permissions before each step", 3, partial(_watched, with_)),
        ("owners", "owners, modes, attributes", 19, partial(owners.tries, powerless=ordinary)),
        ("writers/two", "two writers", 4, partial(writers.pairs, number=ROUNDS)),
        ("writers/eight", "eight writers", 2, partial(writers.crowds, number=CROWDED_ROUNDS)),
        ("writers/cold", "two writers, begun anew", 1, lambda _: writers.cold_pairs(COLD_ROUNDS)),
    )
    others = [
        Group(key=key, what=what, tries=partial(tries, warm), num_quick=quick)
        for key, what, quick, tries in rest
    ]
    return [*disks, *others, *meddlers]


def _meddling(with_: Hands, done: str) -> Tries:
    found: Tries = {}
    for verb in meddling.VERBS:
        tries = meddling.tries(with_.warm, with_.scratch, verb, done)
        names = list(tries)
        early, late = names[:-LAST_STEPS], names[-LAST_STEPS:]
        chosen = (*spread(early, STEPS.get(verb, OTHER_STEPS)), *late)
        found |= {name: tries[name] for name in chosen}
    return found


def _watched(with_: Hands, warm: Warm) -> Tries:
    steps = meddling.steps_of(warm, with_.scratch, "add")
    return owners.watched(warm, len(steps) + owners.STEPS_OF_OWNER)
