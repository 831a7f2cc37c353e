"""The verb `scan_polars`: a LazyFrame of Polars whose queries read only surviving row groups."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.arguments import names_of, source_by_position
from parquet_bloomwriter.hashing import HashKind
from parquet_bloomwriter.scan.polars_source import (
    RowsOfFiles,
    RowsOfTable,
    check_polars,
    lazy_frame,
)
from parquet_bloomwriter.scan.table import find_table as find_plain_files
from parquet_bloomwriter.source.filesystems import without_secrets
from parquet_bloomwriter.table_files.find import AsOf, find_table
from parquet_bloomwriter.verbs.read import refuse_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from parquet_bloomwriter.hashing import Dialect
    from parquet_bloomwriter.scan.polars_source import Rows

_HINT = "conditions are for .filter(...), and columns are columns=[...]"


@source_by_position(_HINT)
def scan_polars(  # noqa: PLR0913  all but the source by keyword
    source: object,
    *,
    columns: str | Iterable[str] | None = None,
    filesystem: object = None,
    partitioning: object = "hive",
    dialect: Dialect = "xxhash",
    murmur3_seed: int = 0,
    version: int | None = None,
    snapshot: int | None = None,
    branch: str | None = None,
    **options: Any,  # noqa: ANN401  pyarrow's own
) -> pl.LazyFrame:
    """Make a LazyFrame of Polars whose queries read only row groups that might match.

        scan_polars("events/").filter(pl.col("id") == 42).select("email").collect()

    Polars passes the filters and columns of each query to this library. Comparisons of a column, or
    of a field of a struct, with literals (`==`, `!=`, `<`, `is_in`, `is_between`, `is_null`),
    joined by `&`, `|` and `~`, exclude files and row groups by Bloom filters, statistics and small
    dictionaries. All other conditions exclude nothing. Polars selects the rows, so they are the
    rows that `polars.scan_parquet` returns for the same filters. Conditions that Polars itself
    cannot push down (on joins, windows, aggregates) exclude nothing either.

    Files are found, and the schema is read, when this function is called. Files are probed and read
    when a query runs. If rows of files are changed in between, make the LazyFrame anew. pyarrow
    reads the columns that a query needs, batch by batch.

    Args:
        source: As for `read_table`.
        columns: Names of the columns of the LazyFrame; None for all.
        filesystem: As for `read_table`.
        partitioning: As for `read_table`.
        dialect: As for `probe`.
        murmur3_seed: As for `probe`.
        version: As for `read_table`.
        snapshot: As for `read_table`.
        branch: As for `read_table`.
        **options: As for `read_table`.

    Returns:
        A LazyFrame. Polars makes the types of its columns from the types of `read_table`.

    Raises:
        InvalidArgument: If Polars 2.0 or newer is not installed; if Polars cannot read a column; if
            there is no such version; if an argument has no meaning for a table.
        ColumnNotFound: If the table has no such column.
        UnsupportedTable: If a table has columns that cannot be returned as the table defines them.
        TableProblem: If the metadata of a table contradict themselves.
        Whatever pyarrow raises: If pyarrow cannot find or read a file.
    """
    check_polars()
    names = None if columns is None else list(names_of(columns))
    kind = HashKind(dialect, murmur3_seed)
    as_of = AsOf(version=version, snapshot=snapshot, branch=branch)
    table = find_table(source, filesystem=filesystem, as_of=as_of)
    rows: Rows
    if table is None:
        files = find_plain_files(
            source, filesystem=filesystem, partitioning=partitioning, options=options
        )
        rows = RowsOfFiles(table=files, hash_kind=kind)
        name = os.fsdecode(source) if isinstance(source, str | os.PathLike) else ""
    else:
        refuse_arguments(
            table, {"partitioning": partitioning != "hive"} | dict.fromkeys(options, True)
        )
        rows = RowsOfTable(table=table, hash_kind=kind, columns=names)
        name = table.path
    return lazy_frame(rows, columns=names, name=without_secrets(name))
