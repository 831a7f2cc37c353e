"""Dictionaries of every codec and type tell what is absent; any doubt, and they are silent."""

from __future__ import annotations

import datetime as dt
import io
import struct
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter.compact.varint import encode_zigzag
from parquet_bloomwriter.kernels.layout import I32, STRUCT
from parquet_bloomwriter.metadata.encodings import (
    is_certainly_dictionary_encoded,
    is_fully_dictionary_encoded,
)
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.metadata.patch import Edit
from parquet_bloomwriter.probing.dictionary import MAX_PAGE_BYTES, holds_any
from parquet_bloomwriter.probing.verdict import Evidence, Verdict
from tests.compact.structs import encode_struct
from tests.metadata.synthetic import plain
from tests.support import compact
from tests.support.asking import asked, check_of
from tests.verbs.broken_filters import with_bytes
from tests.verbs.files import created_by, footer_of, with_edits, with_number, written

if TYPE_CHECKING:
    from collections.abc import Sequence

CODECS = ["none", "snappy", "gzip", "brotli", "zstd"]
CODEC_IDS = {"none": 0, "snappy": 1, "gzip": 2, "lzo": 3, "brotli": 4, "lz4": 5, "lz4_raw": 7}
ODD = [value for value in range(-99, 100, 2) for _ in range(3)]


def file_of(values: Any, kind: pa.DataType | None = None, **options: Any) -> bytes:  # noqa: ANN401  pyarrow's
    options.setdefault("write_statistics", False)
    return written(pa.table({"x": pa.array(values, kind)}), **options)


def held(data: bytes, *plains: bytes) -> bool | None:
    """What the dictionary of the first column chunk says."""
    footer = footer_of(data)
    return holds_any(footer, 0, footer.leaves[0], plains, lambda start, stop: data[start:stop])


def words(*numbers: int) -> list[bytes]:
    return [number.to_bytes(8, "little", signed=True) for number in numbers]


FILE = file_of(ODD, pa.int64())


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("has_checksum", [True, False])
def test_every_codec(codec: str, version: str, *, has_checksum: bool) -> None:
    data = file_of(
        [*ODD, None],
        pa.int64(),
        compression=codec,
        data_page_version=version,
        write_page_checksum=has_checksum,
    )
    assert all(held(data, plain) for plain in words(*ODD[::10]))
    assert held(data, *words(0, 2, -98, 101)) is False
    assert held(data, *words(0, 99)) is True
    check = check_of(data, [("x", "=", 2)])
    assert (check.verdict, check.evidence) == (Verdict.CANNOT_MATCH, Evidence.DICTIONARY)
    check = check_of(data, [("x", "=", 1)])
    assert (check.verdict, check.evidence) == (Verdict.MIGHT_MATCH, Evidence.DICTIONARY)


def test_old_lz4_says_nothing() -> None:
    data = file_of(ODD, pa.int64(), compression="lz4")
    codec = int(footer_of(data).chunks.value(ChunkField.CODEC)[0, 0])
    assert codec == CODEC_IDS["lz4_raw"]
    assert held(data, *words(0)) is False
    for other in ("lz4", "lzo"):
        renamed = with_number(data, ChunkField.CODEC, CODEC_IDS[other])
        assert held(renamed, *words(0)) is None


DAY = dt.date(2000, 1, 1)
TYPES: list[tuple[pa.DataType, Sequence[Any], Sequence[Any]]] = [
    (pa.int8(), [-1, 5], [0, 6]),
    (pa.uint32(), [1, 2**32 - 1], [0, 2]),
    (pa.uint64(), [1, 2**64 - 1], [0, 2]),
    (pa.int64(), [-(2**63), 7], [6]),
    (pa.float32(), [-0.0, 1.5], [2.0]),
    (pa.float64(), [0.0, 0.1], [0.2]),
    (pa.string(), ["", "Łódź"], ["x", "Łód", "Łódźź"]),
    (pa.binary(), [b"", b"\0\xff"], [b"\0", b"\xff"]),
    (pa.binary(3), [b"abc", b"abd"], [b"abe", b"bca"]),
    (pa.decimal128(7, 2), [Decimal("-1.10")], [Decimal("1.10")]),
    (pa.decimal128(30, 2), [Decimal("-1.10")], [Decimal("1.10")]),
    (pa.date32(), [DAY], [dt.date(2000, 1, 2)]),
    (pa.timestamp("us"), [dt.datetime(2000, 1, 1, 1)], [dt.datetime(2000, 1, 1, 2)]),  # noqa: DTZ001
]


@pytest.mark.parametrize(("kind", "present", "absent"), TYPES)
def test_every_type(kind: pa.DataType, present: Sequence[Any], absent: Sequence[Any]) -> None:
    data = file_of([*present, None], kind)
    for value in present:
        assert check_of(data, [("x", "=", value)]).evidence is Evidence.DICTIONARY
        assert asked(data, [("x", "=", value)]).surviving == (0,)
    for value in absent:
        check = check_of(data, [("x", "=", value)])
        assert (check.verdict, check.evidence) == (Verdict.CANNOT_MATCH, Evidence.DICTIONARY)
    assert asked(data, [("x", "in", [*absent, present[-1]])]).surviving == (0,)


def test_both_zeros_are_looked_for() -> None:
    for stored in (0.0, -0.0):
        data = file_of([stored, 1.0], pa.float64())
        for zero in (0.0, -0.0, 0):
            assert check_of(data, [("x", "=", zero)]).verdict is Verdict.MIGHT_MATCH


def test_statistics_leave_only_some_values_to_look_for() -> None:
    data = file_of(ODD, pa.int64(), write_statistics=True)
    assert check_of(data, [("x", "in", [-200, 2, 200])]).evidence is Evidence.DICTIONARY
    assert asked(data, [("x", "in", [-200, 2, 200])]).surviving == ()
    assert asked(data, [("x", "in", [-200, 1, 200])]).surviving == (0,)


def test_a_dictionary_that_was_given_up_says_nothing() -> None:
    values = np.random.default_rng(1).permutation(20_000)
    data = file_of(values, dictionary_pagesize_limit=1024, row_group_size=20_000)
    (chunk,) = compact.chunks_of(compact.footer_of(data)).values()
    assert compact.DICTIONARY_PAGE_OFFSET in chunk[compact.META_DATA]
    assert held(data, *words(-5)) is None
    for value in (int(values[0]), int(values[-1]), 30_000):
        check = check_of(data, [("x", "=", value)])
        assert (check.verdict, check.evidence) == (Verdict.MIGHT_MATCH, Evidence.NONE)


def test_no_dictionary_says_nothing() -> None:
    assert held(file_of(ODD, pa.int64(), use_dictionary=False), *words(0)) is None
    assert held(file_of([True, False], pa.bool_()), b"\1") is None


def test_large_pages_are_not_read() -> None:
    limits = {"dictionary_pagesize_limit": 1 << 20, "row_group_size": 20_000, "compression": "none"}
    for rows, expected in ((MAX_PAGE_BYTES // 8 - 10, False), (MAX_PAGE_BYTES // 8 + 10, None)):
        data = file_of(range(rows), pa.int64(), **limits)
        assert held(data, *words(-5)) is expected


# ---------------------------------------------------------------- doubts


def page_of(data: bytes) -> tuple[int, int]:
    """Positions of the dictionary page."""
    chunks = footer_of(data).chunks
    start = int(chunks.value(ChunkField.DICTIONARY_PAGE_OFFSET)[0, 0])
    return start, int(chunks.value(ChunkField.DATA_PAGE_OFFSET)[0, 0])


def test_a_flipped_bit_is_noticed_by_its_checksum() -> None:
    data = file_of(ODD, pa.int64(), compression="none", write_page_checksum=True)
    start, stop = page_of(data)
    for at in (stop - 1, stop - 400):
        assert start < at
        flipped = with_bytes(data, at, bytes([data[at] ^ 1]))
        assert held(flipped, *words(0)) is None
        assert check_of(flipped, [("x", "=", 99)]).verdict is Verdict.MIGHT_MATCH


@pytest.mark.parametrize("codec", ["snappy", "gzip", "brotli", "zstd", "lz4"])
def test_bytes_that_cannot_be_unpacked_say_nothing(codec: str) -> None:
    data = file_of(ODD, pa.int64(), compression=codec)
    start, stop = page_of(data)
    _, length = compact.decode(data[start:stop])
    broken = with_bytes(data, start + length, b"\xff" * (stop - start - length))
    assert held(broken, *words(0)) is None


@pytest.mark.parametrize("by", [-1, 1, -20, 20])
@pytest.mark.parametrize("field", [ChunkField.DATA_PAGE_OFFSET, ChunkField.DICTIONARY_PAGE_OFFSET])
def test_offsets_that_lie_say_nothing(field: ChunkField, by: int) -> None:
    where = int(footer_of(FILE).chunks.value(field)[0, 0])
    assert held(with_number(FILE, field, where + by), *words(0)) is None


@pytest.mark.parametrize("offset", [0, -1, 10**9, 2**63 - 1])
@pytest.mark.parametrize("field", [ChunkField.DATA_PAGE_OFFSET, ChunkField.DICTIONARY_PAGE_OFFSET])
def test_offsets_out_of_the_file_say_nothing(field: ChunkField, offset: int) -> None:
    data = with_number(FILE, field, offset)
    assert held(data, *words(0)) is None
    assert asked(data, [("x", "=", 0)]).surviving == (0,)


PLAIN_FILE = file_of(ODD, pa.int64(), compression="none")
BODY = b"".join(words(*dict.fromkeys(ODD)))


def with_page(header: bytes, body: bytes = BODY) -> bytes:
    """A file with another dictionary page of the same size."""
    start, stop = page_of(PLAIN_FILE)
    data = PLAIN_FILE[:start] + header + body
    data += PLAIN_FILE[stop:]
    moved = len(header) + len(body) - (stop - start)
    footer = footer_of(data)
    _, first, last = footer.chunks.spans[0, 0, ChunkField.DATA_PAGE_OFFSET].tolist()
    return with_edits(data, Edit(first, last, encode_zigzag(stop + moved)))


def header(  # noqa: PLR0913  the fields of a PageHeader
    *,
    kind: int = 2,
    size: int = len(BODY),
    packed: int = len(BODY),
    crc: int | None = None,
    count: int = len(BODY) // 8,
    encoding: int = 0,
    has_dictionary: bool = True,
) -> bytes:
    more = [] if crc is None else [(4, I32, crc)]
    own = [(7, STRUCT, plain((1, I32, count), (2, I32, encoding)))] if has_dictionary else []
    return encode_struct(plain((1, I32, kind), (2, I32, size), (3, I32, packed), *more, *own))


def test_the_page_itself_is_in_order() -> None:
    for encoding in (0, 2):
        data = with_page(header(encoding=encoding))
        assert held(data, *words(0)) is False
        assert held(data, *words(99)) is True
        assert pq.read_table(io.BytesIO(data))["x"].to_pylist() == ODD


@pytest.mark.parametrize(
    "head",
    [
        header(kind=0),
        header(kind=3),
        header(has_dictionary=False),
        header(size=len(BODY) - 8),
        header(size=-1),
        header(packed=len(BODY) - 8),
        header(packed=len(BODY) + 8),
        header(packed=-1),
        header(crc=0),
        header(count=len(BODY) // 8 - 1),
        header(count=len(BODY) // 8 + 1),
        header(count=-1),
        header(count=2**31 - 1),
        header(encoding=8),
        header(encoding=5),
        b"\0",
        b"\xff" * 9,
        b"",
    ],
)
def test_pages_that_say_something_else(head: bytes) -> None:
    data = with_page(head)
    assert held(data, *words(0)) is None
    assert asked(data, [("x", "=", 0)]).surviving == (0,)


@pytest.mark.parametrize("count", [0, -5])
@pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
def test_a_dictionary_without_values_is_none_of_a_chunk_with_values(
    count: int, kind: pa.DataType
) -> None:
    data = file_of(["1"] if kind == pa.string() else [1], kind, compression="none")
    start, stop = page_of(data)
    moved = header(size=0, packed=0, count=count)
    moved = data[:start] + moved + data[stop:]
    footer = footer_of(moved)
    _, first, last = footer.chunks.spans[0, 0, ChunkField.DATA_PAGE_OFFSET].tolist()
    at = start + len(header(size=0, packed=0, count=count))
    moved = with_edits(moved, Edit(first, last, encode_zigzag(at)))
    assert held(moved, b"1", *words(1)) is None


TEXTS = ["a", "bcd", ""]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"".join(len(t).to_bytes(4, "little") + t.encode() for t in TEXTS), True),
        (b"\3\0\0\0bcd", None),  # fewer than three
        (b"\1\0\0\0a" * 4, None),  # more than three
        (b"\1\0\0\0a\1\0\0\0b\xff\xff\xff\xffc", None),
        (b"\1\0\0\0a\1\0\0\0b\1\0", None),
    ],
)
def test_texts_that_do_not_fill_their_page(body: bytes, *, expected: bool | None) -> None:
    data = file_of(TEXTS, pa.string(), compression="none")
    start, stop = page_of(data)
    head = header(size=len(body), packed=len(body), count=3)
    moved = data[:start] + head + body + data[stop:]
    _, first, last = footer_of(moved).chunks.spans[0, 0, ChunkField.DATA_PAGE_OFFSET].tolist()
    at = start + len(head) + len(body)
    moved = with_edits(moved, Edit(first, last, encode_zigzag(at)))
    assert held(moved, b"bcd") is expected


def test_timestamps_of_another_day_than_they_say_do_not_tell() -> None:
    moments = pa.array([0, 5000], pa.timestamp("ns"))
    data = file_of(moments, moments.type, compression="none", use_deprecated_int96_timestamps=True)
    usual, other = (struct.pack("<qI", nanos, 2_440_588) for nanos in (5000, 7000))
    odd = struct.pack("<qI", 86_400 * 10**9 + 5000, 2_440_587)
    assert (held(data, usual), held(data, other)) == (True, False)
    assert held(data.replace(usual, odd), usual) is None


def test_a_value_of_another_width_is_not_held() -> None:
    assert held(FILE, b"\1", bytes(16)) is False


@pytest.mark.parametrize(
    ("writer", "is_reliable"),
    [
        (b"parquet-mr version 1.13.1 (build x)", True),
        (b"parquet-cpp-arrow version 26.0.0", True),
        (b"parquet-rs version 56.0.0", True),
        (b"datafusion-python", True),
        (b"parquet-mr version 1.8.1", False),
        (b"another writer", False),
        (b"", False),
    ],
)
def test_writers_are_believed_here_as_where_filters_are_built(
    writer: bytes,
    is_reliable: bool,  # noqa: FBT001
) -> None:
    """If a writer does not count a data page in PLAIN, values in that page must not be lost."""
    values = [f"text {i % 3 if i < 200 else i}" for i in range(400)]
    data = file_of(
        values, pa.string(), row_group_size=400, compression="none", dictionary_pagesize_limit=64,
        data_page_size=64, write_batch_size=100,
    )  # fmt: skip
    footer = footer_of(data)
    assert held(data, b"text 350") is None
    _, start, stop = footer.chunks.spans[0, 0, ChunkField.ENCODING_STATS].tolist()
    data_page = plain((1, I32, 0), (2, I32, 8), (3, I32, 1))
    forgotten = b"\x1c" + encode_struct(data_page)
    lying = created_by(with_edits(data, Edit(start, stop, forgotten)), writer)
    verdict = Verdict.CANNOT_MATCH if is_reliable else Verdict.MIGHT_MATCH
    assert check_of(lying, [("x", "=", "text 350")]).verdict is verdict
    footer = footer_of(lying)
    assert is_fully_dictionary_encoded(footer, 0, 0)
    assert is_certainly_dictionary_encoded(footer, 0, 0) is is_reliable


def test_statistics_of_encodings_that_make_no_sense_say_nothing() -> None:
    footer = footer_of(FILE)
    _, start, stop = footer.chunks.spans[0, 0, ChunkField.ENCODING_STATS].tolist()
    lists = [b"\x0c", b"\x05", b"\x1c\x00", b"\x1c\x15" + encode_zigzag(7) + b"\x00"]
    for one in lists:
        data = with_edits(FILE, Edit(start, stop, one))
        assert held(data, *words(0)) is None
        assert asked(data, [("x", "=", 0)]).surviving == (0,)
