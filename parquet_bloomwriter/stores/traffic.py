"""Requests to a store, and the bytes that went with them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from threading import Lock
from typing import Any


@dataclass(slots=True)
class StoreTraffic:
    """Requests and bytes, counted by all threads together.

    Attributes:
        requests: Number of requests by operation, as boto3 spells it.
        down: Bytes of objects that were received.
        up: Bytes of objects that were sent.
    """

    requests: Counter[str] = field(default_factory=Counter)
    down: int = 0
    up: int = 0
    _lock: Any = field(default_factory=Lock, repr=False)

    @property
    def num_requests(self) -> int:
        """Requests of all kinds, those that failed included."""
        return sum(self.requests.values())

    def add(self, operation: str, *, down: int = 0, up: int = 0) -> None:
        """Count a request."""
        with self._lock:
            self.requests[operation] += 1
            self.down += down
            self.up += up

    def add_down(self, num_bytes: int) -> None:
        """Count bytes that came with a request counted before."""
        with self._lock:
            self.down += num_bytes
