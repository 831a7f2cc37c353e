"""The reports of `bloomify`, `strip` and `repair`: the changes to the filters of one file."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, TypedDict

from parquet_bloomwriter.reports.notebook import notebook_html
from parquet_bloomwriter.reports.summary import (
    BITS_PER_BYTE,
    Column,
    Name,
    Remark,
    Summary,
    Table,
    tenths,
)
from parquet_bloomwriter.text import (
    count,
    growth,
    growth_warning,
    listed,
    listed_names,
    name,
    rate,
    row_groups,
    safe,
    size,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from parquet_bloomwriter.rewrite.plan import Piece


_OVERSIZE = 1.6
"""Bytes per needed byte from which a note explains why a filter is so large."""

_NEARLY = 1.5
"""Multiple of the asked rate up to which a filter of half the size is recommended."""

WORTHLESS_FPP = 0.5
"""False positive probability above which a filter excludes less than it lets pass."""

_NEW_FILE = ("path", "output", "written", "dry_run", "size_before", "size_after", "store?")
"""Names of the JSON that the reports of all verbs begin with; they end with the plan."""


class Status(StrEnum):
    """The outcome for the filter of one column chunk."""

    BUILT = "built"
    """A new filter was written."""

    KEPT = "kept"
    """The existing filter stays: header, length, place and rate are as they should be. Its values
    were read only where that leaves a doubt: see `kept_filters`."""

    EMPTY = "empty"
    """The chunk has no values, so it gets no filter."""

    SKIPPED = "skipped"
    """The chunk gets no filter; the report gives the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkReport:
    """The outcome for one column chunk."""

    row_group: int
    """Ordinal of the row group, counted from 0."""

    status: Status
    reason: str = ""
    """The reason why the chunk was skipped, or why its old filter was replaced; "" if there is no
    such reason."""

    offset: int | None = None
    """Absolute position of the filter in the new file, bytes; None without a filter."""

    length: int = 0
    """Length of the filter, header and bitset, bytes; 0 without a filter."""

    num_bytes: int = 0
    """Length of the bitset, bytes; 0 without a filter."""

    ndv: int | None = None
    """Number of distinct values: entries of the dictionary, if it has all values, or an estimate
    from the bits of the filter; None if no filter was built."""

    fpp: float | None = None
    """False positive probability of the filter, in [0, 1]; None without a filter. It is exact for
    new filters. Of a filter that is kept it may be that of its first bits, or the expected rate if
    all values of the chunk are distinct."""

    is_unreadable: bool = False
    """Whether the chunk was skipped because its values cannot be read, by other readers neither: a
    page is damaged, or reading failed."""

    def __str__(self) -> str:
        """Return one line."""
        sizes = f", {count(self.length, 'byte')}" if self.length else ""
        values = "" if self.ndv is None else f", NDV {self.ndv:,}"
        achieved = "" if self.fpp is None else f", FPP {rate(self.fpp)}"
        reason = f": {safe(self.reason)}" if self.reason else ""
        return f"row group {self.row_group} {self.status}{sizes}{values}{achieved}{reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnReport:
    """The outcome for one column in all row groups."""

    JSON: ClassVar = (
        *("name", "ordinal", "physical_type", "asked_fpp", "achieved_fpp", "ndv", "bytes_added"),
        *("bits_per_value", "notes", "row_groups=chunks"),
    )
    name: str
    """Dotted path of the column."""

    ordinal: int
    """Leaf ordinal, counted from 0."""

    physical_type: str
    """Name of the physical type in parquet.thrift."""

    asked_fpp: float
    """False positive probability asked for, in (0, 1)."""

    chunks: tuple[ChunkReport, ...]
    """The outcome of each row group, in order."""

    notes: tuple[str, ...] = ()
    """Facts that readers of these filters should know."""

    def count(self, status: Status) -> int:
        """Count the row groups of a status."""
        return sum(chunk.status is status for chunk in self.chunks)

    @property
    def built(self) -> tuple[ChunkReport, ...]:
        """The row groups with a new filter."""
        return tuple(chunk for chunk in self.chunks if chunk.status is Status.BUILT)

    @property
    def ndv(self) -> int | None:
        """Number of distinct values, summed over the row groups with a new filter, or None."""
        return sum(chunk.ndv or 0 for chunk in self.built) if self.built else None

    @property
    def bytes_added(self) -> int:
        """Length of the new filters, headers and bitsets, bytes."""
        return sum(chunk.length for chunk in self.built)

    @property
    def bits_per_value(self) -> float | None:
        """Bits of the new bitsets per distinct value; None without new filters."""
        bitsets = sum(chunk.num_bytes for chunk in self.built)
        return BITS_PER_BYTE * bitsets / self.ndv if self.ndv else None

    @property
    def achieved_fpp(self) -> float | None:
        """Worst FPP of the filters, new and kept, in [0, 1]; None without filters."""
        return max((chunk.fpp for chunk in self.chunks if chunk.fpp is not None), default=None)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A clause for each reason why the new filters are worthless; empty if they are not."""
        rates = [chunk.fpp for chunk in self.built if chunk.fpp is not None]
        if max(rates, default=0.0) <= max(self.asked_fpp, WORTHLESS_FPP):
            return ()
        return ("half of the absent values or more pass: max_bytes is too small for its values",)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons of all row groups, each once."""
        return tuple(dict.fromkeys(chunk.reason for chunk in self.chunks if chunk.reason))

    def __str__(self) -> str:
        """Return one line."""
        counts = [f"{self.count(status):,} {status}" for status in Status if self.count(status)]
        groups = f"filters of {count(len(self.chunks), 'row group')}: {', '.join(counts) or 'none'}"
        sizes = f", {count(self.bytes_added, 'byte')}, NDV {self.ndv:,}" if self.built else ""
        achieved = self.achieved_fpp
        rates = "" if achieved is None else f", FPP {rate(achieved)} for {rate(self.asked_fpp)}"
        reasons = "".join(f"; {safe(reason)}" for reason in self.reasons)
        return f"{name(self.name)}: {groups}{sizes}{rates}{reasons}"


class RewriteFacts(TypedDict):
    """The fields of `RewriteReport`, which a session knows."""

    path: str | None
    output: str | None
    written: bool
    dry_run: bool
    size_before: int
    size_after: int
    pieces: tuple[Piece, ...]
    store: StoreReport | None
    data: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteReport:
    """The base of the reports of `bloomify`, `strip` and `repair`."""

    path: str | None
    """Path of the file read; None for a buffer."""

    output: str | None
    """Path of the file written; None for a buffer, or if nothing was written."""

    written: bool
    """Whether a new version was written."""

    dry_run: bool
    """Whether this was a dry run."""

    size_before: int
    """Size of the old version, bytes."""

    size_after: int
    """Size of the new version, bytes; in a dry run, the size that it would have."""

    pieces: tuple[Piece, ...] = field(default=(), repr=False)
    """The plan: the pieces of the new file, in order."""

    store: StoreReport | None = None
    """Requests and bytes of the store; None for files on disk."""

    data: bytes | None = field(default=None, repr=False)
    """Bytes of the new version if bytes were given: the same bytes if nothing has changed. None for
    paths, and with `dry_run`."""

    @property
    def headline(self) -> str:
        """The result, in one line."""
        raise NotImplementedError

    @property
    def remarks(self) -> list[Remark]:
        """Notes and warnings that a view shows below the figures."""
        raise NotImplementedError

    def summary(self) -> Summary:
        """Return the report in short: a headline, a table if there is one, and remarks."""
        return Summary(
            paths=(self.path, self.output),
            headline=self.headline.replace("->", "→"),
            table=self._table(),
            remarks=tuple(self.remarks),
        )

    @property
    def plan(self) -> tuple[Step, ...] | None:
        """The pieces of the new file with their positions; None if this was no dry run."""
        return tuple(steps(self.pieces)) if self.dry_run else None

    def _table(self) -> Table[ColumnTotals] | None:
        return None

    def _lines(self, done: str, lines: Iterable[str]) -> str:
        """Return a line that says for the file what was done, and further lines."""
        paths = [safe(path) for path in (self.path, self.output) if path is not None]
        where = " -> ".join(dict.fromkeys(paths)) or "buffer"
        return listed(f"{where}: {done}, {growth(self.size_before, self.size_after)}", lines)

    _repr_html_ = notebook_html


@dataclass(frozen=True, slots=True, kw_only=True)
class AddReport(RewriteReport):
    """The report of `bloomify`: filters added to one file."""

    JSON: ClassVar = (
        *(*_NEW_FILE, "num_rows", "num_row_groups", "num_built", "placement", "fallback"),
        *("left_bytes", "missing_columns", "warnings", "columns", "plan?"),
    )
    num_rows: int
    """Number of rows of the file."""

    num_row_groups: int
    """Number of row groups of the file."""

    placement: str
    """Placement of the new filters: `column-chunk`, `row-group` or `end`."""

    fallback: str | None
    """The reason why the new filters are not where they were asked for; None if they are."""

    left_bytes: int
    """Bytes of replaced filters that stay in the file, because nothing in the file may move, or
    because it is not certain that the bytes belong to a filter alone."""

    columns: tuple[ColumnReport, ...]
    """The outcome for each column that was asked for."""

    caution: str | None = None
    """The reason why bytes should not have moved, although the placement that was asked for moves
    them; None if there is none."""

    missing_columns: tuple[str, ...] = ()
    """Names that match no column of the file, and were left out (`skip_missing`)."""

    @property
    def num_built(self) -> int:
        """Number of new filters."""
        return sum(len(column.built) for column in self.columns)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of worthless filters, of a file that grew much, and of bytes that moved."""
        columns = [
            f"{name(column.name)}: {text}" for column in self.columns for text in column.warnings
        ]
        grown = growth_warning(self.size_before, self.size_after)
        moved = self.caution and f"the placement moves bytes of the file: {self.caution}"
        return (*columns, *filter(None, (grown, moved)))

    def __str__(self) -> str:
        """Return a line for the file, and one for each column."""
        if self.written:
            done = "added"
        else:
            done = "would be added" if self.dry_run else "added; the file stays as it is"
        warnings = (f"warning: {text}" for text in self.warnings)
        notes = [safe(remark.sentence) for remark in remarks_on(self) if remark.label == "note"]
        notes += () if self.store is None else map(safe, self.store.notes)
        return self._lines(
            f"{count(self.num_built, 'filter')} {done}",
            [*map(str, self.columns), *warnings, *(f"note: {text}" for text in notes)],
        )

    @property
    def headline(self) -> str:
        """The result, in one line."""
        filters = count(self.num_built, "filter")
        if self.dry_run:
            return f"{filters} would be added, {growth(self.size_before, self.size_after)}"
        if not self.written and not self.num_built:
            return "no filter to add; the file stays as it is"
        done = f"{filters} added" if self.num_built else "copied without new filters"
        return f"{done}, {growth(self.size_before, self.size_after)}"

    @property
    def remarks(self) -> list[Remark]:
        """The reasons of skipped and replaced filters, and where filters lie; no warnings."""
        remarks = remarks_on(self)
        if self.missing_columns:
            remarks.append(Remark("missing", f"{listed_names(map(name, self.missing_columns))}"))
        if self.fallback:
            remarks.append(Remark("note", f"filters go to the end of the file: {self.fallback}"))
        if self.left_bytes:
            left = size(self.left_bytes)
            remarks.append(Remark("note", f"{left} of replaced filters stay in the file, unused"))
        return remarks

    def _table(self) -> Table[ColumnTotals]:
        return added_table(map(ColumnTotals.of, self.columns))


@dataclass(frozen=True, slots=True, kw_only=True)
class StripReport(RewriteReport):
    """The report of `strip`: filters taken out of one file."""

    JSON: ClassVar = (*_NEW_FILE, "num_filters", "left_bytes", "columns", "notes", "plan?")
    num_filters: int
    """Number of filters that the footer no longer points to."""

    left_bytes: int
    """Bytes of filters that stay in the file, because nothing in the file may move, or because it
    is not certain that the bytes belong to a filter alone."""

    columns: tuple[str, ...]
    """Dotted paths of the columns whose filters were taken out."""

    notes: tuple[str, ...] = ()
    """Further facts that readers of the report should know about the filters taken out."""

    def __str__(self) -> str:
        """Return a line for the file, and one for each column."""
        done = "would be taken out" if self.dry_run else "taken out"
        left = [f"{count(self.left_bytes, 'byte')} stay"] if self.left_bytes else []
        lines = [*map(name, self.columns), *left, *self.notes]
        return self._lines(f"{count(self.num_filters, 'filter')} {done}", lines)

    @property
    def headline(self) -> str:
        """The result, in one line."""
        if not self.num_filters:
            return "there is no filter to take out"
        done = "would be taken out" if self.dry_run else "taken out"
        sizes = growth(self.size_before, self.size_after)
        return f"{count(self.num_filters, 'filter')} {done}, {sizes}"

    @property
    def remarks(self) -> list[Remark]:
        """The columns concerned, the bytes that stay, and the notes."""
        remarks = []
        if self.columns:
            remarks.append(Remark("columns", listed_names(map(name, self.columns))))
        if self.left_bytes:
            reason = "nothing may move, or it is not certain that they belong to a filter alone"
            remarks.append(Remark("note", f"{size(self.left_bytes)} stay in the file: {reason}"))
        return remarks + [Remark("note", note) for note in self.notes]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairReport(RewriteReport):
    """The report of `repair`: missing lengths of filters, filled in in the footer of one file."""

    JSON: ClassVar = (*_NEW_FILE, "num_repaired", "unrepaired", "plan?")
    num_repaired: int
    """Number of filters whose `bloom_filter_length` was filled in."""

    unrepaired: tuple[str, ...]
    """The place of each filter that cannot be trusted, and the reason."""

    def __str__(self) -> str:
        """Return a line for the file, and one for each filter that cannot be trusted."""
        done = "would be filled in" if self.dry_run else "filled in"
        lengths = f"{count(self.num_repaired, 'length')} of filters {done}"
        return self._lines(lengths, map(safe, self.unrepaired))

    @property
    def headline(self) -> str:
        """The result, in one line."""
        if not self.num_repaired:
            return "no length of a filter is missing"
        done = "would be filled in" if self.dry_run else "filled in"
        lengths = f"{count(self.num_repaired, 'length')} of filters"
        return f"{lengths} {done}, {growth(self.size_before, self.size_after)}"

    @property
    def remarks(self) -> list[Remark]:
        """The filters that cannot be trusted."""
        return [Remark("doubtful", where) for where in self.unrepaired]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReport:
    """Requests and bytes, and the versions of the object."""

    requests: Mapping[str, int]
    """Number of requests that were made, by the operation's name in boto3; with failed requests."""

    down: int
    """Received bytes of objects."""

    up: int
    """Sent bytes of objects."""

    copied: int
    """Bytes that the store copied by itself, or would copy."""

    planned: tuple[int, int, int] | None
    """The further cost of writing, if nothing was written: requests, bytes down, bytes up; None if
    the new version was written."""

    old_version: str | None = None
    """Id of the replaced version, which is the backup, in a bucket that keeps versions."""

    new_version: str | None = None
    """Id of the new version, in a bucket that keeps versions."""

    notes: tuple[str, ...] = ()
    """Properties that could not be kept or checked, one clause each."""

    @property
    def num_requests(self) -> int:
        """Number of requests of all kinds."""
        return sum(self.requests.values())

    def __str__(self) -> str:
        """Return one line."""
        done = f"{count(self.num_requests, 'request')}, {size(self.down)} down, {size(self.up)} up"
        if self.planned is not None:
            requests, down, up = self.planned
            done += f"; writing: {count(requests, 'request')}, {size(down)} down, {size(up)} up"
        copied = f"; {size(self.copied)} copied by the store" if self.copied else ""
        kept = f"; the old version is kept as {self.old_version}" if self.old_version else ""
        return done + copied + kept


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnTotals:
    """One column, summed over the row groups of one file or of many: a row of the table."""

    name: str
    """Dotted path of the column."""

    asked_fpp: float
    """False positive probability asked for, in (0, 1)."""

    num_row_groups: int
    """Number of row groups, with or without filters."""

    num_built: int = 0
    """Number of row groups with a new filter."""

    num_kept: int = 0
    """Number of row groups whose filter stays."""

    ndv: int = 0
    """Number of distinct values, summed over the row groups with a new filter."""

    num_bytes: int = 0
    """Length of the new filters, headers and bitsets, bytes."""

    num_bitset_bytes: int = 0
    """Length of the new bitsets, bytes."""

    num_needed_bytes: int = 0
    """Length that the new bitsets would have with exact sizes, bytes."""

    half_rates: tuple[float, ...] = ()
    """The rates that filters of half the size would have, if they are near the rate asked for."""

    worst_fpp: float | None = None
    """Worst FPP of all filters, new and kept, in [0, 1]; None without filters."""

    remarks: Counter[tuple[str, str]]
    """Pairs of a label (one word) and a reason, with the number of row groups."""

    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, column: ColumnReport) -> ColumnTotals:
        """Sum up one column of one file."""
        built = column.built
        return cls(
            name=column.name,
            asked_fpp=column.asked_fpp,
            num_row_groups=len(column.chunks),
            num_built=len(built),
            num_kept=column.count(Status.KEPT),
            ndv=sum(chunk.ndv or 0 for chunk in built),
            num_bytes=sum(chunk.length for chunk in built),
            num_bitset_bytes=sum(chunk.num_bytes for chunk in built),
            num_needed_bytes=sum(_needed_bytes(chunk, column.asked_fpp) for chunk in built),
            half_rates=tuple(_half_rates(built, column.asked_fpp)) if built else (),
            worst_fpp=column.achieved_fpp,
            remarks=Counter(remark for chunk in column.chunks if (remark := _remark_on(chunk))),
            notes=column.notes,
            warnings=column.warnings if built else (),
        )

    @property
    def bits_per_value(self) -> float | None:
        """Bits of bitset per distinct value; None without new filters."""
        return BITS_PER_BYTE * self.num_bitset_bytes / self.ndv if self.ndv else None

    @property
    def size_note(self) -> str:
        """Why the filters are much larger, and better, than asked for; "" if they are not."""
        if not self.num_built or self.num_bitset_bytes < _OVERSIZE * self.num_needed_bytes:
            return ""
        note = "sizes are powers of two, so that the rate is often better than asked"
        if 2 * len(self.half_rates) <= self.num_built:
            return note
        half = _rounded_up(max(self.half_rates))
        filters = f"{len(self.half_rates):,} of {self.num_built:,} filters"
        return f"{note}; an FPP of {half} would halve {filters} (with the option `replace`)"

    @property
    def progress(self) -> str:
        """The row groups with a new filter, of all; or with a filter that stays."""
        if self.num_kept and not self.num_built:
            return f"{self.num_kept:,} kept"
        return f"{self.num_built:,} of {self.num_row_groups:,}"

    def __add__(self, other: ColumnTotals) -> ColumnTotals:
        rates = [fpp for fpp in (self.worst_fpp, other.worst_fpp) if fpp is not None]
        return ColumnTotals(
            name=self.name,
            asked_fpp=self.asked_fpp,
            num_row_groups=self.num_row_groups + other.num_row_groups,
            num_built=self.num_built + other.num_built,
            num_kept=self.num_kept + other.num_kept,
            ndv=self.ndv + other.ndv,
            num_bytes=self.num_bytes + other.num_bytes,
            num_bitset_bytes=self.num_bitset_bytes + other.num_bitset_bytes,
            num_needed_bytes=self.num_needed_bytes + other.num_needed_bytes,
            half_rates=self.half_rates + other.half_rates,
            worst_fpp=max(rates, default=None),
            remarks=self.remarks + other.remarks,
            notes=tuple(dict.fromkeys(self.notes + other.notes)),
            warnings=tuple(dict.fromkeys(self.warnings + other.warnings)),
        )


def _needed_bytes(chunk: ChunkReport, fpp: float) -> int:
    from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
    from parquet_bloomwriter.sbbf.sizing import num_blocks_for

    return BYTES_PER_BLOCK * num_blocks_for(chunk.ndv or 0, fpp, sizing="exact", min_bytes=64)


def _half_rates(built: Iterable[ChunkReport], asked_fpp: float) -> Iterator[float]:
    from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
    from parquet_bloomwriter.sbbf.sizing import MIN_BYTES, expected_fpp

    for chunk in built:
        if chunk.num_bytes > MIN_BYTES["pow2"]:
            half = expected_fpp(chunk.ndv or 0, chunk.num_bytes // (2 * BYTES_PER_BLOCK))
            if half <= _NEARLY * asked_fpp:
                yield half


def _rounded_up(probability: float) -> str:
    """Write a probability with two significant digits, rounded up."""
    step = 10 ** (math.floor(math.log10(probability)) - 1)
    return rate(math.ceil(probability / step) * step)


def merge_totals(
    known: Iterable[ColumnTotals], more: Iterable[ColumnTotals]
) -> tuple[ColumnTotals, ...]:
    """Add up columns of the same name and asked rate, in the order of their first occurrence."""
    merged: dict[tuple[str, float], ColumnTotals] = {}
    for column in (*known, *more):
        key = (column.name, column.asked_fpp)
        merged[key] = merged[key] + column if key in merged else column
    return tuple(merged.values())


_SENTENCES = {
    Status.KEPT: "the filters that are there stay: headers, places and rates are right; "
    "the option `replace` builds them anew",
    Status.EMPTY: "no values, so no filter",
}


_ADDED: tuple[Column[ColumnTotals], ...] = (
    Column("column", lambda column: Name(column.name), is_text=True),
    Column("row groups", lambda column: column.progress),
    Column("NDV", lambda column: column.ndv if column.num_built else None),
    Column("bytes", lambda column: column.num_bytes if column.num_built else None),
    Column("bits/value", lambda column: column.bits_per_value, tenths),
    Column("FPP asked", lambda column: column.asked_fpp, rate),
    Column("worst FPP", lambda column: column.worst_fpp, rate),
)
_ADDED_HINTS = {
    "row groups": "With a new filter, of all",
    "NDV": "Distinct values per row group, summed",
    "bytes": "Headers and bitsets",
    "bits/value": "Bits of bitset per distinct value",
    "worst FPP": "Worst rate of any filter, new or kept",
}


def added_table(totals: Iterable[ColumnTotals]) -> Table[ColumnTotals]:
    """Return the table of filters added, with a row for each column."""
    return Table(
        caption="Filters added, by column",
        columns=_ADDED,
        rows=tuple(totals),
        noun="column",
        hints=_ADDED_HINTS,
    )


def remarks_on(report: AddReport) -> list[Remark]:
    """Return a remark for each reason and set of row groups, with the columns."""
    grouped: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for column in report.columns:
        places: dict[tuple[str, str], list[int]] = defaultdict(list)
        for chunk in column.chunks:
            if remark := _remark_on(chunk):
                places[remark].append(chunk.row_group)
        for (label, reason), ordinals in places.items():
            is_everywhere = len(ordinals) == report.num_row_groups
            where = "" if is_everywhere else f" ({row_groups(ordinals)})"
            grouped[label, reason, where].append(name(column.name))
        for note in filter(None, (*column.notes, ColumnTotals.of(column).size_note)):
            grouped["note", note, ""].append(name(column.name))
    return [
        Remark(label=label, sentence=f"{listed_names(names)}{where}: {reason}")
        for (label, reason, where), names in grouped.items()
    ]


def _remark_on(chunk: ChunkReport) -> tuple[str, str] | None:
    """Return a label and a reason for a remark on a chunk, or None."""
    if chunk.status is Status.BUILT:
        return ("replaced", chunk.reason) if chunk.reason else None
    return chunk.status.value, _SENTENCES.get(chunk.status, chunk.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A piece with its position in the new file. Ranges end before their `stop`."""

    action: str
    """What is done: "copy" or "skip" of old bytes, or "filter" or "metadata" for new bytes."""

    start: int
    """Absolute position in the new file, bytes."""

    length: int
    """Length in the new file, bytes; 0 for "skip"."""

    old: tuple[int, int] | None = None
    """Absolute positions in the old file, start and stop; None for new bytes."""

    chunk: tuple[int, int] | None = None
    """Row group and leaf ordinal of a filter, both 0-based; None for other pieces."""


def steps(pieces: Sequence[Piece]) -> Iterator[Step]:
    """Yield the pieces with their positions."""
    from parquet_bloomwriter.rewrite.plan import Copy, EmitFilter, Skip

    at = 0
    for piece in pieces:
        match piece:
            case Copy(start, stop):
                step = Step(action="copy", start=at, length=stop - start, old=(start, stop))
            case Skip(start, stop):
                step = Step(action="skip", start=at, length=0, old=(start, stop))
            case EmitFilter(row_group, column, length):
                step = Step(action="filter", start=at, length=length, chunk=(row_group, column))
            case _:
                step = Step(action="metadata", start=at, length=len(piece.data))
        yield step
        at += step.length


PlacedStep = tuple[Step, str]
"""A step, and a text on its contents."""

_STEPS: tuple[Column[PlacedStep], ...] = (
    Column("do", lambda row: row[0].action, is_text=True),
    Column("new file from", lambda row: row[0].start if row[0].length else ""),
    Column("to", lambda row: row[0].start + row[0].length if row[0].length else ""),
    Column("bytes", lambda row: row[0].length),
    Column("old file from", lambda row: row[0].old[0] if row[0].old else ""),
    Column("to", lambda row: row[0].old[1] if row[0].old else ""),
    Column("what", lambda row: row[1], is_text=True),
)


def plan_table(pieces: Sequence[Piece], name_of: Callable[[int], str]) -> Table[PlacedStep]:
    """Return the table of pieces.

    Args:
        pieces: The plan.
        name_of: Names a leaf column by its ordinal.
    """
    rows = [(step, _what(step, name_of)) for step in steps(pieces)]
    if rows and rows[-1][0].action == "metadata":
        rows[-1] = (rows[-1][0], "footer")
    return Table(columns=_STEPS, rows=rows)


def _what(step: Step, name_of: Callable[[int], str]) -> str:
    if step.chunk:
        row_group, column = step.chunk
        return f"{name(name_of(column))}, row group {row_group}"
    return {"skip": "left out", "metadata": "page index"}.get(step.action, "")
