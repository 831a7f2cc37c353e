"""Damage every filter in every way, cut every file to every length, lie to every read.

A case is KIND/NUMBER; a number always makes the same damage.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from campaigns.harness import Campaign, Result
from campaigns.hostile.filters_bits import check_flip, flips
from campaigns.hostile.filters_damage import TEXTS as DAMAGES
from campaigns.hostile.filters_damage import damage
from campaigns.hostile.filters_judge import judge, verb_in_turn
from campaigns.hostile.filters_sources import check_source, sources
from campaigns.hostile.limits import ALLOWED_BYTES, Meter, in_memory
from campaigns.hostile.truncation_files import CUTS, count_cuts, cut
from campaigns.hostile.truncation_judge import judge_cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from campaigns.harness import Section, Tallies

_WARM: Final = 20
"""Tries of a kind before its first, which are not judged: what they load is loaded once."""

TEXTS: Final = {
    "lengths": "files cut to every length",
    "glued": "data cut to every length, the footer behind it",
    "holes": "a hole of 1, 8 or 64 bytes at every byte",
    "bits": "one bit of a bitset, and `verify`",
    "sources": "sources that lie: short, failing and changing reads",
    **DAMAGES,
}
"""By kind: what it is, for the table."""

CUT_KINDS: Final = tuple(CUTS)
FILTER_KINDS: Final = tuple(kind for kind in TEXTS if kind not in CUTS)


class Filters(Campaign):
    """All cases of every kind."""

    part = "filters"
    title = "Truncated files and damaged filters"
    workers = 2
    is_expendable = True
    text = """
All verbs must be right, or refuse with an error of this package and leave the file as it was,
within 5 s of processor time and 64 MiB of memory. A probe never excludes a row group that holds the
value.

*Undetected without the data* counts filters in which nothing contradicts anything, though their
bits are not the bits of the values. Readers lose rows by such filters; `verify` finds them, and
`bloomify --replace` builds all anew. Not tried are single bits of pages, and interfaces that return
more bytes to pyarrow than it asked for, on which pyarrow crashes.
"""

    def cases(self) -> Iterable[str]:
        """Return an even share of the cases of every kind."""
        for kind in TEXTS:
            yield from cases_of(kind, self.plan.some(count(kind)), self.plan.seed)

    def attempt(self, name: str, show: Callable[[str], None]) -> Iterable[Result]:
        """Try one case within the limits of time and memory."""
        kind, number = name.split("/")
        self._warm_up(kind)
        show(f"{TEXTS[kind]}, case {number} of {count(kind):,}")
        with self._meter.measured() as use:
            outcome = judged(kind, int(number), self._scratch)
        is_much = max(use.peak_bytes, use.pool_bytes) > ALLOWED_BYTES
        yield Result(name=name, seen={outcome: 1}, problems=(f"{use}",) if is_much else ())

    def section(self, tallies: Tallies) -> Section:
        """Count by kind; the most frequent outcome comes first."""
        remarks = {
            kind: ", ".join(f"{number:,} {what}" for what, number in tally.seen.most_common())
            for kind, tally in tallies.items()
        }
        return self.counted({kind: (TEXTS[kind], remarks[kind]) for kind in tallies}, tallies)

    def _warm_up(self, kind: str) -> None:
        if not self._warm:
            folder = tempfile.TemporaryDirectory(dir=in_memory())
            self._scratch = Path(self.stack.enter_context(folder))
            self._meter = Meter()
        if kind not in self._warm:
            self._warm.add(kind)
            for number in range(_WARM):
                with contextlib.suppress(Exception), self._meter.measured():
                    judged(kind, number, self._scratch)

    def open(self) -> None:
        """Measure nothing yet: the parent of the workers tries nothing itself."""
        self._warm: set[str] = set()


def cases_of(kind: str, tries: int, seed: int = 0) -> list[str]:
    """Spread so many tries evenly over the cases of a kind; the seed shifts them."""
    whole = count(kind)
    step = max(1, whole // min(tries, whole))
    return [f"{kind}/{number}" for number in range(seed % step, whole, step)]


def count(kind: str) -> int:
    """How many cases there are."""
    if kind in CUTS:
        return count_cuts(kind)
    if kind in DAMAGES:
        return len(damage(kind).places)
    return len(flips() if kind == "bits" else sources())


def judged(kind: str, number: int, scratch: Path) -> str:
    """Try one case, and say what it came to.

    Raises:
        Wrong: If anything is not as it must be.
    """
    if kind in CUTS:
        return judge_cut(cut(kind, number), number, scratch)
    if kind in DAMAGES:
        return judge(damage(kind).case(number), verb_in_turn(number), scratch)
    return check_flip(number) if kind == "bits" else check_source(number, scratch)
