"""Read a part of an index: the facts about its filters, and the positions of the filters.

    part-<uuid>.bfindex    one row for each filter, in row groups
    column BFBinary        | page header | length, filter | length, filter | ...    by row group
    column BFChecks        | page header | levels | length, checksums |             by row group

Neither filters nor their checksums are read. Lengths have four bytes, little-endian (PLAIN). As
these columns are neither compressed nor encoded and have one data page in each row group, the
positions of all filters and checksums follow from the end of the column chunk and from the column
`numBytes`. The footer and the other columns are compared with their CRC-32 in the log's entry; then
they are as they were written, and so are these positions.

Parts of older versions of this package have no checksums. Of these, the page header of BFBinary is
read, and sizes must add up to those of the page, of the column chunk and of the file; the headers
of filters are checked when a filter is first read (`query/probe.py`).

Source: parquet.thrift, PageHeader; Parquet specification, "Plain: (PLAIN = 0)".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from parquet_bloomwriter.compact.scan import StructKind, StructSchema, scan
from parquet_bloomwriter.errors import FileProblem
from parquet_bloomwriter.index.entry import damaged
from parquet_bloomwriter.index.format.block_checks import (
    CheckedGroups,
    bundles_of,
    seed_of,
)
from parquet_bloomwriter.index.format.parquet_io import (
    FirstRead,
    WrongBytes,
    check_whole,
    integers_of,
)
from parquet_bloomwriter.index.format.part_writer import (
    BINARY,
    CHECKS,
    FILE_ID,
    MODIFIED,
    NDV,
    NUM_BYTES,
    NUM_VALUES,
    READ_FIRST,
    ROW_GROUP,
    SIZE,
    TYPE,
)
from parquet_bloomwriter.index.storage.base import open_file, state_of
from parquet_bloomwriter.kernels.layout import (
    CHECK_BYTES,
    DATA_PAGE,
    DATA_PAGE_V2,
    I32,
    PLAIN,
    STRUCT,
)
from parquet_bloomwriter.metadata import PhysicalType, Repetition
from parquet_bloomwriter.metadata.fields import ChunkField, FileField, RowGroupField
from parquet_bloomwriter.metadata.schema import LENGTH_BYTES
from parquet_bloomwriter.sbbf.header import usual_header_length
from parquet_bloomwriter.text import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from parquet_bloomwriter.index.entry import IndexFile
    from parquet_bloomwriter.index.format.block_checks import Bundle
    from parquet_bloomwriter.index.storage.base import IndexSource
    from parquet_bloomwriter.index.storage.object_file import ObjectName
    from parquet_bloomwriter.metadata import Footer
    from parquet_bloomwriter.source import Source
    from parquet_bloomwriter.source.base import Range
    from parquet_bloomwriter.source.identity import FileIdentity

_DTYPES: dict[str, type[np.signedinteger[Any]]] = {
    FILE_ID: np.int64,
    SIZE: np.int64,
    MODIFIED: np.int64,
    ROW_GROUP: np.int32,
    NUM_BYTES: np.int32,
    NUM_VALUES: np.int64,
    NDV: np.int64,
}
"""Names and types of the columns of numbers."""

_PAGE_HEADER_BYTES = 256
"""Upper bound for the size of a page header without statistics, bytes."""

_KIND, _UNCOMPRESSED, _COMPRESSED, _COUNT, _ENCODING = 1, 2, 3, 4, 5
_COUNT_V2, _ENCODING_V2, _DEFINITION_BYTES, _REPETITION_BYTES = 6, 7, 8, 9
_DATA, _DATA_V2 = 10, 11
_PAGE_HEADER = StructSchema.of(
    {
        "PageHeader": StructKind(
            slots={
                1: (_KIND, I32),
                2: (_UNCOMPRESSED, I32),
                3: (_COMPRESSED, I32),
                5: (_DATA, STRUCT),
                8: (_DATA_V2, STRUCT),
            },
            children={5: "DataPageHeader", 8: "DataPageHeaderV2"},
        ),
        "DataPageHeader": StructKind(
            slots={1: (_COUNT, I32), 2: (_ENCODING, I32)}, shares_row=True
        ),
        "DataPageHeaderV2": StructKind(
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """The n filters of one part, in the order stored; arrays have shape (n,)."""

    path: str
    """Absolute path of the part."""

    state: FileIdentity | ObjectName
    """Identity of the part's file when it was read."""

    file_ids: NDArray[np.int64]
    sizes: NDArray[np.int64]
    """Sizes of the data files, bytes."""

    modified_ms: NDArray[np.int64]
    row_groups: NDArray[np.int32]
    """Row group of each filter; -1: the filter is that of the whole file."""

    types: tuple[str, ...]
    """The distinct types of the column in these files, as JSON."""

    type_of: NDArray[np.int32]
    """Ordinal of each filter's column type in `types`."""

    starts: NDArray[np.int64]
    """Absolute position of each filter's header, bytes; 0 where there is no filter."""

    num_bytes: NDArray[np.int32]
    """Size of each filter's header and bitset, bytes; 0 where there are no values, and so no
    filter."""

    num_values: NDArray[np.int64]
    """Number of inserted values of each filter; -1: unknown."""

    ndv: NDArray[np.int64]
    """Estimated number of distinct values of each filter; -1: unknown."""

    crc: int | None
    """CRC-32 of the whole part; None if an older version of this package wrote it."""

    groups: CheckedGroups | None
    """The filters in the groups that their checksums cover; None if there are no checksums."""

    member_of: NDArray[np.int64]
    """Ordinal of each filter among the members of `groups`; -1: it has no checksum."""


def read_part(path: str, file: IndexFile) -> Part:
    """Read all columns of a part, except the filters.

    Args:
        path: Absolute.
        file: The part as the log's entry has it.

    Raises:
        BloomwriterError: If the part is broken.
        OSError: If it cannot be read.
    """
    with open_file(path, file.size, keep=True) as source:
        if source.size != file.size:
            raise damaged(path, f"it has {source.size} bytes, and {file.size} were written")
        footer, table = _opened(source, file, path)
        numbers = {name: _numbers(table, name, dtype, path) for name, dtype in _DTYPES.items()}
        num_bytes = numbers[NUM_BYTES].astype(np.int64)
        starts = _starts_of(source, footer, num_bytes, path, is_checked=file.first_crc is not None)
        state = state_of(source)
        types, type_of = _types(table, path)
    starts[num_bytes == 0] = 0
    if ((num_bytes == 0) & (numbers[NUM_VALUES] != 0)).any():
        raise damaged(path, "a filter is missing")
    groups, member_of = None, np.full(len(starts), -1, np.int64)
    if file.first_crc is not None:
        groups = _groups_of(footer, starts, num_bytes, path, member_of)
    return Part(
        path=path,
        state=state,
        file_ids=numbers[FILE_ID],
        sizes=numbers[SIZE],
        modified_ms=numbers[MODIFIED],
        row_groups=numbers[ROW_GROUP],
        types=types,
        type_of=type_of,
        starts=starts,
        num_bytes=numbers[NUM_BYTES],
        num_values=numbers[NUM_VALUES],
        ndv=numbers[NDV],
        crc=file.crc,
        groups=groups,
        member_of=member_of,
    )


def check_part(source: Source, crc: int | None) -> None:
    """Check all bytes of a part, filters included, before they are copied.

    Args:
        source: The part.
        crc: CRC-32 of the part in the log's entry; None: there is nothing to compare.

    Raises:
        IndexProblem: If they are not those that were written.
        OSError: If the part cannot be read.
    """
    try:
        check_whole(source, crc)
    except WrongBytes as error:
        raise damaged(source.name or "", str(error)) from error


def _opened(source: IndexSource, file: IndexFile, path: str) -> tuple[Footer, pa.Table]:
    """Read the footer of a part and all columns except the filters, and check them."""
    import pyarrow as pa

    try:
        first = FirstRead(source, READ_FIRST, file.first_crc)
        return first.footer, first.table(read_dictionary=[TYPE])
    except FileProblem as error:
        raise damaged(path, f"the part cannot be read: {error.problem}") from error
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        problem = "the part cannot be read: " + words_of(error)
        raise damaged(path, problem) from error


def _numbers(
    table: pa.Table, name: str, dtype: type[np.signedinteger[Any]], path: str
) -> NDArray[Any]:
    """Return a column of numbers, without nulls, as an array."""
    if name not in table.schema.names:
        raise damaged(path, f"it has no column {name}")
    try:
        return integers_of(table[name], dtype)
    except ValueError as error:
        raise damaged(path, f"the column {name} is not as it must be: {error}") from error


def _types(table: pa.Table, path: str) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Return the distinct column types, and the ordinal of each row's type among them."""
    import pyarrow as pa

    if TYPE not in table.schema.names or table[TYPE].null_count:
        raise damaged(path, f"it has no column {TYPE}, or nulls in it")
    if not pa.types.is_dictionary(table[TYPE].type):
        raise damaged(path, f"the column {TYPE} is not text")
    column = table[TYPE].unify_dictionaries().combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    indices = integers_of(pa.chunked_array([column.indices]), np.int32)
    try:
        return tuple(column.dictionary.to_pylist()), indices
    except UnicodeDecodeError as error:
        raise damaged(path, f"the column {TYPE} is not text: {error}") from error


def _starts_of(
    source: IndexSource,
    footer: Footer,
    num_bytes: NDArray[np.int64],
    path: str,
    *,
    is_checked: bool,
) -> NDArray[np.int64]:
    """Return the positions of the headers of all filters.

    Args:
        source: The part.
        footer: Footer of the part.
        num_bytes: Size of each filter, bytes, shape (n,).
        path: Path of the part, for messages.
        is_checked: Whether the footer and the lengths are certain, so that no page is looked at.

    Returns:
        Absolute, bytes, shape (n,).

    Raises:
        BloomwriterError: If the pages are not as described in the head of the module.
        OSError: If they cannot be read.
    """
    column = _binary_column(footer, BINARY, path)
    if (num_bytes < 0).any() or len(num_bytes) != int(footer.file.value(FileField.NUM_ROWS)[0]):
        raise damaged(path, "its filters have impossible lengths")
    if not is_checked:
        is_encoded = footer.chunks.value(ChunkField.CODEC)[:, column] != 0
        is_encoded |= footer.chunks.has(ChunkField.DICTIONARY_PAGE_OFFSET)[:, column]
        if is_encoded.any():
            raise damaged(path, f"the column {BINARY} is compressed or encoded")
    starts = np.empty(len(num_bytes), np.int64)
    for row_group, rows in _row_groups(footer):
        lengths = num_bytes[rows] + LENGTH_BYTES
        start, stop = _chunk(footer, row_group, column, path)
        if stop - start <= int(lengths.sum()):
            raise damaged(path, "a page does not fill its column chunk")
        if not is_checked:
            _check_pages(source, (start, stop), num_bytes[rows], path)
        starts[rows] = stop - np.cumsum(lengths[::-1])[::-1] + LENGTH_BYTES
    return starts


def _groups_of(
    footer: Footer,
    starts: NDArray[np.int64],
    num_bytes: NDArray[np.int64],
    path: str,
    member_of: NDArray[np.int64],
) -> CheckedGroups:
    """Return the groups of filters that checksums cover, and fill in `Part.member_of`."""
    column = _binary_column(footer, CHECKS, path)
    found, seed, num_members = [], seed_of(path), 0
    bits = starts + usual_header_length(num_bytes)
    for row_group, rows in _row_groups(footer):
        bundles = _bundles(num_bytes[rows], path)
        total = CHECK_BYTES * sum(bundle.num_checks for bundle in bundles)
        start, stop = _chunk(footer, row_group, column, path)
        if stop - start <= total:
            raise damaged(path, "checksums of filters are missing")
        for bundle in bundles:
            of_part = bundle.rows + rows.start
            found.append(
                CheckedGroups.of(
                    bundle,
                    starts=bits[of_part],
                    checks=stop - total,
                    seed=seed,
                    row_group=row_group,
                )
            )
            member_of[of_part] = num_members + np.arange(len(of_part))
            num_members += len(of_part)
    return CheckedGroups.joined(found, [0] * len(found))


def _bundles(num_bytes: NDArray[np.int64], path: str) -> list[Bundle]:
    try:
        return bundles_of(num_bytes)
    except ValueError as error:
        raise damaged(path, str(error)) from error


def _row_groups(footer: Footer) -> Iterator[tuple[int, slice]]:
    """Yield the ordinal and the rows of each row group that has rows."""
    stop = 0
    for row_group, count in enumerate(footer.row_groups.value(RowGroupField.NUM_ROWS).tolist()):
        start, stop = stop, stop + count
        if count:
            yield row_group, slice(start, stop)


def _binary_column(footer: Footer, name: str, path: str) -> int:
    """Return the ordinal of a column of binary values in the footer."""
    found = [leaf for leaf in footer.leaves if leaf.path == (name,)]
    if len(found) != 1:
        raise damaged(path, f"it has no column {name}")
    wanted = Repetition.OPTIONAL if name == CHECKS else Repetition.REQUIRED
    if found[0].physical_type != PhysicalType.BYTE_ARRAY or found[0].repetitions != (wanted,):
        raise damaged(path, f"the column {name} is no {wanted.name.lower()} binary column")
    return found[0].ordinal


def _chunk(footer: Footer, row_group: int, column: int, path: str) -> Range:
    """Return the range of a column chunk."""
    chunk = footer.chunks
    start = int(chunk.value(ChunkField.DATA_PAGE_OFFSET)[row_group, column])
    length = int(chunk.value(ChunkField.TOTAL_COMPRESSED_SIZE)[row_group, column])
    if start <= 0 or not 0 < length <= footer.start - start:
        raise damaged(path, "a page does not fill its column chunk")
    return start, start + length


def _check_pages(
    source: IndexSource, chunk: Range, num_bytes: NDArray[np.int64], path: str
) -> None:
    """Check that one page holds all filters of a row group, uncompressed, one after the other."""
    start, stop = chunk
    head = source.read_at(start, min(start + _PAGE_HEADER_BYTES, stop))
    try:
        header = scan(head, _PAGE_HEADER, origin=start)
    except FileProblem as error:
        raise damaged(path, f"a page has no header: {error.problem}") from error
    _check_page(header.values[0].tolist(), num_bytes, path)
    if start + header.stop + int((num_bytes + LENGTH_BYTES).sum()) != stop:
        raise damaged(path, "a page does not fill its column chunk")
    first = start + header.stop
    prefix = source.read_at(first, first + LENGTH_BYTES)
    if int.from_bytes(prefix, "little") != num_bytes[0]:
        raise damaged(path, "the first filter of a page has another length than it should")


def _check_page(numbers: list[int], num_bytes: NDArray[np.int64], path: str) -> None:
    """Check that a page holds the uncompressed values of its rows in PLAIN encoding."""
    size = int(num_bytes.sum()) + LENGTH_BYTES * len(num_bytes)
    if numbers[_KIND] == DATA_PAGE:
        shape = (numbers[_COUNT], numbers[_ENCODING])
    else:
        shape = (numbers[_COUNT_V2], numbers[_ENCODING_V2])
    has_levels = numbers[_DEFINITION_BYTES] > 0 or numbers[_REPETITION_BYTES] > 0
    is_data = numbers[_KIND] in {DATA_PAGE, DATA_PAGE_V2}
    if not is_data or has_levels or shape != (len(num_bytes), PLAIN):
        raise damaged(path, "a page is not PLAIN, or holds other rows")
    if numbers[_COMPRESSED] != size or numbers[_UNCOMPRESSED] != size:
        raise damaged(path, f"a page has {numbers[_COMPRESSED]} bytes, and its filters {size}")
