"""Bloom filters for Parquet files that are there already, without touching their data.

    from parquet_bloomwriter import bloomify, probe, read_table

    report = bloomify("events.parquet", ["id", "email"], fpp=0.01)
    probe("events.parquet", "id = 42").num_surviving
    read_table("events.parquet", filters=[("id", "=", 42)])

`bloomify` adds filters, `strip` takes them out, `repair` fills in lengths that other writers left
out; each works on one file, or on its bytes in memory, and `for_each_file` takes folders and globs.
`probe` says which row groups of which files can hold what is asked for; `read_table`,
`iter_batches`, `dataset` and `scan_polars` read only those; `BloomFile` looks values up in one
file. `inspect` shows the filters of a file, `verify` holds them against its data, `advise` says
which columns deserve one. `Sbbf` is the filter itself.

`parquet_bloomwriter.index` keeps an index of a folder of many files, `parquet_bloomwriter.spark`
uses it in Spark, and `parquet_bloomwriter.errors` has what all of these raise.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from parquet_bloomwriter.lazy_names import importer

if TYPE_CHECKING:
    from parquet_bloomwriter.advising.report import AdviseReport
    from parquet_bloomwriter.caches import clear_cache
    from parquet_bloomwriter.errors import (
        BloomwriterError,
        ColumnNotFound,
        FileChanged,
        FileProblem,
        InvalidArgument,
        MalformedFile,
        MalformedFilter,
        NotParquet,
        TableChanged,
        TableProblem,
        Unfinished,
        UnsafeTarget,
        UnsupportedFile,
        UnsupportedTable,
        VerificationFailed,
    )
    from parquet_bloomwriter.probing.report import FileProbe, ProbeReport
    from parquet_bloomwriter.probing.verdict import Check, Evidence, RowGroupVerdict, Verdict
    from parquet_bloomwriter.reports.inspection import FileFilters, FilterFacts, InspectReport
    from parquet_bloomwriter.reports.verification import VerifyReport
    from parquet_bloomwriter.rewrite.report import (
        AddReport,
        ChunkReport,
        ColumnReport,
        RepairReport,
        Status,
        StripReport,
    )
    from parquet_bloomwriter.sbbf import Sbbf
    from parquet_bloomwriter.table_files.find import find_files
    from parquet_bloomwriter.tables.add import bloomify_table
    from parquet_bloomwriter.tables.report import TableReport
    from parquet_bloomwriter.tables.strip import strip_table
    from parquet_bloomwriter.verbs.add import bloomify
    from parquet_bloomwriter.verbs.advise import advise, merge_advice
    from parquet_bloomwriter.verbs.bloom_file import BloomFile
    from parquet_bloomwriter.verbs.check_engine import check_engine
    from parquet_bloomwriter.verbs.engines.measurement import (
        Effort,
        EngineMeasurement,
        MeasureReport,
    )
    from parquet_bloomwriter.verbs.engines.report import EngineCheck, EngineReport, LostRows, Use
    from parquet_bloomwriter.verbs.folder_file import folder_options
    from parquet_bloomwriter.verbs.for_each_file import FileOutcome, for_each_file
    from parquet_bloomwriter.verbs.inspect import inspect
    from parquet_bloomwriter.verbs.measure import measure
    from parquet_bloomwriter.verbs.probe import probe
    from parquet_bloomwriter.verbs.prune_scan import prune_scan
    from parquet_bloomwriter.verbs.read import dataset, iter_batches, read_table
    from parquet_bloomwriter.verbs.repair import repair
    from parquet_bloomwriter.verbs.scan_polars import scan_polars
    from parquet_bloomwriter.verbs.strip import strip
    from parquet_bloomwriter.verbs.verify import verify

__version__ = "0.1.0"

__all__ = [
    "AddReport",
    "AdviseReport",
    "BloomFile",
    "BloomwriterError",
    "Check",
    "ChunkReport",
    "ColumnNotFound",
    "ColumnReport",
    "Effort",
    "EngineCheck",
    "EngineMeasurement",
    "EngineReport",
    "Evidence",
    "FileChanged",
    "FileFilters",
    "FileOutcome",
    "FileProbe",
    "FileProblem",
    "FilterFacts",
    "InspectReport",
    "InvalidArgument",
    "LostRows",
    "MalformedFile",
    "MalformedFilter",
    "MeasureReport",
    "NotParquet",
    "ProbeReport",
    "RepairReport",
    "RowGroupVerdict",
    "Sbbf",
    "Status",
    "StripReport",
    "TableChanged",
    "TableProblem",
    "TableReport",
    "Unfinished",
    "UnsafeTarget",
    "UnsupportedFile",
    "UnsupportedTable",
    "Use",
    "Verdict",
    "VerificationFailed",
    "VerifyReport",
    "__version__",
    "advise",
    "bloomify",
    "bloomify_table",
    "check_engine",
    "clear_cache",
    "dataset",
    "find_files",
    "folder_options",
    "for_each_file",
    "inspect",
    "iter_batches",
    "measure",
    "merge_advice",
    "probe",
    "prune_scan",
    "read_table",
    "repair",
    "scan_polars",
    "strip",
    "strip_table",
    "verify",
]

_HOMES = {
    **dict.fromkeys(__all__, "errors"),
    "bloomify": "verbs.add",
    **dict.fromkeys(("advise", "merge_advice"), "verbs.advise"),
    "AdviseReport": "advising.report",
    "check_engine": "verbs.check_engine",
    "measure": "verbs.measure",
    **dict.fromkeys(("Effort", "EngineMeasurement", "MeasureReport"), "verbs.engines.measurement"),
    **dict.fromkeys(("EngineCheck", "EngineReport", "LostRows", "Use"), "verbs.engines.report"),
    "BloomFile": "verbs.bloom_file",
    "inspect": "verbs.inspect",
    **dict.fromkeys(("FileFilters", "FilterFacts", "InspectReport"), "reports.inspection"),
    **dict.fromkeys(("FileOutcome", "for_each_file"), "verbs.for_each_file"),
    "folder_options": "verbs.folder_file",
    "probe": "verbs.probe",
    "prune_scan": "verbs.prune_scan",
    "clear_cache": "caches",
    **dict.fromkeys(("FileProbe", "ProbeReport"), "probing.report"),
    **dict.fromkeys(("Check", "Evidence", "RowGroupVerdict", "Verdict"), "probing.verdict"),
    **dict.fromkeys(("dataset", "iter_batches", "read_table"), "verbs.read"),
    "repair": "verbs.repair",
    "scan_polars": "verbs.scan_polars",
    **dict.fromkeys(
        ("AddReport", "ChunkReport", "ColumnReport", "RepairReport", "Status", "StripReport"),
        "rewrite.report",
    ),
    "Sbbf": "sbbf",
    "strip": "verbs.strip",
    "verify": "verbs.verify",
    "bloomify_table": "tables.add",
    "strip_table": "tables.strip",
    "find_files": "table_files.find",
    "TableReport": "tables.report",
    "VerifyReport": "reports.verification",
}


_MODULES = ("errors", "index")
"""Public modules that are imported when they are first used. `spark` must be imported by name: it
needs PySpark."""


_import_name = importer(__name__, _HOMES)


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: importing numpy and pyarrow takes time."""
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    return _import_name(name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
