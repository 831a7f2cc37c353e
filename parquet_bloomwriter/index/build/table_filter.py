"""The filter of all values of a column: gathered by groups, joined in the end.

Each group of files puts the hashes of its values into a filter that is large enough for those of
the whole table, all groups into filters of one size. Their OR is the filter of the table, and is
folded to the rate asked for.

Filters of other sizes, as files have them and as older versions of an index do, can be joined too:
see `sbbf.union`. The exact rate of the union says whether it is of any use.
"""

# ruff: noqa: PTH118  paths are strings, as in the entries
from __future__ import annotations

import math
import os
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.durable import make_folders, sync_folder
from parquet_bloomwriter.errors import IndexProblem, MalformedFilter
from parquet_bloomwriter.index.engine import PartInfo
from parquet_bloomwriter.index.format.part_writer import column_folder, relative_path
from parquet_bloomwriter.index.log.entry import IndexFile
from parquet_bloomwriter.replace.copying import write_all
from parquet_bloomwriter.sbbf import Sbbf, decode_header, encode_header
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.sizing import MAX_BYTES
from parquet_bloomwriter.sbbf.union import FilterUnion
from parquet_bloomwriter.source.local import open_local
from parquet_bloomwriter.text import percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

MAX_USEFUL_RATE = 0.5
"""A filter that lets more pass is of no use."""

_PIECE_BYTES = 4 << 20
_MAX_HEADER_BYTES = 64
_WORD_BYTES = 4
_SLACK = 1.25
"""How much a filter may be worse than it need be, if half the size then does."""


class Partial:
    """The values of one column in one group of files. Not for two threads at once."""

    def __init__(self, num_blocks: int) -> None:
        """Prepare a filter of that many blocks, a power of two."""
        self._num_blocks = num_blocks
        self._union = FilterUnion(num_blocks * BYTES_PER_BLOCK)

    def insert(self, hashes: NDArray[np.uint64]) -> None:
        """Insert the hashes of values."""
        Sbbf(self._union.of_size(self._num_blocks)).insert_hashes(hashes)

    def add(self, bits: Sbbf) -> None:
        """Add what a filter contains."""
        self._union.add(bits.blocks)

    def write(self, version_folder: str, column: str) -> PartInfo:
        """Write the filter, and be done; it is of use until it is joined with others.

        Raises:
            OSError: If it cannot be written.
        """
        file = _write(version_folder, column, self._union.joined(), is_kept=False)
        return PartInfo(column=column, file=file, num_rows=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A filter of all values that was written."""

    file: IndexFile
    fpp: float
    """Exact rate of this very filter."""

    ndv: int
    """Distinct values, estimated."""


def merge_partials(
    filters: Iterable[str], fpp: float, *, version_folder: str, column: str
) -> Merged | str:
    """Join filters in one, and write it as `global-<uuid>.bloom`.

    They are read one after the other. An older filter of all values may be among them.

    Args:
        filters: Absolute paths of files with header and bitset.
        fpp: Rate asked for. The result is folded as far as that allows, or, if it is beyond it
            already, as far as makes little difference.
        version_folder: `v__=N`, absolute.
        column: The indexed column's name.

    Returns:
        What was written; or why nothing was, a clause.

    Raises:
        IndexProblem: If a file holds no filter.
        OSError: If one cannot be read, or the result not be written.
    """
    union = FilterUnion(MAX_BYTES)
    for path in filters:
        _add_file(union, path)
    ndv, joined = union.estimated_ndv(), union.joined()
    rate = joined.exact_fpp()
    if not ndv:
        return "the column has no values"
    if rate > MAX_USEFUL_RATE or not math.isfinite(ndv):
        return (
            f"it would let {percent(rate)} of all absent values pass: there are too many values, "
            "or they come from filters that were made for single row groups"
        )
    folded = joined.fold_to_target_fpp(max(fpp, min(_SLACK * rate, MAX_USEFUL_RATE)))
    file = _write(version_folder, column, folded, is_kept=True)
    return Merged(file=file, fpp=folded.exact_fpp(), ndv=max(1, round(ndv)))


def extend(
    old: str, partials: Sequence[str], fpp: float, *, version_folder: str, column: str
) -> Merged | str:
    """Add the values of new files to the filter of the files so far; see `merge_partials`.

    The old file stays as it is.
    """
    return merge_partials([old, *partials], fpp, version_folder=version_folder, column=column)


def _add_file(union: FilterUnion, path: str) -> None:
    """Add the filter of a file, read in pieces."""
    with open_local(path) as source:
        try:
            header = decode_header(source.read_at(0, min(_MAX_HEADER_BYTES, source.size)))
        except MalformedFilter as error:
            raise _broken(path, error.problem) from error
        num_blocks = header.num_bytes // BYTES_PER_BLOCK
        is_ours = header.unsupported is None and header.compression is not None
        if not is_ours or num_blocks & (num_blocks - 1) or header.num_bytes > MAX_BYTES:
            raise _broken(path, "it is no filter of all values")
        if source.size != header.filter_length:
            raise _broken(path, f"its {source.size} bytes are not those of its filter")
        words = union.of_size(num_blocks).reshape(-1)
        for start in range(0, header.num_bytes, _PIECE_BYTES):
            stop = min(start + _PIECE_BYTES, header.num_bytes)
            data = source.read_at(header.length + start, header.length + stop)
            words[start // _WORD_BYTES : stop // _WORD_BYTES] |= np.frombuffer(data, "<u4")


def _broken(path: str, problem: str) -> IndexProblem:
    return IndexProblem(problem, path=path, remedy="Refresh the index in full.")


def _write(version_folder: str, column: str, bits: Sbbf, *, is_kept: bool) -> IndexFile:
    """Write a file of a new name; bring it to the disk if it is kept."""
    folder = column_folder(version_folder, column)
    make_folders(folder)
    kind = "global" if is_kept else "partial"
    path = os.path.join(folder, f"{kind}-{uuid.uuid4()}.bloom")
    header = encode_header(bits.num_bytes)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        write_all(fd, header)
        write_all(fd, bits.blocks.data.cast("B"))
        if is_kept:
            os.fsync(fd)
    finally:
        os.close(fd)
    if is_kept:
        sync_folder(folder)
    return IndexFile(path=relative_path(version_folder, path), size=len(header) + bits.num_bytes)
