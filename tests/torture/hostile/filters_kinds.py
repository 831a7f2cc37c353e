"""All kinds of tries that the worker knows, each with its number of cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.torture.hostile.filters_bits import check_flip, flips
from tests.torture.hostile.filters_damage import TEXTS as DAMAGES
from tests.torture.hostile.filters_damage import damage
from tests.torture.hostile.filters_judge import judge, verb_in_turn
from tests.torture.hostile.filters_sources import check_source, sources
from tests.torture.hostile.truncation_files import CUTS, count_cuts, cut
from tests.torture.hostile.truncation_judge import judge_cut

if TYPE_CHECKING:
    from pathlib import Path

TEXTS: Final = {
    "lengths": "files cut to every length",
    "glued": "data cut to every length, the footer behind it",
    "holes": "a hole of 1, 8 or 64 bytes at every byte",
    "bits": "one bit of a bitset, and `verify`",
    "sources": "sources that lie: short, failing and changing reads",
    **DAMAGES,
}
"""By kind: what it is, for the table."""

CUT_KINDS: Final = tuple(CUTS)
FILTER_KINDS: Final = tuple(kind for kind in TEXTS if kind not in CUTS)


def count(kind: str) -> int:
    """How many cases there are."""
    if kind in CUTS:
        return count_cuts(kind)
    if kind in DAMAGES:
        return len(damage(kind).places)
    return len(flips() if kind == "bits" else sources())


def attempt(kind: str, number: int, scratch: Path) -> str:
    """Try one case, and say what it came to.

    Raises:
        Wrong: If anything is not as it must be.
    """
    if kind in CUTS:
        return judge_cut(cut(kind, number), number, scratch)
    if kind in DAMAGES:
        return judge(damage(kind).case(number), verb_in_turn(number), scratch)
    return check_flip(number) if kind == "bits" else check_source(number, scratch)
