"""Edits: the difference between two byte strings, and how positions move under it.

An `Edit` puts `data` in the place of the bytes [start, stop). With start == stop it inserts, with
no data it drops. Edits are kept in order and do not overlap, so what lies between them is copied:

    source   |  copy  |start..stop|   copy   |
    result   |  copy  |   data    |   copy   |

A position moves with the byte it points at: by the growth of every edit that stops at or before
it. A position inside a replaced range points at nothing any more; callers see to it that there is
none.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.errors import MalformedFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Edit:
    """Put `data` in the place of the bytes [start, stop)."""

    start: int
    stop: int
    data: bytes

    @property
    def growth(self) -> int:
        """Bytes that the result is longer for it."""
        return len(self.data) - (self.stop - self.start)


def apply_edits(source: bytes, edits: Sequence[Edit]) -> bytes:
    """Return `source` with the edits made.

    Raises:
        ValueError: If edits overlap or are out of order or out of range.
    """
    parts: list[bytes] = []
    position = 0
    for edit in edits:
        if not position <= edit.start <= edit.stop <= len(source):
            raise ValueError(f"edit of bytes {edit.start}-{edit.stop} after byte {position}")
        parts += (source[position : edit.start], edit.data)
        position = edit.stop
    return b"".join([*parts, source[position:]])


@dataclass(frozen=True, slots=True, eq=False)
class Shift:
    """Where positions go when ranges grow or shrink."""

    stops: NDArray[np.int64]
    """Ends of the edited ranges, ascending, shape (n,)."""

    totals: NDArray[np.int64]
    """Growth of the first k edits, k = 0..n, bytes, shape (n + 1,)."""

    @staticmethod
    def of(stops: Sequence[int], growths: Sequence[int]) -> Shift:
        """Make it from edits in order."""
        if any(a > b for a, b in pairwise(stops)):
            raise ValueError("edits are out of order")
        totals = np.concatenate(([0], np.cumsum(np.asarray(growths, np.int64))))
        return Shift(np.asarray(stops, np.int64), totals.astype(np.int64))

    def __call__(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """New positions; those of zero and below are sentinels and stay.

        Raises:
            MalformedFile: If one is so large that it would not fit 64 bits any more.
        """
        moved = positions + self.totals[np.searchsorted(self.stops, positions, side="right")]
        if ((positions > 0) & (moved < 0)).any():
            raise MalformedFile(f"the offset {int(positions.max())} is beyond any file")
        return np.where(positions > 0, moved, positions)
