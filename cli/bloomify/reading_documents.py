"""Reports of verbs that only read, as JSON; see docs/command.md.

JSON knows no infinity: an NDV that is infinite, because all bits are set, is null.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bloomify.views.documents import Document
    from parquet_bloomwriter.probing.report import FileProbe, ProbeReport
    from parquet_bloomwriter.probing.verdict import RowGroupVerdict
    from parquet_bloomwriter.reports.advice import AdviseReport, ColumnAdvice
    from parquet_bloomwriter.reports.inspection import ColumnFilters, FileFilters, FilterFacts
    from parquet_bloomwriter.reports.verification import VerifyReport


def probed_file_document(file: FileProbe) -> Document:
    """One file that was probed."""
    names = ("path", "verdict", "num_rows", "num_row_groups", "num_skipped_bytes")
    return {
        **{name: getattr(file, name) for name in names},
        "is_excluded": file.is_excluded,
        "requests": file.requests,
        "bytes_read": file.bytes_read,
        "surviving": list(file.surviving),
        "row_groups": [_row_group(one) for one in file.row_groups],
    }


def probe_document(report: ProbeReport) -> Document:
    """All files that were probed, together."""
    names = ("predicate", "verdict", "num_row_groups", "num_surviving", "num_skipped_bytes")
    costs = ("num_excluded", "num_filters", "requests", "bytes_read")
    return {
        **{name: getattr(report, name) for name in (*names, *costs)},
        "explanations": [dataclasses.asdict(one) for one in report.explanations],
    }


def inspect_document(report: FileFilters) -> Document:
    """One file that was inspected."""
    names = ("path", "size", "num_rows", "num_row_groups", "created_by")
    return {
        **{name: getattr(report, name) for name in names},
        "num_filters": len(report.filters),
        "num_filter_bytes": report.num_filter_bytes,
        "share": report.share,
        "columns": [_filtered_column(column) for column in report.columns],
    }


def verify_document(report: VerifyReport) -> Document:
    """One file that was verified."""
    return {
        "passed": report.passed,
        "num_looked_up": report.num_looked_up,
        "num_missing": report.num_missing,
        **dataclasses.asdict(report),
    }


def advised_file_document(report: AdviseReport) -> Document:
    """One file that was looked at."""
    names = ("size", "num_rows", "num_row_groups")
    return {"path": report.paths[0], **{name: getattr(report, name) for name in names}}


def advise_document(report: AdviseReport) -> Document:
    """The advice on all files together."""
    names = ("num_files", "size", "num_rows", "num_row_groups", "fpp", "num_filter_bytes", "share")
    return {
        **{name: getattr(report, name) for name in names},
        "shell_command": report.command,
        "columns": [_advised_column(column) for column in report.ranked],
    }


def _row_group(one: RowGroupVerdict) -> Document:
    return {
        "row_group": one.row_group,
        "num_rows": one.num_rows,
        "num_bytes": one.num_bytes,
        "verdict": one.verdict,
        "evidence": one.evidence,
        "checks": [dataclasses.asdict(check) for check in one.checks],
    }


def _filtered_column(column: ColumnFilters) -> Document:
    names = ("name", "ordinal", "physical_type", "num_row_groups", "num_compressed_bytes")
    return {
        **{name: getattr(column, name) for name in names},
        "filters": [_filter(one) for one in column.filters],
    }


def _filter(one: FilterFacts) -> Document:
    facts = dataclasses.asdict(one)
    ndv = None if one.ndv is None or not math.isfinite(one.ndv) else one.ndv
    return {**facts, "ndv": ndv, "bits_per_value": one.bits_per_value}


def _advised_column(column: ColumnAdvice) -> Document:
    names = [field.name for field in dataclasses.fields(column) if field.name != "evidence"]
    return {
        **{name: getattr(column, name) for name in names},
        "skipped_by_statistics": column.skipped_by_statistics,
    }
