"""Another program that commits to a Delta table: told by lines of JSON, it answers each by a line.

{"path": folder, "kind": name of an operation}  ->  "done", or what was raised
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from deltalake import DeltaTable

from parquet_bloomwriter.delta.commit import remove_of, replace_files
from tests.support.delta_commits import open_table, replacements_of
from tests.support.delta_tables import append

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 20
"""Of each file; file n has ids from n * ROWS on, and `day` n."""

VECTOR = {
    "storageType": "i",
    "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
    "sizeInBytes": 44,
    "cardinality": 6,
}
"""Rows 3, 4, 7, 11, 18 and 29 of a file."""


def _append(path: Path) -> None:
    append(path, 3, rows=ROWS)


def _appends(path: Path) -> None:
    for number in range(3, 6):
        append(path, number, rows=ROWS)


def _delete_file(path: Path) -> None:
    DeltaTable(os.fspath(path)).delete("day = 1")


def _delete_row(path: Path) -> None:
    DeltaTable(os.fspath(path)).delete(f"id = {ROWS}")


def _update(path: Path) -> None:
    DeltaTable(os.fspath(path)).update({"email": "'x'"}, predicate="id = 3")


def _merge(path: Path) -> None:
    source = pa.table({"id": pa.array([3, 1000], pa.int64())})
    merger = DeltaTable(os.fspath(path)).merge(
        source, predicate="t.id = s.id", source_alias="s", target_alias="t"
    )
    merger.when_matched_update({"email": "'merged'"}).when_not_matched_insert(
        {"id": "s.id"}
    ).execute()


def _compact(path: Path) -> None:
    DeltaTable(os.fspath(path)).optimize.compact()


def _vacuum(path: Path) -> None:
    DeltaTable(os.fspath(path)).vacuum(retention_hours=24 * 30, dry_run=False)


def _checkpoint(path: Path) -> None:
    DeltaTable(os.fspath(path)).create_checkpoint()


def _second(path: Path) -> None:
    snapshot = open_table(path)
    replace_files(snapshot, replacements_of(snapshot, filters=False))


def _by_hand(path: Path) -> None:
    """Delete rows by a deletion vector, in an entry that is created and then filled."""
    snapshot = open_table(path)
    file = next(iter(snapshot.files.values()))
    features = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"],
        "writerFeatures": ["deletionVectors"],
    }
    actions = [
        {"commitInfo": {"operation": "BY HAND"}},
        {"protocol": features},
        {"remove": {**remove_of(file, 1), "dataChange": True}},
        {"add": {**file.raw, "deletionVector": VECTOR, "dataChange": True}},
    ]
    entry = path / "_delta_log" / f"{snapshot.version + 1:020}.json"
    with entry.open("x") as out:
        out.write("".join(json.dumps(one) + "\n" for one in actions))


KINDS: dict[str, Callable[[Path], None]] = {
    "append": _append,
    "appends": _appends,
    "delete-file": _delete_file,
    "delete-row": _delete_row,
    "update": _update,
    "merge": _merge,
    "compact": _compact,
    "vacuum": _vacuum,
    "checkpoint": _checkpoint,
    "second": _second,
    "by-hand": _by_hand,
}


def main() -> None:
    """Do what the lines say."""
    for line in sys.stdin:
        task = json.loads(line)
        try:
            KINDS[task["kind"]](Path(task["path"]))
            answer = "done"
        except Exception as error:  # noqa: BLE001  told to who asked
            answer = " ".join(f"{type(error).__name__}: {error}".split())
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
