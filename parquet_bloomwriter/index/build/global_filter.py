"""The filter of all values of a column: partial filters of groups of files, joined in the end.

Each group of files puts the hashes of its values into a partial filter. All partial filters have
the same size, which is large enough for the values of the whole table. Their OR is the filter of
the table, and is folded to the rate asked for.

Filters of other sizes, from files and from older versions of an index, can be joined too: see
`sbbf.union`. The exact FPP of the union decides whether it is of any use.
"""

# ruff: noqa: PTH120  paths are strings, as in the entries
from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.index.engine import PartialFilter, PartInfo
from parquet_bloomwriter.index.entry import damaged
from parquet_bloomwriter.index.format.filter_file import open_filter, write_filter
from parquet_bloomwriter.sbbf import Sbbf
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.sizing import MAX_BYTES
from parquet_bloomwriter.sbbf.union import FilterUnion
from parquet_bloomwriter.text import percent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.entry import IndexFile

MAX_USEFUL_RATE = 0.5
"""A filter with a higher FPP is not written: it would be of no use."""

_PIECE_BYTES = 4 << 20
_WORD_BYTES = 4
_SLACK = 1.25
"""A filter may reach this multiple of its lowest possible FPP, if it can then be folded further."""


class Partial:
    """A partial filter: the values of one column in one group of files. Not safe in threads."""

    def __init__(self, num_blocks: int) -> None:
        """Prepare a filter of `num_blocks`, a power of two."""
        self._num_blocks = num_blocks
        self._union = FilterUnion(num_blocks * BYTES_PER_BLOCK)

    def insert(self, hashes: NDArray[np.uint64]) -> None:
        """Insert the hashes of values."""
        Sbbf(self._union.of_size(self._num_blocks)).insert_hashes(hashes)

    def add(self, bits: Sbbf) -> None:
        """Add the values of a filter."""
        self._union.add(bits.blocks)

    def in_memory(self, column: str) -> PartialFilter:
        """Return the filter as a value in memory; may be called once."""
        return PartialFilter(column=column, bits=self._union.joined())

    def write(self, version_folder: str, column: str) -> PartInfo:
        """Write the filter to a temporary file for the join of filters; may be called once.

        Raises:
            OSError: If the filter cannot be written.
        """
        file = write_filter(version_folder, column, self._union.joined(), is_kept=False)
        return PartInfo(column=column, file=file, num_rows=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """The filter of all values of a column, written to a file."""

    file: IndexFile
    fpp: float
    """Exact FPP of this filter."""

    ndv: int
    """Estimated number of distinct values."""


FROM_VALUES = "an index made from values, with enough expected items, has one"
"""Remedy to name in messages, when the filters of files are too full to be joined."""


def merge_partials(
    filters: Iterable[IndexFile | Sbbf], fpp: float, *, version_folder: str, column: str
) -> Merged | str:
    """Join filters in one, and write it as `_global-<uuid>.bloom`.

    Files are read one after the other. An older filter of all values may be among them.

    Args:
        filters: Files of the index that hold filters, or filters, which may be changed.
        fpp: Rate asked for. The result is folded as far as this rate allows; if its rate is higher
            already, as far as makes little difference.
        version_folder: `v__=N`, absolute.
        column: The indexed column's name.

    Returns:
        The filter that was written; or why there is none, a clause.

    Raises:
        IndexProblem: If a file holds no filter.
        OSError: If a filter cannot be read, or the result not be written.
    """
    union, folder = FilterUnion(MAX_BYTES), os.path.dirname(version_folder)
    for one in filters:
        if isinstance(one, Sbbf):
            union.take(one.blocks)
        else:
            _add_file(union, folder, one)
    ndv, joined = union.estimated_ndv(), union.joined()
    rate = joined.exact_fpp()
    if not ndv:
        return "the column has no values"
    if rate > MAX_USEFUL_RATE or not math.isfinite(ndv):
        return (
            f"made of the files' own filters, it would let {percent(rate)} of all absent values "
            f"pass; {FROM_VALUES}"
        )
    folded = joined.fold_to_target_fpp(max(fpp, min(_SLACK * rate, MAX_USEFUL_RATE)))
    file = write_filter(version_folder, column, folded, is_kept=True)
    return Merged(file=file, fpp=folded.exact_fpp(), ndv=max(1, round(ndv)))


def _add_file(union: FilterUnion, folder: str, file: IndexFile) -> None:
    """Add the filter in a file to a union, read in pieces."""
    with open_filter(folder, file) as (source, header):
        num_blocks = header.num_bytes // BYTES_PER_BLOCK
        if num_blocks & (num_blocks - 1) or header.num_bytes > MAX_BYTES:
            raise damaged(source.name, "it is no filter of all values")
        words = union.of_size(num_blocks).reshape(-1)
        for start in range(0, header.num_bytes, _PIECE_BYTES):
            stop = min(start + _PIECE_BYTES, header.num_bytes)
            data = source.read_at(header.length + start, header.length + stop)
            words[start // _WORD_BYTES : stop // _WORD_BYTES] |= np.frombuffer(data, "<u4")
