"""Fuzz every target for minutes, and try predicates that make no sense by the thousand.

TARGET         fuzzed by Atheris, in a process of its own (`fuzz`)
TARGET/HEX     one input of the target, in hexadecimal digits
garbage/N      text N of words and symbols in any order, as SQL (`garbage`)
"""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from campaigns.fuzzing.files import ROOT, seeds
from campaigns.fuzzing.garbage import as_bytes
from campaigns.fuzzing.targets import TARGETS, sql
from campaigns.harness import Campaign, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from campaigns.harness import Section, Tallies

_SECONDS: Final = 640
"""Of all targets together, for a share of 1; two run at the same time."""

_LEAST_SECONDS: Final = 20
_PATIENCE_SECONDS: Final = 60
"""After which an input counts as a hang on a clock, too; see `fuzz.limited`."""

_GARBAGE: Final = 20_000
"""Texts that are no predicates."""

_LENGTHS: Final = {"footer": 4096, "header": 200, "probe": 120, "sql": 400}
"""Bytes of an input, at most."""

_MEMORY_MB: Final = 640
"""Of a process; the instrumented package and its files take 300."""

_TRIED = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
_LINE_OF_ERROR = re.compile(r"^\w+(?:\.\w+)*(?:Error|Wrong|Exception)?: .*$", re.MULTILINE)


class Fuzzing(Campaign):
    """Two targets at a time; texts in this process."""

    part = "fuzzing"
    title = "Fuzzing"
    workers = 2
    text = """
Atheris (libFuzzer, guided by coverage) makes inputs for the parsers of footers, headers and SQL,
and the probe of a small file. Each input must lead to an answer, or to an error of this package, in
time and memory. The scanners in C and in Python must find the same.
"""

    def cases(self) -> Iterable[str]:
        """Return all targets, and a share of the texts."""
        if find_spec("atheris") is None:
            raise ModuleNotFoundError(
                "atheris is missing: pip install -r requirements-torture.lock"
            )
        first = self.plan.seed * _GARBAGE
        numbers = range(first, first + self.plan.some(_GARBAGE))
        return [*TARGETS, *(f"garbage/{number}" for number in numbers)]

    def attempt(self, name: str, show: Callable[[str], None]) -> Iterable[Result]:
        """Fuzz a target, or try one input."""
        target, _, what = name.partition("/")
        if not what:
            yield from self._fuzzed(target)
            return
        data = bytes.fromhex(what) if target in TARGETS else as_bytes(int(what))
        show(repr(data))
        TARGETS.get(target, sql)(data)
        yield Result(name=name)

    def section(self, tallies: Tallies) -> Section:
        """Say how long targets were fuzzed, and what they reached."""
        lines = {
            target: (target, f"{s['seconds']} s; {s['inputs']:,} inputs that reach different code")
            for target in TARGETS
            if (s := tallies[target].seen)
        }
        lines["garbage"] = ("words and symbols in any order as SQL", "")
        return self.counted(lines, tallies)

    def _fuzzed(self, target: str) -> Iterator[Result]:
        seconds = max(_LEAST_SECONDS, round(_SECONDS * self.plan.share / len(TARGETS)))
        corpus, found = (self.plan.scratch / target / name for name in ("corpus", "found"))
        for one in (corpus, found):
            one.mkdir(parents=True)
        for number, seed in enumerate(seeds(target)):
            (corpus / str(number)).write_bytes(seed)
        command = (
            *(sys.executable, "-m", "campaigns.fuzzing.fuzz", target, str(corpus)),
            *(f"-max_total_time={seconds}", f"-seed={self.plan.seed + 1}"),
            *(f"-timeout={_PATIENCE_SECONDS}", "-len_control=0", f"-max_len={_LENGTHS[target]}"),
            *(f"-rss_limit_mb={_MEMORY_MB}", "-print_final_stats=1", f"-artifact_prefix={found}/"),
        )
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        inputs = sorted(found.iterdir())
        for path in inputs:
            yield _result(target, path, ended.stderr)
        failed = ended.returncode and not inputs
        stats = _TRIED.search(ended.stderr)
        tried = int(stats[1]) - len(inputs) if stats else 0
        seen = {"seconds": seconds, "inputs": len(list(corpus.iterdir()))}
        problems = (f"exit {ended.returncode}: {ended.stderr[-500:]}",) if failed else ()
        yield Result(name=target, tried=max(tried, len(problems)), seen=seen, problems=problems)


def _result(target: str, path: Path, errors: str) -> Result:
    """Name the input by its bytes: saved among the inputs, it is tried again by the tests."""
    cause = " ".join(_LINE_OF_ERROR.findall(errors)[:1])
    return Result(name=f"{target}/{path.read_bytes().hex()}", problems=(f"{path.name}: {cause}",))
