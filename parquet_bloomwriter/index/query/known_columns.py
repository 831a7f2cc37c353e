"""Check that the columns of a lookup exist: a misspelled name would exclude no file at all.

A column that an index has is not looked for. The metadata of a Delta or Iceberg table say which
columns the table has. Of other tables, data files are opened until one has the column: usually the
first; all of them only if none has it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import BloomwriterError, ColumnNotFound
from parquet_bloomwriter.index.build.file_filters import open_data_file
from parquet_bloomwriter.probing.files import Bindings
from parquet_bloomwriter.source import read_footer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.metadata import Schema
    from parquet_bloomwriter.predicate.expression import Expression

_AT_ONCE = 256
"""Most files in one step; the first step is one file."""

_THREADS = 16


def check_names(expression: Expression, names: Sequence[str]) -> None:
    """Check that each column of a predicate has one of the names.

    Args:
        expression: The predicate.
        names: Dotted names of the columns of indexes and tables.

    Raises:
        ColumnNotFound: If a column has another name.
    """
    Bindings.of(expression).check_columns((), [tuple(names)])


def check_columns(expression: Expression, paths: Sequence[str], indexed: Sequence[str]) -> None:
    """Check that each column of a predicate is in an index, in some file, or in some path.

    Nothing is concluded if any file cannot be read.

    Args:
        expression: The predicate.
        paths: The files of the table, absolute or URLs.
        indexed: Dotted names of the columns of the table's indexes.

    Raises:
        ColumnNotFound: If a column is in none of them.
    """
    bindings, start, num = Bindings.of(expression), 0, 1
    error: ColumnNotFound | None = None
    with ThreadPoolExecutor(_THREADS) as pool:
        while start < len(paths):
            for schema in pool.map(_schema_of, paths[start : start + num]):
                if schema is None:
                    return
                bindings.to(schema)
            try:
                bindings.check_columns(paths, [tuple(indexed)])
            except ColumnNotFound as missing:
                error = missing
            else:
                return
            start, num = start + num, min(16 * num, _AT_ONCE)
    if error is not None:
        raise error


def _schema_of(path: str) -> Schema | None:
    try:
        with open_data_file(path) as source:
            return read_footer(source, check_head=False).schema
    except (BloomwriterError, OSError):
        return None
