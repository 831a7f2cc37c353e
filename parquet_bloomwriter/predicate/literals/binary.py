r"""Literals against columns of text, bytes, UUIDs and booleans.

Text is compared by its UTF-8 bytes, as all readers do without a collation. Text against bytes, or
bytes against text, is another matter: some readers take `\x41` and `0x41` for bytes in disguise.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from uuid import UUID

from parquet_bloomwriter.predicate.literals.range import Spot, Unclear

if TYPE_CHECKING:
    from parquet_bloomwriter.metadata.logical_types import ColumnType
    from parquet_bloomwriter.predicate.expression import Value

_UUID_TEXT = re.compile(
    r"\{?[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\}?", re.ASCII | re.IGNORECASE
)
_DISGUISED = re.compile(r"\\|0[xX]|\ufffd")
_UUID_BYTES = 16

_BYTES = Unclear("some readers take the column's text for escaped bytes")
_ESCAPED = Unclear("some readers take the literal for escaped bytes")
_NOT_UNICODE = Unclear("the literal is not valid Unicode")
_NOT_TEXT = Unclear("the column holds text, and readers differ in how it compares with other types")
_NOT_BYTES = Unclear("the column holds bytes, and readers differ in how these compare with others")
_NOT_UUID = Unclear("the column holds UUIDs, and the literal is not spelled as one")
_NOT_BOOLEAN = Unclear("the column holds booleans, and readers differ in what else they compare")


def place_text(_column: ColumnType, value: Value) -> Spot | Unclear:
    """Place a literal among the UTF-8 bytes of text."""
    if isinstance(value, str):
        encoded = _utf8(value)
        return _NOT_UNICODE if encoded is None else Spot.inside(encoded)
    return _BYTES if isinstance(value, bytes) else _NOT_TEXT


def place_bytes(value: Value, length: int | None) -> Spot | Unclear:
    """Place a literal among bytes, of a fixed length if that is not None."""
    if isinstance(value, str):
        encoded = _utf8(value)
        if encoded is None:
            return _NOT_UNICODE
        return _ESCAPED if _DISGUISED.search(value) else _sized(encoded, length)
    return _sized(value, length) if isinstance(value, bytes) else _NOT_BYTES


def place_uuid(_column: ColumnType, value: Value) -> Spot | Unclear:
    """Place a literal among the 16 bytes of UUIDs."""
    if isinstance(value, UUID):
        return Spot.inside(value.bytes)
    if isinstance(value, str) and _UUID_TEXT.fullmatch(value):
        return Spot.inside(UUID(value).bytes)
    return _sized(value, _UUID_BYTES) if isinstance(value, bytes) else _NOT_UUID


def place_boolean(_column: ColumnType, value: Value) -> Spot | Unclear:
    """Place a literal among 0 and 1."""
    return Spot.at(int(value)) if isinstance(value, bool) else _NOT_BOOLEAN


def _utf8(text: str) -> bytes | None:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None


def _sized(value: bytes, length: int | None) -> Spot:
    return Spot.inside(
        value,
        is_stored=length is None or len(value) == length,
        reason=f"the column's values have {length} bytes, the literal {len(value)}",
    )
