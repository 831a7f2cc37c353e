"""Every fault at every system call of every scenario."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING

from tests.torture.section import Section, Torture
from tests.torture.syscalls.faults import ERRORS, KILL, Fault
from tests.torture.syscalls.nursery import START, WORKER
from tests.torture.syscalls.trying import PROCESS, WRITE_BACK, Bench

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BENCHES = 2
_PROCESS_SHARE = 0.02
"""Of the faults that are tried in children of a nursery, so many are tried in real processes, too:
these take twenty times as long."""

_OTHERS = "from there on"
_HEADER = ("command", "calls", "tried", "survived", KILL, *ERRORS, _OTHERS)

_TEXT = """
The command runs under `strace`, which lets one system call fail, or kills the process as it enters
the call: at each call between looking at the file for the first time and the end, of the main
thread and of the thread that builds filters, one run for each call and fault. An error is injected
once, and from that call on for all calls of that name (EINTR five times, as it is answered by
calling again); and "from there on" for all calls that need space (ENOSPC), that change anything
(EROFS), and for all (EIO). A part of it goes through `python -m bloomify` from its start.

Each time the path must hold the old bytes or the new ones, and the rest of the folder what it held;
exit code 0 must mean that the new bytes, and the name after them, were synced without an error;
any other must come with one line that does not claim what is not so. What is left over must be
recognisable, private, and gone after the next run, which must succeed.

Four outcomes are neither, and meant to be: a column chunk that the system refuses to read gets no
filter, which is told and is no failure; where there are no hard links, a kill can leave an empty
file under the name of a new file or a backup; a folder that must not be opened (EACCES, EPERM) is
not synced; and a checksum file is lost that neither linking nor renaming gives its name back.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What is kept of a try."""

    name: str
    fault: Fault
    status: int
    is_new: bool
    problems: tuple[str, ...]


def torture(torture: Torture) -> Section:
    """Try the whole, or a share of it."""
    with ExitStack() as stack:
        benches = [stack.enter_context(_bench(torture.scratch, n)) for n in range(_BENCHES)]
        tries = list(_tries(benches[0], torture))
        torture.say(f"{len(tries):,} tries")
        results = _run(benches, tries, torture)
    problems = [f"{r.name}: {problem}" for r in results for problem in r.problems]
    return Section(
        title="Every system call fails",
        text=f"{_TEXT}\n{_drawn(torture)}{_outcomes(results)} {_missed(tries, results)}",
        header=_HEADER,
        rows=tuple(_rows(results)),
        tried=len(results),
        survived=sum(not result.problems for result in results),
        problems=tuple(problems),
    )


def _bench(scratch: Path, number: int) -> Bench:
    folder = scratch / str(number)
    folder.mkdir()
    return Bench(folder)


def _tries(bench: Bench, torture: Torture) -> Iterator[tuple[str, Fault]]:
    for scenario in bench.scenarios.values():
        gates = {START: 1.0, PROCESS: _PROCESS_SHARE}
        if scenario.with_worker:
            gates[WORKER] = 1.0
        if scenario.write_back is not None:  # a threshold that only a nursery can lower
            gates = {START: 1.0, WRITE_BACK: 1.0}
        for gate, share in gates.items():
            for name, fault in bench.reference(scenario.name, gate).faults():
                chance = random.Random(f"{torture.seed}/{name}")  # noqa: S311  no secret
                if chance.random() < share * torture.share:
                    yield name, fault


def _run(benches: list[Bench], tries: list[tuple[str, Fault]], torture: Torture) -> list[Tried]:
    free: SimpleQueue[Bench] = SimpleQueue()
    for bench in benches:
        free.put(bench)

    def attempt(numbered: tuple[int, tuple[str, Fault]]) -> Tried | None:
        number, (name, fault) = numbered
        bench = free.get()
        try:
            result = bench.attempt(name, fault)
        finally:
            free.put(bench)
        if number % 1000 == 0:
            torture.say(f"{number:,} of {len(tries):,}")
        for problem in result.problems:
            torture.say(f"{name}: {problem}")
        if not result.is_reached and not result.problems:
            return None
        return Tried(
            name=name,
            fault=fault,
            status=result.ending.status,
            is_new=result.aftermath.is_new,
            problems=result.problems,
        )

    with ThreadPoolExecutor(len(benches)) as pool:
        return [one for one in pool.map(attempt, enumerate(tries, start=1)) if one is not None]


def _rows(results: list[Tried]) -> Iterator[tuple[str, ...]]:
    """One line for each scenario and gate."""
    groups: dict[str, list[Tried]] = {}
    for result in results:
        scenario, gate, *_ = result.name.split("/")
        in_what = {WORKER: ", building thread", WRITE_BACK: " thread", PROCESS: ", own process"}
        groups.setdefault(scenario + in_what.get(gate, ""), []).append(result)
    for name, group in groups.items():
        kinds = Counter(_kind(result.fault) for result in group)
        places = {result.fault.place.place for result in group}
        survived = sum(not result.problems for result in group)
        numbers = (len(places), len(group), survived, *(kinds[kind] for kind in _HEADER[4:]))
        yield (name, *(f"{number:,}" for number in numbers))


def _kind(fault: Fault) -> str:
    kind = fault.kind.strip("+")
    return kind if kind in _HEADER else _OTHERS


def _drawn(torture: Torture) -> str:
    if torture.share == 1:
        return ""
    return f"Of all these runs, {torture.share:.0%} were drawn at random (seed {torture.seed}). "


def _missed(tries: list[tuple[str, Fault]], results: list[Tried]) -> str:
    number = len(tries) - len(results)
    return f"{number:,} more are not counted: the run did not come to the call they were meant for."


def _outcomes(results: list[Tried]) -> str:
    killed = sum(result.fault.is_kill for result in results)
    done = sum(result.status == 0 for result in results)
    new = sum(result.is_new for result in results)
    told = sum(result.status > 0 and result.is_new for result in results)
    return (
        f"{killed:,} runs were killed, {done:,} ended with exit code 0, the others said why not. "
        f"{new:,} left the new version, {told:,} of them with an error afterwards, whose message "
        "does not claim that nothing was changed."
    )
