"""Hostile text through every command, and indexes changed at random: many of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.torture.section import Count, Section, Torture, of_counts
from tests.torture.security.mutations import change_bytes, change_field, make_table, num_fields
from tests.torture.security.random_text import attempt

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.torture.security.mutations import Result

TEXTS = 2_000
"""Seeds of random text."""

BYTES = 6_000
"""Mutations of the files of an index."""

_EVERY = 250
_TEXT = """
**Text.** A try is a table whose folder, files, columns and values have random dangerous names
(controls, escape sequences, bidirectional marks, line ends, zero-width and tag characters, stray
bytes and surrogates), and twelve command lines of any commands and options with such text behind
them. It survives if no command prints any of it raw, JSON is printable ASCII, and nothing is
reported as a bug.

**Indexes.** A try changes one file of an index at random (bits, bytes, lengths, everything), or
puts another value into one field of its log; then values that are there are looked up, and the
index is listed, refreshed, optimized, vacuumed or cancelled. It survives if that ends in time, in
an answer or an error of this package, and if no file that holds the value is excluded while a size
disagrees with the log. Nothing checks the bits within parts, manifests and entries of the right
size: how often a file was excluded wrongly for that is in the remark.
"""


def torture(what: Torture) -> Section:
    """Try all of it."""
    original = what.scratch / "original"
    make_table(original)
    problems: list[str] = []
    texts = what.some(TEXTS)
    bad = 0
    for number in range(texts):
        found = attempt(what.seed + number, what.scratch)
        problems += found
        bad += bool(found)
        _tell(what, "text", number, texts)
    counts = [Count(what="random text", tried=texts, survived=texts - bad)]
    whole = num_fields(original)
    fields = [number * whole // what.some(whole) for number in range(what.some(whole))]
    mutated = range(what.seed, what.seed + what.some(BYTES))
    for name, numbers, change in (
        ("fields of logs", fields, change_field),
        ("files of indexes", list(mutated), change_bytes),
    ):
        results = _all(what, name, numbers, change, original)
        wrong = [result.problem for result in results if result.problem]
        lost = sum(result.is_lost for result in results)
        remark = f"in {lost:,} a file was excluded wrongly, for bits that nothing checks"
        survived = len(results) - len(wrong)
        counts.append(
            Count(what=name, tried=len(results), survived=survived, remark=remark if lost else "")
        )
        problems += wrong
    return of_counts("Files from strangers", _TEXT, tuple(counts), tuple(problems))


def _all(
    what: Torture,
    name: str,
    numbers: list[int],
    change: Callable[[Path, Path, int], Result],
    original: Path,
) -> list[Result]:
    results = []
    for done, number in enumerate(numbers):
        results.append(change(original, what.scratch, number))
        _tell(what, name, done, len(numbers))
    return results


def _tell(what: Torture, name: str, done: int, total: int) -> None:
    if done % _EVERY == _EVERY - 1:
        what.say(f"security: {name} {done + 1:,} of {total:,}")
