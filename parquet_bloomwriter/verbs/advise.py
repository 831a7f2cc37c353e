"""The verb `advise`: find the columns that deserve Bloom filters, the cost of filters, their gain.

The work is bounded, whatever the size of the file. It reads the footer, the headers of filters that
are there, and the first values of four row groups, evenly spread; or of two row groups, if these
have the same values. So figures are estimates, and good only if these values are like the others.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parquet_bloomwriter.advising.column_profile import ColumnProfile, merge_profiles
from parquet_bloomwriter.advising.cost_model import ENGINES, judge
from parquet_bloomwriter.advising.queries import uses_of_columns
from parquet_bloomwriter.advising.report import (
    DEFAULT_FPP,
    Advice,
    AdviseReport,
    ColumnAdvice,
    TypeCount,
)
from parquet_bloomwriter.advising.sample import take_sample
from parquet_bloomwriter.arguments import check_jobs, paths_of, rate_of
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.filters.columns import notes_on, why_no_filter, why_not_looked_up
from parquet_bloomwriter.filters.stored import filters_of_columns
from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.metadata.encodings import is_fully_dictionary_encoded
from parquet_bloomwriter.metadata.fields import ChunkField, FileField
from parquet_bloomwriter.metadata.logical_types import type_name
from parquet_bloomwriter.parallel import default_jobs, in_order
from parquet_bloomwriter.predicate.literals.domain import order_of
from parquet_bloomwriter.probing.footer_cache import CachedFooter, FileBatch
from parquet_bloomwriter.rewrite.old_layout import refuse_encrypted
from parquet_bloomwriter.source.open import opened_with_footer
from parquet_bloomwriter.table_files.files import TableFile, columns_of_file
from parquet_bloomwriter.text import count, words_of
from parquet_bloomwriter.values import LeafReader, is_near
from parquet_bloomwriter.verbs.inspect import values_and_nulls

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.advising.column_profile import RowGroupSample
    from parquet_bloomwriter.advising.queries import ColumnUse
    from parquet_bloomwriter.arguments import Rate
    from parquet_bloomwriter.filters.stored import StoredFilter
    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.predicate.bound import Order
    from parquet_bloomwriter.source import Input, Source

_SAMPLED_ROW_GROUPS = 4
"""Row groups of a file from which values are sampled."""

_BUFFER = "a buffer"
"""Name of an input without a path."""

_LEFT_OUT = (
    "not in the command: only an ordinal can name it there, and that differs between the files; "
    "add its filters to each file by itself"
)


def advise(  # noqa: PLR0913  the verb's options, all by keyword
    source: Input,
    columns: str | Iterable[str] | None = None,
    *,
    fpp: Rate = DEFAULT_FPP,
    engine: str = "any",
    queries: str | Iterable[str] | None = None,
    sample_rows: int = 32_768,
    jobs: int | None = None,
    filesystem: object | None = None,
) -> AdviseReport:
    """Judge for each column whether filters would let readers skip row groups.

    Args:
        source: A path or URL, the file's bytes, or an open file.
        columns: Dotted paths of leaf columns; dotted paths of groups, for all leaves in them; or
            `#` and a leaf ordinal. None: every column.
        fpp: False positive probability that filters are sized for, in (0, 1), or as text: "1%".
        engine: The engine that will look up values: "duckdb", "spark", "datafusion", "clickhouse",
            "trino" or "polars". With "any", advice says where these differ.
        queries: Conditions or statements in SQL, of which several may stand in one text, with
            semicolons between. Columns that no query compares with values by = or IN get no
            filters. None: all columns count as asked for.
        sample_rows: Largest number of values to read of each column, from at most four row groups.
        jobs: Number of threads; by default one for each core.
        filesystem: A file system of pyarrow or fsspec; the path is a path in it.

    Raises:
        InvalidArgument: If an option is out of range, or a query is not SQL.
        ColumnNotFound: If a name matches nothing, or is ambiguous.
        FileProblem: If the file is not a Parquet file, if its footer cannot be read, or if columns
            are encrypted, so that no filters can be added.
        OSError: If reading a filter's header fails.
    """
    rate = rate_of(fpp)
    num_jobs = default_jobs() if jobs is None else jobs
    check_jobs(num_jobs)
    if sample_rows < 1:
        raise InvalidArgument(f"a sample of {sample_rows} rows tells nothing")
    if engine not in ENGINES:
        raise InvalidArgument(
            f'nothing is known of the engine "{engine}"', remedy=f"Known are {', '.join(ENGINES)}."
        )
    with opened_with_footer(source, filesystem=filesystem) as (file, footer):
        refuse_encrypted(footer)
        named = columns_of_file(source, footer, columns)
        chosen = sorted(named, key=lambda leaf: leaf.ordinal)
        survey = _Survey.of(file, footer, chosen, sample_rows)
        names = [leaf.name for leaf in chosen]
        uses = {} if queries is None else uses_of_columns(queries, names)
        advice = tuple(
            replace(
                _advice(_Column.of(leaf), evidence, rate, engine, uses.get(leaf.name)),
                types=(TypeCount(type_name(leaf), 1, file.name or _BUFFER),),
            )
            for leaf, evidence in survey.columns(chosen, num_jobs)
        )
        return AdviseReport(
            paths=() if file.name is None else (file.name,),
            num_files=1,
            size=file.size,
            num_rows=max(int(footer.file.value(FileField.NUM_ROWS)[0]), 0),
            num_row_groups=footer.num_row_groups,
            fpp=rate,
            engine=engine,
            columns=advice,
            is_of_table=isinstance(source, TableFile),
            is_partial=len(chosen) < len(footer.leaves),
        )


def merge_advice(
    reports: Sequence[AdviseReport], *, paths: str | Sequence[str] | None = None
) -> AdviseReport:
    """Merge the reports of several files, and judge their columns anew.

    Columns of the same name are merged. Merged reports can be merged again.

    Args:
        reports: At least one report; all must have the same `fpp` and `engine`.
        paths: Paths that stand for the files in the command, such as a folder; None: all files.

    Raises:
        InvalidArgument: If there is no report, or the reports differ in `fpp` or `engine`.
    """
    if len({(report.fpp, report.engine) for report in reports}) != 1:
        raise InvalidArgument(
            "reports can be merged only if there are some, all for the same rate and engine"
        )
    columns: dict[tuple[str, int], dict[int, ColumnAdvice]] = {}
    for number, report in enumerate(reports):
        seen: dict[str, int] = {}
        for column in report.columns:
            nth = seen[column.name] = seen.get(column.name, -1) + 1
            columns.setdefault((column.name, nth), {})[number] = column
    fpp = reports[0].fpp
    every = tuple(path for report in reports for path in report.paths)
    merged = AdviseReport(
        paths=every if paths is None else paths_of(paths),
        num_files=sum(report.num_files for report in reports),
        size=sum(report.size for report in reports),
        num_rows=sum(report.num_rows for report in reports),
        num_row_groups=sum(report.num_row_groups for report in reports),
        fpp=fpp,
        engine=reports[0].engine,
        columns=tuple(_merged(same, reports) for same in columns.values()),
        is_of_table=any(report.is_of_table for report in reports),
        is_partial=any(report.is_partial for report in reports),
    )
    return replace(merged, columns=tuple(_noted(one, merged) for one in merged.columns))


def _merged(same: Mapping[int, ColumnAdvice], reports: Sequence[AdviseReport]) -> ColumnAdvice:
    """Judge a column of several reports; `same` has its advice by the number of the report."""
    every = list(same.values())
    parts = [one.evidence for one in every if one.evidence is not None]
    first = every[0]
    column = _Column(first.name, first.ordinal, first.physical_type, first.type)
    types = _merged_types(every)
    missing = (
        same[number].missing_from if number in same else next(iter(report.paths), _BUFFER)
        for number, report in enumerate(reports)
    )
    advice = replace(
        _advice(column, merge_profiles(parts), reports[0].fpp, reports[0].engine, first.use),
        num_files=sum(one.num_files for one in every if one.ordinal == first.ordinal),
        types=types,
        missing_from=next(filter(None, missing), ""),
    )
    if len(types) == 1 or advice.num_row_groups == 0:
        return advice
    text = f"its type differs between files: {_listed_types(types)}"
    orders = {part.order for part in parts if part.num_row_groups}
    if len(orders) == 1 or advice.verdict is Advice.HAS_FILTER:
        return replace(advice, notes=(*advice.notes, text))
    return _without_figures(advice, text)


def _merged_types(every: Iterable[ColumnAdvice]) -> tuple[TypeCount, ...]:
    merged: dict[str, TypeCount] = {}
    for name, num_files, path in (one for column in every for one in column.types):
        known = merged.get(name, TypeCount(name, 0, path))
        merged[name] = known._replace(num_files=known.num_files + num_files)
    return tuple(merged.values())


def _listed_types(types: Sequence[TypeCount]) -> str:
    """List types by their numbers of files, as in "INT64 in 3, STRING in 1 (p/s.parquet)"."""
    usual, *others = sorted(types, key=lambda one: -one.num_files)
    listed = [f"{one.type} in {_some_files(one.num_files, one.path)}" for one in others]
    return ", ".join([f"{usual.type} in {usual.num_files:,}", *listed])


def _some_files(num_files: int, first: str) -> str:
    more = f" and {num_files - 1:,} more" if num_files > 1 else ""
    return f"{num_files:,} ({first}{more})"


def _without_figures(advice: ColumnAdvice, reason: str) -> ColumnAdvice:
    """Return advice against filters for values that cannot be compared with each other."""
    return replace(
        advice,
        verdict=Advice.SKIP,
        reason=reason,
        notes=(),
        ndv=None,
        num_filter_bytes=None,
        read_by_statistics=None,
        holding=None,
        skipped_present=None,
        skipped_absent=None,
    )


def _noted(column: ColumnAdvice, report: AdviseReport) -> ColumnAdvice:
    """Return a column, with a note if the report's command leaves the column or files out."""
    if column.verdict is not Advice.ADD:
        return column
    if report.typed(column) is None:
        return replace(column, notes=(*column.notes, _LEFT_OUT))
    lacking = report.num_files - sum(one.num_files for one in column.types)
    if not lacking or report.is_of_table:
        return column
    more = f" and {lacking - 1:,} more" if lacking > 1 else ""
    note = (
        f"not in {lacking:,} of {count(report.num_files, 'file')} ({column.missing_from}{more}); "
        "--skip-missing passes over these files"
    )
    return replace(column, notes=(*column.notes, note))


class _Column(NamedTuple):
    """The name, the ordinal and the types of a column."""

    name: str
    ordinal: int
    physical_type: str
    type: str

    @classmethod
    def of(cls, leaf: Leaf) -> _Column:
        return cls(leaf.name, leaf.ordinal, leaf.physical_type.name, type_name(leaf))


def _advice(
    column: _Column, evidence: ColumnProfile, fpp: float, engine: str, use: ColumnUse | None
) -> ColumnAdvice:
    judgement = judge(evidence, fpp=fpp, engine=engine, use=use)
    return ColumnAdvice(
        **column._asdict(),
        verdict=judgement.verdict,
        reason=judgement.reason,
        notes=judgement.notes,
        num_row_groups=evidence.num_row_groups,
        num_filters=int(evidence.has_filter.sum()),
        num_values=int(evidence.num_values.sum()),
        num_compressed_bytes=evidence.num_compressed_bytes,
        ndv=judgement.ndv,
        num_filter_bytes=judgement.num_filter_bytes,
        read_by_statistics=judgement.read_by_statistics,
        holding=judgement.holding,
        skipped_present=judgement.skipped_present,
        skipped_absent=judgement.skipped_absent,
        evidence=evidence,
        use=use,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Survey:
    """Collects the evidence on the columns of one file, several columns at once."""

    source: Source
    footer: Footer
    known: CachedFooter
    values: NDArray[np.int64]
    """Number of values, nulls included, shape (r, c)."""

    nulls: NDArray[np.int64]
    """Number of nulls, -1 where unknown, shape (r, c)."""

    filters: Mapping[int, Sequence[StoredFilter]]
    """Stored filters by leaf ordinal."""

    sample_rows: int

    @classmethod
    def of(
        cls, source: Source, footer: Footer, leaves: Sequence[Leaf], sample_rows: int
    ) -> _Survey:
        ordinals = [leaf.ordinal for leaf in leaves]
        known = CachedFooter.of(footer)
        known.learn(ordinals, footer)
        values, nulls = values_and_nulls(footer)
        filters: defaultdict[int, list[StoredFilter]] = defaultdict(list)
        for one in filters_of_columns(source, footer, set(ordinals)):
            filters[one.column].append(one)
        return cls(
            source=source,
            footer=footer,
            known=known,
            values=values,
            nulls=nulls,
            filters=filters,
            sample_rows=sample_rows,
        )

    def columns(self, leaves: Sequence[Leaf], jobs: int) -> Iterator[tuple[Leaf, ColumnProfile]]:
        """Yield each column with its profile."""
        if jobs == 1 or all(map(self._takes_a_moment, leaves)):
            for leaf in leaves:
                yield leaf, self.column(leaf)
            return
        with in_order(
            leaves, self.column, jobs=jobs, weight=lambda _: 1, max_weight=jobs
        ) as results:
            yield from results

    def _takes_a_moment(self, leaf: Leaf) -> bool:
        """Return whether samples are probably dictionary pages, for which threads are too slow."""
        return is_near(self.source) and (
            not self.footer.num_row_groups
            or is_fully_dictionary_encoded(self.footer, 0, leaf.ordinal)
        )

    def column(self, leaf: Leaf) -> ColumnProfile:
        """Make the profile of one column from the footer and a sample."""
        present = self.values[:, leaf.ordinal] - np.maximum(self.nulls[:, leaf.ordinal], 0)
        used = np.flatnonzero(present > 0)
        mine = self.filters.get(leaf.ordinal, ())
        sound = {one.row_group for one in mine if not (one.defect or one.foreign)}
        has_filter = np.isin(used, sorted(sound))
        unsupported = why_no_filter(leaf) or why_not_looked_up(leaf)
        order = order_of(leaf)
        samples: list[RowGroupSample] = []
        unreadable = None
        if unsupported is None and not has_filter.all():
            samples, unreadable = self._samples(leaf, order, used)
        bounds = FileBatch.of([self.known]).column(leaf).bounds
        bounded = used[bounds.known[used]]
        sizes = self.footer.chunks.value(ChunkField.TOTAL_COMPRESSED_SIZE)[:, leaf.ordinal]
        return ColumnProfile(
            unsupported=unsupported,
            unreadable=unreadable,
            notes=(*notes_on(leaf), *_further_notes(mine)),
            is_floating=leaf.physical_type in (PhysicalType.FLOAT, PhysicalType.DOUBLE),
            order=order,
            num_values=present[used],
            num_compressed_bytes=int(np.maximum(sizes, 0).sum()),
            has_filter=has_filter,
            num_dictionaries=sum(
                is_fully_dictionary_encoded(self.footer, row_group, leaf.ordinal)
                for row_group in used.tolist()
            ),
            lows=tuple(sorted(bounds.low[bounded].tolist())),
            highs=tuple(sorted(bounds.high[bounded].tolist())),
            samples=tuple(samples),
        )

    def _samples(
        self, leaf: Leaf, order: Order | None, used: NDArray[np.intp]
    ) -> tuple[list[RowGroupSample], str | None]:
        """Sample row groups, evenly spread; return the samples, and why reading failed, or None.

        If the first and the last row group hold the same values, the others are not read.
        """
        import pyarrow as pa

        count = min(_SAMPLED_ROW_GROUPS, len(used), self.sample_rows)
        spread = [int(used[(2 * i + 1) * len(used) // (2 * count)]) for i in range(count)]
        chosen = [*spread[:1], *spread[:0:-1]]  # The two that are furthest apart come first.
        samples: list[RowGroupSample] = []
        unreadable = None
        try:
            reader = LeafReader(self.source, self.footer, leaf)
            for row_group in chosen:
                sample = take_sample(
                    reader,
                    leaf,
                    row_group,
                    most=self.sample_rows // count,
                    order=order,
                    num_values=int(self.values[row_group, leaf.ordinal]),
                    num_nulls=int(self.nulls[row_group, leaf.ordinal]),
                )
                samples += [sample] if sample else []
                if len(samples) == 2 and samples[0].is_like(samples[1]):  # noqa: PLR2004  a pair
                    break
        except (OSError, pa.ArrowException) as error:
            unreadable = "a column chunk cannot be read: " + words_of(error)
        return samples, unreadable


def _further_notes(filters: Iterable[StoredFilter]) -> Iterator[str]:
    doubtful = [one.defect or one.foreign for one in filters]
    for problem in dict.fromkeys(filter(None, doubtful)):
        yield f"a filter that is there cannot be trusted: {problem}"
