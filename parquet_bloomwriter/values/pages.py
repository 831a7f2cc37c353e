"""The pages of a column chunk, by their headers: positions, sizes, numbers of values.

    chunk = [dictionary page] data page ... data page
    page  = PageHeader, then `compressed_page_size` bytes

A chunk is walked from header to header, as readers do, until the data pages hold as many values as
the footer counts. Nothing of a page but its header is read.

pyarrow believes headers: it reserves the size that one gives, up to 2 GiB, before it reads the
page, room for as many values as a dictionary is said to have, and 64 MiB while it looks for the end
of a header that has none. If an offset in the footer is wrong, any bytes are taken for a header. So
`check_pages` compares headers with the file, the codec and the footer before pyarrow reads a chunk:
all headers of files that are near, on stores those to which the footer leads.

Readers disagree where a chunk ends: some at the number of values, some at the compressed size, or
when they have all rows. If the number of values is too small, pyarrow leaves out pages that others
read. A chunk with such pages is refused.

A page of some thousand bytes may honestly unpack to a gigabyte of like values. Whoever needs all
values has to unpack it. A sample is not worth that: `is_bomb`.

Source: parquet.thrift, PageHeader; Parquet specification, "Data Pages".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter import kernels
from parquet_bloomwriter.compact.scan import scan
from parquet_bloomwriter.errors import MalformedFile
from parquet_bloomwriter.kernels.layout import (
    DATA_PAGE,
    DATA_PAGE_V2,
    DICTIONARY_PAGE,
    FULL,
    MAX_HEADER_BYTES,
    PAGE_COLUMNS,
    PAGE_COMPRESSED,
    PAGE_HEADER_BYTES,
    PAGE_NUM_VALUES,
    PAGE_POSITION,
    PAGE_TYPE,
    PAGE_UNCOMPRESSED,
    PROBLEMS,
)
from parquet_bloomwriter.metadata import Repetition
from parquet_bloomwriter.metadata.fields import ChunkField, RowGroupField
from parquet_bloomwriter.metadata.page_headers import PAGE_HEADER, page_columns
from parquet_bloomwriter.metadata.schema import LENGTH_BYTES
from parquet_bloomwriter.source.local import FileSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from parquet_bloomwriter.metadata import Footer, Leaf
    from parquet_bloomwriter.source import Source

REMOTE_TAIL = 16 * 1024
"""Bytes; a source that reads at least so many from the end rather than make another request counts
as remote."""

_FIRST_PAGES = 64
_FIRST_WINDOW = 64
_SLACK = 16
"""Bytes read beyond the length of the header before: headers of one chunk are nearly alike."""

_HARMLESS_BYTES = 32 * 1024 * 1024
"""Bytes; an unpacked page that is larger must fit the footer and its codec."""

_MOST_UNPACKED = {0: 1, 1: 64, 2: 1100, 3: 300, 4: 1 << 22, 5: 300, 6: 1 << 16, 7: 300}
"""Most bytes to which a stored byte can unpack, by codec (parquet.thrift, CompressionCodec)."""

_BOMB_RATIO = 64
"""Largest ratio of unpacked to stored bytes of a large page that is read for a sample."""

CODECS = frozenset(_MOST_UNPACKED)
"""Numbers of the known codecs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """The range of a column chunk, with its sizes and codec by the footer."""

    start: int
    """Position of the first page header."""

    stop: int
    """`start` and the chunk's compressed size. Some writers leave the dictionary page out of it."""

    limit: int
    """Position of the footer."""

    num_values: int
    """Number of values, nulls included."""

    num_uncompressed: int
    """Uncompressed size of all pages, bytes."""

    codec: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pages:
    """The n pages found by a walk through a column chunk."""

    table: NDArray[np.int64]
    """Columns of each page, shape (n, `PAGE_COLUMNS`); see `kernels.layout`. Positions are
    absolute."""

    stop: int
    """Position past the last page that was found."""

    problem: str = ""
    """Problem of the header at `stop`; "" if the walk found all values."""

    @property
    def num_values(self) -> int:
        """Number of values in the data pages, nulls included."""
        return int(self.table[is_data(self.table), PAGE_NUM_VALUES].sum())


def is_data(table: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each page whether it is a data page, shape (n,)."""
    kinds = table[:, PAGE_TYPE]
    flags: NDArray[np.bool_] = (kinds == DATA_PAGE) | (kinds == DATA_PAGE_V2)
    return flags


def is_near(source: Source) -> bool:
    """Return whether many small reads of a source cost little."""
    return source.tail_bytes < REMOTE_TAIL


def extent_of(footer: Footer, row_group: int, ordinal: int) -> Extent | None:
    """Return the range of a column chunk in which pyarrow looks for pages; None if impossible."""
    chunk = footer.chunks.values[row_group, ordinal]
    start = int(chunk[ChunkField.DATA_PAGE_OFFSET])
    if 0 < chunk[ChunkField.DICTIONARY_PAGE_OFFSET] < start:
        start = int(chunk[ChunkField.DICTIONARY_PAGE_OFFSET])
    if not 0 < start < footer.start:
        return None
    return Extent(
        start=start,
        stop=start + max(int(chunk[ChunkField.TOTAL_COMPRESSED_SIZE]), 0),
        limit=footer.start,
        num_values=int(chunk[ChunkField.NUM_VALUES]),
        num_uncompressed=int(chunk[ChunkField.TOTAL_UNCOMPRESSED_SIZE]),
        codec=int(chunk[ChunkField.CODEC]),
    )


def walk(source: Source, extent: Extent) -> Pages:
    """Find the pages of a column chunk from header to header, until all values are found.

    Raises:
        OSError: If reading fails.
    """
    if kernels.HAS_PREAD and isinstance(source, FileSource):
        return _walk_file(source, extent)
    return walk_headers(source.read_at, extent)


def _walk_file(source: FileSource, extent: Extent) -> Pages:
    """Find the pages by the kernel `walk_file`; on a problem, by the loop that words it."""
    parts, room, problem = [], _FIRST_PAGES, FULL
    position, left = extent.start, extent.num_values
    while problem == FULL:
        pages = np.empty((room, PAGE_COLUMNS), np.int64)
        problem, position, found, left, num_reads, num_bytes = kernels.walk_file(
            source.fd, position, extent.limit, left, PAGE_HEADER.words, pages
        )
        source.traffic.add(num_reads, num_bytes)
        parts.append(pages[:found])
        room *= 4
    if not problem:
        return Pages(table=np.concatenate(parts), stop=position)
    rest = walk_headers(source.read_at, replace(extent, start=position, num_values=left))
    return Pages(table=np.concatenate((*parts, rest.table)), stop=rest.stop, problem=rest.problem)


def walk_headers(read_at: Callable[[int, int], bytes], extent: Extent) -> Pages:
    """Find the pages of a column chunk by a function that returns bytes; see `walk`."""
    rows: list[tuple[int, ...]] = []
    position, seen, window, problem = extent.start, 0, _FIRST_WINDOW, ""
    while seen < extent.num_values and position < extent.limit:
        header = _header_at(read_at, position, extent.limit, window)
        if isinstance(header, str):
            problem = header
            break
        rows.append(header)
        window = header[PAGE_HEADER_BYTES] + _SLACK
        if header[PAGE_TYPE] in (DATA_PAGE, DATA_PAGE_V2):
            seen += header[PAGE_NUM_VALUES]
        position += header[PAGE_HEADER_BYTES] + header[PAGE_COMPRESSED]
    table = np.array(rows, np.int64).reshape(len(rows), PAGE_COLUMNS)
    return Pages(table=table, stop=position, problem=problem)


def _header_at(
    read_at: Callable[[int, int], bytes], position: int, limit: int, window: int
) -> tuple[int, ...] | str:
    """Return a page's columns by its header, or the problem of the header."""
    while True:
        stop = min(position + window, limit)
        try:
            found = scan(read_at(position, stop), PAGE_HEADER)
            break
        except MalformedFile as error:
            if stop == limit or window >= MAX_HEADER_BYTES:
                return f"a page has no header: {error.problem}"
        window = min(4 * window, MAX_HEADER_BYTES)
    problem, columns = page_columns(found.values[0].tolist())
    if problem:
        return f"a page has no header: it {PROBLEMS[problem]}"
    page = (position, found.stop, *columns)
    if page[PAGE_COMPRESSED] > limit - position - found.stop:
        return f"a page claims {page[PAGE_COMPRESSED]} bytes, more than the file has behind it"
    return page


def check_pages(
    source: Source, footer: Footer, leaf: Leaf, row_group: int, *, is_sample: bool = False
) -> None:
    """Check that the pages of a column chunk have headers, with plausible sizes.

    Args:
        source: An open file.
        footer: Its footer.
        leaf: The column.
        row_group: Ordinal, 0-based.
        is_sample: Whether only some values are needed, so that no page may be a bomb.

    Raises:
        OSError: If a header is malformed or gives an impossible size, if there are pages behind the
            last value that the footer counts, or if reading fails.
    """
    extent = extent_of(footer, row_group, leaf.ordinal)
    if extent is None:
        return
    num_rows = int(footer.row_groups.value(RowGroupField.NUM_ROWS)[row_group])
    repeats = Repetition.REPEATED in leaf.repetitions
    lacks_values = not repeats and extent.num_values < num_rows
    if is_near(source) or lacks_values:
        pages = walk(source, extent)
        table, problem = pages.table, pages.problem
        if not problem and (repeats or lacks_values) and _more_follow(source, extent, pages.stop):
            problem = f"more pages follow, but the metadata counts {extent.num_values} values"
    else:
        table, problem = _first_pages(source, footer, leaf, row_group)
    unlikely = implausible(table, extent, leaf)
    if unlikely or problem:
        raise OSError(unlikely or problem)
    for packed, unpacked in table[:, [PAGE_COMPRESSED, PAGE_UNCOMPRESSED]].tolist():
        if is_sample and is_bomb(packed, unpacked):
            raise OSError(
                f"a page of {packed:,} bytes unpacks to {unpacked:,}, too many for a sample"
            )


def is_bomb(packed: int, unpacked: int) -> bool:
    """Return whether a page unpacks to more memory than a sample is worth.

    Args:
        packed: Bytes of the page as it is stored.
        unpacked: Bytes to which the page unpacks.
    """
    return unpacked > max(_HARMLESS_BYTES, _BOMB_RATIO * packed)


def _more_follow(source: Source, extent: Extent, position: int) -> bool:
    """Return whether a data page with values begins at a position or later in the chunk."""
    if position >= extent.stop:
        return False
    rest = walk(source, replace(extent, start=position, num_values=1)).table
    begins_within = rest[:, PAGE_POSITION] < extent.stop
    return bool((begins_within & is_data(rest) & (rest[:, PAGE_NUM_VALUES] > 0)).any())


def _first_pages(
    source: Source, footer: Footer, leaf: Leaf, row_group: int
) -> tuple[NDArray[np.int64], str]:
    """Return the pages to which the footer leads, by one request if possible, and a problem."""
    chunk = footer.chunks.values[row_group, leaf.ordinal]
    fields = (ChunkField.DICTIONARY_PAGE_OFFSET, ChunkField.DATA_PAGE_OFFSET)
    starts = sorted({int(chunk[field]) for field in fields if 0 < chunk[field] < footer.start})
    length = 4096
    ranges = [(start, min(start + length, footer.start)) for start in starts]
    known = dict(zip(starts, source.read_ranges(ranges), strict=True))

    def read_at(start: int, stop: int) -> bytes:
        data = known[start]
        if stop - start > len(data) == length:
            return source.read_at(start, stop)
        return data[: stop - start]

    rows = []
    for start in starts:
        page = _header_at(read_at, start, footer.start, length)
        if isinstance(page, str):
            return np.empty((0, PAGE_COLUMNS), np.int64), page
        rows.append(page)
    return np.array(rows, np.int64).reshape(len(rows), PAGE_COLUMNS), ""


def implausible(table: NDArray[np.int64], extent: Extent, leaf: Leaf) -> str:
    """Return why the sizes of pages are impossible, a clause; "" if all are possible.

    Args:
        table: The pages, shape (n, `PAGE_COLUMNS`).
        extent: Of their chunk.
        leaf: The column.
    """
    unpacked, packed = table[:, PAGE_UNCOMPRESSED], table[:, PAGE_COMPRESSED]
    most = np.minimum(extent.num_uncompressed, packed * _MOST_UNPACKED.get(extent.codec, 1))
    too_large = np.flatnonzero(unpacked > np.maximum(most, _HARMLESS_BYTES))
    if len(too_large):
        size = int(unpacked[too_large[0]])
        return f"a page claims {size} bytes, all pages together {extent.num_uncompressed}"
    dictionaries = table[table[:, PAGE_TYPE] == DICTIONARY_PAGE]
    counts, sizes = dictionaries[:, PAGE_NUM_VALUES], dictionaries[:, PAGE_UNCOMPRESSED]
    too_many = np.flatnonzero(counts > sizes // max(leaf.plain_width or LENGTH_BYTES, 1))
    if len(too_many):
        count, size = int(counts[too_many[0]]), int(sizes[too_many[0]])
        return f"a dictionary claims {count} values in {size} bytes"
    return ""
