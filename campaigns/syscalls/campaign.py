"""Every fault at every system call of every scenario: SCENARIO/GATE/CALL/FAULT."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from campaigns.harness import Campaign, Result
from campaigns.syscalls.faults import ERRORS, KILL, Fault
from campaigns.syscalls.nursery import START, WORKER
from campaigns.syscalls.trying import PROCESS, WRITE_BACK, Bench

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from campaigns.harness import Section, Tallies, Tally

_PROCESS_SHARE: Final = 0.02
"""Of the faults that are tried in children of a nursery, so many are tried in real processes, too:
these take twenty times as long."""

_OTHERS: Final = "from there on"
_KINDS: Final = (KILL, *ERRORS, _OTHERS)
_IN_WHAT: Final = {WORKER: ", building thread", WRITE_BACK: " thread", PROCESS: ", own process"}
_AT, _MISSED = "at ", "missed"


class Syscalls(Campaign):
    """Faults in a folder of its own, by a nursery of its own."""

    part = "syscalls"
    title = "Every system call fails"
    workers = 2
    text = """
The command runs under `strace`, which lets a system call fail, or kills the process when it enters
the call. This is done for every call from the first look at the file to the end, in the main thread
and in the thread that builds filters. Each call and fault gets a run of its own. An error is
injected in two ways: into this call only, and into this call and all later calls of the same name.
(EINTR is injected five times, because a call that returns EINTR is made again.) "From there on"
means faults of several calls: from this call on, all calls that need space fail (ENOSPC), all calls
that change anything fail (EROFS), or all calls fail (EIO). A part of the runs begins with
`python -m bloomify` in a new process.

After each run, the path must hold the old bytes or the new bytes, and the rest of the folder must
be as before. Exit code 0 must mean that the new bytes, and then their name, were synced without an
error. Any other exit code must come with one line of text that claims nothing false. Files that are
left over must be recognisable and private. The next run must succeed and remove them.

Four outcomes are intended, though they differ from this:

- A column chunk that the system refuses to read gets no filter. The report says so, and this does
  not count as a failure.
- On file systems without hard links, a kill can leave an empty file under the name of a new file or
  of a backup.
- A folder that must not be opened (EACCES, EPERM) is not synced.
- A checksum file is lost if neither a link nor a rename can give its name back.
"""

    def open(self) -> None:
        """Begin a nursery."""
        self.bench = self.stack.enter_context(Bench(self.plan.scratch))

    def cases(self) -> Iterator[str]:
        """Draw the planned share of all faults."""
        for scenario in self.bench.scenarios.values():
            gates = {START: 1.0, PROCESS: _PROCESS_SHARE}
            if scenario.with_worker:
                gates[WORKER] = 1.0
            if scenario.write_back is not None:  # a threshold that only a nursery can lower
                gates = {START: 1.0, WRITE_BACK: 1.0}
            for gate, share in gates.items():
                for name in self.bench.reference(scenario.name, gate).faults:
                    chance = random.Random(f"{self.plan.seed}/{name}")  # noqa: S311  no secret
                    if chance.random() < share * self.plan.share:
                        yield name

    def attempt(self, name: str, show: Callable[[str], None]) -> Iterable[Result]:
        """Try one fault."""
        result = self.bench.attempt(name)
        ending, aftermath = result.ending, result.aftermath
        show("\n".join(ending.log))
        show(f"status {ending.status}, left {sorted(aftermath.found)}\n{ending.err}")
        if not result.is_reached and not result.problems:
            yield Result(name=name, tried=0, seen={_MISSED: 1})
            return
        happened = {
            f"{_AT}{aftermath.fault.place.place}": True,
            _kind(aftermath.fault): True,
            "killed": aftermath.fault.is_kill,
            "done": ending.status == 0,
            "new": aftermath.is_new,
            "told": ending.status > 0 and aftermath.is_new,
        }
        seen = {what: 1 for what, has_happened in happened.items() if has_happened}
        yield Result(name=name, seen=seen, problems=result.problems)

    def line(self, name: str) -> str:
        """Return the scenario, and where the fault happened."""
        scenario, gate, *_ = name.split("/")
        return scenario + _IN_WHAT.get(gate, "")

    def section(self, tallies: Tallies) -> Section:
        """Count by scenario and kind of fault, and say how the runs ended."""
        rows = (_row(one) for one in tallies.values() if one.tried)
        header = ("command", "calls", "tried", "survived", *_KINDS)
        found = self.table(header, rows, tallies)
        return replace(found, text=f"{self.text}\n{self._drawn()}{_endings(tallies)}")

    def _drawn(self) -> str:
        if self.plan.share == 1:
            return ""
        share, seed = self.plan.share, self.plan.seed
        return f"Of all these runs, {share:.0%} were drawn at random (seed {seed}). "


def _kind(fault: Fault) -> str:
    kind = fault.kind.strip("+")
    return kind if kind in _KINDS else _OTHERS


def _row(tally: Tally) -> tuple[str, ...]:
    num_places = sum(what.startswith(_AT) for what in tally.seen)
    numbers = (num_places, tally.tried, tally.survived, *(tally.seen[kind] for kind in _KINDS))
    return (tally.line, *(f"{number:,}" for number in numbers))


def _endings(tallies: Tallies) -> str:
    killed, done, new, told, missed = (
        sum(tally.seen[what] for tally in tallies.values())
        for what in ("killed", "done", "new", "told", _MISSED)
    )
    return (
        f"{killed:,} runs were killed, {done:,} ended with exit code 0, and the others gave the "
        f"reason of their failure. {new:,} runs left the new version. {told:,} of these ended with "
        "an error afterwards, whose message does not claim that nothing was changed. "
        f"{missed:,} more runs are not counted, because they did not come to the call that was to "
        "fail."
    )
