"""Run a module on many files in a process of its own, which may crash or hang on any of them.

The module takes tasks on its standard input, one JSON object with a `path` per line, and answers
in lines: `{"begins": path}`, perhaps `{"passes": path}` on the way, and the result. A process that
dies or falls silent is charged to the file it was at; the next one goes on behind it.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 240
"""Silence that counts as a hang; the slowest file takes two seconds."""

Task = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """A process that ended at a file."""

    path: str
    passed: bool
    """Whether it had said that it is on its way."""

    how: str
    """Exit status, and the end of what it wrote to its standard error."""


def tell(answer: Task) -> None:
    """Answer from inside the process."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def work(module: str, tasks: Sequence[Task], *arguments: str) -> Iterator[Task | Crash]:
    """Yield one result, or one crash, for every task in order."""
    left = list(tasks)
    while left:
        for answer in _one_process(module, left, arguments):
            left.pop(0)
            yield answer


def _one_process(
    module: str, tasks: Sequence[Task], arguments: Sequence[str]
) -> Iterator[Task | Crash]:
    with tempfile.TemporaryFile("w+") as inputs, tempfile.TemporaryFile("w+") as errors:
        inputs.write("".join(json.dumps(task) + "\n" for task in tasks))
        inputs.seek(0)
        command = [sys.executable, "-W", "error::RuntimeWarning", "-m", module, *arguments]
        with subprocess.Popen(
            command, stdin=inputs, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT
        ) as process:
            answered, passed = 0, False
            for line in _lines(process):
                answer = json.loads(line)
                passed = "passes" in answer
                if not passed and "begins" not in answer:
                    yield answer
                    answered += 1
            status = process.wait()
        if answered < len(tasks):
            errors.seek(0)
            how = f"exit {status}: {errors.read()[-2000:]}"
            yield Crash(path=tasks[answered]["path"], passed=passed, how=how)


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    """Yield what it prints; kill it when it is silent for too long."""
    lines: queue.Queue[str | None] = queue.Queue()

    def listen() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    listener = threading.Thread(target=listen)
    listener.start()
    try:
        while (line := lines.get(timeout=PATIENCE_SECONDS)) is not None:
            yield line
    except queue.Empty:
        process.kill()
    listener.join()
