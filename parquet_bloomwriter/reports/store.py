"""The requests that a new version of a file took on an object store, and their outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.text import count, size

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReport:
    """Requests and bytes, and the versions of the object."""

    requests: Mapping[str, int]
    """Number of requests that were made, by the operation's name in boto3; with failed requests."""

    down: int
    """Received bytes of objects."""

    up: int
    """Sent bytes of objects."""

    copied: int
    """Bytes that the store copied by itself, or would copy."""

    planned: tuple[int, int, int] | None
    """The further cost of writing, if nothing was written: requests, bytes down, bytes up; None if
    the new version was written."""

    old_version: str | None = None
    """Id of the replaced version, which is the backup, in a bucket that keeps versions."""

    new_version: str | None = None
    """Id of the new version, in a bucket that keeps versions."""

    notes: tuple[str, ...] = ()
    """Properties that could not be kept or checked, one clause each."""

    @property
    def num_requests(self) -> int:
        """Number of requests of all kinds."""
        return sum(self.requests.values())

    def __str__(self) -> str:
        """Return one line."""
        done = f"{count(self.num_requests, 'request')}, {size(self.down)} down, {size(self.up)} up"
        if self.planned is not None:
            requests, down, up = self.planned
            done += f"; writing: {count(requests, 'request')}, {size(down)} down, {size(up)} up"
        copied = f"; {size(self.copied)} copied by the store" if self.copied else ""
        kept = f"; the old version is kept as {self.old_version}" if self.old_version else ""
        return done + copied + kept
