"""Try one fault: make the folder, run the command with the fault, look, and run it once more.

The parts of a try's name are the scenario, the gate that tracing begins at, the call, and the
fault: "in place/start/renameat2#1/EIO+".
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

from campaigns.syscalls.aftermath import Aftermath
from campaigns.syscalls.calls import Call, parse, places
from campaigns.syscalls.faults import KINDS, Fault, fault_at
from campaigns.syscalls.folders import Folder, look, put
from campaigns.syscalls.judging import differences, is_folder_denied, problems_of, undurable
from campaigns.syscalls.nursery import START, WORKER
from campaigns.syscalls.scenarios import BACKUP, FILE, Scenario, scenarios
from campaigns.syscalls.traced import Nursery, run_process

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from campaigns.syscalls.traced import Ending, Task

PROCESS = "process"
"""In the place of a gate: the command in a process of its own, from its beginning."""

WRITE_BACK = "write-back"
"""In the place of a gate: all threads, for the one call that only the write-back makes."""

_SYNC_DATA = "fdatasync"

_ATTEMPTS = 3
"""A thread may not come to the call that a fault is for; then it is tried again."""


@dataclass(frozen=True, kw_only=True)
class Reference:
    """What a scenario comes to when nothing fails."""

    scenario: Scenario
    gate: str
    folder: Path
    after: Folder
    calls: tuple[Call, ...]
    """Of the thread that stands at the gate, from there on."""

    @cached_property
    def faults(self) -> dict[str, Fault]:
        """All that can be tried, by name."""
        return dict(self._faults())

    def _faults(self) -> Iterator[tuple[str, Fault]]:
        never = frozenset(standing.split(":")[0] for standing in self.scenario.standing)
        mentioning = [str(self.folder), f'"{FILE}"'] if self.gate == PROCESS else []
        for place in places(self.calls, since=FILE, mentioning=mentioning):
            if self.gate == WRITE_BACK and place.place != f"{_SYNC_DATA}#1":
                continue
            for kind in KINDS:
                fault = fault_at(place, kind, self.calls, never=never)
                if fault is None or place.name in never:
                    continue
                if self.gate != PROCESS or not fault.hinders_imports:
                    yield f"{self.scenario.name}/{self.gate}/{place.place}/{kind}", fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What one try came to."""

    problems: tuple[str, ...]
    aftermath: Aftermath
    is_reached: bool = True
    """Whether the run came to the call."""

    @property
    def ending(self) -> Ending:
        """How the run ended."""
        return self.aftermath.ending


class Bench:
    """A nursery and a folder for one try after the other."""

    def __init__(self, scratch: Path) -> None:
        """Begin; `scratch` is ours alone."""
        self._folder = scratch / "try"
        self._log = scratch / "process.log"
        self._nursery = Nursery(scratch)
        self.scenarios = scenarios()
        self._references: dict[tuple[str, str], Reference] = {}
        for name in ("in place", "strip", "repair"):
            self._prepare(self.scenarios[name])
            self._nursery.warm_up(self.scenarios[name].task(self._folder))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._nursery.__exit__()

    def reference(self, name: str, gate: str = START) -> Reference:
        """What a scenario comes to, found out once."""
        if (name, gate) not in self._references:
            self._references[name, gate] = self._refer(self.scenarios[name], gate)
        return self._references[name, gate]

    def attempt(self, name: str) -> Tried:
        """Try a fault; `name` is as `Reference.faults` has it."""
        scenario, gate, *_ = name.split("/")
        reference = self.reference(scenario, gate)
        fault = reference.faults[name]
        for _ in range(_ATTEMPTS):
            aftermath = self._run(reference, fault)
            if _is_reached(aftermath, fault, gate):
                break
        else:
            missed = ("the run did not come to this call",) if gate == START else ()
            return Tried(problems=missed, aftermath=aftermath, is_reached=False)
        problems = [
            *problems_of(aftermath, is_worker=gate == WORKER),
            *self._undurable(aftermath, gate),
            *self._run_again(reference, aftermath),
        ]
        return Tried(problems=tuple(dict.fromkeys(problems)), aftermath=aftermath)

    def _prepare(self, scenario: Scenario) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        put(self._folder, scenario.before)

    def _trace(self, task: Task, injections: Sequence[str], gate: str) -> Ending:
        if gate == PROCESS:
            return run_process(task, injections, self._log)
        if gate == WRITE_BACK:
            return self._nursery.run_traced(task, injections, follow=True)
        return self._nursery.run_traced(task, injections, gate=gate)

    def _refer(self, scenario: Scenario, gate: str) -> Reference:
        """Run it alone, then traced; both must come to the same."""
        task = scenario.task(self._folder)
        self._prepare(scenario)
        alone, after = self._nursery.run(task), look(self._folder)
        self._prepare(scenario)
        traced = self._trace(task, scenario.standing, gate)
        if (alone.status, traced.status, look(self._folder)) != (0, 0, after):
            said = [(ending.status, ending.err) for ending in (alone, traced)]
            raise RuntimeError(f"{scenario.name} fails, or is not the same each time: {said}")
        calls = parse(traced.log)
        return Reference(
            scenario=scenario, gate=gate, folder=self._folder, after=after, calls=calls
        )

    def _run(self, reference: Reference, fault: Fault) -> Aftermath:
        scenario = reference.scenario
        self._prepare(scenario)
        injections = (*scenario.standing, *fault.injections)
        ending = self._trace(scenario.task(self._folder), injections, reference.gate)
        return Aftermath.of(scenario, reference.after, fault, ending, self._folder)

    def _undurable(self, aftermath: Aftermath, gate: str) -> Iterator[str]:
        if aftermath.ending.status == 0 and gate in {START, PROCESS}:
            calls = parse(aftermath.ending.log)
            denied = is_folder_denied(aftermath.fault, calls, self._folder)
            yield from undurable(calls, self._folder, denied=denied)

    def _run_again(self, reference: Reference, aftermath: Aftermath) -> Iterator[str]:
        """The next run must succeed and leave nothing but the new version."""
        if aftermath.is_settled:
            return
        backup, away = self._folder / BACKUP, self._folder.with_suffix(".away")
        if backup.exists():
            backup.rename(away)  # the user is asked for that
        if not aftermath.is_new:
            away.unlink(missing_ok=True)
        task = reference.scenario.task(self._folder, again=True)
        again = self._nursery.run(task)
        if away.exists():
            away.rename(backup)
        if again.status != 0:
            yield f"the next run ended with {again.status}: {again.err}"
        yield from differences(aftermath, look(self._folder))


def _is_reached(aftermath: Aftermath, fault: Fault, gate: str) -> bool:
    """Whether the fault happened, and where it was meant to."""
    log = aftermath.ending.log
    if gate != PROCESS:
        return aftermath.ending.is_killed or any("(INJECTED)" in line for line in log)
    calls = parse(log)
    if fault.is_kill:
        hit = calls[-1] if aftermath.ending.is_killed else None
    else:
        hit = next((call for call in calls if call.is_injected), None)
    return hit is not None and hit.is_like(fault.place)
