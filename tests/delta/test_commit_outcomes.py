"""Commits whose answers are lost, and logs with torn or missing entries."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from parquet_bloomwriter.delta import commit as module
from parquet_bloomwriter.delta import snapshot as snapshots
from parquet_bloomwriter.delta.commit import replace_files
from parquet_bloomwriter.delta.place.local import LocalPlace
from parquet_bloomwriter.errors import (
    OutcomeUnknown,
    TableProblem,
)
from tests.support.delta_commits import (
    add_by_hand,
    check_committed,
    data_files,
    log_of,
    open_table,
    replacements_of,
)
from tests.support.delta_tables import (
    append,
    rows_of,
    versions,
)

if TYPE_CHECKING:
    from pathlib import Path


class Losing(LocalPlace):
    """A disk that may not say what became of an entry."""

    def __init__(self, root: str, *, is_written: bool) -> None:
        super().__init__(root)
        self.is_written = is_written

    def create_entry(self, name: str, data: bytes, *, attempt: str) -> bool:
        """See `TablePlace`."""
        if self.is_written:
            super().create_entry(name, data, attempt=attempt)
        raise OutcomeUnknown("the store did not answer", path=name, remedy="It sees what is there.")


@pytest.mark.parametrize("is_written", [False, True])
def test_an_outcome_that_is_not_known(table: Path, *, is_written: bool) -> None:
    snapshot, before = open_table(table), rows_of(table)
    replacements = replacements_of(snapshot)
    files = data_files(table)
    losing = replace(snapshot, place=Losing(os.fspath(table), is_written=is_written))
    with pytest.raises(OutcomeUnknown, match='version 3 has the txnId "attempt-1"') as caught:
        replace_files(losing, replacements, attempt="attempt-1")
    assert vars(caught.value)["version"] == 3
    assert vars(caught.value)["attempt"] == "attempt-1"
    assert data_files(table) == files
    assert rows_of(table) == before
    append(table, 3, rows=50)
    committed = replace_files(snapshot, replacements, attempt="attempt-1")
    assert committed.version == (3 if is_written else 4)
    assert (len(committed.kept), committed.dropped) == (3, ())
    assert len(rows_of(table)) == 200
    assert versions(table) == list(range(5))


@pytest.mark.parametrize("found", [b"", b'{"commitInfo":{}}\n{"add":{"pat'])
def test_an_entry_that_is_filled_after_it_was_created(
    table: Path, monkeypatch: pytest.MonkeyPatch, found: bytes
) -> None:
    monkeypatch.setattr(snapshots, "_WHOLE_AFTER_S", (0.05,) * 100)
    snapshot, before = open_table(table), rows_of(table)
    replacements = replacements_of(snapshot)
    third = log_of(snapshot) / f"{3:020}.json"
    third.write_bytes(found)
    whole = json.dumps({"commitInfo": {"operation": "X"}}) + "\n"
    timer = threading.Timer(0.2, lambda: third.write_text(whole))
    timer.start()
    committed = replace_files(snapshot, replacements)
    timer.join()
    assert committed.version == 4
    check_committed(table, before, committed)


@pytest.mark.parametrize("found", [b"", b"\n", b'{"commitInfo":{}}\n{"add":{"pat'])
def test_an_entry_that_stays_torn(
    table: Path, monkeypatch: pytest.MonkeyPatch, found: bytes
) -> None:
    monkeypatch.setattr(snapshots, "_WHOLE_AFTER_S", (0.0, 0.0))
    snapshot = open_table(table)
    replacements = replacements_of(snapshot)
    third = log_of(snapshot) / f"{3:020}.json"
    third.write_bytes(found)
    files = data_files(table)
    with pytest.raises(TableProblem):
        replace_files(snapshot, replacements)
    assert versions(table)[-1] == 3
    assert third.read_bytes() == found
    assert data_files(table) == files


def test_entries_that_were_cleaned_up_meanwhile(table: Path) -> None:
    """Entry 3 could be created, and nobody would ever read it."""
    snapshot = open_table(table)
    replacements = replacements_of(snapshot)
    for number in range(3, 8):
        append(table, number, rows=50)
    DeltaTable(os.fspath(table)).delete("day = 1")
    DeltaTable(os.fspath(table)).create_checkpoint()
    for version in range(8):
        (log_of(snapshot) / f"{version:020}.json").unlink()
    before = rows_of(table)
    committed = replace_files(snapshot, replacements)
    assert (committed.version, len(committed.kept)) == (9, 2)
    assert [why for _, why in committed.dropped] == ["another program removed it"]
    check_committed(table, before, committed)


def test_a_log_that_went_away(table: Path) -> None:
    snapshot = open_table(table)
    for version in range(3):
        (log_of(snapshot) / f"{version:020}.json").unlink()
    with pytest.raises(TableProblem, match="not in the log any more"):
        replace_files(snapshot, [])


def test_others_that_are_always_quicker(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TRIES", 5)
    snapshot = open_table(table)
    replacements = replacements_of(snapshot)
    tried: list[int] = []

    def meddle(version: int) -> None:
        tried.append(version)
        add_by_hand(snapshot, {"txn": {"appId": "a", "version": version}})

    with pytest.raises(TableProblem, match="committed 5 times"):
        replace_files(snapshot, replacements, on_attempt=meddle)
    assert tried == [3, 4, 5, 6, 7]
