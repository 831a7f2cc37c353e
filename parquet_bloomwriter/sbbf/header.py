"""The header before a bitset: Thrift compact bytes <-> a frozen value.

Parquet specification, "Bloom Filter", section "File Format", and parquet.thrift:

    struct BloomFilterHeader {
      1: required i32 numBytes;                       bytes of the bitset
      2: required BloomFilterAlgorithm algorithm;     union { 1: BLOCK }
      3: required BloomFilterHash hash;               union { 1: XXHASH }
      4: required BloomFilterCompression compression; union { 1: UNCOMPRESSED }
    }

What every known writer makes of it, 15 to 19 bytes:

    15 <zigzag varint numBytes>     field 1, i32
    1c 1c 00 00                     field 2, union; its field 1, empty struct; two stops
    1c 1c 00 00                     field 3, likewise
    1c 1c 00 00                     field 4, likewise
    00                              stop

The Murmur3 drafts have no field 4. Their hash has the union id 1 too, so a header of three
fields does not say which hash it means.

Rules of the decoder: any valid Thrift compact encoding is accepted, with long field headers,
fields in any order and unknown fields of any type. Unknown members of the unions are
well-formed and reported by number. All else raises `MalformedFilter`, and never anything
else, whatever the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from parquet_bloomwriter.errors import InvalidArgument, MalformedFilter
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.compact import CompactReader, Struct, zigzag_varint

Dialect = Literal["xxhash", "murmur3"]
"""Which hash a filter was made with: the released specification's, or the drafts'."""

_NUM_BYTES, _ALGORITHM, _HASH, _COMPRESSION = 1, 2, 3, 4
_FIELD_NAMES = {_ALGORITHM: "algorithm", _HASH: "hash", _COMPRESSION: "compression"}
_UNION = bytes.fromhex("1c1c0000")
_FIELDS_AFTER_SIZE = {"xxhash": 3, "murmur3": 2}


@dataclass(frozen=True, kw_only=True, slots=True)
class FilterHeader:
    """What a header says."""

    num_bytes: int
    """Bytes of the bitset that follows; a positive multiple of 32."""
    algorithm: str
    """"BLOCK", or "unknown (id)"."""
    hash: str
    """"XXHASH", or "unknown (id)". The Murmur3 drafts have the same id as XXHASH."""
    compression: str | None
    """"UNCOMPRESSED", "unknown (id)", or None: the drafts do not have the field."""
    length: int
    """Bytes of the header itself."""

    @property
    def unsupported(self) -> str | None:
        """Why the filter must not be probed, or None if nothing speaks against it."""
        for what in (self.algorithm, self.hash, self.compression):
            if what is not None and what.startswith("unknown"):
                return f"the Bloom filter header names an algorithm, hash or compression {what}"
        return None


def encode_header(num_bytes: int, dialect: Dialect = "xxhash") -> bytes:
    """Encode the header of a bitset of `num_bytes` bytes.

    Raises:
        InvalidArgument: If `num_bytes` is not a positive multiple of 32 below 2**31.
    """
    if not _is_bitset_size(num_bytes):
        raise InvalidArgument(f"no Bloom filter has a bitset of {num_bytes} bytes")
    return b"\x15" + zigzag_varint(num_bytes) + _UNION * _FIELDS_AFTER_SIZE[dialect] + b"\x00"


def decode_header(buf: bytes | bytearray | memoryview, offset: int = 0) -> FilterHeader:
    """Decode the header that starts at byte `offset` of `buf`; more bytes may follow it.

    Raises:
        MalformedFilter: If there is no complete and valid header.
    """
    reader = CompactReader(memoryview(buf).cast("B"), offset)
    fields = reader.read_struct()
    num_bytes = fields.get(_NUM_BYTES)
    if not isinstance(num_bytes, int):
        raise MalformedFilter("the Bloom filter header has no numBytes")
    if not _is_bitset_size(num_bytes):
        raise MalformedFilter(f"the Bloom filter header says numBytes = {num_bytes}")
    return FilterHeader(
        num_bytes=num_bytes,
        algorithm=_member(fields, _ALGORITHM, "BLOCK"),
        hash=_member(fields, _HASH, "XXHASH"),
        compression=_member(fields, _COMPRESSION, "UNCOMPRESSED")
        if _COMPRESSION in fields
        else None,
        length=reader.position - offset,
    )


def _is_bitset_size(num_bytes: int) -> bool:
    return 0 < num_bytes < 1 << 31 and num_bytes % BYTES_PER_BLOCK == 0


def _member(fields: Struct, field: int, first: str) -> str:
    """Name the one member that is set of the union in the given field."""
    union = fields.get(field)
    if not isinstance(union, dict) or len(union) != 1:
        raise MalformedFilter(f"the Bloom filter header has no {_FIELD_NAMES[field]}")
    (member,) = union
    return first if member == 1 and isinstance(union[1], dict) else f"unknown ({member})"
