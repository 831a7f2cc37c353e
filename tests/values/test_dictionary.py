"""Dictionary pages as the values of their chunks: when they are taken, and what is in them."""

from __future__ import annotations

import decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_bloomwriter.compact.varint import encode_zigzag
from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.filters.build import FilterOptions, build_filter, holds_all_values
from parquet_bloomwriter.hashing import hash_array
from parquet_bloomwriter.kernels.layout import (
    PAGE_COMPRESSED,
    PAGE_ENCODING,
    PAGE_HEADER_BYTES,
    PAGE_NUM_VALUES,
    PAGE_POSITION,
)
from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.sbbf import Sbbf
from parquet_bloomwriter.source import BufferSource
from parquet_bloomwriter.source.local import open_local
from parquet_bloomwriter.values import LeafReader, dictionary, page_in
from parquet_bloomwriter.values.pages import extent_of, walk
from tests.values.stored import physical
from tests.verbs.files import (
    created_by,
    footer_of,
    with_bytes_behind_entries,
    with_num_rows,
    with_number,
    written,
)

if TYPE_CHECKING:
    from parquet_bloomwriter.filters.build import BuiltFilter
    from parquet_bloomwriter.values import DictionaryPage

FIXTURES = sorted((Path(__file__).resolve().parents[2] / "fixtures").glob("*/*.parquet"))
CODECS = ("none", "snappy", "gzip", "brotli", "lz4", "zstd")


class FarSource(BufferSource):
    """Bytes that each request costs much."""

    tail_bytes = 64 * 1024
    gap = 0


def reader_of(data: bytes, ordinal: int = 0, kind: type[BufferSource] = BufferSource) -> LeafReader:
    footer = footer_of(data)
    return LeafReader(kind(data), footer, footer.leaves[ordinal])


def dictionary_of(data: bytes, ordinal: int = 0, row_group: int = 0) -> DictionaryPage | None:
    return reader_of(data, ordinal).dictionary(row_group)


def entries(page: DictionaryPage | None) -> list[bytes]:
    assert page is not None
    return [value for array in page.batches() for value in physical(array)]


def values(data: bytes, ordinal: int = 0, row_group: int = 0) -> set[bytes]:
    return {v for a in reader_of(data, ordinal).batches(row_group) for v in physical(a)}


def built(data: bytes, ordinal: int, row_group: int, **options: Any) -> BuiltFilter | None:  # noqa: ANN401
    footer = footer_of(data)
    leaf = footer.leaves[ordinal]
    return build_filter(reader_of(data, ordinal), footer, leaf, row_group, FilterOptions(**options))


# ---------------------------------------------------------------- what is in them


POOLS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "int32": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "float": (pa.float32(), st.sampled_from([0.0, -0.0, float("nan"), 1.5, -2.25])),
    "double": (pa.float64(), st.sampled_from([0.0, -0.0, float("nan"), 1.5, 1e300])),
    "half": (pa.float16(), st.sampled_from([np.float16(x) for x in (0.0, -0.0, 1.5, np.nan)])),
    "text": (pa.string(), st.text(max_size=9)),
    "fixed": (pa.binary(5), st.binary(min_size=5, max_size=5)),
    "decimal": (
        pa.decimal128(30, 2),
        st.integers(-(10**9), 10**9).map(lambda n: decimal.Decimal(n).scaleb(-2)),
    ),
    "instant": (pa.timestamp("ns"), st.integers(-(2**50), 2**50)),
}


@st.composite
def columns(draw: st.DrawFn) -> pa.Table:
    kind, value = POOLS[draw(st.sampled_from(sorted(POOLS)))]
    pool = draw(st.lists(value, min_size=1, max_size=20))
    rows = draw(st.lists(st.none() | st.sampled_from(pool), min_size=1, max_size=200))
    return pa.table({"x": pa.array(rows, kind)})


@given(
    columns(),
    st.sampled_from(CODECS),
    st.sampled_from(["1.0", "2.0"]),
    st.booleans(),
    st.sampled_from(["pow2", "exact"]),
    st.booleans(),
)
@settings(max_examples=25)
def test_filters_are_those_of_all_values(  # noqa: PLR0913, PLR0917  what is drawn
    table: pa.Table,
    codec: str,
    version: str,
    checksums: bool,  # noqa: FBT001
    sizing: str,
    int96: bool,  # noqa: FBT001
) -> None:
    data = written(
        table, compression=codec, data_page_version=version, write_page_checksum=checksums,
        data_page_size=64, write_batch_size=16, row_group_size=150,
        use_deprecated_int96_timestamps=int96,
    )  # fmt: skip
    footer = footer_of(data)
    for row_group in range(footer.num_row_groups):
        expected = values(data, 0, row_group)
        page = dictionary_of(data, 0, row_group)
        if not expected:
            assert page is None
            continue
        assert set(entries(page)) == expected
        with pytest.MonkeyPatch.context() as patch:
            found = built(data, 0, row_group, sizing=sizing)
            patch.setattr(LeafReader, "dictionary", lambda *_: None)
            slow = built(data, 0, row_group, sizing=sizing)
        assert found is not None
        assert slow is not None
        assert found.data == slow.data
        assert found.fpp == slow.fpp


@pytest.mark.parametrize("fpp", [0.3, 0.01, 0.0001])
@pytest.mark.parametrize("max_bytes", [64, 2048, 1 << 20])
@pytest.mark.parametrize("sizing", ["pow2", "exact"])
def test_filters_of_any_size_are_those_of_all_values(
    monkeypatch: pytest.MonkeyPatch, fpp: float, max_bytes: int, sizing: str
) -> None:
    """Also where chance makes a filter too small for its number of values."""
    options: dict[str, Any] = {"fpp": fpp, "max_bytes": max_bytes, "sizing": sizing}
    files = [
        written(pa.table({"x": np.arange(4000) % count * 7919}), row_group_size=4000)
        for count in (1, 2, 5, 13, 50, 177, 500, 1000, 1900)
    ]
    found = [built(data, 0, 0, **options) for data in files]
    monkeypatch.setattr(LeafReader, "dictionary", lambda *_: None)
    slow = [built(data, 0, 0, **options) for data in files]
    assert [one and one.data for one in found] == [one and one.data for one in slow]


@pytest.mark.parametrize(
    "path", FIXTURES, ids=[f"{path.parent.name}/{path.stem}" for path in FIXTURES]
)
def test_dictionaries_of_every_writer(path: Path) -> None:
    """The walk of the file, of its bytes, and of a far source find the same."""
    data = path.read_bytes()
    footer = footer_of(data)
    with open_local(str(path)) as source:
        for leaf in footer.leaves:
            for row_group in range(footer.num_row_groups):
                page = LeafReader(source, footer, leaf).dictionary(row_group)
                same = dictionary_of(data, leaf.ordinal, row_group)
                far = reader_of(data, leaf.ordinal, FarSource).dictionary(row_group)
                assert (page is None) == (same is None) == (far is None)
                if page is None or same is None or far is None:
                    continue
                found = entries(page)
                assert len(found) == page.num_values
                assert found == entries(same) == entries(far)
                assert set(found) == values(data, leaf.ordinal, row_group)


def test_large_dictionaries_come_in_parts() -> None:
    texts = pa.array([f"{i:050}" for i in range(200_000)])
    data = written(
        pa.table({"x": texts}), row_group_size=200_000, dictionary_pagesize_limit=1 << 30
    )
    page = dictionary_of(data)
    assert page is not None
    arrays = list(page.batches())
    assert len(arrays) > 1
    assert max(array.nbytes for array in arrays) < 8 << 20
    assert pa.concat_arrays(arrays).cast(pa.string()).equals(texts)
    assert len(next(page.batches(max_rows=150_000))) < 150_000
    assert len(next(page.batches(max_rows=10))) == 10


# ---------------------------------------------------------------- when they are taken


def test_mixed_chunks_are_read_as_a_whole() -> None:
    texts = [f"text {i}" for i in range(3000)]
    data = written(
        pa.table({"x": texts}), row_group_size=3000, dictionary_pagesize_limit=2048,
        data_page_size=1024, write_batch_size=64,
    )  # fmt: skip
    assert dictionary_of(data) is None
    found = built(data, 0, 0)
    assert found is not None
    assert Sbbf.from_bytes(found.data).contains_all(hash_array(pa.array(texts)))


def test_nothing_but_headers_and_the_dictionary_is_read(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    table = pa.table({"x": np.random.default_rng(1).integers(0, 1000, 500_000)})
    pq.write_table(table, path, row_group_size=500_000)
    with open_local(str(path)) as source:
        footer = footer_of(path.read_bytes())
        page = LeafReader(source, footer, footer.leaves[0]).dictionary(0)
        assert len(entries(page)) == 1000
        extent = extent_of(footer, 0, 0)
        assert extent is not None
        before = source.traffic.bytes
        pages = walk(source, extent).table
    assert len(pages) > 20
    headers = int(pages[:, PAGE_HEADER_BYTES].sum())
    assert before <= 1.2 * (headers + int(pages[0, PAGE_COMPRESSED]))


def unused_entry() -> bytes:
    """A file in which no row refers to "absent": a row that did is one of another value now."""
    data = written(
        pa.table({"x": ["here", "absent", "here"]}), compression="none", row_group_size=3,
        write_statistics=False,
    )  # fmt: skip
    footer = footer_of(data)
    extent = extent_of(footer, 0, 0)
    assert extent is not None
    (_, page) = walk(BufferSource(data), extent).table
    stop = int(page[PAGE_POSITION] + page[PAGE_HEADER_BYTES] + page[PAGE_COMPRESSED])
    assert data[stop - 2 : stop] == b"\x03\x02"  # eight values of one bit each
    return data[: stop - 1] + b"\x00" + data[stop:]


def test_entries_that_no_row_uses_are_no_values() -> None:
    data = unused_entry()
    assert entries(dictionary_of(data)) == [b"here", b"absent"]
    assert values(data) == {b"here"}
    footer = footer_of(data)
    lean = Sbbf.empty(2)
    lean.insert_hashes(hash_array(pa.array(["here"])))
    assert holds_all_values(lean, reader_of(data), footer.leaves[0], 0)
    assert not holds_all_values(Sbbf.empty(2), reader_of(data), footer.leaves[0], 0)


@pytest.mark.parametrize("change", ["more rows", "fewer rows", "more values", "fewer values"])
def test_counts_that_do_not_add_up(change: str) -> None:
    data = written(pa.table({"x": [1, 2, 2, 1]}), row_group_size=4)
    assert dictionary_of(data) is not None
    changed = {
        "more rows": lambda: with_num_rows(data, 5),
        "fewer rows": lambda: with_num_rows(data, 3),
        "more values": lambda: with_number(data, ChunkField.NUM_VALUES, 5),
        "fewer values": lambda: with_number(data, ChunkField.NUM_VALUES, 3),
    }[change]()
    assert (dictionary_of(changed) is not None) == (change == "more rows")


@pytest.mark.parametrize(
    ("field", "number"),
    [
        (ChunkField.CODEC, 99),
        (ChunkField.TOTAL_COMPRESSED_SIZE, 10),
        (ChunkField.DATA_PAGE_OFFSET, 5),
        (ChunkField.DATA_PAGE_OFFSET, 2**60),
        (ChunkField.DATA_PAGE_OFFSET, -1),
        (ChunkField.DICTIONARY_PAGE_OFFSET, 5),
        (ChunkField.NUM_VALUES, -1),
    ],
)
def test_metadata_that_leads_elsewhere(field: ChunkField, number: int) -> None:
    data = written(pa.table({"x": [1, 2, 2, 1]}), row_group_size=4)
    assert dictionary_of(with_number(data, field, number)) is None


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("kind", [BufferSource, FarSource])
def test_no_page_hides_behind_the_last_value(
    version: str,
    repeats: bool,  # noqa: FBT001
    kind: type[BufferSource],
) -> None:
    """Readers that go by rows or by bytes find the page that the number of values leaves out."""
    texts = [f"text {i % 3 if i < 200 else i}" for i in range(400)]
    data = written(
        pa.table({"x": [[text] for text in texts] if repeats else texts}), row_group_size=400,
        dictionary_pagesize_limit=64, data_page_size=64, write_batch_size=100,
        data_page_version=version,
    )  # fmt: skip
    extent = extent_of(footer_of(data), 0, 0)
    assert extent is not None
    pages = walk(BufferSource(data), extent).table
    (plain,) = np.flatnonzero(pages[:, PAGE_ENCODING] == 0)[1:][:1]
    assert plain > 1
    lying = with_number(data, ChunkField.NUM_VALUES, int(pages[1:plain, PAGE_NUM_VALUES].sum()))
    reader = reader_of(lying, kind=kind)
    assert reader.dictionary(0) is None
    with pytest.raises(OSError, match=r"more pages follow|rows can be read"):
        list(reader.batches(0))


def test_values_of_a_row_that_are_left_out_of_the_count() -> None:
    """The number of rows is right, as the last row goes on in the page that is left out."""
    data = written(
        pa.table({"x": [[f"text {i % 3}"] for i in range(400)]}), row_group_size=400,
        data_page_size=64, write_batch_size=100, compression="none",
    )  # fmt: skip
    extent = extent_of(footer_of(data), 0, 0)
    assert extent is not None
    last = walk(BufferSource(data), extent).table[-1]
    assert last[PAGE_NUM_VALUES] == 1
    level = int(last[PAGE_POSITION] + last[PAGE_HEADER_BYTES]) + 5
    assert data[level - 1 : level + 1] == b"\x02\x00"  # Once 0: it begins a row.
    data = with_num_rows(data[:level] + b"\x01" + data[level + 1 :], 399)
    assert values(data) == {b"text 0", b"text 1", b"text 2"}
    lying = with_number(data, ChunkField.NUM_VALUES, 399)
    assert dictionary_of(lying) is None
    with pytest.raises(OSError, match="more pages follow"):
        values(lying)


def test_bytes_behind_the_entries_are_no_obstacle() -> None:
    """Every value is read where the dictionary is not quite what its header says."""
    data = written(
        pa.table({"x": ["a", "b", "a"]}), compression="none", row_group_size=3,
        write_statistics=False,
    )  # fmt: skip
    changed = with_bytes_behind_entries(data, 10)
    with pytest.raises(OSError, match="a dictionary of 2 values"):
        entries(dictionary_of(changed))
    found, expected = built(changed, 0, 0), built(data, 0, 0)
    assert found is not None
    assert expected is not None
    assert found.data == expected.data


def test_pages_that_are_none() -> None:
    data = written(pa.table({"x": ["a", "b", "a"]}), compression="none", row_group_size=3)
    page = dictionary_of(data)
    assert page is not None
    alone = data[page.start : page.stop]
    (leaf,) = footer_of(data).leaves
    assert entries(page_in(alone, leaf, 0)) == [b"a", b"b"]
    for wrong in (alone + b"\x00", alone[:-1], b"", data[page.stop :]):
        assert page_in(wrong, leaf, 0) is None
    assert page_in(alone, leaf, 99) is None


@pytest.mark.parametrize(
    ("codec", "kind", "checksums"),
    [
        ("none", pa.string(), False),
        ("snappy", pa.binary(3), True),
    ],
)
def test_changed_headers_hide_no_value(codec: str, kind: pa.DataType, checksums: bool) -> None:  # noqa: FBT001
    """Whatever is still taken for the dictionary has all that pyarrow reads of the file."""
    array = pa.array([f"{i % 7:03}" for i in range(300)])
    table = pa.table({"x": (array if kind != pa.binary(3) else array.cast(pa.binary())).cast(kind)})
    data = written(
        table, compression=codec, data_page_size=64, write_batch_size=32, row_group_size=300,
        write_page_checksum=checksums,
    )  # fmt: skip
    footer = footer_of(data)
    extent = extent_of(footer, 0, 0)
    assert extent is not None
    pages = walk(BufferSource(data), extent).table
    headers = [np.arange(row[0], row[0] + row[1]) for row in pages.tolist()]
    rng = np.random.default_rng(7)
    before = pa.default_memory_pool().max_memory()
    taken = 0
    for place in np.concatenate(headers[:2]).tolist():
        old = data[place]  # numbers are in zigzag: the next ones are two away
        changed = {*(old ^ 1 << bit for bit in range(8)), (old + 2) % 256, (old - 2) % 256}
        for byte in {*changed, *rng.choice(256, 3, replace=False).tolist()}:
            broken = bytearray(data)
            broken[place] = byte
            taken += hides_nothing(bytes(broken))
    assert taken > 100
    assert pa.default_memory_pool().max_memory() <= max(before, 64 << 20)


def hides_nothing(data: bytes) -> bool:
    """Whether a dictionary was found; it must have all values that pyarrow reads."""
    try:
        page = dictionary_of(data)
        found = set(entries(page)) if page is not None else None
    except (OSError, BloomwriterError, pa.ArrowException):
        return False
    if found is None:
        return False
    try:
        column = pq.read_table(pa.BufferReader(data)).column(0).combine_chunks()
    except (OSError, pa.ArrowException):
        return True
    as_stored = column.cast(pa.binary()) if pa.types.is_string(column.type) else column
    assert set(physical(as_stored)) <= found
    return True


@pytest.mark.parametrize("unpacked", [2**31 - 1, 200 << 20])
@pytest.mark.parametrize("count", [2, 2**31 - 1])
def test_lying_headers_take_no_memory(unpacked: int, count: int) -> None:
    """Neither the dictionary alone nor all values are left to pyarrow then."""
    data = written(pa.table({"x": ["a", "b", "a"]}), compression="snappy", row_group_size=3)
    page = dictionary_of(data)
    assert page is not None
    body = bytes(8)
    header = b"\x15\x04\x15" + encode_zigzag(unpacked) + b"\x15" + encode_zigzag(len(body))
    header += b"\x4c\x15" + encode_zigzag(count) + b"\x15\x04\x00\x00"
    (leaf,) = footer_of(data).leaves
    assert page_in(header + body, leaf, 1) is None
    lying = bytearray(data)
    lying[page.start : page.start + len(header)] = header
    before = pa.default_memory_pool().max_memory()
    assert dictionary_of(bytes(lying)) is None
    with pytest.raises(OSError, match=r"a (page|dictionary) claims"):
        values(bytes(lying))
    assert pa.default_memory_pool().max_memory() <= max(before, 1 << 20)


# ---------------------------------------------------------------- on stores


def test_data_pages_do_not_stay_in_memory() -> None:
    data = written(pa.table({"x": np.arange(20_000) % 50}), row_group_size=20_000)
    page = reader_of(data, kind=FarSource).dictionary(0)
    assert page is not None
    assert (page.start, page.stop) == (0, page.source.size)
    assert entries(page) == entries(dictionary_of(data))


def far_pages(data: bytes, monkeypatch: pytest.MonkeyPatch) -> tuple[list[bytes] | None, int]:
    """Look for a large chunk's dictionary from afar; return its entries and the requests."""
    monkeypatch.setattr(dictionary, "_REMOTE_CHUNK_BYTES", 100)
    footer = footer_of(data)
    source = FarSource(data)
    page = LeafReader(source, footer, footer.leaves[0]).dictionary(0)
    found = None if page is None else entries(page)
    return found, source.traffic.requests


def test_stores_are_asked_little(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"x": np.random.default_rng(2).integers(0, 50, 30_000)})
    options: dict[str, Any] = {"row_group_size": 30_000, "data_page_size": 2048}
    data = written(table, write_batch_size=256, **options)
    expected = entries(dictionary_of(data))
    assert far_pages(data, monkeypatch) == (expected, 1)
    stranger = created_by(data, b"stranger")
    assert far_pages(stranger, monkeypatch) == (None, 0)
    indexed = created_by(
        written(table, write_batch_size=256, write_page_index=True, **options), b"stranger"
    )
    found, requests = far_pages(indexed, monkeypatch)
    assert found == expected
    extent = extent_of(footer_of(indexed), 0, 0)
    assert extent is not None
    assert requests <= 2 + len(walk(BufferSource(indexed), extent).table)


def test_no_byte_of_a_chunk_is_asked_for_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a chunk whose footer leaves it open whether it has a dictionary, and of exact filters."""
    monkeypatch.setattr(dictionary, "has_other_encodings", lambda *_: False)
    table = pa.table({"x": np.arange(60_000) % 20_000})
    data = written(table, row_group_size=60_000, dictionary_pagesize_limit=1000)
    footer = footer_of(data)
    leaf, extent = footer.leaves[0], extent_of(footer, 0, 0)
    assert extent is not None
    assert dictionary_of(data) is None
    for options in (FilterOptions(), FilterOptions(sizing="exact")):
        source = FarSource(data)
        near = build_filter(reader_of(data), footer, leaf, 0, options)
        far = build_filter(LeafReader(source, footer, leaf), footer, leaf, 0, options)
        assert near is not None
        assert far is not None
        assert far.data == near.data
        assert source.traffic.bytes == extent.stop - extent.start
        assert holds_all_values(
            Sbbf.from_bytes(far.data), LeafReader(source, footer, leaf), leaf, 0
        )
        assert source.traffic.bytes == 2 * (extent.stop - extent.start)


def test_a_footer_that_names_other_encodings_saves_reading_headers() -> None:
    table = pa.table({"x": np.arange(60_000)})
    data = written(table, row_group_size=60_000, dictionary_pagesize_limit=1000)
    source, footer = FarSource(data), footer_of(data)
    assert LeafReader(source, footer, footer.leaves[0]).dictionary(0) is None
    assert source.traffic.requests == 0


def test_sizes_are_compared_with_the_footer_on_stores_too(monkeypatch: pytest.MonkeyPatch) -> None:
    data = written(
        pa.table({"x": [f"{i % 7:0200000}" for i in range(14)]}), compression="brotli",
        dictionary_pagesize_limit=1 << 24,
    )  # fmt: skip
    page = dictionary_of(data)
    assert page is not None
    assert far_pages(data, monkeypatch)[0] == entries(page)
    known, lie = encode_zigzag(page.num_bytes), encode_zigzag(120 << 20)
    assert len(known) == len(lie)
    assert known in data[page.start : page.start + 8]
    assert far_pages(data.replace(known, lie, 1), monkeypatch)[0] is None


def test_what_an_index_leaves_out_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page between those that the index lists might have other values."""
    table = pa.table({"x": np.random.default_rng(2).integers(0, 50, 30_000)})
    data = written(
        table, write_batch_size=256, row_group_size=30_000, data_page_size=2048,
        write_page_index=True, compression="none",
    )  # fmt: skip
    data = created_by(data, b"stranger")
    extent = extent_of(footer_of(data), 0, 0)
    assert extent is not None
    pages = walk(BufferSource(data), extent).table
    assert far_pages(data, monkeypatch)[0] is not None
    row = pages[3]
    plain = bytearray(data)
    at = data.index(b"\x15" + encode_zigzag(8), int(row[PAGE_POSITION]) + 3)
    assert at < row[PAGE_POSITION] + row[PAGE_HEADER_BYTES]
    plain[at + 1] = 0
    assert walk(BufferSource(bytes(plain)), extent).table[3, PAGE_ENCODING] == 0
    assert far_pages(bytes(plain), monkeypatch)[0] is None
    assert int(pages[1:, PAGE_NUM_VALUES].sum()) == 30_000
    assert footer_of(data).leaves[0].physical_type == PhysicalType.INT64
