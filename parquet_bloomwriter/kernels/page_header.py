"""What the numbers in a page header say of the page, for whoever walks pages in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.kernels.layout import (
    ABSENT,
    BAD_NUMBER,
    DATA_PAGE,
    DATA_PAGE_V2,
    DICTIONARY_PAGE,
    LACKS_FIELD,
    SLOT_COMPRESSED,
    SLOT_DATA,
    SLOT_DATA_V2,
    SLOT_DICTIONARY,
    SLOT_TYPE,
    SLOT_UNCOMPRESSED,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_STRUCTS = {DATA_PAGE: SLOT_DATA, DICTIONARY_PAGE: SLOT_DICTIONARY, DATA_PAGE_V2: SLOT_DATA_V2}
"""The struct that a page of a type must have."""

_MAX_INT32 = 2**31 - 1


def page_columns(slots: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """Return the problem of a page header, or 0, and the columns of its page behind the first two.

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
    if not all(0 <= one <= _MAX_INT32 for one in (*sizes, *counts)):
        return BAD_NUMBER, ()
    return 0, (*sizes, kind, *(counts or (-1, -1)))
