"""Reports as JSON: the facts of the table, in names that stay. See docs/command.md."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

from bloomify.views.plan import steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter import AddReport, ColumnReport, RepairReport, StripReport
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
