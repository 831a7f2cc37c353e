"""Select rows by a condition, and columns by a projection; read pieces of a table in order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from parquet_bloomwriter.parallel import default_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa
    import pyarrow.compute as pc

    from parquet_bloomwriter.scan.table import Projection

T = TypeVar("T")

_FILES_AT_ONCE = 8
"""Most files that are decoded at the same time."""


def answer(
    rows: pa.Table, projection: Projection | None, condition: pc.Expression | None
) -> pa.Table:
    """Return the rows that meet a condition, with the columns of a projection.

    Args:
        rows: With all columns that are needed.
        projection: Names or expressions; None for all columns.
        condition: None for all rows.
    """
    import pyarrow.dataset as ds

    if condition is None and projection is None:
        return rows
    # Parts of structs and the names of results are pyarrow's business, as for any file.
    return ds.dataset(rows).to_table(columns=projection, filter=condition, use_threads=False)


def joined(
    empty: pa.Table, read: Callable[[T], pa.Table], pieces: Iterable[T], *, use_threads: bool
) -> pa.Table:
    """Read pieces of a table, several at once, and return their rows in the order of the pieces.

    Args:
        empty: A table of the result's schema, without rows.
        read: Called with each piece.
        pieces: What there is to read.
        use_threads: Whether several are read at the same time.
    """
    import pyarrow as pa

    at_once = min(_FILES_AT_ONCE, default_jobs()) if use_threads else 1
    with ThreadPoolExecutor(at_once) as pool:
        try:
            parts = list(pool.map(read, pieces))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    if not empty.num_columns:  # pyarrow would return no rows
        return of_no_columns(sum(part.num_rows for part in parts))
    return pa.concat_tables([empty, *parts])


def of_no_columns(num_rows: int) -> pa.Table:
    """Return a table with rows and without columns."""
    import pyarrow as pa

    return pa.table({"": pa.nulls(num_rows)}).select([])
