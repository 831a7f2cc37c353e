"""Check that the columns of a lookup exist: a misspelled name would exclude no file at all.

A column that an index has is not looked for. The metadata of a Delta or Iceberg table say which
columns the table has. An index of other tables records the names of all columns in the files that
it knows, indexed or not. Files that no such index knows are opened until one has the column.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import BloomwriterError, ColumnNotFound
from parquet_bloomwriter.index.build.file_filters import open_data_file
from parquet_bloomwriter.probing.bindings import Bindings
from parquet_bloomwriter.source import read_footer

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from parquet_bloomwriter.metadata import Schema
    from parquet_bloomwriter.predicate.expression import Expression

_NAMES = "table_columns"
"""The option of an entry that lists the names."""

_MOST_NAMES = 1_000
"""More names are not recorded: each entry of the log would have them all."""

_AT_ONCE = 256
"""Most files in one step; the first step is one file."""

_THREADS = 16


def with_names(options: Mapping[str, str], names: Collection[str], *, adds: bool) -> dict[str, str]:
    """Return options of an entry that record the names of columns.

    Args:
        options: Of the entry.
        names: Dotted names of all columns in the files that the version adds.
        adds: Whether it also knows files of the version before, whose names the options have.
    """
    before = recorded_names(options)
    found = {name: text for name, text in options.items() if name != _NAMES}
    if adds and before is None:
        return found
    both = {*names, *(before or () if adds else ())}
    return found | {_NAMES: json.dumps(sorted(both))} if len(both) <= _MOST_NAMES else found


def recorded_names(options: Mapping[str, str]) -> list[str] | None:
    """Return the names of all columns in the files that an index knows; None if it does not tell.

    Args:
        options: Of the index's entry.
    """
    try:
        found = json.loads(options.get(_NAMES, ""))
    except ValueError:
        return None
    is_list = isinstance(found, list) and all(isinstance(one, str) for one in found)
    return found if is_list else None


def check_names(expression: Expression, names: Sequence[str]) -> None:
    """Check that each column of a predicate has one of the names.

    Args:
        expression: The predicate.
        names: Dotted names of the columns of indexes and tables.

    Raises:
        ColumnNotFound: If a column has another name.
    """
    Bindings.of(expression).check_columns((), [tuple(names)])


def check_columns(
    expression: Expression, paths: Sequence[str], unread: Sequence[str], known: Sequence[str]
) -> None:
    """Check that each column of a predicate is known, in some file, or in some path.

    Nothing is concluded if any file cannot be read.

    Args:
        expression: The predicate.
        paths: The files of the table, absolute or URLs.
        unread: The files among them whose columns are not known.
        known: Dotted names of the columns of the other files, and of indexes.

    Raises:
        ColumnNotFound: If a column is in none of them.
    """
    bindings, start, num = Bindings.of(expression), 0, 1
    with ThreadPoolExecutor(_THREADS) as pool:
        while True:
            try:
                bindings.check_columns(paths, [tuple(known)])
            except ColumnNotFound:
                if start >= len(unread):
                    raise
            else:
                return
            for schema in pool.map(_schema_of, unread[start : start + num]):
                if schema is None:
                    return
                bindings.to(schema)
            start, num = start + num, min(16 * num, _AT_ONCE)


def _schema_of(path: str) -> Schema | None:
    try:
        with open_data_file(path) as source:
            return read_footer(source, check_head=False).schema
    except (BloomwriterError, OSError):
        return None
