"""The hashes of the values that a condition compares with: all alternatives of `IN`, once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.hashing import XXHASH, hash_plain
from parquet_bloomwriter.kernels import xxh64

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.hashing import Dialect, HashKind


@dataclass(frozen=True, slots=True, eq=False)
class Hashes:
    """The hashes of n values; a value that may be stored in several ways has several hashes."""

    hashes: NDArray[np.uint64]
    firsts: NDArray[np.int64]
    """Index of each value's first hash, and the number of hashes, shape (n + 1,)."""

    of_drafts: NDArray[np.uint64] | None = None
    """Hashes for filters of the Murmur3 drafts; None to distrust these filters."""

    @classmethod
    def of(cls, plains: Sequence[Sequence[bytes]], kind: HashKind = XXHASH) -> Hashes:
        """Hash the PLAIN bytes of n values, each of which may be stored in several ways.

        Args:
            plains: By value.
            kind: The hash function of filters whose headers do not name theirs; with "xxhash" these
                filters are distrusted.
        """
        ways = [way for ways in plains for way in ways]
        return cls(
            np.array([xxh64(way) for way in ways], np.uint64),
            np.array([0, *accumulate(map(len, plains))], np.int64),
            np.array([hash_plain(way, kind) for way in ways], np.uint64)
            if kind.dialect == "murmur3"
            else None,
        )

    @property
    def dialect(self) -> Dialect:
        """The dialect in which filters without a known hash function are read."""
        return "xxhash" if self.of_drafts is None else "murmur3"
