"""Limits of an answer of a store: bytes of memory, seconds, and further requests.

boto3 reads the body of an answer as a whole, however long it is and however slowly it comes, and
follows a bucket to another region again and again. So its HTTP session is wrapped:

    body of XML     at most 16 MiB, and `LONGEST_S` from the request to its last byte
    body of data    as long as the request asked for (`bucket.read`), and not slower than `_SLOWEST`
    one operation   at most `_MOST_REQUESTS` requests

A store that breaks a limit has not answered, and the request is not repeated. The time limit
between two bytes is boto3's own (`client`).
"""

from __future__ import annotations

import time
from threading import local
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_S = 600
"""Most seconds of a request: a store that completes an upload may send spaces until it is done."""

_MOST_XML = 16 * 1024 * 1024
"""Most bytes of an XML body; a page of a listing has 1,000 keys of up to 1,024 bytes, escaped."""

_MOST_REQUESTS = 6
_SLOWEST = 16 * 1024
"""Least bytes per second of a body of data, after `_BEGIN_S`."""

_BEGIN_S = 60
_PIECE = 1 << 18
"""Bytes of a body that are read at once."""


class Unbounded(Exception):
    """The error for an answer that exceeds a limit."""

    is_last = True
    """Whether repeating the request makes no sense; see `NoAnswer`."""


class BoundedSession:
    """The HTTP session of a boto3 client, with limits. Safe in threads."""

    def __init__(self, session: Any) -> None:  # noqa: ANN401  boto3 has no types
        """Wrap the session of a client."""
        self._session = session
        self._thread = local()

    def begin(self) -> None:
        """Begin an operation: reset the request count of this thread."""
        self._thread.requests = 0

    def send(self, request: Any) -> Any:  # noqa: ANN401  boto3's
        """Send a request, and return the answer with its body, unless the body is data.

        Raises:
            Unbounded: If the answer breaks a limit.
            HTTPClientError: What the session raises.
        """
        self._thread.requests = getattr(self._thread, "requests", 0) + 1
        if self._thread.requests > _MOST_REQUESTS:
            raise Unbounded("it redirects the request again and again")
        is_data, request.stream_output = request.stream_output, True
        answer = self._session.send(request)
        answer.raw = _Body(answer.raw)
        if not is_data:
            _ = answer.content
        return answer

    def close(self) -> None:
        """Close all connections."""
        self._session.close()


class _Body:
    """The body of an answer, which boto3 reads by `stream` if XML, by `read` if data."""

    def __init__(self, raw: Any) -> None:  # noqa: ANN401  urllib3's
        self._raw = raw

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever urllib3 has
        return getattr(self._raw, name)

    def stream(self) -> Iterator[bytes]:
        """Yield the body, piece by piece.

        Raises:
            Unbounded: If it breaks a limit.
        """
        size = 0
        for piece in self._pieces(time.monotonic() + LONGEST_S, _MOST_XML + 1):
            size += len(piece)
            if size > _MOST_XML:
                self._raw.close()
                raise Unbounded("its answer does not end")
            yield piece

    def read(self, amount: int) -> bytes:
        """Return up to `amount` bytes, fewer at the end only.

        Raises:
            Unbounded: If they come too slowly.
        """
        until = time.monotonic() + _BEGIN_S + amount / _SLOWEST
        return b"".join(self._pieces(until, amount))

    def _pieces(self, until: float, most: int) -> Iterator[bytes]:
        # `read1` returns what has come, so that a body that drips is seen to be slow. urllib3 has
        # it from 2.1 on.
        read = getattr(self._raw, "read1", self._raw.read)
        while most > 0 and (piece := read(min(_PIECE, most))):
            if time.monotonic() > until:
                self._raw.close()
                raise Unbounded("its answer takes too long")
            most -= len(piece)
            yield piece
