"""A proxy before a store, on 127.0.0.1: it counts, limits, and lets requests fail.

Requests and answers pass as they are, with the `Host` that the client sent, so that signatures
stay valid. Each connection of a client has a thread and a connection to the store, and both are
kept for further requests.
"""

from __future__ import annotations

import contextlib
import random
import re
import socket
import threading
import time
import urllib.parse
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from tests.stores.faults import LIES, UNASKED, Fault, Rule, answer
from tests.stores.traffic import Request, read_request
from tests.stores.wire import UNTIL_CLOSED, Connection, Head

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.stores.servers import Store

_WRONG = "0123456789abcdef" * 2
_ETAG_IN_XML = re.compile(rb"(?<=<ETag>)(&quot;|&#34;|\")?([0-9a-f]{32})")
_MUCH = 256
"""Mebibytes after which an endless answer ends after all."""

_LIMITED_PIECE = 1 << 16
"""Bytes that pass at once where the speed is limited."""


class Throttle:
    """Lets bytes pass at a speed, which all connections share."""

    def __init__(self, bytes_per_second: float | None) -> None:
        """None for no limit."""
        self._rate = bytes_per_second
        self._free_at = 0.0
        self._lock = threading.Lock()

    def parts(self, piece: memoryview) -> Iterator[memoryview]:
        """Yield the parts of a piece, each when it may pass."""
        if self._rate is None:
            yield piece
            return
        for start in range(0, len(piece), _LIMITED_PIECE):
            part = piece[start : start + _LIMITED_PIECE]
            with self._lock:
                begins = max(self._free_at, time.monotonic())
                self._free_at = begins + len(part) / self._rate
            time.sleep(max(0.0, self._free_at - time.monotonic()))
            yield part


class Proxy:
    """Stands before a store: `with Proxy(store) as proxy:`, and clients use `proxy.store`."""

    def __init__(
        self,
        store: Store,
        *,
        down: float | None = None,
        up: float | None = None,
        latency: float = 0,
    ) -> None:
        """Nothing listens yet.

        Args:
            store: Where requests go.
            down: Most bytes of bodies per second to all clients together; None for no limit.
            up: The same of what clients send.
            latency: Seconds by which each request is held back.
        """
        address = urllib.parse.urlsplit(store.endpoint)
        self._behind = (str(address.hostname), int(address.port or 80))
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.store = replace(store, endpoint=f"http://127.0.0.1:{self._listener.getsockname()[1]}")
        self.down, self.up, self.latency = Throttle(down), Throttle(up), latency
        self._lock = threading.Lock()
        self._requests: list[Request] = []
        self._rules: dict[Rule, int] = {}
        self._sessions: list[tuple[threading.Thread, socket.socket]] = []
        self._acceptor = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        self._acceptor.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join()
        self._listener.close()
        for thread, sock in self._sessions:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            thread.join()

    @property
    def requests(self) -> list[Request]:
        """All requests since the beginning, or since `forget`, in the order they arrived."""
        with self._lock:
            return list(self._requests)

    def forget(self) -> None:
        """Forget all requests, and begin to count anew."""
        with self._lock:
            self._requests.clear()

    def play(self, *rules: Rule) -> None:
        """Follow these rules from now on, and no others; the first that applies counts."""
        with self._lock:
            self._rules = dict.fromkeys(rules, 0)

    def connect(self) -> Connection:
        """Return a new connection to the store."""
        return Connection(socket.create_connection(self._behind))

    def begin(self, head: Head, connection: int) -> tuple[Request, Rule | None]:
        """Record a request, and return it with the rule that applies to it."""
        with self._lock:
            number, now = len(self._requests) + 1, time.perf_counter()
            request = read_request(head, number=number, connection=connection, now=now)
            self._requests.append(request)
            rule = self._applying(request)
            request.fault = rule.fault if rule else None
        return request, rule

    def _applying(self, request: Request) -> Rule | None:
        found = None
        for rule in self._rules:
            if rule.operation in {None, request.operation}:
                self._rules[rule] += 1
                count = self._rules[rule]
                if count == rule.nth or (rule.sticky and count > rule.nth):
                    found = found or rule
        return found

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            session = _Session(self, Connection(sock), number=len(self._sessions) + 1)
            thread = threading.Thread(target=session.run, daemon=True)
            self._sessions.append((thread, sock))
            thread.start()


class _Session:
    """A connection of a client, with the one to the store that belongs to it."""

    def __init__(self, proxy: Proxy, client: Connection, *, number: int) -> None:
        self._proxy = proxy
        self._client = client
        self._store: Connection | None = None
        self._number = number
        self._goes_on = True

    def run(self) -> None:
        """Answer requests until either side ends the connection, or a fault does."""
        try:
            with contextlib.suppress(OSError):
                while (head := self._client.read_head()) and self._exchange(head):
                    pass
        finally:
            self._client.close()
            self._leave_store()

    def _leave_store(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def _exchange(self, head: Head) -> bool:
        """Answer one request; return whether the connection goes on."""
        request, rule = self._proxy.begin(head, self._number)
        fault = rule.fault if rule else None
        time.sleep(self._proxy.latency)
        if fault in {Fault.CUT_BEFORE, Fault.GARBAGE}:
            if fault is Fault.GARBAGE:
                self._client.send(random.Random(request.number).randbytes(4096))  # noqa: S311  no secret
            return _ended(request)
        if fault in UNASKED:
            waits = "expect" in head.fields
            if not waits:
                self._discard(self._client, _length_of_request(head))
            self._answer(fault, request, closes=waits)
            return not waits
        received = self._ask(head, request)
        if received is None:
            return _ended(request)
        request.store_status = int(received.words[1])
        length = _length_of_answer(received, request)
        if fault in {Fault.CUT_AFTER, Fault.ERROR_AFTER}:
            assert self._store is not None
            self._discard(self._store, length)
            if fault is Fault.CUT_AFTER:
                return _ended(request)
            self._answer(fault, request)
            return True
        relayed = self._relay(received, length, request, rule)
        return (
            self._goes_on
            and relayed
            and length != UNTIL_CLOSED
            and not head.closes
            and not received.closes
        )

    def _ask(self, head: Head, request: Request) -> Head | None:
        """Pass a request on; return the head of the answer, or None if there is none."""
        store = self._to_store()
        store.send(head.raw)
        if "expect" in head.fields:
            received = store.read_head()
            if received is None or received.words[1] != "100":
                self._goes_on = False  # whether the body follows now is the client's choice
                return received
            self._client.send(received.raw)
        try:
            for piece in self._client.pieces(_length_of_request(head)):
                request.bytes_up += len(piece)
                for part in self._proxy.up.parts(piece):
                    store.send(part)
        except (BrokenPipeError, ConnectionResetError):
            self._goes_on = False  # a store may answer before it has read everything
        while (received := store.read_head()) and received.words[1].startswith("1"):
            pass
        return received

    def _to_store(self) -> Connection:
        if self._store is not None and self._store.is_stale:
            self._leave_store()
        if self._store is None:
            self._store = self._proxy.connect()
        return self._store

    def _relay(self, head: Head, length: int, request: Request, rule: Rule | None) -> bool:
        """Pass an answer on, as the rule wants it; return whether it was passed on in full."""
        assert self._store is not None
        fault = rule.fault if rule else None
        pieces = self._store.pieces(length)
        raw = head.raw
        if fault is Fault.WRONG_ETAG:
            raw = head.with_field("etag", f'"{_WRONG}"')
            if head.fields.get("content-type", "").endswith("xml"):
                body = _ETAG_IN_XML.sub(rb"\g<1>" + _WRONG.encode(), _all(pieces))
                pieces = iter([memoryview(body)])
        if fault in LIES:
            raw = _lie(fault, head)
            more = [memoryview(bytes(1 << 20))] * _MUCH if fault is Fault.ENDLESS else []
            pieces = iter([*(memoryview(bytes(piece)) for piece in pieces), *more])
        if fault not in {Fault.TRUNCATED, Fault.SLOW}:
            self._send_head(raw, request)
            for piece in pieces:
                self._send_body(piece, request)
            return fault not in {Fault.HUGE_LENGTH, Fault.ENDLESS}
        body = _all(pieces)
        half = len(body) // 2 if body else len(raw) // 2
        if body:
            self._send_head(raw, request)
            self._send_body(memoryview(body)[:half], request)
        else:
            self._client.send(raw[:half])
        if fault is Fault.TRUNCATED:
            return _ended(request)
        assert rule is not None
        time.sleep(rule.seconds)
        if body:
            self._send_body(memoryview(body)[half:], request)
        else:
            request.status, request.ended = int(head.words[1]), time.perf_counter()
            self._client.send(raw[half:])
        return True

    def _answer(self, fault: Fault | None, request: Request, *, closes: bool = False) -> None:
        assert fault is not None
        _, head, body = answer(fault, request)
        if closes:  # else the client may send the next request into the end of the connection
            head = head.removesuffix(b"\r\n") + b"Connection: close\r\n\r\n"
        self._send_head(head, request)
        self._send_body(memoryview(body), request)

    def _send_head(self, raw: bytes, request: Request) -> None:
        # What is recorded stands there before the client can act on what it is sent.
        request.status = int(raw.split(b" ", 2)[1])
        request.ended = time.perf_counter()
        self._client.send(raw)

    def _send_body(self, piece: memoryview, request: Request) -> None:
        for part in self._proxy.down.parts(piece):
            request.bytes_down += len(part)
            request.ended = time.perf_counter()
            self._client.send(part)

    @staticmethod
    def _discard(connection: Connection, length: int) -> None:
        for _ in connection.pieces(length):
            pass


def _lie(fault: Fault, head: Head) -> bytes:
    """Return the head of an answer that says what is not so."""
    raw = head.raw
    if fault is Fault.OTHER_RANGE and "content-range" in head.fields:
        numbers = re.findall(r"\d+", head.fields["content-range"])
        first, last, total = (int(number) + 1 for number in numbers)
        raw = head.with_field("content-range", f"bytes {first}-{last}/{total}")
    elif fault is Fault.NO_RANGE:
        raw = raw.replace(b" 206 ", b" 200 ", 1).replace(b"ontent-Range:", b"ontent-Other:")
    elif fault is Fault.HUGE_LENGTH and "content-length" in head.fields:
        raw = head.with_field("content-length", str(1 << 62))
    elif fault is Fault.ENDLESS:
        raw = raw.replace(b"ontent-Length:", b"ontent-Other:")
    return raw


def _ended(request: Request) -> bool:
    """Note the end of a request whose connection ends with it: it does not go on."""
    request.ended = time.perf_counter()
    return False


def _all(pieces: Iterator[memoryview]) -> bytes:
    return b"".join(bytes(piece) for piece in pieces)  # each is valid until the next one


def _length_of_request(head: Head) -> int:
    length = head.length
    return 0 if length == UNTIL_CLOSED else length


def _length_of_answer(head: Head, request: Request) -> int:
    bodiless = request.method == "HEAD" or head.words[1] in {"204", "304"}
    return 0 if bodiless else head.length
