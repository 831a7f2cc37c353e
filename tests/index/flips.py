"""A program that damages an index in place, again and again, and looks values up each time.

    python -m tests.index.flips FOLDER VALUES [FILE ...] < tasks, see `support.workers`

The path of a task is "KIND NUMBER": one bit or byte is flipped, or 512 bytes are zeroed, counted
through all files of the index, or through the files that are named; then the file is written as it
was. VALUES is JSON: predicates, and for each the name of the file that holds the value. The answer
says which of them a lookup excluded (`wrong`), and whether the damage was noticed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_bloomwriter.caches import clear_cache
from parquet_bloomwriter.index.query.snapshot import Snapshot, open_snapshot
from parquet_bloomwriter.predicate import parse
from tests.support.workers import tell

if TYPE_CHECKING:
    from parquet_bloomwriter.predicate.expression import Expression

UNITS = {"bit": 1, "byte": 8, "sector": 512 * 8}
"""Bits that are damaged at once."""


def num_damages(folder: Path, kind: str) -> int:
    """Return how many damages of a kind there are."""
    return sum(_count(path, kind) for path in _files_of(folder))


def _files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _count(path: Path, kind: str) -> int:
    return -(-8 * path.stat().st_size // UNITS[kind])


def _damaged(data: bytes, number: int, kind: str) -> bytes:
    if kind == "sector":
        size = UNITS[kind] // 8
        first, rest = data[: size * number], data[size * (number + 1) :]
        return first + bytes(len(data) - len(first) - len(rest)) + rest
    found = bytearray(data)
    place = number * UNITS[kind]
    found[place // 8] ^= 0xFF if kind == "byte" else 1 << place % 8
    return bytes(found)


def main() -> None:
    """Damage what the lines of the standard input name."""
    folder, told, *only = sys.argv[1:]
    values = [(parse(predicate), name) for predicate, name in json.loads(told)]
    files = [Path(one) for one in only] or _files_of(Path(folder))
    for line in sys.stdin:
        task = json.loads(line)["path"]
        tell({"begins": task})
        kind, number = task.split()
        place = int(number)
        for path in files:
            if place < _count(path, kind):
                break
            place -= _count(path, kind)
        data = path.read_bytes()
        try:
            path.write_bytes(_damaged(data, place, kind))
            wrong, is_noticed = _look_up(folder, values)
        finally:
            path.write_bytes(data)
        at = f"{path.name}, {kind} {place}"
        tell({"path": task, "at": at, "wrong": wrong, "noticed": is_noticed})


def _look_up(folder: str, values: list[tuple[Expression, str]]) -> tuple[list[str], bool]:
    wrong: list[str] = []
    is_noticed = False
    for expression, name in values:
        clear_cache()
        opened = open_snapshot(folder)
        if not isinstance(opened, Snapshot):
            return wrong, True
        might = opened.might_match(expression)
        files = [Path(file.path).name for file in opened.files.identities()]
        is_noticed |= opened.problem is not None
        # A file that the version does not know is read by every query.
        if name in files and not might[files.index(name)]:
            wrong.append(name)
    return wrong, is_noticed


if __name__ == "__main__":
    main()
