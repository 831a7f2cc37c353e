"""Many more ways to lose power, of every scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.torture.power.every import EVERY
from tests.torture.power.stage import run_traced
from tests.torture.power.trying import Effort, crash
from tests.torture.section import Count, Section, of_counts

if TYPE_CHECKING:
    from tests.torture.section import Torture

_FATES, _REAL = 1500, 500

_TEXT = """
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


def torture(torture: Torture) -> Section:
    """Try them all."""
    effort = Effort(
        seed=torture.seed, fates=torture.some(_FATES), real=max(10, torture.some(_REAL))
    )
    torture.say("recording")
    records = run_traced(list(EVERY), torture.scratch)
    counts, problems = [], []
    for name, record in records.items():
        result = crash(EVERY[name], record, effort)
        wrong = len(result.problems)
        remark = f"{result.crashes - 1} operations, {result.real:,} states on a real disk"
        counts.append(
            Count(what=name, tried=result.states, survived=result.states - wrong, remark=remark)
        )
        problems += [f"{problem} (seed {torture.seed})" for problem in result.problems]
        torture.say(f"{name}: {result.states:,} states, {wrong} problems")
    return of_counts("Loss of power", _TEXT, tuple(counts), tuple(problems))
