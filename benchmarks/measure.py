"""How things are measured: each in a process of its own, in turn, several times over.

Rules of this module:

- What is compared runs alternately, so that whatever else the machine does falls on all alike.
- Before each run everything written so far is flushed to disk, and the input is in the disk
  cache: a run pays for its own writing only.
- Nothing big is imported here: on Linux the peak memory of a child process includes what its
  parent held when it was started.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

DATA = Path(__file__).parent / "data"
REFERENCE = DATA / "reference.parquet"
SINGLE = DATA / "single.parquet"
FILTERED = DATA / "filtered.parquet"
"""The reference file with filters on `id` and `email`."""

OUTPUT = DATA / "output.parquet"
"""Where every run writes; removed before and after each."""

BLOOMIFY = str(Path(sys.executable).with_name("bloomify"))

Command: TypeAlias = Sequence[str]

_SHOWN_FROM = 0.2
_UNITS = (("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9))


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One finished process."""

    seconds: float
    """From its start to its end, wall clock."""

    cpu_seconds: float
    """Processor time of all its threads, in the kernel too."""

    peak_mb: float
    """Greatest resident set, in units of 1,000,000 bytes."""

    output: str
    """What it wrote to stdout."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Timing:
    """Several measurements of the same thing."""

    seconds: tuple[float, ...]
    """In the order they were taken."""

    @property
    def best(self) -> float:
        """The least, in seconds: what the work takes when nothing else interferes."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The median, in seconds."""
        return statistics.median(self.seconds)

    def __str__(self) -> str:
        unit, factor = next(
            (unit, factor) for unit, factor in _UNITS if self.best * factor >= _SHOWN_FROM
        )
        return f"{self.best * factor:.2f} {unit}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """One line of the report."""

    what: str
    """What was measured, Markdown."""

    figure: str
    """What came out, Markdown."""

    target: str = ""
    """What should come out, Markdown, or "" where the line is for information."""

    met: bool | None = None
    """Whether it did; None without a target."""


def task(name: str, *arguments: str) -> Command:
    """Return the command line of a task of `benchmarks.tasks`."""
    return (sys.executable, "-m", "benchmarks.tasks", name, *arguments)


def lookup_task(name: str, *arguments: str) -> Command:
    """Return the command line of a task of `benchmarks.lookup_tasks`."""
    return (sys.executable, "-m", "benchmarks.lookup_tasks", name, *arguments)


def run(
    command: Command,
    *,
    environment: Mapping[str, str] | None = None,
    codes: Sequence[int] = (0,),
) -> Run:
    """Run a command to its end, which must be with one of these exit codes.

    Raises:
        CalledProcessError: If it fails; what it wrote to stderr has been passed on.
    """
    OUTPUT.unlink(missing_ok=True)
    os.sync()
    with tempfile.TemporaryFile("w+") as stdout:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=stdout, env={**os.environ, **(environment or {})}
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in codes:
            raise subprocess.CalledProcessError(process.returncode, command)
        stdout.seek(0)
        return Run(
            seconds=seconds,
            cpu_seconds=usage.ru_utime + usage.ru_stime,
            peak_mb=usage.ru_maxrss * 1024 / 1e6,
            output=stdout.read(),
        )


def alternate(
    commands: Mapping[str, Command], *, repeats: int, codes: Sequence[int] = (0,)
) -> dict[str, Timing]:
    """Time whole processes, each `repeats` times in turn, after one run that is not counted.

    Returns:
        The timing of each command under its name.
    """
    cases = {name: _seconds_of(command, codes) for name, command in commands.items()}
    return timed(cases, repeats)


def _seconds_of(command: Command, codes: Sequence[int]) -> Callable[[], float]:
    return lambda: run(command, codes=codes).seconds


def timed(cases: Mapping[str, Callable[[], float]], repeats: int) -> dict[str, Timing]:
    """Call each case `repeats` times in turn, after one call that is not counted.

    Args:
        cases: Functions that return the seconds they took.
        repeats: How often each is counted.
    """
    rounds = [{name: case() for name, case in cases.items()} for _ in range(repeats + 1)]
    return {name: Timing(seconds=tuple(each[name] for each in rounds[1:])) for name in cases}


def read_timings(output: str) -> dict[str, Timing]:
    """Read what a task printed: a JSON object of lists of seconds."""
    return {name: Timing(seconds=tuple(values)) for name, values in json.loads(output).items()}


def at_most(what: str, timing: Timing, *, base: Timing, limit: float) -> Figure:
    """Compare with something that should take hardly less."""
    ratio = timing.best / base.best
    figure = f"{ratio:.2f}x: {timing} against {base}"
    return Figure(what=what, figure=figure, target=f"at most {limit:.3g}x", met=ratio <= limit)


def at_least(what: str, timing: Timing, *, base: Timing, limit: float) -> Figure:
    """Compare with something that should take much longer."""
    ratio = base.best / timing.best
    figure = f"{ratio:.1f}x as fast: {timing} against {base}"
    return Figure(what=what, figure=figure, target=f"at least {limit:g}x", met=ratio >= limit)


def below(what: str, value: float, *, limit: float, unit: str) -> Figure:
    """Compare a figure with its limit."""
    digits = 2 if unit in {"s", "ms"} else 0
    return Figure(
        what=what,
        figure=f"{value:.{digits}f} {unit}",
        target=f"at most {limit:g} {unit}",
        met=value <= limit,
    )
