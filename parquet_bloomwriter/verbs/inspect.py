"""The verb `inspect`: describe the Bloom filters of a file, their places and their fill."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter.filters.stored import filters_of_columns, read_all_bits
from parquet_bloomwriter.metadata import Repetition
from parquet_bloomwriter.metadata.fields import ChunkField, FileField, RowGroupField
from parquet_bloomwriter.metadata.logical_types import type_name
from parquet_bloomwriter.probing.statistics import null_counts
from parquet_bloomwriter.reports.inspection import (
    ColumnFilters,
    FileFilters,
    FilterFacts,
    FilterPlace,
    RowGroupSpan,
)
from parquet_bloomwriter.source.open import opened_with_footer
from parquet_bloomwriter.table_files.files import columns_of_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.filters.stored import StoredFilter
    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.sbbf import Sbbf
    from parquet_bloomwriter.source import Input

ALL_ZERO = "all its bits are zero, though the chunk has values"
ALL_ZERO_PERHAPS = "all its bits are zero, and it is not known that the chunk has no values"


def inspect(
    source: Input, columns: str | Iterable[str] | None = None, *, filesystem: object | None = None
) -> FileFilters:
    """Read every Bloom filter of a file and describe it.

    A filter that must not be trusted does not raise an error; the report gives the reason.

    Args:
        source: A path or URL, the file's bytes, or an open file.
        columns: Dotted paths of leaf columns; dotted paths of groups, for all leaves in them; or
            `#` and a leaf ordinal. None: every column that has filters.
        filesystem: A file system of pyarrow or fsspec; the path is a path in it.

    Raises:
        ColumnNotFound: If a name matches nothing, or is ambiguous.
        FileProblem: If the file is not a Parquet file, or its footer cannot be read.
        OSError: If reading fails.
    """
    with opened_with_footer(source, filesystem=filesystem) as (file, footer):
        leaves = footer.leaves
        chosen = columns_of_file(source, footer, columns)
        filters = filters_of_columns(file, footer, {leaf.ordinal for leaf in chosen})
        facts = _Facts(footer, filters)
        found: dict[int, list[FilterFacts]] = {leaf.ordinal: [] for leaf in chosen}
        for one, bits in read_all_bits(file, filters):
            found[one.column].append(facts.of(one, bits))
        return FileFilters(
            path=file.name,
            size=file.size,
            num_rows=max(int(footer.file.value(FileField.NUM_ROWS)[0]), 0),
            num_row_groups=footer.num_row_groups,
            created_by=footer.created_by.decode(errors="backslashreplace"),
            row_groups=tuple(_row_groups(footer)),
            footer_start=footer.start,
            columns=tuple(
                _column(footer, leaves[ordinal], found[ordinal])
                for ordinal in sorted(found)
                if found[ordinal] or columns is not None
            ),
        )


def values_and_nulls(footer: Footer) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of values, nulls included, and of nulls of every column chunk.

    Returns:
        Two arrays of shape (row groups, columns): the values, and the nulls; -1 where the number of
        nulls is not known.
    """
    values = np.maximum(footer.chunks.value(ChunkField.NUM_VALUES), 0)
    nulls = null_counts(values, footer.chunks.value(ChunkField.NULL_COUNT))
    for leaf in footer.leaves:
        if all(one is Repetition.REQUIRED for one in leaf.repetitions):
            nulls[:, leaf.ordinal] = 0
    return values, nulls


def _row_groups(footer: Footer) -> Iterator[RowGroupSpan]:
    """Yield the place of each row group by the footer, limited to the bytes of the file."""
    sizes = np.clip(footer.chunks.value(ChunkField.TOTAL_COMPRESSED_SIZE), 0, footer.start)
    starts = np.minimum(footer.chunk_starts(), footer.start)
    stops = np.minimum(starts + sizes, footer.start).max(axis=1, initial=0)
    firsts = np.where(starts > 0, starts, footer.start).min(axis=1, initial=footer.start)
    rows = np.maximum(footer.row_groups.value(RowGroupField.NUM_ROWS), 0)
    columns = (np.minimum(firsts, stops), stops, sizes.sum(axis=1), rows)
    for start, stop, num_bytes, num_rows in zip(*(one.tolist() for one in columns), strict=True):
        yield RowGroupSpan(start=start, stop=stop, num_bytes=num_bytes, num_rows=num_rows)


def _column(footer: Footer, leaf: Leaf, filters: Sequence[FilterFacts]) -> ColumnFilters:
    sizes = footer.chunks.value(ChunkField.TOTAL_COMPRESSED_SIZE)[:, leaf.ordinal]
    return ColumnFilters(
        name=leaf.name,
        ordinal=leaf.ordinal,
        physical_type=leaf.physical_type.name,
        type=type_name(leaf),
        num_row_groups=footer.num_row_groups,
        num_compressed_bytes=int(np.maximum(sizes, 0).sum()),
        filters=tuple(filters),
    )


class _Facts:
    """Describes the stored filters of one file."""

    def __init__(self, footer: Footer, filters: Sequence[StoredFilter]) -> None:
        self._footer = footer
        self._values, self._nulls = values_and_nulls(footer)
        self._places = _places(footer, filters)

    def of(self, one: StoredFilter, bits: Sbbf | None) -> FilterFacts:
        chunk = (one.row_group, one.column)
        values, nulls = int(self._values[chunk]), int(self._nulls[chunk])
        num_values = values - max(nulls, 0)
        fill = None if bits is None else bits.fill()
        problem = one.defect or one.foreign
        if problem is None and fill == 0 and num_values:
            problem = ALL_ZERO_PERHAPS if nulls < 0 else ALL_ZERO
        return FilterFacts(
            row_group=one.row_group,
            ordinal=one.column,
            column=self._footer.leaves[one.column].name,
            num_values=num_values,
            offset=one.offset,
            length=one.readable_length,
            num_bytes=None if one.header is None else one.header.num_bytes,
            place=self._places[chunk],
            ndv=None if bits is None else _ndv(bits, num_values),
            fill=fill,
            fpp=None if bits is None else bits.exact_fpp(),
            problem=problem,
            oddities=one.oddities,
        )


def _ndv(bits: Sbbf, num_values: int) -> float:
    """Return the NDV, estimated from the bits, but not more than the number of values."""
    estimated = abs(bits.estimated_ndv())  # not -0.0
    return float(num_values) if 0 < num_values < estimated < math.inf else estimated


def _places(footer: Footer, filters: Sequence[StoredFilter]) -> dict[tuple[int, int], FilterPlace]:
    """Return the place of each filter, by row group and leaf ordinal.

    Only the starts of chunks are used, because their sizes may be false. Behind the last row group,
    the places "row-group" and "end" are the same. Filters there count as placed like the filters of
    other row groups.
    """
    starts = footer.chunk_starts()
    every = np.sort(starts[starts > 0])
    last = int(every[-1]) if len(every) else 0
    own_last = starts.max(axis=1, initial=0)
    places: dict[tuple[int, int], FilterPlace] = {}
    for one in filters:
        chunk = (one.row_group, one.column)
        passed = np.searchsorted(every, [int(own_last[one.row_group]), one.offset], side="right")
        if one.readable_length is None:
            places[chunk] = FilterPlace.ELSEWHERE
        elif one.stop == starts[chunk]:
            places[chunk] = FilterPlace.COLUMN_CHUNK
        elif one.offset > last:
            places[chunk] = FilterPlace.END
        elif passed[0] == passed[1]:
            places[chunk] = FilterPlace.ROW_GROUP
        else:
            places[chunk] = FilterPlace.ELSEWHERE
    behind = {chunk for chunk, place in places.items() if place is FilterPlace.END}
    is_last = {chunk for chunk in behind if own_last[chunk[0]] == last}
    if behind == is_last and FilterPlace.ROW_GROUP in places.values():
        places.update(dict.fromkeys(is_last, FilterPlace.ROW_GROUP))
    return places
