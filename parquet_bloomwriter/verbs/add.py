"""The verb `bloomify`: add Bloom filters to an existing file."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias, TypeVar, get_args

import numpy as np

from parquet_bloomwriter.arguments import check_jobs, names_of, rates_of
from parquet_bloomwriter.caches import register
from parquet_bloomwriter.column_names import (
    EVERY_COLUMN,
    choose_columns,
    divide_names,
    select_columns,
    settle_per_column,
)
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.filters.build import FilterOptions
from parquet_bloomwriter.filters.columns import notes_on
from parquet_bloomwriter.filters.hazards import adjacent_columns
from parquet_bloomwriter.hashing import HashKind
from parquet_bloomwriter.kernels.layout import STOP
from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.metadata.fields import ChunkField, FileField
from parquet_bloomwriter.parallel import default_jobs
from parquet_bloomwriter.rewrite.kept_filters import settle
from parquet_bloomwriter.rewrite.new_filters import (
    BuildResult,
    ChunkWork,
    build_filters,
    final_draft,
)
from parquet_bloomwriter.rewrite.plan import Draft, Placement, make_draft, make_plan, unchanged
from parquet_bloomwriter.rewrite.report import AddReport, ColumnReport
from parquet_bloomwriter.rewrite.session import rewrite_session
from parquet_bloomwriter.rewrite.versions import Destination, Input, StrPath
from parquet_bloomwriter.sbbf.sizing import MAX_BYTES, check_max_bytes, initial_num_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from functools import _lru_cache_wrapper

    from parquet_bloomwriter.arguments import Rate
    from parquet_bloomwriter.hashing import Dialect
    from parquet_bloomwriter.metadata import Footer, Leaf, Schema
    from parquet_bloomwriter.progress import Progress
    from parquet_bloomwriter.rewrite.new_filters import Candidates
    from parquet_bloomwriter.rewrite.plan import Chunk, Plan
    from parquet_bloomwriter.rewrite.report import ChunkReport, RewriteFacts
    from parquet_bloomwriter.rewrite.session import RewriteSession
    from parquet_bloomwriter.sbbf import Sizing


_NUMBERS = {
    PhysicalType.INT32: "<i",
    PhysicalType.INT64: "<q",
    PhysicalType.FLOAT: "<f",
    PhysicalType.DOUBLE: "<d",
}
"""Format of numbers in statistics, as in `struct`, by physical type."""

_LEAST_SORTED = 3
"""Fewest row groups whose ascending order is not taken for chance."""

_SORTED = (
    "sorted: by minimum and maximum, a lookup reads one row group already; a filter gains nothing "
    "there"
)

_BETWEEN = (
    "the filters lie between column chunks, so reading other columns may read them, too; the "
    "placement `end` avoids that"
)
_MUCH_BYTES, _MUCH_SHARE = 1 << 20, 0.1
"""New filters of so many bytes, and of so large a share of the new file, slow down a scan of a file
on disk. On a store, where each range is a request, any filters do."""


def bloomify(  # noqa: PLR0913  the verb's options, all by keyword
    source: Input,
    columns: str | Sequence[str] | None = None,
    *,
    exclude: str | Sequence[str] = (),
    output: StrPath | None = None,
    fpp: Rate | Mapping[str, Rate] = 0.01,
    ndv: int | Mapping[str, int] | None = None,
    max_bytes: int = MAX_BYTES,
    sizing: Sizing = "pow2",
    placement: Placement | None = None,
    dialect: Dialect = "xxhash",
    murmur3_seed: int = 0,
    replace: bool = False,
    skip_missing: bool = False,
    copy_unchanged: bool = True,
    overwrite: bool = False,
    force: bool = False,
    backup_suffix: str | None = None,
    backup_dir: StrPath | None = None,
    regenerate_crc: bool = False,
    keep_time: bool = False,
    jobs: int | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> AddReport:
    """Build a Bloom filter for each row group and column, and splice them into the file.

    Data is copied byte for byte. A column chunk whose values cannot all be read gets no filter,
    and the report says why.

    Args:
        source: A path, a URL (`s3://bucket/key`, `gs://...`, `sftp://...`), or the file's bytes.
        columns: Dotted paths of leaf columns, of groups for all leaves in them, or `#` and a leaf
            ordinal; None takes every column that can have filters. If no column has a name, `*` and
            `?` in it stand for any letters, as in "*_id".
        exclude: Columns, in the same words, that get no filter.
        output: Path or URL of the new file; None replaces the file in place, atomically. A buffer's
            new version is in the report.
        fpp: False positive probability in (0, 1), or as text: "1%"; for all columns, or by name as
            in `columns`; the name "*" stands for the columns not named, which otherwise get 0.01.
        ndv: Distinct values per row group, if known: saves memory while building. By default as
            many as there are values. For all columns, or by name.
        max_bytes: Largest bitset, bytes, below 2 GiB. It wins over `fpp`.
        sizing: "pow2" for powers of two from 64 bytes, which every reader takes, or "exact" for
            any multiple of 32 bytes, which Arrow C++, Velox and Impala do not.
        placement: "column-chunk" puts filters before their column chunk, "row-group" behind their
            row group, "end" before the footer: then no data move, and Spark DataFrames that were
            made before a file was rewritten in place miss no rows. By default "column-chunk" on
            disks, and "end" on stores, which then copy all data by themselves. By default, filters
            also go to the end if other programs may find bytes of the file by their position (an
            index that was built into it).
        dialect: "xxhash", the released specification, or "murmur3", its drafts, which current
            readers ignore or fail on; `probe` and `read_table` ask them if given the same dialect.
        murmur3_seed: Seed of MurmurHash3, 0 to 2**32 - 1, for "murmur3". No header holds it: it
            must be given again to look values up.
        replace: Build filters anew where there are some already. Otherwise these are kept if their
            header, length and place are right and their rate is at most twice `fpp`, without a look
            at the values, which `verify` takes.
        skip_missing: Leave out names that match no column of this file, also in `exclude` and among
            the names of `fpp` and `ndv`; the report has those of `columns`.
        copy_unchanged: Write `output` even if no filter was built.
        overwrite: Replace `output` if it exists.
        force: Go on although something outside refers to the file, or it has hard links.
        backup_suffix: Keep the old file under its name and this suffix. Refused if the folder holds
            other Parquet files: readers of the folder would read the backup, too.
        backup_dir: Keep the old file under its name in this folder, which is made if it is
            missing, and may be on another disk.
        regenerate_crc: Renew the Hadoop checksum file beside the file.
        keep_time: Give the new file the time of modification of the old one, in nanoseconds. Who
            looks at times alone then does not notice the change: streams of Spark, but also caches
            and backups. Only from disk to disk.
        jobs: Threads; by default all cores, and 8 for files on stores.
        dry_run: Build and plan, but write nothing.
        progress: Called with the bytes and filters that are done, from several threads.

    Returns:
        What was done. If no filter could or had to be built, a file in place is left as it is.

    Raises:
        InvalidArgument: If an option is out of range.
        ColumnNotFound: If a name matches nothing, or is ambiguous.
        FileProblem: If the file cannot be worked on; it is then unchanged.
        OSError: If reading or writing fails; the file is then unchanged.
        Unfinished: If the new version is in place, but its folder could not be synced, or its
            checksum file not renewed.
    """
    destination = Destination(
        output=output,
        overwrite=overwrite,
        force=force,
        backup_suffix=backup_suffix,
        backup_dir=backup_dir,
        regenerate_crc=regenerate_crc,
        keep_time=keep_time,
    )
    options = _kept(_filter_options, dialect, murmur3_seed, sizing, max_bytes)
    if placement is not None and placement not in get_args(Placement):
        raise InvalidArgument(f'"{placement}" is none of {", ".join(get_args(Placement))}')
    check_jobs(jobs)
    asked = (
        columns if columns is None or isinstance(columns, str) else names_of(columns),
        exclude if isinstance(exclude, str) else names_of(exclude),
        options,
        _as_key(rates_of(fpp)),
        _as_key(ndv),
        skip_missing,
    )
    wrote = None if progress is None else progress.wrote
    with rewrite_session(source, destination, progress=wrote) as session:
        chosen, per_column, absent = _kept(_choices, session.footer.schema, *asked)
        settled = None
        if output is None and not replace:
            settled = settle(session.source, session.footer, per_column)
        if settled is not None:
            outcome = _untouched(session, settled, placement, dry_run=dry_run, progress=progress)
        else:
            if dry_run:
                session.new.check_target()
            else:
                session.new.choose_target()
            layout = session.layout
            work = ChunkWork(
                source=session.source,
                layout=layout,
                options=per_column,
                jobs=jobs or session.new.jobs or default_jobs(),
            )
            candidates = work.find_candidates(replace=replace)
            draft = make_draft(
                layout,
                sorted(candidates.to_build),
                placement or session.new.placement,
                drops=list(candidates.to_drop.values()),
                insists=placement is not None,
            )
            outcome = _build_and_write(
                session,
                work,
                candidates,
                draft,
                copies=output is not None and copy_unchanged,
                dry_run=dry_run,
                progress=progress,
            )
        built, draft, plan, facts = outcome
        footer, is_on_store = session.footer, session.new.placement == "end"
        notes = _notes_on_new(footer, chosen, built.reports, plan, is_on_store=is_on_store)
        return AddReport(
            num_rows=max(int(footer.file.value(FileField.NUM_ROWS)[0]), 0),
            num_row_groups=footer.num_row_groups,
            placement=draft.placement,
            fallback=draft.fallback,
            caution=draft.caution,
            left_bytes=draft.left_bytes if plan else 0,
            missing_columns=absent,
            columns=_column_reports(chosen, per_column, built.reports, plan, notes),
            **facts,
        )


def _untouched(
    session: RewriteSession,
    reports: dict[Chunk, ChunkReport],
    placement: Placement | None,
    *,
    dry_run: bool,
    progress: Progress | None,
) -> tuple[BuildResult, Draft, Plan | None, RewriteFacts]:
    """Leave a file as it is of which no column chunk needs a filter; see `_build_and_write`."""
    if progress is not None:
        progress.begin(num_bytes=0, num_filters=0)
    plan = unchanged(session.footer) if dry_run else None
    data = None if dry_run else session.keep()
    facts = session.facts(plan, changes=False, written=False, dry_run=dry_run, data=data)
    placed = placement or session.new.placement
    draft = Draft(placement=placed, fallback=None, insertions=(), drops=(), skips=())
    return BuildResult(reports=reports, drops={}), draft, plan, facts


def _build_and_write(  # noqa: PLR0913  one step of the verb
    session: RewriteSession,
    work: ChunkWork,
    candidates: Candidates,
    draft: Draft,
    *,
    copies: bool,
    dry_run: bool,
    progress: Progress | None,
) -> tuple[BuildResult, Draft, Plan | None, RewriteFacts]:
    """Build the filters of a draft, and meanwhile write the new version, which is then committed.

    Args:
        session: The file.
        work: Its column chunks.
        candidates: What is done with each of them.
        draft: The positions of the new filters.
        copies: Whether the new version is written even if no filter was built.
        dry_run: Whether nothing is written.
        progress: Called for bytes and filters.

    Returns:
        The new filters; the draft without those that could not be built; the plan, or None if the
        file is left as it is; what the report says of the file.
    """
    must_write = copies and not dry_run
    writes = must_write or bool(candidates.to_build and not dry_run)
    if progress is not None:
        num_bytes = session.source.size if writes else 0
        progress.begin(num_bytes=num_bytes, num_filters=len(candidates.to_build))
    new = session.begin() if writes else None
    built = build_filters(
        work,
        candidates,
        draft,
        assembler=None if new is None else new.assembler,
        progress=progress,
    )
    plan: Plan | None = None
    data: bytes | None = None
    if new is None or built.changes_file or must_write:
        draft = final_draft(work.layout, draft, built)
        plan = make_plan(work.layout, draft, built.lengths)
    if new is not None and plan is not None:
        new.write(plan)
        new.verify(plan, built.filters)
        data = new.commit()
    else:
        session.check_source_unchanged()  # what could not be read may just have gone away
        if not dry_run:
            data = session.keep()
    facts = session.facts(
        plan,
        changes=copies or built.changes_file,
        written=new is not None and plan is not None,
        dry_run=dry_run,
        data=data,
    )
    return built, draft, plan, facts


def _column_reports(
    leaves: Sequence[Leaf],
    options: Mapping[int, FilterOptions],
    reports: Mapping[Chunk, ChunkReport],
    plan: Plan | None,
    notes: Mapping[int, tuple[str, ...]],
) -> tuple[ColumnReport, ...]:
    """Return the reports of the columns, with the offsets of new filters from the plan.

    Args:
        leaves: The chosen columns.
        options: Their options, by leaf ordinal.
        reports: The reports of their column chunks.
        plan: The plan; None if the file is left as it is.
        notes: Notes on columns, by leaf ordinal.
    """
    chunks: dict[int, dict[int, ChunkReport]] = {leaf.ordinal: {} for leaf in leaves}
    for (row_group, column), report in reports.items():
        chunks[column][row_group] = report
    for place in plan.filters if plan else ():
        report = chunks[place.column][place.row_group]
        chunks[place.column][place.row_group] = dataclasses.replace(report, offset=place.offset)
    return tuple(
        ColumnReport(
            name=leaf.name,
            ordinal=leaf.ordinal,
            physical_type=leaf.physical_type.name,
            asked_fpp=options[leaf.ordinal].fpp,
            chunks=tuple(report for _, report in sorted(chunks[leaf.ordinal].items())),
            notes=notes.get(leaf.ordinal, ()),
        )
        for leaf in leaves
    )


def _notes_on_new(
    footer: Footer,
    leaves: Sequence[Leaf],
    reports: Mapping[Chunk, ChunkReport],
    plan: Plan | None,
    *,
    is_on_store: bool,
) -> dict[int, tuple[str, ...]]:
    """Return the notes on the columns that get new filters, by leaf ordinal."""
    if plan is None or not plan.filters:
        return {}
    adjacent = adjacent_columns((one.column, one.offset, one.length) for one in plan.filters)
    said_of = min(adjacent, default=None)  # it is said once, though it concerns all of them
    with_new = {place.column for place in plan.filters}
    exact = {column for (_, column), one in reports.items() if one.num_bytes & (one.num_bytes - 1)}
    concerned = [leaf for leaf in leaves if leaf.ordinal in with_new]
    is_sorted = set(_sorted_columns(footer, concerned))
    is_slow = _slow_down_scans(footer, plan, is_on_store=is_on_store)
    return {
        leaf.ordinal: (
            *notes_on(leaf, is_adjacent=leaf.ordinal == said_of, is_exact=leaf.ordinal in exact),
            *([_SORTED] if leaf.ordinal in is_sorted else []),
            *([_BETWEEN] if is_slow else []),
        )
        for leaf in concerned
    }


def _slow_down_scans(footer: Footer, plan: Plan, *, is_on_store: bool) -> bool:
    """Return whether reading other columns may read many bytes of new filters."""
    last_chunk = int(footer.chunk_starts().max(initial=0))
    between = [one for one in plan.filters if one.offset < last_chunk]
    num_bytes = sum(one.length for one in between)
    is_much = num_bytes >= max(_MUCH_BYTES, _MUCH_SHARE * plan.size)
    return bool(between) and len(footer.leaves) > 1 and (is_on_store or is_much)


def _sorted_columns(footer: Footer, leaves: Sequence[Leaf]) -> Iterator[int]:
    """Yield ordinals of columns no value of which is within the bounds of two row groups."""
    if footer.num_row_groups < _LEAST_SORTED:
        return
    leaves = [leaf for leaf in leaves if _looks_sorted(footer, leaf)]
    if not leaves:
        return
    from parquet_bloomwriter.probing.footer_cache import CachedFooter, FileBatch

    known = CachedFooter.of(footer)
    known.learn([leaf.ordinal for leaf in leaves], footer)
    batch = FileBatch.of([known])
    for leaf in leaves:
        bounds = batch.column(leaf).bounds
        if bounds.known.all():
            low, high = np.sort(bounds.low), np.sort(bounds.high)
            if (high[:-1] < low[1:]).all():
                yield leaf.ordinal


def _looks_sorted(footer: Footer, leaf: Leaf) -> bool:
    """Return whether the bounds of no two row groups overlap, by their bytes in the footer.

    This is a quick look, which spares most files the imports of the check that decides.
    """
    fields = [ChunkField.MIN_VALUE, ChunkField.MAX_VALUE]
    stops = footer.chunks.spans[:, leaf.ordinal, fields, STOP]
    if (stops < 0).any():
        return False
    starts = stops - footer.chunks.values[:, leaf.ordinal, fields]
    layout = _NUMBERS.get(leaf.physical_type)
    bounds = []
    for low, high in zip(starts.tolist(), stops.tolist(), strict=True):
        pair = [footer.data[start:stop] for start, stop in zip(low, high, strict=True)]
        if layout is None:
            bounds.append(tuple(pair))
        elif all(len(one) == struct.calcsize(layout) for one in pair):
            bounds.append(tuple(struct.unpack(layout, one)[0] for one in pair))
        else:
            return False
    bounds.sort()
    return all(high < low for (_, high), (low, _) in pairwise(bounds))


@lru_cache(maxsize=8)
def _filter_options(
    dialect: Dialect, murmur3_seed: int, sizing: Sizing, max_bytes: int
) -> FilterOptions:
    """Return the options that all columns share.

    Raises:
        InvalidArgument: If they are out of range, or exclude each other.
    """
    kind = HashKind(dialect, murmur3_seed)
    if dialect == "murmur3" and sizing != "pow2":
        raise InvalidArgument("filters of the Murmur3 drafts have sizes of powers of two")
    check_max_bytes(max_bytes)
    return FilterOptions(max_bytes=max_bytes, sizing=sizing, hash_kind=kind)


def _kept(function: _lru_cache_wrapper[_T], *arguments: object) -> _T:
    """Call a function that keeps its results; one with an argument that cannot be a key says why.

    Such an argument, a list in the place of a word, is wrong.
    """
    try:
        hash(arguments)
    except TypeError:
        return function.__wrapped__(*arguments)
    return function(*arguments)


_T = TypeVar("_T")
_PerColumn: TypeAlias = "_T | tuple[tuple[str, _T], ...]"
"""A value for all columns, or pairs of names and values."""


def _as_key(given: _T | Mapping[str, _T]) -> _PerColumn[_T]:
    """Return an option for all columns, or by name, as a key of a cache."""
    return tuple(given.items()) if isinstance(given, Mapping) else given


def _of_columns(leaves: Sequence[Leaf], given: _PerColumn[_T]) -> _PerColumn[_T]:
    """Return an option without the names that match no column."""
    if not isinstance(given, tuple):
        return given
    named = [(name, value) for name, value in given if name != EVERY_COLUMN]
    present, _ = divide_names(leaves, [name for name, _ in named])
    return tuple((name, value) for name, value in given if name in {EVERY_COLUMN, *present})


@lru_cache(maxsize=64, typed=True)
def _choices(  # noqa: PLR0913, PLR0917  what the choice depends on
    schema: Schema,
    columns: str | tuple[str, ...] | None,
    exclude: str | tuple[str, ...],
    options: FilterOptions,
    rates: _PerColumn[float],
    counts: _PerColumn[int | None],
    skip_missing: bool,  # noqa: FBT001  a part of the key
) -> tuple[tuple[Leaf, ...], Mapping[int, FilterOptions], tuple[str, ...]]:
    """Choose the columns of a file, and find the options of each.

    Returns:
        The columns; their options by leaf ordinal, in the order chosen; and the names that match no
        column, if these are left out. Files of a folder have few schemas, so the choice is kept.

    Raises:
        ColumnNotFound: If a name matches nothing, or is ambiguous.
        InvalidArgument: If an option is out of range, or all columns are excluded.
    """
    leaves = schema.leaves
    absent: tuple[str, ...] = ()
    if skip_missing:
        if columns is not None:
            columns, absent = divide_names(leaves, columns)
        exclude, _ = divide_names(leaves, exclude)
        rates, counts = _of_columns(leaves, rates), _of_columns(leaves, counts)
    if absent and set(select_columns(leaves, columns or ())) <= set(
        select_columns(leaves, exclude)
    ):
        return (), {}, absent  # Others may have a column that is not excluded.
    chosen = choose_columns(leaves, columns, exclude)
    rate_of_leaf = settle_per_column(
        leaves,
        chosen,
        dict(rates) if isinstance(rates, tuple) else rates,
        default=options.fpp,
    )
    count_of_leaf = settle_per_column(
        leaves, chosen, dict(counts) if isinstance(counts, tuple) else counts, default=None
    )
    settled = {}
    for leaf in chosen:
        rate, count = rate_of_leaf[leaf], count_of_leaf[leaf]
        settled[leaf.ordinal] = dataclasses.replace(options, fpp=rate, ndv=count)
        initial_num_blocks(  # Raises InvalidArgument where an option is out of range.
            1 if count is None else count,
            rate,
            sizing=options.sizing,
            max_bytes=options.max_bytes,
        )
    return chosen, settled, absent


register(_choices.cache_clear)
