"""The interface of tables that verbs write to: `ChangeableTable`, whatever the table's format.

A table is read at one version, which Iceberg calls a snapshot. Its data files never change. A
commit replaces some data files by new files, and declares that no row changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping, Sequence

    from parquet_bloomwriter.table_files.files import TableColumns

COMMITTED = "committed"
"""Name of the attribute, a `TableCommit`, of a `KeyboardInterrupt` or `SystemExit` that came after
a commit was made."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DataFile:
    """A data file of a table at one version."""

    key: Hashable
    """Key of the file in the table; it changes when further rows of the file are deleted."""

    path: str
    """Path of the file in the table's metadata."""

    size: int
    """Size of the file in the table's metadata, bytes."""

    partition: Hashable
    """Key of the file's partition: equal for files of the same partition."""

    age_rank: int
    """Rank of the file's age: larger for newer files."""

    finished: frozenset[str] = frozenset()
    """Stored names of columns that need no more work, according to the table itself."""

    why_kept: str | None = None
    """The reason why the file must not be replaced; None if it may be replaced."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The filters that a table's properties ask for."""

    names: Sequence[str]
    """Logical names of columns and groups; "*" for all."""

    rates: Mapping[str, float]
    """False positive probability by name; "*" for all other columns."""

    max_bytes: int | None = None
    """Maximum size of a bitset, bytes; None if the properties do not say."""

    unknown: Sequence[str] = ()
    """Names of properties that ask for filters of a column that does not exist."""


@dataclass(frozen=True, kw_only=True)
class FileReplacement:
    """A new file that replaces a data file of the table."""

    old: DataFile
    path: str
    """Path of the new file, as the table's metadata will have it."""

    size: int
    """Size of the new file, bytes."""

    finished: Collection[str]
    """Stored names of columns that need no more work in the new file."""


@dataclass(frozen=True, kw_only=True)
class TableCommit:
    """The result of a commit."""

    table: ChangeableTable
    """The table after the commit."""

    version: int | None
    """Number of the new version; None if all replacements were dropped."""

    dropped: Mapping[str, str]
    """Path of the new file -> the reason why its replacement was dropped; the file is in no
    version."""


class ChangeableTable(Protocol):
    """A table at one version that verbs can change."""

    format: str
    """Name of the format: `delta` or `iceberg`."""

    @property
    def name(self) -> str:
        """Path, URL or name of the table, for reports."""
        ...

    keeps_notes: bool
    """Whether the table keeps a note with each file of the columns that need no more work."""

    @property
    def id(self) -> str:
        """Random id of the table, with its location; equal only for the same table."""
        ...

    @property
    def is_far(self) -> bool:
        """Whether the table's files are on a store."""
        ...

    @property
    def version(self) -> int:
        """Number of the version; for an Iceberg table, id of the snapshot."""
        ...

    @property
    def columns(self) -> TableColumns:
        """The table's columns."""
        ...

    @property
    def files(self) -> Collection[DataFile]:
        """The table's data files, in the order of its metadata."""
        ...

    @property
    def asks_by(self) -> str:
        """Name of the property that lists columns, for messages."""
        ...

    def asked(self) -> Asked:
        """Return the filters that the table's properties ask for.

        Raises:
            InvalidArgument: If a property makes no sense.
        """
        ...

    def ask(self, columns: Sequence[str], fpp: float | None) -> int | None:
        """Set the properties that ask for filters, by a commit.

        Args:
            columns: Logical names of leaves, which the table has.
            fpp: False positive probability for all of them; None leaves that property as it is.

        Returns:
            The version that was made; None if the properties are so already.

        Raises:
            InvalidArgument: If a name cannot stand in a property.
        """
        ...

    def has(self, file: DataFile) -> bool:
        """Return whether the table still has an earlier file, with the same rows deleted."""
        ...

    def locate(self, path: str) -> str:
        """Return the absolute path or URL of a file, as verbs take it.

        Raises:
            InvalidArgument: If nothing here can open it.
        """
        ...

    def shown(self, path: str) -> str:
        """Return a path as the disk or store has it, for reports."""
        ...

    def new_path(self, file: DataFile) -> str:
        """Return an unused path for a new version of a file."""
        ...

    def remove(self, path: str) -> None:
        """Remove a new file that no commit was tried for."""
        ...

    def check_commits(self) -> None:
        """Check that commits can be made safely here.

        Raises:
            UnsafeTarget: If not.
        """
        ...

    def newest(self) -> ChangeableTable:
        """Return the table at its newest version.

        Raises:
            TableChanged: If its columns are others by now.
            UnsupportedTable: If it has a feature by now that must not be touched.
        """
        ...

    def commit(
        self, replacements: Sequence[FileReplacement], *, verb: str, columns: Sequence[str]
    ) -> TableCommit:
        """Replace data files by new files, in one commit.

        Args:
            replacements: The new files, each for a different old file.
            verb: `add` or `strip`, for the table's history.
            columns: The requested columns, for the table's history.

        Raises:
            TableChanged, TableProblem, UnsupportedTable: If this run cannot go on.
            OutcomeUnknown: If it cannot be found out whether the commit was made.
            Unfinished: If it was made, and the table cannot be read afterwards.
            StoreProblem, OSError: If nothing was committed.
            KeyboardInterrupt, SystemExit: At any time; with the attribute `COMMITTED` if it is
                known that the commit was made.
        """
        ...
