"""Do again what has gone wrong: `python -m tests.torture.races.again NAME ...`.

A name is that of a problem, or the beginning of many up to a slash: `meddling/truncate`.
"""

from __future__ import annotations

import sys

from tests.torture.races.catalogue import find, hands
from tests.torture.races.tries import attempt_all


def main() -> int:
    """Do it, and print what happened."""
    failed = False
    with hands() as given:
        for name in sys.argv[1:]:
            found = attempt_all(find(given, name), given.scratch)
            sys.stdout.write(f"{name}: {found.tried} tried, {dict(found.counts)}\n")
            sys.stdout.writelines(f"WRONG: {problem}\n" for problem in found.problems)
            failed |= bool(found.problems) or not found.tried
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
