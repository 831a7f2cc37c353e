"""The page headers of a column chunk; `c/pages.h` says what they are, and how they are read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from parquet_bloomwriter.kernels.layout import (
    DATA_PAGE,
    DATA_PAGE_V2,
    ENDS_EARLY,
    FULL,
    MAX_HEADER_BYTES,
    MAX_SCAN_BYTES,
    PAGE_COLUMNS,
    PAGE_COMPRESSED,
    PAGE_HEADER_BYTES,
    PAGE_NUM_VALUES,
    PAGE_SLOTS,
    PAGE_TYPE,
    UNREADABLE,
)
from parquet_bloomwriter.kernels.page_header import page_columns
from parquet_bloomwriter.kernels.reference.buffers import aligned, number, require_apart, taken
from parquet_bloomwriter.kernels.reference.thrift import Schema, scan_struct

if TYPE_CHECKING:
    from parquet_bloomwriter.kernels.reference.buffers import Buffer

_MAX_INT32 = 2**31 - 1
_MAX_INT64 = 2**63 - 1
_FIRST_WINDOW, _SLACK = 64, 16


def walk_pages(
    data: Buffer, pos: SupportsIndex, schema: Buffer, pages: Buffer
) -> tuple[int, int, int]:
    """Note every page from a position to the end of the data.

    Args:
        data: A column chunk, or pages of one.
        pos: Position of the first page header in `data`.
        schema: Of a PageHeader: see `layout`.
        pages: To be written: int64, shape (n, `PAGE_COLUMNS`), aligned.

    Returns:
        The number of the problem, of `layout.PROBLEMS`, or 0, or `FULL` if there are more than n
        pages; the position where the walk ended: past the last page that was noted, or within the
        header that is malformed; and how many pages were noted.
    """
    view = taken(data, "data", 1).data
    pos = number(pos, "pos", 0, 2**63 - 1)
    if pos > len(view):
        raise ValueError("pos lies behind the data")
    kinds = Schema.of(schema, PAGE_SLOTS)
    out = aligned(pages, "pages", np.int64, writable=True)
    require_apart(schema, out)
    capacity = len(out) // PAGE_COLUMNS
    out = out[: capacity * PAGE_COLUMNS].reshape(capacity, PAGE_COLUMNS)
    found = 0
    while pos < len(view):
        if found == capacity:
            return FULL, pos, found
        window = view[pos : pos + MAX_SCAN_BYTES]
        problem, stop, rows = scan_struct(window, 0, kinds, PAGE_SLOTS, 1)
        if problem:
            return problem, pos + stop, found
        values = rows[0].values
        problem, page = page_columns(values)
        if not problem and page[0] > len(view) - pos - stop:
            problem = ENDS_EARLY
        if problem:
            return problem, pos, found
        out[found] = (pos, stop, *page)
        found += 1
        pos += stop + page[0]
    return 0, pos, found


def walk_file(  # noqa: PLR0913, PLR0917  what a walk needs
    descriptor: SupportsIndex,
    pos: SupportsIndex,
    limit: SupportsIndex,
    num_values: SupportsIndex,
    schema: Buffer,
    pages: Buffer,
) -> tuple[int, int, int, int, int, int]:
    """Note the pages of a column chunk in an open file, of which only the headers are read.

    Args:
        descriptor: Of the file.
        pos: Absolute position of the first page header.
        limit: Absolute position before which pages end.
        num_values: The walk ends when data pages have so many values.
        schema: Of a PageHeader: see `layout`.
        pages: To be written: int64, shape (n, `PAGE_COLUMNS`), aligned.

    Returns:
        The number of the problem, of `layout.PROBLEMS`, or 0, or `FULL` if there are more than n
        pages; the position behind the last page that was noted; how many were noted; how many
        values are still to be found; and the number of reads, and of bytes that were read.
    """
    file = number(descriptor, "descriptor", 0, _MAX_INT32)
    pos = number(pos, "pos", 0, _MAX_INT64)
    limit = number(limit, "limit", 0, _MAX_INT64)
    left = number(num_values, "num_values", -_MAX_INT64 - 1, _MAX_INT64)
    kinds = Schema.of(schema, PAGE_SLOTS)
    out = aligned(pages, "pages", np.int64, writable=True)
    require_apart(schema, out)
    capacity = len(out) // PAGE_COLUMNS
    out = out[: capacity * PAGE_COLUMNS].reshape(capacity, PAGE_COLUMNS)
    found, window, num_reads, num_bytes, problem = 0, _FIRST_WINDOW, 0, 0, 0
    while left > 0 and pos < limit:
        if found == capacity:
            problem = FULL
            break
        most = min(limit - pos, MAX_HEADER_BYTES)
        while True:
            window = min(window, most)
            data = _read(file, window, pos)
            num_reads += 1
            num_bytes += len(data)
            if len(data) != window:
                problem = UNREADABLE
                break
            problem, stop, rows = scan_struct(memoryview(data), 0, kinds, PAGE_SLOTS, 1)
            if not problem or window == most:
                break
            window *= 4
        if problem:
            break
        problem, page = page_columns(rows[0].values)
        if not problem and page[0] > limit - pos - stop:
            problem = ENDS_EARLY
        if problem:
            break
        out[found] = (pos, stop, *page)
        if out[found, PAGE_TYPE] in {DATA_PAGE, DATA_PAGE_V2}:
            left -= int(out[found, PAGE_NUM_VALUES])
        pos += int(out[found, PAGE_HEADER_BYTES] + out[found, PAGE_COMPRESSED])
        window = stop + _SLACK
        found += 1
    return problem, pos, found, left, num_reads, num_bytes


def _read(file: int, size: int, start: int) -> bytes:
    try:
        return os.pread(file, size, start)
    except OSError:
        return b""
