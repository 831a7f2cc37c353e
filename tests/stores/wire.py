"""HTTP/1.1 as bytes: heads, and bodies piece by piece, unchanged.

A body ends in one of three ways (RFC 9112, section 6.3): after a length that the head tells, with
an empty chunk, or when the connection ends. Pieces of a body are what travels: of chunks also their
sizes and line ends.
"""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CHUNKED: Final = -1
UNTIL_CLOSED: Final = -2

_LONGEST_HEAD = 1 << 18
"""Bytes: far more than any store takes."""

_BUFFER = 1 << 18
"""Bytes that are read at once."""

_FIELD = re.compile(rb"^([^:\r\n]+):[ \t]*(.*?)[ \t]*\r?$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """The first line and the fields of a request or an answer."""

    raw: bytes
    """All of it, as it came, with the empty line at its end."""

    words: tuple[str, ...]
    """Of the first line, three at most: method, target, version, or version, status, reason."""

    fields: Mapping[str, str]
    """Names in lower case."""

    @property
    def length(self) -> int:
        """Bytes of a body, or `CHUNKED`, or `UNTIL_CLOSED` where nothing is told."""
        if "chunked" in self.fields.get("transfer-encoding", "").lower():
            return CHUNKED
        return int(self.fields.get("content-length", UNTIL_CLOSED))

    @property
    def closes(self) -> bool:
        """Whether the connection ends with this message."""
        return "close" in self.fields.get("connection", "").lower()

    def with_field(self, name: str, value: str) -> bytes:
        """Return the bytes with another value of a field that is there."""
        pattern = re.compile(rb"(?im)^(" + re.escape(name.encode()) + rb":[ \t]*)[^\r\n]*")
        return pattern.sub(rb"\g<1>" + value.encode(), self.raw, count=1)


class Connection:
    """A socket that is read by heads and bodies."""

    def __init__(self, sock: socket.socket) -> None:
        """Take over a socket; `close` closes it."""
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        self._rest = b""
        self._buffer = bytearray(_BUFFER)

    def send(self, data: bytes | memoryview) -> None:
        """Send all of it."""
        self._sock.sendall(data)

    def close(self) -> None:
        """End the connection, whatever is under way."""
        self._sock.close()

    @property
    def is_stale(self) -> bool:
        """Whether the other side ended it, or sent what nobody asked for."""
        self._sock.settimeout(0)
        try:
            self._sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            self._sock.settimeout(None)
        return True

    def read_head(self) -> Head | None:
        """Return the next head, or None if the connection ended before it.

        Raises:
            ConnectionError: If it ended within the head.
        """
        while (end := self._rest.find(b"\r\n\r\n")) < 0:
            received = self._sock.recv(1 << 16)
            if not received and not self._rest:
                return None
            if not received or len(self._rest) > _LONGEST_HEAD:
                raise ConnectionError("no end of the head")
            self._rest += received
        raw, self._rest = self._rest[: end + 4], self._rest[end + 4 :]
        first, _, others = raw.partition(b"\r\n")
        found = _FIELD.findall(others)
        return Head(
            raw=raw,
            words=tuple(first.decode("latin-1").split(" ", 2)),
            fields={
                name.decode("latin-1").lower(): value.decode("latin-1") for name, value in found
            },
        )

    def pieces(self, length: int) -> Iterator[memoryview]:
        """Yield the body that follows; a piece is valid until the next one.

        Args:
            length: Its bytes, or `CHUNKED`, or `UNTIL_CLOSED`.

        Raises:
            ConnectionError: If the connection ends before the body does.
        """
        if length == CHUNKED:
            yield from self._chunks()
        else:
            yield from self._bytes(length)

    def _bytes(self, length: int) -> Iterator[memoryview]:
        left = length
        if self._rest:
            here = self._rest if length < 0 else self._rest[:left]
            self._rest = self._rest[len(here) :]
            left -= len(here)
            yield memoryview(here)
        view = memoryview(self._buffer)
        while left:
            most = min(left, len(view)) if length >= 0 else len(view)
            received = self._sock.recv_into(view[:most])
            if not received:
                if length < 0:
                    return
                raise ConnectionError(f"the body ends {left} bytes early")
            left -= received
            yield view[:received]

    def _chunks(self) -> Iterator[memoryview]:
        while True:
            line = self._line()
            yield memoryview(line)
            size = int(line.partition(b";")[0], 16)
            if not size:
                break
            yield from self._bytes(size)
            yield memoryview(self._line())
        while (line := self._line()) != b"\r\n":  # trailers
            yield memoryview(line)
        yield memoryview(line)

    def _line(self) -> bytes:
        while (end := self._rest.find(b"\r\n")) < 0:
            received = self._sock.recv(1 << 16)
            if not received:
                raise ConnectionError("the connection ends within a line")
            self._rest += received
        line, self._rest = self._rest[: end + 2], self._rest[end + 2 :]
        return line
