"""Valid Parquet files of many GiB that take a few KiB on the disk.

A column of one MiB zeros each is stored as it is, so its pages are holes with headers in between:

    PAR1 | (header, 64 MiB of hole) ... | header, ids | (header, 64 MiB of hole) ... | ...

Every row group begins with that column; so the ids of all but the first lie beyond it. pyarrow
cannot write such a file without writing the zeros; the structs are encoded by fastparquet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from fastparquet.cencoding import ThriftObject

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1 << 20
GIB = 1 << 30

_PAGE_VALUES = 64
"""Zeros of 1 MiB in a page; the page has 64 MiB."""

_INT64, _FIXED = 2, 7
_REQUIRED, _PLAIN, _RLE, _UNCOMPRESSED = 0, 0, 3, 0


def write_sparse(path: Path, gib: float, *, row_groups: int = 2) -> int:
    """Write a file of about so many GiB, and return the number of its rows.

    Column `hole` holds zeros, column `id` the numbers from 0.
    """
    pages = round(gib * GIB / MIB / _PAGE_VALUES / row_groups)
    rows = pages * _PAGE_VALUES
    groups = []
    with path.open("wb") as file:
        file.write(b"PAR1")
        for number in range(row_groups):
            ids = np.arange(number * rows, (number + 1) * rows, dtype="<i8").tobytes()
            holes = _chunk(file, "hole", pages, _PAGE_VALUES, None)
            numbers = _chunk(file, "id", 1, rows, ids)
            groups.append(_row_group([holes, numbers], rows))
        _write_footer(file, _schema(), groups, rows * row_groups)
    return rows * row_groups


def write_no_columns(path: Path, rows: int) -> None:
    """Write a row group of rows that have no columns, which pyarrow reads but does not write."""
    root = ThriftObject.from_fields("SchemaElement", name=b"schema", num_children=0, i32=1)
    with path.open("wb") as file:
        file.write(b"PAR1")
        _write_footer(file, [root], [_row_group([], rows)], rows)


def _chunk(file: BinaryIO, name: str, pages: int, values: int, data: bytes | None) -> Any:  # noqa: ANN401
    """Write the pages of a column chunk; without data they are holes of 1 MiB a value."""
    start = file.tell()
    size = values * MIB if data is None else len(data)
    header = bytes(_page_header(size, values).to_bytes())
    for _ in range(pages):
        file.write(header)
        if data is None:
            file.seek(size, 1)
        else:
            file.write(data)
    meta = ThriftObject.from_fields(
        "ColumnMetaData",
        type=_FIXED if data is None else _INT64,
        encodings=[_PLAIN, _RLE],
        path_in_schema=[name.encode()],
        codec=_UNCOMPRESSED,
        num_values=pages * values,
        total_uncompressed_size=file.tell() - start,
        total_compressed_size=file.tell() - start,
        data_page_offset=start,
        i32list=[1, 4],
    )
    return ThriftObject.from_fields("ColumnChunk", file_offset=start, meta_data=meta)


def _page_header(size: int, values: int) -> Any:  # noqa: ANN401  fastparquet has no types
    data_page = ThriftObject.from_fields(
        "DataPageHeader",
        num_values=values,
        encoding=_PLAIN,
        definition_level_encoding=_RLE,
        repetition_level_encoding=_RLE,
        i32=1,
    )
    return ThriftObject.from_fields(
        "PageHeader",
        type=0,
        uncompressed_page_size=size,
        compressed_page_size=size,
        data_page_header=data_page,
        i32=1,
    )


def _row_group(chunks: list[Any], rows: int) -> Any:  # noqa: ANN401
    size = sum(chunk.meta_data.total_compressed_size for chunk in chunks)
    return ThriftObject.from_fields("RowGroup", columns=chunks, total_byte_size=size, num_rows=rows)


def _schema() -> list[Any]:
    element = ThriftObject.from_fields
    return [
        element("SchemaElement", name=b"schema", num_children=2, i32=1),
        element(
            "SchemaElement",
            name=b"hole",
            type=_FIXED,
            type_length=MIB,
            repetition_type=_REQUIRED,
            i32=1,
        ),
        element("SchemaElement", name=b"id", type=_INT64, repetition_type=_REQUIRED, i32=1),
    ]


def _write_footer(file: BinaryIO, schema: list[Any], groups: list[Any], rows: int) -> None:
    meta = ThriftObject.from_fields(
        "FileMetaData",
        version=1,
        schema=schema,
        num_rows=rows,
        row_groups=groups,
        created_by=b"by hand",
        i32list=[1],
    )
    footer = bytes(meta.to_bytes())
    file.write(footer + len(footer).to_bytes(4, "little") + b"PAR1")
