"""Ask a reader the same questions again and again, until somebody says that it is enough.

    python -m campaigns.races.reading READER FOLDER ROWS

Prints "ready" after the first answer; then asks until standard input ends, and prints one line of
JSON: how many answers were right, and what the others were.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from pathlib import Path

from campaigns.races import answers


def main() -> None:
    """Do it."""
    name, folder, rows = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    ask, expected = answers.reader(name), answers.expected(rows)
    assert ask(str(answers.current(folder))) == expected
    _say("ready")
    enough = threading.Event()
    threading.Thread(target=_wait_for_end, args=(enough,), daemon=True).start()
    right, others = 0, Counter[str]()
    while not enough.is_set():
        try:
            found = ask(str(answers.current(folder)))
        except BaseException as error:  # noqa: BLE001  Rust panics are no Exceptions
            others[f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"] += 1
            continue
        if found == expected:
            right += 1
        else:
            others[f"wrong: {found}, not {expected}"] += 1
    _say(json.dumps({"right": right, "others": others}))


def _wait_for_end(enough: threading.Event) -> None:
    sys.stdin.read()
    enough.set()


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
