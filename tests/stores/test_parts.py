"""Parts of an upload hold every byte once, in order, and keep the store's rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter.errors import UnsupportedFile
from parquet_bloomwriter.stores.s3 import parts
from parquet_bloomwriter.stores.s3.parts import Cutter, NewBytes, OldBytes, Part, Segment, cost_of

MIB = 1024 * 1024


@st.composite
def segments(draw: st.DrawFn) -> list[Segment]:
    """Old bytes in order, with gaps, and new ones between them."""
    position, made = 0, list[Segment]()
    sizes = st.one_of(st.integers(1, 12 * MIB), st.integers(100 * MIB, 600 * MIB))
    for is_old in draw(st.lists(st.booleans(), min_size=1, max_size=12)):
        size = draw(sizes)
        if is_old:
            position += draw(st.sampled_from([0, 0, 1000]))
            made.append(OldBytes(position, position + size))
            position += size
        else:
            made.append(NewBytes(min(size, 40 * MIB)))
    return made


def cut(given_: list[Segment], *, copies: bool) -> list[Part]:
    cutter = Cutter(copies=copies)
    made = [part for segment in given_ for part in cutter.add(segment)]
    return [*made, *cutter.finish()]


def flat(given_: list[Segment]) -> list[tuple[str, int, int]]:
    """Old bytes by their ranges, new ones by their numbers; neighbours joined."""
    joined: list[tuple[str, int, int]] = []
    for one in given_:
        if isinstance(one, OldBytes):
            if joined and joined[-1][0] == "old" and joined[-1][2] == one.start:
                joined[-1] = ("old", joined[-1][1], one.stop)
            else:
                joined.append(("old", one.start, one.stop))
        elif joined and joined[-1][0] == "new":
            joined[-1] = ("new", 0, joined[-1][2] + one.size)
        else:
            joined.append(("new", 0, one.size))
    return joined


@given(segments(), st.booleans())
def test_every_byte_once_and_in_order(given_: list[Segment], copies: bool) -> None:  # noqa: FBT001  Hypothesis passes it
    made = cut(given_, copies=copies)
    assert flat([one for part in made for one in part.segments]) == flat(given_)
    assert [part.number for part in made] == list(range(1, len(made) + 1))
    assert all(part.size >= parts.SMALLEST for part in made[:-1])
    assert all(part.size <= parts.COPIED + parts.SMALLEST for part in made if part.copied)
    assert copies or not any(part.copied for part in made)


@given(segments(), st.booleans())
def test_the_cost_is_that_of_the_parts(given_: list[Segment], copies: bool) -> None:  # noqa: FBT001  Hypothesis passes it
    cost = cost_of(given_, copies=copies)
    size = sum(one.size for one in given_)
    new = sum(one.size for one in given_ if isinstance(one, NewBytes))
    assert cost.up + cost.copied == size
    assert cost.up - cost.down == new
    assert cost.requests == 1 or cost.requests == len(cut(given_, copies=copies)) + 2


def test_filters_at_the_end_cost_only_themselves() -> None:
    cost = cost_of([OldBytes(0, 500 * MIB), NewBytes(3 * MIB), NewBytes(1000)], copies=True)
    assert (cost.down, cost.up, cost.copied) == (0, 3 * MIB + 1000, 500 * MIB)
    assert cost.requests == 4 + 1 + 2


def test_a_small_object_is_sent_whole() -> None:
    cost = cost_of([OldBytes(0, 4 * MIB), NewBytes(1000)], copies=True)
    assert (cost.requests, cost.up, cost.copied) == (1, 4 * MIB + 1000, 0)


def test_too_many_parts_are_refused() -> None:
    many: list[Segment] = [
        one
        for n in range(6000)
        for one in (NewBytes(5 * MIB), OldBytes(n * 5 * MIB, (n + 1) * 5 * MIB))
    ]
    with pytest.raises(UnsupportedFile, match=r"more than 10,000 parts.*end of the file"):
        cost_of(many, copies=True)
