"""Many ways to lose power, of every scenario.

A case is a scenario, with all states that its crashes leave. A state has a name of its own,
SCENARIO/SEED/OPERATIONS/STATE: how many operations were done, and which of the states after them.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from tests.torture.harness import Campaign, Result
from tests.torture.power.crashes import Crash, States
from tests.torture.power.next_run import put
from tests.torture.power.stage import EVERY, run_traced
from tests.torture.power.trying import Effort, crash, problems_of, state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.torture.harness import Section, Tallies
    from tests.torture.power.recording import Record

_FATES: Final = 1500
_REAL: Final = 500


class Power(Campaign):
    """Records runs, and crashes them after every operation."""

    part = "power"
    title = "Loss of power"
    text = """
Each way to rewrite a file, and each action of an index, is run once under `strace`, which tells
what the run does to the file system, byte for byte. Then the power goes after every single
operation, on a disk that is as nasty as POSIX permits: of what was not synced, each write may be
there, not be there, or be torn (a part of its sectors, zeros, what was on the disk before); sizes
without bytes; each change of a folder, or not, in any subset, whether the bytes of its files are
there or not. A try is one state that a disk may be left in, different from all others.

The path must lead to all of the old bytes or all of the new ones, and to the new ones for certain
once the run has returned. The old bytes must be there under the backup's name as soon as the new
ones have taken their place. A Hadoop checksum file must fit the file beside it, or be absent. All
else must be as it was, but for temporary files. One state of each kind ("on a real disk") is then
made for real: the same command must come to the same result and remove what was left. An index
must answer by the last stable version, before the action or after it; `cancel` must clear it; and
it must be usable as ever. That the model would find a missing `fsync` is a test of its own.

Not promised: that a run whose folder cannot be read, and so not be synced, lasts when it has
returned; and on file systems without hard links, that a new name, a backup's or an index entry's
is not left as an empty file, beside the whole old version. The next run that needs the name removes
the file, if the temporary file that was to have the name still lies beside it.
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
        seen = {"operations": len(record.operations), "states on a real disk": found.real}
        yield Result(name=name, line=name, tried=found.states - len(found.problems), seen=seen)
        for problem, state in found.problems.items():
            yield Result(name=state, line=name, problems=(problem,))

    def line(self, name: str) -> str:
        """Return the scenario."""
        return name if name in EVERY else name.rsplit("/", 3)[0]

    def section(self, tallies: Tallies) -> Section:
        """Count by scenario, with the number of operations first."""
        remarks = {
            line: ", ".join(f"{number:,} {what}" for what, number in one.seen.items())
            for line, one in tallies.items()
        }
        return self.counted({line: (line, remarks[line]) for line in tallies}, tallies)

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
