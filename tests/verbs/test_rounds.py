"""Filters come and go any number of times: what is left is what taking them out at once leaves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_bloomwriter import bloomify, strip
from parquet_bloomwriter.columns import why_no_filter
from parquet_bloomwriter.sbbf import Dialect, Sbbf
from parquet_bloomwriter.splice.plan import Placement
from tests.support import compact
from tests.verbs.broken_filters import with_filter
from tests.verbs.files import (
    footer_of,
    with_filter_at,
    with_unknown_field,
    without_length,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
OTHER_WRITERS = (
    "chdb/bloom", "datafusion/bloom", "datafusion/nested", "duckdb/bloom", "duckdb/types",
    "parquetjs/bloom", "pyarrow/bloom", "pyarrow/bloom_page_index", "spark/bloom",
)  # fmt: skip
COLUMNS = ("id", "email", "city")


class File(bytes):
    """A file that does not fill the screen when a test fails."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{len(self)} bytes>"


# ---------------------------------------------------------------- filters that are not as usual


def sound(size: int = 64) -> bytes:
    return Sbbf.empty(size // 32).to_bytes()


def draft(size: int = 64) -> bytes:
    return Sbbf.empty(size // 32).to_bytes("murmur3")


HEADERS = {
    "xxhash": sound(),
    "draft": draft(),
    "unknown hash": sound().replace(bytes.fromhex("1c1c00001c"), bytes.fromhex("1c1c00001c2c"), 1),
    "no members": bytes.fromhex("1580011c001c001c0000") + bytes(64),
    "long": sound()[:15] + b"\x68\xff\x01" + bytes(255) + b"\x00" + bytes(64),
    "broken": b"\xff" * 80,
    "not whole blocks": b"\x15\x42" + sound()[3:15] + b"\x00" + bytes(33),
}
"""Header and bitset of filters by other writers, by what is special about them."""

GAPS = (0, 0, 0, 1, 40)
"""Bytes between a filter and what follows."""

LENGTHS = ("right", "right", "missing", "too short", "too long")


@st.composite
def strange(draw: st.DrawFn) -> File:
    """Files whose old filters are of all kinds, some of them overlapping or with wrong lengths."""
    data = written(row_group_size=600, write_page_index=draw(st.booleans()))
    for chunk in draw(st.lists(st.sampled_from([(r, c) for r in (0, 1) for c in range(3)]),
                               unique=True, max_size=4)):  # fmt: skip
        filter_ = HEADERS[draw(st.sampled_from(sorted(HEADERS)))]
        length = draw(st.sampled_from(LENGTHS))
        difference = {"too short": -1, "too long": 32}.get(length, 0)
        gap = draw(st.sampled_from(GAPS))
        data = with_filter(data, chunk, filter_ + bytes(gap), length=len(filter_) + difference)
        data = without_length(data, chunk) if length == "missing" else data
    places = list(compact.filters_of(compact.footer_of(data)).items())
    if places and draw(st.booleans()):
        (_, (offset, length)), (chunk, _) = places[0], places[-1]
        shift = draw(st.sampled_from([0, 15, -40]))
        data = with_filter_at(data, chunk, (offset + shift, length or 79))
    if draw(st.booleans()):
        data = with_unknown_field(data, "RowGroup")
    return File(data)


# ---------------------------------------------------------------- rounds

Round = "Callable[[bytes], tuple[bytes, int]]"


def adding(
    columns: Sequence[str], dialect: Dialect, placement: Placement, *, replace: bool
) -> Callable[[bytes], tuple[bytes, int]]:
    def add(data: bytes) -> tuple[bytes, int]:
        report = bloomify(
            data, columns, dialect=dialect, placement=placement, replace=replace, jobs=1
        )
        return report.data or data, report.left_bytes

    return add


def stripping(columns: Sequence[str] | None) -> Callable[[bytes], tuple[bytes, int]]:
    def take_out(data: bytes) -> tuple[bytes, int]:
        report = strip(data, columns)
        return report.data or data, report.left_bytes

    return take_out


def rounds(columns: Sequence[str]) -> st.SearchStrategy[list[Callable[[bytes], tuple[bytes, int]]]]:
    some = st.lists(st.sampled_from(columns), min_size=1, unique=True)
    add = st.builds(
        adding,
        some,
        st.sampled_from(get_args(Dialect)),
        st.sampled_from(get_args(Placement)),
        replace=st.booleans(),
    )
    return st.lists(st.one_of(add, add, st.builds(stripping, some)), min_size=1, max_size=6)


def check_rounds(data: bytes, steps: Sequence[Callable[[bytes], tuple[bytes, int]]]) -> None:
    """Hold any rounds, and then taking everything out, against taking everything out at once."""
    expected, expected_left = stripping(None)(data)
    left = 0
    new = data
    for step in (*steps, stripping(None)):
        new, more = step(new)
        left += more
    assert File(new) == File(expected)
    assert left == expected_left
    assert not compact.filters_of(compact.footer_of(new))


PLAIN = File(written())
INDEXED = File(written(write_page_index=True))
UNMOVABLE = File(with_unknown_field(INDEXED, "FileMetaData"))


@given(st.sampled_from([PLAIN, INDEXED, UNMOVABLE]), rounds(COLUMNS))
@settings(max_examples=100)
def test_a_file_without_filters_is_restored(data: bytes, steps: Sequence[Round]) -> None:
    check_rounds(data, steps)
    assert stripping(None)(data) == (data, 0)


@given(st.sampled_from(OTHER_WRITERS), st.data())
@settings(max_examples=60)
def test_filters_of_other_writers(name: str, drawn: st.DataObject) -> None:
    data = File((FIXTURES / f"{name}.parquet").read_bytes())
    columns = [leaf.name for leaf in footer_of(data).leaves if why_no_filter(leaf) is None]
    check_rounds(data, drawn.draw(rounds(columns)))
    assert strip(data).left_bytes == 0


@given(strange(), rounds(COLUMNS))
@settings(max_examples=200)
def test_filters_that_are_not_as_usual(data: bytes, steps: Sequence[Round]) -> None:
    check_rounds(data, steps)
