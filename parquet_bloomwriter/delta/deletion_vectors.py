"""Deletion vectors: the deleted rows of a data file.

A file's entry in the log describes its vector: where it lies, its size, its number of rows.

    i   in the entry itself, in the letters of Z85
    u   in a file below the table's root: [prefix/]deletion_vector_<UUID>.bin; the last 20 letters
        are the UUID in Z85, those before are the prefix
    p   in a file with an absolute path

Such a file begins with a byte 1, and holds for each vector, at its offset, big endian:

    u32 size    the vector: magic number and Roaring bitmap    u32 CRC-32 of the vector

Size, checksum, number of rows and largest row are checked: readers lose a row that is wrongly taken
as deleted.

Source: Delta protocol, "Deletion Vectors", "Deletion Vector Format"; ZeroMQ RFC 32 (Z85).
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from uuid import UUID

from parquet_bloomwriter.delta.roaring import MalformedBitmap, parse_bitmap
from parquet_bloomwriter.errors import (
    BloomwriterError,
    InvalidArgument,
    MalformedFile,
    StoreProblem,
    TableProblem,
)
from parquet_bloomwriter.source import open_for_reading
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from parquet_bloomwriter.delta.place import TablePlace

_MAGIC = struct.pack("<I", 1681511377)
_VERSION = b"\1"
_NUMBER = struct.Struct(">I")
_UUID_LETTERS = 20

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_DIGITS = {letter: digit for digit, letter in enumerate(_Z85)}
_GROUP_LETTERS, _GROUP_BYTES = 5, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Descriptor:
    """The place of a deletion vector in the log or in a file, with fields of the right types."""

    storage: str
    text: str
    offset: int
    size: int
    """Size of the vector, bytes, magic number included."""

    cardinality: int

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> _Descriptor:
        """Return the descriptor for fields of JSON, after checking their types.

        Raises:
            TableProblem: If one is missing, or of another type.
        """
        storage, text = raw.get("storageType"), raw.get("pathOrInlineDv")
        numbers = [raw.get("offset"), raw.get("sizeInBytes"), raw.get("cardinality")]
        offset, size, cardinality = (0 if number is None else number for number in numbers)
        is_known = storage in {"i", "u", "p"} and isinstance(text, str)
        if not is_known or any(
            type(one) is not int or one < 0 for one in (offset, size, cardinality)
        ):
            raise TableProblem(f"the log describes a deletion vector in an unknown way: {raw!r}")
        return cls(
            storage=str(storage),
            text=str(text),
            offset=offset,
            size=size,
            cardinality=cardinality,
        )

    @property
    def name(self) -> str:
        """Description of the vector, for messages."""
        return f"the deletion vector {self.storage}{safe(self.text)}"


def read_deletion_vector(
    place: TablePlace, descriptor: Mapping[str, Any], *, num_rows: int
) -> NDArray[np.int64]:
    """Return the positions of the deleted rows of a data file.

    Args:
        place: The place of the table.
        descriptor: Descriptor of the vector in the log.
        num_rows: Rows of the data file, deleted ones included.

    Returns:
        Positions in the file, 0-based, ascending, shape (number of deleted rows,).

    Raises:
        TableProblem: If the vector is damaged, missing, or does not fit the file.
        StoreProblem, OSError: If it cannot be read.
    """
    vector = _Descriptor.of(descriptor)
    if vector.cardinality > num_rows:
        raise TableProblem(
            f"{vector.name} deletes {vector.cardinality} rows of a file with {num_rows}"
        )
    data = _inline(vector) if vector.storage == "i" else _stored(place, vector)
    if data[: len(_MAGIC)] != _MAGIC:
        raise TableProblem(f"{vector.name} has an unknown format")
    try:
        rows = parse_bitmap(data[len(_MAGIC) :], count=vector.cardinality)
    except MalformedBitmap as error:
        raise TableProblem(f"{vector.name} is damaged: {error}") from error
    if len(rows) and rows[-1] >= num_rows:
        raise TableProblem(f"{vector.name} deletes row {rows[-1]} of a file with {num_rows} rows")
    return rows


def _uri(vector: _Descriptor) -> str:
    """Return the URI of a vector's file, with escapes, relative to the table's root or absolute."""
    if vector.storage == "p":
        return vector.text
    prefix, letters = vector.text[:-_UUID_LETTERS], vector.text[-_UUID_LETTERS:]
    name = f"deletion_vector_{UUID(bytes=_decode(letters, vector, 16))}.bin"
    return f"{quote(prefix)}/{name}" if prefix else name


def _stored(place: TablePlace, vector: _Descriptor) -> bytes:
    """Read a vector from its file, and check its size and checksum."""
    size = _NUMBER.size
    end = vector.offset + 2 * size + vector.size
    try:
        path = place.locate(_uri(vector))
    except InvalidArgument as error:
        raise TableProblem(
            f"{vector.name} lies where it cannot be read: {error.problem}"
        ) from error
    try:
        with open_for_reading(path) as file:
            version, record = file.read_ranges([(0, 1), (vector.offset, end)])
    except FileNotFoundError as error:
        raise TableProblem("the file of a deletion vector is missing", path=path) from error
    except StoreProblem:
        raise
    except MalformedFile as error:
        raise TableProblem(
            f"{vector.name} reaches beyond the end of its file", path=path
        ) from error
    except BloomwriterError as error:
        raise TableProblem(f"{vector.name} cannot be read: {error.problem}", path=path) from error
    data = record[size:-size]
    said, checksum = _NUMBER.unpack(record[:size])[0], _NUMBER.unpack(record[-size:])[0]
    if version != _VERSION:
        raise TableProblem(f"{vector.name} is in a file of an unknown format", path=path)
    if said != vector.size:
        raise TableProblem(
            f"{vector.name} has {said} bytes, and {vector.size} by the log", path=path
        )
    if checksum != zlib.crc32(data):
        raise TableProblem(f"{vector.name} is damaged: its checksum differs", path=path)
    return data


def _inline(vector: _Descriptor) -> bytes:
    return _decode(vector.text, vector, vector.size)


def _decode(text: str, vector: _Descriptor, num_bytes: int) -> bytes:
    """Decode Z85; the last group may be filled up.

    Raises:
        TableProblem: If it is no Z85 of so many bytes.
    """
    groups = -(-num_bytes // _GROUP_BYTES)
    if len(text) != groups * _GROUP_LETTERS:
        raise TableProblem(f"{vector.name} has {len(text)} letters for {num_bytes} bytes")
    data = bytearray()
    for first in range(0, len(text), _GROUP_LETTERS):
        number = 0
        for letter in text[first : first + _GROUP_LETTERS]:
            digit = _DIGITS.get(letter)
            if digit is None:
                raise TableProblem(f"{vector.name} is no text of Z85")
            number = number * len(_Z85) + digit
        if number >> 32:
            raise TableProblem(f"{vector.name} is no text of Z85")
        data += number.to_bytes(_GROUP_BYTES, "big")
    return bytes(data[:num_bytes])
