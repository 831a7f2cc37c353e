"""What must hold after a run, whatever failed in it.

- The path holds the old bytes or the new ones; everything else in the folder is untouched. A backup
  is there if the new bytes are.
- Exit code 0 means new: its bytes were synced before it got its name, its folder afterwards.
- Anything else is a kill, or one line that begins with "bloomify:" and tells the truth.
- What is left over has a temporary name, and nobody may read it who could not read the file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from campaigns.syscalls.aftermath import Aftermath, data_of
from campaigns.syscalls.nursery import LOST
from campaigns.syscalls.scenarios import BACKUP, CRC, FILE
from campaigns.syscalls.traced import HUNG
from parquet_bloomwriter.replace.temporary import find_temporaries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from campaigns.syscalls.calls import Call
    from campaigns.syscalls.faults import Fault
    from campaigns.syscalls.folders import Folder

_UNCHANGED = ("left unchanged", "thrown away")
_IN_PLACE = "The new version is in place."
_NO_FILTER = 1
_MOST_CODE = 6
_WRITES = frozenset(
    {
        "copy_file_range",
        "fchmod",
        "fchown",
        "fsetxattr",
        "ftruncate",
        "pwrite64",
        "utimensat",
        "write",
    }
)
_FOLDER_IS_HIDDEN = frozenset({"EACCES", "EPERM"})
_OWNERSHIP = frozenset({"fchown", "fchmod", "fsetxattr"})


def problems_of(aftermath: Aftermath, *, is_worker: bool) -> Iterator[str]:
    """What should not be, one sentence each.

    Args:
        aftermath: What is there.
        is_worker: Whether the fault was in the thread that reads column chunks: those that cannot
            be read get no filter, and the run tells and goes on.
    """
    yield from _files(aftermath, is_worker=is_worker)
    yield from _leftovers(aftermath)
    yield from _ending(aftermath, is_worker=is_worker)


def undurable(calls: Sequence[Call], folder: Path, *, denied: bool) -> Iterator[str]:
    """What could get lost by a power failure although all of these calls were made.

    Args:
        calls: Those of the main thread.
        folder: Where the names are.
        denied: Whether the folder may not be opened, and then cannot be synced.
    """
    dirty: set[str] = set()
    unsynced_names: set[str] = set()
    for call in calls:
        paths = [Path(found).name for found in call.paths]
        if call.failed or not paths:
            continue
        if call.name in _WRITES:
            dirty.add(paths[-1])
        elif call.name == "fsync":
            dirty.discard(paths[0])
            if f"<{folder}>" in call.text:
                unsynced_names.clear()
        elif call.name in {"rename", "renameat2", "link"}:
            if paths[0] in dirty:
                yield f"{paths[1]} got its name before its bytes were synced"
            unsynced_names.add(paths[1])
    if unsynced_names and not denied:
        yield f"the folder was not synced after {sorted(unsynced_names)} got their names"


def differences(aftermath: Aftermath, found: Folder) -> Iterator[str]:
    """How the folder differs, after a next run, from what an undisturbed one leaves.

    A checksum file that was gone before stays away, and nobody remembers an owner that was lost.
    """
    after = aftermath.after
    forgotten = (
        aftermath.is_claimed(aftermath.scenario.target) or aftermath.fault.names & _OWNERSHIP
    )
    for name in sorted(found.keys() | after.keys()):
        is_, should = found.get(name), after.get(name)
        if is_ is None and name == CRC and name not in aftermath.found:
            continue
        if is_ is None or should is None:
            what = "missing" if is_ is None else "left over"
            yield f"after the next run {_steady(name)} is {what}"
        elif is_.data != should.data:
            yield f"after the next run {name} has other bytes"
        elif is_ != should and not forgotten:
            yield f"after the next run {name} has mode {is_.mode:o} and owner {is_.owner}"


def _files(aftermath: Aftermath, *, is_worker: bool) -> Iterator[str]:
    scenario, found = aftermath.scenario, aftermath.found
    is_new = aftermath.is_new or (is_worker and aftermath.is_partial)
    if not (aftermath.is_old or is_new or aftermath.is_claimed(scenario.target)):
        yield f"{scenario.target} is neither old nor new"
    kept = is_worker and "skipped" in aftermath.ending.out
    if aftermath.ending.status == 0 and not (is_new or kept):
        yield "exit code 0, but the file is not new"
    for name, entry in scenario.before.items():
        if name not in {scenario.target, scenario.companion} and found.get(name) != entry:
            yield f"{name} was changed"
    if is_new and not aftermath.is_old:
        yield from _access(aftermath, scenario.target)
    if scenario.companion == BACKUP:
        yield from _backup(aftermath)
    elif scenario.companion is not None:
        yield from _checksums(aftermath, scenario.companion)


def _access(aftermath: Aftermath, name: str) -> Iterator[str]:
    """Rights may be fewer where the owner could not be changed, never more."""
    is_, should = aftermath.found[name], aftermath.after[name]
    if is_.mode & ~should.mode:
        yield f"{name} has mode {is_.mode:o}"
    if is_.attributes != should.attributes:
        yield f"{name} has the attributes {is_.attributes}"
    if (is_.mode, is_.owner) != (should.mode, should.owner) and not (
        aftermath.fault.names & _OWNERSHIP
    ):
        yield f"{name} has mode {is_.mode:o} and owner {is_.owner}"


def _backup(aftermath: Aftermath) -> Iterator[str]:
    old, backup = aftermath.scenario.before[FILE], aftermath.found.get(BACKUP)
    if backup is None and aftermath.is_new:
        yield "the backup is missing"
    if backup is not None and backup.data != old.data and not aftermath.is_claimed(BACKUP):
        yield "the backup is not the old file"
    if backup is not None and not aftermath.is_new and aftermath.could_tidy_up:
        yield "there is a backup of a file that was not replaced"
    if backup is not None and aftermath.is_new:
        yield from _access(aftermath, BACKUP)


def _checksums(aftermath: Aftermath, name: str) -> Iterator[str]:
    """Checksums of other bytes than the file's are worse than none."""
    is_, old, new = (
        data_of(entries, name)
        for entries in (aftermath.found, aftermath.scenario.before, aftermath.after)
    )
    if is_ not in ({new, None} if aftermath.is_new else {old, None}):
        yield "the checksum file does not fit the file"
    can_put_back = aftermath.could_tidy_up and not aftermath.fault.names >= {"link", "rename"}
    if is_ is None and can_put_back and not aftermath.is_new:
        yield "the checksum file is gone, although the file is as it was"
    if is_ != new and aftermath.ending.status == 0:
        yield "exit code 0, but the checksum file is not new"


def _leftovers(aftermath: Aftermath) -> Iterator[str]:
    scenario = aftermath.scenario
    names = {scenario.target, scenario.companion or scenario.target}
    ours = {
        Path(path).name for name in names for path in find_temporaries(str(aftermath.folder / name))
    }
    for name, entry in aftermath.leftovers.items():
        if name not in ours:
            yield f"{_steady(name)} is left over, which nobody recognises"
        elif not (aftermath.fault.is_kill or "unlink" in aftermath.fault.names):
            yield f"{_steady(name)} is left over, although it could have been removed"
        known = {each.mode for each in (*scenario.before.values(), *aftermath.after.values())}
        if entry.mode not in known | {0o600}:
            yield f"{_steady(name)} has mode {entry.mode:o}"


def _ending(aftermath: Aftermath, *, is_worker: bool) -> Iterator[str]:
    ending, fault = aftermath.ending, aftermath.fault
    if ending.status == HUNG:
        yield "it hung"
        return
    if fault.is_kill or ending.status < 0:
        if not ending.is_killed:
            yield f"it was not killed but ended with {ending.status}: {ending.err}"
        return
    if "Traceback" in ending.err or ending.status == LOST:
        yield f"a traceback: {ending.err}"
    told = is_worker and ending.status == _NO_FILTER and "skipped" in ending.out
    if ending.status != 0 and not told:
        yield from _message(aftermath)


def _message(aftermath: Aftermath) -> Iterator[str]:
    """One line that begins with the program's name, and is true."""
    status, said = aftermath.ending.status, aftermath.ending.err
    if status > _MOST_CODE:
        yield f"exit code {status}: {said}"
    if not said.startswith("bloomify: ") and "write" not in aftermath.fault.names:
        yield f"exit code {status} without a reason: {said!r}"
    if len(said.splitlines()) > 1:
        yield f"more than one line: {said}"
    if aftermath.is_new and any(words in said for words in _UNCHANGED):
        yield f"the file is new, but the user is told: {said}"
    if not aftermath.is_new and _IN_PLACE in said:
        yield f"the file is not new, but the user is told: {said}"


def is_folder_denied(fault: Fault, calls: Sequence[Call], folder: Path) -> bool:
    """Whether the folder could not be opened for want of permission: it is not synced then."""
    return fault.error in _FOLDER_IS_HIDDEN and any(
        call.name == "openat" and call.is_injected and f'"{folder}"' in call.text for call in calls
    )


def _steady(name: str) -> str:
    """A temporary name without what is made up for it."""
    return re.sub("(?<=bloomify-)[0-9a-f]{16}", "*", name)
