"""An index over the files of a table: which of them can hold a value, without opening any.

    from parquet_bloomwriter import index

    index.create("events/", ["id", "email"], name="ids")
    index.lookup("events/", "id = 42").paths

`create` and `refresh` build it, `lookup` asks all indexes of a table, `indexes` and `index` say how
they are. `optimize` joins small files, `delete`, `restore` and `vacuum` put an index away, `cancel`
ends what a dead process has begun.

`states`, `entry` and `log` say what an index is and which version of it counts; `parts` holds the
filters, `snapshot` asks them; `actions` changes an index. How filters are built, on this machine or
by Spark, is an `Engine`'s business.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parquet_bloomwriter.index.api import (
        cancel,
        create,
        delete,
        index,
        indexes,
        lookup,
        optimize,
        refresh,
        restore,
        vacuum,
    )
    from parquet_bloomwriter.index.engine import Engine, Progress, Unindexed
    from parquet_bloomwriter.index.log.entry import State
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
    "refresh",
    "restore",
    "vacuum",
]

_HOMES = {
    **dict.fromkeys(("Engine", "Progress", "Unindexed"), "engine"),
    **dict.fromkeys(("Code", "Reason"), "report"),
    **dict.fromkeys(("IndexColumn", "IndexInfo", "IndexReport", "IndexUse"), "report"),
    **dict.fromkeys(("LeftOut", "LookupReport", "plain"), "report"),
    "State": "log.entry",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for: numpy and pyarrow take their time."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'api')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
