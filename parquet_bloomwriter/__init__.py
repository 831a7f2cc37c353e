"""Add Bloom filters to Parquet files that are there already, without touching their data.

    from parquet_bloomwriter import bloomify

    report = bloomify("events.parquet", ["id", "email"], fpp=0.01)

`bloomify` adds filters, `strip` takes them out, `repair` fills in lengths that other writers left
out. Each works on one file, or on its bytes in memory; `for_each_file` takes folders and globs.
`Sbbf` is the filter itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parquet_bloomwriter.add import bloomify
    from parquet_bloomwriter.errors import (
        BloomwriterError,
        ColumnNotFound,
        FileChanged,
        FileProblem,
        InvalidArgument,
        MalformedFile,
        MalformedFilter,
        NotParquet,
        UnsafeTarget,
        UnsupportedFile,
        VerificationFailed,
    )
    from parquet_bloomwriter.many import FileOutcome, for_each_file
    from parquet_bloomwriter.repair import repair
    from parquet_bloomwriter.report import (
        AddReport,
        ChunkReport,
        ColumnReport,
        RepairReport,
        Status,
        StripReport,
    )
    from parquet_bloomwriter.sbbf import Sbbf
    from parquet_bloomwriter.strip import strip

__version__ = "0.1.0"

__all__ = [
    "AddReport",
    "BloomwriterError",
    "ChunkReport",
    "ColumnNotFound",
    "ColumnReport",
    "FileChanged",
    "FileOutcome",
    "FileProblem",
    "InvalidArgument",
    "MalformedFile",
    "MalformedFilter",
    "NotParquet",
    "RepairReport",
    "Sbbf",
    "Status",
    "StripReport",
    "UnsafeTarget",
    "UnsupportedFile",
    "VerificationFailed",
    "__version__",
    "bloomify",
    "for_each_file",
    "repair",
    "strip",
]

_REPORTS = ("AddReport", "ChunkReport", "ColumnReport", "RepairReport", "Status", "StripReport")
_HOMES = {
    "FileOutcome": "many",
    "Sbbf": "sbbf",
    "bloomify": "add",
    "for_each_file": "many",
    "repair": "repair",
    "strip": "strip",
    **dict.fromkeys(_REPORTS, "report"),
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for: numpy and pyarrow take their time."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
