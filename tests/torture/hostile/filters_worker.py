"""Tries many damaged files in a process of its own: `support.workers` has the frame.

A task is `{"path": "KIND:FIRST-STOP:STEP"}`, and the answer counts its cases. To see one again:

    python -m tests.torture.hostile.filters_worker KIND NUMBER
"""

from __future__ import annotations

import json
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.workers import tell
from tests.torture.hostile.filters_kinds import attempt
from tests.torture.hostile.limits import ALLOWED_BYTES, Meter

if TYPE_CHECKING:
    from tests.support.workers import Task

WRONG = "wrong"
_WARM = 20
"""Tries of a kind before its first, which are not judged: what they load is loaded once."""

_MOST_PROBLEMS = 20


def run(path: str, scratch: Path, meter: Meter) -> Task:
    """Try the cases of a task."""
    kind, span, step = path.split(":")
    first, stop = map(int, span.split("-"))
    outcomes: Counter[str] = Counter()
    problems: list[str] = []
    for number in range(first, stop, int(step)):
        tell({"begins": f"{path}, at {number}"})
        outcome, problem = _one(kind, number, scratch, meter)
        outcomes[outcome] += 1
        problems += [f"filters_worker {kind} {number}: {problem}"] if problem else []
    return {"path": path, "outcomes": outcomes, "problems": problems[:_MOST_PROBLEMS]}


def _one(kind: str, number: int, scratch: Path, meter: Meter) -> tuple[str, str]:
    """What a case came to, and what is wrong with it."""
    try:
        with meter.measured() as use:
            outcome = attempt(kind, number, scratch)
    except Exception as error:  # noqa: BLE001  whatever it is, it should not be
        where = traceback.extract_tb(error.__traceback__)[-1]
        what = " ".join(str(error).split())[:300]
        return (
            WRONG,
            f"{type(error).__name__} in {Path(where.filename).name}:{where.lineno}: {what}",
        )
    if max(use.peak_bytes, use.pool_bytes) > ALLOWED_BYTES:
        return WRONG, f"{use}"
    return outcome, ""


def _warm(kind: str, scratch: Path, meter: Meter) -> None:
    for number in range(_WARM):
        _one(kind, number, scratch, meter)


def main() -> None:
    """Work on one task per line of the standard input, or on the one case that is named."""
    in_memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108  flushing takes long
    with tempfile.TemporaryDirectory(dir=in_memory) as folder:
        scratch = Path(folder)
        if len(sys.argv) > 1:
            sys.stdout.write(attempt(sys.argv[1], int(sys.argv[2]), scratch) + "\n")
            return
        meter, warm = Meter(), set()
        for line in sys.stdin:
            path = json.loads(line)["path"]
            kind = path.partition(":")[0]
            if kind not in warm:
                _warm(kind, scratch, meter)
                warm.add(kind)
            tell(run(path, scratch, meter))


if __name__ == "__main__":
    main()
