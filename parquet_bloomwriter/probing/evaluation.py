"""The evaluation of a bound predicate on the row groups of a batch of files.

Statistics come first (`statistics` decodes minima and maxima, here keys are compared with them),
then Bloom filters, where statistics leave row groups over, then small dictionaries, where there is
no filter. Every condition gets a `Code` for each row group, verdict and evidence in one number; the
predicate's verdict follows from them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.kernels.layout import ABSENT
from parquet_bloomwriter.predicate.bound import (
    AllOf,
    AlwaysFalse,
    AnyOf,
    InSet,
    Interval,
    NotInSet,
    NotNull,
    Nulls,
    Unknown,
)
from parquet_bloomwriter.probing.bloom import FilterLookups, probe_filters
from parquet_bloomwriter.probing.footer_cache import DISTRUSTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.predicate.bound import Atom, Bound, Key
    from parquet_bloomwriter.probing.batch_reader import BatchReader
    from parquet_bloomwriter.probing.footer_cache import BatchColumn, FileBatch
    from parquet_bloomwriter.probing.hashes import Hashes

    Flags = NDArray[np.bool_]
    Numbers = NDArray[np.int64]
    KeyRange = tuple[Numbers, Numbers]
    """First key, and position past the last key, of the range of each of n row groups."""

    Columns = dict[int, BatchColumn]
    """Columns by the ordinal of their leaf."""


class Code(IntEnum):
    """Verdict and evidence of a condition in a row group; from 4 on, it cannot match."""

    UNKNOWN = 0
    MIGHT_BY_STATISTICS = 1
    MIGHT_BY_BLOOM = 2
    MIGHT_BY_DICTIONARY = 3
    NOT_BY_STATISTICS = 4
    NOT_BY_BLOOM = 5
    NOT_BY_DICTIONARY = 6
    NOT_BY_LITERAL = 7


# Plain numbers: arrays compare with members of an enumeration ten times as slowly.
_UNKNOWN, _MIGHT_BY_STATISTICS, _FIRST_NOT = (
    np.uint8(code) for code in (Code.UNKNOWN, Code.MIGHT_BY_STATISTICS, Code.NOT_BY_STATISTICS)
)
_MIGHT_BY_BLOOM, _NOT_BY_BLOOM, _NOT_BY_LITERAL = (
    np.uint8(code) for code in (Code.MIGHT_BY_BLOOM, Code.NOT_BY_BLOOM, Code.NOT_BY_LITERAL)
)


@dataclass(slots=True, eq=False)
class Finding:
    """The verdicts on one condition for the row groups of a batch."""

    atom: Atom
    codes: NDArray[np.uint8]
    """`Code` of each row group of the batch, shape (n,)."""

    reasons: dict[int, str] = field(default_factory=dict)
    """Why nothing is known, or why a filter was not trusted, by row group."""

    default_reason: str = ""
    """Why nothing is known of the row groups without a reason of their own."""

    keys: KeyRange | None = None
    """Range of keys that statistics do not exclude in each row group; None unless an `InSet`."""

    lacks_filter: Flags | None = None
    """Whether each row group has no filter, shape (n,); None unless an `InSet` for filters."""

    @property
    def might(self) -> Flags:
        """Return whether each row group might match the condition, shape (n,)."""
        return self.codes < _FIRST_NOT

    def explained(self, rows: slice) -> Numbers:
        """Return the row groups of a range for which `reason` returns a text."""
        codes = self.codes[rows]
        explained = (codes == _UNKNOWN) | (codes == _NOT_BY_LITERAL)
        if self.lacks_filter is not None:
            explained |= (codes == _MIGHT_BY_STATISTICS) & self.lacks_filter[rows]
        numbers: Numbers = rows.start + np.flatnonzero(explained)
        return numbers

    def reason(self, row: int) -> str:
        """Return why nothing is known of a row group, or why its filter did not answer; or ""."""
        if row in self.reasons:
            return self.reasons[row]
        code = self.codes[row]
        if self.lacks_filter is not None and self.lacks_filter[row]:
            if code == _UNKNOWN:
                return f"{self._column} has neither a Bloom filter nor statistics here"
            return (
                f"{self._column} has no Bloom filter here" if code == _MIGHT_BY_STATISTICS else ""
            )
        return self.default_reason if code in {_UNKNOWN, _NOT_BY_LITERAL} else ""

    @property
    def _column(self) -> str:
        return self.atom.leaf.name if isinstance(self.atom, InSet) else ""


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """The verdicts on a predicate for one batch of files."""

    might: Flags
    """Whether each row group might match the predicate, shape (n,)."""

    atoms: tuple[Finding, ...]
    """Verdicts on the conditions, in the order of the predicate."""

    num_filters: int
    """Number of filters in which values were looked up."""


def atoms_of(bound: Bound) -> Iterator[Atom]:
    """Yield the conditions of a predicate, in its order."""
    if isinstance(bound, AllOf | AnyOf):
        for part in bound.parts:
            yield from atoms_of(part)
    else:
        yield bound


def leaves_of(bound: Bound) -> tuple[Leaf, ...]:
    """Return the distinct columns that a predicate needs."""
    needed = {
        atom.leaf.ordinal: atom.leaf
        for atom in atoms_of(bound)
        if not isinstance(atom, Unknown | AlwaysFalse)
    }
    return tuple(needed.values())


def evaluate(
    bound: Bound, batch: FileBatch, reader: BatchReader, hashes: Callable[[InSet], Hashes]
) -> Findings:
    """Return the verdicts on the row groups of a batch of files.

    Args:
        bound: The predicate, bound to the batch's schema.
        batch: Files whose columns were learned.
        reader: Reads from the same files, in the same order.
        hashes: Returns the hashes of a condition's values.
    """
    columns = {leaf.ordinal: batch.column(leaf) for leaf in leaves_of(bound)}
    findings = tuple([_by_footer(atom, columns, batch) for atom in atoms_of(bound)])
    probed = [
        one for one in findings if isinstance(one.atom, InSet) and one.atom.plains is not None
    ]
    might = _combined(bound, findings, batch)
    num_filters = 0
    if probed and might.any():
        for finding in probed:
            num_filters += _probe_filters(finding, might, columns, batch, reader, hashes)
        might = _combined(bound, findings, batch)
        if might.any():
            for finding in probed:
                _probe_dictionaries(finding, might, batch, reader)
            might = _combined(bound, findings, batch)
    for file in reader.failures:
        rows = slice(*batch.rows[file : file + 2].tolist())
        might[rows] = True
        for finding in findings:
            finding.codes[rows] = _UNKNOWN
    return Findings(might, findings, num_filters)


def _combined(bound: Bound, findings: Sequence[Finding], batch: FileBatch) -> Flags:
    """Return whether each row group might match; `findings` are in the order of `atoms_of`."""
    remaining = iter(findings)

    def combine(part: Bound) -> Flags:
        if not isinstance(part, AllOf | AnyOf):
            return next(remaining).might
        is_all = isinstance(part, AllOf)
        might = np.full(batch.num_row_groups, is_all)
        for flags in map(combine, part.parts):
            might = might & flags if is_all else might | flags
        return might

    return combine(bound)


# Footers.


def _by_footer(atom: Atom, columns: Columns, batch: FileBatch) -> Finding:
    count = batch.num_row_groups
    if isinstance(atom, Unknown):
        return Finding(atom, np.full(count, _UNKNOWN), default_reason=atom.reason)
    if isinstance(atom, AlwaysFalse):
        return Finding(atom, np.full(count, _NOT_BY_LITERAL), default_reason=atom.reason)
    column = columns[atom.leaf.ordinal]
    keys = lacks_filter = None
    if isinstance(atom, InSet):
        keys = _key_range(atom, column)
        lacks_filter = None if atom.plains is None else column.filter_offsets == ABSENT
        known, possible = column.bounds.known, keys[1] > keys[0]
    else:
        known, possible = _JUDGES[type(atom)](atom, column)
    if not isinstance(atom, Nulls | NotInSet):
        no_values = column.has_no_values
        if no_values.any():
            known, possible = known | no_values, possible & ~no_values
    codes = np.where(possible, _MIGHT_BY_STATISTICS, _FIRST_NOT)
    codes[~known] = _UNKNOWN
    why = _why_unknown(atom)
    return Finding(atom, codes, default_reason=why, keys=keys, lacks_filter=lacks_filter)


def _why_unknown(atom: Atom) -> str:
    if isinstance(atom, Interval) and atom.matches_nan:
        return "NaN may be among the values, which some readers take to be greater than any other"
    if isinstance(atom, Nulls | NotNull):
        return "nulls are not counted"
    return "there are no statistics to go by"


Judgement = tuple["Flags", "Flags"]
"""Whether statistics of each row group are usable, and whether it might match by them."""


def _key_range(atom: InSet, column: BatchColumn) -> KeyRange:
    """Return the range of keys within the bounds of each row group."""
    bounds = column.bounds
    count = len(bounds.known)
    num_keys = len(atom.plains or atom.keys or ())
    first, last = np.zeros(count, np.int64), np.full(count, num_keys, np.int64)
    if atom.keys is None or not bounds.known.any():
        return first, last
    if num_keys == 1 and bounds.low.dtype != object and bounds.known.all():
        within = (bounds.low <= atom.keys[0]) & (bounds.high >= atom.keys[0])
        return first, within.astype(np.int64)
    if bounds.low.dtype == object:
        for row in np.flatnonzero(bounds.known).tolist():
            first[row], last[row] = _among_objects(atom.keys, bounds.low[row], bounds.high[row])
        return first, last
    keys = np.array(atom.keys, bounds.low.dtype)
    known = bounds.known
    first[known] = np.searchsorted(keys, bounds.low[known], "left")
    last[known] = np.searchsorted(keys, bounds.high[known], "right")
    return first, last


def _among_objects(keys: Sequence[Any], low: Key, high: Key) -> tuple[int, int]:
    last = bisect_right(keys, high)
    while last < len(keys) and _is_beyond_by_truncation(keys[last], high):
        last += 1
    return bisect_left(keys, low), last


def _is_beyond_by_truncation(key: Key, high: Key) -> bool:
    """Return whether a key is above a maximum that may be cut short, so that it may be stored."""
    return isinstance(key, bytes) and isinstance(high, bytes) and key.startswith(high)


def _judge_interval(atom: Interval, column: BatchColumn) -> Judgement:
    bounds = column.bounds
    if atom.matches_nan or not bounds.known.any():
        return np.zeros_like(bounds.known), np.ones_like(bounds.known)
    if bounds.low.dtype != object:
        possible = np.ones(len(bounds.known), np.bool_)
        if atom.low is not None:
            possible &= bounds.high >= atom.low
        if atom.high is not None:
            possible &= bounds.low <= atom.high
        return bounds.known, possible
    possible = np.ones(len(bounds.known), np.bool_)
    for row in np.flatnonzero(bounds.known).tolist():
        low, high = bounds.low[row], bounds.high[row]
        possible[row] = not (
            (atom.high is not None and low > atom.high)
            or (
                atom.low is not None
                and high < atom.low
                and not _is_beyond_by_truncation(atom.low, high)
            )
        )
    return bounds.known, possible


def _judge_differs(atom: NotInSet, column: BatchColumn) -> Judgement:
    bounds = column.bounds
    same = bounds.known & (bounds.low == bounds.high) & (column.num_nulls == 0)
    possible = np.ones(len(same), np.bool_)
    for row in np.flatnonzero(same).tolist():
        low = bounds.low[row]
        possible[row] = low not in atom.keys or _may_be_cut_short(low, atom.leaf)
    return bounds.known, possible


def _may_be_cut_short(bound: Key, leaf: Leaf) -> bool:
    """Return whether an equal minimum and maximum may be of different values, cut short."""
    return isinstance(bound, bytes) and len(bound) != leaf.type_length


def _judge_nulls(_atom: Nulls, column: BatchColumn) -> Judgement:
    return column.num_nulls >= 0, column.num_nulls != 0


def _judge_not_null(_atom: NotNull, column: BatchColumn) -> Judgement:
    known = column.num_nulls >= 0
    return known, np.ones_like(known)


_JUDGES: dict[type, Callable[[Any, BatchColumn], Judgement]] = {
    Interval: _judge_interval,
    NotInSet: _judge_differs,
    Nulls: _judge_nulls,
    NotNull: _judge_not_null,
}


# Filters and dictionaries.


def _probe_filters(  # noqa: PLR0913, PLR0917  the state of one evaluation
    finding: Finding,
    might: Flags,
    columns: Columns,
    batch: FileBatch,
    reader: BatchReader,
    hashes: Callable[[InSet], Hashes],
) -> int:
    """Look up in filters the values that statistics leave; return the number of filters used."""
    atom, keys = finding.atom, finding.keys
    assert isinstance(atom, InSet)  # noqa: S101  for the type checker; see `evaluate`
    assert keys is not None  # noqa: S101  likewise
    column = columns[atom.leaf.ordinal]
    rows = np.flatnonzero(might & finding.might & (column.filter_offsets != ABSENT))
    if not len(rows):
        return 0
    first, last = keys
    of_atom = hashes(atom)
    lookups = FilterLookups(rows, of_atom.firsts[first[rows]], of_atom.firsts[last[rows]])
    places = batch.places(atom.leaf, of_atom.dialect)
    is_news = not places.has_bits[rows].all()
    is_in = probe_filters(batch, column, of_atom.hashes, lookups, reader, places, of_atom.of_drafts)
    if is_news:
        batch.remember(atom.leaf, places, of_atom.dialect)
    trusted = places.sizes[rows] > 0
    finding.codes[rows[trusted & is_in]] = _MIGHT_BY_BLOOM
    finding.codes[rows[trusted & ~is_in]] = _NOT_BY_BLOOM
    if places.problems:
        for row in rows[places.sizes[rows] == DISTRUSTED].tolist():
            finding.reasons[row] = f"its filter is not trusted: {places.problems[row]}"
    return len(rows)


def _probe_dictionaries(
    finding: Finding,
    might: Flags,
    batch: FileBatch,
    reader: BatchReader,
) -> None:
    """Look up values in dictionaries where no filter gave an answer."""
    atom = finding.atom
    assert isinstance(atom, InSet)  # noqa: S101  for the type checker; see `evaluate`
    open_ = might & (finding.codes <= _MIGHT_BY_STATISTICS)
    if not open_.any() or atom.plains is None or finding.keys is None:
        return
    first, last = finding.keys
    starts = batch.rows.tolist()
    for file, (start, stop) in enumerate(pairwise(starts)):
        rows = start + np.flatnonzero(open_[start:stop])
        if not len(rows) or file in reader.failures:
            continue
        footer = batch.files[file].footer()
        for row in rows.tolist():
            plains = [way for ways in atom.plains[first[row] : last[row]] for way in ways]
            _probe_dictionary(finding, row, footer, row - start, plains, reader, file)


def _probe_dictionary(  # noqa: PLR0913, PLR0917  one row group of one file
    finding: Finding,
    row: int,
    footer: Footer,
    row_group: int,
    plains: list[bytes],
    reader: BatchReader,
    file: int,
) -> None:
    from parquet_bloomwriter.probing.dictionary import holds_any

    atom = finding.atom
    assert isinstance(atom, InSet)  # noqa: S101  for the type checker; see `evaluate`
    try:
        found = holds_any(
            footer,
            row_group,
            atom.leaf,
            plains,
            lambda start, stop: reader.read_at(file, start, stop),
        )
    except (BloomwriterError, OSError) as error:
        reader.failures[file] = error
        return
    if found is not None:
        finding.codes[row] = Code.MIGHT_BY_DICTIONARY if found else Code.NOT_BY_DICTIONARY
