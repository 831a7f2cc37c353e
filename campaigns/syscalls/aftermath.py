"""What is there after a run, old, new, or left over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from campaigns.syscalls.folders import Entry, Folder, look
from campaigns.syscalls.scenarios import FILE
from parquet_bloomwriter import strip, verify

if TYPE_CHECKING:
    from pathlib import Path

    from campaigns.syscalls.faults import Fault
    from campaigns.syscalls.scenarios import Scenario
    from campaigns.syscalls.traced import Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Aftermath:
    """What is there after a run."""

    scenario: Scenario
    after: Folder
    """The folder as an undisturbed run leaves it."""

    fault: Fault
    ending: Ending
    folder: Path
    found: Folder

    @classmethod
    def of(
        cls, scenario: Scenario, after: Folder, fault: Fault, ending: Ending, folder: Path
    ) -> Aftermath:
        """Look at the folder."""
        return cls(
            scenario=scenario,
            after=after,
            fault=fault,
            ending=ending,
            folder=folder,
            found=look(folder),
        )

    @property
    def is_new(self) -> bool:
        """Whether the target has its new bytes."""
        return data_of(self.found, self.scenario.target) == data_of(
            self.after, self.scenario.target
        )

    @property
    def is_old(self) -> bool:
        """Whether the target is as it was, or still not there."""
        name = self.scenario.target
        return self.found.get(name) == self.scenario.before.get(name)

    def is_claimed(self, name: str) -> bool:
        """Whether it is an empty file, which keeps a new name free for what is to have it.

        Where there are no hard links, a kill in that instant leaves it.
        """
        is_empty = data_of(self.found, name) == b""
        return is_empty and not self.could_tidy_up and bool(self.scenario.standing)

    @property
    def could_tidy_up(self) -> bool:
        """Whether the run could look at what is there, and remove it; what it cannot, stays."""
        return not (self.fault.is_kill or self.fault.names & {"newfstatat", "unlink"})

    @property
    def is_settled(self) -> bool:
        """Whether every byte is where it was, or where it should be, and nothing is left over."""
        states = [
            {name: entry.data for name, entry in entries.items()}
            for entries in (self.found, self.scenario.before, self.after)
        ]
        return states[0] in states[1:]

    @property
    def is_partial(self) -> bool:
        """Whether the target is new, but for filters of chunks that could not be read.

        Without its filters it is then the old file without its own.
        """
        scenario = self.scenario
        found, old = (
            data_of(entries, name)
            for entries, name in ((self.found, scenario.target), (scenario.before, FILE))
        )
        if not scenario.with_worker or found is None or old is None or self.is_new or self.is_old:
            return False
        is_sound = verify(found).passed
        return is_sound and (strip(found).data or found) == (strip(old).data or old)

    @property
    def leftovers(self) -> dict[str, Entry]:
        """Files that belong neither to the old state nor to the new one."""
        known = self.scenario.before.keys() | self.after.keys()
        return {name: entry for name, entry in self.found.items() if name not in known}


def data_of(entries: Folder, name: str) -> bytes | None:
    """The bytes of a file; None if it is not there."""
    entry = entries.get(name)
    return None if entry is None else entry.data
