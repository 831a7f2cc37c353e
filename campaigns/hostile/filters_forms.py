"""Headers that no known writer makes: each is a function of the size that it claims."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from parquet_bloomwriter.kernels.layout import BINARY, BYTE, I16, I32, I64, LIST, STRUCT
from tests.compact.structs import Fields, encode_struct, zigzag

if TYPE_CHECKING:
    from collections.abc import Callable

_SIZE, _ALGORITHM, _HASH, _COMPRESSION, _UNKNOWN = 1, 2, 3, 4, 9
_UNIONS = (_ALGORITHM, _HASH, _COMPRESSION)


def _member(*members: int) -> Fields:
    return [(member, STRUCT, [], False) for member in members]


def _fields(size: int, *, long: bool = False) -> Fields:
    unions: Fields = [(union, STRUCT, _member(1), long) for union in _UNIONS]
    return [(_SIZE, I32, size, long), *unions]


def _typed(wire: int, size: int) -> bytes:
    return encode_struct([(_SIZE, wire, size % 128, False), *_fields(size)[1:]])


def _without(field: int, size: int) -> bytes:
    return encode_struct([one for one in _fields(size) if one[0] != field])


def _with_members(union: int, members: tuple[int, ...], size: int) -> bytes:
    return encode_struct(
        [(f, w, _member(*members) if f == union else v, lf) for f, w, v, lf in _fields(size)]
    )


def _with_unknown(wire: int, value: object, size: int) -> bytes:
    return encode_struct([*_fields(size), (_UNKNOWN, wire, value, False)])


def _nested(depth: int, size: int) -> bytes:
    value: Fields = []
    for _ in range(depth):
        value = [(1, STRUCT, value, False)]
    return _with_unknown(STRUCT, value, size)


def _overlong(size: int) -> bytes:
    number = zigzag(size)
    longer = number[:-1] + bytes([number[-1] | 0x80, 0x80, 0])
    return encode_struct(_fields(size)).replace(number, longer, 1)


FORMS: Final[dict[str, Callable[[int], bytes]]] = {
    "released": lambda size: encode_struct(_fields(size)),
    "long field headers": lambda size: encode_struct(_fields(size, long=True)),
    "fields in reverse": lambda size: encode_struct(_fields(size)[::-1]),
    "the size twice": lambda size: encode_struct([_fields(size)[0], *_fields(size)]),
    "a varint with empty bytes": _overlong,
    **{f"the size of wire type {wire}": partial(_typed, wire) for wire in (BYTE, I16, I64)},
    **{f"without field {field}": partial(_without, field) for field in (_SIZE, *_UNIONS)},
    **{
        f"field {union} with members {members}": partial(_with_members, union, members)
        for union in _UNIONS
        for members in ((), (2,), (1, 2), (2, 1), (1, 1), (100,), (-1,), (32767,))
    },
    **{
        f"{size} unknown bytes": partial(_with_unknown, BINARY, bytes(size))
        for size in (0, 1, 40, 45, 46, 47, 200, 240, 1000, 70_000)
    },
    "an unknown list": partial(_with_unknown, LIST, (I32, [1, 2, 3])),
    **{f"nested {depth} deep": partial(_nested, depth) for depth in (1, 20, 61, 62, 63, 100)},
    "nothing": lambda _: b"",
    "zeros": lambda _: bytes(20),
    "ones": lambda _: b"\xff" * 20,
}
"""By name. The first one is what every writer makes."""
