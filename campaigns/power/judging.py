"""What a folder may look like after a crash.

    the file        all of the old bytes, or all of the new ones, with the right mode, owner and
                    attributes; the new ones for certain once the run has returned
    the backup      all of the old bytes, or absent; there for certain if the new version is
    the checksums   those of the file as it is, or absent; there for certain once the run has
                    returned
    all else        as before, but for temporary files that a later run knows and removes

Where there are no hard links, a new name may lead to an empty file that claims it, as long as the
old version is where it was; Hadoop ignores a checksum file that is empty.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from campaigns.power.recording import paths_of
from campaigns.power.scenarios import FILE, LINKS, READING
from campaigns.syscalls.scenarios import checksums
from parquet_bloomwriter.replace.external_references import crc_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from campaigns.power.disk import Disk, File
    from campaigns.power.recording import Record
    from campaigns.power.scenarios import Scenario

_TEMPORARY = re.compile(r"(?P<folder>(.+/)?)\.(?P<target>.+)\.bloomify-[0-9a-f]{16}\.tmp")


@dataclass(frozen=True)
class Judge:
    """Judges the states of one scenario."""

    scenario: Scenario
    record: Record

    def problems(self, disk: Disk, *, has_returned: bool) -> Iterator[str]:
        """Say what is wrong with a folder, if anything is."""
        found, before, after = map(paths_of, (disk, self.record.before, self.record.after))
        target, backup, crc = (
            self.scenario.target,
            self.scenario.backup,
            crc_path(self.scenario.target).name,
        )
        old, new = before.get(target), after[target]
        is_new = found.get(target) == new
        is_certain = has_returned and READING not in self.scenario.without
        if is_certain and not is_new:
            yield "the run has returned, and the new version is not there"
        if not is_new and found.get(target) != old and not self._is_claim(found, target):
            yield "the file is neither the old nor the new version"
        if backup is not None and (is_new or not self._is_claim(found, backup)):
            yield from _problems_of_backup(found.get(backup), old, is_needed=is_new)
        if self.scenario.has_crc and not self._is_claim(found, crc):
            yield from _problems_of_checksums(found, target, crc, is_needed=is_certain)
        judged = {target, backup, crc}
        for path in (found.keys() | before.keys()) - judged:
            if found.get(path) != before.get(path) and not is_temporary(path, judged):
                yield f"{path} is not as it was"
        if has_returned and is_certain and found != after:
            yield "the run has returned, and something is not as it left it"

    def _is_claim(self, found: Mapping[str, File | None], path: str) -> bool:
        """Whether an empty file claims a new name."""
        file = found.get(path)
        is_new_name = LINKS in self.scenario.without and path != FILE
        return is_new_name and file is not None and (file.data, file.mode) == (b"", 0o600)


def _problems_of_backup(found: File | None, old: File | None, *, is_needed: bool) -> Iterator[str]:
    if found is None and is_needed:
        yield "the old version is gone, and there is no backup"
    if found is not None and found != old:
        yield "the backup is not the old version"


def _problems_of_checksums(
    found: Mapping[str, File | None], target: str, crc: str, *, is_needed: bool
) -> Iterator[str]:
    file, sums = found.get(target), found.get(crc)
    if sums is None and is_needed:
        yield "the run has returned, and there is no checksum file"
    if file is not None and sums is not None and sums.data != checksums(file.data):
        yield "the checksum file is not that of the file"


def is_temporary(path: str, judged: set[str | None]) -> bool:
    """Whether this is the path of a temporary file for one of those judged."""
    match = _TEMPORARY.fullmatch(path)
    return match is not None and match["folder"] + match["target"] in judged
