"""Try for hours what the tests try for minutes: `make torture`, `python -m campaigns`.

    python -m campaigns --only power,races --share 0.1
    python -m campaigns --again PART/NAME      what a line of a problem ends with

A section of docs/reliability.md is written anew (`--write`) when its part has ended; then comes a
summary, and exit status 1 if anything is wrong. `harness` says how a part is tried.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from campaigns.harness import PARTS, Plan, Section, again, torture

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "docs" / "reliability.md"


def main() -> int:
    """Run the chosen parts, one after the other; or one case again."""
    options = _options()
    if options.again:
        part, _, name = options.again.partition("/")
        with _plan(part, options) as plan:
            return int(not again(part, name, plan, _say))
    results: list[tuple[str, Section, float]] = []
    for part in options.only:
        _say(f"== {part}")
        began = time.monotonic()
        with _plan(part, options) as plan:
            section = torture(part, plan, _say)
        results.append((part, section, time.monotonic() - began))
        if options.write:
            _write(part, section, options.share)
    _say(_summary(results))
    return int(any(section.problems for _, section, _ in results))


@contextlib.contextmanager
def _plan(part: str, options: argparse.Namespace) -> Iterator[Plan]:
    with tempfile.TemporaryDirectory(prefix=f"torture-{part}-") as scratch:
        folder = Path(options.scratch or scratch)
        yield Plan(share=options.share, seed=options.seed, scratch=folder)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m campaigns", description=__doc__)
    parser.add_argument(
        "--only",
        type=lambda text: text.split(","),
        default=list(PARTS),
        metavar="PARTS",
        help=f"some of {','.join(PARTS)} (all)",
    )
    parser.add_argument("--share", type=float, default=1.0, help="how much of each part (1.0)")
    parser.add_argument("--seed", type=int, default=0, help="where random choices begin (0)")
    parser.add_argument("--again", metavar="PART/NAME", help="try one case again, and show it")
    parser.add_argument("--scratch", metavar="FOLDER", help="work in this folder, and leave it")
    parser.add_argument(
        "--write", action="store_true", help="write the sections of docs/reliability.md anew"
    )
    options = parser.parse_args()
    parts = [options.again.partition("/")[0]] if options.again else options.only
    if unknown := [name for name in parts if name not in PARTS]:
        parser.error(f"no part is called {unknown[0]!r}; there are {', '.join(PARTS)}")
    return options


def _write(name: str, section: Section, share: float) -> None:
    """Put the section in the place of the one that stands in the report."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    old = REPORT.read_text(encoding="utf-8")
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(old):
        raise LookupError(f"docs/reliability.md has no place for {name}: {begin}...{end}")
    part = "" if share == 1 else f"\nThis run tried {share:.0%} of all cases.\n"
    new = f"{begin}\n{_markdown(section)}{part}\n{end}"
    REPORT.write_text(pattern.sub(lambda _: new, old), encoding="utf-8")


def _markdown(section: Section) -> str:
    table = [section.header, ("---",) * len(section.header), *section.rows]
    lines = ("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table)
    return f"## {section.title}\n\n{section.text.strip()}\n\n" + "\n".join(lines) + "\n"


def _summary(results: list[tuple[str, Section, float]]) -> str:
    lines = [f"{'part':<12}{'tried':>12}{'survived':>12}{'wrong':>8}{'seconds':>10}"]
    lines += [
        f"{name:<12}{s.tried:>12,}{s.survived:>12,}{len(s.problems):>8,}{seconds:>10,.0f}"
        for name, s, seconds in results
    ]
    return "\n".join(["", *lines])


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
