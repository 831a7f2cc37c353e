"""Entries of a log as JSON: names as in `entry`, in one object of ASCII, indented for people.

    {"format": 1, "id": 3, "name": "ids", "state": "ACTIVE", ...}

A reader takes an entry as a whole or not at all: a name that is missing, a value of another type
and a path that leads out of the index's folder are errors. Names that it does not know are passed
over; `format` rises when that would be wrong.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import Any

from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.log.entry import KIND, DataFile, Entry, GlobalFilter, IndexedColumn
from parquet_bloomwriter.index.states import State

FORMAT = 1

_MOST = 1 << 62
"""More than there can be of anything; sums of two fit into 64 bits."""

_LATEST_MS = 253_402_300_799_999
"""The end of the year 9999, milliseconds since 1970 UTC."""

Json = dict[str, Any]


class OtherFormat(IndexProblem):
    """An entry that another version of this package wrote, which has to be left to that."""


def to_json(entry: Entry) -> bytes:
    """Write an entry."""
    whole = {"format": FORMAT, **asdict(entry)}
    return (json.dumps(whole, indent=1, allow_nan=False) + "\n").encode("ascii")


def from_json(data: bytes, *, path: str) -> Entry:
    """Read an entry.

    Args:
        data: What `to_json` made.
        path: Named in errors.

    Raises:
        OtherFormat: If another version of this package made it.
        IndexProblem: If it is anything else.
    """
    try:
        found = json.loads(data)
        newer = found["format"] != FORMAT or found["kind"] != KIND
        entry = None if newer else _entry(found)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise IndexProblem(
            f"the entry of the index's log cannot be read ({type(error).__name__}: {error})",
            path=path,
            remedy="Cancel what wrote it; the last stable version counts until then.",
        ) from error
    if entry is None:
        remedy = "Read the index with that version."
        problem = "the entry of the index's log is of another version of this package"
        raise OtherFormat(problem, path=path, remedy=remedy)
    return entry


def _entry(found: Json) -> Entry:
    return Entry(
        id=_integer(found["id"]),
        name=_text(found["name"]),
        state=State(found["state"]),
        version=_integer(found["version"], least=-1),
        root=None if found["root"] is None else _text(found["root"]),
        columns=tuple(_column(one) for one in _list(found["columns"])),
        manifest=None if found["manifest"] is None else _file(found["manifest"]),
        next_file_id=_integer(found["next_file_id"]),
        num_files=_integer(found["num_files"]),
        source_bytes=_integer(found["source_bytes"]),
        action=_text(found["action"]),
        created_ms=_integer(found["created_ms"], most=_LATEST_MS),
        attempt=_text(found.get("attempt", "")),
        options={_text(name): _text(value) for name, value in found["options"].items()},
    )


def _column(found: Json) -> IndexedColumn:
    expected, whole = found["expected_num_items"], found["global_filter"]
    return IndexedColumn(
        name=_text(found["name"]),
        fpp=_rate(found["fpp"]),
        expected_num_items=None if expected is None else _integer(expected),
        parts=tuple(_file(one) for one in _list(found["parts"])),
        global_filter=None if whole is None else _global(whole),
        no_global=_text(found["no_global"]),
    )


def _global(found: Json) -> GlobalFilter:
    return GlobalFilter(
        file=_file(found["file"]),
        fpp=_rate(found["fpp"]),
        ndv=_integer(found["ndv"]),
        stop=_integer(found["stop"]),
    )


def _file(found: Json) -> DataFile:
    path = _text(found["path"])
    if any(name in {"", ".", ".."} for name in path.split("/")):
        raise ValueError(f"{path!r} is not a path in the index's folder")
    if b"\0" in os.fsencode(path):
        raise ValueError(f"{path!r} is not a path")
    return DataFile(path=path, size=_integer(found["size"]))


def _integer(value: object, *, least: int = 0, most: int = _MOST) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise TypeError(f"{value!r} is not an integer from {least} to {most}")
    return value


def _rate(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise TypeError(f"{value!r} is not a probability")
    return float(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    return value
