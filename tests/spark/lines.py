"""Try every line of Spark: `make test-sparks`, `python -m tests.spark.lines`.

Each line has an environment of its own below build/sparks, with its newest release, made once. The
tests of the Spark part run in it; with --queries also random queries with the rules off and on.
Figures of all lines go to docs/reliability.md with --write.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from campaigns.queries import QUERIES

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[2]
REPORT = ROOT / "docs" / "reliability.md"
FOLDER = ROOT / "build" / "sparks"
LINES = ("3.5", "4.0", "4.1", "4.2", "4.3")
TESTS = (
    "test_tour.py",
    "test_hyperspace.py",
    "test_rules.py",
    "test_places.py",
    "test_threads.py",
    "test_strangers.py",
    "test_worker_python.py",
    "test_where.py",
    "test_bloomify_table.py",
    "test_file_changes.py",
    "test_contract.py",
    "test_foreign.py",
    "test_settings.py",
    "generated",
    "protocol",
)
"""Tests of these things: create, refresh, both rules, explain, `where` and `bloomify_table`."""

_NEEDS = (
    "pandas<3",
    "pytest",
    "pytest-timeout",
    "pytest-xdist",
    "hypothesis",
    "duckdb",
    "setuptools>=77.0.3",
    "xxhash",
)
_PLACE = re.compile(r"(<!-- lines -->\n).*?(<!-- end of lines -->)", re.DOTALL)
_ROW = re.compile(r"^\| (\d[^|]*) \| ([^|]*) \| ([^|]*) \|$", re.MULTILINE)
_QUERIES_DONE = re.compile(r"^queries +([\d,]+) +([\d,]+) +([\d,]+) ", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one line came to."""

    version: str
    tests: str
    queries: str
    is_good: bool


def main() -> int:
    """Try the chosen lines, one after the other."""
    options = _options()
    outcomes = [_tried(line, options) for line in options.lines]
    table = [("Spark", "tests", "queries with rules off and on")]
    table += [(one.version, one.tests, one.queries) for one in outcomes]
    _say("\n" + "\n".join("  ".join(f"{cell:<24}" for cell in row) for row in table))
    if options.write:
        _write(table)
    return int(not all(one.is_good for one in outcomes))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.spark.lines", description=__doc__)
    parser.add_argument(
        "--lines",
        type=lambda text: text.split(","),
        default=list(LINES),
        metavar="LINES",
        help=f"some of {','.join(LINES)} (all)",
    )
    parser.add_argument("--queries", type=int, default=0, help="random queries for each line (0)")
    parser.add_argument("--seed", type=int, default=0, help="where random choices begin (0)")
    parser.add_argument(
        "--write", action="store_true", help="write the table of docs/reliability.md anew"
    )
    parser.add_argument("--no-tests", action="store_true", help="only the random queries")
    options = parser.parse_args()
    if unknown := [line for line in options.lines if line not in LINES]:
        parser.error(f"{unknown[0]!r} is no line of Spark that is tried: {', '.join(LINES)}")
    return options


def _tried(line: str, options: argparse.Namespace) -> Outcome:
    python = _environment(line)
    version = _output(python, "-c", "import pyspark; print(pyspark.__version__)").strip()
    _say(f"== Spark {version}")
    tests, queries, is_good = "not run", "not run", True
    if not options.no_tests:
        paths = [str(ROOT / "tests" / "spark" / name) for name in TESTS]
        # py4j of old releases warns of sockets that it leaves open.
        code, text = _followed(python, "-m", "pytest", "-q", "-o", "filterwarnings=", *paths)
        tests, is_good = text.strip().splitlines()[-1], code == 0
    if options.queries:
        share, seed = str(options.queries / QUERIES), str(options.seed)
        torture = ("-m", "campaigns", "--only", "queries", "--share", share)
        code, text = _followed(python, "-W", "ignore", *torture, "--seed", seed)
        done = _QUERIES_DONE.search(text)
        queries = f"{done[1]} run, {done[3]} differ" if done else "stopped"
        is_good = is_good and code == 0
    return Outcome(version=version, tests=tests, queries=queries, is_good=is_good)


def _environment(line: str) -> str:
    """Return the Python of a line's environment, made when it is first asked for."""
    folder = FOLDER / line
    python, stamp = str(folder / "bin" / "python"), folder / ".installed"
    needs = " ".join(_NEEDS)
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != needs:
        _say(f"setting up {folder.relative_to(ROOT)} (once; fetches some 500 MB)")
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = (python, "-m", "pip", "install", "-qq", "--disable-pip-version-check")
        subprocess.run([*install, f"pyspark=={line}.*", *_NEEDS], check=True)
        subprocess.run([*install, "--no-build-isolation", "-e", str(ROOT)], check=True)
        stamp.write_text(needs, encoding="utf-8")
    return python


def _write(table: Sequence[tuple[str, ...]]) -> None:
    """Write the rows into the table of the report; rows of lines that were not tried stay."""
    old = REPORT.read_text(encoding="utf-8")
    rows = {_line_of(row[0]): row for row in _ROW.findall(_PLACE.search(old)[0])}  # type: ignore[index]
    rows |= {_line_of(row[0]): row for row in table[1:]}
    lines = [table[0], ("---",) * len(table[0]), *(rows[line] for line in LINES if line in rows)]
    text = "\n".join(f"| {' | '.join(row)} |" for row in lines)
    new = _PLACE.sub(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", old)
    REPORT.write_text(new, encoding="utf-8")


def _line_of(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _followed(*command: str) -> tuple[int, str]:
    """Run a command, show what it prints, and return its exit code and its output."""
    lines = []
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        for line in process.stdout or ():
            lines.append(line)
            _say(line.rstrip("\n"))
    return process.returncode, "".join(lines)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
