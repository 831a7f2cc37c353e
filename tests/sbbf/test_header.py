"""Header bytes: the common form, any other valid form, and everything else.

Thrift's own writer is the referee. It is given the struct field by field, with fields in any
order, gaps that need the long form of a field header, and fields that no version knows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thrift.protocol.TCompactProtocol import TCompactProtocol
from thrift.Thrift import TType
from thrift.transport.TTransport import TMemoryBuffer

from parquet_bloomwriter.errors import InvalidArgument, MalformedFilter
from parquet_bloomwriter.sbbf import Dialect, FilterHeader, Sbbf, decode_header, encode_header
from parquet_bloomwriter.sbbf import header as header_module
from parquet_bloomwriter.sbbf.header import (
    USUAL_FIXED_BYTES,
    are_usual_headers,
    usual_header_at,
    usual_header_length,
)

Write = Callable[[TCompactProtocol], None]
Field = tuple[int, int, Write]

SIZES = st.integers(1, 2**26 - 1).map(lambda blocks: 32 * blocks)


def i32(field: int, number: int) -> Field:
    """Field of an i32."""
    return field, TType.I32, lambda out: out.writeI32(number)


def union(field: int, member: int = 1) -> Field:
    """Field of a union, set to an empty struct."""
    return field, TType.STRUCT, lambda out: struct(out, (nested(member),))


def nested(field: int, *fields: Field) -> Field:
    """Field of a struct."""
    return field, TType.STRUCT, lambda out: struct(out, fields)


def struct(out: TCompactProtocol, fields: tuple[Field, ...]) -> None:
    """Write a struct by the referee."""
    out.writeStructBegin("")
    for field, kind, write in fields:
        out.writeFieldBegin("", kind, field)
        write(out)
        out.writeFieldEnd()
    out.writeFieldStop()
    out.writeStructEnd()


def encode(*fields: Field) -> bytes:
    """Encode a top-level struct by the referee."""
    buffer = TMemoryBuffer()
    struct(TCompactProtocol(buffer), fields)
    encoded: bytes = buffer.getvalue()
    return encoded


def common(num_bytes: int) -> tuple[Field, ...]:
    """The four fields of the specification."""
    return i32(1, num_bytes), union(2), union(3), union(4)


def expected(raw: bytes, num_bytes: int) -> FilterHeader:
    """What the common header says."""
    return FilterHeader(
        num_bytes=num_bytes,
        algorithm="BLOCK",
        hash="XXHASH",
        compression="UNCOMPRESSED",
        length=len(raw),
    )


def list_of(kind: int, write: Write, size: int) -> Write:
    """Value of a list, `size` times the same element."""

    def write_list(out: TCompactProtocol) -> None:
        out.writeListBegin(kind, size)
        for _ in range(size):
            write(out)
        out.writeListEnd()

    return write_list


def write_map(out: TCompactProtocol) -> None:
    """Value of a map of strings to bools."""
    out.writeMapBegin(TType.STRING, TType.BOOL, 2)
    for key in ("a", "b"):
        out.writeString(key)
        out.writeBool(True)  # noqa: FBT003 - thrift's own signature
    out.writeMapEnd()


def write_empty_map(out: TCompactProtocol) -> None:
    """Value of an empty map, which has no type byte."""
    out.writeMapBegin(TType.I32, TType.I32, 0)
    out.writeMapEnd()


UNKNOWN_VALUES: list[tuple[int, Write]] = [
    (TType.BOOL, lambda out: out.writeBool(True)),  # noqa: FBT003
    (TType.BOOL, lambda out: out.writeBool(False)),  # noqa: FBT003
    (TType.BYTE, lambda out: out.writeByte(-3)),
    (TType.I16, lambda out: out.writeI16(-300)),
    (TType.I64, lambda out: out.writeI64(-(2**63))),
    (TType.DOUBLE, lambda out: out.writeDouble(1.5)),
    (TType.STRING, lambda out: out.writeBinary(bytes(200))),
    (TType.LIST, list_of(TType.I32, lambda out: out.writeI32(-1), 20)),
    (TType.LIST, list_of(TType.BOOL, lambda out: out.writeBool(False), 3)),  # noqa: FBT003
    (TType.LIST, list_of(TType.STRUCT, lambda out: struct(out, (i32(3, 4),)), 2)),
    (TType.LIST, list_of(TType.I32, lambda out: out.writeI32(0), 0)),
    (TType.MAP, write_map),
    (TType.MAP, write_empty_map),
    (TType.STRUCT, lambda out: struct(out, (nested(1, i32(200, 1)), i32(-5, 2)))),
]
UNKNOWN_FIELDS = st.tuples(
    st.integers(-(2**15), 2**15 - 1).filter(lambda field: field not in range(1, 5)),
    st.sampled_from(UNKNOWN_VALUES),
).map(lambda drawn: (drawn[0], *drawn[1]))


@given(SIZES)
def test_our_bytes_are_the_referee_s(num_bytes: int) -> None:
    raw = encode_header(num_bytes)
    assert raw == encode(*common(num_bytes))
    assert 15 <= len(raw) <= 19
    assert decode_header(raw) == expected(raw, num_bytes)


@pytest.mark.parametrize("num_bytes", [1 << bits for bits in range(6, 31)])
def test_the_drafts_have_three_fields(num_bytes: int) -> None:
    raw = encode_header(num_bytes, dialect="murmur3")
    assert raw == encode(i32(1, num_bytes), union(2), union(3))
    assert decode_header(raw).compression is None
    assert decode_header(raw).unsupported is None
    assert decode_header(raw).not_of_a_draft is None


@given(SIZES.filter(lambda size: size.bit_count() > 1 or size == 32))
def test_sizes_that_no_draft_has(num_bytes: int) -> None:
    with pytest.raises(InvalidArgument, match="a power of two above 32"):
        encode_header(num_bytes, dialect="murmur3")
    raw = encode(i32(1, num_bytes), union(2), union(3))
    assert "a power of two above 32" in (decode_header(raw).not_of_a_draft or "")


@given(SIZES, st.data())
def test_any_order_and_any_unknown_fields(num_bytes: int, data: st.DataObject) -> None:
    unknown = data.draw(st.lists(UNKNOWN_FIELDS, max_size=6))
    fields = data.draw(st.permutations([*common(num_bytes), *unknown]))
    raw = encode(*fields)
    assert decode_header(raw) == expected(raw, num_bytes)


@given(SIZES, st.binary(max_size=40), st.binary(max_size=40))
def test_the_header_may_stand_in_the_middle(num_bytes: int, before: bytes, after: bytes) -> None:
    raw = encode_header(num_bytes)
    inside = memoryview(before + raw + after)
    assert decode_header(inside, len(before)) == expected(raw, num_bytes)


@pytest.mark.parametrize("field", [2, 3, 4])
def test_long_form_of_the_field_header(field: int) -> None:
    raw = encode_header(64)
    at = raw.index(b"\x1c\x1c") + 4 * (field - 2)
    long_form = raw[:at] + bytes([0x0C, 2 * field]) + raw[at + 1 :]
    assert decode_header(long_form) == expected(long_form, 64)


@pytest.mark.parametrize("field", [2, 3, 4])
def test_unknown_members_are_told_by_number_and_not_probed(field: int) -> None:
    others = [f for f in common(32) if f[0] != field]
    raw = encode(*sorted([*others, union(field, 7)], key=lambda f: f[0]))
    header = decode_header(raw)
    assert [header.algorithm, header.hash, header.compression][field - 2] == "unknown (7)"
    assert header.unsupported is not None
    with pytest.raises(MalformedFilter, match=r"unknown \(7\)"):
        Sbbf.from_bytes(raw + bytes(32))


@given(st.binary(max_size=60))
def test_garbage_is_malformed_or_a_header(garbage: bytes) -> None:
    try:
        header = decode_header(garbage)
    except MalformedFilter:
        return
    assert 0 < header.length <= len(garbage)


@given(st.integers(0, 15), st.binary(min_size=1, max_size=3))
def test_overwritten_headers_are_malformed_or_headers(at: int, noise: bytes) -> None:
    raw = bytearray(encode_header(1024))
    raw[at : at + len(noise)] = noise
    try:
        header = decode_header(raw)
    except MalformedFilter:
        return
    assert header.num_bytes % 32 == 0


@pytest.mark.parametrize("dialect", ["xxhash", "murmur3"])
def test_every_truncation_is_malformed(dialect: Dialect) -> None:
    raw = encode_header(2**20, dialect=dialect)
    for length in range(len(raw)):
        with pytest.raises(MalformedFilter, match=r"cut short|ends in the middle"):
            decode_header(raw[:length])


@pytest.mark.parametrize("offset", [-1, 17, 1000])
def test_an_offset_outside_the_buffer_is_malformed(offset: int) -> None:
    with pytest.raises(MalformedFilter, match="cut short"):
        decode_header(bytes(17), offset)


MALFORMED = {
    "no fields": b"\x00",
    "numBytes missing": encode(union(2), union(3), union(4)),
    "numBytes is an i64": encode((1, TType.I64, lambda out: out.writeI64(32)), *common(32)[1:]),
    "numBytes is 0": encode(*common(0)),
    "numBytes is negative": encode(*common(-32)),
    "numBytes is 33": encode(*common(33)),
    "algorithm missing": encode(i32(1, 32), union(3), union(4)),
    "hash missing": encode(i32(1, 32), union(2), union(4)),
    "hash is an i32": encode(i32(1, 32), union(2), i32(3, 1), union(4)),
    "union without a member": encode(i32(1, 32), union(2), nested(3), union(4)),
    "union with two members": encode(
        i32(1, 32), union(2), nested(3, nested(1), nested(2)), union(4)
    ),
    "i32 of 33 bits": bytes.fromhex("15ffffffff1f00"),
    "integer without end": b"\x15" + b"\xff" * 20,
    "unknown type": b"\x1f\x00",
    "depth without end": b"\x1c" * 10_000,
    "lists without end": b"\x19" + b"\x19" * 10_000,
    "list of 2**62 bytes": bytes.fromhex("19f3") + b"\xff" * 8 + b"\x3f",
    "binary of 2**62 bytes": b"\x18" + b"\xff" * 8 + b"\x3f",
}


@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED)
def test_malformed(raw: bytes) -> None:
    with pytest.raises(MalformedFilter, match="the Bloom filter header"):
        decode_header(raw)


def test_a_compression_of_a_wrong_type_is_none() -> None:
    raw = encode(i32(1, 32), union(2), union(3), i32(4, 1))
    assert decode_header(raw).compression is None
    with pytest.raises(MalformedFilter, match="does not name its hash"):
        Sbbf.from_bytes(raw + bytes(32))


@pytest.mark.parametrize("num_bytes", [0, -32, 31, 33, 2**31])
def test_sizes_that_no_header_can_say(num_bytes: int) -> None:
    with pytest.raises(InvalidArgument, match="no Bloom filter has"):
        encode_header(num_bytes)


def test_a_byte_between_the_size_and_the_unions_is_no_part_of_the_size() -> None:
    """A zero there ends the struct; as one more byte of a longer varint it is read with it."""
    size, unions = b"\x15\x80\x01", encode_header(64)[3:]
    assert decode_header(size + unions) == expected(size + unions, 64)
    with pytest.raises(MalformedFilter, match="no algorithm"):
        decode_header(size + b"\x00" + unions)
    longer = b"\x15\x80\x81\x00" + unions
    assert decode_header(longer) == expected(longer, 64)
    assert not decode_header(longer).is_usual


@pytest.mark.parametrize("num_bytes", [32, 64, 8192, 2**20, 2**27, 2**31 - 32])
def test_the_usual_header_is_read_without_the_scanner(
    monkeypatch: pytest.MonkeyPatch, num_bytes: int
) -> None:
    """It stands before nearly every filter, and probes read one for each."""
    monkeypatch.setattr(header_module, "scan", None)
    raw = encode_header(num_bytes)
    assert decode_header(raw) == expected(raw, num_bytes)


@pytest.mark.parametrize("num_bytes", [32, 64, 8160, 8192, 2**20, 2**27, 2**31 - 32])
def test_the_length_of_a_filter_gives_that_of_its_usual_header(num_bytes: int) -> None:
    raw = encode_header(num_bytes)
    length = len(raw) + num_bytes
    assert usual_header_length(length) == len(raw)
    assert usual_header_at(b"?" + raw, 1, length) == len(raw)
    assert usual_header_at(b"?" + raw, 1, length + 32) == 0
    assert usual_header_at(raw, 0, len(raw)) == 0
    heads = np.frombuffer(raw.ljust(32), np.uint8)[None]
    width = len(raw) - USUAL_FIXED_BYTES
    assert are_usual_headers(heads, np.array([num_bytes]), width).tolist() == [True]
    for place in range(len(raw)):
        changed = heads.copy()
        changed[0, place] ^= 1
        assert are_usual_headers(changed, np.array([num_bytes]), width).tolist() == [False]
