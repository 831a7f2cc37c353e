"""The parts of an index: Parquet files with the filters of one column, one in each row.

    fileName string, BFBinary binary         the file, and header and bitset as in a Parquet file;
                                             empty if there are no values
    fileId int64, size int64, modificationTime int64 (ms)     the file's identity
    rowGroup int32                           -1: the filter is that of the whole file
    columnType string                        the column's type in this file, `column_type`
    numBytes int32                           bytes of BFBinary
    numValues int64, ndv int64               inserted, and distinct by estimate; -1: unknown. Where
                                             dictionaries have all values, theirs are inserted
    BFChecks binary                          checksums of all filters of a row group, in its first
                                             row (see `block_checks`); null if there are none, and
                                             in all other rows

All but the last are required. Rows of one file stand together. A file without a filter has no row.
Parts of older versions of this package have no column BFChecks.

BFBinary and BFChecks are neither compressed nor encoded and have one data page in each row group,
so that the place of every filter and of every checksum follows from the lengths: a lookup reads one
block of each filter. Only the reader of parts depends on that; for other programs these are
ordinary Parquet files. The log's entry has the CRC-32 of the whole file, and of what is read first.
"""

# ruff: noqa: PTH118  paths are strings, as in the entries
from __future__ import annotations

import hashlib
import os
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from parquet_bloomwriter.index.engine import PartInfo
from parquet_bloomwriter.index.entry import IndexFile
from parquet_bloomwriter.index.format.block_checks import checks_of, seed_of
from parquet_bloomwriter.index.format.parquet_io import FirstRead, ParquetOut, crc_of
from parquet_bloomwriter.index.layout import relative_to_index

if TYPE_CHECKING:
    import pyarrow as pa

    from parquet_bloomwriter.index.files import FileId

WHOLE_FILE = -1
"""The value of `rowGroup` for a filter of the whole file."""

UNKNOWN = -1
"""The value of a number that is not known."""

FILE_NAME, BINARY, FILE_ID, SIZE = "fileName", "BFBinary", "fileId", "size"
MODIFIED, ROW_GROUP, TYPE = "modificationTime", "rowGroup", "columnType"
NUM_BYTES, NUM_VALUES, NDV = "numBytes", "numValues", "ndv"
CHECKS = "BFChecks"
READ_FIRST = (FILE_ID, SIZE, MODIFIED, ROW_GROUP, TYPE, NUM_BYTES, NUM_VALUES, NDV)
"""Names of the columns that a lookup reads as a whole."""

_ROW_GROUP_BYTES = 16 << 20
"""Size of BFBinary in a row group, bytes, unless one filter is larger; a row group is held in
memory until it is written."""

_ROW_GROUP_ROWS = 1 << 16
_PAGE_BYTES = (1 << 31) - 1
"""Page size for pyarrow, bytes; larger than any row group, so that each row group has one page."""

_MAX_NAME = 150
"""Maximum length of a folder's name, characters; file systems allow 255 bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRow:
    """One filter of a part, as a row."""

    file_id: int
    file: FileId
    row_group: int
    """0-based ordinal of the row group, or `WHOLE_FILE`."""

    column_type: str
    num_values: int
    """Number of inserted values, nulls excluded, or `UNKNOWN`."""

    ndv: int
    """Estimated number of distinct values, or `UNKNOWN`."""

    data: bytes
    """Header and bitset of the filter; empty if there are no values."""


def schema() -> pa.Schema:
    """Return the schema of a part."""
    import pyarrow as pa

    columns = {
        FILE_NAME: pa.string(),
        BINARY: pa.binary(),
        FILE_ID: pa.int64(),
        SIZE: pa.int64(),
        MODIFIED: pa.int64(),
        ROW_GROUP: pa.int32(),
        TYPE: pa.string(),
        NUM_BYTES: pa.int32(),
        NUM_VALUES: pa.int64(),
        NDV: pa.int64(),
    }
    fields = [pa.field(name, kind, nullable=False) for name, kind in columns.items()]
    return pa.schema([*fields, pa.field(CHECKS, pa.binary())])


def column_folder(version_folder: str, column: str) -> str:
    """Return the folder of a column's files in a version's folder.

    Characters that no folder's name can have are escaped, and a long name is cut: the column's name
    is never read back from it.
    """
    name = quote(column, safe="-_. ", errors="surrogatepass")
    if len(name) > _MAX_NAME:
        name = name[:_MAX_NAME] + hashlib.sha256(column.encode(errors="surrogatepass")).hexdigest()
    return os.path.join(version_folder, f"column={name}")


class PartWriter:
    """Writes one part, row by row. A context manager: a part that is not closed is removed.

    The file is begun with the first row; without rows, there is no file.
    """

    def __init__(self, version_folder: str, column: str) -> None:
        """Prepare to write.

        Args:
            version_folder: `v__=N`, absolute.
            column: The indexed column's name.
        """
        self._version_folder = version_folder
        self._column = column
        self._out: ParquetOut | None = None
        self._path = ""
        self._rows: list[PartRow] = []
        self._bytes = 0
        self._num_rows = 0
        self._num_row_groups = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._out is not None:
            self._out.__exit__(*error)

    def append(self, row: PartRow) -> None:
        """Add a filter.

        Raises:
            ValueError: If a filter has not the usual header.
            OSError: If the rows that have gathered cannot be written.
        """
        if self._bytes + len(row.data) > _ROW_GROUP_BYTES or len(self._rows) == _ROW_GROUP_ROWS:
            self._flush()
        self._rows.append(row)
        self._bytes += len(row.data)

    def close(self) -> PartInfo | None:
        """Bring the part to the disk, and return it; None if nothing was appended.

        Raises:
            OSError: If the part cannot be written.
        """
        self._flush()
        if self._out is None:
            return None
        source = self._out.complete()
        crc, first = crc_of(source), FirstRead(source, READ_FIRST)
        file = IndexFile(
            path=relative_to_index(self._version_folder, self._path),
            size=self._out.finish(),
            crc=crc,
            first_crc=first.crc,
        )
        return PartInfo(column=self._column, file=file, num_rows=self._num_rows)

    def _flush(self) -> None:
        if not self._rows:
            return
        if self._out is None:
            self._out = self._begin()
        rows, self._rows, self._bytes = self._rows, [], 0
        checks = checks_of([row.data for row in rows], seed_of(self._path), self._num_row_groups)
        self._num_rows += len(rows)
        self._num_row_groups += 1
        self._out.write(_table(rows, checks))

    def _begin(self) -> ParquetOut:
        folder = column_folder(self._version_folder, self._column)
        self._path = os.path.join(folder, f"part-{uuid.uuid4()}.bfindex")
        return ParquetOut(self._path, schema(), **_options())


def _options() -> dict[str, Any]:
    plain = (BINARY, CHECKS)
    others = [name for name in schema().names if name not in plain]
    return {
        "compression": {**dict.fromkeys(plain, "none"), **dict.fromkeys(others, "zstd")},
        "use_dictionary": [TYPE],
        "write_statistics": False,
        "data_page_size": _PAGE_BYTES,
        "max_rows_per_page": _ROW_GROUP_ROWS,
        "write_batch_size": _ROW_GROUP_ROWS,
    }


def _table(rows: list[PartRow], checks: bytes) -> pa.Table:
    import pyarrow as pa

    columns = {
        FILE_NAME: [row.file.path for row in rows],
        BINARY: [row.data for row in rows],
        FILE_ID: [row.file_id for row in rows],
        SIZE: [row.file.size for row in rows],
        MODIFIED: [row.file.modified_ms for row in rows],
        ROW_GROUP: [row.row_group for row in rows],
        TYPE: [row.column_type for row in rows],
        NUM_BYTES: [len(row.data) for row in rows],
        NUM_VALUES: [row.num_values for row in rows],
        NDV: [row.ndv for row in rows],
        CHECKS: [checks or None, *[None] * (len(rows) - 1)],
    }
    return pa.table(columns, schema=schema())
