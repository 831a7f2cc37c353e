"""Run the blocks of a page as a reader does: in one shell and one Python, from top to bottom.

    python session.py BLOCKS.json

The file has a list of objects with `language`, `text`, `page` and `line`. What a block of the shell
exports is there in all later blocks. The last line of the output is a JSON list of what each block
printed. A block that fails ends the run.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def run_shell(text: str) -> str:
    """Run a block in bash; take over the environment and the folder that it leaves.

    Raises:
        RuntimeError: If a command fails.
    """
    left = Path(os.environ["SESSION_LEFT"])
    keep = f'\nenv -0 >"{left}"; printf "PWD_LEFT=%s" "$PWD" >>"{left}"\n'
    shell = ["/bin/bash", "-euo", "pipefail", "-c", text + keep]
    done = subprocess.run(shell, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    variables = dict(item.split("=", 1) for item in left.read_text("utf-8").split("\0") if item)
    os.chdir(variables.pop("PWD_LEFT"))
    os.environ.update(variables)
    return done.stdout


def run_python(text: str, place: str, scope: dict[str, Any]) -> str:
    """Run a block in the scope of those before it."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(text, place, "exec"), scope)  # noqa: S102  the pages are ours
    return said.getvalue()


def main() -> None:
    """Run all blocks."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for block in json.loads(Path(sys.argv[1]).read_text("utf-8")):
        place = f"{block['page']}:{block['line']}"
        try:
            if block["language"] == "sh":
                shown.append(run_shell(block["text"]))
            else:
                shown.append(run_python(block["text"], place, scope))
        except Exception as error:
            raise RuntimeError(f"{place}: {block['text']}") from error
    print(json.dumps(shown))  # noqa: T201  it is the result


if __name__ == "__main__":
    main()
