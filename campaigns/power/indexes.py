"""The index's actions while the power goes, and what its folder may look like afterwards.

Lookups go by the last stable version, before the action or after it, and miss no file; `cancel`
puts that version in force and removes the rest; then the index can be refreshed, or made, as ever.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from campaigns.power.next_run import put
from campaigns.power.scenarios import LINKS, WITHOUT
from parquet_bloomwriter import index
from parquet_bloomwriter.errors import BloomwriterError, IndexProblem
from tests.index.actions.killing import ACTIONS
from tests.index.actions.test_killed import (
    check_answers,
    check_cancelled,
    check_usable,
    facts,
    like,
    log_of,
    prepare,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from campaigns.power.disk import Disk
    from campaigns.power.recording import Record
    from parquet_bloomwriter.index.entry import Entry

_MODIFIED = 1_600_000_000
"""When the table's files were changed, seconds since 1970; the index knows them by that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexScenario:
    """An action, and what it finds."""

    name: str
    action: str
    finds: str
    """As `prepare` has it."""

    without: tuple[str, ...] = ()
    made_by_the_killed: tuple[str, ...] = ()
    """Folders that an earlier run had made when it was killed, and had not synced."""

    def prepare(self, folder: Path) -> None:
        """Make a table, and its index if there is one before the action."""
        prepare(folder, self.finds)

    def act(self, folder: Path) -> None:
        """Do the action."""
        for name in self.made_by_the_killed:
            (folder / name).mkdir()
        with contextlib.ExitStack() as stack:
            for what in self.without:
                stack.enter_context(WITHOUT[what]())
            ACTIONS[self.action](folder)


@dataclass(frozen=True)
class IndexJudge:
    """Judges the states of one action."""

    scenario: IndexScenario
    record: Record
    scratch: Path
    """Where states are put; made anew."""

    def problems(self, disk: Disk, *, has_returned: bool) -> Iterator[str]:
        """Say what is wrong with a folder, if anything is."""
        before, after = map(self._stable, ("before", "after"))
        try:
            table = self._put(disk, "table")
            self._check(table, before, after, has_returned=has_returned)
        except (AssertionError, BloomwriterError, OSError) as error:
            yield f"{type(error).__name__}: {error}".splitlines()[0]

    def _check(
        self, table: Path, before: Entry | None, after: Entry | None, *, has_returned: bool
    ) -> None:
        log = log_of(table)
        try:
            stable = log.latest_stable()
        except IndexProblem:  # an empty entry, and nothing stable before it
            assert LINKS in self.scenario.without
            assert not has_returned
            index.cancel(table, name="ids")
            check_usable(table)
            return
        is_done = facts(stable) == like(after, stable)
        assert is_done or not has_returned, "the action has returned, and is not done"
        assert is_done or facts(stable) == facts(before), "neither as before nor as after"
        check_answers(table)
        if log.ids():
            check_cancelled(table, stable, may_stay=True)
        check_usable(table)

    def _stable(self, when: str) -> Entry | None:
        disk = self.record.before if when == "before" else self.record.after
        return log_of(self._put(disk, when)).latest_stable()

    def _put(self, disk: Disk, name: str) -> Path:
        table = self.scratch / name
        put(disk, table)
        for path in table.glob("*.parquet"):
            os.utime(path, (_MODIFIED, _MODIFIED))
        return table


INDEX_SCENARIOS: dict[str, Any] = {
    scenario.name: scenario
    for scenario in (
        IndexScenario(name="index: create", action="create", finds="new"),
        IndexScenario(name="index: refresh", action="incremental", finds="changed"),
        IndexScenario(name="index: refresh in full", action="full", finds="changed"),
        IndexScenario(name="index: optimize", action="optimize", finds="refreshed"),
        IndexScenario(name="index: delete", action="delete", finds="active"),
        IndexScenario(name="index: restore", action="restore", finds="deleted"),
        IndexScenario(name="index: vacuum", action="vacuum", finds="refreshed"),
        IndexScenario(name="index: vacuum, deleted", action="vacuum", finds="deleted"),
        IndexScenario(name="index: cancel", action="cancel", finds="begun"),
        IndexScenario(
            name="index: create, after a kill",
            action="create",
            finds="new",
            made_by_the_killed=("_bloom_index", "_bloom_index/ids", "_bloom_index/ids/_log"),
        ),
        IndexScenario(
            name="index: create, no hard links", action="create", finds="new", without=(LINKS,)
        ),
        IndexScenario(
            name="index: refresh, no hard links",
            action="incremental",
            finds="changed",
            without=(LINKS,),
        ),
    )
}
