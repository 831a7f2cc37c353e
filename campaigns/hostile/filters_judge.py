"""What must hold of a file with damaged filters, whatever verb is used on it.

A verb is right, or it refuses with an error of the package's own: one line, printable. A row group
that holds the value asked for is never ruled out, with one exception, which is counted: a filter
that is in order by its header and lengths, but lacks the value's bits. Nobody can tell that from a
value that was never there; only `verify`, which has the values, does.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from campaigns.hostile.filters_files import filtered
from parquet_bloomwriter import bloomify, inspect, read_table, repair, strip, verify
from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.predicate.expression import And, Comparison
from parquet_bloomwriter.probing.verdict import Evidence
from parquet_bloomwriter.reports.verification import CheckStatus
from parquet_bloomwriter.verbs.bloom_file import BloomFile
from parquet_bloomwriter.verbs.probe import probe
from tests.support import compact
from tests.support.split_block import ReferenceFilter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from campaigns.hostile.filters_files import Filtered, Spot

RIGHT, REFUSED, UNSURE = "right", "refused", "undetected without the data"
_SMALL_BYTES = 10_000
"""Files up to this size are read again whenever they were rewritten."""

_ABSENT_TRIES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A file with a damaged filter."""

    base: Filtered
    """What it was made of."""

    data: bytes
    spot: Spot
    """The filter that was damaged, as it was before."""

    may_lack_bits: bool = False
    """Whether the damage is of bits, or of all numbers together, so that nothing contradicts it."""


class Wrong(AssertionError):
    """Something that must not be."""


def judge(case: Case, verb: str, scratch: Path) -> str:
    """Ask about the values of the damaged filter, and use one verb besides.

    Raises:
        Wrong: If anything is not as it must be.
    """
    try:
        outcome = _asked(case, case.data, case.spot)
        if verb == "probe on disk":
            path = scratch / "case.parquet"
            path.write_bytes(case.data)
            _asked(case, path, case.spot)
        else:
            _VERBS[verb](case)
    except BloomwriterError as error:
        check_message(error)
        return REFUSED
    return outcome


def check_message(error: BloomwriterError) -> None:
    """An error is one line that can be shown.

    Raises:
        Wrong: If it is not.
    """
    if not str(error).isprintable():
        raise Wrong(f"an error of several lines: {str(error)!r}")


def _asked(case: Case, source: bytes | Path, spot: Spot) -> str:
    """Whether the row group survives every question for a value that it holds."""
    if not spot.values:
        return RIGHT
    row_group, _ = spot.chunk
    conditions = tuple(Comparison(spot.column, "=", value) for value in spot.values)
    (found,) = probe(source, And(conditions)).files
    with BloomFile(source) as file:
        might = file.might_contain(spot.column, list(spot.values), row_group=row_group)
    for check in found.row_groups[row_group].checks if row_group < found.num_row_groups else ():
        if check.evidence is Evidence.NONE and not check.reason:
            raise Wrong("nothing is known, and no reason is given")
    if row_group in found.surviving and np.all(might):
        return RIGHT
    if not _only_filters_differ(case):
        return UNSURE
    if case.may_lack_bits and _lacks_bits(case.data, spot):
        return UNSURE
    raise Wrong(f"row group {row_group} is ruled out for one of {spot.values!r}, which it holds")


def _only_filters_differ(case: Case) -> bool:
    """Whether the footer says of all but filters what it said before."""
    old, new = (_without_filters(data) for data in (case.base.data, case.data))
    return old == new


@lru_cache(maxsize=64)
def _without_filters(data: bytes) -> compact.Struct:
    footer = compact.footer_of(data)
    for chunk in compact.chunks_of(footer).values():
        for field in (compact.BLOOM_FILTER_OFFSET, compact.BLOOM_FILTER_LENGTH):
            chunk[compact.META_DATA].pop(field, None)
    return footer


def reference(data: bytes, spot: Spot) -> ReferenceFilter | None:
    """The filter that the footer points to, if nothing contradicts it."""
    offset, length = compact.filters_of(compact.footer_of(data))[spot.chunk]
    length = None if length == -(2**63) else length  # which the package takes for none
    header, header_bytes = compact.decode(data[offset : offset + 64])
    whole = header_bytes + header[1]
    if length not in (None, whole) or offset + whole > compact.footer_start(data):
        return None
    return ReferenceFilter.parse(data[offset : offset + whole])


def _lacks_bits(data: bytes, spot: Spot) -> bool:
    found = reference(data, spot)
    return found is not None and not all(found.contains(plain) for plain in spot.plains)


def _verify(case: Case) -> None:
    """A filter that passes holds every value."""
    report = verify(case.data, jobs=1, absent=_ABSENT_TRIES)
    if case.spot.is_draft or not _only_filters_differ(case):
        return
    for check in report.checks:
        if (check.row_group, check.ordinal) == case.spot.chunk and check.status is CheckStatus.OK:
            found = reference(case.data, case.spot)
            if found is None or not all(found.contains(plain) for plain in case.spot.plains):
                raise Wrong("verify passes a filter that lacks values")


def _bloomify(case: Case) -> None:
    """Old filters are kept only if they hold every value, and all others are built anew."""
    new = bloomify(case.data, jobs=1).data or case.data
    repaired = Case(base=case.base, data=new, spot=case.spot)
    if _only_filters_differ(case):
        for spot in case.base.spots:
            _asked(repaired, new, spot)
    _must_read_the_same(case, new)


def _strip(case: Case) -> None:
    new = strip(case.data).data or case.data
    if compact.filters_of(compact.footer_of(new)):
        raise Wrong("filters are left")
    _must_read_the_same(case, new)


def _repair(case: Case) -> None:
    new = repair(case.data).data or case.data
    _asked(
        Case(base=case.base, data=new, spot=case.spot, may_lack_bits=case.may_lack_bits),
        new,
        case.spot,
    )
    _must_read_the_same(case, new)


def _read_table(case: Case) -> None:
    """Rows that pass are found, as if there were no filters."""
    name = leaf_name(case.base.name, case.spot.chunk[1])
    if not case.spot.values or name is None or not _only_filters_differ(case):
        return
    filters = [(name, "=", case.spot.values[0])]
    expected = _rows(case.base.name, name, case.spot.values[0])
    if expected is None:
        return
    found = read_table(pa.BufferReader(case.data), filters=filters, use_threads=False).num_rows
    if found < expected and not case.may_lack_bits:
        raise Wrong(f"read_table finds {found} rows of {filters}")


@cache
def leaf_name(name: str, ordinal: int) -> str | None:
    """A column's name, if it is not nested."""
    path = pq.ParquetFile(io.BytesIO(filtered(name).data)).schema.column(ordinal).path
    return None if "." in path else str(path)


@cache
def _rows(name: str, column: str, value: object) -> int | None:
    """Rows with that value; None if pyarrow cannot compare with it."""
    try:
        table = pq.read_table(io.BytesIO(filtered(name).data), filters=[(column, "=", value)])
    except pa.ArrowException:
        return None
    return int(table.num_rows)


@cache
def _table(name: str) -> pa.Table:
    return pq.read_table(io.BytesIO(filtered(name).data), use_threads=False)


def _must_read_the_same(case: Case, new: bytes) -> None:
    """Data were not touched: pyarrow reads of the new version what it read of the base."""
    if len(new) > _SMALL_BYTES or not _only_filters_differ(case):
        return
    if not pq.read_table(io.BytesIO(new), use_threads=False).equals(_table(case.base.name)):
        raise Wrong("the new version holds another table")


def _inspect(case: Case) -> None:
    for filters in inspect(case.data).columns:
        for one in filters.filters:
            if one.problem is not None and not one.problem.isprintable():
                raise Wrong(f"a problem of several lines: {one.problem!r}")


_VERBS: Final[dict[str, Callable[[Case], None]]] = {
    "inspect": _inspect,
    "verify": _verify,
    "bloomify": _bloomify,
    "strip": _strip,
    "repair": _repair,
    "read_table": _read_table,
}
VERBS: Final = (*_VERBS, "probe on disk")


_CHEAP: Final = tuple(verb for verb in VERBS if verb not in ("verify", "bloomify"))


def verb_in_turn(number: int) -> str:
    """The verb of a try; those that read all values come less often."""
    turn, rest = divmod(number, 3)
    return VERBS[turn % len(VERBS)] if rest == 0 else _CHEAP[turn % len(_CHEAP)]
