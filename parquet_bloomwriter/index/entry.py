"""One entry of an index's log: all that a version of the index consists of, and its state.

    <home>/<name>/_log/<id>                 one JSON entry each, ids from 0
    <home>/<name>/v__=<N>/manifest.bfindex  the files that the version knows, one row each
    <home>/<name>/v__=<N>/column=<name>/part-<uuid>.bfindex    their filters
    <home>/<name>/v__=<N>/column=<name>/_global-<uuid>.bloom   the filter of all values
    <home>/<name>/v__=<N>/column=<name>/_slices-<uuid>.bfslice filters of many files, transposed

The manifest and the parts are Parquet, a global filter is header and bitset, slices are described
in `format.slice_file`. All are written once. Their suffix is not `.parquet`, so that no pattern
`**/*.parquet` takes an index for data. Readers of datasets that are given the folder of a column
read its parts only: they skip names that begin with `_`. In older versions of this package, names
of global filters and slices have no `_`. A version refers to parts of older versions as long as
they hold filters of files that it knows. A file id is never used again: a replaced file has a new
id.

States: an action writes an entry with a state on the left, works, and writes an entry with the
state on the right. Queries use the last entry in a stable state, one of those on the right. Another
state in the last entry says that an action is at work, or that its process died.

    CREATING -> ACTIVE     REFRESHING, OPTIMIZING -> ACTIVE       DELETING -> DELETED
    RESTORING -> ACTIVE    VACUUMING -> DOESNOTEXIST, or ACTIVE   CANCELLING -> the last stable one

An entry is stored as one JSON object of ASCII, indented for people, with names as in `Entry`:

    {"format": 1, "id": 3, "name": "ids", "state": "ACTIVE", ..., "crc": "1a2b3c4d"}

The last name has the CRC-32 of all bytes before the comma in front of it. Checksums of files are in
the entry, so damage cannot make a file with checksums look like one without: an entry that has
checksums of files must have its own. Only entries of older versions of this package have none.

A reader takes an entry as a whole or not at all: a missing name, a value of another type and a path
that leads out of the index's folder are errors. Unknown names are ignored; `format` rises when
ignoring them would be wrong.

Source: Hyperspace, Constants.States.
"""

# ruff: noqa: PTH120  paths are strings, as in the log
from __future__ import annotations

import json
import os
import re
import zlib
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.contract import contract_of
from parquet_bloomwriter.index.layout import has_dots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from parquet_bloomwriter.index.contract import Contract

KIND = "BloomFilterIndex"
"""The kind of index, spelled as in the Hyperspace proposal."""

FORMAT = 1

_MOST = 1 << 62
"""An upper bound for all counts and sizes; the sum of two such numbers fits into 64 bits."""

_LATEST_MS = 253_402_300_799_999
"""The end of the year 9999, milliseconds since 1970 UTC."""

_CHECKSUMS = ("crc", "first_crc")
_CHECK = re.compile(rb',\n "crc": "([0-9a-f]{8})"\n}\n\Z')

Json = dict[str, Any]


class State(StrEnum):
    """The state of an index, as its log spells it."""

    CREATING = "CREATING"
    ACTIVE = "ACTIVE"
    REFRESHING = "REFRESHING"
    OPTIMIZING = "OPTIMIZING"
    DELETING = "DELETING"
    DELETED = "DELETED"
    RESTORING = "RESTORING"
    VACUUMING = "VACUUMING"
    DOES_NOT_EXIST = "DOESNOTEXIST"
    CANCELLING = "CANCELLING"


STABLE = frozenset({State.ACTIVE, State.DELETED, State.DOES_NOT_EXIST})
"""The states in which no action is at work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFile:
    """One file of an index."""

    path: str
    """Path relative to the index's folder, with "/"."""

    size: int
    """Size of the file, bytes."""

    crc: int | None = None
    """CRC-32 of the whole file; only parts and global filters have one."""

    first_crc: int | None = None
    """CRC-32 of the bytes that a lookup reads first; only parts and manifests have one; see
    `format.parquet_io`.

    Files with these numbers have checksums of their filters, too. Files of older versions of this
    package have no checksums at all; slices have only checksums of their own.
    """


class Tail(NamedTuple):
    """The end of a file, computed from the bytes before it, so that a store need not send it."""

    start: int
    """Position at which the end begins, bytes."""

    of: Callable[[bytes], bytes]
    """Computes the end from the bytes before it."""

    crc: int
    """CRC-32 of the whole file. If it does not match, the end is fetched, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalFilter:
    """The Bloom filter of a column's values in all data files of the index."""

    file: IndexFile
    fpp: float
    """Exact FPP of this filter."""

    ndv: int
    """Estimated number of distinct values."""

    stop: int
    """The filter covers every data file whose id is below this number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceFile:
    """The slices of a column: its filters, transposed for lookups of one value in many filters.

    Slices are only a faster way to the answer of the parts, so `FORMAT` did not rise for them:
    older versions of this package ignore them when they look up, and drop them when they write an
    entry, as their parts may change then; their vacuum removes the file.
    """

    file: IndexFile
    digest: str
    """SHA-256 of the file's directory, hexadecimal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedColumn:
    """One column of an index."""

    name: str
    """Dotted path of a leaf column."""

    fpp: float
    """False positive probability asked for, in (0, 1)."""

    expected_num_items: int | None = None
    """Expected number of distinct values in the whole table; None: the number of rows is taken."""

    parts: tuple[IndexFile, ...] = ()
    global_filter: GlobalFilter | None = None
    no_global: str = ""
    """The reason why there is no global filter, a clause."""

    slices: SliceFile | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of the log."""

    id: int
    """Number of the entry, 0-based; the name of its file."""

    name: str
    """Name of the index."""

    state: State
    version: int
    """Number N of the newest folder `v__=N`; -1 as long as there is no such folder."""

    root: str | None
    """The folder that paths of data files are relative to; None: the folder that holds the index's
    home."""

    columns: tuple[IndexedColumn, ...]
    manifest: IndexFile | None = None
    next_file_id: int = 0
    num_files: int = 0
    """Number of data files that the version knows."""

    source_bytes: int = 0
    """Size of these data files, bytes."""

    action: str = ""
    """Name of the action that wrote the entry: "create", "refresh incremental", ..."""

    created_ms: int = 0
    """Time at which the entry was written, milliseconds since 1970 UTC."""

    attempt: str = ""
    """Random id of the attempt at an action that wrote the entry. Two processes may write entries
    of the same content in the same millisecond; only this id tells which entry got into the log.
    Empty in entries of older versions of this package."""

    options: dict[str, str] = field(default_factory=dict)
    """Options by which the next refresh builds the index: "source" ("values", "embedded", "auto"),
    "contract" (as in `contract`), limits, and "slices" ("no") if no slices are wanted."""

    kind: str = KIND

    @property
    def contract(self) -> Contract:
        """The contract of the index: what lookups may take for granted about the table's files."""
        return contract_of(self.options)

    def root_in(self, folder: str) -> str:
        """Return the folder that paths of files are relative to, absolute.

        It is only a name, until it is compared with what the caller named (`layout.is_among`).

        Args:
            folder: The index's folder, absolute.
        """
        return os.path.dirname(os.path.dirname(folder)) if self.root is None else self.root

    def column(self, name: str) -> IndexedColumn | None:
        """Return the indexed column of this name; None if there is none."""
        return next((one for one in self.columns if one.name == name), None)

    def needed_files(self) -> Iterator[IndexFile]:
        """Yield the files of the index that the entry refers to, except the optional slices."""
        if self.manifest is not None:
            yield self.manifest
        for column in self.columns:
            yield from column.parts
            if column.global_filter is not None:
                yield column.global_filter.file

    def files(self) -> Iterator[IndexFile]:
        """Yield all files of the index that the entry refers to."""
        yield from self.needed_files()
        for column in self.columns:
            if column.slices is not None:
                yield column.slices.file


class OtherFormat(IndexProblem):
    """An entry was written by another version of this package; only that may change the log."""


def damaged(path: str | None, problem: str, *, byte: int | None = None) -> IndexProblem:
    """Return the error for a file of an index that is not as it was written.

    Args:
        path: Path of the file, absolute.
        problem: What is wrong with it, a clause.
        byte: Position in the file, bytes.
    """
    return IndexProblem(problem, path=path, byte=byte, remedy="Refresh the index in full.")


def to_json(entry: Entry) -> bytes:
    """Return an entry as JSON."""
    return with_checksum({"format": FORMAT, **asdict(entry, dict_factory=_without_absent)})


def with_checksum(whole: Json) -> bytes:
    """Return the JSON of an entry with its checksum added."""
    data = json.dumps(whole, indent=1, allow_nan=False).removesuffix("\n}").encode("ascii")
    return data + f',\n "crc": "{zlib.crc32(data):08x}"\n}}\n'.encode("ascii")


def _without_absent(fields: list[tuple[str, Any]]) -> Json:
    """Return the fields of a dataclass, without those of missing checksums."""
    return {name: value for name, value in fields if value is not None or name not in _CHECKSUMS}


def from_json(data: bytes, *, path: str) -> Entry:
    """Read an entry.

    Args:
        data: As `to_json` returns it.
        path: Named in errors.

    Raises:
        OtherFormat: If another version of this package wrote the data.
        IndexProblem: If the data is no entry.
    """
    try:
        found = json.loads(data)
        newer = found["format"] != FORMAT or found["kind"] != KIND
        entry = None if newer else _entry(found)
        _check(data, found, entry)
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


def _check(data: bytes, found: Json, entry: Entry | None) -> None:
    """Check the CRC-32 of an entry, if it has one or must have one.

    An entry of another version (None) is checked, too, as damage can make any entry look like one;
    but only this version's entries must have a CRC-32.

    Raises:
        ValueError: If it is wrong, or missing.
    """
    check = _CHECK.search(data)
    if check is None:
        if entry and ("crc" in found or any(map(_is_checked, entry.needed_files()))):
            raise ValueError("it has lost its checksum")
    elif int(check[1], 16) != zlib.crc32(data[: check.start()]):
        raise ValueError("its bytes are not those that were written")


def _is_checked(file: IndexFile) -> bool:
    return file.crc is not None or file.first_crc is not None


def _entry(found: Json) -> Entry:
    return Entry(
        id=_integer(found["id"]),
        name=_text(found["name"]),
        state=State(found["state"]),
        version=_integer(found["version"], least=-1),
        root=None if found["root"] is None else _root(found["root"]),
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
        slices=None if found.get("slices") is None else _slices(found["slices"]),
    )


def _global(found: Json) -> GlobalFilter:
    return GlobalFilter(
        file=_file(found["file"]),
        fpp=_rate(found["fpp"]),
        ndv=_integer(found["ndv"]),
        stop=_integer(found["stop"]),
    )


def _slices(found: Json) -> SliceFile:
    return SliceFile(file=_file(found["file"]), digest=_text(found["digest"]))


def _root(value: object) -> str:
    root = _text(value)
    # Keys of objects may have such names in them; a local path is compared by its text alone.
    if has_dots(root):
        raise ValueError(f"{root!r} is not an absolute path without . and ..")
    return root


def _file(found: Json) -> IndexFile:
    path = _text(found["path"])
    if any(name in {"", ".", ".."} for name in path.split("/")):
        raise ValueError(f"{path!r} is not a path in the index's folder")
    if b"\0" in os.fsencode(path):
        raise ValueError(f"{path!r} is not a path")
    crc, first_crc = found.get("crc"), found.get("first_crc")
    return IndexFile(
        path=path,
        size=_integer(found["size"]),
        crc=None if crc is None else _integer(crc),
        first_crc=None if first_crc is None else _integer(first_crc),
    )


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
