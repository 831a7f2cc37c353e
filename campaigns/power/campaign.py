"""Many ways to lose power, of every scenario.

A case is a scenario, with all states that its crashes leave. A state has a name of its own,
SCENARIO/SEED/OPERATIONS/STATE: how many operations were done, and which of the states after them.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from campaigns.harness import Campaign, Result
from campaigns.power.crashes import Crash, States
from campaigns.power.next_run import put
from campaigns.power.stage import EVERY, run_traced
from campaigns.power.trying import Effort, crash, problems_of, state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from campaigns.harness import Section, Tallies
    from campaigns.power.recording import Record

_FATES: Final = 1500
_REAL: Final = 500
_OPERATIONS, _REAL_STATES = "operations", "on a real disk"


class Power(Campaign):
    """Records runs, and crashes them after every operation."""

    part = "power"
    title = "Loss of power"
    text = """
Each way to rewrite a file, and each action of an index, is recorded. Then power is lost after every
single operation, on a simulated disk that does the worst that POSIX permits: what was not synced
may be there, missing or torn. A try is one state of the disk; some are made on a real disk, where
the next run must finish and remove what was left.

The path must lead to all of the old bytes or to all of the new bytes, and after the run has
returned, to the new bytes. A backup must have the old bytes; a Hadoop checksum file must fit its
file, or be absent. An index must answer by its version before or after the action, and `cancel`
must end the action.

Two things are not promised. If a folder cannot be read, and so cannot be synced, a new version may
be lost though the run has returned. On file systems without hard links, an empty file can be left
under the name of a new file, of a backup or of an index entry; the next run that needs this name
removes it, if the temporary file still lies beside it.
"""

    def open(self) -> None:
        """Nothing is recorded yet."""
        self._records: dict[str, Record] = {}

    def cases(self) -> Iterable[str]:
        """Record all scenarios in one process."""
        self._records = run_traced(list(EVERY), self.plan.scratch)
        return EVERY

    def attempt(self, name: str, show: Callable[[str], None]) -> Iterable[Result]:
        """Judge all states of a scenario, or one."""
        if name not in EVERY:
            yield self._one_state(name, show)
            return
        plan = self.plan
        effort = Effort(seed=plan.seed, fates=plan.some(_FATES), real=max(10, plan.some(_REAL)))
        record = self._record(name)
        found = crash(EVERY[name], record, effort)
        seen = {_OPERATIONS: len(record.operations), _REAL_STATES: found.real}
        yield Result(name=name, line=name, tried=found.states - len(found.problems), seen=seen)
        for problem, state in found.problems.items():
            yield Result(name=state, line=name, problems=(problem,))

    def line(self, name: str) -> str:
        """Return the scenario."""
        return name if name in EVERY else name.rsplit("/", 3)[0]

    def section(self, tallies: Tallies) -> Section:
        """Count by scenario."""
        rows = (
            (
                one.line,
                f"{one.seen[_OPERATIONS]:,}",
                f"{one.tried:,}",
                one.failed,
                f"{one.seen[_REAL_STATES]:,}",
            )
            for one in tallies.values()
        )
        return self.table(("what", _OPERATIONS, "tried", "failed", _REAL_STATES), rows, tallies)

    def _one_state(self, name: str, show: Callable[[str], None]) -> Result:
        """Show what was done, and what became of it; put the state into the folder `state`."""
        scenario, seed, after, number = name.rsplit("/", 3)
        record = self._record(scenario)
        at = Crash(record, int(after))
        fates = next(islice(at.fates(int(seed)), int(number), None))
        by_number = dict(zip(at.open_to_files, fates[0], strict=True))
        by_number |= dict(zip(at.open_to_folders, fates[1], strict=True))
        for place, operation in enumerate(record.operations[: at.after]):
            show(f"{place:4} {by_number.get(place, 'lasting')!s:40} {operation}")
        state = state_of(name, at, States(record), fates)
        put(state.disk, self.plan.scratch / "state")
        return Result(name=name, problems=tuple(problems_of(EVERY[scenario], record, state)))

    def _record(self, name: str) -> Record:
        if name not in self._records:
            self._records |= run_traced([name], self.plan.scratch)
        return self._records[name]
