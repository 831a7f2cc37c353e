"""The header before a bitset: decoding and encoding of its Thrift compact bytes.

Parquet specification, "Bloom Filter", section "File Format", and parquet.thrift:

    struct BloomFilterHeader {
      1: required i32 numBytes;                       bytes of the bitset
      2: required BloomFilterAlgorithm algorithm;     union { 1: BLOCK }
      3: required BloomFilterHash hash;               union { 1: XXHASH }
      4: required BloomFilterCompression compression; union { 1: UNCOMPRESSED }
    }

Nearly all writers encode it in the same 15 to 19 bytes, the *usual header*:

    15 <zigzag varint numBytes>     field 1, i32
    1c 1c 00 00                     field 2, union; its field 1, empty struct; two stops
    1c 1c 00 00                     field 3, likewise
    1c 1c 00 00                     field 4, likewise
    00                              stop

Bitsets are multiples of 32 bytes. So where the header is the usual one, the length of header and
bitset together, L, gives the length of each: the header has (L - 15) % 32 + 15 bytes.

The Murmur3 drafts have no field 4, and their numBytes "must be a power of 2 and larger than 32".
Their hash has the union id 1 too, so a header of three fields does not say which hash it means:
early files with XXH64 have the same.

Rules of the decoder: any valid Thrift compact encoding is accepted, with long field headers,
fields in any order and unknown fields of any type. Unknown members of the unions are
well-formed and reported by number. All else raises `MalformedFilter`, and never anything
else, whatever the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from parquet_bloomwriter.compact.scan import ENDS_EARLY, StructKind, StructSchema, scan
from parquet_bloomwriter.compact.varint import encode_zigzag
from parquet_bloomwriter.errors import InvalidArgument, MalformedFile, MalformedFilter
from parquet_bloomwriter.kernels.layout import I32, START, STRUCT
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parquet_bloomwriter.compact.scan import Table
    from parquet_bloomwriter.hashing import Dialect

    Length = TypeVar("Length", int, NDArray[np.int64])

_UNION = bytes.fromhex("1c1c0000")
_NUM_UNIONS = {"xxhash": 3, "murmur3": 2}
_MAX_VARINT_BYTES = 5

USUAL_START = b"\x15"
"""Bytes of the usual header before numBytes."""

USUAL_END = _UNION * _NUM_UNIONS["xxhash"] + b"\x00"
"""Bytes of the usual header after numBytes."""

USUAL_FIXED_BYTES = len(USUAL_START) + len(USUAL_END)
"""Length of the usual header without numBytes, bytes."""

SHORTEST_USUAL_BYTES = USUAL_FIXED_BYTES + 1
"""Length of the shortest usual header, bytes."""

MAX_HEADER_BYTES = 64 * 1024
"""Most bytes that are decoded as a header; headers with unknown fields are far shorter."""

_NUM_BYTES, _ALGORITHM, _HASH, _COMPRESSION = 1, 2, 5, 8
_MEMBER, _OTHER = 1, 2
"""Added to the slot of a union: slots of its member 1, and of any other member."""


def _union_kind(union: int) -> StructKind:
    return StructKind(
        slots={1: (union + _MEMBER, STRUCT)}, shares_row=True, unknown_slot=union + _OTHER
    )


_HEADER = StructSchema.of(
    {
        "BloomFilterHeader": StructKind(
            slots={
                1: (_NUM_BYTES, I32),
                2: (_ALGORITHM, STRUCT),
                3: (_HASH, STRUCT),
                4: (_COMPRESSION, STRUCT),
            },
            children={2: "Algorithm", 3: "Hash", 4: "Compression"},
        ),
        "Algorithm": _union_kind(_ALGORITHM),
        "Hash": _union_kind(_HASH),
        "Compression": _union_kind(_COMPRESSION),
    }
)


class HeaderCutShort(MalformedFilter):
    """The error for a header whose end is not among the given bytes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FilterHeader:
    """The fields of the header of a filter."""

    num_bytes: int
    """Size of the bitset that follows, bytes; a positive multiple of 32."""
    algorithm: str
    """"BLOCK", or "unknown (id)"."""
    hash: str
    """"XXHASH", or "unknown (id)". The Murmur3 drafts have the same id as XXHASH."""
    compression: str | None
    """"UNCOMPRESSED", "unknown (id)", or None: the drafts do not have the field."""
    length: int
    """Length of the header itself, bytes."""

    @property
    def filter_length(self) -> int:
        """Length of header and bitset, bytes: the correct `bloom_filter_length` of the footer."""
        return self.length + self.num_bytes

    @property
    def is_usual(self) -> bool:
        """Return whether the header has the length of the usual header for its size."""
        return self.length == len(self.usual_bytes)

    @property
    def usual_bytes(self) -> bytes:
        """Bytes of the usual header for this size; without field 4 if this header has none."""
        return _encode(self.num_bytes, "murmur3" if self.compression is None else "xxhash")

    @property
    def unsupported(self) -> str | None:
        """Why the filter must not be probed; None if all members in the header are known."""
        for what in (self.algorithm, self.hash, self.compression):
            if what is not None and what.startswith("unknown"):
                return f"the Bloom filter header names an algorithm, hash or compression {what}"
        return None

    @property
    def not_of_a_draft(self) -> str | None:
        """Why the filter cannot be one of the Murmur3 drafts; None if it can."""
        if self.compression is not None:
            return "the Bloom filter header names a compression, which those of drafts do not"
        if not _is_draft_size(self.num_bytes):
            return (
                f"the Bloom filter header says numBytes = {self.num_bytes}, "
                "but the Murmur3 drafts ask for a power of two above 32"
            )
        return self.unsupported


def encode_header(num_bytes: int, dialect: Dialect = "xxhash") -> bytes:
    """Encode the header of a bitset of `num_bytes` bytes.

    Raises:
        InvalidArgument: If `num_bytes` is not a positive multiple of 32 below 2**31; or, for
            "murmur3", not a power of two above 32.
    """
    if not _is_bitset_size(num_bytes):
        raise InvalidArgument(f"no Bloom filter has a bitset of {num_bytes} bytes")
    if dialect == "murmur3" and not _is_draft_size(num_bytes):
        raise InvalidArgument(
            f"a filter of the Murmur3 drafts cannot have {num_bytes} bytes",
            remedy="Use a power of two above 32 bytes.",
        )
    return _encode(num_bytes, dialect)


def _encode(num_bytes: int, dialect: Dialect) -> bytes:
    return USUAL_START + encode_zigzag(num_bytes) + _UNION * _NUM_UNIONS[dialect] + b"\x00"


def usual_header_length(length: Length) -> Length:
    """Return the length of the usual header by the length of header and bitset together.

    Another header may stand there: `usual_header_at` and `are_usual_headers` compare the bytes.

    Args:
        length: `bloom_filter_length` of one filter, or of n filters, shape (n,).
    """
    return (length - SHORTEST_USUAL_BYTES) % BYTES_PER_BLOCK + SHORTEST_USUAL_BYTES


def usual_header_at(data: bytes, start: int, length: int) -> int:
    """Return the length of the usual header at byte `start` of `data`; 0 if it is another header.

    Args:
        data: Bytes with the whole header.
        start: Where the header begins.
        length: Bytes of header and bitset together.
    """
    header = usual_header_length(length)
    size = length - header
    is_usual = _is_bitset_size(size) and data.startswith(_encode(size, "xxhash"), start)
    return header if is_usual else 0


def are_usual_headers(
    heads: NDArray[np.uint8], sizes: NDArray[np.int64], width: int
) -> NDArray[np.bool_]:
    """Return for each of n filters whether it begins with the usual header for its bitset size.

    Args:
        heads: First bytes of each filter, shape (n, at least 19).
        sizes: Bytes of the bitsets, shape (n,).
        width: Bytes that numBytes takes in each of the headers.
    """
    stop = len(USUAL_START) + width
    varints = (2 * sizes[:, None]) >> (7 * np.arange(width)) & 0x7F
    varints[:, :-1] |= 0x80
    same: NDArray[np.bool_] = (heads[:, 1:stop] == varints).all(axis=1)
    same &= heads[:, 0] == USUAL_START[0]
    end = np.frombuffer(USUAL_END, np.uint8)
    same &= (heads[:, stop : stop + len(end)] == end).all(axis=1)
    return same


def decode_header(buf: bytes | bytearray | memoryview, offset: int = 0) -> FilterHeader:
    """Decode the header that starts at byte `offset` of `buf`; more bytes may follow it.

    Raises:
        MalformedFilter: If there is no complete and valid header.
    """
    view = memoryview(buf).cast("B")
    if not 0 <= offset < len(view):
        raise HeaderCutShort(f"the Bloom filter header is cut short at byte {len(view)}")
    data = bytes(view[offset : offset + MAX_HEADER_BYTES])
    usual = _usual_header(data)
    if usual is not None:
        return usual
    table = _scanned(data)
    values, spans = table.values[0].tolist(), table.spans[0].tolist()
    if not _is_bitset_size(values[_NUM_BYTES]):
        raise MalformedFilter(f"the Bloom filter header says numBytes = {values[_NUM_BYTES]}")

    def member(union: int, name: str, first: str) -> str | None:
        """Return the name of the member of a union that is set; None if the union is absent."""
        if spans[union][START] < 0:
            return None
        is_first = spans[union + _MEMBER][START] >= 0
        is_other = spans[union + _OTHER][START] >= 0
        if is_first == is_other:
            raise MalformedFilter(f"the Bloom filter header has no {name}")
        return first if is_first else f"unknown ({values[union + _OTHER]})"

    algorithm = member(_ALGORITHM, "algorithm", "BLOCK")
    hash_ = member(_HASH, "hash", "XXHASH")
    if algorithm is None or hash_ is None:
        missing = "algorithm" if algorithm is None else "hash"
        raise MalformedFilter(f"the Bloom filter header has no {missing}")
    return FilterHeader(
        num_bytes=values[_NUM_BYTES],
        algorithm=algorithm,
        hash=hash_,
        compression=member(_COMPRESSION, "compression", "UNCOMPRESSED"),
        length=table.stop,
    )


def measured_length(data: bytes) -> int:
    """Return the length of a header and its bitset, bytes, whatever algorithm and hash it names.

    Unlike `decode_header`, this accepts any size, and unions of any members or of none (which
    `@dsnp/parquetjs` writes). The result says where the filter ends, not that values can be looked
    up in it.

    Args:
        data: The header and any bytes that follow it.

    Raises:
        MalformedFilter: If the bytes are no BloomFilterHeader, or its numBytes cannot be true.
    """
    usual = _usual_header(data)
    if usual is not None:
        return usual.filter_length
    table = _scanned(data)
    if (table.spans[0, [_ALGORITHM, _HASH], START] < 0).any():
        raise MalformedFilter("the Bloom filter header has no algorithm or no hash")
    num_bytes = int(table.values[0, _NUM_BYTES])
    if num_bytes <= 0:
        raise MalformedFilter(f"the Bloom filter header says numBytes = {num_bytes}")
    return table.stop + num_bytes


def _scanned(data: bytes) -> Table:
    """Return the table of a header's fields; check that numBytes is one of them."""
    try:
        table = scan(data, _HEADER)
    except MalformedFile as error:
        kind = HeaderCutShort if error.problem == ENDS_EARLY else MalformedFilter
        raise kind(f"the Bloom filter header cannot be read: {error.problem}") from error
    if table.spans[0, _NUM_BYTES, START] < 0:
        raise MalformedFilter("the Bloom filter header has no numBytes")
    return table


def _usual_header(data: bytes) -> FilterHeader | None:
    """Decode the usual header; return None if it is another header."""
    stop = data.find(USUAL_END, 2, 2 + _MAX_VARINT_BYTES + len(USUAL_END))
    if stop < 0 or not data.startswith(USUAL_START):
        return None
    zigzag = sum((byte & 0x7F) << 7 * i for i, byte in enumerate(data[1:stop]))
    num_bytes = zigzag >> 1
    if not _is_bitset_size(num_bytes) or data[:stop] != USUAL_START + encode_zigzag(num_bytes):
        return None
    return FilterHeader(
        num_bytes=num_bytes,
        algorithm="BLOCK",
        hash="XXHASH",
        compression="UNCOMPRESSED",
        length=stop + len(USUAL_END),
    )


def _is_bitset_size(num_bytes: int) -> bool:
    return 0 < num_bytes < 1 << 31 and num_bytes % BYTES_PER_BLOCK == 0


def _is_draft_size(num_bytes: int) -> bool:
    return _is_bitset_size(num_bytes) and num_bytes > BYTES_PER_BLOCK and num_bytes.bit_count() == 1
