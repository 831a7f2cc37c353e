"""Arguments that do not fit are refused, by the C as by the reference, before a byte is touched."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pytest

from parquet_bloomwriter.kernels import layout, reference
from parquet_bloomwriter.metadata.page_headers import PAGE_HEADER

Kernels: TypeAlias = Any
"""The reference or the compiled module, which carries no types."""


def out(count: int) -> np.ndarray:
    return np.zeros(count, np.uint64)


def words(count: int) -> np.ndarray:
    return np.zeros(count, np.int64)


def unaligned(count: int, dtype: type[np.generic] = np.int64) -> np.ndarray:
    size = np.dtype(dtype).itemsize
    return np.zeros(count * size + size, np.uint8)[1 : 1 + count * size]


READ_ONLY = np.zeros(80, np.uint8)
READ_ONLY.flags.writeable = False
EMPTY = memoryview(bytearray(9))[1:1]
SCATTERED = np.zeros((64, 2), np.uint64)[:, 0]
LONG_VIEW = (20).to_bytes(4, "little") + bytes(12)
WIDE = 2**63
SCHEMA = PAGE_HEADER.words
WIDTH = layout.PAGE_SLOTS
TABLE = (WIDTH, words(2), words(2 * WIDTH), np.zeros(2 * 3 * WIDTH, np.int32))


def changed(place: int, number: int) -> np.ndarray:
    schema = SCHEMA.copy()
    schema[place] = number
    return schema


def traits(kind: int, trait: int) -> int:
    return len(SCHEMA) - (5 - kind) * layout.TRAITS + trait


FIELD = layout.MAX_FIELD + 1
CHILDREN = 2 * 5 * layout.MAX_FIELD

GOOD: list[tuple[str, tuple[object, ...]]] = [
    ("xxh64", (b"abc",)),
    ("xxh64_fixed", (bytes(16), 8, 0, 2, None, out(2))),
    ("xxh64_variable", (b"abcdef", np.array([1, 3, 6], np.int32), 4, 0, 2, None, out(2))),
    ("xxh64_views", (LONG_VIEW, (bytes(20),), 0, 1, None, out(1))),
    ("insert", (bytearray(64), out(3))),
    ("check", (bytes(64), out(3), bytearray(3))),
    ("fold", (bytes(64), 2, bytearray(32))),
    ("unite", (bytearray(64), bytes(32))),
    ("count_bits", (bytes(32),)),
    ("sum_products", (bytes(32),)),
    ("scan", (b"\0", 0, SCHEMA, *TABLE)),
    ("walk_file", (0, 0, 0, 1, SCHEMA, words(7))),
    ("read_pieces", (words(0), words(0), 1, bytearray())),
    ("probe_usual", (words(8),)),
    ("probe_usual", (EMPTY,)),
    ("probe_groups", (words(11), words(1), bytearray(1))),
    ("probe_groups", (EMPTY, EMPTY, bytearray())),
    ("scan", (b"", 0, SCHEMA, WIDTH, EMPTY, EMPTY, EMPTY)),
    ("xxh64", (np.zeros(2, "M8[s]"),)),
    ("insert", (bytearray(64), np.zeros(2, "m8[ns]"))),
]
BAD: list[tuple[str, tuple[object, ...]]] = [
    ("xxh64", ("text",)),
    ("xxh64", (5,)),
    ("xxh64", (SCATTERED,)),
    ("xxh64_fixed", (bytes(15), 8, 0, 2, None, out(2))),
    ("xxh64_fixed", (bytes(16), 8, 1, 2, None, out(2))),
    ("xxh64_fixed", (None, 8, 0, 1, None, out(2))),
    ("xxh64_fixed", (bytes(16), 8, 0, 2, None, out(1))),
    ("xxh64_fixed", (bytes(16), 8, 0, 2, None, READ_ONLY)),
    ("xxh64_fixed", (bytes(16), 8, 0, 2, None, bytes(16))),
    ("xxh64_fixed", (bytes(16), 8, 0, 2, None, SCATTERED)),
    ("xxh64_fixed", (bytes(16), 8, 0, 2, None, np.zeros(4, np.uint32))),
    ("xxh64_fixed", (bytes(16), 8, 0, 2, None, bytearray(17))),
    ("xxh64_fixed", (bytes(16), 8, 0, 2, b"", out(2))),
    ("xxh64_fixed", (bytes(80), 8, 7, 2, b"\xff", out(2))),
    ("xxh64_fixed", (bytes(16), -1, 0, 2, None, out(2))),
    ("xxh64_fixed", (bytes(16), 2**31, 0, 0, None, out(2))),
    ("xxh64_fixed", (bytes(16), 8, -1, 2, None, out(2))),
    ("xxh64_fixed", (bytes(16), 8, 0, -2, None, out(2))),
    ("xxh64_fixed", (bytes(16), 8, WIDE, 2, None, out(2))),
    ("xxh64_fixed", (bytes(16), 8, 2, WIDE - 1, None, out(2))),
    ("xxh64_fixed", (bytes(16), 0, WIDE // 64, WIDE // 64, b"", out(2))),
    ("xxh64_fixed", (bytes(16), 8.0, 0, 2, None, out(2))),
    ("xxh64_fixed", (bytes(16), 8, 0, 2, None)),
    ("xxh64_variable", (b"abcde", np.array([1, 3, 6], np.int32), 4, 0, 2, None, out(2))),
    ("xxh64_variable", (b"abcdef", np.array([7, 7, 7], np.int32), 4, 0, 2, None, out(2))),
    ("xxh64_variable", (b"abcdef", np.array([3, 1, 6], np.int32), 4, 0, 2, None, out(2))),
    ("xxh64_variable", (b"abcdef", np.array([-1, 3, 6], np.int32), 4, 0, 2, None, out(2))),
    ("xxh64_variable", (b"abcdef", np.array([-1, 3, 6], np.int64), 8, 0, 2, None, out(2))),
    ("xxh64_variable", (b"abcdef", np.array([1, 3, 2**62], np.int64), 8, 0, 2, None, out(2))),
    ("xxh64_variable", (b"abcdef", np.array([1, 3, 6], np.int32), 8, 0, 2, None, out(2))),
    ("xxh64_variable", (b"abcdef", np.array([1, 3, 6], np.int32), 4, 1, 2, None, out(2))),
    ("xxh64_variable", (b"abcdef", np.array([1, 3, 6], np.int32), 5, 0, 2, None, out(2))),
    ("xxh64_variable", (b"abcdef", None, 4, 0, 2, None, out(2))),
    ("xxh64_variable", (None, np.array([0, 1], np.int32), 4, 0, 1, None, out(2))),
    ("xxh64_variable", (b"abcdef", np.array([1, 3, 6], np.int32), 4, 0, 2, b"", out(2))),
    ("xxh64_variable", (b"abcdef", np.array([1, 3, 6], np.int32), 4, 0, 2, None, out(1))),
    ("xxh64_views", (LONG_VIEW, (bytes(19),), 0, 1, None, out(1))),
    ("xxh64_views", (LONG_VIEW, (), 0, 1, None, out(1))),
    ("xxh64_views", (LONG_VIEW, (None,), 0, 1, None, out(1))),
    ("xxh64_views", (LONG_VIEW, [bytes(20)], 0, 1, None, out(1))),
    ("xxh64_views", (LONG_VIEW, ("text",), 0, 1, None, out(1))),
    ("xxh64_views", (LONG_VIEW, (bytes(20),), 0, 2, None, out(2))),
    ("xxh64_views", (LONG_VIEW, (bytes(20),), 1, 1, None, out(2))),
    ("xxh64_views", (b"\xff" * 16, (bytes(20),), 0, 1, None, out(1))),
    ("xxh64_views", (LONG_VIEW[:-4] + b"\1\0\0\0", (bytes(20),), 0, 1, None, out(1))),
    ("xxh64_views", (LONG_VIEW, (bytes(20),), 0, 1, None, out(0))),
    ("insert", (bytes(64), out(3))),
    ("insert", (READ_ONLY[:64], out(3))),
    ("insert", (bytearray(), out(3))),
    ("insert", (bytearray(48), out(3))),
    ("insert", (np.zeros((4, 8), np.uint64), out(3))),
    ("insert", (np.zeros((4, 8), np.uint32)[::2], out(3))),
    ("insert", (bytearray(64), bytes(7))),
    ("insert", (bytearray(64), np.zeros(4, np.uint32))),
    ("insert", (bytearray(64), SCATTERED)),
    ("check", (b"", out(3), None)),
    ("check", (bytes(64), out(3), bytearray(2))),
    ("check", (bytes(64), out(3), bytes(3))),
    ("check", (bytes(64), bytes(9), None)),
    ("check", (None, out(3), None)),
    ("fold", (bytes(64), 3, bytearray(32))),
    ("fold", (bytes(64), 0, bytearray(32))),
    ("fold", (bytes(64), -2, bytearray(32))),
    ("fold", (bytes(64), 2, bytearray(64))),
    ("fold", (bytes(64), 2, bytearray())),
    ("fold", (bytes(64), 2, bytes(32))),
    ("fold", (bytes(33), 1, bytearray(32))),
    ("unite", (bytes(64), bytes(32))),
    ("unite", (bytearray(64), bytes(96))),
    ("unite", (bytearray(32), bytes(64))),
    ("unite", (bytearray(64), b"")),
    ("count_bits", (b"",)),
    ("count_bits", (bytes(31),)),
    ("sum_products", (bytes(33),)),
    ("scan", (b"\0", 2, SCHEMA, *TABLE)),
    ("scan", (b"\0", -1, SCHEMA, *TABLE)),
    ("scan", ("text", 0, SCHEMA, *TABLE)),
    ("scan", (b"\0", 0, SCHEMA[:-1], *TABLE)),
    ("scan", (b"\0", 0, SCHEMA[:101], *TABLE)),
    ("scan", (b"\0", 0, SCHEMA[:0], *TABLE)),
    ("scan", (b"\0", 0, SCHEMA, WIDTH - 1, *TABLE[1:])),
    ("scan", (b"\0", 0, SCHEMA, 0, *TABLE[1:])),
    ("scan", (b"\0", 0, SCHEMA, 5000, *TABLE[1:])),
    ("scan", (b"\0", 0, changed(FIELD, WIDTH), *TABLE)),
    ("scan", (b"\0", 0, changed(CHILDREN + FIELD, 5), *TABLE)),
    ("scan", (b"\0", 0, changed(CHILDREN + FIELD, -1), *TABLE)),
    ("scan", (b"\0", 0, changed(traits(1, 0), 1), *TABLE)),
    ("scan", (b"\0", 0, changed(traits(2, 1), WIDTH), *TABLE)),
    ("scan", (b"\0", 0, changed(traits(2, 3), WIDTH), *TABLE)),
    ("scan", (b"\0", 0, changed(traits(2, 2), 3), *TABLE)),
    ("scan", (b"\0", 0, SCHEMA, WIDTH, words(3), *TABLE[2:])),
    ("scan", (b"\0", 0, SCHEMA, WIDTH, words(2), words(2 * WIDTH - 1), TABLE[3])),
    ("scan", (b"\0", 0, SCHEMA, WIDTH, words(2), TABLE[2], np.zeros(6 * WIDTH - 1, np.int32))),
    ("scan", (b"\0", 0, SCHEMA, WIDTH, unaligned(2), *TABLE[2:])),
    ("scan", (b"\0", 0, SCHEMA, WIDTH, words(2), unaligned(2 * WIDTH), TABLE[3])),
    ("scan", (b"\0", 0, SCHEMA, *TABLE[:3], unaligned(6 * WIDTH, np.int32))),
    ("scan", (b"\0", 0, SCHEMA, WIDTH, bytes(16), *TABLE[2:])),
    ("scan", (b"\0", 0, unaligned(len(SCHEMA)), *TABLE)),
    ("walk_file", (-1, 0, 0, 1, SCHEMA, words(7))),
    ("walk_file", (2**31, 0, 0, 1, SCHEMA, words(7))),
    ("walk_file", (0, -1, 0, 1, SCHEMA, words(7))),
    ("walk_file", (0, 0, WIDE, 1, SCHEMA, words(7))),
    ("walk_file", (0, 0, 0, WIDE, SCHEMA, words(7))),
    ("walk_file", (0, 0, 0, 1, SCHEMA[:-1], words(7))),
    ("walk_file", (0, 0, 0, 1, SCHEMA, unaligned(7))),
    ("walk_file", (0, 0, 0, 1, SCHEMA, bytes(56))),
    ("read_pieces", (words(1), words(0), 1, bytearray(1))),
    ("read_pieces", (words(1), words(1), 0, bytearray(1))),
    ("read_pieces", (words(1), words(1), 2, bytearray(1))),
    ("read_pieces", (words(1), words(1), 2**31, bytearray(1))),
    ("read_pieces", (words(1), words(1), 1, bytes(1))),
    ("read_pieces", (unaligned(1), words(1), 1, bytearray(1))),
    ("read_pieces", (words(1), unaligned(1), 1, bytearray(1))),
    ("probe_usual", (words(7),)),
    ("probe_usual", (unaligned(8),)),
    ("probe_usual", (bytes(64),)),
    ("probe_usual", (None,)),
    ("probe_groups", (words(10), words(1), bytearray(1))),
    ("probe_groups", (unaligned(11), words(1), bytearray(1))),
    ("probe_groups", (words(11), unaligned(1), bytearray(1))),
    ("probe_groups", (words(11), words(1), bytes(1))),
    ("probe_groups", (bytes(88), words(1), bytearray(1))),
]


READ_FILES = {"walk_file", "read_pieces", "probe_usual", "probe_groups"}


def of(kernels: Kernels, cases: list[tuple[str, tuple[object, ...]]]) -> list[tuple[str, Any]]:
    """Return the cases of the kernels that there are: the reference reads no files."""
    is_reference = kernels is reference
    return [case for case in cases if not (is_reference and case[0] in READ_FILES)]


def test_arguments_that_fit(kernels: Kernels) -> None:
    for kernel, arguments in of(kernels, GOOD):
        getattr(kernels, kernel)(*arguments)


def test_arguments_that_do_not_fit(kernels: Kernels) -> None:
    taken = []
    for number, (kernel, arguments) in enumerate(of(kernels, BAD)):
        try:
            getattr(kernels, kernel)(*arguments)
        except (ValueError, TypeError):
            continue
        taken.append((number, kernel))
    assert taken == []


@pytest.mark.parametrize("part", [slice(2), slice(-2 * WIDTH, None), slice(40, 41 + 3 * WIDTH)])
@pytest.mark.parametrize("place", range(4, 7))
def test_a_schema_is_not_written_to(kernels: Kernels, place: int, part: slice) -> None:
    """It would be trusted after it was checked, and then be another."""
    schema = SCHEMA.copy()
    arguments = [b"\0", 0, schema, WIDTH, words(0), TABLE[2], TABLE[3]]
    arguments[place] = schema[part].view(np.int32 if place == 6 else np.int64)
    with pytest.raises(ValueError, match="share memory"):
        kernels.scan(*arguments)
    if hasattr(kernels, "walk_file"):
        with pytest.raises(ValueError, match="share memory"):
            kernels.walk_file(0, 0, 0, 0, schema, schema[part])
    assert np.array_equal(schema, SCHEMA)


def test_no_buffer_stays_held(kernels: Kernels) -> None:
    """A bytearray can be resized only if nobody holds its buffer."""
    for kernel, arguments in of(kernels, [*GOOD, *BAD]):
        held = [bytearray(one) if isinstance(one, bytes | bytearray) else one for one in arguments]
        try:
            getattr(kernels, kernel)(*held)
        except (ValueError, TypeError) as error:
            del error
        for one in held:
            if isinstance(one, bytearray):
                one.append(0)
