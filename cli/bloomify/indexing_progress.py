"""The progress bar, as the engines of an index speak to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bloomify.progress import Bar


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """Files and bytes that are done; it raises in whoever reports after an interruption."""

    bar: Bar

    def begin(self, *, num_files: int, num_bytes: int) -> None:
        """Hear how much there is to do."""
        self.bar.expect(num_files=num_files)
        self.bar.begin(num_bytes=num_bytes, num_filters=0)

    def done(self, *, num_files: int, num_bytes: int) -> None:
        """Hear that more of it is done."""
        self.bar.wrote(num_bytes)
        for _ in range(num_files):
            self.bar.finished()
