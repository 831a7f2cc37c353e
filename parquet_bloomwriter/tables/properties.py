"""The table's properties that say which columns should have filters: set by a commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.arguments import rate_of
from parquet_bloomwriter.tables.open import open_table
from parquet_bloomwriter.tables.wish import leaves_of

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from parquet_bloomwriter.arguments import Rate


def ask_for_filters(
    table: str | os.PathLike[str], columns: Sequence[str], *, fpp: Rate | None = None
) -> int | None:
    """Set the properties of a Delta or Iceberg table that `bloomify_table` reads.

    That of a Delta table names all columns. Those of an Iceberg table are set for these columns,
    and stay for others.

    Args:
        table: Path or URL of a Delta table's folder, or iceberg://CATALOG/NAMESPACE.TABLE.
        columns: Columns as the table names them.
        fpp: False positive probability for all of them; None leaves that property as it is.

    Returns:
        The version that was made; of an Iceberg table the current snapshot, as its properties
        belong to none. None if the properties are so already.

    Raises:
        InvalidArgument: If there is no table, or a name cannot stand in a property.
        ColumnNotFound: If the table has no such column.
        TableProblem, UnsafeTarget, OutcomeUnknown, StoreProblem, OSError: As for `bloomify_table`.
    """
    rate = None if fpp is None else rate_of(fpp)
    opened = open_table(table)
    return opened.ask(leaves_of(opened.columns, columns), rate)
