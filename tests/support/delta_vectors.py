"""Writes deletion vectors, as Roaring bitmaps and files of them: what the tests read back."""

from __future__ import annotations

import struct
import zlib
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def bitmap(values: Collection[int], *, with_runs: bool) -> bytes:
    """Write values as a Roaring bitmap of 64 bits; with runs, every second container is of them."""
    buckets = [
        (key, [value & 0xFFFFFFFF for value in some])
        for key, some in groupby(sorted(values), lambda value: value >> 32)
    ]
    found = [struct.pack("<I", key) + _bucket(some, with_runs=with_runs) for key, some in buckets]
    return struct.pack("<Q", len(found)) + b"".join(found)


def _bucket(values: list[int], *, with_runs: bool) -> bytes:
    containers = [
        (key, [value & 0xFFFF for value in some])
        for key, some in groupby(values, lambda value: value >> 16)
    ]
    heads, flags, bodies = [], 0, []
    for nth, (key, low) in enumerate(containers):
        is_of_runs = with_runs and nth % 2 == 0
        heads.append(struct.pack("<HH", key, len(low) - 1))
        flags |= is_of_runs << nth
        bodies.append(_runs(low) if is_of_runs else _plain(low))
    if with_runs:
        cookie = struct.pack("<HH", 12347, len(containers) - 1)
        cookie += flags.to_bytes((len(containers) + 7) // 8, "little")
    else:
        cookie = struct.pack("<II", 12346, len(containers))
    offsets = []
    if not with_runs or len(containers) >= 4:
        place = len(cookie) + 8 * len(containers)
        for body in bodies:
            offsets.append(struct.pack("<I", place))
            place += len(body)
    return b"".join([cookie, *heads, *offsets, *bodies])


def _plain(low: list[int]) -> bytes:
    if len(low) <= 4096:
        return struct.pack(f"<{len(low)}H", *low)
    bits = sum(1 << value for value in low)
    return bits.to_bytes(8192, "little")


def _runs(low: list[int]) -> bytes:
    runs: list[list[int]] = []
    for value in low:
        if runs and runs[-1][1] + 1 == value:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    pairs = [struct.pack("<HH", first, last - first) for first, last in runs]
    return struct.pack("<H", len(runs)) + b"".join(pairs)


def vector(values: Collection[int], *, with_runs: bool = False) -> bytes:
    """Write a deletion vector: magic number and bitmap."""
    return struct.pack("<I", 1681511377) + bitmap(values, with_runs=with_runs)


def vector_file(*vectors: bytes) -> tuple[bytes, list[int]]:
    """Write a file of vectors; return it, and the offset of each."""
    data, offsets = b"\1", []
    for one in vectors:
        offsets.append(len(data))
        data += struct.pack(">I", len(one)) + one + struct.pack(">I", zlib.crc32(one))
    return data, offsets


def z85(data: bytes) -> str:
    """Write bytes in letters, filled up to groups of four."""
    data += b"\0" * (-len(data) % 4)
    letters = []
    for first in range(0, len(data), 4):
        number = int.from_bytes(data[first : first + 4], "big")
        digits = [number // 85**power % 85 for power in range(4, -1, -1)]
        letters += [LETTERS[digit] for digit in digits]
    return "".join(letters)


def inline(values: Collection[int], *, with_runs: bool = False) -> dict[str, Any]:
    """Describe a vector that stands in the log."""
    data = vector(values, with_runs=with_runs)
    return {
        "storageType": "i",
        "pathOrInlineDv": z85(data),
        "sizeInBytes": len(data),
        "cardinality": len(set(values)),
    }
