"""What the verbs that write to tables ask of a table, whatever its format.

A table is looked at as of one version: Delta calls it so, Iceberg calls it a snapshot. Its data
files never change; a commit puts new ones in the place of some, and says that no row changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping, Sequence

    from parquet_bloomwriter.table_files.files import TableColumns

COMMITTED = "committed"
"""Attribute of an interruption that came after a commit was made: a `TableCommit`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DataFile:
    """A data file of a table at one version."""

    key: Hashable
    """What the table knows it by: another one once other rows of it are deleted."""

    path: str
    """As the table has it."""

    size: int
    """Bytes, as the table has them."""

    partition: Hashable
    """Equal for files of the same partition."""

    age_rank: int
    """Larger for newer files."""

    finished: frozenset[str] = frozenset()
    """Stored names of columns of which the table itself says that nothing is left to do."""

    why_kept: str | None = None
    """Why it must stay as it is; None if it may be replaced."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a table's properties ask for."""

    names: Sequence[str]
    """Columns and groups, by logical name; "*" for all."""

    rates: Mapping[str, float]
    """False positive probability by name; "*" for all others."""

    max_bytes: int | None = None
    """Largest bitset, bytes; None if the properties do not say."""

    unknown: Sequence[str] = ()
    """Properties that ask for filters of what is no column."""


@dataclass(frozen=True, kw_only=True)
class FileReplacement:
    """A new file that takes the place of one of the table."""

    old: DataFile
    path: str
    """Of the new file, as the table will have it."""

    size: int
    """Bytes of the new file."""

    finished: Collection[str]
    """Stored names of columns of which nothing is left to do in the new file."""


@dataclass(frozen=True, kw_only=True)
class TableCommit:
    """What a commit came to."""

    table: ChangeableTable
    """As of the commit."""

    version: int | None
    """The version that was made; None if every replacement was dropped."""

    dropped: Mapping[str, str]
    """Path of the new file -> why its replacement no longer holds; it is in no version."""


class ChangeableTable(Protocol):
    """A table at one version, to be changed."""

    format: str
    """`delta` or `iceberg`."""

    @property
    def name(self) -> str:
        """Path, URL or name, as reports have it."""
        ...

    keeps_notes: bool
    """Whether it keeps, with each file, of which columns nothing is left to do."""

    @property
    def id(self) -> str:
        """Random id of the table, with its place: equal for the same table only."""
        ...

    @property
    def is_far(self) -> bool:
        """Whether its files lie on a store."""
        ...

    @property
    def version(self) -> int:
        """Number of the version; that of an Iceberg table is the snapshot's id."""
        ...

    @property
    def columns(self) -> TableColumns:
        """Its columns."""
        ...

    @property
    def files(self) -> Collection[DataFile]:
        """Its data files, in the order in which the table has them."""
        ...

    @property
    def asks_by(self) -> str:
        """The property that names columns, for messages."""
        ...

    def asked(self) -> Asked:
        """Return what its properties ask for.

        Raises:
            InvalidArgument: If a property makes no sense.
        """
        ...

    def ask(self, columns: Sequence[str], fpp: float | None) -> int | None:
        """Set the properties, by a commit.

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
        """Whether a file of an earlier version is still there, with the same rows deleted."""
        ...

    def locate(self, path: str) -> str:
        """Return the absolute path or URL of a file, as verbs take it.

        Raises:
            InvalidArgument: If nothing here can open it.
        """
        ...

    def shown(self, path: str) -> str:
        """Return a path as it is on the disk or store, for reports."""
        ...

    def new_path(self, file: DataFile) -> str:
        """Return a path for a new version of a file, which no file has."""
        ...

    def remove(self, path: str) -> None:
        """Remove a new file, of which no commit was tried."""
        ...

    def check_commits(self) -> None:
        """Check that commits can be made safely here.

        Raises:
            UnsafeTarget: If not.
        """
        ...

    def newest(self) -> ChangeableTable:
        """Return the table as it is now.

        Raises:
            TableChanged: If its columns are others by now.
            UnsupportedTable: If it has a feature by now that must not be touched.
        """
        ...

    def commit(
        self, replacements: Sequence[FileReplacement], *, verb: str, columns: Sequence[str]
    ) -> TableCommit:
        """Put new files in the place of old ones, by one commit.

        Args:
            replacements: Of different files.
            verb: `add` or `strip`, for the table's history.
            columns: What was asked for, for the table's history.

        Raises:
            TableChanged, TableProblem, UnsupportedTable: If this run cannot go on.
            OutcomeUnknown: If it cannot be found out whether the commit was made.
            Unfinished: If it was made, and the table cannot be read afterwards.
            StoreProblem, OSError: If nothing was committed.
            KeyboardInterrupt, SystemExit: At any time; with the attribute `COMMITTED` if it is
                known that the commit was made.
        """
        ...
