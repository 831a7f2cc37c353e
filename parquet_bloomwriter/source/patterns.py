"""Glob patterns over paths with slashes, as the module `glob` understands them.

*, ?, [ab], [!ab]    within one name, and not a leading dot
**                   any folders, none included, but for those with a leading dot
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from glob import has_magic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["has_magic", "matches", "split_pattern"]


def split_pattern(pattern: str) -> tuple[str, list[str]]:
    """Split a pattern before its first name that is a pattern.

    Returns:
        The folder to list, and the names and patterns to match below it.
    """
    names = pattern.split("/")
    first = next((i for i, name in enumerate(names) if has_magic(name)), len(names))
    return "/".join(names[:first]), names[first:]


def matches(patterns: Sequence[str], names: Sequence[str]) -> bool:
    """Whether the names of a path match the patterns, each in its place."""
    if not patterns:
        return not names
    pattern, *rest = patterns
    if pattern == "**":
        return matches(rest, names) or (
            bool(names) and not names[0].startswith(".") and matches(patterns, names[1:])
        )
    return (
        bool(names)
        and fnmatchcase(names[0], pattern)
        and (pattern.startswith(".") or not names[0].startswith("."))
        and matches(rest, names[1:])
    )
