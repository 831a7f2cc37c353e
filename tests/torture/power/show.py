"""Show one state again: `python -m tests.torture.power.show NAME FOLDER [SEED]`.

NAME is as problems have it: the scenario's, how many operations were done, and the number of the
state. FOLDER gets what the disk holds. The run is recorded anew, so temporary names differ.
"""

from __future__ import annotations

import sys
import tempfile
from itertools import islice
from pathlib import Path

from tests.torture.power.again import put
from tests.torture.power.crashes import Crash, States
from tests.torture.power.stage import run_traced


def main() -> None:
    """Do it."""
    name, after, number = sys.argv[1].rsplit("/", 2)
    seed = int(sys.argv[3]) if sys.argv[3:] else 0
    with tempfile.TemporaryDirectory() as scratch:
        record = run_traced([name], Path(scratch))[name]
    crash = Crash(record, int(after))
    fates = next(islice(crash.fates(seed), int(number), None))
    by_number = dict(zip(crash.open_to_files, fates[0], strict=True))
    by_number |= dict(zip(crash.open_to_folders, fates[1], strict=True))
    for at, operation in enumerate(record.operations[: crash.after]):
        fate = by_number.get(at, "lasting")
        sys.stdout.write(f"{at:4} {fate!s:40} {operation}\n")
    put(States(record).state(crash, fates)[0], Path(sys.argv[2]))


if __name__ == "__main__":
    main()
