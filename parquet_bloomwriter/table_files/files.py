"""The interface of tables: `Table`, at one version, and `TableFile`.

Verbs that read know a file of a table as a `Location` whose columns have the table's names. Verbs
that write know it as a `FileEntry`: data files never change, and a commit replaces some by new
files, and declares that no row changed. A format is a subclass of `Table` and one of `TableFile`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from parquet_bloomwriter.column_names import select_columns
from parquet_bloomwriter.metadata import Footer, Leaf, Schema
from parquet_bloomwriter.source import Location
from parquet_bloomwriter.source.open import opened_with_footer, read_footer

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

    from parquet_bloomwriter.column_names import TableColumns
    from parquet_bloomwriter.metadata.elements import Part
    from parquet_bloomwriter.predicate.expression import Texts
    from parquet_bloomwriter.table_files.properties import AskedFilters


FOOTERS_AT_ONCE = 16
"""Number of threads that read footers: reading a footer is mostly waiting."""

COMMITTED = "committed"
"""Name of the attribute, a `TableCommit`, of a `KeyboardInterrupt` or `SystemExit` that came after
a commit was made."""

DELTA, ICEBERG = "a Delta table", "an Iceberg table"
"""The kinds of tables, in words."""


class StoredFile(NamedTuple):
    """A data file as the table's metadata describe it."""

    path: str
    """Absolute path or URL of the file."""

    size: int
    """Size of the file, bytes."""

    modified_ms: int
    """Time of modification, milliseconds since 1970 UTC; 0 if the metadata do not say."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FileEntry:
    """A data file as the table's metadata describe it, for verbs that replace it."""

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
class FileReplacement:
    """A new file that replaces a data file of the table."""

    old: FileEntry
    path: str
    """Path of the new file, as the table's metadata will have it."""

    size: int
    """Size of the new file, bytes."""

    finished: Collection[str]
    """Stored names of columns that need no more work in the new file."""


@dataclass(frozen=True, kw_only=True)
class TableCommit:
    """The result of a commit."""

    table: Table
    """The table after the commit."""

    version: int | None
    """Number of the new version; None if all replacements were dropped."""

    dropped: Mapping[str, str]
    """Path of the new file -> the reason why its replacement was dropped; the file is in no
    version."""


class TableField(NamedTuple):
    """A field in the schema of a table, found by its dotted name."""

    type: str
    id: int | None = None
    """Field id, by which an Iceberg table finds the column in files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLeaf(Leaf):
    """A leaf column of a file, under its name in the table."""

    logical_name: str

    @property
    def name(self) -> str:
        """The dotted path of the column in the table's schema."""
        return self.logical_name


@dataclass(frozen=True, kw_only=True, eq=False)
class Table(ABC):
    """A table at one version or snapshot."""

    kind: ClassVar[str]
    """Kind of the table: `DELTA` or `ICEBERG`."""

    format: ClassVar[str]
    """Name of the format: `delta` or `iceberg`."""

    partition_origin: ClassVar[str]
    """The place in the metadata of the values of partition columns, as a noun of a message."""

    keeps_notes: ClassVar[bool]
    """Whether the table keeps a note with each file of the columns that need no more work."""

    path: str
    """Path or name of the table as the caller spelled it, without secrets."""

    @property
    @abstractmethod
    def label(self) -> str:
        """The version or snapshot in words: "version 3 of a Delta table"."""

    @property
    @abstractmethod
    def facts(self) -> dict[str, object]:
        """The version or snapshot as a JSON object: `{"version": 3}`."""

    @property
    @abstractmethod
    def columns(self) -> TableColumns[Any]:
        """The table's leaf columns, with the leaf columns of files that store them."""

    @property
    @abstractmethod
    def version(self) -> int:
        """Number of the version; for an Iceberg table, id of the snapshot, 0 without snapshots."""

    @property
    @abstractmethod
    def uuid(self) -> str:
        """Random id of the table, which no other table has."""

    @property
    @abstractmethod
    def plain_fields(self) -> Mapping[str, Sequence[Any]]:
        """The fields of the schema that have one value in each row, by dotted name."""

    @property
    @abstractmethod
    def files(self) -> Sequence[TableFile]:
        """The table's data files, in the order of its metadata."""

    @abstractmethod
    def stored_files(self) -> Iterable[StoredFile]:
        """Return the data files as the metadata describe them, without opening them."""

    @property
    @abstractmethod
    def location(self) -> str:
        """Path or URL of the table's folder, in its metadata or by which it was opened."""

    @property
    def id(self) -> str:
        """Random id of the table, with its location; equal only for the same table."""
        return f"{self.uuid}\n{self.location}"

    @property
    @abstractmethod
    def entries(self) -> Sequence[FileEntry]:
        """The data files for verbs that replace them, in the order of the metadata."""

    @abstractmethod
    def asked(self) -> AskedFilters:
        """Return the filters that the table's properties ask for.

        Raises:
            InvalidArgument: If a property makes no sense.
        """

    @abstractmethod
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

    @abstractmethod
    def has(self, entry: FileEntry) -> bool:
        """Return whether the table still has an earlier file, with the same rows deleted."""

    @abstractmethod
    def locate(self, path: str) -> str:
        """Return the absolute path or URL of a file in the metadata, as verbs take it.

        Raises:
            InvalidArgument: If nothing here can open it.
        """

    @abstractmethod
    def shown(self, path: str) -> str:
        """Return a path in the metadata as the disk or store has it, for reports."""

    @abstractmethod
    def new_path(self, entry: FileEntry) -> str:
        """Return an unused path for a new version of a file."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Remove a new file that no commit was tried for."""

    def check_commits(self) -> None:  # noqa: B027  Iceberg: all catalogs swap metadata exclusively
        """Check that commits can be made safely here.

        Raises:
            UnsafeTarget: If not.
        """

    @abstractmethod
    def newest(self) -> Table:
        """Return the table at its newest version.

        Raises:
            TableChanged: If its columns are others by now.
            UnsupportedTable: If it has a feature by now that must not be touched.
        """

    @abstractmethod
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

    @abstractmethod
    def fields_of(self, name: str) -> Sequence[TableField]:
        """Return the fields that a dotted name of a column, or part of a list or map, can mean."""

    def column_names(self) -> tuple[str, ...]:
        """Return the dotted names that a predicate can use."""
        return (*self.columns.select(None), *self.plain_fields)

    @abstractmethod
    def check_names_in_files(self) -> None:
        """Check that columns can be found in files without the metadata of each file.

        Raises:
            InvalidArgument: If only the table's log knows the names of columns in files.
        """

    def why_unlike(self, footer: Footer, name: str, leaf: Leaf) -> str | None:  # noqa: ARG002  one format needs them
        """Return why stored values may equal other literals than the table's do, or None."""
        return None

    @abstractmethod
    def known_texts(self, name: str, leaf: Leaf | None, footer: Footer) -> Texts | None:
        """Return the known values of a column, if they are the same in all rows of a file.

        Args:
            name: A dotted name in a predicate.
            leaf: The column of the file; None if none was found.
            footer: The file's footer.

        Returns:
            None if the stored values equal the same literals as the table's values. Otherwise what
            the value may be in every row: `(None,)` for null, `()` if that is not known.
        """

    @abstractmethod
    def part_leaves(self, footer: Footer) -> dict[tuple[str, Part], list[Leaf]]:
        """Return the columns of a file that hold elements of lists, and keys and values of maps.

        Returns:
            By the dotted name of the list or map in the table, and its part: leaves whose stored
            values equal the same literals as the table's values.
        """

    def named(self, footer: Footer) -> Footer:
        """Return a footer whose columns have the names of the table.

        Columns that the table does not have, or has no more, keep the file's names.
        """
        leaves = list(footer.leaves)
        for name, leaf in self.columns.in_file(footer).items():
            leaves[leaf.ordinal] = _renamed(leaf, name)
        return replace(footer, schema=Schema(tuple(leaves)))

    def in_file(self, footer: Footer) -> dict[str, Leaf]:
        """Return the leaf columns of a file by their names in the table, and under them."""
        return {name: _renamed(leaf, name) for name, leaf in self.columns.in_file(footer).items()}


def _renamed(leaf: Leaf, name: str) -> Leaf:
    facts = {one: getattr(leaf, one) for one in Leaf.__dataclass_fields__}
    return leaf if leaf.name == name else TableLeaf(**facts, logical_name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile(Location, ABC):
    """A data file of a table."""

    table: Table = field(compare=False, repr=False)

    def named(self, footer: Footer) -> Footer:
        """Return the file's footer, with columns under their names in the table."""
        return self.table.named(footer)

    def select(self, names: str | Iterable[str], footer: Footer) -> tuple[Leaf, ...]:
        """Return the leaf columns of the given names that the file has.

        Args:
            names: Names of columns of the table.
            footer: The file's footer, as `named` returns it.

        Raises:
            ColumnNotFound: If the table has no such column.
        """
        chosen = set(self.table.columns.select(names if isinstance(names, str) else list(names)))
        return tuple(leaf for leaf in footer.leaves if leaf.name in chosen)

    @abstractmethod
    def partition_texts(self, columns: Sequence[str]) -> dict[str, Texts]:
        """Return the possible values of partition columns in this file, spelled as in paths.

        Args:
            columns: Names in a predicate; others are left out.
        """


def columns_of_file(
    source: object, footer: Footer, names: str | Iterable[str] | None
) -> tuple[Leaf, ...]:
    """Return leaf columns of a file by their names; in a table's file, columns may be missing.

    Args:
        source: The path or `TableFile` by which the file was opened.
        footer: The file's footer; columns have the names by which they are looked up.
        names: Names of columns; None for all columns.

    Raises:
        ColumnNotFound: If a name matches nothing, or is ambiguous.
    """
    if names is None:
        return footer.leaves
    if isinstance(source, TableFile):
        return source.select(names, footer)
    return select_columns(footer.leaves, names)


def footer_of(path: str) -> tuple[Footer, int]:
    """Return the footer and the size of a file; on S3, read it with the settings for writing.

    Raises:
        FileProblem: If it cannot be read.
        OSError: If the system or the store refuses.
    """
    from parquet_bloomwriter.stores.s3.urls import is_s3, parse_url

    if not is_s3(path):
        with opened_with_footer(path) as (file, footer):
            return footer, file.size
    from parquet_bloomwriter.stores.open import open_bucket

    place = parse_url(path)
    with open_bucket(place.bucket).opened(place.key) as source:
        return read_footer(source, check_head=False), source.size
