"""Cases that a test draws anew in each run, for all of them would take too long."""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable


T = TypeVar("T")


def drawn(cases: Iterable[T], number: int) -> list[T]:
    """Draw so many cases; pytest shows their names if the test fails."""
    chosen = random.sample(list(cases), number)
    sys.stdout.write(f"drawn: {chosen}\n")
    return chosen
