"""Reports as JSON: the facts of the table, in names that stay. See docs/command.md.

Reports of verbs that only read, as JSON; see docs/command.md.

JSON knows no infinity: an NDV that is infinite, because all bits are set, is null.
"""

from __future__ import annotations

import dataclasses
import json
import math
from typing import TYPE_CHECKING

from bloomify.views.plan import steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter import AddReport, ColumnReport, RepairReport, StripReport
    from parquet_bloomwriter.probing.report import FileProbe, ProbeReport
    from parquet_bloomwriter.probing.verdict import RowGroupVerdict
    from parquet_bloomwriter.reports.advice import AdviseReport, ColumnAdvice
    from parquet_bloomwriter.reports.inspection import ColumnFilters, FileFilters, FilterFacts
    from parquet_bloomwriter.reports.verification import VerifyReport
    from parquet_bloomwriter.rewrite.plan import Piece

VERSION = 1
"""Rises when a name goes or changes its meaning, not when one is added."""

Document = dict[str, object]


def run_document(
    command: str,
    *,
    files: list[Document],
    failed: list[Document],
    totals: Document | None = None,
) -> str:
    """One object for the whole run, in one line of ASCII."""
    lists = {"files": files, "failed": failed}
    whole = {"version": VERSION, "command": command, **(totals or {}), **lists}
    return json.dumps(whole, allow_nan=False)


def add_document(report: AddReport) -> Document:
    """One file that got filters."""
    return {
        **_common(report),
        "num_rows": report.num_rows,
        "num_row_groups": report.num_row_groups,
        "num_built": report.num_built,
        "placement": report.placement,
        "fallback": report.fallback,
        "left_bytes": report.left_bytes,
        "warnings": list(report.warnings),
        "columns": [_column(column) for column in report.columns],
        **_plan(report.pieces, dry_run=report.dry_run),
    }


def strip_document(report: StripReport) -> Document:
    """One file that lost filters."""
    return {
        **_common(report),
        "num_filters": report.num_filters,
        "left_bytes": report.left_bytes,
        "columns": list(report.columns),
        **_plan(report.pieces, dry_run=report.dry_run),
    }


def repair_document(report: RepairReport) -> Document:
    """One file whose footer was completed."""
    return {
        **_common(report),
        "num_repaired": report.num_repaired,
        "unrepaired": list(report.unrepaired),
        **_plan(report.pieces, dry_run=report.dry_run),
    }


def failure_document(
    path: str, output: str | None, error: BaseException, *, message: str, exit_code: int
) -> Document:
    """One file that could not be worked on."""
    facts = ("problem", "row_group", "column", "byte", "remedy")
    return {
        "path": path,
        "output": output,
        "error": type(error).__name__,
        "message": message,
        "exit_code": exit_code,
        **{fact: getattr(error, fact, None) for fact in facts},
    }


def _common(report: AddReport | StripReport | RepairReport) -> Document:
    names = ("path", "output", "written", "dry_run", "size_before", "size_after")
    return {name: getattr(report, name) for name in names}


def _column(column: ColumnReport) -> Document:
    return {
        "name": column.name,
        "ordinal": column.ordinal,
        "physical_type": column.physical_type,
        "asked_fpp": column.asked_fpp,
        "achieved_fpp": column.achieved_fpp,
        "ndv": column.ndv,
        "bytes_added": column.bytes_added,
        "bits_per_value": column.bits_per_value,
        "notes": list(column.notes),
        "row_groups": [dataclasses.asdict(chunk) for chunk in column.chunks],
    }


def _plan(pieces: Sequence[Piece], *, dry_run: bool) -> Document:
    return {"plan": [dataclasses.asdict(step) for step in steps(pieces)]} if dry_run else {}


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
