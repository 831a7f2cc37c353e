"""Single bits of bitsets. A bit that is lost loses values, which only `verify` can tell.

For every bit that is set: `verify` fails the filter if, and only if, a value was lost, and names
as many as the reference finds. For every bit that is not set: nothing is lost, and it passes.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from campaigns.hostile.filters_files import filtered
from campaigns.hostile.filters_judge import Case, Wrong, reference
from parquet_bloomwriter import verify
from parquet_bloomwriter.reports.verification import CheckStatus
from tests.verbs.broken_filters import with_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.reports.verification import FilterCheck

LOST, HARMLESS = "lost values, found by verify", "harmless, and passed"
_NAMES = ("own/end", "own/row-group", "own/exact", "datafusion/nested")


@cache
def flips() -> Sequence[tuple[str, int, int]]:
    """All bits: a file's name, the ordinal of a filter, and the bit in its bitset."""
    return [
        (name, ordinal, bit)
        for name in _NAMES
        for ordinal, spot in enumerate(filtered(name).spots)
        for bit in range(8 * spot.num_bytes)
        if spot.plains
    ]


def check_flip(number: int) -> str:
    """Flip one bit, and ask `verify`.

    Raises:
        Wrong: If it does not say what the reference says.
    """
    name, ordinal, bit = flips()[number]
    base = filtered(name)
    spot = base.spots[ordinal]
    at = spot.bits + bit // 8
    data = with_bytes(base.data, at, bytes([base.data[at] ^ 1 << bit % 8]))
    found = reference(data, spot)
    assert found is not None
    lost = sum(not found.contains(plain) for plain in spot.plains)
    check = _check_of(Case(base=base, data=data, spot=spot))
    if check.status is not (CheckStatus.FAILED if lost else CheckStatus.OK):
        raise Wrong(f"{lost} values are lost, and verify says {check.status}: {check.reason}")
    if lost and check.num_missing < lost:
        raise Wrong(f"{lost} values are lost, and verify says {check.num_missing}")
    return LOST if lost else HARMLESS


def _check_of(case: Case) -> FilterCheck:
    for check in verify(case.data, [case.spot.column], jobs=1, absent=0).checks:
        if check.row_group == case.spot.chunk[0]:
            return check
    raise Wrong("verify does not look at the filter")
