r"""Literals compared with columns of text, bytes, UUIDs and booleans.

Text is compared by its UTF-8 bytes, as all readers do without a collation. Where text is compared
with bytes, some readers take `\x41` and `0x41` for escaped bytes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from uuid import UUID

from parquet_bloomwriter.metadata.logical_types import Kind
from parquet_bloomwriter.predicate.literals.range import LiteralRange, UnknownRange

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from parquet_bloomwriter.metadata.logical_types import ColumnType
    from parquet_bloomwriter.predicate.expression import Value

_UUID_TEXT = re.compile(
    r"\{?[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\}?", re.ASCII | re.IGNORECASE
)
_ESCAPES = re.compile(r"\\|0[xX]|\ufffd")
_UUID_BYTES = 16

_BYTES = UnknownRange("some readers take the column's text for escaped bytes")
_ESCAPED = UnknownRange("some readers take the literal for escaped bytes")
_NOT_UNICODE = UnknownRange("the literal is not valid Unicode")
_NOT_TEXT = UnknownRange(
    "the column holds text, and readers differ in how it compares with other types: write text in "
    "single quotes, as in '42'"
)
_NOT_BYTES = UnknownRange(
    "the column holds bytes, and readers differ in how these compare with others: write X'00ff'"
)
_NOT_UUID = UnknownRange(
    "the column holds UUIDs, and the literal is not spelled as one: write it as in "
    "'123e4567-e89b-12d3-a456-426614174000'"
)
_NOT_BOOLEAN = UnknownRange(
    "the column holds booleans, and readers differ in what else they compare: write TRUE or FALSE"
)


def place_text(_column: ColumnType, value: Value) -> LiteralRange | UnknownRange:
    """Return the place of a literal among the UTF-8 bytes of text."""
    if isinstance(value, str):
        encoded = _utf8(value)
        return _NOT_UNICODE if encoded is None else LiteralRange.inside(encoded)
    return _BYTES if isinstance(value, bytes) else _NOT_TEXT


def place_bytes(name: str, length: int | None, value: Value) -> LiteralRange | UnknownRange:
    """Return the place of a literal among the bytes of a column.

    Args:
        name: The column.
        length: That of FIXED_LEN_BYTE_ARRAY; None of others.
        value: The literal.
    """
    if isinstance(value, str):
        encoded = _utf8(value)
        if encoded is None:
            return _NOT_UNICODE
        if length == _UUID_BYTES and _UUID_TEXT.fullmatch(value):
            return LiteralRange.inside(encoded, is_stored=False, reason=_uuid_as_text(name, value))
        return _ESCAPED if _ESCAPES.search(value) else _sized(encoded, length)
    return _sized(value, length) if isinstance(value, bytes) else _NOT_BYTES


def place_uuid(_column: ColumnType, value: Value) -> LiteralRange | UnknownRange:
    """Return the place of a literal among the 16 bytes of UUIDs."""
    if isinstance(value, UUID):
        return LiteralRange.inside(value.bytes)
    if isinstance(value, str) and _UUID_TEXT.fullmatch(value):
        return LiteralRange.inside(UUID(value).bytes)
    return _sized(value, _UUID_BYTES) if isinstance(value, bytes) else _NOT_UUID


def place_boolean(_column: ColumnType, value: Value) -> LiteralRange | UnknownRange:
    """Return the place of a literal among 0 and 1."""
    return LiteralRange.at(int(value)) if isinstance(value, bool) else _NOT_BOOLEAN


def _utf8(text: str) -> bytes | None:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None


def _uuid_as_text(name: str, text: str) -> str:
    from parquet_bloomwriter.predicate.to_sql import spell_name

    return (
        f"the column's values are {_UUID_BYTES} bytes without the type UUID, and the literal is "
        "the text of a UUID; to look for these bytes, write "
        f"{spell_name(name)} = X'{UUID(text).hex}'"
    )


def _sized(value: bytes, length: int | None) -> LiteralRange:
    return LiteralRange.inside(
        value,
        is_stored=length is None or len(value) == length,
        reason=f"the column's values have {length} bytes, the literal {len(value)}",
    )


PLACES: Mapping[Kind, Callable[[ColumnType, Value], LiteralRange | UnknownRange]] = {
    Kind.TEXT: place_text,
    Kind.UUID: place_uuid,
    Kind.BOOLEAN: place_boolean,
}
"""Functions by kind of column; BINARY is missing, as `place_bytes` needs the column's length."""
