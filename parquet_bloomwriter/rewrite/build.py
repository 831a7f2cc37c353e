"""Build the filters of a file, and meanwhile write the beginning of the new version.

Filters are built by several threads, and taken in the order of the new file. The bytes before a
filter are copied while it is being built, unless they depend on filters still to come.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from parquet_bloomwriter.filters.build import ODD_INSTANTS, BuiltFilter
from parquet_bloomwriter.rewrite.plan import Copy, EmitFilter, make_draft
from parquet_bloomwriter.rewrite.report import ChunkReport, Status
from parquet_bloomwriter.rewrite.write import ExpectedFilter, digest_of

if TYPE_CHECKING:
    from parquet_bloomwriter.filters.stored import StoredFilter
    from parquet_bloomwriter.progress import Progress
    from parquet_bloomwriter.rewrite.candidates import Candidates, ChunkWork
    from parquet_bloomwriter.rewrite.layout import Layout
    from parquet_bloomwriter.rewrite.plan import Chunk, Draft
    from parquet_bloomwriter.rewrite.write import Assembler


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
