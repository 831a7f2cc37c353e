"""Commits on S3: lost answers, races, and other writers."""

from __future__ import annotations

import dataclasses
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter.delta.commit import AddReplacement, new_add, replace_files
from parquet_bloomwriter.delta.place import place_of
from parquet_bloomwriter.delta.snapshot import read_snapshot
from parquet_bloomwriter.errors import OutcomeUnknown, StoreProblem
from tests.delta.test_place_objects import use
from tests.stores.faults import Fault, Rule
from tests.support.delta_tables import append, make_table, rows_of

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloomwriter.delta.snapshot import Snapshot
    from tests.stores.proxy import Proxy
    from tests.stores.servers import Client, Store


class Remote:
    """A table on the store, and its copy on this disk."""

    def __init__(self, client: Client, bucket: str, folder: Path) -> None:
        self.client, self.bucket, self.folder = client, bucket, folder
        self.url = f"s3://{bucket}/t"

    def upload(self) -> None:
        """Put all files there that are not there yet."""
        there = self.keys()
        for path in sorted(self.folder.rglob("*")):
            key = f"t/{path.relative_to(self.folder)}"
            if path.is_file() and key not in there:
                self.client.upload_file(os.fspath(path), self.bucket, key)

    def download(self) -> None:
        """Get all files that are not here yet."""
        for key in self.keys():
            path = self.folder / key.removeprefix("t/")
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                self.client.download_file(self.bucket, key, os.fspath(path))

    def keys(self) -> set[str]:
        """Return all keys in the bucket."""
        answer = self.client.list_objects_v2(Bucket=self.bucket)
        return {one["Key"] for one in answer.get("Contents", ())}

    def open(self) -> Snapshot:
        """Read the table."""
        return read_snapshot(place_of(self.url))

    def copies(self, snapshot: Snapshot) -> list[AddReplacement]:
        """Put a copy of each file beside it."""
        found = []
        for file in snapshot.files.values():
            uri = snapshot.place.new_uri(file.path)
            source = {"Bucket": self.bucket, "Key": f"t/{file.path}"}
            self.client.copy_object(Bucket=self.bucket, Key=f"t/{uri}", CopySource=source)
            found.append(
                AddReplacement(file, new_add(file, uri=uri, size=file.size, modified_ms=1))
            )
        return found


@pytest.fixture
def table(
    store: Store, bucket: str, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Remote:
    """Make a table of three files; requests of this package go through the proxy."""
    use(proxy.store, tmp_path, monkeypatch)
    remote = Remote(store.client(), bucket, make_table(tmp_path / "t", rows=20))
    remote.upload()
    return remote


def test_files_are_replaced(table: Remote) -> None:
    snapshot, before = table.open(), rows_of(table.folder)
    committed = replace_files(snapshot, table.copies(snapshot))
    assert (committed.version, committed.dropped) == (3, ())
    table.download()
    assert rows_of(table.folder) == before
    assert table.open().files.keys() == committed.snapshot.files.keys()


@pytest.mark.parametrize("others", [False, True])
def test_an_answer_is_lost(table: Remote, proxy: Proxy, *, others: bool) -> None:
    """The entry is there, or another program has taken the version."""
    snapshot = table.open()
    replacements = table.copies(snapshot)
    snapshot.place.check_commits()
    files = table.keys()
    tried: list[int] = []

    def meddle(version: int) -> None:
        if others and not tried:
            append(table.folder, 3, rows=20)
            table.upload()
        if not tried:
            proxy.play(Rule(fault=Fault.CUT_AFTER, operation="PutObject"))
        tried.append(version)

    committed = replace_files(snapshot, replacements, on_attempt=meddle)
    assert tried == ([3, 4] if others else [3])
    assert (committed.version, committed.dropped) == (tried[-1], ())
    assert files < table.keys()
    table.download()
    assert len(rows_of(table.folder)) == (80 if others else 60)


@pytest.mark.parametrize("operation", ["GetObject", "PutObject"])
def test_a_store_that_fails_for_good(table: Remote, proxy: Proxy, operation: str) -> None:
    snapshot = table.open()
    replacements = table.copies(snapshot)
    snapshot.place.check_commits()
    append(table.folder, 3, rows=20)
    table.upload()
    files = table.keys()
    proxy.play(Rule(fault=Fault.ERROR, operation=operation, sticky=True))
    expected = OutcomeUnknown if operation == "PutObject" else StoreProblem
    with pytest.raises(expected):
        replace_files(snapshot, replacements)
    proxy.play()
    assert table.keys() == files
    committed = replace_files(snapshot, replacements)
    assert committed.version == 4
    table.download()
    assert len(rows_of(table.folder)) == 80


def test_an_unknown_outcome_is_found_in_the_log(table: Remote, proxy: Proxy) -> None:
    snapshot = table.open()
    replacements = table.copies(snapshot)
    snapshot.place.check_commits()
    silent = [
        Rule(fault=Fault.CUT_AFTER, operation="PutObject"),
        Rule(fault=Fault.ERROR, operation="HeadObject", sticky=True),
        Rule(fault=Fault.ERROR, operation="GetObject", sticky=True),
    ]
    with pytest.raises(OutcomeUnknown, match="version 3 has the txnId"):
        replace_files(
            snapshot, replacements, attempt="a-1", on_attempt=lambda _: proxy.play(*silent)
        )
    proxy.play()
    committed = replace_files(snapshot, replacements, attempt="a-1")
    assert (committed.version, len(committed.kept)) == (3, 3)
    table.download()
    assert len(rows_of(table.folder)) == 60


def test_committers_race(table: Remote) -> None:
    """Each of eight replaces the same three files: each file is replaced once."""
    snapshot = table.open()
    all_copies = [table.copies(snapshot) for _ in range(8)]
    shuffled = [
        copies[number % 3 :] + copies[: number % 3][:number]
        for number, copies in enumerate(all_copies)
    ]

    def commit(copies: list[AddReplacement]) -> int:
        return len(replace_files(dataclasses.replace(snapshot), copies[:2]).kept)

    with ThreadPoolExecutor(8) as pool:
        kept = list(pool.map(commit, shuffled))
    assert sum(kept) == 3
    table.download()
    assert len(rows_of(table.folder)) == 60
