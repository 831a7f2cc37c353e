"""Columns of a new index: names, patterns and ordinals that a caller gives -> dotted names.

An index knows its columns by their names. Patterns are matched once, when the index is created:
with the schema of a Delta or Iceberg table, or else of the table's first file that can be read.
Columns that are added to the table later are not in the index.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from parquet_bloomwriter.arguments import names_of
from parquet_bloomwriter.column_names import EVERY_COLUMN, matching_names, select_columns
from parquet_bloomwriter.errors import BloomwriterError, InvalidArgument
from parquet_bloomwriter.index.config import check_distinct
from parquet_bloomwriter.index.files import location

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from parquet_bloomwriter.index.table.ref import TableRef
    from parquet_bloomwriter.metadata import Leaf

    StrPath = str | os.PathLike[str]

T = TypeVar("T")

_NO_NAME = re.compile(r"[*?]|#[0-9]+$")
"""A name that matches this regular expression is a pattern or an ordinal, unless a column has this
very name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChoice:
    """The columns that a caller chose for an index."""

    meant: Mapping[str, tuple[str, ...]]
    """Names, patterns and ordinals that the caller gave -> dotted names of columns, without
    excluded columns."""

    @property
    def names(self) -> tuple[str, ...]:
        """The dotted names of the columns, without duplicates, in the order they were given."""
        return tuple(dict.fromkeys(name for names in self.meant.values() for name in names))

    def by_name(self, given: Mapping[str, T]) -> dict[str, T]:
        """Return values by the dotted names of columns, from values by what the caller gave.

        Args:
            given: Values by what was given for columns, or by patterns of their names; later ones
                win, but `EVERY_COLUMN` is for all that are not named. Other names stay.
        """
        names, values = self.names, dict[str, T]()
        for key in sorted(given, key=lambda one: one != EVERY_COLUMN):
            meant = self.meant.get(key) or matching_names(names, key) or (key,)
            values |= dict.fromkeys(meant, given[key])
        return values


def choose_names(
    table: TableRef,
    columns: str | Iterable[str],
    exclude: str | Iterable[str] = (),
    *,
    files: StrPath | Sequence[StrPath] | None = None,
) -> ColumnChoice:
    """Find the columns of a new index. Plain names are taken as given, without reading a schema.

    Args:
        table: The table.
        columns: Dotted paths; patterns, for all columns that they match and that can be indexed; or
            `#` and a 0-based leaf ordinal.
        exclude: Columns that the index is not to have, in the same words, and groups.
        files: As for `index.create`.

    Raises:
        ColumnNotFound: If a pattern or an ordinal, or any name in `exclude`, matches nothing.
        InvalidArgument: If all columns are excluded, or a name is given twice.
        BloomwriterError, OSError: If a schema is needed and cannot be read.
    """
    given, excluded = names_of(columns), names_of(exclude)
    check_distinct(given)
    if not excluded and not any(map(_NO_NAME.search, given)):
        return ColumnChoice(meant={name: (name,) for name in given})
    schema = _schema_of(table, files)
    gone = {name.lower() for name in schema.select(excluded)}
    meant = {
        name: tuple(one for one in _meant(schema, name) if one.lower() not in gone)
        for name in given
    }
    choice = ColumnChoice(meant=meant)
    if given and not choice.names:
        raise InvalidArgument(
            "all columns that are chosen are excluded, too", remedy="Exclude fewer."
        )
    return choice


class _Schema(Protocol):
    """The schema of a table or a file, as its leaf columns."""

    def select(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the dotted names of columns, as `select_columns` finds them."""
        ...

    def can_index(self, name: str) -> bool:
        """Return whether the type of a column, given by its dotted name, can be indexed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _FileSchema:
    """The schema of one Parquet file."""

    leaves: tuple[Leaf, ...]

    def select(self, names: Sequence[str]) -> tuple[str, ...]:
        """See `_Schema`."""
        return tuple(leaf.name for leaf in select_columns(self.leaves, names))

    def can_index(self, name: str) -> bool:
        """See `_Schema`."""
        from parquet_bloomwriter.index.format.columns import resolve_column

        return not isinstance(resolve_column(self.leaves, name), str)


def _meant(schema: _Schema, name: str) -> Sequence[str]:
    if not _NO_NAME.search(name):
        return (name,)
    found = schema.select((name,))
    if name in found or name.startswith("#"):
        return found
    # If no column can be indexed, creating the index gives the reason.
    return [one for one in found if schema.can_index(one)] or found


def _schema_of(table: TableRef, files: StrPath | Sequence[StrPath] | None) -> _Schema:
    from parquet_bloomwriter.index.table.data_files import current_files

    metadata = table.opened()
    if metadata is not None:
        return metadata
    problem: Exception | None = None
    for file in current_files(table, files):
        try:
            return _FileSchema(leaves=_leaves(location(table.root, file)))
        except (BloomwriterError, OSError) as error:
            problem = problem or error
    raise problem or InvalidArgument("there are no Parquet files to index")


def _leaves(path: str) -> tuple[Leaf, ...]:
    from parquet_bloomwriter.index.table.data_files import open_data_file
    from parquet_bloomwriter.source import read_footer

    with open_data_file(path) as source:
        return read_footer(source).leaves
