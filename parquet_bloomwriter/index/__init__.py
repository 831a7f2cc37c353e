"""An index of a table: finds the files that can hold a value, without opening a data file.

    from parquet_bloomwriter import index

    index.create("events/", ["id", "email"], name="ids")
    index.lookup("events/", "id = 42").paths

`create` and `refresh` build an index, `lookup` uses all indexes of a table, `indexes` and `index`
describe them. `optimize` joins small files of an index, `delete`, `restore` and `vacuum` retire it,
`cancel` ends an action whose process died.

    table     the table that a caller names, and its files
    storage   the disk or object store that holds the files of an index
    log       log entries, of which the newest stable one is in force; transactions
    format    the files of an index: manifest, parts, global filters, slices
    build     builds filters from the table's files
    actions   changes of an index: create, refresh, optimize, delete, restore, vacuum, cancel
    query     lookups, and filters for joins

An `Engine` builds the filters: threads of this process, or Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.lazy_names import importer

if TYPE_CHECKING:
    from parquet_bloomwriter.index.api import (
        cancel,
        create,
        delete,
        index,
        indexes,
        lookup,
        optimize,
        prune_scan,
        refresh,
        restore,
        vacuum,
    )
    from parquet_bloomwriter.index.engine import Engine, Progress, Unindexed
    from parquet_bloomwriter.index.entry import State
    from parquet_bloomwriter.index.report import (
        Code,
        IndexColumn,
        IndexInfo,
        IndexReport,
        IndexUse,
        LeftOut,
        LookupReport,
        Reason,
        plain,
    )

__all__ = [
    "Code",
    "Engine",
    "IndexColumn",
    "IndexInfo",
    "IndexReport",
    "IndexUse",
    "LeftOut",
    "LookupReport",
    "Progress",
    "Reason",
    "State",
    "Unindexed",
    "cancel",
    "create",
    "delete",
    "index",
    "indexes",
    "lookup",
    "optimize",
    "plain",
    "prune_scan",
    "refresh",
    "restore",
    "vacuum",
]

__getattr__ = importer(
    __name__,
    {
        **dict.fromkeys(__all__, "api"),
        **dict.fromkeys(("Engine", "Progress", "Unindexed"), "engine"),
        **dict.fromkeys(("Code", "Reason"), "report"),
        **dict.fromkeys(("IndexColumn", "IndexInfo", "IndexReport", "IndexUse"), "report"),
        **dict.fromkeys(("LeftOut", "LookupReport", "plain"), "report"),
        "State": "entry",
    },
)


def __dir__() -> list[str]:
    return sorted(__all__)
