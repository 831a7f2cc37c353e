"""Look up every value of a column chunk in its filter."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.hashing import hash_array, hash_plain
from parquet_bloomwriter.reports.verification import MissingValue
from parquet_bloomwriter.values import floating_dtype, has_odd_instants

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_bloomwriter.hashing import HashKind
    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.sbbf import Sbbf
    from parquet_bloomwriter.values import LeafReader

_SHOWN = 5
"""Most missing values that are shown."""

_SHOWN_BYTES = 40
"""Most bytes that are shown of a missing value."""


@dataclass(slots=True, kw_only=True)
class Lookups:
    """The result of looking up the values of a column chunk."""

    num_values: int = 0
    num_missing: int = 0
    shown: dict[str, str] = field(default_factory=dict)
    """First missing values as text, by hash."""

    has_zero: bool = False
    has_nan: bool = False
    has_odd_instants: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[MissingValue, ...]:
        """The first distinct missing values."""
        return tuple(MissingValue(text=text, hash=hash_) for hash_, text in self.shown.items())


def look_up(
    bits: Sbbf, reader: LeafReader, leaf: Leaf, row_group: int, *, kind: HashKind
) -> Lookups:
    """Look up every value of one column chunk.

    Raises:
        OSError, pyarrow.ArrowException: If a page cannot be read.
    """
    found = Lookups()
    dtype = floating_dtype(leaf)
    for array in reader.batches(row_group):
        hashes = hash_array(array, kind)
        if not len(hashes):
            continue
        valid = array.drop_null() if array.null_count else array
        found.num_values += len(hashes)
        if not bits.contains_all(hashes):
            _note_missing(found, valid, hashes, np.flatnonzero(~bits.check_hashes(hashes)))
        found.has_odd_instants |= has_odd_instants(leaf, valid)
        if dtype is not None:
            values = np.frombuffer(valid.buffers()[1], dtype)[valid.offset :][: len(valid)]
            found.has_zero |= bool((values == 0).any())
            found.has_nan |= bool(np.isnan(values).any())
    found.warnings = tuple(_warnings(found, bits, dtype, kind))
    return found


def _note_missing(
    found: Lookups, valid: pa.Array, hashes: NDArray[np.uint64], places: NDArray[np.intp]
) -> None:
    """Count the missing values, which are at `places`, and keep the first few."""
    found.num_missing += len(places)
    for place in places.tolist():
        if len(found.shown) == _SHOWN:
            break
        hash_ = f"{int(hashes[place]):016x}"
        if hash_ not in found.shown:
            found.shown[hash_] = _text(valid[place].as_py())


def _warnings(
    found: Lookups, bits: Sbbf, dtype: type[np.floating] | None, kind: HashKind
) -> Iterator[str]:
    """Yield warnings of lookups by readers that do not find values of the chunk."""

    def lacks(value: float) -> bool:
        return not bits.check_hash(hash_plain(np.array(value, dtype).tobytes(), kind))

    if found.has_zero and (lacks(0.0) or lacks(-0.0)):
        yield "0.0 and -0.0 are equal, but only one of them is in it"
    if found.has_nan and lacks(np.nan):
        yield "there are NaNs, but the canonical one is not in it"
    if found.has_odd_instants:
        yield "INT96 timestamps have nanoseconds that are not of their day: readers see another day"


def _text(value: float | bytes) -> str:
    """Return a stored value as a literal."""
    if not isinstance(value, bytes):
        return repr(value)
    cut = value[:_SHOWN_BYTES]
    is_cut = len(cut) < len(value)
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(cut, final=not is_cut)
    except UnicodeDecodeError:
        text = ""
    is_text = text.isprintable() and (text or not value)
    quoted = "'" + text.replace("'", "''") + "'" if is_text else f"x'{cut.hex()}'"
    return quoted + ("..." if is_cut else "")
