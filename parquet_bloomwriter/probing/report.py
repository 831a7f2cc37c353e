"""The result of `probe`: verdicts on files and row groups, and why.

Thousands of files are probed in milliseconds, so the details of a file (`FileProbe.row_groups`) are
made only when they are asked for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from parquet_bloomwriter.predicate import to_text
from parquet_bloomwriter.predicate.bound import InSet
from parquet_bloomwriter.probing.evaluation import Code, Findings
from parquet_bloomwriter.probing.verdict import Check, Evidence, RowGroupVerdict, Verdict
from parquet_bloomwriter.reports.summary import (
    MOST_ROWS,
    Column,
    Marks,
    Name,
    Remark,
    Summary,
    Table,
    passed_over_remarks,
)
from parquet_bloomwriter.source.folders import passed_over_text
from parquet_bloomwriter.text import clipped, count, listed, row_groups, safe, size

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from parquet_bloomwriter.errors import BloomwriterError
    from parquet_bloomwriter.predicate.expression import Expression
    from parquet_bloomwriter.probing.evaluation import Finding
    from parquet_bloomwriter.probing.footer_cache import CachedFooter
    from parquet_bloomwriter.source.folders import PassedOver


_EVIDENCE = {
    Code.UNKNOWN: Evidence.NONE,
    Code.MIGHT_BY_STATISTICS: Evidence.STATISTICS,
    Code.MIGHT_BY_BLOOM: Evidence.BLOOM,
    Code.MIGHT_BY_DICTIONARY: Evidence.DICTIONARY,
    Code.NOT_BY_STATISTICS: Evidence.STATISTICS,
    Code.NOT_BY_BLOOM: Evidence.BLOOM,
    Code.NOT_BY_DICTIONARY: Evidence.DICTIONARY,
    Code.NOT_BY_LITERAL: Evidence.LITERAL,
}


_MOST_SHOWN = 3
"""Most reasons in the text of a report, and most conditions of each reason."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FileProbe:
    """The verdict on one file."""

    JSON: ClassVar = (
        *("path", "verdict", "num_rows", "num_row_groups", "num_skipped_bytes"),
        *("excluded_by_path=is_excluded", "is_excluded"),
        *("requests", "bytes_read", "surviving", "row_groups"),
    )
    path: str | None
    """Name that the caller gave to the file; None for a buffer or an open file without a name."""

    known: CachedFooter | None = field(repr=False)
    findings: Findings | None = field(repr=False)
    """The findings on all files of the batch; None if the file could not be read."""

    first_row: int = field(default=0, repr=False)
    """Index in `findings` of the file's first row group."""

    surviving: tuple[int, ...] = field(default=(), repr=False)
    """Ordinals of the row groups that might match; none if the file was not read."""

    error: BloomwriterError | OSError | None = None
    """Error of reading the file, which then might match; None if it was read."""

    is_excluded: bool = False
    """Whether the path excludes the file, by columns of partitions; then it was not opened."""

    version: Hashable | None = field(default=None, repr=False)
    """Version of the file that was probed: its `FileIdentity`, or what its store says; None if it
    was not opened, or if the store has no versions."""

    requests: int = 0
    """Number of reads from the file."""

    bytes_read: int = 0

    def __str__(self) -> str:
        """Return one line."""
        where = safe(self.path or "buffer")
        if self.error is not None:
            return f"{where}: {self.verdict}, it could not be read: {safe(str(self.error))}"
        found = row_groups(self.surviving) if self.surviving else "no row group"
        return f"{where}: {self.verdict}, {found} of {self.num_row_groups:,}"

    @property
    def num_row_groups(self) -> int:
        """Number of row groups; 0 if the file was not read."""
        return 0 if self.known is None else self.known.num_row_groups

    @property
    def num_rows(self) -> int:
        """Number of rows; 0 if the file was not read."""
        return 0 if self.known is None else int(self.known.num_rows.sum())

    def explained(self) -> Iterator[tuple[str, str]]:
        """Yield distinct pairs: a condition, and why it is unknown, or why no row matches."""
        if self.findings is None or self.error is not None:
            return
        rows = slice(self.first_row, self.first_row + self.num_row_groups)
        for finding in self.findings.atoms:
            numbers = finding.explained(rows)
            kept = self.findings.might[numbers] | (finding.codes[numbers] == Code.NOT_BY_LITERAL)
            reasons = {finding.reason(row) for row in numbers[kept].tolist()}
            yield from ((finding.atom.text, reason) for reason in sorted(reasons) if reason)

    @property
    def verdict(self) -> Verdict:
        """Return whether any row group might match. A file that could not be read might."""
        might = self.error is not None or bool(self.surviving)
        return Verdict.MIGHT_MATCH if might else Verdict.CANNOT_MATCH

    @property
    def num_skipped_bytes(self) -> int:
        """Compressed size of the row groups that need not be read, bytes."""
        if self.known is None:
            return 0
        num_bytes = self.known.num_bytes
        return int(num_bytes.sum() - num_bytes[list(self.surviving)].sum())

    @cached_property
    def row_groups(self) -> tuple[RowGroupVerdict, ...]:
        """Every row group with its verdict and evidence."""
        known, findings = self.known, self.findings
        if known is None or findings is None:
            return ()
        num_bytes = known.num_bytes
        return tuple(
            RowGroupVerdict(
                row_group=ordinal,
                num_rows=int(known.num_rows[ordinal]),
                num_bytes=int(num_bytes[ordinal]),
                verdict=_verdict(might=bool(findings.might[self.first_row + ordinal])),
                checks=tuple(_check(one, self.first_row + ordinal) for one in findings.atoms),
            )
            for ordinal in range(known.num_row_groups)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A reason why nothing is known about conditions, or why no value of a column meets them."""

    reason: str
    """The reason, a clause."""

    conditions: tuple[str, ...]
    """The distinct conditions with this reason, as SQL."""

    num_files: int
    """Number of files with this reason."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ProbeReport:
    """The verdicts on all files that were probed."""

    JSON: ClassVar = (
        *("predicate", "verdict", "num_row_groups", "num_surviving", "num_skipped_bytes"),
        *("num_excluded", "num_filters", "requests", "bytes_read"),
    )
    expression: Expression
    """The predicate."""

    files: tuple[FileProbe, ...]
    """Verdicts on the files, in the order given."""

    num_filters: int
    """Number of Bloom filters in which values were looked up."""

    passed_over: tuple[PassedOver, ...] = ()
    """Files and folders below a folder that were not probed."""

    @property
    def predicate(self) -> str:
        """The predicate, as text for people."""
        return to_text(self.expression)

    @property
    def verdict(self) -> Verdict:
        """Return whether any file might match."""
        return _verdict(might=any(one.verdict is Verdict.MIGHT_MATCH for one in self.files))

    @property
    def might_match(self) -> tuple[FileProbe, ...]:
        """The files that might match."""
        return tuple(one for one in self.files if one.verdict is Verdict.MIGHT_MATCH)

    @property
    def failed(self) -> tuple[FileProbe, ...]:
        """The files that could not be read."""
        return tuple(one for one in self.files if one.error is not None)

    @cached_property
    def explanations(self) -> tuple[Explanation, ...]:
        """The distinct reasons of all files together, the most frequent first.

        Row groups that another condition excludes are left out.
        """
        conditions: dict[str, dict[str, None]] = defaultdict(dict)
        files: dict[str, set[int]] = defaultdict(set)
        for place, file in enumerate(self.files):
            for condition, reason in file.explained():
                conditions[reason][condition] = None
                files[reason].add(place)
        ordered = sorted(files, key=lambda reason: -len(files[reason]))
        return tuple(
            Explanation(
                reason=reason, conditions=tuple(conditions[reason]), num_files=len(files[reason])
            )
            for reason in ordered
        )

    @property
    def columns_without_filters(self) -> tuple[str, ...]:
        """Columns that are compared with values, and have no filter where a file might match."""
        found = {
            finding.atom.leaf.name: None
            for file in self.files
            if file.findings is not None and file.surviving
            for finding in file.findings.atoms
            if isinstance(finding.atom, InSet)
            and finding.lacks_filter is not None
            and finding.lacks_filter[[file.first_row + one for one in file.surviving]].any()
        }
        return tuple(found)

    @property
    def num_excluded(self) -> int:
        """Number of files that were not opened, because their paths exclude them."""
        return sum(one.is_excluded for one in self.files)

    @property
    def num_row_groups(self) -> int:
        """Number of row groups of all files that were read."""
        return sum(one.num_row_groups for one in self.files)

    @property
    def num_surviving(self) -> int:
        """Number of row groups that might match."""
        return sum(len(one.surviving) for one in self.files)

    @property
    def requests(self) -> int:
        """Number of reads from all files."""
        return sum(one.requests for one in self.files)

    @property
    def bytes_read(self) -> int:
        """Number of bytes that were read."""
        return sum(one.bytes_read for one in self.files)

    @property
    def num_skipped_bytes(self) -> int:
        """Compressed size of the row groups that need not be read, bytes."""
        return sum(one.num_skipped_bytes for one in self.files)

    def __str__(self) -> str:
        """Return a line for the predicate, one for each file, and reasons for unknown verdicts."""
        files = f"{len(self.might_match):,} of {count(len(self.files), 'file')}"
        groups = f"{self.num_surviving:,} of {count(self.num_row_groups, 'row group')}"
        head = f"{safe(self.predicate)}: {files} and {groups} might match"
        reasons = [
            f"why {safe('; '.join(one.conditions[:_MOST_SHOWN]))}: {safe(one.reason)}"
            for one in self.explanations[:_MOST_SHOWN]
        ]
        note = passed_over_text(self.passed_over)
        return listed(head, [*reasons, *map(str, self.files), *filter(None, [note])])

    def summary(self) -> Summary:
        """Return the report in short: a headline, a table and remarks, as plain values."""
        files = sorted(self.files, key=lambda one: one.verdict is Verdict.CANNOT_MATCH)
        is_single = len(files) == 1
        return Summary(
            paths=(files[0].path,) if is_single else (count(len(files), "file"),),
            headline=_headline(self),
            table=(
                row_group_table(files[0].row_groups, by_verdict=True)
                if is_single
                else file_table(files).only(*_FILE_TITLES)
            ),
            remarks=(
                *_unread(self),
                *passed_over_remarks(self.passed_over),
                *_unknown(files[:MOST_ROWS], is_single=is_single),
            ),
        )

    def _repr_html_(self) -> str:
        """Return the report as HTML, for notebooks."""
        from parquet_bloomwriter.reports.notebook import notebook_html

        return notebook_html(self)


def _verdict(*, might: bool) -> Verdict:
    return Verdict.MIGHT_MATCH if might else Verdict.CANNOT_MATCH


def _check(finding: Finding, row: int) -> Check:
    code = Code(int(finding.codes[row]))
    atom = finding.atom
    return Check(
        text=atom.text,
        column=atom.leaf.name if hasattr(atom, "leaf") else atom.column,
        verdict=_verdict(might=code < Code.NOT_BY_STATISTICS),
        evidence=_EVIDENCE[code],
        reason=finding.reason(row),
    )


def _headline(report: ProbeReport) -> str:
    survive = f"{report.num_surviving:,} of {count(report.num_row_groups, 'row group')} might match"
    if len(report.files) > 1:
        survive += f", in {len(report.might_match):,} of {len(report.files):,} files"
    skipped = f"{size(report.num_skipped_bytes)} need not be read"
    effort = f"{count(report.requests, 'request')} for {size(report.bytes_read)}"
    return f"{clipped(report.predicate)}: {survive}; {skipped} ({effort})"


def _shown_evidence(one: RowGroupVerdict) -> Evidence | None:
    """Return the evidence of a verdict; None if nothing but missing evidence lets it match."""
    is_shown = one.evidence in {Evidence.BLOOM, Evidence.DICTIONARY}
    return None if one.verdict is Verdict.MIGHT_MATCH and not is_shown else one.evidence


def _evidence_of(file: FileProbe) -> str:
    decided = {one.evidence for one in file.row_groups if one.verdict is file.verdict}
    words = [one.value for one in Evidence if one in decided]
    return "path" if file.is_excluded else ", ".join(words) or Evidence.NONE.value


_ROW_GROUPS: tuple[Column[RowGroupVerdict], ...] = (
    Column("row group", lambda one: one.row_group),
    Column(
        "verdict",
        lambda one: one.verdict,
        is_text=True,
        colors={"MIGHT_MATCH": "yellow", "CANNOT_MATCH": "green"},
    ),
    Column("evidence", _shown_evidence, is_text=True),
    Column("rows", lambda one: one.num_rows),
    Column("bytes", lambda one: one.num_bytes),
    Column(
        "conditions",
        lambda one: clipped("; ".join(map(_checked, one.checks))),
        is_text=True,
        is_long=True,
    ),
)
_ROW_GROUP_HINTS = {
    "evidence": "What decided",
    "bytes": "Compressed",
    "conditions": "What is known of each",
}


_FILES: tuple[Column[FileProbe], ...] = (
    Column("file", lambda one: "buffer" if one.path is None else Name(one.path), is_text=True),
    Column("verdict", lambda one: one.verdict, is_text=True),
    Column("evidence", _evidence_of, is_text=True),
    Column(
        "row groups",
        lambda one: "unread" if one.error else Marks(one.surviving, one.num_row_groups),
        is_text=True,
        is_bar=True,
    ),
    Column(
        "might match",
        lambda one: None if one.error else f"{len(one.surviving):,} of {one.num_row_groups:,}",
    ),
    Column("skipped by", lambda one: _skipped_by(one) or None, is_text=True),
    Column("rows", lambda one: one.num_rows),
    Column("bytes skipped", lambda one: one.num_skipped_bytes),
)
_FILE_HINTS = {
    "evidence": "What decided, of any row group",
    "might match": "Row groups, of all",
    "rows": "Of all row groups",
    "bytes skipped": "Compressed bytes of row groups that need not be read",
}

_FILE_TITLES = ("file", "verdict", "evidence", "might match", "rows", "bytes skipped")


def row_group_table(
    row_groups: Sequence[RowGroupVerdict], *, by_verdict: bool = False
) -> Table[RowGroupVerdict]:
    """Return the table of verdicts, with a row for each row group.

    Args:
        row_groups: The verdicts.
        by_verdict: Whether row groups that might match come first.
    """
    if by_verdict:
        row_groups = sorted(row_groups, key=lambda one: one.verdict is Verdict.CANNOT_MATCH)
    return Table(
        caption="Verdicts by row group",
        columns=_ROW_GROUPS,
        rows=row_groups,
        noun="row group",
        hints=_ROW_GROUP_HINTS,
    )


def file_table(files: Sequence[FileProbe]) -> Table[FileProbe]:
    """Return the table of verdicts, with a row for each file."""
    return Table(
        caption="Verdicts by file", columns=_FILES, rows=files, noun="file", hints=_FILE_HINTS
    )


def _skipped_by(file: FileProbe) -> str:
    """Return the numbers of row groups skipped by each evidence, as in "bloom 3, statistics 1"."""
    surviving = set(file.surviving)
    skipped = (one for one in file.row_groups if one.row_group not in surviving)
    found = Counter(str(one.evidence) for one in skipped)
    return ", ".join(f"{evidence} {number:,}" for evidence, number in found.most_common())


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
    """Yield remarks on why nothing is known, or a filter was not trusted, in the files shown."""
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for file in files:
        for one in file.row_groups:
            for check in one.checks:
                if check.reason:
                    places[check.text, check.reason].append(one.row_group)
    for (text, reason), ordinals in places.items():
        where = row_groups(ordinals) if is_single else count(len(ordinals), "row group")
        yield Remark(label="reason", sentence=f"{text}, {where}: {reason}")
