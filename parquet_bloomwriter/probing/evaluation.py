"""A bound predicate against the row groups of a family: statistics first, then Bloom, then more.

Every condition gets a code for each row group, the verdict and its evidence in one; the predicate's
verdict follows from them. Filters are asked only about row groups that statistics leave over, and
dictionaries only where there is no filter.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from parquet_bloomwriter.compact.loop import ABSENT
from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.predicate.bound import (
    AllOf,
    AnyOf,
    Differs,
    Interval,
    Members,
    Never,
    NotNull,
    Nulls,
    Undecided,
)
from parquet_bloomwriter.probing.bloom import Hashes, Questions, probe_filters
from parquet_bloomwriter.probing.footer_cache import DISTRUSTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.predicate.bound import Atom, Bound, Key
    from parquet_bloomwriter.probing.batch_reader import Pieces
    from parquet_bloomwriter.probing.footer_cache import Column, Family

    Flags = NDArray[np.bool_]
    Numbers = NDArray[np.int64]
    KeyRange = tuple[Numbers, Numbers]
    """Of n row groups: the first key, and past the last."""


class Code(IntEnum):
    """Verdict and evidence of one condition in one row group. Those from 4 cannot match."""

    UNKNOWN = 0
    MIGHT_BY_STATISTICS = 1
    MIGHT_BY_BLOOM = 2
    MIGHT_BY_DICTIONARY = 3
    NOT_BY_STATISTICS = 4
    NOT_BY_BLOOM = 5
    NOT_BY_DICTIONARY = 6
    NOT_BY_LITERAL = 7


# As plain numbers: arrays compare with members of an enumeration ten times as slowly.
_UNKNOWN, _MIGHT_BY_STATISTICS, _FIRST_NOT = (
    np.uint8(code) for code in (Code.UNKNOWN, Code.MIGHT_BY_STATISTICS, Code.NOT_BY_STATISTICS)
)
_MIGHT_BY_BLOOM, _NOT_BY_BLOOM, _NOT_BY_LITERAL = (
    np.uint8(code) for code in (Code.MIGHT_BY_BLOOM, Code.NOT_BY_BLOOM, Code.NOT_BY_LITERAL)
)


@dataclass(slots=True, eq=False)
class Finding:
    """What was found out about one condition."""

    atom: Atom
    codes: NDArray[np.uint8]
    """`Code` of each row group of the family, shape (n,)."""

    reasons: dict[int, str] = field(default_factory=dict)
    """Of single row groups: why nothing is known, or why a filter was not trusted."""

    default_reason: str = ""
    """Of all others of which nothing is known."""

    keys: KeyRange | None = None
    """Of members: which of them statistics leave over in each row group."""

    @property
    def might(self) -> Flags:
        """Whether each row group might match."""
        return self.codes < _FIRST_NOT


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """Everything that was found out about one family."""

    might: Flags
    """Whether each row group might match the predicate, shape (n,)."""

    atoms: tuple[Finding, ...]
    """In the order of the predicate."""

    num_filters: int
    """Filters that were looked into."""


def atoms_of(bound: Bound) -> Iterator[Atom]:
    """The conditions of a predicate, in its order."""
    if isinstance(bound, AllOf | AnyOf):
        for part in bound.parts:
            yield from atoms_of(part)
    else:
        yield bound


def leaves_of(bound: Bound) -> tuple[Leaf, ...]:
    """The columns that a predicate needs, each once."""
    asked = (atom.leaf for atom in atoms_of(bound) if not isinstance(atom, Undecided | Never))
    return tuple(dict.fromkeys(asked))


def evaluate(
    bound: Bound, family: Family, pieces: Pieces, hashes: Callable[[Members], Hashes]
) -> Findings:
    """Find out which row groups of a family might match.

    Args:
        bound: The predicate, bound to the family's schema.
        family: Files whose columns were learned.
        pieces: Reads from the same files, in the same order.
        hashes: Gives the hashes of an atom's values.
    """
    columns = {leaf: family.column(leaf) for leaf in leaves_of(bound)}
    findings = {id(atom): _by_footer(atom, columns, family) for atom in atoms_of(bound)}
    members = [one for one in findings.values() if _can_be_probed(one.atom)]
    might = _combined(bound, findings, family.num_row_groups)
    num_filters = 0
    if members and might.any():
        for finding in members:
            num_filters += _ask_filters(finding, might, columns, family, pieces, hashes)
        might = _combined(bound, findings, family.num_row_groups)
        if might.any():
            for finding in members:
                _ask_dictionaries(finding, might, family, pieces)
            might = _combined(bound, findings, family.num_row_groups)
    for file in pieces.failures:
        rows = slice(*family.rows[file : file + 2].tolist())
        might[rows] = True
        for finding in findings.values():
            finding.codes[rows] = _UNKNOWN
    return Findings(might, tuple(findings.values()), num_filters)


def _combined(bound: Bound, findings: dict[int, Finding], count: int) -> Flags:
    finding = findings.get(id(bound))
    if finding is not None:
        return finding.might
    if isinstance(bound, AllOf):
        might = np.ones(count, np.bool_)
        for part in bound.parts:
            might &= _combined(part, findings, count)
        return might
    might = np.zeros(count, np.bool_)
    for part in bound.parts if isinstance(bound, AnyOf) else ():
        might |= _combined(part, findings, count)
    return might


# Footers.


def _by_footer(atom: Atom, columns: dict[Leaf, Column], family: Family) -> Finding:
    count = family.num_row_groups
    if isinstance(atom, Undecided):
        return Finding(atom, np.full(count, _UNKNOWN), default_reason=atom.reason)
    if isinstance(atom, Never):
        return Finding(atom, np.full(count, _NOT_BY_LITERAL), default_reason=atom.reason)
    column = columns[atom.leaf]
    keys = None
    if isinstance(atom, Members):
        keys = _key_range(atom, column)
        known, possible = column.bounds.known, keys[1] > keys[0]
    else:
        known, possible = _JUDGES[type(atom)](atom, column)
    if not isinstance(atom, Nulls | Differs):
        no_values = column.has_no_values
        if no_values.any():
            known, possible = known | no_values, possible & ~no_values
    codes = np.where(possible, _MIGHT_BY_STATISTICS, _FIRST_NOT)
    codes[~known] = _UNKNOWN
    return Finding(atom, codes, default_reason=_why_unknown(atom), keys=keys)


def _why_unknown(atom: Atom) -> str:
    if isinstance(atom, Interval) and atom.matches_nan:
        return "NaN may be among the values, which some readers take to be greater than any other"
    if isinstance(atom, Nulls | NotNull):
        return "nulls are not counted"
    return "there are no statistics to go by"


Judgement = tuple["Flags", "Flags"]
"""Whether statistics say anything about each row group, and whether by them it might match."""


def _key_range(atom: Members, column: Column) -> KeyRange:
    """The keys within the bounds of each row group: from the first, up to before the last."""
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
    """Whether a key beyond a maximum may be so only because the maximum was cut short."""
    return isinstance(key, bytes) and isinstance(high, bytes) and key.startswith(high)


def _judge_interval(atom: Interval, column: Column) -> Judgement:
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


def _judge_differs(atom: Differs, column: Column) -> Judgement:
    bounds = column.bounds
    same = bounds.known & (bounds.low == bounds.high) & (column.num_nulls == 0)
    possible = np.ones(len(same), np.bool_)
    for row in np.flatnonzero(same).tolist():
        low = bounds.low[row]
        possible[row] = low not in atom.keys or _may_be_cut_short(low, atom.leaf)
    return bounds.known, possible


def _may_be_cut_short(bound: Key, leaf: Leaf) -> bool:
    """Whether different values may have this as their minimum and maximum."""
    return isinstance(bound, bytes) and len(bound) != leaf.type_length


def _judge_nulls(_atom: Nulls, column: Column) -> Judgement:
    return column.num_nulls >= 0, column.num_nulls != 0


def _judge_not_null(_atom: NotNull, column: Column) -> Judgement:
    known = column.num_nulls >= 0
    return known, np.ones_like(known)


_JUDGES: dict[type, Callable[[Any, Column], Judgement]] = {
    Interval: _judge_interval,
    Differs: _judge_differs,
    Nulls: _judge_nulls,
    NotNull: _judge_not_null,
}


# Filters and dictionaries.


def _can_be_probed(atom: Atom) -> bool:
    return isinstance(atom, Members) and atom.plains is not None


def _ask_filters(  # noqa: PLR0913, PLR0917  the state of one evaluation
    finding: Finding,
    might: Flags,
    columns: dict[Leaf, Column],
    family: Family,
    pieces: Pieces,
    hashes: Callable[[Members], Hashes],
) -> int:
    """Ask the filters about what statistics leave over; return how many were asked."""
    atom, keys = finding.atom, finding.keys
    assert isinstance(atom, Members)  # noqa: S101  for the type checker; see _can_be_probed
    assert keys is not None  # noqa: S101  likewise
    column = columns[atom.leaf]
    rows = np.flatnonzero(might & finding.might & (column.filter_offsets != ABSENT))
    if not len(rows):
        return 0
    first, last = keys
    of_atom = hashes(atom)
    questions = Questions(rows, of_atom.firsts[first[rows]], of_atom.firsts[last[rows]])
    places = family.places(atom.leaf, of_atom.dialect)
    is_news = not places.has_bits[rows].all()
    is_in = probe_filters(
        family, column, of_atom.hashes, questions, pieces, places, of_atom.of_drafts
    )
    if is_news:
        family.remember(atom.leaf, places, of_atom.dialect)
    trusted = places.sizes[rows] > 0
    finding.codes[rows[trusted & is_in]] = _MIGHT_BY_BLOOM
    finding.codes[rows[trusted & ~is_in]] = _NOT_BY_BLOOM
    if places.problems:
        for row in rows[places.sizes[rows] == DISTRUSTED].tolist():
            finding.reasons[row] = f"its filter is not trusted: {places.problems[row]}"
    return len(rows)


def _ask_dictionaries(
    finding: Finding,
    might: Flags,
    family: Family,
    pieces: Pieces,
) -> None:
    """Ask the dictionaries where no filter gave an answer."""
    atom = finding.atom
    assert isinstance(atom, Members)  # noqa: S101  for the type checker; see _can_be_probed
    open_ = might & (finding.codes <= _MIGHT_BY_STATISTICS)
    if not open_.any() or atom.plains is None or finding.keys is None:
        return
    first, last = finding.keys
    starts = family.rows.tolist()
    for file, (start, stop) in enumerate(pairwise(starts)):
        rows = start + np.flatnonzero(open_[start:stop])
        if not len(rows) or file in pieces.failures:
            continue
        footer = family.files[file].footer()
        for row in rows.tolist():
            plains = [way for ways in atom.plains[first[row] : last[row]] for way in ways]
            _ask_dictionary(finding, row, footer, row - start, plains, pieces, file)


def _ask_dictionary(  # noqa: PLR0913, PLR0917  one row group of one file
    finding: Finding,
    row: int,
    footer: Footer,
    row_group: int,
    plains: list[bytes],
    pieces: Pieces,
    file: int,
) -> None:
    from parquet_bloomwriter.probing.dictionary import holds_any

    atom = finding.atom
    assert isinstance(atom, Members)  # noqa: S101  for the type checker; see _can_be_probed
    try:
        found = holds_any(
            footer,
            row_group,
            atom.leaf,
            plains,
            lambda start, stop: pieces.read_at(file, start, stop),
        )
    except (BloomwriterError, OSError) as error:
        pieces.failures[file] = error
        return
    if found is not None:
        finding.codes[row] = Code.MIGHT_BY_DICTIONARY if found else Code.NOT_BY_DICTIONARY
