"""Fuzz every target for minutes, and try predicates that make no sense by the thousand."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from tests.torture.fuzzing.files import ROOT, seeds
from tests.torture.fuzzing.targets import TARGETS
from tests.torture.section import Count, of_counts

if TYPE_CHECKING:
    from pathlib import Path

    from tests.torture.section import Section, Torture

_SECONDS: Final = 640
"""Of all targets together, for a share of 1; two run at the same time."""

_LEAST_SECONDS: Final = 20
_PATIENCE_SECONDS: Final = 60
"""After which an input counts as a hang on a clock, too; see `fuzz.limited`."""

_PROCESSES: Final = 2
_GARBAGE: Final = 20_000
"""Texts that are no predicates."""

_LENGTHS: Final = {"footer": 4096, "header": 200, "probe": 120, "sql": 400}
"""Bytes of an input, at most."""

_MEMORY_MB: Final = 640
"""Of a process; the instrumented package and its files take 300."""

_TRIED = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
_TEXT = """
Atheris (libFuzzer, guided by coverage of the package) makes inputs for the parser of footers, the
parser of headers, the probe of a small file with some bytes changed, and the parser of SQL with a
probe of a file that has columns of every kind. What is expected is an answer or an error of the
package, of one line, within 5 s and a bound on memory; a footer must be seen alike by both forms of
the scanner, in C and in Python, and a header alike by both ways of reading it. Inputs
begin with what writers make, and with whatever was found before, which `make test` tries again.
Beside that there are texts of words and symbols in any order.
"""


def torture(options: Torture) -> Section:
    """Fuzz each target for its part of the time."""
    if find_spec("atheris") is None:
        raise ModuleNotFoundError("atheris is missing: pip install -r requirements-torture.lock")
    seconds = max(_LEAST_SECONDS, round(_SECONDS * options.share / len(TARGETS)))
    with ThreadPoolExecutor(_PROCESSES) as pool:
        garbage = pool.submit(_garbage, options)
        found = list(pool.map(lambda target: _fuzzed(target, seconds, options), TARGETS))
    found.append(garbage.result())
    return of_counts(
        "Fuzzing",
        _TEXT,
        tuple(count for count, _ in found),
        tuple(problem for _, problems in found for problem in problems),
    )


def _fuzzed(target: str, seconds: int, options: Torture) -> tuple[Count, list[str]]:
    folder = options.scratch / target
    corpus, found = folder / "corpus", folder / "found"
    for one in (corpus, found):
        one.mkdir(parents=True)
    for number, seed in enumerate(seeds(target)):
        (corpus / str(number)).write_bytes(seed)
    command = [
        *(sys.executable, "-m", "tests.torture.fuzzing.fuzz", target, str(corpus)),
        *(
            f"-max_total_time={seconds}",
            f"-seed={options.seed + 1}",
            f"-timeout={_PATIENCE_SECONDS}",
        ),
        *(
            "-len_control=0",
            f"-max_len={_LENGTHS[target]}",
            f"-rss_limit_mb={_MEMORY_MB}",
            "-print_final_stats=1",
        ),
        f"-artifact_prefix={found}/",
    ]
    options.say(f"{target}: {seconds} s")
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    problems = [_shown(target, path, ended.stderr) for path in sorted(found.iterdir())]
    if ended.returncode and not problems:
        problems.append(f"{target}: exit {ended.returncode}: {ended.stderr[-500:]}")
    stats = _TRIED.search(ended.stderr)
    tried = int(stats[1]) if stats else len(problems)
    options.say(f"{target}: {tried} tries, {len(problems)} wrong")
    corpus_size = len(list(corpus.iterdir()))
    remark = f"{seconds} s; {corpus_size:,} inputs that reach different code"
    return Count(what=target, tried=tried, survived=tried - len(problems), remark=remark), problems


def _shown(target: str, path: Path, errors: str) -> str:
    """What is needed to see it again: save the bytes among the inputs, and run the tests."""
    cause = re.findall(r"^\w+(?:\.\w+)*(?:Error|Wrong|Exception)?: .*$", errors, re.MULTILINE)
    return (
        f"{target}: {path.name}: {' '.join(cause[:1])} bytes.fromhex({path.read_bytes().hex()!r})"
    )


def _garbage(options: Torture) -> tuple[Count, list[str]]:
    number = options.some(_GARBAGE)
    first = options.seed * _GARBAGE
    command = (sys.executable, "-m", "tests.torture.fuzzing.garbage", str(first))
    ended = subprocess.run(
        [*command, str(first + number)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    problems = ended.stdout.splitlines()
    if ended.returncode:
        problems.append(f"garbage: exit {ended.returncode}: {ended.stderr[-500:]}")
    options.say(f"garbage: {number} texts, {len(problems)} wrong")
    what = "words and symbols in any order as SQL"
    return Count(what=what, tried=number, survived=number - len(problems)), problems
