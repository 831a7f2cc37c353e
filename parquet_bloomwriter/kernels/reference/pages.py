"""The page headers of a column chunk; `c/pages.h` says what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from parquet_bloomwriter.kernels.layout import (
    ABSENT,
    BAD_NUMBER,
    DATA_PAGE,
    DATA_PAGE_V2,
    DICTIONARY_PAGE,
    ENDS_EARLY,
    FULL,
    LACKS_FIELD,
    MAX_SCAN_BYTES,
    PAGE_COLUMNS,
    PAGE_SLOTS,
    SLOT_COMPRESSED,
    SLOT_DATA,
    SLOT_DATA_V2,
    SLOT_DICTIONARY,
    SLOT_TYPE,
    SLOT_UNCOMPRESSED,
)
from parquet_bloomwriter.kernels.reference.buffers import aligned, number, require_apart, taken
from parquet_bloomwriter.kernels.reference.thrift import Schema, scan_struct

if TYPE_CHECKING:
    from parquet_bloomwriter.kernels.reference.buffers import Buffer

_STRUCTS = {DATA_PAGE: SLOT_DATA, DICTIONARY_PAGE: SLOT_DICTIONARY, DATA_PAGE_V2: SLOT_DATA_V2}
"""The struct that a page of a type must have."""

_MAX_INT32 = 2**31 - 1


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
        problem, page = _page(values)
        if not problem and page[0] > len(view) - pos - stop:
            problem = ENDS_EARLY
        if problem:
            return problem, pos, found
        out[found] = (pos, stop, *page)
        found += 1
        pos += stop + page[0]
    return 0, pos, found


def _page(values: list[int]) -> tuple[int, tuple[int, ...]]:
    """Return the problem of a header, or 0, and the columns of its page behind the first two."""
    kind = values[SLOT_TYPE]
    sizes = [values[SLOT_COMPRESSED], values[SLOT_UNCOMPRESSED]]
    slot = _STRUCTS.get(kind)
    counts = [] if slot is None else values[slot + 1 : slot + 3]
    has_struct = slot is None or values[slot] != ABSENT
    if ABSENT in {kind, *sizes, *counts} or not has_struct:
        return LACKS_FIELD, ()
    if not all(0 <= one <= _MAX_INT32 for one in (*sizes, *counts)):
        return BAD_NUMBER, ()
    return 0, (*sizes, kind, *(counts or (-1, -1)))
