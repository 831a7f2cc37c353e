"""Do one thing after the other, each in a process of its own, and say what it cost.

    python -m campaigns.sizes.measure

A process that has everything imported forks one child for each line of JSON on its standard input,
`[case, verb, size, folder]`; verb "make" writes FOLDER/old.parquet. It answers with the cost, or
with what went wrong. CPU seconds are the child's, user and system, of all its threads; memory is
the highest that the system counted.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import select
import subprocess
import sys
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from campaigns.sizes.cases import CASES, run

if TYPE_CHECKING:
    from typing import NoReturn

_ROOT = Path(__file__).resolve().parents[2]
_OLD = "old.parquet"
_KIB_PER_MIB = 1024
HANG_SECONDS = 1800.0
_MODULES = (
    *("pandas", "pyarrow.compute", "pyarrow.dataset", "pyarrow.parquet"),
    *(f"parquet_bloomwriter.{name}" for name in ("advising.cost_model", "filters.build", "scan")),
)
"""What verbs import when they are first called."""


class Failed(Exception):
    """It did not end well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What something took."""

    cpu: float
    """Seconds, user and system."""

    grown: float
    """MiB that the process had at most, but for what it had before."""


class Measurer:
    """The process that forks."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "campaigns.sizes.measure"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=_ROOT,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def measure(self, case: str, verb: str, size: float, folder: Path) -> Cost:
        """Do it.

        Raises:
            Failed: With what went wrong.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps([case, verb, size, str(folder)]) + "\n")
        stdin.flush()
        ready, _, _ = select.select([stdout], [], [], HANG_SECONDS)
        answer = json.loads(stdout.readline()) if ready else {"error": "it hangs"}
        if "error" in answer:
            raise Failed(f"{case}, {size:g}, {verb}: {answer['error']}")
        return Cost(**answer)


def main() -> None:
    """Be that process."""
    for name in _MODULES:
        importlib.import_module(name)
    for line in sys.stdin:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            _be_child(writer, *json.loads(line))
        os.close(writer)
        with os.fdopen(reader) as told:
            answer = told.read()
        _, status = os.waitpid(child, 0)
        lost = {"error": f"the process ended with {os.waitstatus_to_exitcode(status)}"}
        sys.stdout.write((answer or json.dumps(lost)) + "\n")
        sys.stdout.flush()


def _be_child(writer: int, case: str, verb: str, size: float, folder: str) -> NoReturn:
    try:
        answer = asdict(_cost(case, verb, size, Path(folder)))
    except BaseException as error:  # noqa: BLE001  whatever it is, it is told
        where = traceback.extract_tb(error.__traceback__)[-1]
        answer = {"error": f"{error!r} in {where.name}"}
    os.write(writer, json.dumps(answer).encode())
    os._exit(0)


def _cost(name: str, verb: str, size: float, folder: Path) -> Cost:
    case, path = CASES[name], folder / _OLD
    before, cpu = _peak(), time.process_time()
    if verb == "make":
        case.make(path, size)
    else:
        run(case, verb, path, size)
    return Cost(
        cpu=time.process_time() - cpu,
        grown=_peak() - before,
    )


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _KIB_PER_MIB


if __name__ == "__main__":
    main()
