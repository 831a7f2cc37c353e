"""What an object store had to do for a new version of a file, and what came of it."""

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
    """Requests that were made, by operation as boto3 spells it; those that failed included."""

    down: int
    """Bytes of objects that were received."""

    up: int
    """Bytes of objects that were sent."""

    copied: int
    """Bytes that the store copied by itself, or would copy."""

    planned: tuple[int, int, int] | None
    """What writing would cost beyond that, where nothing was written: requests, bytes down, bytes
    up."""

    old_version: str | None = None
    """Id of the version that was replaced, in a bucket that keeps versions: the backup."""

    new_version: str | None = None
    """Id of the new version."""

    notes: tuple[str, ...] = ()
    """What could not be kept or checked, a clause each."""

    @property
    def num_requests(self) -> int:
        """Requests of all kinds."""
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
