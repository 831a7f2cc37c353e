"""Plans: every byte is used once, every position leads where it led, all can be undone."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, get_args

import pyarrow as pa
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from parquet_bloomwriter.kernels.layout import I32, I64
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.metadata.patch import Edit
from parquet_bloomwriter.rewrite.plan import (
    Copy,
    Draft,
    Emit,
    EmitFilter,
    Placement,
    Plan,
    Skip,
    check_cover,
    make_draft,
    make_plan,
)
from parquet_bloomwriter.sbbf import Sbbf
from tests.metadata.synthetic import column_chunk, column_metadata, file_metadata
from tests.metadata.test_page_index import encode as encode_index
from tests.verbs.files import (
    filter_bytes,
    footer_of,
    layout,
    new_positions,
    offsets_and_pages,
    read,
    rendered,
    with_edits,
    with_number,
    with_unknown_field,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.filters.stored import StoredFilter
    from parquet_bloomwriter.rewrite.plan import Chunk

PLACEMENTS: tuple[Placement, ...] = get_args(Placement)
every_placement = pytest.mark.parametrize("placement", PLACEMENTS)


def filter_of(blocks: int) -> bytes:
    return Sbbf.empty(blocks).to_bytes()


def rewritten(
    data: bytes,
    filters: dict[Chunk, bytes],
    placement: Placement,
    drops: Sequence[StoredFilter] = (),
) -> tuple[Draft, Plan, bytes]:
    """Draft, plan, and the new file."""
    place = layout(data)
    draft = make_draft(place, list(filters), placement, drops=drops)
    plan = make_plan(place, draft, {chunk: len(filter_) for chunk, filter_ in filters.items()})
    check_cover(plan)
    new = rendered(plan, data, filters)
    assert len(new) == plan.size
    return draft, plan, new


def stripped(data: bytes) -> bytes:
    place = layout(data)
    draft = make_draft(place, (), "end", drops=place.existing)
    return rendered(make_plan(place, draft, {}), data, {})


def moved(numbers: list[list[int]], positions: dict[int, int]) -> list[list[int]]:
    """Positions that nothing is copied from (page indexes written anew) are left out as -1."""
    return [[positions.get(n, -1) if n > 0 else n for n in column] for column in numbers]


def check_positions(data: bytes, new: bytes, plan: Plan) -> None:
    """Every position leads to the byte it led to."""
    positions = new_positions(plan)
    before, pages_before = offsets_and_pages(data)
    after, pages_after = offsets_and_pages(new)
    for expected, found in zip(moved(before, positions), after, strict=True):
        assert [n for n, e in zip(found, expected, strict=True) if e != -1] == [
            e for e in expected if e != -1
        ]
    assert pages_after == moved(pages_before, positions)


# ---------------------------------------------------------------- real files


class File(bytes):
    """A file that does not fill the screen when a test fails."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{len(self)} bytes>"


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Files by pyarrow with all that can be there: pages, indexes, dictionaries, old filters."""
    rows = draw(st.sampled_from([0, 1, 30, 200]))
    values = {
        "id": pa.array(range(rows), pa.int64()),
        "text": pa.array([None if i % 4 == 1 else f"text {i % 50}" for i in range(rows)]),
        "none": pa.array([None] * rows, pa.int32()),
        "list": pa.array([[i] * (i % 3) for i in range(rows)], pa.list_(pa.int32())),
    }
    names = draw(st.lists(st.sampled_from(sorted(values)), min_size=1, unique=True))
    with_filters = [name for name in names if name in ("id", "text") and draw(st.booleans())]
    options: dict[str, Any] = {
        "row_group_size": draw(st.sampled_from([1, 7, 100, 500])) if rows < 100 else 70,
        "use_dictionary": draw(st.booleans()),
        "compression": draw(st.sampled_from(["none", "zstd", "snappy"])),
        "write_page_index": draw(st.booleans()),
        "data_page_size": draw(st.sampled_from([64, 4096])),
        "write_batch_size": 16,
        "data_page_version": draw(st.sampled_from(["1.0", "2.0"])),
        "store_schema": draw(st.booleans()),
    }
    if with_filters:
        options["bloom_filter_options"] = {n: {"ndv": 10, "fpp": 0.1} for n in with_filters}
    return File(written(pa.table({name: values[name] for name in names}), **options))


@given(
    files(),
    st.sampled_from(PLACEMENTS),
    st.lists(st.sampled_from([0, 0, 1, 2, 3, 250, 260]), min_size=40, max_size=40),
)
@settings(max_examples=15)
def test_add_and_take_out(data: bytes, placement: Placement, blocks: list[int]) -> None:
    footer = footer_of(data)
    has_values = footer.chunks.value(ChunkField.NUM_VALUES) > 0
    existing = {(f.row_group, f.column): f for f in layout(data).existing}
    chunks = [(int(i), int(j)) for i, j in zip(*has_values.nonzero(), strict=True)]
    filters = {chunk: filter_of(n) for chunk, n in zip(chunks, blocks, strict=False) if n}
    drops = [f for chunk, f in existing.items() if chunk in filters]
    draft, plan, new = rewritten(data, filters, placement, drops)
    assert draft.fallback is None
    assert draft.placement == placement
    if not drops:
        check_positions(data, new, plan)
    assert read(new).equals(read(data))
    places = {(f.row_group, f.column): f for f in plan.filters}
    assert places.keys() == filters.keys()
    for chunk, filter_ in filters.items():
        place = places[chunk]
        assert new[place.offset : place.offset + place.length] == filter_
        assert filter_bytes(new, chunk) == filter_
    for chunk in existing.keys() - filters.keys():
        assert filter_bytes(new, chunk) == filter_bytes(data, chunk) != b""
    assert stripped(new) == stripped(data)
    if not existing:
        assert stripped(new) == data


@every_placement
def test_filters_go_where_they_should(placement: Placement) -> None:
    data = written(write_page_index=True)
    starts = footer_of(data).chunk_starts()
    filters = {(i, j): filter_of(2) for i in range(2) for j in range(3)}
    _, plan, _ = rewritten(data, filters, placement)
    kinds = [type(piece).__name__ for piece in plan.pieces]
    copy, emit = ["Copy"], ["EmitFilter"]
    indexes = ["Skip", "Emit"] * 6
    expected = {
        "column-chunk": copy + (emit + copy) * 6 + indexes + ["Emit"],
        "row-group": copy + emit * 3 + copy + emit * 3 + copy + indexes + ["Emit"],
        "end": copy + emit * 6 + ["Emit"],
    }
    assert kinds == expected[placement]
    cuts = [p.start for p in plan.pieces if isinstance(p, Copy)]
    assert set(cuts) <= {0, *starts.ravel().tolist(), *cuts[-1:]}
    order = [(p.row_group, p.column) for p in plan.pieces if isinstance(p, EmitFilter)]
    assert order == sorted(filters)


def test_nothing_to_do_changes_nothing() -> None:
    data = written(write_page_index=True)
    for placement in PLACEMENTS:
        _, plan, new = rewritten(data, {}, placement)
        assert new == data
        assert not plan.filters


def test_old_filters_move_with_their_bytes() -> None:
    data = written(bloom_filter_options={"email": {"ndv": 500, "fpp": 0.01}})
    for placement in PLACEMENTS:
        filters = {(0, 0): filter_of(100), (1, 2): filter_of(1)}
        _, _, new = rewritten(data, filters, placement)
        for chunk in ((0, 1), (1, 1)):
            assert filter_bytes(new, chunk) == filter_bytes(data, chunk) != b""
        assert read(new).equals(read(data))


# ---------------------------------------------------------------- page indexes anywhere


_NEAR_BOUNDARIES = st.one_of(
    st.integers(64 - 40, 64 + 3), st.integers(8192 - 40, 8192 + 3), st.sampled_from([-1, 0, 5])
)


@st.composite
def scattered(draw: st.DrawFn) -> bytes:
    """Chunks and page indexes in any order, positions close to where varints grow."""
    lists = draw(st.lists(st.lists(_NEAR_BOUNDARIES, max_size=8), min_size=1, max_size=4))
    count = len(lists)
    units = [(kind, i) for kind in ("chunk", "index") for i in range(count)]
    sizes = draw(st.lists(st.sampled_from([8, 20, 4000]), min_size=count, max_size=count))
    body = b"PAR1"
    places: dict[tuple[str, int], tuple[int, int]] = {}
    for kind, i in draw(st.permutations(units)):
        if kind == "index" and draw(st.booleans()):
            body += bytes(max(0, 8200 - len(body)))
        unit = bytes(sizes[i]) if kind == "chunk" else encode_index(lists[i])
        places[kind, i] = (len(body), len(unit))
        body += unit
    chunks = []
    for i in range(count):
        start, size = places["chunk", i]
        metadata = [
            (f, wire, {7: size, 9: start}.get(f, value), long)
            for f, wire, value, long in column_metadata()
        ]
        index, length = places["index", i]
        chunks.append(column_chunk(metadata, (4, I64, index), (5, I32, length)))
    body += bytes(max(0, 8200 - len(body)))
    footer = file_metadata(chunks)
    return File(body + footer + len(footer).to_bytes(4, "little") + b"PAR1")


def cascading() -> bytes:
    """A file whose second page index grows only because the first one does.

    A filter of one block before the first chunk takes its page from byte 63 to a position of two
    bytes. The page of the second chunk goes to byte 8191, which takes two bytes, and then, because
    the first index is longer, to byte 8192, which takes three.
    """
    first, second = 63, 8191 - len(filter_of(1))
    units = [bytes(80), encode_index([first]), bytes(8300), encode_index([second])]
    starts = [4, 84, 84 + len(units[1]), 84 + len(units[1]) + 8300]
    assert starts[2] < second < starts[3]
    chunks = []
    for chunk, index in ((0, 1), (2, 3)):
        changed = {7: len(units[chunk]), 9: starts[chunk]}
        metadata = [(f, wire, changed.get(f, v), long) for f, wire, v, long in column_metadata()]
        index_place = (4, I64, starts[index]), (5, I32, len(units[index]))
        chunks.append(column_chunk(metadata, *index_place))
    footer = file_metadata(chunks)
    return File(b"PAR1" + b"".join(units) + footer + len(footer).to_bytes(4, "little") + b"PAR1")


@given(
    scattered(),
    st.sampled_from(PLACEMENTS),
    st.lists(st.sampled_from([0, 1, 2]), min_size=4, max_size=4),
)
@example(cascading(), "column-chunk", [1, 0])
@settings(max_examples=15)
def test_cascades_are_exact(data: bytes, placement: Placement, blocks: list[int]) -> None:
    """Filters push pages, pages lengthen indexes, and those push pages further."""
    groups = range(footer_of(data).num_row_groups)
    place = layout(data)
    pages = [n for index in place.offset_indexes for n in index.offsets.tolist() if n > 0]
    inside = [(i.start, i.stop) for i in place.offset_indexes]
    assume(not any(start <= n < stop for n in pages for start, stop in inside))
    filters = {(i, 0): filter_of(n) for i, n in zip(groups, blocks, strict=False) if n}
    draft, plan, new = rewritten(data, filters, placement)
    before_its_pages = any((i.offsets > i.start).any() for i in place.offset_indexes)
    cuts_a_page = draft.fallback == "a column chunk seems to start within a page"
    is_unsafe = before_its_pages or cuts_a_page
    assert (draft.fallback is not None) == (is_unsafe and placement != "end")
    check_positions(data, new, plan)
    lengths = footer_of(new).chunks.value(ChunkField.OFFSET_INDEX_LENGTH).ravel().tolist()
    found = offsets_and_pages(new)[1]
    assert [len(encode_index(pages)) for pages in found] == [n for n in lengths if n > 0]
    assert stripped(new) == data


# ---------------------------------------------------------------- where moving is not safe


def check_fallback(data: bytes, reason: str) -> None:
    """Everywhere but at the end is refused; there nothing moves, and it can be undone."""
    filters = {(0, 0): filter_of(2), (1, 1): filter_of(3)}
    for placement in PLACEMENTS:
        draft, plan, new = rewritten(data, filters, placement)
        assert draft.placement == "end"
        if placement == "end":
            assert draft.fallback is None
        else:
            assert draft.fallback is not None
            assert reason in draft.fallback
        assert [type(piece).__name__ for piece in plan.pieces] == [
            "Copy", "EmitFilter", "EmitFilter", "Emit",
        ]  # fmt: skip
        assert plan.pieces[0] == Copy(0, footer_of(data).start)
        assert filter_bytes(new, (1, 1)) == filters[1, 1]
        assert stripped(new) == data


@pytest.mark.parametrize("where", ["FileMetaData", "RowGroup", "ColumnChunk", "ColumnMetaData"])
def test_unknown_fields(where: str) -> None:
    data = with_unknown_field(written(write_page_index=True), where)
    read(data)
    check_fallback(data, "fields that this version does not know")


def test_padded_offsets() -> None:
    data = written()
    _, _, stop = footer_of(data).chunks.spans[0, 1, ChunkField.DATA_PAGE_OFFSET].tolist()
    last = footer_of(data).data[stop - 1]
    check_fallback(with_edits(data, Edit(stop - 1, stop, bytes([last | 0x80, 0]))), "unusual way")


def test_broken_page_index() -> None:
    data = written(write_page_index=True)
    length = int(footer_of(data).chunks.value(ChunkField.OFFSET_INDEX_LENGTH)[0, 0])
    check_fallback(with_number(data, ChunkField.OFFSET_INDEX_LENGTH, length - 1), "")


def test_chunks_that_overlap() -> None:
    data = written()
    size = int(footer_of(data).chunks.value(ChunkField.TOTAL_COMPRESSED_SIZE)[0, 0])
    data = with_number(data, ChunkField.TOTAL_COMPRESSED_SIZE, size + 1)
    filters = {(0, 1): filter_of(2)}
    draft, _, new = rewritten(data, filters, "column-chunk")
    assert (draft.placement, draft.fallback) == ("end", "column chunks overlap")
    assert stripped(new) == data
    # Behind the row group nothing is cut in two.
    draft, _, new = rewritten(data, filters, "row-group")
    assert (draft.placement, draft.fallback) == ("row-group", None)
    assert stripped(new) == data


def test_chunks_that_share_their_bytes() -> None:
    data = written(use_dictionary=False)
    offset = int(footer_of(data).chunks.value(ChunkField.DATA_PAGE_OFFSET)[0, 0])
    data = with_number(data, ChunkField.DATA_PAGE_OFFSET, offset, chunk=(0, 1))
    filters = {(0, 0): filter_of(2), (0, 1): filter_of(2)}
    draft, _, new = rewritten(data, filters, "column-chunk")
    assert (draft.placement, draft.fallback) == ("end", "column chunks share their bytes")
    assert stripped(new) == data


# ---------------------------------------------------------------- dropping


def with_filters() -> bytes:
    options = {name: {"ndv": 500, "fpp": 0.01} for name in ("id", "email")}
    return written(bloom_filter_options=options)


def drop(data: bytes, *chunks: Chunk) -> tuple[Draft, bytes]:
    place = layout(data)
    drops = [f for f in place.existing if (f.row_group, f.column) in chunks]
    draft = make_draft(place, (), "end", drops=drops)
    return draft, rendered(make_plan(place, draft, {}), data, {})


def test_dropped_bytes_are_those_of_the_filters() -> None:
    data = with_filters()
    gone = [filter_bytes(data, chunk) for chunk in ((0, 0), (1, 1))]
    draft, new = drop(data, (0, 0), (1, 1))
    assert sum(skip.stop - skip.start for skip in draft.skips) == sum(map(len, gone))
    assert [filter_bytes(new, chunk) for chunk in ((0, 0), (1, 1))] == [b"", b""]
    for chunk in ((0, 1), (1, 0)):
        assert filter_bytes(new, chunk) == filter_bytes(data, chunk) != b""
    assert read(new).equals(read(data))


@pytest.mark.parametrize("both", [False, True])
def test_bytes_of_shared_filters_stay_and_neither_chunk_keeps_them(both: bool) -> None:  # noqa: FBT001  a parameter of the test
    data = with_filters()
    offset = int(footer_of(data).chunks.value(ChunkField.BLOOM_FILTER_OFFSET)[0, 0])
    data = with_number(data, ChunkField.BLOOM_FILTER_OFFSET, offset, chunk=(1, 0))
    draft, new = drop(data, (0, 0), *([(1, 0)] if both else []))
    assert draft.skips == ()
    assert new[: footer_of(data).start] == data[: footer_of(data).start]
    assert filter_bytes(new, (0, 0)) == b""
    assert filter_bytes(new, (1, 0)) == b""


def test_filters_inside_a_chunk_stay() -> None:
    data = with_filters()
    offset = int(footer_of(data).chunks.value(ChunkField.BLOOM_FILTER_OFFSET)[0, 0])
    size = offset + 40 - int(footer_of(data).chunk_starts()[1, 2])
    data = with_number(data, ChunkField.TOTAL_COMPRESSED_SIZE, size, chunk=(1, 2))
    draft, new = drop(data, (0, 0))
    assert draft.skips == ()
    assert len(new) < len(data)
    assert new[: footer_of(data).start] == data[: footer_of(data).start]


def test_filters_of_uncertain_length_stay() -> None:
    data = with_filters()
    length = int(footer_of(data).chunks.value(ChunkField.BLOOM_FILTER_LENGTH)[0, 0])
    data = with_number(data, ChunkField.BLOOM_FILTER_LENGTH, length - 32)
    draft, new = drop(data, (0, 0))
    assert draft.skips == ()
    assert filter_bytes(new, (0, 0)) == b""


# ---------------------------------------------------------------- the proof itself


def test_covers() -> None:
    good = Plan(
        pieces=(Copy(0, 4), Emit(b"x"), Skip(4, 6), EmitFilter(0, 0, 47), Copy(6, 9), Emit(b"y")),
        filters=(),
        size=56,
        dropped=frozenset(),
        footer_start=9,
    )
    check_cover(good)
    gap = (Copy(0, 4), Copy(6, 9))
    overlap = (Copy(0, 4), Copy(3, 9))
    twice = (Copy(0, 9), Copy(0, 9))
    late = (Copy(1, 9),)
    empty = (Copy(0, 9), Copy(9, 9))
    backwards = (Copy(0, 9), Skip(9, 8))
    short, long = (Copy(0, 8),), (Copy(0, 9), Skip(9, 10))
    for pieces in (gap, overlap, twice, late, empty, backwards, short, long, ()):
        with pytest.raises(AssertionError, match="byte"):
            check_cover(dataclasses.replace(good, pieces=pieces))


def test_no_plan_is_made_that_is_no_cover() -> None:
    place = layout(with_filters())
    draft = make_draft(place, (), "end", drops=place.existing[:1])
    (skip,) = draft.skips
    overlapping = dataclasses.replace(draft, skips=(skip, Skip(skip.start + 1, skip.stop + 1)))
    assert make_plan(place, draft, {}).dropped
    with pytest.raises(AssertionError, match="after byte"):
        make_plan(place, overlapping, {})
