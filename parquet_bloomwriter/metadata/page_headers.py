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

from parquet_bloomwriter.compact.scan import StructKind, StructSchema
from parquet_bloomwriter.kernels.layout import (
    ABSENT,
    BAD_NUMBER,
    DATA_PAGE,
    DATA_PAGE_V2,
    DICTIONARY_PAGE,
    I32,
    LACKS_FIELD,
    SLOT_COMPRESSED,
    SLOT_DATA,
    SLOT_DATA_V2,
    SLOT_DICTIONARY,
    SLOT_TYPE,
    SLOT_UNCOMPRESSED,
    STRUCT,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


def _counts(slot: int, encoding_id: int) -> StructKind:
    """Return the kind of a struct whose number of values and encoding get the next two slots."""
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

_STRUCTS = {DATA_PAGE: SLOT_DATA, DICTIONARY_PAGE: SLOT_DICTIONARY, DATA_PAGE_V2: SLOT_DATA_V2}
"""Slot of the struct that a page of each type must have."""

_MAX_INT32 = 2**31 - 1


def page_columns(slots: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """Return a page header's problem, or 0, and the columns of its page after the first two.

    Args:
        slots: The integers of the header, `PAGE_SLOTS` in number; see `layout`.

    Returns:
        `LACKS_FIELD`, `BAD_NUMBER` or 0; and, if there is no problem, the columns from
        `PAGE_COMPRESSED` on.
    """
    kind = slots[SLOT_TYPE]
    sizes = [slots[SLOT_COMPRESSED], slots[SLOT_UNCOMPRESSED]]
    slot = _STRUCTS.get(kind)
    counts = [] if slot is None else slots[slot + 1 : slot + 3]
    has_struct = slot is None or slots[slot] != ABSENT
    if ABSENT in {kind, *sizes, *counts} or not has_struct:
        return LACKS_FIELD, ()
    if not all(0 <= number <= _MAX_INT32 for number in (*sizes, *counts)):
        return BAD_NUMBER, ()
    return 0, (*sizes, kind, *(counts or (-1, -1)))
