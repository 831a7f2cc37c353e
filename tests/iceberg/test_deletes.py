"""Which data files position deletes name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter.iceberg.deletes import canonical_location
from parquet_bloomwriter.iceberg.snapshot import read_snapshot
from tests.support.iceberg_commits import name_of, rows
from tests.support.iceberg_deletes import delete_equal, delete_positions

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyiceberg.table import Table


def _paths(table: Table) -> list[str]:
    """Return data files, the oldest first."""
    return list(read_snapshot(name_of(table)).files)[::-1]


def _kept(table: Table) -> dict[str, str]:
    files = read_snapshot(name_of(table)).files
    return {path: entry.why_kept for path, entry in files.items() if entry.why_kept is not None}


@pytest.mark.parametrize("file_format", ["PARQUET", "AVRO", "ORC"])
def test_a_delete_file_names_several_files(
    make_table: Callable[..., Table], file_format: str
) -> None:
    table = make_table(files=4)
    first, second, _, last = _paths(table)
    delete_positions(table, {first: [0, 1], last: [2]}, file_format=file_format)
    assert _kept(table) == dict.fromkeys((first, last), "position deletes name it")
    delete_positions(table, {second: [0]}, file_format=file_format)
    assert _kept(table).keys() == {first, second, last}


def test_equality_deletes_name_no_file(make_table: Callable[..., Table]) -> None:
    table = make_table(files=2)
    delete_equal(table, {"id": [3]})
    assert not _kept(table)


def test_a_path_in_another_spelling_is_named(make_table: Callable[..., Table]) -> None:
    table = make_table(files=2)
    first, second = _paths(table)
    delete_positions(table, {first: [1], second.replace("file://", "file:"): [0]})
    assert _kept(table).keys() == {first, second}


def test_a_delete_file_that_cannot_be_read_names_all_that_it_may(
    make_table: Callable[..., Table],
) -> None:
    table = make_table(files=2)
    first, second = _paths(table)
    delete_positions(table, {first: [0]}, is_damaged=True)
    table.append(rows(100))
    assert _kept(table) == dict.fromkeys(
        (first, second), "position deletes that cannot be read may name it"
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("file:///w/a b", "file:/w/a b"),
        ("/w/a", "file://localhost/w/a"),
        ("s3a://bucket/key", "s3://bucket/key"),
    ],
)
def test_spellings_of_a_location(one: str, other: str) -> None:
    assert canonical_location(one) == canonical_location(other)
    assert canonical_location(one) != canonical_location(one + "x")
