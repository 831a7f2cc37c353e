"""The summary of a `ProbeReport`; what might match comes first."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from parquet_bloomwriter.probing.verdict import Evidence, Verdict
from parquet_bloomwriter.reports.markup import identifier
from parquet_bloomwriter.reports.summary import (
    MOST_ROWS,
    Heading,
    Remark,
    Summary,
    Table,
    passed_over_remarks,
)
from parquet_bloomwriter.text import clipped, count, row_groups, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parquet_bloomwriter.probing.report import FileProbe, ProbeReport
    from parquet_bloomwriter.probing.verdict import Check, RowGroupVerdict
    from parquet_bloomwriter.reports.markup import Content

_ROW_GROUPS = (
    Heading(title="row group", is_text=True),
    Heading(title="verdict", is_text=True),
    Heading(title="evidence", is_text=True, hint="What decided"),
    Heading(title="rows"),
    Heading(title="bytes", hint="Compressed"),
    Heading(title="conditions", is_text=True, is_long=True, hint="What is known of each"),
)
_FILES = (
    Heading(title="file", is_text=True),
    Heading(title="verdict", is_text=True),
    Heading(title="evidence", is_text=True, hint="What decided, of any row group"),
    Heading(title="row groups", hint="That might match, of all"),
    Heading(title="rows", hint="Of all row groups"),
    Heading(title="bytes skipped", hint="Compressed bytes of row groups that need not be read"),
)


def summary_of(report: ProbeReport) -> Summary:
    """Return the summary: the row groups of one file, or the files."""
    files = sorted(report.files, key=lambda one: one.verdict is Verdict.CANNOT_MATCH)
    is_single = len(files) == 1
    return Summary(
        paths=(files[0].path,) if is_single else (count(len(files), "file"),),
        headline=_headline(report),
        table=_row_group_table(files[0]) if is_single else _file_table(files),
        remarks=(
            *_unread(report),
            *passed_over_remarks(report.passed_over),
            *_unknown(files[:MOST_ROWS], is_single=is_single),
        ),
    )


def _headline(report: ProbeReport) -> str:
    survive = f"{report.num_surviving:,} of {count(report.num_row_groups, 'row group')} might match"
    if len(report.files) > 1:
        survive += f", in {len(report.might_match):,} of {len(report.files):,} files"
    skipped = f"{size(report.num_skipped_bytes)} need not be read"
    effort = f"{count(report.requests, 'request')} for {size(report.bytes_read)}"
    return f"{clipped(report.predicate)}: {survive}; {skipped} ({effort})"


def _row_group_table(file: FileProbe) -> Table:
    ordered = sorted(file.row_groups, key=lambda one: one.verdict is Verdict.CANNOT_MATCH)
    return Table(
        caption="Verdicts by row group",
        headings=_ROW_GROUPS,
        rows=map(_row_group_row, ordered),
        num_rows=len(ordered),
        noun="row group",
    )


def _file_table(files: Sequence[FileProbe]) -> Table:
    return Table(
        caption="Verdicts by file",
        headings=_FILES,
        rows=map(_file_row, files),
        num_rows=len(files),
        noun="file",
    )


def _row_group_row(one: RowGroupVerdict) -> list[Content]:
    return [
        f"{one.row_group:,}",
        one.verdict.value,
        one.evidence.value,
        f"{one.num_rows:,}",
        f"{one.num_bytes:,}",
        clipped("; ".join(map(_checked, one.checks))),
    ]


def _file_row(file: FileProbe) -> list[Content]:
    decided = {one.evidence for one in file.row_groups if one.verdict is file.verdict}
    words = [one.value for one in Evidence if one in decided]
    return [
        "buffer" if file.path is None else identifier(file.path),
        file.verdict.value,
        "path" if file.is_excluded else ", ".join(words) or Evidence.NONE.value,
        f"{len(file.surviving):,} of {file.num_row_groups:,}",
        f"{file.num_rows:,}",
        f"{file.num_skipped_bytes:,}",
    ]


def _checked(check: Check) -> str:
    word = "might" if check.verdict is Verdict.MIGHT_MATCH else "cannot"
    known = "nothing is known" if check.evidence is Evidence.NONE else check.evidence.value
    return f"{check.text}: {word}, {known}"


def _unread(report: ProbeReport) -> Iterable[Remark]:
    for file in report.failed:
        where, problem = file.path or "a buffer", str(file.error)
        sentence = problem if where in problem else f"{where}: {problem}"
        yield Remark(label="unread", sentence=sentence)


def _unknown(files: Iterable[FileProbe], *, is_single: bool) -> Iterable[Remark]:
    """Yield why nothing is known, or a filter was not trusted, in the files that are shown."""
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for file in files:
        for one in file.row_groups:
            for check in one.checks:
                if check.reason:
                    places[check.text, check.reason].append(one.row_group)
    for (text, reason), ordinals in places.items():
        where = row_groups(ordinals) if is_single else count(len(ordinals), "row group")
        yield Remark(label="reason", sentence=f"{text}, {where}: {reason}")
