"""Crash a recorded run in many ways, and judge what is left."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from campaigns.power.crashes import Crash, States
from campaigns.power.indexes import IndexJudge, IndexScenario
from campaigns.power.judging import Judge
from campaigns.power.next_run import problems_of_next_run, shape_of
from campaigns.power.scenarios import Scenario

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from campaigns.power.crashes import Fates
    from campaigns.power.disk import Disk
    from campaigns.power.recording import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is tried of each run."""

    seed: int
    fates: int
    """Ways in which each crash may go, at most."""

    real: int
    """States that are put on a real disk, at most: for a next run, or for lookups in an index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What a crash leaves."""

    name: str
    """How to see it again: `python -m campaigns --again power/NAME`."""

    has_returned: bool
    """Whether the run may have ended before."""

    disk: Disk
    signature: int
    """Equal for equal disks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crashed:
    """What became of one run's crashes."""

    crashes: int
    """Operations after which the power went."""

    states: int
    """Different ones."""

    real: int
    """Put on a real disk."""

    problems: dict[str, str]
    """What is wrong, and the name of the first state of which it is."""


def crash(scenario: Scenario | IndexScenario, record: Record, effort: Effort) -> Crashed:
    """Crash a run after every operation of it."""
    seen: set[tuple[bool, int]] = set()
    shapes: dict[Hashable, State] = {}
    found: dict[str, str] = {}
    for state in states(record, effort):
        if (state.has_returned, state.signature) not in seen:
            seen.add((state.has_returned, state.signature))
            shapes.setdefault((state.has_returned, shape_of(state.disk, record)), state)
            for problem in _problems(scenario, record, state):
                found.setdefault(problem, state.name)
    chosen = _some(list(shapes.values()), effort)
    for state in chosen:
        for problem in _real_problems(scenario, record, state):
            found.setdefault(problem, state.name)
    return Crashed(
        crashes=len(record.operations) + 1, states=len(seen), real=len(chosen), problems=found
    )


def problems_of(scenario: Scenario | IndexScenario, record: Record, state: State) -> Iterator[str]:
    """Say what is wrong with one state, from memory and on a real disk."""
    yield from _problems(scenario, record, state)
    yield from _real_problems(scenario, record, state)


def state_of(name: str, at: Crash, made: States, fates: tuple[Fates, Fates]) -> State:
    """Return the state that a crash leaves."""
    disk, signature = made.state(at, fates)
    return State(name=name, has_returned=at.has_returned, disk=disk, signature=signature)


def states(record: Record, effort: Effort) -> Iterator[State]:
    """Every state that is tried."""
    made = States(record)
    for after in range(len(record.operations) + 1):
        at = Crash(record, after)
        for number, fates in enumerate(islice(at.fates(effort.seed), effort.fates)):
            yield state_of(f"{record.name}/{effort.seed}/{after}/{number}", at, made, fates)


def _some(found: list[State], effort: Effort) -> list[State]:
    """As many states as are put on a real disk; those after the run's end come first."""
    Random(effort.seed).shuffle(found)  # noqa: S311
    return sorted(found, key=lambda state: not state.has_returned)[: effort.real]


def _problems(scenario: Scenario | IndexScenario, record: Record, state: State) -> Iterator[str]:
    """Say what is wrong with a state, from memory."""
    if isinstance(scenario, Scenario):
        judge = Judge(scenario, record)
        yield from judge.problems(state.disk, has_returned=state.has_returned)


def _real_problems(
    scenario: Scenario | IndexScenario, record: Record, state: State
) -> Iterator[str]:
    """Say what is wrong with a state on a real disk."""
    with tempfile.TemporaryDirectory(prefix="power-") as scratch:
        if isinstance(scenario, IndexScenario):
            index_judge = IndexJudge(scenario, record, Path(scratch))
            yield from index_judge.problems(state.disk, has_returned=state.has_returned)
        else:
            yield from problems_of_next_run(scenario, record, state.disk, Path(scratch, "state"))
