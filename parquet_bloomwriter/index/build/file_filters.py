"""The filters of one data file, all built from the same state of the file.

    is the file as it was listed?  ->  read it  ->  is it unchanged?

If it has changed, the index gets no filters of the file. An error in reading the file is a reason
why it has no filters, not a failure: queries read a file that an index does not know.

Filters are built from the values, or taken from the file without reading its data.

From the values: the filter is made large enough for every value to be different, and folded to the
smallest size whose exact rate is within the rate asked for. Each value is hashed once and goes into
two filters: that of the file, and the partial filter of the whole table. Of a row group that is
dictionary-encoded throughout, only the dictionary page is read.

From the file: the filter of a row group stays a filter of its own. The union of several filters in
the same size would let nearly all values pass. A filter is taken only if no check fails, and if it
holds all values that readers treat as equal: both zeros or none, and the canonical NaN, because it
is not known whether the column has NaNs. So filters of floating-point columns are rarely taken.
"""

# ruff: noqa: PTH116  paths are strings, as in the entries
from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.errors import BloomwriterError, FileChanged, raise_if_final
from parquet_bloomwriter.filters.build import distinct_values, hashes_of, plausible_values
from parquet_bloomwriter.filters.stored import filters_of_columns, read_all_bits
from parquet_bloomwriter.hashing import XXHASH, hash_plain
from parquet_bloomwriter.index.files import FileId, LoggedFile, identity, settled
from parquet_bloomwriter.index.format.columns import find_column, why_unreadable
from parquet_bloomwriter.index.format.part_writer import UNKNOWN, WHOLE_FILE
from parquet_bloomwriter.index.storage.base import storage_of
from parquet_bloomwriter.index.table.data_files import open_data_file
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.sbbf import Sbbf, initial_num_blocks
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.sizing import MAX_BYTES, MIN_BYTES
from parquet_bloomwriter.source import read_footer
from parquet_bloomwriter.source.local import open_local
from parquet_bloomwriter.text import words_of
from parquet_bloomwriter.values import LeafReader, floating_dtype

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.filters.stored import StoredFilter
    from parquet_bloomwriter.index.build.global_filter import Partial
    from parquet_bloomwriter.index.engine import ColumnPlan, Origin
    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.sbbf import Sizing
    from parquet_bloomwriter.source import Source
    from parquet_bloomwriter.values import DictionaryPage

_SMALL_BLOCKS = 1 << 12
"""A filter of at most this many blocks may turn out too small by chance, and so may a filter whose
number of values is known from dictionaries; such a filter is built at twice the size."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Filter:
    """A Bloom filter in an index: of a data file, or of one of its row groups."""

    row_group: int
    """0-based ordinal of the row group, or `WHOLE_FILE`."""

    bits: Sbbf | None
    """The bits of the filter; None if the file or row group has no values."""

    num_values: int
    """Number of inserted values, or `UNKNOWN`; if they come from a dictionary, the number of its
    entries."""

    ndv: int
    """Estimated number of distinct values, or `UNKNOWN`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FileFilters:
    """The filters of one column in one data file."""

    leaf: Leaf
    filters: tuple[Filter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterRequest:
    """The columns of a data file that get filters, and the source and the sizes of the filters."""

    columns: tuple[ColumnPlan, ...]
    origin: Origin
    partials: Mapping[str, Partial]
    """The partial filters of the whole table, by column name: a data file's values are inserted
    into these as well."""

    folder: str | None
    """Absolute path of the new version's folder; None: the filters stay in memory."""


def read_filters_of(
    path: str, file: FileId | None, request: FilterRequest
) -> dict[str, FileFilters | str] | None:
    """Read or build the filters of a file.

    Args:
        path: Absolute.
        file: The state that the file must be in; None: any.
        request: Which columns get filters, and how the filters are built.

    Returns:
        By column: the filters, or why there are none, a clause. None if the file is not, or no
        longer, in that state, or if a later change of it might not show.
    """
    if storage_of(path).is_remote:
        return _read_filters_of_object(path, file, request)
    before: os.stat_result | None = None
    found: dict[str, FileFilters | str]
    try:
        with open_local(path) as source:
            before = settled(source.fd, path, request.folder)
            if before is None or before.st_size != source.size or not _is_as_listed(before, file):
                return None
            found = _read(source, request)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except BaseException as error:  # noqa: BLE001  see the head of the module
        raise_if_final(error)
        found = dict.fromkeys((column.name for column in request.columns), clause(error))
    return found if _is_unchanged(path, before) else None


def _read_filters_of_object(
    path: str, file: FileId | None, request: FilterRequest
) -> dict[str, FileFilters | str] | None:
    """Read or build the filters of an object: all requests carry the ETag of the first."""
    from parquet_bloomwriter.index.table.objects import is_state_of

    try:
        with open_data_file(path) as source:
            if file is not None and not is_state_of(source, file):
                return None
            return _read(source, request)
    except (FileNotFoundError, FileChanged):
        return None
    except BaseException as error:  # noqa: BLE001  see the head of the module
        raise_if_final(error)
        return dict.fromkeys((column.name for column in request.columns), clause(error))


def clause(error: BaseException) -> str:
    """Return the message of an error without the path or place that it begins with, as a clause."""
    if isinstance(error, BloomwriterError):
        return error.problem
    if isinstance(error, OSError) and error.strerror and error.errno:
        return error.strerror
    return words_of(error)


def embedded_filters(
    source: Source, footer: Footer, leaf: Leaf, plan: ColumnPlan, partial: Partial | None
) -> list[Filter] | str:
    """Take a column's Bloom filters from a data file, without reading its values.

    Args:
        source: The file.
        footer: The file's footer.
        leaf: The column.
        plan: Limits: each filter is folded as far as its rate allows, and all together have at
            most the bytes that a file may have.
        partial: Gets all values of these filters.

    Returns:
        A filter for each row group; or why they cannot be taken, a clause.

    Raises:
        BloomwriterError, OSError: If a filter cannot be read.
    """
    counts = _num_values(footer, leaf)
    stored = {one.row_group: one for one in filters_of_columns(source, footer, {leaf.ordinal})}
    for row_group, count in enumerate(counts):
        problem = _problem_of(stored.get(row_group), count)
        if problem is not None:
            return f"row group {row_group}: {problem}"
    largest = _share(plan.max_bytes, len(counts))
    found = [empty(row_group) for row_group in range(len(counts))]
    for one, bits in read_all_bits(source, stored.values()):
        if bits is None or (not bits.blocks.any() and counts[one.row_group] != 0):
            return f"row group {one.row_group}: all bits are zero, though there are values"
        if not _knows_equals(bits, leaf):
            return f"row group {one.row_group}: other zeros and NaNs may be missing"
        if bits.blocks.any():
            found[one.row_group] = _taken(one, bits, counts[one.row_group], plan.fpp, largest)
            if partial is not None:
                partial.add(bits)
    return found if any(one.bits for one in found) else [empty()]


def value_filter(
    source: Source, footer: Footer, leaf: Leaf, plan: ColumnPlan, partial: Partial | None
) -> Filter:
    """Build one filter of all values of a column in a data file.

    Args:
        source: The file.
        footer: The file's footer.
        leaf: The column.
        plan: Rate and limits.
        partial: Gets every value.

    Raises:
        OSError, pyarrow.ArrowException: If a page cannot be read.
        BloomwriterError: If a hash that was inserted is not found again.
    """
    filter_: Sbbf | None = None
    inserted = 0
    reader = LeafReader(source, footer, leaf)
    dictionaries = [reader.dictionary(row_group) for row_group in range(footer.num_row_groups)]
    for hashes in _all_hashes(reader, leaf, dictionaries):
        if filter_ is None:
            filter_ = Sbbf.empty(_num_blocks(footer, leaf, plan, dictionaries))
        filter_.insert_hashes(hashes)
        if not filter_.contains_all(hashes):
            raise BloomwriterError("a value is missing from the filter it was put into")
        if partial is not None:
            partial.insert(hashes)
        inserted += len(hashes)
    if filter_ is None:
        return empty()
    return Filter(
        row_group=WHOLE_FILE,
        bits=filter_.fold_to_target_fpp(plan.fpp, max_bytes=plan.max_bytes),
        num_values=inserted,
        ndv=distinct_values(filter_, inserted),
    )


def empty(row_group: int = WHOLE_FILE) -> Filter:
    """Return the filter of a row group or file without values."""
    return Filter(row_group=row_group, bits=None, num_values=0, ndv=0)


def _is_as_listed(found: os.stat_result, file: FileId | None) -> bool:
    if isinstance(file, LoggedFile):
        return found.st_size == file.size
    return file is None or identity(file.path, found) == file


def _is_unchanged(path: str, before: os.stat_result | None) -> bool:
    """Return whether a path still leads to the same file, with the same content."""
    if before is None:
        return True  # The file could not be opened, so nothing was read.
    try:
        now = os.stat(path)
    except OSError:
        return False
    same = (now.st_size, now.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    return same and os.path.samestat(now, before)


def _read(source: Source, request: FilterRequest) -> dict[str, FileFilters | str]:
    footer = read_footer(source)
    return {column.name: _column(source, footer, column, request) for column in request.columns}


def _column(
    source: Source, footer: Footer, plan: ColumnPlan, request: FilterRequest
) -> FileFilters | str:
    leaf = find_column(footer, plan.name, plan.field_id)
    if isinstance(leaf, str):
        return leaf
    problem = why_unreadable(footer, leaf)
    if problem is not None:
        return problem
    try:
        found = _filters(source, footer, leaf, plan, request)
    except FileChanged:
        raise
    except BaseException as error:  # noqa: BLE001  as above
        raise_if_final(error)
        return clause(error)
    return found if isinstance(found, str) else FileFilters(leaf=leaf, filters=tuple(found))


def _filters(
    source: Source, footer: Footer, leaf: Leaf, plan: ColumnPlan, request: FilterRequest
) -> Sequence[Filter] | str:
    partial = request.partials.get(plan.name)
    if request.origin != "values":
        found = embedded_filters(source, footer, leaf, plan, partial)
        if request.origin == "embedded" or not isinstance(found, str):
            return found
    return [value_filter(source, footer, leaf, plan, partial)]


def _num_values(footer: Footer, leaf: Leaf) -> list[int]:
    """Return the number of non-null values of each column chunk; `UNKNOWN` if not recorded."""
    values = footer.chunks.value(ChunkField.NUM_VALUES)[:, leaf.ordinal]
    nulls = footer.chunks.value(ChunkField.NULL_COUNT)[:, leaf.ordinal]
    known = (nulls >= 0) & (nulls <= values)
    counts = np.where(known, values - nulls, np.where(values == 0, 0, UNKNOWN))
    return [int(count) for count in counts]


def _problem_of(one: StoredFilter | None, count: int) -> str | None:
    if one is None:
        return "it has no filter" if count else None
    problem = one.defect or one.foreign
    if problem is None and (
        one.readable_length is None or one.readable_length > MAX_BYTES + BYTES_PER_BLOCK
    ):
        return "its filter is too large, or has no header"
    return problem


def _share(max_bytes: int, num_row_groups: int) -> int:
    """Return the maximum size of the filter of one row group, bytes: a share of `max_bytes`."""
    share = max(max_bytes // max(1, num_row_groups), MIN_BYTES["pow2"])
    return 1 << share.bit_length() - 1


def _knows_equals(bits: Sbbf, leaf: Leaf) -> bool:
    dtype = floating_dtype(leaf)
    if dtype is None:
        return True
    values = (0.0, -0.0, np.nan)
    plus, minus, nan = (
        bits.check_hash(hash_plain(np.array(value, dtype).tobytes())) for value in values
    )
    return plus == minus and nan


def _taken(one: StoredFilter, bits: Sbbf, count: int, fpp: float, largest: int) -> Filter:
    is_power = bits.num_blocks & (bits.num_blocks - 1) == 0
    sizing: Sizing = "pow2" if is_power else "exact"
    estimate = bits.estimated_ndv()
    ndv = max(1, round(estimate)) if np.isfinite(estimate) else UNKNOWN
    return Filter(
        row_group=one.row_group,
        bits=bits.fold_to_target_fpp(fpp, sizing=sizing, max_bytes=largest),
        num_values=count or UNKNOWN,
        ndv=min(ndv, count) if count > 0 else ndv,
    )


def _all_hashes(
    reader: LeafReader, leaf: Leaf, dictionaries: Sequence[DictionaryPage | None]
) -> Iterator[NDArray[np.uint64]]:
    """Yield the hashes of a column's values, row group by row group, from dictionaries if given."""
    for row_group, dictionary in enumerate(dictionaries):
        yield from hashes_of(reader, leaf, row_group, XXHASH, dictionary)


def _num_blocks(
    footer: Footer, leaf: Leaf, plan: ColumnPlan, dictionaries: Sequence[DictionaryPage | None]
) -> int:
    """Return the number of blocks that a filter is built with, a power of two."""
    values = sum(
        plausible_values(footer, leaf, row_group) if dictionary is None else dictionary.num_values
        for row_group, dictionary in enumerate(dictionaries)
    )
    most = min(plan.max_bytes, MAX_BYTES)
    needed = initial_num_blocks(values, plan.fpp, max_bytes=most)
    has_room = 2 * needed * BYTES_PER_BLOCK <= most
    is_tight = needed <= _SMALL_BLOCKS or any(dictionaries)
    return 2 * needed if is_tight and has_room else needed
