"""Edits: bytes and positions change together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.metadata.patch import Edit, Shift, apply_edits


@st.composite
def sources_and_edits(draw: st.DrawFn) -> tuple[bytes, list[Edit]]:
    """Distinct bytes, so that each tells where it went, and edits in order."""
    source = bytes(range(1, draw(st.integers(1, 60))))
    cuts = sorted(draw(st.lists(st.integers(0, len(source)), max_size=8)))
    pairs = zip(cuts[::2], cuts[1::2], strict=False)
    new = st.binary(max_size=5).map(lambda data: bytes(b | 0x80 for b in data))
    return source, [Edit(start, stop, draw(new)) for start, stop in pairs]


@given(sources_and_edits())
def test_positions_move_with_the_bytes_they_point_at(case: tuple[bytes, list[Edit]]) -> None:
    source, edits = case
    result = apply_edits(source, edits)
    assert len(result) == len(source) + sum(edit.growth for edit in edits)
    move = Shift.of([edit.stop for edit in edits], [edit.growth for edit in edits])
    replaced = {p for edit in edits for p in range(edit.start, edit.stop)}
    kept = [p for p in range(1, len(source)) if p not in replaced]
    moved = move(np.array(kept, np.int64)).tolist()
    assert [result[p] for p in moved] == [source[p] for p in kept]


@pytest.mark.parametrize(
    "edits",
    [
        [Edit(2, 4, b""), Edit(3, 5, b"")],
        [Edit(4, 5, b""), Edit(1, 2, b"")],
        [Edit(3, 2, b"")],
        [Edit(9, 12, b"")],
        [Edit(-1, 2, b"")],
    ],
)
def test_impossible_edits(edits: list[Edit]) -> None:
    with pytest.raises(ValueError, match="edit of bytes"):
        apply_edits(b"0123456789", edits)


def test_stops_out_of_order() -> None:
    with pytest.raises(ValueError, match="out of order"):
        Shift.of([5, 3], [1, 1])


def test_sentinels_stay() -> None:
    move = Shift.of([0, 1, 5], [100, 100, 100])
    numbers = np.array([-(2**63), -1, 0, 1, 4, 5, 6], np.int64)
    assert move(numbers).tolist() == [-(2**63), -1, 0, 201, 204, 305, 306]
