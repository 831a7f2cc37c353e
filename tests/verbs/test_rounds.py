"""Filters come and go any number of times: what stays is what taking them out at once leaves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_bloomwriter import bloomify, strip
from parquet_bloomwriter.filters.columns import why_no_filter
from parquet_bloomwriter.kernels.layout import STOP
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.metadata.patch import Edit
from parquet_bloomwriter.rewrite.plan import Placement
from parquet_bloomwriter.sbbf import Dialect, Sbbf
from tests.support import compact
from tests.verbs.broken_filters import with_filter
from tests.verbs.files import (
    footer_of,
    read,
    with_edits,
    with_filter_at,
    with_unknown_field,
    without_length,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[2]
OTHER_WRITERS = (
    "fixtures/chdb/bloom", "fixtures/datafusion/bloom", "fixtures/datafusion/nested",
    "fixtures/duckdb/bloom", "fixtures/duckdb/types", "fixtures/pyarrow/bloom",
    "fixtures/pyarrow/bloom_page_index", "fixtures/spark/bloom", "tests/support/parquetjs/bloom",
)  # fmt: skip
COLUMNS = ("id", "email", "city")
PLACEMENTS: tuple[Placement, ...] = get_args(Placement)
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)


class File(bytes):
    """A file that does not fill the screen when a test fails."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{len(self)} bytes>"


PLAIN = File(written())
INDEXED = File(written(write_page_index=True))
UNMOVABLE = File(with_unknown_field(INDEXED, "FileMetaData"))

# ---------------------------------------------------------------- rounds


@dataclass(frozen=True)
class Add:
    """Build filters."""

    columns: Sequence[str] | None
    dialect: Dialect = "xxhash"
    placement: Placement = "column-chunk"
    replace: bool = False

    def __call__(self, data: bytes) -> tuple[File, int]:
        """Return the new version, and the bytes that were left."""
        report = bloomify(
            data,
            self.columns,
            dialect=self.dialect,
            placement=self.placement,
            replace=self.replace,
            jobs=1,
        )
        return File(report.data or data), report.left_bytes


@dataclass(frozen=True)
class Strip:
    """Take filters out."""

    columns: Sequence[str] | None = None

    def __call__(self, data: bytes) -> tuple[File, int]:
        """Return the new version, and the bytes that were left."""
        report = strip(data, self.columns)
        return File(report.data or data), report.left_bytes


Rounds: TypeAlias = "Sequence[Add | Strip]"


def rounds(columns: Sequence[str]) -> st.SearchStrategy[Rounds]:
    some = st.lists(st.sampled_from(columns), min_size=1, unique=True)
    add = st.builds(
        Add, some, st.sampled_from(DIALECTS), st.sampled_from(PLACEMENTS), st.booleans()
    )
    return st.lists(add | add | st.builds(Strip, some), min_size=1, max_size=6)


def check_rounds(data: File, steps: Rounds) -> None:
    """Hold any rounds, and then taking everything out, against taking everything out at once."""
    expected = Strip()(data)
    left = 0
    new = data
    for step in (*steps, Strip()):
        new, more = step(new)
        left += more
    assert (new, left) == expected
    assert not compact.filters_of(compact.footer_of(new))


@given(st.sampled_from([PLAIN, INDEXED, UNMOVABLE]), rounds(COLUMNS))
@settings(max_examples=20)
def test_a_file_without_filters_is_restored(data: File, steps: Rounds) -> None:
    assert Strip()(data) == (data, 0)
    check_rounds(data, steps)


@given(st.sampled_from(OTHER_WRITERS), st.data())
@settings(max_examples=15)
def test_filters_of_other_writers(name: str, drawn: st.DataObject) -> None:
    data = File((ROOT / f"{name}.parquet").read_bytes())
    columns = [leaf.name for leaf in footer_of(data).leaves if why_no_filter(leaf) is None]
    assert strip(data).left_bytes == 0
    check_rounds(data, drawn.draw(rounds(columns)))


def test_filters_whose_headers_name_no_hash_go_and_are_replaced() -> None:
    """As `@dsnp/parquetjs` writes them, without lengths in the footer."""
    data = (ROOT / "tests/support/parquetjs/bloom.parquet").read_bytes()
    without = strip(data)
    assert without.data is not None
    assert (without.num_filters, without.left_bytes) == (6, 0)
    sizes = 4 * (1024 + 10) + 2 * (32 + 9)
    assert len(data) - len(without.data) > sizes
    assert read(without.data).equals(read(data))
    replaced = bloomify(data)
    assert (replaced.num_built, replaced.left_bytes) == (6, 0)
    assert strip(replaced.data or b"").data == without.data


@pytest.mark.parametrize(
    ("data", "placement", "dialect"),
    [
        *((PLAIN, one, "xxhash") for one in PLACEMENTS),
        *((INDEXED, "row-group", "murmur3"), (UNMOVABLE, "column-chunk", "xxhash")),
    ],
)
def test_replacing_does_not_make_the_file_grow(
    data: File, placement: Placement, dialect: Dialect
) -> None:
    new, _ = Add(None, dialect, placement)(data)
    for columns in (None, ["id"], ["email"]):
        again, left = Add(columns, dialect, placement, replace=True)(new)
        assert (len(again), left) == (len(new), 0)
        new = again
    assert Strip()(new) == (data, 0)


# ---------------------------------------------------------------- filters that are not as usual


def _usual(dialect: Dialect = "xxhash") -> bytes:
    return Sbbf.empty(2, dialect=dialect).to_bytes()


_HEADER = _usual()[:-64]

CERTAIN = {
    "released": _usual(),
    "draft": _usual("murmur3"),
    "unknown algorithm": _HEADER[:4] + b"\x2c" + _HEADER[5:] + bytes(64),
    "unknown hash": _HEADER[:8] + b"\x2c" + _HEADER[9:] + bytes(64),
    "unions without members": b"\x15\x80\x01\x1c\x00\x1c\x00\x1c\x00\x00" + bytes(64),
    "sizes of other algorithms": b"\x15\x42" + _HEADER[3:] + bytes(33),
    "header of 274 bytes": _HEADER[:-1] + b"\x18\xff\x01" + bytes(256) + bytes(64),
}
"""Header and bitset, by what is special about them; all of them tell their length."""

UNCERTAIN = {
    "no Thrift": b"\xff" * 79,
    "no size": b"\x00" * 79,
    "no algorithm": b"\x15\x80\x01\x00" + bytes(64),
    "negative size": b"\x15\x7f" + _HEADER[3:] + bytes(64),
}
CHUNK = (0, 0)


@pytest.mark.parametrize("filter_", CERTAIN.values(), ids=CERTAIN)
def test_bytes_go_if_the_header_tells_their_number(filter_: bytes) -> None:
    """Whether the footer gives the length or not."""
    data = with_filter(INDEXED, CHUNK, filter_)
    assert Strip()(data) == Strip()(without_length(data, CHUNK)) == (INDEXED, 0)


@pytest.mark.parametrize("filter_", UNCERTAIN.values(), ids=UNCERTAIN)
def test_bytes_stay_if_there_is_no_header(filter_: bytes) -> None:
    new, left = Strip()(with_filter(PLAIN, CHUNK, filter_))
    assert (len(new), left) == (len(PLAIN) + len(filter_), len(filter_))


@pytest.mark.parametrize("filter_", CERTAIN.values(), ids=CERTAIN)
def test_bytes_stay_if_lengths_differ_or_nothing_begins_at_their_end(filter_: bytes) -> None:
    size = len(filter_)
    with_gap = with_filter(PLAIN, CHUNK, filter_ + bytes(5), length=size)
    for data, gap in (
        *((with_filter(PLAIN, CHUNK, filter_, length=size + more), 0) for more in (-32, -1, 1, 32)),
        *((with_gap, 5), (without_length(with_gap, CHUNK), 5)),
    ):
        new, left = Strip()(data)
        assert (len(new), left) == (len(PLAIN) + size + gap, size)


def test_a_filter_that_is_not_certain_confirms_no_other() -> None:
    before = with_filter(PLAIN, (0, 0), CERTAIN["draft"])
    data = with_filter(before, (0, 1), UNCERTAIN["no Thrift"])
    _, left = Strip()(data)
    assert left == len(CERTAIN["draft"]) + len(UNCERTAIN["no Thrift"])


def test_new_filters_do_not_go_before_a_filter_that_is_not_certain() -> None:
    draft = CERTAIN["draft"]
    data = File(with_filter(PLAIN, (1, 0), draft, length=len(draft) - 1))
    check_rounds(data, [Add(["email"], placement="row-group")])


def test_the_spelling_of_a_filter_s_offset_does_not_matter() -> None:
    """Its varint has a byte too many; it goes when the filter is replaced."""
    options = {name: {"ndv": 9} for name in ("id", "email")}
    data = written(bloom_filter_options=options, write_page_index=True)
    footer = footer_of(data)
    stop = int(footer.chunks.spans[0, 0, ChunkField.BLOOM_FILTER_OFFSET, STOP])
    data = with_edits(data, Edit(stop - 1, stop, bytes([footer.data[stop - 1] | 0x80, 0])))
    check_rounds(File(data), [Add(["id"], replace=True)])
    assert strip(data).left_bytes == 0


@pytest.mark.parametrize("gap", [0, 8])
@pytest.mark.parametrize("columns", [["id"], ["email"], None])
def test_filters_that_overlap_go_together_and_their_bytes_stay(
    columns: Sequence[str] | None, gap: int
) -> None:
    """The second begins in the bitset of the first, both with a header and the right length."""
    inner = _usual("murmur3")
    outer = Sbbf.empty(4).to_bytes()
    outer = outer[: -len(inner) - gap] + inner + bytes(gap)
    data = with_filter(PLAIN, (0, 0), outer)
    place = (footer_of(data).start - gap - len(inner), len(inner))
    data = File(with_filter_at(data, (1, 1), place))
    report = strip(data, columns)
    assert (report.num_filters, report.left_bytes) == (2, len(outer))
    check_rounds(data, [Strip(columns)])


@st.composite
def strange(draw: st.DrawFn) -> File:
    """Files whose old filters are of all kinds, some of them overlapping or with wrong lengths."""
    kinds = st.sampled_from([*CERTAIN.values(), *UNCERTAIN.values()])
    data: bytes = draw(st.sampled_from([PLAIN, INDEXED, UNMOVABLE]))
    chunks = st.sampled_from([(row, column) for row in (0, 1) for column in (0, 1, 2)])
    for chunk in draw(st.lists(chunks, unique=True, max_size=4)):
        filter_ = draw(kinds)
        length = draw(st.sampled_from([0, 0, -1, 32, None]))
        gap = draw(st.sampled_from([0, 0, 0, 1, 40]))
        data = with_filter(data, chunk, filter_ + bytes(gap), length=len(filter_) + (length or 0))
        data = without_length(data, chunk) if length is None else data
    places = list(compact.filters_of(compact.footer_of(data)).values())
    is_led_astray = draw(st.booleans())
    if places and is_led_astray:
        offset, length = draw(st.sampled_from(places))
        offset += draw(st.sampled_from([0, 15, -40]))
        data = with_filter_at(data, draw(chunks), (offset, length or len(_usual())))
    return File(data)


@given(strange(), rounds(COLUMNS))
@settings(max_examples=40)
def test_filters_of_any_kind(data: File, steps: Rounds) -> None:
    check_rounds(data, steps)
