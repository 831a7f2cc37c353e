"""Where the filters of a part lie, found without reading any of them.

    part-<uuid>.bfindex    one row for each filter, all fields required, in row groups
    column BFBinary        | page header | length, filter | length, filter | ...    by row group

Lengths have four bytes, little-endian (PLAIN). As the column is neither compressed nor encoded and
has one data page in each row group, the positions of all filters follow from the size of the page
header and from the column `numBytes`. All of that is checked: the sizes must add up to those of the
page, of the column chunk and of the file. Headers of filters are looked at by `asking`.

Source: parquet.thrift, PageHeader; Parquet specification, "Plain: (PLAIN = 0)".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parquet_bloomwriter.compact.loop import I32, STRUCT
from parquet_bloomwriter.compact.scan import Grammar, Kind, scan
from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.format.part_writer import BINARY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_bloomwriter.source.local import FileSource

_LENGTH_BYTES = 4
_PAGE_HEADER_BYTES = 256
"""More than a page header without statistics takes."""

_DATA_PAGE, _DATA_PAGE_V2, _PLAIN = 0, 3, 0
_KIND, _UNCOMPRESSED, _COMPRESSED, _COUNT, _ENCODING = 1, 2, 3, 4, 5
_COUNT_V2, _ENCODING_V2, _DEFINITION_BYTES, _REPETITION_BYTES = 6, 7, 8, 9
_DATA, _DATA_V2 = 10, 11
_PAGE_HEADER = Grammar.of(
    {
        "PageHeader": Kind(
            slots={
                1: (_KIND, I32),
                2: (_UNCOMPRESSED, I32),
                3: (_COMPRESSED, I32),
                5: (_DATA, STRUCT),
                8: (_DATA_V2, STRUCT),
            },
            children={5: "DataPageHeader", 8: "DataPageHeaderV2"},
        ),
        "DataPageHeader": Kind(slots={1: (_COUNT, I32), 2: (_ENCODING, I32)}, shares_row=True),
        "DataPageHeaderV2": Kind(
            slots={
                1: (_COUNT_V2, I32),
                4: (_ENCODING_V2, I32),
                5: (_DEFINITION_BYTES, I32),
                6: (_REPETITION_BYTES, I32),
            },
            shares_row=True,
        ),
    }
)


def broken(path: str, problem: str) -> IndexProblem:
    """Make the error for a part that is not as it must be."""
    return IndexProblem(problem, path=path, remedy="Refresh the index in full.")


def starts_of(
    source: FileSource,
    file: Any,  # noqa: ANN401  pyarrow has no types
    num_bytes: NDArray[np.int64],
    path: str,
) -> NDArray[np.int64]:
    """Positions of the headers of all filters.

    Args:
        source: The part.
        file: The same, opened with pyarrow.
        num_bytes: Of each filter, shape (n,).
        path: The part's, for messages.

    Returns:
        Absolute, bytes, shape (n,).

    Raises:
        BloomwriterError: If the pages are not as they must be.
        OSError: If they cannot be read.
    """
    metadata = file.metadata
    names = [file.schema.column(i).path for i in range(metadata.num_columns)]
    if BINARY not in names:
        raise broken(path, f"it has no column {BINARY}")
    column = names.index(BINARY)
    leaf = file.schema.column(column)
    if leaf.physical_type != "BYTE_ARRAY" or leaf.max_definition_level:
        raise broken(path, f"the column {BINARY} is no required binary column")
    if (num_bytes < 0).any() or len(num_bytes) != metadata.num_rows:
        raise broken(path, "the lengths of its filters are not those of filters")
    starts = np.empty(len(num_bytes), np.int64)
    row = 0
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        rows = slice(row, row + group.num_rows)
        if group.num_rows:
            starts[rows] = _starts_in(source, group.column(column), num_bytes[rows], path)
        row = rows.stop
    return starts


def _starts_in(
    source: FileSource,
    chunk: Any,  # noqa: ANN401  as above
    num_bytes: NDArray[np.int64],
    path: str,
) -> NDArray[np.int64]:
    """Positions of the filters in one row group, all in its one page."""
    if chunk.compression != "UNCOMPRESSED" or chunk.has_dictionary_page:
        raise broken(path, f"the column {BINARY} is compressed or encoded")
    start, length = chunk.data_page_offset, chunk.total_compressed_size
    head = source.read_at(start, min(start + _PAGE_HEADER_BYTES, start + length))
    header = scan(head, _PAGE_HEADER, origin=start)
    ends = np.cumsum(num_bytes + _LENGTH_BYTES)
    _check_page(header.values[0].tolist(), num_bytes, path)
    if header.stop + int(ends[-1]) != length or start + length > source.size:
        raise broken(path, "a page does not fill its column chunk")
    first = start + header.stop
    prefix = source.read_at(first, first + _LENGTH_BYTES)
    if int.from_bytes(prefix, "little") != num_bytes[0]:
        raise broken(path, "the first filter of a page has another length than it should")
    positions: NDArray[np.int64] = first + ends - num_bytes
    return positions


def _check_page(numbers: list[int], num_bytes: NDArray[np.int64], path: str) -> None:
    """Hold a page header against what the page must hold: bare values, PLAIN."""
    size = int(num_bytes.sum()) + _LENGTH_BYTES * len(num_bytes)
    if numbers[_KIND] == _DATA_PAGE:
        shape = (numbers[_COUNT], numbers[_ENCODING])
    else:
        shape = (numbers[_COUNT_V2], numbers[_ENCODING_V2])
    has_levels = numbers[_DEFINITION_BYTES] > 0 or numbers[_REPETITION_BYTES] > 0
    is_data = numbers[_KIND] in {_DATA_PAGE, _DATA_PAGE_V2}
    if not is_data or has_levels or shape != (len(num_bytes), _PLAIN):
        raise broken(path, "a page is not PLAIN, or holds other rows")
    if numbers[_COMPRESSED] != size or numbers[_UNCOMPRESSED] != size:
        raise broken(path, f"a page has {numbers[_COMPRESSED]} bytes, and its filters {size}")
