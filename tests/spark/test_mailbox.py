"""The threads that answer requests, without Spark."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING, cast

from parquet_bloomwriter.spark.rules.mailbox import Attendants

if TYPE_CHECKING:
    from parquet_bloomwriter.spark.rules.bridge import Bridge


class PanicException(BaseException):
    """As libraries in Rust raise it."""


class _Mailbox:
    """Has two requests, then none; keeps the answers."""

    def __init__(self) -> None:
        self.requests: queue.Queue[str | None] = queue.Queue()
        self.answers: queue.Queue[tuple[str, str]] = queue.Queue()
        for request in ("1 panic", "2 more", None, None, None):
            self.requests.put(request)

    def next(self) -> str | None:
        return self.requests.get(timeout=30)

    def answer(self, number: str, text: str) -> None:
        self.answers.put((number, text))


class _Panics:
    def apply(self, text: str) -> str:
        if text == "panic":
            raise PanicException
        return text


def test_whatever_a_bridge_raises_is_answered() -> None:
    mailbox = _Mailbox()
    Attendants(mailbox, cast("Bridge", _Panics()))
    answers = {mailbox.answers.get(timeout=30) for _ in range(2)}
    assert answers == {("1", ""), ("2", "more")}
