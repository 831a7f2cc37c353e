"""The view of `probe`: the row groups that might match, and what excluded the others."""

from __future__ import annotations

import shlex
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from bloomify.console.console import LINES
from bloomify.console.table import (
    labelled,
    paragraphs,
    remarks_text,
    survivors_bar,
    table,
    wrapped,
)
from bloomify.views.base import document_of, print_json
from parquet_bloomwriter.probing.report import file_table, row_group_table
from parquet_bloomwriter.text import count, percent, row_groups, safe, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bloomify.console.console import Console, Glyphs
    from bloomify.views.base import Document
    from parquet_bloomwriter.probing.report import Explanation, FileProbe, ProbeReport
    from parquet_bloomwriter.probing.verdict import RowGroupVerdict

_MOST_ROWS = 50
"""Most row groups of a file that are listed by default."""

_MOST_REASONS, _MOST_CONDITIONS = 10, 3
"""Most reasons that are printed about many files, and most conditions of each reason."""

_WIDE_BAR = 50
_FILE_COLUMNS = ("file", "row groups", "might match", "skipped by")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeText:
    """The report of `probe`, as text."""

    report: ProbeReport
    glyphs: Glyphs
    columns: int | None
    """Width of the terminal; None where there is none."""

    every_row_group: bool
    """Whether all row groups are listed, whatever their number."""

    excluded_by: str = "paths"
    """What excludes files that are not opened."""

    source: str = ""
    """The input on the command line, quoted for a shell; "" for several."""

    def of_one(self) -> str:
        """Return the report on a single file."""
        (file,) = self.report.files
        return paragraphs(self._file(file), self._listing(file), self._next(), self._totals())

    def of_many(self) -> str:
        """Return the report on several files: those that might match, and the totals."""
        reasons = [self._explanations(), self._next()]
        return paragraphs(self._headline(), *self._survivors(), *reasons, self._totals())

    def _headline(self) -> str:
        survivors, files = len(self.report.might_match), len(self.report.files)
        what = (
            f"{survivors:,} of {count(files, 'file')} might" if survivors else _none(files, "file")
        )
        return click.style(f"{what} match {safe(self.report.predicate)}", bold=True)

    def _survivors(self) -> Iterator[str]:
        survivors = self.report.might_match
        if self.every_row_group:
            for file in survivors:
                if file.error is None:
                    yield f"{self._file(file)}\n\n{self._listing(file)}"
        model = file_table(survivors).only(*_FILE_COLUMNS)
        yield table(model, columns=self.columns, glyphs=self.glyphs, option="--files")

    def _explanations(self) -> str:
        """Return the distinct reasons, with their numbers of files."""
        found = self.report.explanations
        texts = [_explanation(one, len(self.report.files)) for one in found[:_MOST_REASONS]]
        if more := len(found) - len(texts):
            texts.append(f"... and {count(more, 'reason')} more")
        return remarks_text([("why", text) for text in texts], columns=self.columns)

    def _next(self) -> str:
        """Return the next command if nothing is excluded because there were no filters."""
        report = self.report
        if report.num_surviving < report.num_row_groups or report.num_filters or not self.source:
            return ""
        if lacking := report.columns_without_filters:
            words = f"bloomify advise {self.source} --columns {shlex.quote(','.join(lacking))}"
            text = f"to see whether a filter would help, type: {safe(words)}"
            return labelled("next", text, columns=self.columns)
        if report.num_row_groups and not report.explanations:
            text = "filters answer = and IN; here only minimum and maximum were asked"
            return labelled("why", text, columns=self.columns)
        return ""

    def _file(self, file: FileProbe) -> str:
        """Return the headline and the picture of one file."""
        path = click.style(safe(file.path or "") + ":", bold=True)
        survivors, total = len(file.surviving), file.num_row_groups
        groups = count(total, "row group")
        what = f"{survivors:,} of {groups} might" if survivors else _none(total, "row group")
        headline = f"{path} {what} match {safe(self.report.predicate)}"
        if not total:
            return headline
        legend = f"{self.glyphs.might} might match  {self.glyphs.cannot} cannot match"
        bar = survivors_bar(file.surviving, total, glyphs=self.glyphs, most=_WIDE_BAR)
        return f"{headline}\n\n{bar}   {legend}"

    def _listing(self, file: FileProbe) -> str:
        """Return a row for each row group; of many row groups, only for those that might match."""
        chosen: Sequence[RowGroupVerdict] = file.row_groups
        if len(chosen) > _MOST_ROWS and not self.every_row_group:
            chosen = [file.row_groups[ordinal] for ordinal in file.surviving[:_MOST_ROWS]]
        more = len(file.row_groups) - len(chosen)
        rest = f"... and {count(more, 'row group')} more; --row-groups lists them" if more else ""
        model = row_group_table(chosen).without("conditions")
        listed = table(model, columns=self.columns, option=None)
        reasons = remarks_text(_reasons(chosen), columns=self.columns)
        return paragraphs("\n".join(filter(None, [listed, rest])), reasons)

    def _totals(self) -> str:
        report = self.report
        total = num_bytes(report.files)
        parts = []
        if len(report.files) > 1 and report.num_row_groups:
            groups = count(report.num_row_groups, "row group")
            parts.append(f"{report.num_surviving:,} of {groups} might match")
        if total:
            share = percent(report.num_skipped_bytes / total)
            parts.append(f"{share} of {size(total)} need not be read")
        if excluded := report.num_excluded:
            parts.append(
                f"{count(excluded, 'file')} excluded by their {self.excluded_by}, and not opened"
            )
        looked = f"{count(report.num_filters, 'filter')} looked into"
        cost = f"{count(report.requests, 'request')}, {size(report.bytes_read)} read"
        text = "; ".join([*parts, f"{looked}, {cost}"]) + "."
        return "\n".join(wrapped(text, self.columns))


def num_bytes(files: Sequence[FileProbe]) -> int:
    """Return the compressed size of all row groups of the readable files, bytes."""
    return sum(int(file.known.num_bytes.sum()) for file in files if file.known is not None)


def _none(number: int, noun: str) -> str:
    return f"no {noun} can" if number < 2 else f"none of {count(number, noun)} can"  # noqa: PLR2004  one


def _reasons(listed: Sequence[RowGroupVerdict]) -> Iterator[tuple[str, str]]:
    """Yield what excluded row groups, and each reason why nothing did, once and with a label.

    A reason has its row groups, unless it holds for all that are listed.
    """
    found: dict[tuple[bool, str], list[int]] = defaultdict(list)
    for one in listed:
        if why := _why(one):
            is_excluded = one.verdict == "CANNOT_MATCH" and len(one.checks) > 1
            found[is_excluded, why].append(one.row_group)
    for (is_excluded, why), ordinals in found.items():
        is_all = len(ordinals) == len(listed)
        if is_excluded:
            where = "all row groups" if is_all else row_groups(ordinals)
            yield "excluded", f"{where} by {safe(why)}"
        else:
            yield "why", ("" if is_all else f"{row_groups(ordinals)}: ") + safe(why)


def _explanation(one: Explanation, num_files: int) -> str:
    """Return a reason, with its conditions and the number of files."""
    shown = [safe(text) for text in one.conditions[:_MOST_CONDITIONS]]
    if more := len(one.conditions) - len(shown):
        shown.append(f"{count(more, 'condition')} more")
    where = "" if one.num_files == num_files else f" ({count(one.num_files, 'file')})"
    return f"{'; '.join(shown)}: {safe(one.reason)}{where}"


def _why(one: RowGroupVerdict) -> str:
    """Return the conditions that exclude a row group, or the reasons why none does."""
    deciding = [check for check in one.checks if check.verdict is one.verdict]
    if one.verdict == "MIGHT_MATCH":
        deciding = [check for check in deciding if check.reason]
    if len(one.checks) == 1:
        return deciding[0].reason if deciding else ""
    said = (check.text + (f": {check.reason}" if check.reason else "") for check in deciding)
    return "; ".join(dict.fromkeys(said))


def print_probe(
    report: ProbeReport, failed: Sequence[Document], console: Console, *, form: str, **facts: object
) -> None:
    """Print the report as JSON.

    Args:
        report: What was found.
        failed: The entries of the files that could not be read.
        console: Where to print.
        form: `OBJECT` or `LINES`.
        **facts: What is said of tables, and of names that were passed over, if there are some.
    """
    lists = {
        "files": [document_of(file) for file in report.files if file.error is None],
        "failed": failed,
    }
    reasons = list(map(document_of, report.explanations))
    facts = {**document_of(report), **facts, "explanations": reasons}
    if form == LINES:
        facts |= {"num_done": len(lists["files"]), "num_failed": len(failed)}
    print_json("probe", facts, lists, console, form=form)
