"""Files and folders whose every text is hostile: names, keys, values, writers, paths.

pyarrow writes the files; what it does not let anybody choose (the writer's name, bytes that are no
UTF-8) is put into the footer afterwards, in the place of as many plain bytes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from campaigns.security.hostile import PAYLOADS, file_name, names
from parquet_bloomwriter import bloomify, inspect

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_ROWS = 40
_TEXT = ("controls", "line", "csi", "osc", "link", "dcs", "c1", "bidi", "hidden")
_NESTED = ("line", "csi", "bidi")
_BYTES_IN_PLACE = b"\xff\xfe\x9b5m\n\x1b]0;x\x07"
_PLAIN = b"PLACEHOLDERS"
"""As many bytes."""

FILTERED = "line"
"""The column that has filters, of which one is damaged; by its payload."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A hostile folder."""

    folder: Path
    """Its name is hostile, too."""

    file: Path
    """Sound, with filters."""

    column: str
    """Of text, with filters."""

    value: str
    """Of this column."""


def hostile_table(parent: Path) -> Table:
    """Make a folder: a sound file, one with a damaged filter, a text file, and one cut short."""
    folder = parent / file_name("csi") / file_name("line")
    folder.mkdir(parents=True)
    file = folder / f"{file_name('osc')}.parquet"
    write_hostile(file)
    bloomify(file, [names()[FILTERED], names()["bidi"], "id"])
    data = file.read_bytes()
    damaged = folder / f"{file_name('bytes')}.parquet"
    damaged.write_bytes(_damaged(file, data))
    (folder / f"{file_name('hidden')}.parquet").write_text("this is no Parquet file, but long")
    (folder / f"{file_name('c1')}.parquet").write_bytes(data[:4] + b"\x1b[5m\n" + data[-8:])
    return Table(folder=folder, file=file, column=names()[FILTERED], value=PAYLOADS["csi"])


def write_hostile(path: Path) -> None:
    """Write a file whose columns, fields, keys, values and writer are hostile."""
    texts = [PAYLOADS[kind] for kind in _TEXT]
    values = pa.array([texts[i % len(texts)] for i in range(_ROWS)])
    columns = {name: values for kind, name in names().items() if kind not in {"bytes", "empty"}}
    columns = {_encodable(name): column for name, column in columns.items()}
    fields = {names()[kind]: values for kind in _NESTED}
    columns["nested \x1b[5m"] = pa.StructArray.from_arrays(list(fields.values()), list(fields))
    columns["list \u202e"] = pa.array([[text] for text in values.to_pylist()])
    columns[_PLAIN.decode()] = values
    columns["id"] = pa.array(range(_ROWS))
    keys = {_bytes(f"key {text}"): _bytes(text) for text in PAYLOADS.values()}
    table = pa.table(columns).replace_schema_metadata(keys)
    pq.write_table(table, os.fsencode(path).decode(errors="surrogateescape"), row_group_size=20)
    _patch(path, _hostile_footer)


def _hostile_footer(footer: bytes) -> bytes:
    writer = b"parquet-cpp-arrow version " + pa.__version__.encode()
    hostile = b"\x1b]0;owned\x07\n\xe2\x80\xae\xff INJECTED"
    assert writer in footer
    assert len(_PLAIN) == len(_BYTES_IN_PLACE)
    footer = footer.replace(writer, hostile[: len(writer)].ljust(len(writer)))
    return footer.replace(_PLAIN, _BYTES_IN_PLACE)


def _patch(path: Path, change: Callable[[bytes], bytes]) -> None:
    data = path.read_bytes()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    path.write_bytes(data[:start] + change(data[start:-8]) + data[-8:])


def _damaged(file: Path, data: bytes) -> bytes:
    """The same file with most bits of its first text filter gone, so that values are missing."""
    (found,) = inspect(file, [names()[FILTERED]]).columns
    first = found.filters[0]
    assert first.offset is not None
    assert first.length is not None
    start, stop = first.offset + first.length // 2, first.offset + first.length
    return data[:start] + bytes(stop - start) + data[stop:]


def _encodable(name: str) -> str:
    return name.encode("utf-8", "replace").decode()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
