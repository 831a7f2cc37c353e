"""The numbers and arrays that kernels and their callers pass to each other.

The C sources spell the same numbers; a test compares them. Nothing is imported here, so that a
probe, which needs few of these numbers, starts quickly.
"""

from __future__ import annotations

# ---------------------------------------------------------------- Thrift: `scan`

ABSENT = -(2**63)
"""The integer of a slot whose field is absent."""

HEADER, START, STOP = 0, 1, 2
"""Columns of `spans`: positions of the field header, of the first byte, and past the last byte."""

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT, UUID = range(1, 14)
"""Wire types of the compact protocol."""

MAX_DEPTH = 64
"""Most structs and lists that may be open at once."""

MAX_FIELD = 32
"""Limit of field ids: those of interest are below it."""

TRAITS = 5
"""Numbers that a schema has for each kind of struct, besides its fields."""

SCHEMA_WORDS = 3 * MAX_FIELD + TRAITS
"""int64 words of a schema for each kind: slots, wire types and children of all kinds, each of shape
(kinds, `MAX_FIELD`), then traits, shape (kinds, `TRAITS`). Kind 0 is no struct, kind 1 the root."""

UNKNOWN, IGNORED = -1, -2
"""Values in place of a slot: the field is not in the schema, or is known but of no interest."""

ELEMENTS_SHIFT = 4
"""In the wire types, bits 4 to 7 are that of a list's elements, bits 0 to 3 the field's own."""

MAX_SCAN_BYTES = 2**31 - 1
"""Bytes that `scan` takes: positions are int32."""

FULL = 9
"""Number returned if there are more structs or pages than rows: the arrays are too small, the bytes
are sound."""

PROBLEMS = {
    1: "ends in the middle of a value",
    2: "uses a Thrift type that does not exist",
    3: "is nested too deeply",
    4: "claims more elements than it has bytes for",
    5: "holds the same field twice",
    6: "has a varint of more than 64 bits",
    7: "has a struct too short for its required fields",
    8: "has a list whose elements are of another type than Parquet's",
    10: "lacks a required field",
    11: "has a size, a number of values or an encoding that cannot be",
    12: "cannot be read",
}
"""Problems by the numbers that `scan` and `walk_file` return; from 10 on of page headers."""

ENDS_EARLY, NO_SUCH_TYPE, TOO_DEEP, TOO_MANY_ELEMENTS, TWICE, LONG_VARINT = range(1, 7)
SHORT_STRUCT, OTHER_ELEMENTS, _, LACKS_FIELD, BAD_NUMBER, UNREADABLE = range(7, 13)

MAX_HEADER_BYTES = 1 << 24
"""Most bytes of a page header; pyarrow refuses longer ones."""

# ---------------------------------------------------------------- pages: `walk_file`

PAGE_COLUMNS = 7
(
    PAGE_POSITION,
    PAGE_HEADER_BYTES,
    PAGE_COMPRESSED,
    PAGE_UNCOMPRESSED,
    PAGE_TYPE,
    PAGE_NUM_VALUES,
    PAGE_ENCODING,
) = range(PAGE_COLUMNS)
"""Columns of a page: position of its header, bytes of the header, of the page as it is stored and
uncompressed, `DATA_PAGE` or another type, and number of values and encoding: -1 if the page is of a
type that has none."""

DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 = range(4)
"""parquet.thrift, `PageType`."""

PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY = 0, 2, 8
"""parquet.thrift, `Encoding`: of dictionary pages, and of data pages that refer to them."""

SLOT_TYPE, SLOT_UNCOMPRESSED, SLOT_COMPRESSED, SLOT_DATA, SLOT_DICTIONARY, SLOT_DATA_V2 = (
    1, 2, 3, 4, 7, 10,
)  # fmt: skip
"""Slots that the schema of a PageHeader gives to its fields. The last three are structs, each
followed by slots of its number of values and its encoding."""

PAGE_SLOTS = 13
"""Number of slots of a PageHeader, all in one row."""

# ---------------------------------------------------------------- filters in files: `probe_usual`

TASK_WORDS = 8
"""int64 numbers of a task:

    word  0  in      file descriptor
          1  in      `bloom_filter_offset`
          2  in      `bloom_filter_length`, bytes
          3  in      absolute position of the footer
          4  in      hash
          5  in/out  absolute position of the bitset
          6  in/out  size of the bitset, bytes; 0 while unknown
          7  out     answer: `NOT_IN`, `MIGHT_BE_IN`, `EMPTY` or `ODD`, plus `WITH_HEADER`
"""

PIECE_BYTES = 32
"""Bytes of a block, and bytes read for a header. A header with its bitset is always longer."""

NOT_IN, MIGHT_BE_IN, EMPTY, ODD = 0, 1, 2, 3
"""Answers to a lookup: the hash is not in the filter; might be in it; is not in it, and its block
has no set bit; the filter does not have the usual header, or could not be read."""

WITH_HEADER = 4
"""Added to an answer if the header was read for the lookup."""

# ---------------------------------------------------------------- groups of filters: `probe_groups`

GROUP_WORDS = 11
"""int64 numbers of a group of filters with checksums (`index/format/block_checks.py`):

    word  0  in      file descriptor
          1  in      its first member among the starts of all bitsets
          2  in      members, up to `MAX_MEMBERS`
          3  in      blocks of each member
          4  in      absolute position of the checksum of block 0
          5  in      checksums from that of a block to that of the next block
          6  in      ordinal of the checksum of block 0
          7  in      seed
          8  in      hash
          9  in      where among the answers that of its first member belongs
         10  out     `AS_WRITTEN`, `NOT_AS_WRITTEN` or `NOT_READ`
"""

MAX_MEMBERS, CHECK_BYTES = 31, 4
"""Most members of a group; bytes of a checksum."""

AS_WRITTEN, NOT_AS_WRITTEN, NOT_READ = 0, 1, 2
"""Outcomes of a group: its bytes match the checksum; they do not; not all bytes could be read. The
answers, one byte for each member, 1 if the hash might be in it, are valid only in the first case.
"""
