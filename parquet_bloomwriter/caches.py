"""The caches of this process, and the one function that empties them all.

A module with a cache passes the function that empties it to `register`. No cache needs to be
cleared for right answers: each notices by itself when its entries are out of date.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_clears: list[Callable[[], None]] = []


def register(clear: Callable[[], None]) -> None:
    """Register a function that empties one cache, to be called by `clear_cache`."""
    _clears.append(clear)


def make_room(kept: dict[Any, Any], *, most: int) -> None:
    """Remove the oldest entries of a cache that threads share, until fewer than `most` are left."""
    oldest = list(kept)  # One step: a loop over the cache would fail if another thread changes it.
    for key in oldest[: max(0, len(oldest) - most + 1)]:
        kept.pop(key, None)


def clear_cache() -> None:
    """Empty all caches in memory.

    These hold footers of files, opened indexes, data derived from schemas and predicates, and the
    results of the rules in Spark. Nothing is used after its files have changed, so nothing needs to
    be cleared for right answers: this frees memory, and lets measurements begin anew.
    """
    for clear in _clears:
        clear()
