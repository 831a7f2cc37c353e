"""A million mutated footers, and what other readers make of a share of them.

verbs/N        mutant N, by every verb (`trying`)
pyarrow/N      mutant N, rewritten, and read by pyarrow (`second_readers`)
duckdb/N       the same by DuckDB
read_table/N   mutant N, read with a condition by the package and by pyarrow
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from campaigns.harness import Campaign, Result
from campaigns.hostile.second_readers import READERS, SecondReaders
from campaigns.hostile.trying import KEPT_EVERY, Verbs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from campaigns.harness import Section, Tallies
    from tests.support.workers import Crash

FOOTERS: Final = 1_000_000
_PER_PROCESS: Final = 10_000
_READ_EVERY: Final = 25
"""Of the mutants of each kind, one in so many is read with `read_table`."""

_CRASHED: Final = "crash or hang the reader alone"
_LINES: Final = {
    "verbs": "mutated footers",
    "pyarrow": "rewritten, read with pyarrow",
    "duckdb": "rewritten, read with DuckDB",
    "read_table": "mutated, read with a condition",
}


class Footers(Campaign):
    """Mutants by number, from the seed on."""

    part = "footers"
    title = "Mutated footers"
    workers = 2
    is_expendable = True
    text = """
Each try changes the footer of a sample file: half are scrambled bytes; the others stay Thrift, with
false, missing or doubled fields. Each verb must succeed, or raise a `BloomwriterError` of one
printable line, within 5 s of processor time and 64 MiB of memory beyond the size of the file. A
rewritten file must hold every byte that the plan keeps. For a share of the tries, Thrift's own
classes must find the same footer, pyarrow and DuckDB must read the same rows as before, every value
must be in its filter, and the reading verbs must neither crash nor hang, even where pyarrow does.
"""
    _tries: Verbs | SecondReaders | None = None

    def cases(self) -> Iterable[str]:
        """Return the mutants by every verb, and some of them by other readers."""
        first = self.plan.seed
        return cases_of(range(first, first + self.plan.some(FOOTERS)))

    def attempt(self, name: str, show: Callable[[str], None]) -> Iterable[Result]:
        """Try one mutant; a process tries all of one kind."""
        kind, number = name.split("/")
        if self._tries is None:
            self._tries = SecondReaders() if kind in READERS else Verbs(self.plan.scratch)
        yield self._tries.attempt(name, int(number), show)

    def crashed(self, crash: Crash) -> Result:
        """Judge a crash: what a reader does without our help is no problem of ours."""
        if crash.path.startswith("verbs/") or crash.passed:
            return super().crashed(crash)
        return Result(name=crash.path, seen={_CRASHED: 1})

    def shards(self, names: list[str], workers: int) -> list[list[str]]:
        """Give each process cases of one kind: their limits differ."""
        number = max(workers, -(-len(names) // _PER_PROCESS))
        kinds = [[name for name in names if name.startswith(f"{kind}/")] for kind in _LINES]
        parts = [kinds[0][first::number] for first in range(number)]
        parts += [kind[first::workers] for kind in kinds[1:] for first in range(workers)]
        return [part for part in parts if part]

    def section(self, tallies: Tallies) -> Section:
        """Count what was rewritten, and what readers cannot read by themselves."""
        remarks = {
            kind: f"{tallies[kind].seen[_CRASHED]:,} {_CRASHED}"
            for kind in _LINES
            if kind in tallies
        }
        remarks["verbs"] = f"{tallies['verbs'].seen['rewritten']:,} rewritten, the others refused"
        return self.counted({kind: (_LINES[kind], remarks[kind]) for kind in remarks}, tallies)


def cases_of(numbers: range) -> list[str]:
    """Return what is tried of these mutants."""
    kept = [n for n in numbers if n % KEPT_EVERY < 2]
    read = [n for n in numbers if n // 2 % _READ_EVERY == 0]
    some = {"verbs": numbers, "pyarrow": kept, "duckdb": kept, "read_table": read}
    return [f"{kind}/{number}" for kind, chosen in some.items() for number in chosen]
