"""Which ranges to read together.

A request has its price, and so has every byte that is read for nothing. Ranges whose gap is at most
`gap` bytes become one request, until its gaps amount to more than `max_waste` bytes: a thousand
blocks spread over a gigabyte must not become one request for the gigabyte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.source.face import Range


def merge(ranges: Sequence[Range], *, gap: int, max_waste: int) -> tuple[list[Range], list[int]]:
    """Merge ranges into requests.

    Args:
        ranges: Absolute positions [start, stop), bytes, in any order; they may overlap.
        gap: Bytes between two ranges that are read rather than asked around.
        max_waste: Bytes between ranges that one request may return in all.

    Returns:
        The requests, ascending, and for each range the ordinal of the one that contains it.
    """
    requests: list[Range] = []
    homes = [0] * len(ranges)
    start, stop, waste = 0, -1, 0
    for ordinal in sorted(range(len(ranges)), key=ranges.__getitem__):
        first, last = ranges[ordinal]
        between = max(0, first - stop)
        if requests and between <= gap and waste + between <= max_waste:
            stop = max(stop, last)
            waste += between
            requests[-1] = (start, stop)
        else:
            start, stop, waste = first, last, 0
            requests.append((start, stop))
        homes[ordinal] = len(requests) - 1
    return requests, homes
