"""Open a Delta or Iceberg table by its path, URL or name, to change it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from parquet_bloomwriter.delta.place import is_table as is_delta
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.iceberg.names import is_iceberg

if TYPE_CHECKING:
    from parquet_bloomwriter.tables.table import ChangeableTable


def is_table(given: str | os.PathLike[str]) -> bool:
    """Return whether a path or name is that of a Delta or Iceberg table.

    Raises:
        StoreProblem: If a store does not answer.
    """
    return is_iceberg(given) or is_delta(given)


def open_table(given: str | os.PathLike[str], *, branch: str | None = None) -> ChangeableTable:
    """Read the last version of a table.

    Args:
        given: Path or URL of a Delta table's folder, or name of an Iceberg table.
        branch: Name of the branch of an Iceberg table; None for its main branch.

    Raises:
        InvalidArgument: If there is no table, or no such branch.
        UnsupportedTable: If the table has a feature that this program must not touch; it is named.
        TableProblem: If its metadata are damaged.
        StoreProblem, OSError: If they cannot be read.
    """
    if isinstance(given, str) and is_iceberg(given):
        from parquet_bloomwriter.tables.iceberg import ChangeableIceberg

        return ChangeableIceberg.open(given, branch=branch)
    if branch is not None:
        raise InvalidArgument(
            f'"{os.fsdecode(given)}" has no branches',
            remedy="Only Iceberg tables have: leave it out.",
        )
    from parquet_bloomwriter.tables.delta import ChangeableDelta

    return ChangeableDelta.open(os.fsdecode(given))
