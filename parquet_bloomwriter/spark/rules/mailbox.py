"""The threads that answer the requests of a session's rules.

Java does not call Python. py4j's server for such calls takes calls from every user of the machine,
on every attribute of the objects that it knows. So threads of Python call Java: they fetch requests
from `Mailbox.java` and bring the answers, over the connections of the session's gateway. py4j opens
these connections only to a process that knows the gateway's secret, which can do anything in
the session anyway.

One thread always waits, so a slow answer does not delay other queries.
"""

from __future__ import annotations

import logging
import threading
import traceback
from typing import TYPE_CHECKING

from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Callable

    from parquet_bloomwriter.spark.rules.bridge import Bridge

_log = logging.getLogger(__name__)
_MAX_WAITING = 2
"""Maximum number of threads that wait for requests of one session."""


class Attendants:
    """The threads that serve the mailbox of one session."""

    def __init__(
        self,
        next_request: Callable[[], str | None],
        answer: Callable[[str, str], object],
        bridge: Bridge,
    ) -> None:
        """Answer the requests in a mailbox by a bridge, until Java has forgotten the rules.

        Args:
            next_request: The mailbox's method `next`.
            answer: The mailbox's method `answer`.
            bridge: Makes the answers.
        """
        self._next_request = next_request
        self._send = answer
        self._bridge = bridge
        self._lock = threading.Lock()
        self._num_waiting = 0
        self._start()

    def _start(self) -> None:
        threading.Thread(target=self._serve, name="bloomify-rules", daemon=True).start()

    def _serve(self) -> None:
        try:
            while self._serve_one():
                pass
        except Exception:  # noqa: BLE001  the JVM has ended, or gets no answer from this thread
            _log.debug("%s", safe(traceback.format_exc()))

    def _serve_one(self) -> bool:
        """Wait for a request and answer it; return whether this thread should go on."""
        with self._lock:
            if self._num_waiting == _MAX_WAITING:
                return False
            self._num_waiting += 1
        try:
            request = self._next_request()
        finally:
            with self._lock:
                self._num_waiting -= 1
                is_last = self._num_waiting == 0
        if request:
            number, _, text = request.partition(" ")
            self._send(number, self._answer(text, is_last=is_last))
        return request is not None

    def _answer(self, text: str, *, is_last: bool) -> str:
        """Return the answer to a request; "", which Java refuses, if there is none."""
        try:
            if is_last:
                self._start()
            return self._bridge.apply(text)
        except BaseException:  # noqa: BLE001  panics of Rust as well; the plan stays as it is
            _log.debug("%s", safe(traceback.format_exc()))
            return ""
