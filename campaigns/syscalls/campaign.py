"""Every fault at every system call of every scenario: SCENARIO/GATE/CALL/FAULT."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from campaigns.harness import Campaign, Result
from campaigns.syscalls.nursery import START, WORKER
from campaigns.syscalls.trying import PROCESS, WRITE_BACK, Bench

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from campaigns.harness import Section, Tallies

_PROCESS_SHARE: Final = 0.02
"""Of the faults that are tried in children of a nursery, so many are tried in real processes, too:
these take twenty times as long."""

_MISSED: Final = "missed"


class Syscalls(Campaign):
    """Faults in a folder of its own, by a nursery of its own."""

    part = "syscalls"
    title = "Every system call fails"
    workers = 2
    text = """
The command runs under `strace`, which lets a system call fail, or kills the process when it enters
the call: every call, each fault in a run of its own, once or from there on. Afterwards the path
must hold the old bytes or the new bytes, and the rest of the folder must be as before. Exit code 0
must mean that the new bytes, and then their name, were synced; any other code must come with one
line of text that claims nothing false. The next run must succeed and remove what is left over.

Four outcomes are intended, though they differ from this:

- A column chunk that the system refuses to read gets no filter, which the report says.
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
            "killed": aftermath.fault.is_kill,
            "done": ending.status == 0,
            "new": aftermath.is_new,
            "told": ending.status > 0 and aftermath.is_new,
        }
        seen = {what: 1 for what, has_happened in happened.items() if has_happened}
        yield Result(name=name, seen=seen, problems=result.problems)

    def section(self, tallies: Tallies) -> Section:
        """Count by scenario, and say how the runs ended."""
        rows = ((one.line, f"{one.tried:,}", one.failed) for one in tallies.values() if one.tried)
        found = self.table(("command", "tried", "failed"), rows, tallies)
        return replace(found, text=f"{self.text}\n{self._drawn()}{_endings(tallies)}")

    def _drawn(self) -> str:
        if self.plan.share == 1:
            return ""
        share, seed = self.plan.share, self.plan.seed
        return f"Of all these runs, {share:.0%} were drawn at random (seed {seed}). "


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
