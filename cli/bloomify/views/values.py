r"""Values of Arrow arrays as text, spelled as DuckDB's shell spells them, and as JSON.

    TIMESTAMP   2026-01-31 12:00:00.5       no zeros at the end of the fraction; +00: in UTC
    DECIMAL     1.500                       never with an exponent
    BLOB        \xAA\x00text                what is not printable ASCII in hexadecimal
    nested      [1, NULL], {'a': 'x, y'}, {key=value}

Source: DuckDB 2.0, casts to VARCHAR. Text in a list, struct or map is quoted if it could be taken
for something else. JSON has numbers, booleans, arrays and objects for what is such, and these texts
for all else; "nan" and "inf", for which JSON has no number, are texts, too.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa

_AMBIGUOUS = re.compile(r"""["'(),:=\[\]{}\\]|^\s|\s$|^null$|^$""", re.IGNORECASE)
"""Texts that are quoted within lists, structs and maps."""

_BYTES = [
    sign if sign.isascii() and sign.isprintable() and sign not in "\\'\"" else f"\\x{ord(sign):02X}"
    for sign in map(chr, range(256))
]
"""Bytes of a blob: printable ASCII, and the others in hexadecimal."""


def texts(array: pa.Array) -> list[str | None]:
    """Return the values of an array as text; None for nulls."""
    return _texts(array, nested=False)


def json_texts(array: pa.Array) -> list[str]:
    """Return the values of an array as JSON."""
    import pyarrow as pa

    array, type_ = _stored(array)
    spelled: Iterable[str | None]
    if pa.types.is_map(type_):
        keys, values = texts(array.keys), json_texts(array.items)
        spelled = (
            None if part is None else json_object(keys[part], values[part])
            for part in _parts(array)
        )
    elif _is_list(type_):
        items = json_texts(_items(array))
        spelled = (None if part is None else f"[{','.join(items[part])}]" for part in _parts(array))
    elif pa.types.is_struct(type_):
        names = [field.name for field in type_]
        fields = zip(*map(json_texts, array.flatten()), strict=True) if names else ()
        spelled = _of_structs(array, fields, lambda row: json_object(names, row))
    elif _is_number(type_) or pa.types.is_boolean(type_):
        spelled = (
            text if text is None or text.lstrip("-") not in {"nan", "inf"} else f'"{text}"'
            for text in texts(array)
        )
    else:
        spelled = (None if text is None else _json_text(text) for text in texts(array))
    return ["null" if text is None else text for text in spelled]


def is_number(type_: pa.DataType) -> bool:
    """Return whether the values of a column are numbers, which stand right-aligned in a table."""
    import pyarrow as pa

    return _is_number(type_.value_type if pa.types.is_dictionary(type_) else type_)


def _is_number(type_: pa.DataType) -> bool:
    import pyarrow as pa

    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_duration)
    return any(is_kind(type_) for is_kind in kinds)


def _json_text(text: str | None) -> str:
    """Return a text as JSON, in which whatever a screen would obey or hide is escaped."""
    dumped = json.dumps(text, ensure_ascii=False)
    if dumped.isprintable():
        return dumped
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in dumped)


def json_object(names: Sequence[str | None], values: Iterable[str]) -> str:
    """Return a JSON object of names and values, which are JSON already."""
    pairs = zip(names, values, strict=True)
    members = (f"{_json_text(name)}:{value}" for name, value in pairs)
    return f"{{{','.join(members)}}}"


def _texts(array: pa.Array, *, nested: bool) -> list[str | None]:
    import pyarrow as pa

    array, type_ = _stored(array)
    if pa.types.is_map(type_):
        keys, values = _quoted(array.keys), _quoted(array.items)
        return [
            None
            if part is None
            else "{" + ", ".join(map("=".join, zip(keys[part], values[part], strict=True))) + "}"
            for part in _parts(array)
        ]
    if _is_list(type_):
        items = _quoted(_items(array))
        return [None if part is None else f"[{', '.join(items[part])}]" for part in _parts(array)]
    if pa.types.is_struct(type_):
        names = [f"'{_escaped(field.name)}'" for field in type_]
        fields = zip(*map(_quoted, array.flatten()), strict=True) if names else ()

        def spell(row: Sequence[str]) -> str:
            pairs = zip(names, row, strict=True)
            return "{" + ", ".join(f"{name}: {value}" for name, value in pairs) + "}"

        return list(_of_structs(array, fields, spell))
    found = _plain(array, type_)
    if not nested:
        return found
    return [
        f"'{_escaped(text)}'" if text is not None and _AMBIGUOUS.search(text) else text
        for text in found
    ]


def _quoted(array: pa.Array) -> list[str]:
    """Return values as parts of a list, struct or map."""
    return ["NULL" if text is None else text for text in _texts(array, nested=True)]


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _stored(array: pa.Array) -> tuple[Any, pa.DataType]:
    """Return an array without dictionary or extension, UUIDs excepted, and its type."""
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if isinstance(array.type, pa.BaseExtensionType) and not _is_uuid(array.type):
        return _stored(array.storage)
    return array, array.type


def _is_uuid(type_: pa.DataType) -> bool:
    return bool(getattr(type_, "extension_name", "") == "arrow.uuid")


def _is_list(type_: pa.DataType) -> bool:
    import pyarrow as pa

    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(is_kind(type_) for is_kind in kinds)


def _items(array: Any) -> pa.Array:  # noqa: ANN401  any of pyarrow's arrays of lists
    """Return the elements to which `_parts` leads, those of null lists not cut out."""
    import pyarrow as pa

    if not pa.types.is_fixed_size_list(array.type):
        return array.values
    size = array.type.list_size
    return array.values.slice(array.offset * size, len(array) * size)


def _parts(array: Any) -> Iterator[slice | None]:  # noqa: ANN401  lists or maps
    """Yield the slice of elements of each list; None for nulls."""
    import pyarrow as pa

    valid = array.is_valid().to_pylist()
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        ends = range(0, (len(array) + 1) * size, size) if size else [0] * (len(array) + 1)
    else:
        ends = array.offsets.to_pylist()
    for row, is_valid in enumerate(valid):
        yield slice(ends[row], ends[row + 1]) if is_valid else None


def _of_structs(
    array: pa.Array, fields: Iterable[Sequence[str]], spell: Callable[[Sequence[str]], str]
) -> Iterator[str | None]:
    rows = iter(fields)
    for is_valid in array.is_valid().to_pylist():
        row = next(rows, ())
        yield spell(row) if is_valid else None


def _plain(array: Any, type_: pa.DataType) -> list[str | None]:  # noqa: ANN401  any of pyarrow's
    """Return values that have no parts as text."""
    import pyarrow as pa

    types = pa.types
    if types.is_floating(type_):
        return _floats(array)
    if types.is_timestamp(type_):
        zone = "" if type_.tz is None else "+00"
        return _spelled(
            array.cast(pa.timestamp(type_.unit)).cast(pa.string()),
            lambda text: _moment(text) + zone,
        )
    if types.is_duration(type_):
        array = array.cast(pa.int64())
    elif types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_):
        array = array.cast(pa.large_binary())  # which need not be UTF-8
    elif types.is_date(type_) or types.is_time(type_):
        array = array.cast(pa.string())
    return _spelled(array, _speller(type_))


def _speller(type_: pa.DataType) -> Callable[[Any], str]:
    """Return the function that spells a value as Python has it."""
    import pyarrow as pa

    types = pa.types
    if types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_):
        return lambda value: str(value, "utf-8", "backslashreplace")
    if types.is_boolean(type_):
        return lambda value: "true" if value else "false"
    if types.is_decimal(type_):
        return lambda value: format(value, "f")
    if types.is_date(type_) or types.is_time(type_):
        return _day if types.is_date(type_) else _without_zeros
    if types.is_integer(type_) or types.is_duration(type_) or _is_uuid(type_):
        return str
    return lambda value: "".join(map(_BYTES.__getitem__, value))


def _spelled(array: Any, spell: Callable[[Any], str]) -> list[str | None]:  # noqa: ANN401  any array
    return [None if value is None else spell(value) for value in array.to_pylist()]


def _floats(array: Any) -> list[str | None]:  # noqa: ANN401  any array of floats
    values = array.drop_null().to_numpy(zero_copy_only=False)
    if values.itemsize < 8:  # noqa: PLR2004  as few digits as tell the value from its neighbours
        values = values.astype(str).astype(float)
    spelled = iter(map(repr, values.tolist()))
    return [next(spelled) if is_valid else None for is_valid in array.is_valid().to_pylist()]


def _without_zeros(time: str) -> str:
    return time.rstrip("0").rstrip(".") if "." in time else time


def _moment(text: str) -> str:
    day, _, time = text.partition(" ")
    return f"{_day(day)} {_without_zeros(time)}"


def _day(text: str) -> str:
    """Return a date; year 0 of the calendar without a year 0 is 1 BC."""
    if not text.startswith(("-", "0000-")):
        return text
    year, month, day = text.rsplit("-", 2)
    return f"{1 - int(year):04}-{month}-{day} (BC)"
