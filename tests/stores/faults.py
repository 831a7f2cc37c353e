"""What can go wrong between a client and a store, and when the proxy makes it happen."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.stores.traffic import Request


class Fault(enum.Enum):
    """One thing that goes wrong with a request."""

    CUT_BEFORE = "cut-before"
    """The connection ends, and the store never hears of the request."""

    CUT_AFTER = "cut-after"
    """The store does what it is asked to, and the connection ends before the answer."""

    ERROR = "500"
    """InternalError; the store never hears of the request."""

    ERROR_AFTER = "500-after"
    """InternalError, though the store did what it was asked to."""

    ERROR_IN_200 = "error-in-200"
    """InternalError under status 200, as S3 may answer copies and completed uploads."""

    SLOW_DOWN = "503"
    """SlowDown; the store never hears of the request."""

    DENIED = "403"
    """AccessDenied; the store never hears of the request."""

    CONFLICT = "409"
    """ConditionalRequestConflict; the store never hears of the request."""

    PRECONDITION = "412"
    """PreconditionFailed; the store never hears of the request."""

    TRUNCATED = "truncated"
    """The connection ends after half of the answer's body, or of its head if it has no body."""

    SLOW = "slow"
    """The answer stops for some time after half of its body, or of its head if it has no body."""

    WRONG_ETAG = "wrong-etag"
    """An answer with another ETag, in its head and in its XML, where a copied part has it."""

    MOVED = "301"
    """PermanentRedirect without a region, also to whoever asks for the region."""

    PAGE = "page"
    """A page of HTML under status 200; the store never hears of the request."""

    GARBAGE = "garbage"
    """Bytes that are no HTTP; the store never hears of the request."""

    HUGE_LENGTH = "huge-length"
    """An answer that announces 4 EiB, and ends after its body."""

    OTHER_RANGE = "other-range"
    """An answer with bytes of another range than was asked for, which its head says."""

    NO_RANGE = "no-range"
    """An answer under status 200 that has a range, and does not say so."""

    ENDLESS = "endless"
    """An answer that goes on after its body."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """When a fault happens."""

    fault: Fault
    nth: int = 1
    """At which request, counted from 1 since the rule was set."""

    operation: str | None = None
    """Only requests of this operation of S3 are counted, such as `GetObject`; None for all."""

    sticky: bool = False
    """Also at all that are counted after it."""

    seconds: float = 1
    """How long a slow answer stops."""


_ANSWERS = {
    Fault.ERROR: (500, "InternalError", "We encountered an internal error. Please try again."),
    Fault.SLOW_DOWN: (503, "SlowDown", "Please reduce your request rate."),
    Fault.DENIED: (403, "AccessDenied", "Access Denied"),
    Fault.CONFLICT: (
        *(409, "ConditionalRequestConflict"),
        "The conditional request cannot succeed due to a conflicting operation.",
    ),
    Fault.MOVED: (301, "PermanentRedirect", "The bucket is somewhere else."),
    Fault.PAGE: (200, "OK", ""),
    Fault.PRECONDITION: (
        *(412, "PreconditionFailed"),
        "At least one of the pre-conditions you specified did not hold",
    ),
}
_PAGE = b"<html><head><title>Welcome</title></head><body><p>Sign in</p></body></html>"
_SAME_ANSWERS = {Fault.ERROR_AFTER: (500, Fault.ERROR), Fault.ERROR_IN_200: (200, Fault.ERROR)}

UNASKED = frozenset({*_ANSWERS, Fault.ERROR_IN_200})
"""Faults that the proxy answers itself."""

LIES = frozenset({Fault.HUGE_LENGTH, Fault.OTHER_RANGE, Fault.NO_RANGE, Fault.ENDLESS})
"""Faults by which the head of an answer says what is not so."""


def answer(fault: Fault, request: Request) -> tuple[int, bytes, bytes]:
    """Return status, head and body of the answer to a request that fails in one of these ways."""
    _, same = _SAME_ANSWERS.get(fault, (0, fault))
    status, code, message = _ANSWERS[same]
    status = _SAME_ANSWERS.get(fault, (status, fault))[0]
    body = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<Error><Code>{code}</Code><Message>{message}</Message>"
        f"<RequestId>{request.number}</RequestId></Error>"
    ).encode()
    if fault is Fault.PAGE:
        body = _PAGE
    if request.method == "HEAD":
        body = b""
    head = (
        f"HTTP/1.1 {status} {code}\r\nContent-Type: application/xml\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()
    return status, head, body
