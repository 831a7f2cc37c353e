"""A source of an object on a store: long ranges are read in pieces, by parallel requests."""

from __future__ import annotations

from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from parquet_bloomwriter.source.base import RemoteReader

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parquet_bloomwriter.source.base import Range

PIECE_BYTES = 8 * 1024 * 1024
"""Most bytes that are read or written by one request."""

_THREADS = 16
"""Number of parallel requests for one object."""


class ObjectReader(RemoteReader):
    """One version of an object on a store that answers many requests at the same time."""

    @abstractmethod
    def _request(self, start: int, stop: int) -> bytes:
        """Request the bytes [start, stop), at most `PIECE_BYTES`."""

    def _fetch(self, start: int, stop: int) -> bytes:
        return self._fetch_all([(start, stop)])[0]

    def _fetch_all(self, ranges: list[Range]) -> list[bytes]:
        cut = [list(pairwise([*range(start, stop, PIECE_BYTES), stop])) for start, stop in ranges]
        pieces = [piece for some in cut for piece in some]
        if len(pieces) == 1:
            return [self._request(*pieces[0])]
        with ThreadPoolExecutor(min(_THREADS, len(pieces))) as pool:
            answers = pool.map(lambda piece: self._request(*piece), pieces)
            return [_joined(some, islice(answers, len(some))) for some in cut]


def _joined(pieces: list[Range], answers: Iterable[bytes]) -> bytes:
    """Return the joined bytes of neighbouring pieces, up to the first piece that is too short."""
    whole = []
    for (start, stop), data in zip(pieces, answers, strict=True):
        whole.append(data)
        if len(data) < stop - start:
            break
    return b"".join(whole)
