"""What this process keeps in memory to save work, and the one way to forget it all.

A module that keeps something passes the function that forgets it to `register`. No cache needs to
be cleared for right answers: each notices by itself when what it knows has changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_clears: list[Callable[[], None]] = []


def register(clear: Callable[[], None]) -> None:
    """Make `clear_cache` call a function, which empties one cache."""
    _clears.append(clear)


def make_room(kept: dict[Any, Any], *, most: int) -> None:
    """Forget the oldest entries of a cache that threads share, until fewer than `most` are left."""
    oldest = list(kept)  # One step: a loop over the cache would fail if another thread changes it.
    for key in oldest[: max(0, len(oldest) - most + 1)]:
        kept.pop(key, None)


def clear_cache() -> None:
    """Forget everything that was kept in memory to save work.

    These are footers of files, opened indexes, what was derived from schemas and predicates, and
    what the rules in Spark keep. Nothing is used after its files have changed, so nothing needs to
    be cleared for right answers: this gives memory back, and lets measurements begin anew.
    """
    for clear in _clears:
        clear()
