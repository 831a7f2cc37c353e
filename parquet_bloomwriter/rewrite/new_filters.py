"""The new filters of a file: the column chunks that need one, and the building of the filters.

Filters are built by several threads, and taken in the order of the new file. The bytes before a
filter are copied while it is being built, unless they depend on filters still to come.
"""

from __future__ import annotations

import dataclasses
import errno
import re
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from parquet_bloomwriter.errors import MalformedFilter, UnsupportedFile
from parquet_bloomwriter.filters.build import (
    ODD_INSTANTS,
    BuiltFilter,
    FilterOptions,
    build_filter,
    holds_all_values,
)
from parquet_bloomwriter.hashing import XXHASH
from parquet_bloomwriter.kernels.layout import START
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.metadata.patch import bloom_edit
from parquet_bloomwriter.parallel import in_order
from parquet_bloomwriter.rewrite.extents import have_pages
from parquet_bloomwriter.rewrite.kept_filters import (
    FilterPlace,
    judged,
    report_by_metadata,
    why_too_full,
)
from parquet_bloomwriter.rewrite.plan import Copy, EmitFilter, make_draft
from parquet_bloomwriter.rewrite.report import ChunkReport, Status
from parquet_bloomwriter.rewrite.write import ExpectedFilter, digest_of
from parquet_bloomwriter.sbbf import Sbbf
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.sizing import initial_num_blocks
from parquet_bloomwriter.text import words_of
from parquet_bloomwriter.values import MOST_READ_AHEAD, LeafReader, NotDecodable, is_near

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.filters.stored import StoredFilter
    from parquet_bloomwriter.progress import Progress
    from parquet_bloomwriter.rewrite.kept_filters import Verdict
    from parquet_bloomwriter.rewrite.old_layout import Layout
    from parquet_bloomwriter.rewrite.plan import Chunk, Draft
    from parquet_bloomwriter.rewrite.write import Assembler
    from parquet_bloomwriter.source import Source

R = TypeVar("R")
Outcome: TypeAlias = BuiltFilter | ChunkReport
"""The built filter of a column chunk, or a report that says why it has none."""

_OF_THE_PROCESS = frozenset({errno.EMFILE, errno.ENFILE})
"""Errors of reading that are not the file's fault: the process has too many files open."""

_NOT_BY_PYARROW = re.compile(
    r"not (currently |yet )?(supported|implemented)|unsupported|unknown encoding", re.IGNORECASE
)
"""Error texts of pyarrow for chunks that may be sound: codecs such as LZO, new encodings."""

_LONE_LENGTH = "the metadata has the length of a Bloom filter, but not its offset"
_AHEAD_BYTES = 64 * 1024 * 1024
"""Most bytes of bitsets that are under construction or waiting to be written."""

_REMOTE_AHEAD_BYTES = 256 * 1024 * 1024
"""The same limit for a file on a store; the column chunks read from there count, too."""


@dataclass(slots=True, kw_only=True)
class Candidates:
    """The chosen column chunks, divided by what is done with them."""

    to_build: dict[Chunk, str] = field(default_factory=dict)
    """Chunks that get a filter, with the fault of their old filter, or ""."""

    to_drop: dict[Chunk, StoredFilter] = field(default_factory=dict)
    """Old filters that are replaced by new ones, by column chunk."""

    settled: dict[Chunk, ChunkReport] = field(default_factory=dict)
    """Reports of the chunks that get no new filter."""

    def replace(self, old: StoredFilter, problem: str) -> None:
        """Choose a chunk for a new filter in place of its old one."""
        chunk = (old.row_group, old.column)
        self.to_drop[chunk] = old
        self.to_build[chunk] = f"the old filter was replaced: {problem}" if problem else ""


@dataclass(slots=True, kw_only=True)
class ChunkWork:
    """The column chunks of one file, on which several threads work."""

    source: Source
    layout: Layout
    options: Mapping[int, FilterOptions]
    """Options of each chosen column by leaf ordinal, in the order chosen."""

    jobs: int
    """Number of threads."""

    readers: dict[int, LeafReader | str] = field(default_factory=dict)
    """Reader of each column by leaf ordinal, or why it has none; made when first used."""

    def find_candidates(self, *, replace: bool) -> Candidates:
        """Choose the chunks that get a new filter, and settle all others.

        Args:
            replace: Build new filters also where good ones are.
        """
        found = Candidates()
        existing = {(f.row_group, f.column): f for f in self.layout.existing}
        drafts = self._drafts()
        verdicts = {} if replace else self._judged()
        doubtful: list[Chunk] = []
        for ordinal, row_group in product(self.options, range(self.layout.footer.num_row_groups)):
            chunk = (row_group, ordinal)
            old, report = existing.get(chunk), verdicts.get(chunk)
            if not isinstance(report, ChunkReport):
                report = self._without_reading(chunk, has_filter=old is not None)
            if report is not None:
                found.settled[chunk] = report
            elif old is None:
                found.to_build[chunk] = ""
            elif isinstance(verdict := verdicts.get(chunk), str):
                found.replace(old, verdict)
            elif replace or (old.problem is not None and chunk not in drafts):
                found.replace(old, old.problem or "")
            else:
                doubtful.append(chunk)

        self._examine_all(doubtful, existing, drafts, found)
        return found

    def _examine_all(
        self,
        doubtful: Sequence[Chunk],
        existing: Mapping[Chunk, StoredFilter],
        drafts: frozenset[Chunk],
        found: Candidates,
    ) -> None:
        """Look up every value in doubtful filters, and record what becomes of them in `found`."""

        def examine(chunk: Chunk) -> ChunkReport | str:
            outcome = self._examine(existing[chunk], is_draft=chunk in drafts)
            if isinstance(outcome, str) or outcome.fpp is None:
                return outcome
            return why_too_full(outcome.fpp, outcome.num_bytes, self.options[chunk[1]]) or outcome

        if not doubtful:
            return
        with self._each(doubtful, examine) as outcomes:
            for chunk, outcome in outcomes:
                if isinstance(outcome, str):
                    found.replace(existing[chunk], outcome)
                else:
                    found.settled[chunk] = outcome

    def _judged(self) -> dict[Chunk, Verdict]:
        """Return what becomes of old filters by their headers and a few blocks."""
        fixed, footer = self.layout.fixed, self.layout.footer
        places = [
            FilterPlace(
                (old.row_group, old.column),
                old.offset,
                old.offset + old.header.length,
                old.stop,
                is_decoded=True,
            )
            for old in self.layout.existing
            if old.column in self.options and old.header is not None and old.problem is None
        ]
        spans = np.array([(one.offset, one.stop) for one in places], np.int64).reshape(-1, 2)
        is_free = (fixed.count(*spans.T) == 0) & ~have_pages(footer, spans)
        free = [place for place, free in zip(places, is_free.tolist(), strict=True) if free]
        return dict(judged(self.source, footer, self.options, free))

    def build_in_order(
        self, chunks: Iterable[Chunk]
    ) -> AbstractContextManager[Iterator[tuple[Chunk, Outcome]]]:
        """Start to build filters; yield chunks and outcomes in the order of the chunks."""
        return self._each(chunks, self._build)

    def _each(
        self, chunks: Iterable[Chunk], work: Callable[[Chunk], R]
    ) -> AbstractContextManager[Iterator[tuple[Chunk, R]]]:
        far = not is_near(self.source)
        most = _REMOTE_AHEAD_BYTES if far else _AHEAD_BYTES
        return in_order(chunks, work, jobs=self.jobs, weight=self._weight, max_weight=most)

    def _weight(self, chunk: Chunk) -> int:
        """Return the most bytes of memory that a filter takes while it is being built.

        For a file on a store, the bytes of the column chunk count, too.
        """
        values = int(self.layout.footer.chunks.values[chunk][ChunkField.NUM_VALUES])
        options = self.options[chunk[1]]
        size = int(self.layout.footer.chunks.values[chunk][ChunkField.TOTAL_COMPRESSED_SIZE])
        held = 0 if is_near(self.source) else min(max(size, 0), MOST_READ_AHEAD)
        return held + BYTES_PER_BLOCK * initial_num_blocks(
            values, options.fpp, sizing=options.sizing, max_bytes=options.max_bytes
        )

    def _without_reading(self, chunk: Chunk, *, has_filter: bool) -> ChunkReport | None:
        """Return the report of a chunk by its metadata alone; None if its values must be read."""
        footer = self.layout.footer
        report = report_by_metadata(footer, chunk, has_filter=has_filter)
        if report is not None:
            return report
        length = footer.chunks.spans[chunk][ChunkField.BLOOM_FILTER_LENGTH]
        if not has_filter and length[START] >= 0:
            return _skipped(chunk, _LONE_LENGTH)  # `strip` could not restore it.
        try:
            bloom_edit(footer, *chunk, (1, 1))
        except UnsupportedFile as error:
            return _skipped(chunk, error.problem)
        return None

    def _drafts(self) -> frozenset[Chunk]:
        """Return the chunks of columns with Murmur3 filters whose old filter is a draft."""
        return frozenset(
            (old.row_group, old.column)
            for old in self.layout.existing
            if old.column in self.options
            and self.options[old.column].hash_kind.dialect == "murmur3"
            and old.is_draft
            and old.defect is None
            and not old.is_shared
        )

    def _examine(self, old: StoredFilter, *, is_draft: bool) -> ChunkReport | str:
        """Look up every value in an old filter; return a report, or why it is built anew."""
        chunk = (old.row_group, old.column)
        try:
            filter_ = self._old_bits(old, is_draft=is_draft)
        except MalformedFilter as error:
            return error.problem
        reader = self._reader(chunk)
        unchecked = "the filter that is there was kept unchecked: "
        if isinstance(reader, str):
            return _skipped(chunk, unchecked + reader)
        try:
            if not holds_all_values(filter_, reader, self.layout.footer.leaves[chunk[1]], chunk[0]):
                return "values that readers look up are missing from it"
        except _read_errors() as error:
            _check_is_of_the_file(error)
            reason = words_of(error)
            if reason == ODD_INSTANTS:
                return reason
            return _skipped(chunk, unchecked + reason, is_unreadable=_is_of_the_data(error))
        return ChunkReport(
            row_group=chunk[0],
            status=Status.KEPT,
            offset=old.offset,
            length=old.length or 0,
            num_bytes=filter_.num_bytes,
            fpp=filter_.exact_fpp(),
        )

    def _old_bits(self, old: StoredFilter, *, is_draft: bool) -> Sbbf:
        data = self.source.read_at(old.offset, old.stop)
        kind = self.options[old.column].hash_kind if is_draft else XXHASH
        return Sbbf.from_bytes(data, kind.dialect, murmur3_seed=kind.murmur3_seed)

    def _build(self, chunk: Chunk) -> Outcome:
        reader = self._reader(chunk)
        if isinstance(reader, str):
            return _skipped(chunk, reader)
        footer = self.layout.footer
        row_group, column = chunk
        try:
            built = build_filter(
                reader, footer, footer.leaves[column], row_group, self.options[column]
            )
        except _read_errors() as error:
            _check_is_of_the_file(error)
            return _skipped(chunk, words_of(error), is_unreadable=_is_of_the_data(error))
        return built or ChunkReport(row_group=row_group, status=Status.EMPTY)

    def _reader(self, chunk: Chunk) -> LeafReader | str:
        ordinal = chunk[1]
        if ordinal not in self.readers:
            footer = self.layout.footer
            try:
                self.readers[ordinal] = LeafReader(self.source, footer, footer.leaves[ordinal])
            except _read_errors() as error:
                self.readers[ordinal] = words_of(error)
        return self.readers[ordinal]


def _skipped(chunk: Chunk, reason: str, *, is_unreadable: bool = False) -> ChunkReport:
    return ChunkReport(
        row_group=chunk[0], status=Status.SKIPPED, reason=reason, is_unreadable=is_unreadable
    )


def _read_errors() -> tuple[type[BaseException], ...]:
    """Return the errors that pyarrow raises for bytes that it cannot read."""
    import pyarrow as pa

    return (OSError, pa.ArrowException)


def _check_is_of_the_file(error: BaseException) -> None:
    """Raise an error again if it is not the file's fault, so that a later run may succeed."""
    if isinstance(error, OSError) and error.errno in _OF_THE_PROCESS:
        raise error


def _is_of_the_data(error: BaseException) -> bool:
    """Return whether an error means damaged data, which other readers cannot read, either.

    A codec or an encoding that is unknown here may come from damage as well; it is taken for a
    limit. Whatever else pyarrow fails at is taken for damage.
    """
    reason = words_of(error)
    is_limit = isinstance(error, NotDecodable) or reason == ODD_INSTANTS
    return not (is_limit or _NOT_BY_PYARROW.search(reason))


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildResult:
    """The outcome for the chosen column chunks: reports, new filters, filters to drop."""

    reports: dict[Chunk, ChunkReport]
    """Report of every chosen chunk; the offsets of new filters are not known yet."""

    drops: dict[Chunk, StoredFilter]
    """Old filters that are taken out, by column chunk."""

    filters: dict[Chunk, ExpectedFilter] = field(default_factory=dict)
    """New filters as they must be read back, by column chunk."""

    lengths: dict[Chunk, int] = field(default_factory=dict)
    """Length of every new filter, header and bitset, bytes, by column chunk."""

    @property
    def changes_file(self) -> bool:
        """Return whether any filter is added or taken out."""
        return bool(self.lengths or self.drops)


def build_filters(
    work: ChunkWork,
    candidates: Candidates,
    draft: Draft,
    *,
    assembler: Assembler | None,
    progress: Progress | None,
) -> BuildResult:
    """Build the filters of a draft.

    Args:
        work: The column chunks of the file.
        candidates: Those of them that get a new filter, and what is settled about the others.
        draft: The positions of the new filters.
        assembler: Writes the beginning of the new version; None builds only, and keeps no filter.
        progress: Called for every filter that is done.

    Raises:
        OSError: If reading or writing fails.
        BloomwriterError: If a filter lacks a value that was put into it.
    """
    result = BuildResult(reports=dict(candidates.settled), drops=dict(candidates.to_drop))
    ahead = _settled_until(work.layout, draft)
    copied = 0
    with work.build_in_order([(i.row_group, i.column) for i in draft.insertions]) as outcomes:
        for insertion in draft.insertions:
            is_settled = insertion.position <= ahead
            # Copy first: the filter is being built meanwhile.
            if assembler is not None and is_settled and copied < insertion.position:
                assembler.write(Copy(copied, insertion.position))
                copied = insertion.position
            chunk, outcome = next(outcomes)
            if progress is not None:
                progress.built()
            if not isinstance(outcome, BuiltFilter):
                _note_missing(result, chunk, outcome)
                continue
            _note_built(result, chunk, outcome, work, reason=candidates.to_build[chunk])
            if assembler is not None:
                assembler.add_filter(chunk, outcome.data)
                if is_settled:
                    assembler.write(EmitFilter(*chunk, len(outcome.data)))
    return result


def final_draft(layout: Layout, draft: Draft, result: BuildResult) -> Draft:
    """Return the draft without the old filters that stay because no new filter replaces them."""
    if len(result.drops) == len(draft.drops):
        return draft
    drops = list(result.drops.values())
    final = make_draft(layout, list(result.lengths), draft.placement, drops=drops, insists=True)
    return dataclasses.replace(final, fallback=draft.fallback, caution=draft.caution)


def _note_missing(result: BuildResult, chunk: Chunk, report: ChunkReport) -> None:
    """Record why a column chunk gets no filter, and whether it keeps its old one."""
    if report.reason != ODD_INSTANTS:
        result.drops.pop(chunk, None)
    elif chunk in result.drops:
        reason = f"{report.reason}; the filter that was there is taken out"
        report = dataclasses.replace(report, reason=reason)
    result.reports[chunk] = report


def _note_built(
    result: BuildResult, chunk: Chunk, built: BuiltFilter, work: ChunkWork, *, reason: str
) -> None:
    result.lengths[chunk] = len(built.data)
    result.filters[chunk] = ExpectedFilter(
        digest=digest_of(built.data),
        sample=built.sample,
        dialect=work.options[chunk[1]].hash_kind.dialect,
    )
    result.reports[chunk] = ChunkReport(
        row_group=chunk[0],
        status=Status.BUILT,
        reason=reason,
        length=len(built.data),
        num_bytes=built.num_bytes,
        ndv=built.ndv,
        fpp=built.fpp,
    )


def _settled_until(layout: Layout, draft: Draft) -> int:
    """Return the position in the old file up to which nothing depends on unbuilt filters."""
    if draft.drops:
        return 0
    moves = any(i.position < layout.footer.start for i in draft.insertions)
    indexes = layout.offset_indexes if moves else ()
    return min((index.start for index in indexes), default=layout.footer.start)
