"""The verb `verify`: check the filters of a file against its values, and against their exact rate.

A filter passes if every value of its column chunk is found. Values are read in their stored form,
and looked up as the filter's writer must have inserted them. Readers also look up the other zero
and the canonical NaN. If one of these is missing, this is a warning: the stored values are there,
but a reader that looks for 0.0 may not find -0.0.

The exact rate of a filter is counted from its bits. It is also measured with random hashes. There
are 2**64 hashes, so random hashes are practically always absent. By Bernstein's inequality, the
share of n of them that passes deviates from the rate p by more than t with a probability of at most

    2 exp(-n t**2 / 2 / (p (1 - p) + t / 3))

and `_CHANCE` is the probability that is accepted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.arguments import check_jobs
from parquet_bloomwriter.errors import InvalidArgument, MalformedFilter
from parquet_bloomwriter.filters.lookups import Lookups, look_up
from parquet_bloomwriter.filters.stored import filters_of_columns, read_bits
from parquet_bloomwriter.hashing import XXHASH, HashKind
from parquet_bloomwriter.metadata.fields import FileField
from parquet_bloomwriter.parallel import default_jobs, in_order
from parquet_bloomwriter.reports.verification import (
    NOT_SAMPLED,
    CheckStatus,
    FilterCheck,
    VerifyReport,
)
from parquet_bloomwriter.source.open import opened_with_footer
from parquet_bloomwriter.table_files.files import columns_of_file
from parquet_bloomwriter.text import words_of
from parquet_bloomwriter.values import LeafReader
from parquet_bloomwriter.verbs.inspect import ALL_ZERO, values_and_nulls

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from parquet_bloomwriter.filters.stored import StoredFilter
    from parquet_bloomwriter.hashing import Dialect
    from parquet_bloomwriter.metadata import Footer
    from parquet_bloomwriter.progress import FilterProgress
    from parquet_bloomwriter.sbbf import Sbbf
    from parquet_bloomwriter.source import Input, Source

_SEED = 20240229
"""Seed of the random hashes, so that two runs on one file give the same report."""

_CHANCE = 1e-8
"""Largest probability that the measured rate of a sound filter is reported to disagree."""

_AHEAD_BYTES = 64 * 1024 * 1024
"""Most bytes of bitsets that are being checked or wait to be reported."""


def verify(  # noqa: PLR0913  the verb's options, all by keyword
    source: Input,
    columns: str | Iterable[str] | None = None,
    *,
    sample: float | None = None,
    absent: int = 100_000,
    dialect: Dialect = "xxhash",
    murmur3_seed: int = 0,
    jobs: int | None = None,
    progress: FilterProgress | None = None,
    filesystem: object | None = None,
) -> VerifyReport:
    """Check every Bloom filter of a file against the values of its column chunk.

    Nothing is written. A filter fails if a value that is there is not found, if its lengths
    disagree or reach outside the file, if it is empty though the chunk has values, or if its column
    has a type whose filters must not be trusted (BOOLEAN, INTERVAL).

    Args:
        source: A path or URL, the file's bytes, or an open file.
        columns: Dotted paths of leaf columns; dotted paths of groups, for all leaves in them; or
            `#` and a leaf ordinal. None: every column.
        sample: Number of row groups (an int), or share of the row groups (a float in (0, 1]),
            whose values are looked up; at least one, spread evenly. None: all row groups. The bits
            of all filters are checked.
        absent: Number of random hashes that are looked up in each filter to measure its rate; 0 for
            none.
        dialect: The hash function of filters of drafts, whose headers do not name it: "murmur3", or
            "xxhash" to leave these filters unchecked. If a header names XXH64, its filter is always
            checked with XXH64.
        murmur3_seed: Seed of MurmurHash3, 0 to 2**32 - 1, that filters of drafts were written with.
            No header holds it.
        jobs: Number of threads; by default one for each core.
        progress: Called for each filter that was checked, from several threads.
        filesystem: A file system of pyarrow or fsspec; the path is a path in it.

    Raises:
        InvalidArgument: If an option is out of range.
        ColumnNotFound: If a name matches nothing, or is ambiguous.
        FileProblem: If the file is not a Parquet file, or its footer cannot be read.
        OSError: If reading a filter fails.
    """
    num_jobs = default_jobs() if jobs is None else jobs
    kind = HashKind(dialect, murmur3_seed)
    _check_options(sample, absent, num_jobs)
    with opened_with_footer(source, filesystem=filesystem) as (file, footer):
        chosen = columns_of_file(source, footer, columns)
        filters = filters_of_columns(file, footer, {leaf.ordinal for leaf in chosen})
        sampled = None if sample is None else _spread({one.row_group for one in filters}, sample)
        random = np.random.default_rng(_SEED).integers(0, 2**64, absent, np.uint64)
        checker = _Checker(
            source=file,
            footer=footer,
            sampled=sampled,
            absent=random,
            kind=kind,
            progress=progress,
        )
        if progress is not None:
            progress.begin(num_bytes=0, num_filters=len(filters))
        by_column = sorted(filters, key=lambda one: (one.column, one.row_group))
        with in_order(
            by_column,
            checker.check,
            jobs=num_jobs,
            weight=lambda one: one.readable_length or 0,
            max_weight=_AHEAD_BYTES,
        ) as results:
            checks = tuple(check for _, check in results)
        return VerifyReport(
            path=file.name,
            size=file.size,
            num_rows=max(int(footer.file.value(FileField.NUM_ROWS)[0]), 0),
            num_row_groups=footer.num_row_groups,
            sampled_row_groups=None if sampled is None else tuple(sorted(sampled)),
            checks=checks,
        )


def _check_options(sample: float | None, absent: int, jobs: int) -> None:
    check_jobs(jobs)
    if absent < 0:
        raise InvalidArgument(f"{absent} absent values cannot be looked up")
    whole = isinstance(sample, int)
    if sample is not None and not (sample >= 1 if whole else 0 < sample <= 1):
        raise InvalidArgument(
            f"a sample of {sample} is neither a number of row groups nor a share of them",
            remedy="Give a whole number of at least 1, or a share such as 0.1.",
        )


def _spread(row_groups: set[int], sample: float) -> frozenset[int]:
    """Choose row groups, as evenly spread as their number allows."""
    every = sorted(row_groups)
    wanted = sample if isinstance(sample, int) else math.ceil(sample * len(every))
    count = min(int(wanted), len(every))
    return frozenset(every[(2 * i + 1) * len(every) // (2 * count)] for i in range(count))


@dataclass(slots=True, kw_only=True)
class _Checker:
    """Checks the filters of one file, in several threads."""

    source: Source
    footer: Footer
    sampled: frozenset[int] | None
    absent: NDArray[np.uint64]
    kind: HashKind
    progress: FilterProgress | None
    readers: dict[int, LeafReader] = field(default_factory=dict)
    """Readers of columns by leaf ordinal."""

    def check(self, one: StoredFilter) -> FilterCheck:
        """Check one filter, and report progress.

        Raises:
            FileChanged, OSError: If the filter cannot be read.
        """
        check = self._check(one)
        if self.progress is not None:
            self.progress.built()
        return check

    def _check(self, one: StoredFilter) -> FilterCheck:
        try:
            bits = read_bits(self.source, one, kind=self.kind)
        except MalformedFilter as error:
            return self._verdict(one, None, CheckStatus.FAILED, error.problem)
        status, reason = self._without_values(one, bits)
        if bits is None or status is not CheckStatus.OK:
            return self._verdict(one, bits, status, reason)
        return self._against_values(one, bits)

    def _without_values(self, one: StoredFilter, bits: Sbbf | None) -> tuple[CheckStatus, str]:
        """Judge a filter by header and bits alone; OK if its values must be looked up."""
        if one.defect is not None:
            return CheckStatus.FAILED, one.defect
        if one.foreign is not None and not (one.is_draft and self.kind.dialect == "murmur3"):
            return CheckStatus.UNCHECKED, one.foreign
        if bits is None:
            return CheckStatus.FAILED, "its header cannot be read"
        if self._is_empty_for_sure(one, bits):
            return CheckStatus.FAILED, ALL_ZERO
        if self.sampled is not None and one.row_group not in self.sampled:
            return CheckStatus.UNCHECKED, NOT_SAMPLED
        return CheckStatus.OK, ""

    def _is_empty_for_sure(self, one: StoredFilter, bits: Sbbf) -> bool:
        if bits.fill() > 0:
            return False
        values, nulls = values_and_nulls(self.footer)
        chunk = (one.row_group, one.column)
        return bool(0 <= nulls[chunk] < values[chunk])

    def _against_values(self, one: StoredFilter, bits: Sbbf) -> FilterCheck:
        import pyarrow as pa

        kind = self.kind if one.is_draft else XXHASH
        leaf = self.footer.leaves[one.column]
        try:
            found = look_up(bits, self._reader(one.column), leaf, one.row_group, kind=kind)
        except (OSError, pa.ArrowException) as error:
            reason = "its column chunk cannot be read: " + words_of(error)
            return self._verdict(one, bits, CheckStatus.UNCHECKED, reason)
        if not found.num_missing:
            return self._verdict(one, bits, CheckStatus.OK, "", found)
        reason = f"{found.num_missing} of {found.num_values} values are missing from it"
        return self._verdict(one, bits, CheckStatus.FAILED, reason, found)

    def _verdict(
        self,
        one: StoredFilter,
        bits: Sbbf | None,
        status: CheckStatus,
        reason: str,
        found: Lookups | None = None,
    ) -> FilterCheck:
        found = found or Lookups()
        exact = None if bits is None else bits.exact_fpp()
        measured = agrees = None
        if bits is not None and exact is not None and len(self.absent):
            measured = int(np.count_nonzero(bits.check_hashes(self.absent))) / len(self.absent)
            agrees = abs(measured - exact) <= _deviation(exact, len(self.absent))
        return FilterCheck(
            row_group=one.row_group,
            ordinal=one.column,
            column=self.footer.leaves[one.column].name,
            offset=one.offset,
            length=one.readable_length,
            status=status,
            reason=reason,
            warnings=(*one.oddities, *found.warnings),
            num_looked_up=found.num_values,
            num_missing=found.num_missing,
            missing=found.missing,
            fpp=exact,
            num_absent=0 if bits is None else len(self.absent),
            measured_fpp=measured,
            rates_agree=agrees,
        )

    def _reader(self, ordinal: int) -> LeafReader:
        """Return the reader of a column. If two threads ask at the same time, both may make it."""
        if ordinal not in self.readers:
            leaf = self.footer.leaves[ordinal]
            self.readers[ordinal] = LeafReader(self.source, self.footer, leaf)
        return self.readers[ordinal]


def _deviation(rate: float, count: int) -> float:
    """Return the largest deviation of the measured rate by chance: t of the inequality."""
    room = math.log(2 / _CHANCE) / count
    return room / 3 + math.sqrt(room * room / 9 + 2 * room * rate * (1 - rate))
