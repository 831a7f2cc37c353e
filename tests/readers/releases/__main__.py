"""Ask old and new releases of engines: `make test-engines`, `python -m tests.readers.releases`.

Each release has an environment of its own below build/engines, made once. All releases are asked
the same questions about the same files, without filters and with filters in each placement. Where
an answer changes, a hazard of `filters/hazards.py` must say so; otherwise the run fails. With
--write, the section of docs/compatibility.md on engines that lose rows is written anew; rows of
releases that were not asked stay.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_bloomwriter.filters.hazards import HAZARDS, Seen
from tests.readers.releases.cases import LAYOUTS, TYPES, asked_of
from tests.readers.releases.judging import Outcome, judge
from tests.readers.releases.page import PAGE, rewritten, table_of

if TYPE_CHECKING:
    from tests.readers.releases.cases import Asked

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "build" / "engines"

RELEASES = {
    "duckdb": tuple(f"duckdb=={v}" for v in ("1.2.2", "1.3.2", "1.4.5", "1.5.0", "1.5.6", "2.0.1")),
    "datafusion": tuple(
        f"datafusion=={v}"
        for v in (
            *("37.1.0", "38.0.1", "40.1.0", "43.1.0", "45.2.0", "47.0.0", "48.0.0", "49.0.0"),
            *("50.1.0", "53.0.0", "54.1.0", "55.0.0"),
        )
    ),
    "clickhouse": (
        "chdb==3.7.2",
        *(f"chdb-core=={v}" for v in ("26.1.0", "26.3.0", "26.5.0", "26.7.3", "26.9.0")),
    ),
    "polars": tuple(f"polars=={v}" for v in ("1.0.0", "1.44.2", "2.1.0")),
}
"""Packages by the engine they have; chdb 3.7.2 is ClickHouse 25.8."""

_NEEDS = {"datafusion": ("pyarrow",)}


def main() -> int:
    """Ask the chosen releases, one after the other."""
    options = _options()
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="bloomify-releases-") as folder:
        asked = list(asked_of(options.types, LAYOUTS, Path(folder)))
        chosen = [(engine, one) for engine in options.engines for one in RELEASES[engine]]
        outcomes += [_tried(*pair, asked) for pair in chosen if options.only in pair[1]]
    _say(table_of(outcomes))
    if options.write:
        PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), outcomes), encoding="utf-8")
    seen = {hazard for outcome in outcomes for hazard in outcome.hazards}
    for hazard in HAZARDS:
        if hazard.seen is Seen.MEASURED and hazard not in seen:
            _say(f"not seen in this run: {hazard}")
    return int(any(outcome.unknown for outcome in outcomes))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.readers.releases", description=__doc__)
    for name, known in (("engines", RELEASES), ("types", TYPES)):
        parser.add_argument(
            f"--{name}",
            type=lambda text: text.split(","),
            default=list(known),
            metavar=name.upper(),
            help=f"some of {', '.join(known)} (all)",
        )
    parser.add_argument("--only", default="", help="packages with this text in them, as in ==1.5")
    parser.add_argument("--write", action="store_true", help="write docs/compatibility.md anew")
    options = parser.parse_args()
    for name, known in (("engines", RELEASES), ("types", TYPES)):
        if unknown := [one for one in getattr(options, name) if one not in known]:
            parser.error(f"{unknown[0]!r} is none of {', '.join(known)}")
    return options


def _tried(engine: str, package: str, asked: list[Asked]) -> Outcome:
    outcome = judge(engine, package, asked, python=_environment(engine, package))
    lost = sum(outcome.known.values())
    _say(f"{package}: {outcome.num_compared:,} answers compared, {lost:,} known differences")
    for line in outcome.unknown[:20]:
        _say(f"  not in hazards: {line}")
    if len(outcome.unknown) > 20:
        _say(f"  ... {len(outcome.unknown):,} in all")
    return outcome


def _environment(engine: str, package: str) -> str:
    """Return the Python of a release's environment, made when it is first asked for."""
    folder = FOLDER / package.replace("==", "-")
    python, stamp = str(folder / "bin" / "python"), folder / ".installed"
    if not stamp.exists():
        _say(f"setting up {folder.relative_to(ROOT)} (once)")
        uv = (sys.executable, "-m", "uv")
        subprocess.run(
            [*uv, "venv", "-q", "--clear", "--python", sys.executable, str(folder)], check=True
        )
        needs = (package, *_NEEDS.get(engine, ()))
        subprocess.run([*uv, "pip", "install", "-q", "--python", python, *needs], check=True)
        stamp.touch()
    return python


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
