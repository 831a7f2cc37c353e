"""The table's properties that say which columns should have filters: set by a commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.delta.commit import set_properties
from parquet_bloomwriter.delta.features import check_replaceable
from parquet_bloomwriter.delta.place import place_of
from parquet_bloomwriter.delta.schema import TableColumns
from parquet_bloomwriter.delta.snapshot import read_to_change
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.tables.wish import COLUMNS, FPP, wish_of

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence


def ask_for_filters(
    table: str | os.PathLike[str], columns: Sequence[str], *, fpp: float | None = None
) -> int | None:
    """Set the properties of a Delta table that `bloomify_table` reads.

    Args:
        table: Path or URL of the table's folder.
        columns: Columns as the table names them.
        fpp: False positive probability for all of them; None leaves that property as it is.

    Returns:
        The version that was made; None if the properties are so already.

    Raises:
        InvalidArgument: If there is no table, or a name cannot stand in the property.
        ColumnNotFound: If the table has no such column.
        TableProblem, UnsafeTarget, OutcomeUnknown, StoreProblem, OSError: As for `bloomify_table`.
    """
    snapshot = read_to_change(place_of(table))
    check_replaceable(snapshot)
    for name in columns:
        if "," in name or name != name.strip():
            raise InvalidArgument(f'the name "{name}" cannot stand in the property {COLUMNS}')
    wanted = {COLUMNS: ", ".join(columns)}
    if fpp is not None:
        wanted[FPP] = f"{fpp:g}"
    wish_of(TableColumns(snapshot.metadata), {**snapshot.metadata.properties, **wanted}, None, None)
    if wanted.items() <= snapshot.metadata.properties.items():
        return None
    return set_properties(snapshot, wanted).version
