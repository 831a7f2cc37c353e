"""Indexes with one file changed at random, or one field of their log, and what comes of it.

A try ends in an answer or in an error of this package, in time. If the size of a file is another
one than the log says, no file may be excluded that holds the value.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq

from campaigns.security.commands import INDEX, commands, run
from campaigns.security.hostile import PAYLOADS
from campaigns.security.limits import no_hang
from campaigns.security.logs import index_folder, newest
from parquet_bloomwriter import index
from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.index.entry import with_checksum
from parquet_bloomwriter.index.format import slice_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FILES = 3
_ROWS = 200
_VALUES: tuple[object, ...] = (
    *(None, True, -1, 0, 1.5, 10**30, 2**53, "", "..", "/etc/passwd", [], {}, [[]], {"": {}}),
    *(PAYLOADS["csi"], PAYLOADS["line"], "\ud800", "a\0b", "DELETED", "REFRESHING", "ACTIVE"),
)
"""What is put in the place of a field."""

_ACTIONS: list[Callable[..., object]] = [
    *(index.optimize, index.refresh, index.vacuum, index.cancel)
]
Path_ = tuple[str | int, ...]
"""The way to a field of JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What came of one try."""

    what: str
    """Which mutation, to be seen again."""

    problem: str = ""
    """What should not be; "" if nothing."""

    is_lost: bool = False
    """Whether a file was excluded that holds the value, for bits that nothing checks."""


def make_table(folder: Path) -> None:
    """Make a table with an index that has slices, to be copied for each try."""
    folder.mkdir()
    for number in range(_FILES):
        ids = range(number * _ROWS, (number + 1) * _ROWS)
        names = [f"name {one}" for one in ids]
        pq.write_table(pa.table({"id": ids, "name": names}), folder / f"{number}.parquet")
    with mock.patch.object(slice_file, "MIN_FILTERS", 2):
        index.create(folder, ["id", "name"], name=INDEX)


def change_bytes(original: Path, scratch: Path, number: int) -> Changed:
    """Change one file of the index at random, and look values up."""
    choice = random.Random(number)  # noqa: S311  not for secrets
    table = _copy(original, scratch)
    path = choice.choice(sorted(p for p in index_folder(table, INDEX).rglob("*") if p.is_file()))
    old = path.read_bytes()
    new, how = _mutated(old, choice)
    path.write_bytes(new)
    what = f"bytes {number}: {path.parent.name}/{path.name}, {how}"
    lost, problem = False, ""
    try:
        with no_hang():
            lost = _loses(table, choice)
            _maintain(table, choice)
    except (BloomwriterError, OSError):
        pass
    except Exception as error:  # noqa: BLE001  that is what is looked for
        problem = f"{what}: {type(error).__name__}: {error}"
    if lost and len(new) != len(old) and path.parent.name != "_log":
        problem = f"{what}: a file that holds the value was excluded"
    shutil.rmtree(table)
    return Changed(what=what, problem=problem, is_lost=lost)


def change_field(original: Path, scratch: Path, number: int) -> Changed:
    """Put another value into a field of the log, and run a command of the index."""
    table = _copy(original, scratch)
    path, entry = newest(index_folder(table, INDEX))
    fields = list(_fields(entry))
    words = sorted(name for name in commands() if name.startswith("index "))
    field = fields[number % len(fields)]
    value = _VALUES[number // len(fields) % len(_VALUES)]
    _put(entry, field, value)
    path.write_bytes(with_checksum(entry))
    what = f"field {number}: {'.'.join(map(str, field))} = {value!r}"
    problem = ""
    for word in words:
        if word != "index create":
            problem = problem or _wrong_of_command(word, table, what)
    shutil.rmtree(table)
    return Changed(what=what, problem=problem)


def num_fields(original: Path) -> int:
    """How many mutations of fields there are."""
    return len(list(_fields(newest(index_folder(original, INDEX))[1]))) * len(_VALUES)


def _wrong_of_command(words: str, table: Path, what: str) -> str:
    line = [*words.split(), str(table)]
    if words != "index list":
        line += ["--name", INDEX]
    if words in {"index lookup", "index explain"}:
        line += ["--eq", "id=7"]
    with no_hang():
        shown = run(line)
    if shown.status == 70 or shown.status is None:
        return f"{what}: {words}: {shown.err}"
    return "; ".join(f"{what}: {words}: {fault}" for fault in shown.faults())


def _copy(original: Path, scratch: Path) -> Path:
    table = Path(tempfile.mkdtemp(dir=scratch)) / "table"
    return Path(shutil.copytree(original, table, copy_function=shutil.copy2))


def _mutated(old: bytes, choice: random.Random) -> tuple[bytes, str]:
    at = choice.randrange(len(old))
    ways: tuple[Callable[[], tuple[bytes, str]], ...] = (
        lambda: (old[:at] + bytes([old[at] ^ 1 << at % 8]) + old[at + 1 :], f"bit at {at}"),
        lambda: (old[:at] + choice.randbytes(1) + old[at + 1 :], f"byte at {at}"),
        lambda: (old[:at], f"cut at {at}"),
        lambda: (old[:at] + bytes(min(8, len(old) - at)) + old[at + 8 :], f"zeros at {at}"),
        lambda: (old[:at] + choice.randbytes(9) + old[at:], f"9 bytes more at {at}"),
        lambda: (old[:at] + old[at + 5 :], f"5 bytes less at {at}"),
        lambda: (choice.randbytes(len(old)), "all bytes"),
    )
    return choice.choice(ways)()


def _loses(table: Path, choice: random.Random) -> bool:
    """Look values up that are there; whether a file that holds one is excluded."""
    for value in choice.sample(range(_FILES * _ROWS), 3):
        holder = str(table / f"{value // _ROWS}.parquet")
        for condition in (f"id = {value}", f"name = 'name {value}'"):
            if holder not in index.lookup(table, condition).paths:
                return True
    return False


def _maintain(table: Path, choice: random.Random) -> None:
    """Do what reads all of an index."""
    index.indexes(table, changes=True)
    choice.choice(_ACTIONS)(table, name=INDEX)


def _fields(value: Any, way: Path_ = ()) -> Iterator[Path_]:  # noqa: ANN401  JSON
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        yield (*way, key)
        if isinstance(inner, dict | list):
            yield from _fields(inner, (*way, key))


def _put(entry: Any, way: Path_, value: object) -> None:  # noqa: ANN401  JSON
    for key in way[:-1]:
        entry = entry[key]
    entry[way[-1]] = value
