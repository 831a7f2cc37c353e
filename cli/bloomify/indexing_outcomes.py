"""What an action came to, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bloomify.console.text import count, percent, size

if TYPE_CHECKING:
    from parquet_bloomwriter.index.report import IndexReport


def outcome(report: IndexReport) -> str:
    """Say what was done."""
    say = _DONE.get(verb_of(report), _other) if report.changed else _unchanged
    return say(report)


def verb_of(report: IndexReport) -> str:
    """The action without its mode, as in "refresh"."""
    return report.action.partition(" ")[0]


def of_data(report_bytes: int, source_bytes: int) -> str:
    """Say how large an index is: "1.2 MiB for 1.1 GiB of data (0.1 %)"."""
    share = f" ({percent(report_bytes / source_bytes)})" if source_bytes else ""
    return f"{size(report_bytes)} for {size(source_bytes)} of data{share}"


def _created(report: IndexReport) -> str:
    return f"created; {count(report.num_files, 'file')} indexed, {_sizes(report)}"


def _refreshed(report: IndexReport) -> str:
    added, gone = count(report.appended, "file"), count(report.deleted, "file")
    return f"refreshed; {added} indexed, {gone} forgotten, {_sizes(report)}"


def _optimized(report: IndexReport) -> str:
    parts = sum(column.num_parts for column in report.columns)
    return f"optimized; {count(parts, 'part')}, {_sizes(report)}"


def _vacuumed(report: IndexReport) -> str:
    left = "" if report.state == "ACTIVE" else "; the index does not exist any more"
    removed = f"{count(report.removed_files, 'file')} of the index removed"
    return f"vacuumed; {removed}, {size(report.removed_bytes)}{left}"


def _deleted(_report: IndexReport) -> str:
    return "deleted; lookups do without it"


def _restored(report: IndexReport) -> str:
    return f"restored; {count(report.num_files, 'file')} known to it"


def _cancelled(report: IndexReport) -> str:
    if report.state == "DOESNOTEXIST":
        return "cancelled; there is no index of this name"
    return f"cancelled; the last stable version is in force, {report.state}"


def _unchanged(report: IndexReport) -> str:
    because = _NOTHING.get(verb_of(report))
    if report.left_out:
        because = "the index knows all files that can be indexed"
    return f"nothing to do{f'; {because}' if because else ''}"


def _other(report: IndexReport) -> str:
    return f"{report.action}: {report.state}"


def _sizes(report: IndexReport) -> str:
    return of_data(report.index_bytes, report.source_bytes)


_DONE = {
    "create": _created,
    "refresh": _refreshed,
    "optimize": _optimized,
    "vacuum": _vacuumed,
    "delete": _deleted,
    "restore": _restored,
    "cancel": _cancelled,
}

_NOTHING = {
    "refresh": "the index knows all files as they are",
    "optimize": "there are few parts, and all filters are of files that are there",
    "vacuum": "all files of the index are needed",
    "cancel": "nobody is changing the index",
}
