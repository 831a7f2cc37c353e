"""Pictures in text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bloomify.console.console import ASCII, Glyphs, glyphs_for
from bloomify.console.table import share_bar, survivors_bar

GLYPHS = Glyphs()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "gb18030"])
def test_encodings_that_can(encoding: str) -> None:
    assert glyphs_for(encoding) == GLYPHS


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "nonsense", None])
def test_encodings_that_cannot(encoding: str | None) -> None:
    assert glyphs_for(encoding) == ASCII


def test_one_cell_for_each_row_group() -> None:
    assert survivors_bar({1, 3}, 5, glyphs=ASCII, most=20) == ".#.#."
    assert survivors_bar(set(), 0, glyphs=ASCII, most=20) == ""


@given(st.integers(1, 500), st.integers(1, 60), st.data())
def test_no_survivor_is_lost_in_a_narrow_picture(
    total: int, most: int, data: st.DataObject
) -> None:
    surviving = data.draw(st.sets(st.integers(0, total - 1)))
    bar = survivors_bar(surviving, total, glyphs=ASCII, most=most)
    assert len(bar) == min(total, most)
    for cell, drawn in enumerate(bar):
        mine = {i for i in range(total) if i * len(bar) // total == cell}
        assert (drawn == "#") == bool(mine & surviving)


@given(st.floats(0, 1))
def test_only_nothing_is_empty_and_only_all_is_full(share: float) -> None:
    bar = share_bar(share, glyphs=ASCII)
    assert len(bar) == 10
    assert (bar == "." * 10) == (share == 0)
    assert (bar == "#" * 10) == (share == 1)
    assert bar.count("#") == pytest.approx(share * 10, abs=1)
