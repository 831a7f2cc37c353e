"""What must hold of a file that lost bytes, whatever verb is used on it.

Too short, it is refused by a typed error and left as it is. If its footer is there, a verb is right
or refuses: a row group whose pages are all there is not ruled out for a value that it holds, and
what is rewritten reads as it did before, for pyarrow, its filters holding every value read.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from campaigns.hostile.filters_files import spots_of
from campaigns.hostile.filters_judge import REFUSED, RIGHT, UNSURE, Wrong, check_message
from parquet_bloomwriter import bloomify, inspect, read_table, strip, verify
from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.predicate.expression import And, Comparison
from parquet_bloomwriter.verbs.probe import probe
from tests.support import compact
from tests.support.split_block import ReferenceFilter
from tests.verbs.files import listing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from campaigns.hostile.filters_files import Spot
    from campaigns.hostile.truncation_files import Cut

_PYARROW_REFUSES = (pa.ArrowException, OSError, ValueError, EOFError)
_ON_DISK = 5
"""One in so many is rewritten on disk."""


def judge_cut(cut: Cut, number: int, scratch: Path) -> str:
    """Use the verb whose turn it is.

    Raises:
        Wrong: If anything is not as it must be.
    """
    turn, rest = divmod(number, _ON_DISK)
    names = tuple(VERBS)
    name = names[turn % len(names)]
    try:
        if rest == 0 and name in REWRITING:
            return _rewritten_on_disk(cut, REWRITING[name], scratch)
        return VERBS[name](cut)
    except BloomwriterError as error:
        check_message(error)
        return REFUSED


def _rewritten_on_disk(cut: Cut, verb: Callable[..., object], scratch: Path) -> str:
    """In place: the file is a new version, or as it was, and there is no other beside it."""
    folder = scratch / "cut"
    folder.mkdir(exist_ok=True)
    path = folder / "cut.parquet"
    path.write_bytes(cut.data)
    try:
        verb(path)
    except BloomwriterError as error:
        check_message(error)
        if listing(folder) != {path.name: cut.data}:
            raise Wrong(f"{error}, but the folder is not as it was") from error
        return REFUSED
    if set(listing(folder)) != {path.name}:
        raise Wrong("other files are left")
    _must_read_the_same(cut.data, path.read_bytes())
    return RIGHT


def _probe(cut: Cut) -> str:
    outcomes = {_probed(cut, spot) for spot in cut.small.file.spots if spot.values}
    if not cut.small.file.spots:
        inspect(cut.data)
        return RIGHT
    return next((one for one in (REFUSED, UNSURE) if one in outcomes), RIGHT)


def _probed(cut: Cut, spot: Spot) -> str:
    conditions = tuple(Comparison(spot.column, "=", value) for value in spot.values)
    (found,) = probe(cut.data, And(conditions)).files
    if found.error is not None:
        check_message_of(found.error)
        return REFUSED
    if spot.chunk[0] in found.surviving or not cut.is_whole(spot.chunk):
        return RIGHT
    if _lacks_bits(cut.data, spot):
        return UNSURE
    raise Wrong(f"row group {spot.chunk[0]} is ruled out for one of {spot.values!r}")


def check_message_of(error: BaseException) -> None:
    """The same for an error that is in a report."""
    if isinstance(error, BloomwriterError):
        check_message(error)


def _lacks_bits(data: bytes, spot: Spot) -> bool:
    """Whether there is a filter in order that lacks values: its bits were cut, not its header."""
    stop = spot.stop
    try:
        found = ReferenceFilter.parse(data[spot.offset : stop])
    except (ValueError, EOFError):
        return False
    return not all(found.contains(plain) for plain in spot.plains)


def _inspect(cut: Cut) -> str:
    inspect(cut.data)
    return RIGHT


def _verify(cut: Cut) -> str:
    verify(cut.data, jobs=1, absent=10)
    return RIGHT


def _bloomify(cut: Cut) -> str:
    new = bloomify(cut.data, jobs=1, fpp=0.1).data or cut.data
    if _must_read_the_same(cut.data, new):
        _must_hold_what_is_read(cut.data, new)
    return RIGHT


def _must_hold_what_is_read(old: bytes, new: bytes) -> None:
    """Every new filter holds what pyarrow reads.

    A filter that was kept may lack bits, if they were lost where the run does not look: only
    `verify` finds that out.
    """
    places = compact.filters_of(compact.footer_of(old)).items()
    kept = {chunk: old[start : start + (length or 0)] for chunk, (start, length) in places}
    sound = {
        (one.row_group, one.ordinal)
        for column in inspect(new).columns
        for one in column.filters
        if one.problem is None
    }
    for spot in spots_of(new, sound):
        bits = new[spot.offset : spot.stop]
        filter_ = ReferenceFilter.parse(bits)
        if bits != kept.get(spot.chunk) and not all(map(filter_.contains, spot.plains)):
            raise Wrong(f"values are missing from the filter of {spot.chunk}")


def _strip(cut: Cut) -> str:
    new = strip(cut.data).data or cut.data
    if compact.filters_of(compact.footer_of(new)):
        raise Wrong("filters are left")
    _must_read_the_same(cut.data, new)
    return RIGHT


def _read_table(cut: Cut) -> str:
    """What pyarrow reads, where it reads the file."""
    expected = _table(cut.data)
    try:
        found = read_table(pa.BufferReader(cut.data), use_threads=False)
    except _PYARROW_REFUSES:
        if expected is not None:
            raise
        return REFUSED
    if expected is None or not _same(expected, found):
        raise Wrong("read_table reads another table than pyarrow")
    return RIGHT


def _must_read_the_same(old: bytes, new: bytes) -> bool:
    """Whether pyarrow reads both versions; what it reads is the same.

    Raises:
        Wrong: If it reads one only, or another table.
    """
    before, after = _table(old), _table(new)
    if (before is None) != (after is None) or (before and after and not _same(before, after)):
        raise Wrong("the new version reads as another table")
    return before is not None


def _same(one: pa.Table, other: pa.Table) -> bool:
    """Equal, or equal to the byte: NaN is not equal to itself."""
    return one.equals(other) or _encoded(one) == _encoded(other)


def _encoded(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table.combine_chunks())
    return bytes(sink.getvalue())


def _table(data: bytes) -> pa.Table | None:
    try:
        return pq.read_table(io.BytesIO(data), use_threads=False)
    except _PYARROW_REFUSES:
        return None


VERBS: Final[dict[str, Callable[[Cut], str]]] = {
    "probe": _probe,
    "inspect": _inspect,
    "bloomify": _bloomify,
    "verify": _verify,
    "strip": _strip,
    "read_table": _read_table,
}
REWRITING: Final[dict[str, Callable[..., object]]] = {"bloomify": bloomify, "strip": strip}
