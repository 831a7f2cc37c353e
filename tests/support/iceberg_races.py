"""What another program does to an Iceberg table while files are replaced."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pyarrow as pa
from pyiceberg.exceptions import CommitFailedException, ValidationException

from parquet_bloomwriter import bloomify_table
from tests.support.iceberg_tables import ROWS, append, rows_of_append

if TYPE_CHECKING:
    from tests.support.iceberg_tables import Row, Warehouse

KINDS = ("append", "delete", "delete-a-file", "overwrite", "compact", "expire", "second")
NAME = "raced"


def rows_before() -> list[Row]:
    """Return the rows of the table, three appends."""
    return [row for number in range(3) for row in rows_of_append(number)]


def rows_after(kind: str) -> list[Row]:
    """Return the rows that the other program leaves."""
    rows = rows_before()
    if kind == "append":
        return rows + rows_of_append(3)
    if kind == "delete":
        return [row for row in rows if not 150 <= row["id"] < 160]
    if kind == "delete-a-file":
        return [row for row in rows if not ROWS <= row["id"] < 2 * ROWS]
    if kind == "overwrite":
        return [row | {"email": "new"} if row["id"] == 42 else row for row in rows]
    return rows


def make(warehouse: Warehouse) -> None:
    """Make the table, anew."""
    table = warehouse.create(NAME)
    for number in range(3):
        append(table, rows_of_append(number))


def meddle(warehouse: Warehouse, kind: str, longest_s: float, seed: str) -> str:
    """Do it, after a pause; return `done`, or the name of the error by which it lost."""
    table = warehouse.load(NAME)
    time.sleep(random.Random(seed).uniform(0, longest_s))  # noqa: S311  no secret
    try:
        if kind == "append":
            append(table, rows_of_append(3))
        elif kind == "delete":
            table.delete("id >= 150 and id < 160")
        elif kind == "delete-a-file":
            table.delete(f"id >= {ROWS} and id < {2 * ROWS}")
        elif kind == "overwrite":
            changed = rows_of_append(0)[42] | {"email": "new"}
            data = pa.Table.from_pylist([changed], schema=table.schema().as_arrow())
            table.overwrite(data, overwrite_filter="id == 42")
        elif kind == "compact":
            table.overwrite(table.scan().to_arrow())  # one file in the place of all
        elif kind == "expire":
            refs = {one.snapshot_id for one in table.metadata.refs.values()}
            old = [one.snapshot_id for one in table.metadata.snapshots]
            gone = [one for one in old if one not in refs]
            table.maintenance.expire_snapshots().by_ids(gone).commit()
        else:
            bloomify_table(warehouse.url(NAME), "id")
    except (CommitFailedException, ValidationException) as error:
        return type(error).__name__
    return "done"
