"""The threads of Python that answer requests, without a JVM."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING, cast

from parquet_bloomwriter.spark.rules.mailbox import Attendants

if TYPE_CHECKING:
    from parquet_bloomwriter.spark.rules.bridge import Bridge


class Mailbox:
    """Takes the place of `Mailbox.java`."""

    def __init__(self) -> None:
        self.requests: queue.Queue[str | None] = queue.Queue()
        self.answers: queue.Queue[tuple[str, str]] = queue.Queue()

    def next(self) -> str | None:
        """Wait for a request."""
        return self.requests.get()

    def answer(self, number: str, text: str) -> None:
        """Take an answer."""
        self.answers.put((number, text))


class Panic(BaseException):
    """As libraries in Rust raise it."""


class Panicking:
    """Takes the place of `Bridge`."""

    def apply(self, text: str) -> str:
        """Raise what the request names."""
        raise {"panic": Panic, "exit": SystemExit, "bug": ValueError}[text]


def test_every_request_gets_an_answer_whatever_is_raised() -> None:
    mailbox = Mailbox()
    Attendants(mailbox.next, mailbox.answer, cast("Bridge", Panicking()))
    for number, text in enumerate(["panic", "exit", "bug"] * 3):
        mailbox.requests.put(f"{number} {text}")
        assert mailbox.answers.get(timeout=60) == (str(number), "")
    for _ in range(2):
        mailbox.requests.put(None)
