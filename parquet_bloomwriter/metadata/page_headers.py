"""The page headers of a column chunk, one after the other.

    PageHeader {1: type, 2: uncompressed_page_size, 3: compressed_page_size,
                5: DataPageHeader {1: num_values, 2: encoding},
                7: DictionaryPageHeader {1: num_values, 2: encoding},
                8: DataPageHeaderV2 {1: num_values, 4: encoding}}

A chunk is a run of pages, each a header and as many bytes as `compressed_page_size` says. Only the
headers are looked at.

Source: parquet.thrift, PageHeader; Parquet specification, "Data Pages".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parquet_bloomwriter import kernels
from parquet_bloomwriter.compact.scan import StructKind, StructSchema
from parquet_bloomwriter.errors import MalformedFile
from parquet_bloomwriter.kernels.layout import (
    FULL,
    I32,
    PAGE_COLUMNS,
    PAGE_POSITION,
    PROBLEMS,
    SLOT_COMPRESSED,
    SLOT_DATA,
    SLOT_DATA_V2,
    SLOT_DICTIONARY,
    SLOT_TYPE,
    SLOT_UNCOMPRESSED,
    STRUCT,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_bloomwriter.kernels.reference.buffers import Buffer


def _counts(slot: int, encoding_id: int) -> StructKind:
    """Describe the number of values and the encoding, in the slots behind that of their struct."""
    return StructKind(
        slots={1: (slot + 1, I32), encoding_id: (slot + 2, I32)},
        shares_row=True,
    )


PAGE_HEADER = StructSchema.of(
    {
        "PageHeader": StructKind(
            slots={
                1: (SLOT_TYPE, I32),
                2: (SLOT_UNCOMPRESSED, I32),
                3: (SLOT_COMPRESSED, I32),
                5: (SLOT_DATA, STRUCT),
                7: (SLOT_DICTIONARY, STRUCT),
                8: (SLOT_DATA_V2, STRUCT),
            },
            children={5: "DataPageHeader", 7: "DictionaryPageHeader", 8: "DataPageHeaderV2"},
        ),
        "DataPageHeader": _counts(SLOT_DATA, 2),
        "DictionaryPageHeader": _counts(SLOT_DICTIONARY, 2),
        "DataPageHeaderV2": _counts(SLOT_DATA_V2, 4),
    }
)

_FIRST_PAGES = 64


def read_page_headers(data: Buffer, *, start: int = 0) -> NDArray[np.int64]:
    """Find all pages of a column chunk.

    Args:
        data: The chunk, from its first page to its last byte.
        start: Absolute position of `data` in its file.

    Returns:
        Shape (pages, `PAGE_COLUMNS`); see `kernels.layout`. Positions are absolute.

    Raises:
        MalformedFile: If a header is malformed, or the last page ends behind the data.
    """
    parts, pos = [], 0
    pages = np.empty((_FIRST_PAGES, PAGE_COLUMNS), np.int64)
    problem = FULL
    while problem == FULL:
        problem, pos, found = kernels.walk_pages(data, pos, PAGE_HEADER.words, pages)
        parts.append(pages[:found])
        pages = np.empty((2 * len(pages), PAGE_COLUMNS), np.int64)
    if problem:
        raise MalformedFile(f"a page header {PROBLEMS[problem]}", byte=start + pos)
    joined = np.concatenate(parts)
    joined[:, PAGE_POSITION] += start
    return joined
