"""Add Bloom filters to a file that is there already."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, get_args

from parquet_bloomwriter.column_names import notes_on, select_columns, settle_per_column
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.filters.build import ODD_INSTANTS, BuiltFilter, FilterOptions
from parquet_bloomwriter.hashing import HashKind
from parquet_bloomwriter.metadata.fields import FileField
from parquet_bloomwriter.parallel import default_jobs
from parquet_bloomwriter.replace.original import FileIdentity
from parquet_bloomwriter.reports.rewriting import AddReport, ChunkReport, ColumnReport, Status
from parquet_bloomwriter.rewrite.candidates import Candidates, ChunkWork, Outcome
from parquet_bloomwriter.rewrite.plan import (
    Chunk,
    Copy,
    Draft,
    EmitFilter,
    Placement,
    Plan,
    make_draft,
    make_plan,
)
from parquet_bloomwriter.rewrite.session import (
    Destination,
    Input,
    Opened,
    StrPath,
    Written,
    keep_file,
    opened,
    target_of,
    write_new_version,
)
from parquet_bloomwriter.rewrite.write import Assembler, NewFile, WrittenFilter, digest_of
from parquet_bloomwriter.sbbf.sizing import MAX_BYTES, check_max_bytes, initial_num_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.hashing import Dialect
    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.sbbf import Sizing


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
    columns: str | Sequence[str] | None = None,
    *,
    output: StrPath | None = None,
    fpp: float | Mapping[str, float] = 0.01,
    ndv: int | Mapping[str, int] | None = None,
    max_bytes: int = MAX_BYTES,
    sizing: Sizing = "pow2",
    placement: Placement = "column-chunk",
    dialect: Dialect = "xxhash",
    murmur3_seed: int = 0,
    replace: bool = False,
    overwrite: bool = False,
    force: bool = False,
    backup_suffix: str | None = None,
    backup_dir: StrPath | None = None,
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
        max_bytes: Largest bitset, bytes, below 2 GiB. It wins over `fpp`.
        sizing: "pow2" for powers of two from 64 bytes, which every reader takes, or "exact" for
            any multiple of 32 bytes, which Arrow C++, Velox and Impala do not.
        placement: "column-chunk" puts filters before their column chunk, "row-group" behind their
            row group, "end" before the footer: then no data move, and Spark DataFrames that were
            made before a file was rewritten in place miss no rows.
        dialect: "xxhash", the released specification, or "murmur3", its drafts, which current
            readers ignore or fail on; `probe` and `read_table` ask them if given the same dialect.
        murmur3_seed: Seed of MurmurHash3, 0 to 2**32 - 1, for "murmur3". It stands in no header:
            whoever asks the filters must give it again.
        replace: Build filters anew where there are some already.
        overwrite: Replace `output` if it exists.
        force: Go on although something outside refers to the file, or it has hard links.
        backup_suffix: Keep the old file under its name and this suffix. Refused where the folder
            holds other Parquet files: its readers would read the backup, too.
        backup_dir: Keep the old file under its name in this folder, which is made if it is
            missing, and may be on another disk.
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
        Unfinished: If the new version is in place, but what follows on that failed.
    """
    destination = Destination(
        output=output,
        overwrite=overwrite,
        force=force,
        backup_suffix=backup_suffix,
        backup_dir=backup_dir,
        regenerate_crc=regenerate_crc,
    )
    kind = HashKind(dialect, murmur3_seed)
    if placement not in get_args(Placement):
        raise InvalidArgument(f'"{placement}" is none of {", ".join(get_args(Placement))}')
    if dialect == "murmur3" and sizing != "pow2":
        raise InvalidArgument("filters of the Murmur3 drafts have sizes of powers of two")
    check_max_bytes(max_bytes)
    num_jobs = default_jobs() if jobs is None else jobs
    if num_jobs < 1:
        raise InvalidArgument(f"{num_jobs} threads cannot do any work")
    with opened(source, destination) as file:
        leaves = file.layout.footer.leaves
        chosen = leaves if columns is None else select_columns(leaves, columns)
        options = FilterOptions(max_bytes=max_bytes, sizing=sizing, hash_kind=kind)
        target = None if dry_run else target_of(file)
        work = ChunkWork(
            source=file.source,
            layout=file.layout,
            options=_column_options(leaves, chosen, options, fpp, ndv),
            jobs=num_jobs,
        )
        found = work.candidates(replace=replace)
        drops = list(found.to_drop.values())
        addition = _Addition(
            file=file,
            chunks=work,
            found=found,
            draft=make_draft(file.layout, sorted(found.to_build), placement, drops=drops),
            progress=progress or _Silent(),
        )
        must_write = output is not None and not dry_run
        writes = must_write or bool(found.to_build and not dry_run)
        addition.progress.begin(
            num_bytes=file.source.size if writes else 0, num_filters=len(found.to_build)
        )
        data = None
        if writes:
            try:
                data = write_new_version(
                    file,
                    target,
                    lambda new: addition.write(new, even_without_filters=must_write),
                    progress=addition.progress.wrote,
                )
            except _NothingToWriteError:
                writes = False
        else:
            addition.build_only()
        if not writes and file.file is not None:  # what could not be read may just have gone away
            file.file.check_unchanged(FileIdentity.same_content)
        if not writes and not dry_run:
            keep_file(file)
        return addition.report(chosen, writes=writes, dry_run=dry_run, data=data)


class _NothingToWriteError(Exception):
    """No filter could be built, so the file stays as it is."""


@dataclass(kw_only=True)
class _Addition:
    """The adding of filters to one file, from the draft to the report."""

    file: Opened
    chunks: ChunkWork
    found: Candidates
    draft: Draft
    progress: Progress
    filters: dict[Chunk, bytes] = field(default_factory=dict)
    """New filters that are not written yet."""

    lengths: dict[Chunk, int] = field(default_factory=dict)
    """Bytes of header and bitset of every new filter."""

    written: dict[Chunk, WrittenFilter] = field(default_factory=dict)
    plan: Plan | None = None

    def build_only(self) -> None:
        """Build the filters and make the plan, but write nothing."""
        with self._being_built() as outcomes:
            for chunk, outcome in outcomes:
                self._note(chunk, outcome)
                self.filters.clear()
        self.plan = self._finished_plan()

    def write(self, new: NewFile, *, even_without_filters: bool) -> Written:
        """Build the filters and write the new file, both at once as far as possible.

        Raises:
            _NothingToWriteError: If no filter comes or goes, and there is no need for a new file.
        """
        assembler = Assembler(new, self.filters.pop)
        ahead = self._settled_until()
        copied = 0
        with self._being_built() as outcomes:
            for insertion in self.draft.insertions:
                # Copy first: the filter is being built meanwhile.
                if copied < insertion.position <= ahead:
                    assembler.write(Copy(copied, insertion.position))
                    copied = insertion.position
                chunk, outcome = next(outcomes)
                if self._note(chunk, outcome) and insertion.position <= ahead:
                    assembler.write(EmitFilter(*chunk, self.lengths[chunk]))
        if not (self.lengths or self.found.to_drop or even_without_filters):
            raise _NothingToWriteError
        self.plan = self._finished_plan()
        assembler.complete(self.plan)
        return Written(plan=self.plan, filters=self.written)

    def report(
        self, leaves: Sequence[Leaf], *, writes: bool, dry_run: bool, data: bytes | None
    ) -> AddReport:
        """Sum up."""
        footer = self.file.layout.footer
        chunks = self.found.settled
        for place in self.plan.filters if self.plan else ():
            chunk = (place.row_group, place.column)
            chunks[chunk] = dataclasses.replace(chunks[chunk], offset=place.offset)
        with_new = {column for _, column in self.lengths}
        columns = tuple(
            ColumnReport(
                name=leaf.name,
                ordinal=leaf.ordinal,
                physical_type=leaf.physical_type.name,
                asked_fpp=self.chunks.options[leaf.ordinal].fpp,
                chunks=tuple(chunks[row, leaf.ordinal] for row in range(footer.num_row_groups)),
                notes=notes_on(leaf) if leaf.ordinal in with_new else (),
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
            placement=self.draft.placement,
            fallback=self.draft.fallback,
            left_bytes=self.draft.left_bytes if self.plan else 0,
            columns=columns,
            pieces=self.plan.pieces if self.plan else (),
            data=data,
        )

    def _being_built(self) -> AbstractContextManager[Iterator[tuple[Chunk, Outcome]]]:
        return self.chunks.being_built([(i.row_group, i.column) for i in self.draft.insertions])

    def _note(self, chunk: Chunk, outcome: Outcome) -> bool:
        """Take note of what became of a filter; tell whether there is one to write."""
        self.progress.built()
        if not isinstance(outcome, BuiltFilter):
            if outcome.reason != ODD_INSTANTS:
                self.found.to_drop.pop(chunk, None)
            elif chunk in self.found.to_drop:
                reason = f"{outcome.reason}; the filter that was there is taken out"
                outcome = dataclasses.replace(outcome, reason=reason)
            self.found.settled[chunk] = outcome
            return False
        self.filters[chunk] = outcome.data
        self.lengths[chunk] = len(outcome.data)
        self.written[chunk] = WrittenFilter(
            digest=digest_of(outcome.data),
            sample=outcome.sample,
            dialect=self.chunks.options[chunk[1]].hash_kind.dialect,
        )
        self.found.settled[chunk] = ChunkReport(
            row_group=chunk[0],
            status=Status.BUILT,
            reason=self.found.to_build[chunk],
            length=len(outcome.data),
            num_bytes=outcome.num_bytes,
            ndv=outcome.ndv,
            fpp=outcome.fpp,
        )
        return True

    def _settled_until(self) -> int:
        """Position in the old file up to which nothing depends on filters not yet built."""
        if self.draft.drops:
            return 0
        layout = self.file.layout
        moves = any(i.position < layout.footer.start for i in self.draft.insertions)
        indexes = layout.offset_indexes if moves else ()
        return min((index.start for index in indexes), default=layout.footer.start)

    def _finished_plan(self) -> Plan:
        layout, first = self.file.layout, self.draft
        if len(self.found.to_drop) < len(first.drops):  # What could not be built anew stays.
            drops = list(self.found.to_drop.values())
            draft = make_draft(layout, list(self.lengths), first.placement, drops=drops)
            self.draft = dataclasses.replace(draft, fallback=first.fallback)
        return make_plan(layout, self.draft, self.lengths)


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
