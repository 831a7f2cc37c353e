"""A folder for what this process and its JVM hand to each other; it goes when the process ends."""

from __future__ import annotations

import tempfile
from functools import cache


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="bloomwriter-", ignore_cleanup_errors=True)


def scratch_folder() -> str:
    """Its path; nobody else can read it."""
    return _folder().name
