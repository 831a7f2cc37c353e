"""What a table asks of the place that it lies in.

The log's files are small in number and read as a whole or by ranges; data files are opened by those
who need them, under the path or URL that `locate` gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.source import Source

LOG = "_delta_log"
"""Folder of the log, in the table's."""


class LogFile(NamedTuple):
    """A file of the log."""

    name: str
    """Below the log's folder, with "/"."""

    size: int
    """Bytes."""

    modified_ms: int
    """Milliseconds since the epoch."""


class TablePlace(Protocol):
    """Where a table lies. Safe in threads."""

    root: str
    """The table's folder: an absolute path, or a URL without a slash at its end."""

    def list_log(self, start: str = "") -> list[LogFile]:
        """List the files directly in the log's folder, by name.

        Args:
            start: Leave out names that come before this one.

        Raises:
            FileNotFoundError: If there is no log.
            StoreProblem: If a store refuses or does not answer.
        """
        ...

    def log_names(self) -> Iterator[str]:
        """Yield the names of the files directly in the log's folder; lists as little as it can.

        Raises:
            FileNotFoundError: If there is no log; a store of objects may yield nothing instead.
            StoreProblem: If a store refuses or does not answer.
        """
        ...

    def read_log(self, name: str) -> bytes:
        """Read a file of the log.

        Raises:
            FileNotFoundError: If there is no such file.
            StoreProblem: If a store refuses or does not answer.
        """
        ...

    def open_log(self, name: str) -> AbstractContextManager[Source]:
        """Open a file of the log to read ranges of it.

        Raises:
            FileNotFoundError: If there is no such file.
            StoreProblem: If a store refuses or does not answer.
        """
        ...

    def check_commits(self) -> None:
        """Check that an entry of the log can be created exclusively here.

        Raises:
            UnsafeTarget: If not; says why, and nothing was written to the log.
        """
        ...

    def create_entry(self, name: str, data: bytes, *, attempt: str) -> bool:
        """Create a file of the log, unless there is one of its name.

        What is created is there as a whole, or not at all. An answer that is lost is resolved by
        reading what is there: data that carry the id of the attempt are ours.

        Args:
            name: Of the entry.
            data: The entry, which holds `attempt`.
            attempt: Random id of this attempt.

        Returns:
            Whether it was created; False if there is an entry of somebody else.

        Raises:
            OutcomeUnknown: If it cannot be found out.
            StoreProblem, OSError: If it was certainly not created.
        """
        ...

    def locate(self, uri: str) -> str:
        """Return the absolute path or URL of a data file, as verbs take it.

        Args:
            uri: As the log has it: relative to the root or absolute, with its escapes.

        Raises:
            InvalidArgument: If it is absolute, of a kind that this place cannot open; or if it
                leads out of the table's folder by "..".
        """
        ...

    def new_uri(self, old_uri: str) -> str:
        """Return the URI of a new file, relative to the root, that no file has.

        It lies in the folder of the old file, or in the table's folder if the old one is not below
        the root. Its name is that of the old one with another random id.

        Args:
            old_uri: Of the file whose place it takes, as the log has it.
        """
        ...

    def remove(self, uri: str) -> None:
        """Remove a data file below the root, which this run wrote and never tried to commit.

        Raises:
            InvalidArgument: If it is absolute, or no name that `new_uri` gives.
        """
        ...
