"""The fields of parquet.thrift that this package reads, by the names of the specification.

The enums name slots of the tables that `scan` fills. ColumnMetaData and the Statistics in it share
the row of their ColumnChunk, so that one row has all fields of one column chunk.

Source: parquet.thrift of the Parquet format, version 2.12.
"""

from __future__ import annotations

from enum import IntEnum

from parquet_bloomwriter.compact.scan import StructKind, StructSchema
from parquet_bloomwriter.kernels.layout import BINARY, BYTE, I32, I64, LIST, STRUCT, TRUE


class FileField(IntEnum):
    """Slots for FileMetaData."""

    STRUCT = 0
    SCHEMA = 2
    NUM_ROWS = 3
    ROW_GROUPS = 4
    KEY_VALUE_METADATA = 5
    CREATED_BY = 6
    COLUMN_ORDERS = 7
    ENCRYPTION_ALGORITHM = 8
    FOOTER_SIGNING_KEY_METADATA = 9
    UNKNOWN = 10


class SchemaField(IntEnum):
    """Slots for SchemaElement."""

    STRUCT = 0
    TYPE = 1
    TYPE_LENGTH = 2
    REPETITION_TYPE = 3
    NAME = 4
    NUM_CHILDREN = 5
    CONVERTED_TYPE = 6
    SCALE = 7
    PRECISION = 8
    FIELD_ID = 9
    LOGICAL_TYPE = 10


class RowGroupField(IntEnum):
    """Slots for RowGroup."""

    STRUCT = 0
    COLUMNS = 1
    TOTAL_BYTE_SIZE = 2
    NUM_ROWS = 3
    FILE_OFFSET = 5
    TOTAL_COMPRESSED_SIZE = 6
    UNKNOWN = 10


class ChunkField(IntEnum):
    """Slots for ColumnChunk (1 to 9), its ColumnMetaData (10 to 26) and Statistics (27 to 31)."""

    STRUCT = 0
    FILE_PATH = 1
    FILE_OFFSET = 2
    META_DATA = 3
    OFFSET_INDEX_OFFSET = 4
    OFFSET_INDEX_LENGTH = 5
    COLUMN_INDEX_OFFSET = 6
    COLUMN_INDEX_LENGTH = 7
    CRYPTO_METADATA = 8
    ENCRYPTED_COLUMN_METADATA = 9
    TYPE = 10
    ENCODINGS = 11
    PATH_IN_SCHEMA = 12
    CODEC = 13
    NUM_VALUES = 14
    TOTAL_UNCOMPRESSED_SIZE = 15
    TOTAL_COMPRESSED_SIZE = 16
    DATA_PAGE_OFFSET = 17
    INDEX_PAGE_OFFSET = 18
    DICTIONARY_PAGE_OFFSET = 19
    STATISTICS = 20
    ENCODING_STATS = 21
    BLOOM_FILTER_OFFSET = 22
    BLOOM_FILTER_LENGTH = 23
    BLOOM_MARK = 24
    """Place of fields 14 and 15 of ColumnMetaData; the integer is the id of the field
    before."""
    UNKNOWN = 25
    UNKNOWN_META = 26
    DEPRECATED_MAX = 27
    DEPRECATED_MIN = 28
    NULL_COUNT = 29
    MAX_VALUE = 30
    MIN_VALUE = 31


PAGE_OFFSETS = [
    ChunkField.DATA_PAGE_OFFSET,
    ChunkField.INDEX_PAGE_OFFSET,
    ChunkField.DICTIONARY_PAGE_OFFSET,
]
"""Fields of a column chunk that hold the offsets of its pages."""


class PageLocationField(IntEnum):
    """Slots for PageLocation."""

    STRUCT = 0
    OFFSET = 1
    UNKNOWN = 2


class LogicalTypeField(IntEnum):
    """Slots for the union LogicalType, and for the fields of its members."""

    STRUCT = 0
    OTHER = 1
    """A member that is none of the following; the integer is its field id."""
    DECIMAL = 2
    TIME = 3
    TIMESTAMP = 4
    INTEGER = 5
    SCALE = 6
    PRECISION = 7
    IS_ADJUSTED_TO_UTC = 8
    UNIT = 9
    MILLIS = 10
    MICROS = 11
    NANOS = 12
    OTHER_UNIT = 13
    BIT_WIDTH = 14
    IS_SIGNED = 15


BLOOM_FILTER_OFFSET_ID = 14
BLOOM_FILTER_LENGTH_ID = 15

FOOTER = StructSchema.of(
    {
        "FileMetaData": StructKind(
            slots={
                2: (FileField.SCHEMA, LIST),
                3: (FileField.NUM_ROWS, I64),
                4: (FileField.ROW_GROUPS, LIST),
                5: (FileField.KEY_VALUE_METADATA, LIST),
                6: (FileField.CREATED_BY, BINARY),
                7: (FileField.COLUMN_ORDERS, LIST),
                8: (FileField.ENCRYPTION_ALGORITHM, STRUCT),
                9: (FileField.FOOTER_SIGNING_KEY_METADATA, BINARY),
            },
            children={2: "SchemaElement", 4: "RowGroup"},
            elements={2: STRUCT, 4: STRUCT, 5: STRUCT, 7: STRUCT},
            ignored=(1,),
            unknown_slot=FileField.UNKNOWN,
        ),
        "SchemaElement": StructKind(
            slots={
                1: (SchemaField.TYPE, I32),
                2: (SchemaField.TYPE_LENGTH, I32),
                3: (SchemaField.REPETITION_TYPE, I32),
                4: (SchemaField.NAME, BINARY),
                5: (SchemaField.NUM_CHILDREN, I32),
                6: (SchemaField.CONVERTED_TYPE, I32),
                7: (SchemaField.SCALE, I32),
                8: (SchemaField.PRECISION, I32),
                9: (SchemaField.FIELD_ID, I32),
                10: (SchemaField.LOGICAL_TYPE, STRUCT),
            },
            min_bytes=3,
        ),
        "RowGroup": StructKind(
            slots={
                1: (RowGroupField.COLUMNS, LIST),
                2: (RowGroupField.TOTAL_BYTE_SIZE, I64),
                3: (RowGroupField.NUM_ROWS, I64),
                5: (RowGroupField.FILE_OFFSET, I64),
                6: (RowGroupField.TOTAL_COMPRESSED_SIZE, I64),
            },
            children={1: "ColumnChunk"},
            elements={1: STRUCT, 4: STRUCT},
            ignored=(4, 7),
            unknown_slot=RowGroupField.UNKNOWN,
            min_bytes=6,
        ),
        "ColumnChunk": StructKind(
            slots={
                1: (ChunkField.FILE_PATH, BINARY),
                2: (ChunkField.FILE_OFFSET, I64),
                3: (ChunkField.META_DATA, STRUCT),
                4: (ChunkField.OFFSET_INDEX_OFFSET, I64),
                5: (ChunkField.OFFSET_INDEX_LENGTH, I32),
                6: (ChunkField.COLUMN_INDEX_OFFSET, I64),
                7: (ChunkField.COLUMN_INDEX_LENGTH, I32),
                8: (ChunkField.CRYPTO_METADATA, STRUCT),
                9: (ChunkField.ENCRYPTED_COLUMN_METADATA, BINARY),
            },
            children={3: "ColumnMetaData"},
            unknown_slot=ChunkField.UNKNOWN,
            min_bytes=6,
        ),
        "ColumnMetaData": StructKind(
            slots={
                1: (ChunkField.TYPE, I32),
                2: (ChunkField.ENCODINGS, LIST),
                3: (ChunkField.PATH_IN_SCHEMA, LIST),
                4: (ChunkField.CODEC, I32),
                5: (ChunkField.NUM_VALUES, I64),
                6: (ChunkField.TOTAL_UNCOMPRESSED_SIZE, I64),
                7: (ChunkField.TOTAL_COMPRESSED_SIZE, I64),
                9: (ChunkField.DATA_PAGE_OFFSET, I64),
                10: (ChunkField.INDEX_PAGE_OFFSET, I64),
                11: (ChunkField.DICTIONARY_PAGE_OFFSET, I64),
                12: (ChunkField.STATISTICS, STRUCT),
                13: (ChunkField.ENCODING_STATS, LIST),
                BLOOM_FILTER_OFFSET_ID: (ChunkField.BLOOM_FILTER_OFFSET, I64),
                BLOOM_FILTER_LENGTH_ID: (ChunkField.BLOOM_FILTER_LENGTH, I32),
            },
            children={12: "Statistics"},
            elements={2: I32, 3: BINARY, 8: STRUCT, 13: STRUCT},
            ignored=(8, 16, 17),
            shares_row=True,
            unknown_slot=ChunkField.UNKNOWN_META,
            mark_id=BLOOM_FILTER_OFFSET_ID,
            mark_slot=ChunkField.BLOOM_MARK,
        ),
        "Statistics": StructKind(
            slots={
                1: (ChunkField.DEPRECATED_MAX, BINARY),
                2: (ChunkField.DEPRECATED_MIN, BINARY),
                3: (ChunkField.NULL_COUNT, I64),
                5: (ChunkField.MAX_VALUE, BINARY),
                6: (ChunkField.MIN_VALUE, BINARY),
            },
            shares_row=True,
        ),
    }
)

OFFSET_INDEX = StructSchema.of(
    {
        "OffsetIndex": StructKind(
            slots={},
            children={1: "PageLocation"},
            elements={1: STRUCT, 2: I64},
            ignored=(1, 2),
            unknown_slot=PageLocationField.UNKNOWN,
        ),
        "PageLocation": StructKind(
            slots={1: (PageLocationField.OFFSET, I64)},
            ignored=(2, 3),
            unknown_slot=PageLocationField.UNKNOWN,
            min_bytes=7,
        ),
    }
)

LOGICAL_TYPE = StructSchema.of(
    {
        "LogicalType": StructKind(
            slots={
                5: (LogicalTypeField.DECIMAL, STRUCT),
                7: (LogicalTypeField.TIME, STRUCT),
                8: (LogicalTypeField.TIMESTAMP, STRUCT),
                10: (LogicalTypeField.INTEGER, STRUCT),
            },
            children={5: "DecimalType", 7: "TimeType", 8: "TimeType", 10: "IntType"},
            unknown_slot=LogicalTypeField.OTHER,
        ),
        "DecimalType": StructKind(
            slots={1: (LogicalTypeField.SCALE, I32), 2: (LogicalTypeField.PRECISION, I32)},
            shares_row=True,
        ),
        "TimeType": StructKind(
            slots={
                1: (LogicalTypeField.IS_ADJUSTED_TO_UTC, TRUE),
                2: (LogicalTypeField.UNIT, STRUCT),
            },
            children={2: "TimeUnit"},
            shares_row=True,
        ),
        "TimeUnit": StructKind(
            slots={
                1: (LogicalTypeField.MILLIS, STRUCT),
                2: (LogicalTypeField.MICROS, STRUCT),
                3: (LogicalTypeField.NANOS, STRUCT),
            },
            shares_row=True,
            unknown_slot=LogicalTypeField.OTHER_UNIT,
        ),
        "IntType": StructKind(
            slots={1: (LogicalTypeField.BIT_WIDTH, BYTE), 2: (LogicalTypeField.IS_SIGNED, TRUE)},
            shares_row=True,
        ),
    }
)
"""Schema of LogicalType; TimestampType has the fields of TimeType."""
