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


class Power(Campaign):
    """Records runs, and crashes them after every operation."""

    part = "power"
    title = "Loss of power"
    text = """
Each way to rewrite a file, and each action of an index, runs once under `strace`, which records
every operation of the run on the file system, byte for byte. Then a loss of power is simulated
after every single operation, on a disk that does the worst that POSIX permits. A write that was not
synced may be there, may be missing, or may be torn: a part of its sectors, zeros, or the former
content of the disk. A size may be there without the bytes. Of the changes of a folder that were not
synced, any subset may be there, with or without the bytes of the files. A try is one state that the
disk may have afterwards; all tries differ.

The path must lead to all of the old bytes or to all of the new bytes, and after the run has
returned, to the new bytes. The old bytes must be there under the backup's name as soon as the new
bytes have taken their place. A Hadoop checksum file must fit the file beside it, or be absent.
Everything else must be as before, except for temporary files. One state of each kind is then made
on a real disk ("on a real disk"): the same command must come to the same result, and remove the
files that were left. An index must answer by its last stable version, from before the action or
from after the action. `cancel` must end the action, and the index must be usable as before. A
separate test shows that the model would find a missing `fsync`.

Two things are not promised. If a folder cannot be read, and so cannot be synced, a new version may
be lost though the run has returned. On file systems without hard links, an empty file can be left
under the name of a new file, of a backup or of an index entry, beside the whole old version. The
next run that needs this name removes the empty file, if the temporary file for this name still lies
beside it.
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
