"""Add Bloom filters to a file that is there already."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar, get_args

from parquet_bloomwriter.building import BuiltFilter, FilterOptions, build_filter, holds_all_values
from parquet_bloomwriter.columns import (
    notes_on,
    select_columns,
    settle_per_column,
    why_no_filter,
)
from parquet_bloomwriter.errors import InvalidArgument, UnsupportedFile
from parquet_bloomwriter.footer.grammar import ChunkField, FileField
from parquet_bloomwriter.footer.patch import bloom_edit
from parquet_bloomwriter.parallel import default_jobs, in_order
from parquet_bloomwriter.report import AddReport, ChunkReport, ColumnReport, Status
from parquet_bloomwriter.rewriting import (
    Destination,
    Input,
    Opened,
    StrPath,
    Written,
    opened,
    target_of,
    write_new_version,
)
from parquet_bloomwriter.sbbf import Dialect, Sbbf
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.sizing import MAX_BYTES, initial_num_blocks
from parquet_bloomwriter.splice.execute import Assembler, NewFile, WrittenFilter, digest_of
from parquet_bloomwriter.splice.plan import (
    Chunk,
    Copy,
    Draft,
    EmitFilter,
    Placement,
    Plan,
    make_draft,
    make_plan,
)
from parquet_bloomwriter.values import LeafReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.footer import Leaf
    from parquet_bloomwriter.sbbf import Sizing
    from parquet_bloomwriter.splice.existing import ExistingFilter

_AHEAD_BYTES = 64 * 1024 * 1024
"""Bitsets that may be in the making, or finished, before the one that is written next."""

_COUNTED_VALUES = 1 << 40

R = TypeVar("R")


class Progress(Protocol):
    """Told how the work goes on, from several threads."""

    def begin(self, *, num_bytes: int, num_filters: int) -> None:
        """A file is about to be worked on."""
        ...

    def wrote(self, num_bytes: int) -> None:
        """Bytes of the new version were written."""
        ...

    def built(self) -> None:
        """One more filter is done."""
        ...


class _Silent:
    def begin(self, *, num_bytes: int, num_filters: int) -> None: ...

    def wrote(self, num_bytes: int) -> None: ...

    def built(self) -> None: ...


def bloomify(  # noqa: PLR0913  the verb's options, all by keyword
    source: Input,
    columns: Sequence[str] | None = None,
    *,
    output: StrPath | None = None,
    fpp: float | Mapping[str, float] = 0.01,
    ndv: int | Mapping[str, int] | None = None,
    max_bytes: int = MAX_BYTES,
    sizing: Sizing = "pow2",
    placement: Placement = "column-chunk",
    dialect: Dialect = "xxhash",
    replace: bool = False,
    overwrite: bool = False,
    force: bool = False,
    backup_suffix: str | None = None,
    regenerate_crc: bool = False,
    jobs: int | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> AddReport:
    """Build a Bloom filter for each row group and column, and splice them into the file.

    Data is copied byte for byte. A column chunk whose values cannot all be read gets no filter,
    and the report says why.

    Args:
        source: A path, or the file's bytes.
        columns: Dotted paths of leaf columns, of groups for all leaves in them, or `#` and a leaf
            ordinal; None takes every column that can have filters.
        output: Path of the new file; None replaces the file in place, atomically. A buffer's new
            version is in the report.
        fpp: False positive probability in (0, 1), for all columns, or by name as in `columns`;
            the name "*" stands for the columns not named, which otherwise get 0.01.
        ndv: Distinct values per row group, if known: saves memory while building. By default as
            many as there are values. For all columns, or by name.
        max_bytes: Largest bitset, bytes. It wins over `fpp`.
        sizing: "pow2" for powers of two from 64 bytes, which every reader takes, or "exact" for
            any multiple of 32 bytes, which Arrow C++, Velox and Impala do not.
        placement: "column-chunk" puts filters before their column chunk, "row-group" behind their
            row group, "end" before the footer.
        dialect: "xxhash", the released specification, or "murmur3", its drafts, which current
            readers ignore or fail on.
        replace: Build filters anew where there are some already.
        overwrite: Replace `output` if it exists.
        force: Go on although something outside refers to the file, or it has hard links.
        backup_suffix: Keep the old file under its name and this suffix.
        regenerate_crc: Renew the Hadoop checksum file beside the file.
        jobs: Threads; by default all cores.
        dry_run: Build and plan, but write nothing.
        progress: Told how the work goes on.

    Returns:
        What was done. If no filter could or had to be built, a file in place is left as it is.

    Raises:
        InvalidArgument: If an option is out of range.
        ColumnNotFound: If a name matches nothing, or is ambiguous.
        FileProblem: If the file cannot be worked on; it is then unchanged.
        OSError: If reading or writing fails; the file is then unchanged.
    """
    destination = Destination(
        output=output,
        overwrite=overwrite,
        force=force,
        backup_suffix=backup_suffix,
        regenerate_crc=regenerate_crc,
    )
    for value, known in ((placement, get_args(Placement)), (dialect, get_args(Dialect))):
        if value not in known:
            raise InvalidArgument(f'"{value}" is none of {", ".join(known)}')
    if dialect == "murmur3" and sizing != "pow2":
        raise InvalidArgument("filters of the Murmur3 drafts have sizes of powers of two")
    num_jobs = default_jobs() if jobs is None else jobs
    if num_jobs < 1:
        raise InvalidArgument(f"{num_jobs} threads cannot do any work")
    with opened(source, destination) as file:
        leaves = file.layout.footer.leaves
        chosen = leaves if columns is None else select_columns(leaves, columns)
        options = FilterOptions(max_bytes=max_bytes, sizing=sizing, dialect=dialect)
        work = _Work(
            file=file,
            options=_column_options(leaves, chosen, options, fpp, ndv),
            jobs=num_jobs,
            progress=progress or _Silent(),
        )
        target = None if dry_run else target_of(file)
        work.sort_out(replace=replace)
        draft = make_draft(
            file.layout, list(work.to_build), placement, drops=list(work.to_drop.values())
        )
        must_write = output is not None and not dry_run
        writes = must_write or bool(draft.insertions and not dry_run)
        work.progress.begin(
            num_bytes=file.source.size if writes else 0, num_filters=len(draft.insertions)
        )
        data = None
        if writes:
            try:
                data = write_new_version(
                    file,
                    target,
                    lambda new: work.write(new, draft, even_without_filters=must_write),
                    progress=work.progress.wrote,
                )
            except _NothingToWriteError:
                writes = False
        else:
            work.build_all(draft)
        return work.report(draft, chosen, writes=writes, dry_run=dry_run, data=data)


class _NothingToWriteError(Exception):
    """No filter could be built, so the file stays as it is."""


@dataclass(kw_only=True)
class _Work:
    """The state of one file's work."""

    file: Opened
    options: dict[int, FilterOptions]
    """By leaf ordinal, in the order chosen."""

    jobs: int
    progress: Progress
    chunks: dict[Chunk, ChunkReport] = field(default_factory=dict)
    """What is known so far."""

    to_build: dict[Chunk, str] = field(default_factory=dict)
    """Chunks that get a filter, and what was wrong with the one they have, if any."""

    to_drop: dict[Chunk, ExistingFilter] = field(default_factory=dict)
    """Old filters that make way for new ones."""

    filters: dict[Chunk, bytes] = field(default_factory=dict)
    """New filters that are not written yet."""

    lengths: dict[Chunk, int] = field(default_factory=dict)
    written: dict[Chunk, WrittenFilter] = field(default_factory=dict)
    readers: dict[int, LeafReader | str] = field(default_factory=dict)
    """By leaf ordinal: a reader, or why there is none."""

    plan: Plan | None = None

    def leaf(self, chunk: Chunk) -> Leaf:
        return self.file.layout.footer.leaves[chunk[1]]

    def sort_out(self, *, replace: bool) -> None:
        """Find the chunks that get a new filter; all others are settled here."""
        layout = self.file.layout
        footer = layout.footer
        num_values = footer.chunks.value(ChunkField.NUM_VALUES)
        existing = {(f.row_group, f.column): f for f in layout.existing}
        doubtful: list[Chunk] = []
        for ordinal in self.options:
            unsupported = why_no_filter(footer.leaves[ordinal])
            for row_group in range(footer.num_row_groups):
                chunk = (row_group, ordinal)
                if unsupported:
                    hint = "; it has one that must not be trusted: strip it"
                    self._settle(chunk, unsupported + hint * (chunk in existing))
                elif num_values[chunk] <= 0:
                    self.chunks[chunk] = ChunkReport(row_group=row_group, status=Status.EMPTY)
                elif problem := self._why_unpatchable(chunk):
                    self._settle(chunk, problem)
                elif chunk not in existing:
                    self.to_build[chunk] = ""
                elif replace or existing[chunk].problem is not None:
                    self._replace(existing[chunk], existing[chunk].problem or "")
                else:
                    doubtful.append(chunk)
        with self._each(doubtful, lambda c: self._examine(existing[c])) as problems:
            for chunk, problem in problems:
                if problem:
                    self._replace(existing[chunk], problem)
        self.to_build = dict(sorted(self.to_build.items()))

    def _replace(self, old: ExistingFilter, problem: str) -> None:
        chunk = (old.row_group, old.column)
        self.to_drop[chunk] = old
        self.to_build[chunk] = f"the old filter was replaced: {problem}" if problem else ""

    def _settle(self, chunk: Chunk, reason: str) -> None:
        self.chunks[chunk] = ChunkReport(row_group=chunk[0], status=Status.SKIPPED, reason=reason)

    def _why_unpatchable(self, chunk: Chunk) -> str | None:
        try:
            bloom_edit(self.file.layout.footer, *chunk, (1, 1))
        except UnsupportedFile as error:
            return error.problem
        return None

    def _examine(self, old: ExistingFilter) -> str:
        """Look up every value in a filter that is there; say what is wrong with it."""
        chunk = (old.row_group, old.column)
        filter_ = Sbbf.from_bytes(self.file.source.read_at(old.offset, old.stop))
        reader = self._reader(chunk[1])
        if isinstance(reader, str):
            self._settle(chunk, f"the filter that is there was kept unchecked: {reader}")
            return ""
        try:
            if not holds_all_values(filter_, reader, self.leaf(chunk), chunk[0]):
                return "values of the column are missing from it"
        except _read_errors() as error:
            reason = f"the filter that is there was kept unchecked: {_one_line(error)}"
            self._settle(chunk, reason)
            return ""
        self.chunks[chunk] = ChunkReport(
            row_group=chunk[0],
            status=Status.KEPT,
            offset=old.offset,
            length=old.length or 0,
            num_bytes=filter_.num_bytes,
            fpp=filter_.exact_fpp(),
        )
        return ""

    def _reader(self, ordinal: int) -> LeafReader | str:
        if ordinal not in self.readers:
            footer = self.file.layout.footer
            try:
                leaf = footer.leaves[ordinal]
                self.readers[ordinal] = LeafReader(self.file.source, footer, leaf)
            except _read_errors() as error:
                self.readers[ordinal] = _one_line(error)
        return self.readers[ordinal]

    def _build(self, chunk: Chunk) -> BuiltFilter | str | None:
        """Build one filter; a reason instead if it cannot be, None if there are no values."""
        reader = self._reader(chunk[1])
        if isinstance(reader, str):
            return reader
        try:
            return build_filter(
                reader, self.file.layout.footer, self.leaf(chunk), chunk[0], self.options[chunk[1]]
            )
        except _read_errors() as error:
            return _one_line(error)

    def _weight(self, chunk: Chunk) -> int:
        """Bytes that a filter takes while it is being built, at most."""
        values = int(self.file.layout.footer.chunks.values[chunk][ChunkField.NUM_VALUES])
        options = self.options[chunk[1]]
        return BYTES_PER_BLOCK * initial_num_blocks(
            min(values, _COUNTED_VALUES),
            options.fpp,
            sizing=options.sizing,
            max_bytes=options.max_bytes,
        )

    def _each(
        self, chunks: Iterable[Chunk], work: Callable[[Chunk], R]
    ) -> AbstractContextManager[Iterator[tuple[Chunk, R]]]:
        return in_order(chunks, work, jobs=self.jobs, weight=self._weight, max_weight=_AHEAD_BYTES)

    def _being_built(
        self, draft: Draft
    ) -> AbstractContextManager[Iterator[tuple[Chunk, BuiltFilter | str | None]]]:
        """Begin to build filters, in the order of the new file."""
        return self._each([(i.row_group, i.column) for i in draft.insertions], self._build)

    def _settled(self, chunk: Chunk, outcome: BuiltFilter | str | None) -> bool:
        """Take note of what became of a filter; tell whether there is one to write."""
        self.progress.built()
        if isinstance(outcome, BuiltFilter):
            self._keep(chunk, outcome)
            return True
        self.to_drop.pop(chunk, None)
        if outcome is None:
            self.chunks[chunk] = ChunkReport(row_group=chunk[0], status=Status.EMPTY)
        else:
            self._settle(chunk, outcome)
        return False

    def _keep(self, chunk: Chunk, built: BuiltFilter) -> None:
        self.filters[chunk] = built.data
        self.lengths[chunk] = len(built.data)
        self.written[chunk] = WrittenFilter(
            digest=digest_of(built.data),
            sample=built.sample,
            dialect=self.options[chunk[1]].dialect,
        )
        self.chunks[chunk] = ChunkReport(
            row_group=chunk[0],
            status=Status.BUILT,
            reason=self.to_build[chunk],
            length=len(built.data),
            num_bytes=built.num_bytes,
            ndv=built.ndv,
            fpp=built.fpp,
        )

    def build_all(self, draft: Draft) -> None:
        """Build the filters and make the plan, but write nothing."""
        with self._being_built(draft) as outcomes:
            for chunk, outcome in outcomes:
                self._settled(chunk, outcome)
                self.filters.clear()
        self.plan = self._finished_plan(draft)

    def write(self, new: NewFile, draft: Draft, *, even_without_filters: bool) -> Written:
        """Build the filters and write the new file, both at once as far as possible.

        Raises:
            _NothingToWriteError: If there is no new filter and no need for a new file.
        """
        assembler = Assembler(new, self.filters.pop)
        ahead = _settled_until(self.file, draft)
        copied = 0
        with self._being_built(draft) as outcomes:
            for insertion in draft.insertions:
                # Copy first: the filter is being built meanwhile.
                if copied < insertion.position <= ahead:
                    assembler.write(Copy(copied, insertion.position))
                    copied = insertion.position
                chunk, outcome = next(outcomes)
                if self._settled(chunk, outcome) and insertion.position <= ahead:
                    assembler.write(EmitFilter(*chunk, self.lengths[chunk]))
        if not self.lengths and not even_without_filters:
            raise _NothingToWriteError
        self.plan = self._finished_plan(draft)
        assembler.complete(self.plan)
        return Written(plan=self.plan, filters=self.written)

    def _finished_plan(self, draft: Draft) -> Plan:
        layout = self.file.layout
        if len(self.to_drop) < len(draft.drops):  # Filters that could not be built anew stay.
            chunks = [chunk for chunk in self.to_build if chunk in self.lengths]
            drops = list(self.to_drop.values())
            draft = make_draft(layout, chunks, draft.placement, drops=drops)
        return make_plan(layout, draft, self.lengths)

    def report(
        self,
        draft: Draft,
        leaves: Sequence[Leaf],
        *,
        writes: bool,
        dry_run: bool,
        data: bytes | None,
    ) -> AddReport:
        """Sum up."""
        footer = self.file.layout.footer
        offsets = (
            {(f.row_group, f.column): f.offset for f in self.plan.filters} if self.plan else {}
        )
        for chunk, offset in offsets.items():
            self.chunks[chunk] = dataclasses.replace(self.chunks[chunk], offset=offset)
        columns = tuple(
            ColumnReport(
                name=leaf.name,
                ordinal=leaf.ordinal,
                physical_type=leaf.physical_type.name,
                asked_fpp=self.options[leaf.ordinal].fpp,
                chunks=tuple(
                    self.chunks[row_group, leaf.ordinal]
                    for row_group in range(footer.num_row_groups)
                ),
                notes=notes_on(leaf) if any(c[1] == leaf.ordinal for c in self.lengths) else (),
            )
            for leaf in leaves
        )
        size = self.file.source.size
        return AddReport(
            path=self.file.path,
            output=self.file.output if writes else None,
            written=writes,
            dry_run=dry_run,
            size_before=size,
            size_after=self.plan.size if self.plan else size,
            num_rows=max(int(footer.file.value(FileField.NUM_ROWS)[0]), 0),
            num_row_groups=footer.num_row_groups,
            placement=draft.placement,
            fallback=draft.fallback,
            columns=columns,
            pieces=self.plan.pieces if self.plan else (),
            data=data,
        )


def _settled_until(file: Opened, draft: Draft) -> int:
    """Position in the old file up to which nothing depends on filters not yet built."""
    if draft.drops:
        return 0
    footer = file.layout.footer
    moves = any(insertion.position < footer.start for insertion in draft.insertions)
    indexes = file.layout.offset_indexes if moves else ()
    return min((index.start for index in indexes), default=footer.start)


def _column_options(
    leaves: Sequence[Leaf],
    chosen: Sequence[Leaf],
    options: FilterOptions,
    fpp: float | Mapping[str, float],
    ndv: int | Mapping[str, int] | None,
) -> dict[int, FilterOptions]:
    """Options by leaf ordinal, in the order chosen."""
    rates = settle_per_column(leaves, chosen, fpp, default=options.fpp)
    counts = settle_per_column(leaves, chosen, ndv, default=None)
    settled = {}
    for leaf in chosen:
        rate, count = rates[leaf], counts[leaf]
        settled[leaf.ordinal] = dataclasses.replace(options, fpp=rate, ndv=count)
        initial_num_blocks(  # Raises InvalidArgument where an option is out of range.
            1 if count is None else count,
            rate,
            sizing=options.sizing,
            max_bytes=options.max_bytes,
        )
    return settled


def _read_errors() -> tuple[type[BaseException], ...]:
    """What pyarrow raises for bytes that it cannot read."""
    import pyarrow as pa

    return (OSError, pa.ArrowException)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
