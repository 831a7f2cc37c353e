"""Rewrites Avro files of Iceberg: the same schema and metadata, other values in some fields."""

from __future__ import annotations

import json
import struct
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_MAGIC = b"Obj\x01"
_SYNC = bytes(range(16))


def rewrite_avro(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """Return an Avro file with changed records, not compressed.

    Args:
        data: The whole file; compressed by deflate, or not at all.
        change: Called with each record, which it changes in place.
    """
    source = _Source(data)
    assert source.take(4) == _MAGIC
    meta: dict[str, bytes] = source.read({"type": "map", "values": "bytes"})
    sync = source.take(16)
    schema = json.loads(meta["avro.schema"])
    codec = meta.get("avro.codec", b"null")
    assert codec in (b"null", b"deflate"), codec
    records = []
    while source.place < len(data):
        count, block = source.long(), source.take(source.long())
        inner = _Source(zlib.decompress(block, -15) if codec == b"deflate" else block)
        records += [inner.read(schema) for _ in range(count)]
        assert source.take(16) == sync
    for record in records:
        change(record)
    meta["avro.codec"] = b"null"
    body = b"".join(_write(schema, record) for record in records)
    return b"".join(
        [
            _MAGIC,
            _write({"type": "map", "values": "bytes"}, meta),
            _SYNC,
            *([_long(len(records)), _long(len(body)), body, _SYNC] if records else []),
        ]
    )


class _Source:
    """Bytes that are read from front to back."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        found = self.data[self.place : self.place + count]
        assert len(found) == count
        self.place += count
        return found

    def long(self) -> int:
        """Return a number of variable length."""
        number = shift = 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return (number >> 1) ^ -(number & 1)

    def read(self, schema: Any) -> Any:  # noqa: ANN401  any value of JSON's schema
        """Return a value: records and maps as dicts, a value of a union with its branch."""
        if isinstance(schema, list):
            branch = self.long()
            return branch, self.read(schema[branch])
        kind = schema["type"] if isinstance(schema, dict) else schema
        if isinstance(kind, dict | list):
            return self.read(kind)
        if kind == "record":
            return {field["name"]: self.read(field["type"]) for field in schema["fields"]}
        if kind in ("array", "map"):
            return self._many(kind, schema)
        return self.take(schema["size"]) if kind == "fixed" else self._primitive(kind)

    def _many(self, kind: str, schema: Any) -> Any:  # noqa: ANN401
        if kind == "array":
            return [self.read(schema["items"]) for _ in self._counted()]
        return {self.read("string"): self.read(schema["values"]) for _ in self._counted()}

    def _counted(self) -> Any:  # noqa: ANN401  an iterator
        while count := self.long():
            if count < 0:
                count = -count
                self.long()
            yield from range(count)

    def _primitive(self, kind: str) -> Any:  # noqa: ANN401
        if kind == "null":
            return None
        if kind in ("int", "long"):
            return self.long()
        if kind == "boolean":
            return self.take(1) == b"\x01"
        if kind in ("float", "double"):
            size = 4 if kind == "float" else 8
            return struct.unpack(f"<{kind[0]}", self.take(size))[0]
        found = self.take(self.long())
        return found.decode() if kind == "string" else found


def _long(number: int) -> bytes:
    number = (number << 1) ^ (number >> 63)
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _write(schema: Any, value: Any) -> bytes:  # noqa: ANN401  any value of JSON's schema
    if isinstance(schema, list):
        branch, inner = value
        return _long(branch) + _write(schema[branch], inner)
    kind = schema["type"] if isinstance(schema, dict) else schema
    if isinstance(kind, dict | list):
        return _write(kind, value)
    if kind == "record":
        return b"".join(_write(field["type"], value[field["name"]]) for field in schema["fields"])
    if kind in ("array", "map"):
        if kind == "array":
            parts = [_write(schema["items"], one) for one in value]
        else:
            parts = [
                _write("string", key) + _write(schema["values"], one) for key, one in value.items()
            ]
        return (_long(len(parts)) + b"".join(parts) if parts else b"") + _long(0)
    return bytes(value) if kind == "fixed" else _primitive(kind, value)


def _primitive(kind: str, value: Any) -> bytes:  # noqa: ANN401
    if kind == "null":
        return b""
    if kind in ("int", "long"):
        return _long(value)
    if kind == "boolean":
        return b"\x01" if value else b"\x00"
    if kind in ("float", "double"):
        return struct.pack(f"<{kind[0]}", value)
    data = value.encode() if kind == "string" else value
    return _long(len(data)) + bytes(data)
