"""The files of a table that an index knows in their present state."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_bloomwriter.index.changes import compare, positions
from parquet_bloomwriter.index.files import FileId
from tests.index.support import file_of, small_index

if TYPE_CHECKING:
    from pathlib import Path

KNOWN = [file_of(file_id) for file_id in range(10, 16)]


def test_a_file_is_known_by_its_path_its_size_and_its_time(tmp_path: Path) -> None:
    index = small_index(tmp_path)
    known = index.snapshot().files
    assert positions(KNOWN, known).tolist() == [0, 1, 2, 3, 4, 5]
    assert positions(KNOWN[::-2], known).tolist() == [5, 3, 1]
    other = [
        replace(KNOWN[0], path="day=2/part-10.parquet"),
        replace(KNOWN[1], size=KNOWN[1].size + 1),
        replace(KNOWN[2], modified_ms=KNOWN[2].modified_ms + 1),
        replace(KNOWN[3], modified_ms=KNOWN[3].modified_ms - 1),
        FileId(KNOWN[4].path, KNOWN[5].size, KNOWN[4].modified_ms),
    ]
    assert positions([*other, KNOWN[5]], known).tolist() == [-1, -1, -1, -1, -1, 5]


def test_a_replaced_file_is_deleted_and_appended(tmp_path: Path) -> None:
    index = small_index(tmp_path)
    replaced = replace(KNOWN[2], modified_ms=KNOWN[2].modified_ms + 1)
    new = FileId("day=0/new.parquet", 5, 6)
    changes = compare([*KNOWN[:2], replaced, new, *KNOWN[4:]], index.entry, index.folder)
    assert changes.appended == (replaced, new)
    assert changes.still_there.tolist() == [True, True, False, False, True, True]
    assert (changes.num_deleted, changes.deleted_bytes) == (2, KNOWN[2].size + KNOWN[3].size)
