"""A folder of files whose values are spread over all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

NUM_FILES = 8
ROWS = 200


def write_file(path: Path, number: int) -> None:
    """Write the ids `number`, `number` + 8, ..., so that minimum and maximum exclude no file."""
    ids = range(number, NUM_FILES * ROWS, NUM_FILES)
    table = pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "email": [f"user{i}@mail.example" for i in ids],
            "active": [i % 2 == 0 for i in ids],
            "address": [{"city": f"city {i % 10}"} for i in ids],
            "tags": [[i] for i in ids],
        }
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=ROWS // 2)


def write_table(folder: Path) -> Path:
    """Write eight files in two folders below `folder`."""
    for number in range(NUM_FILES):
        write_file(folder / f"kind={'ab'[number % 2]}" / f"part-{number}.parquet", number)
    return folder


def name_of(number: int) -> str:
    """The path of the file that has the id `number`, below the table's."""
    number %= NUM_FILES
    return f"kind={'ab'[number % 2]}/part-{number}.parquet"


def found(result: Result) -> tuple[int, str, str]:
    """What a command line came to."""
    return result.exit_code, result.stdout, result.stderr
