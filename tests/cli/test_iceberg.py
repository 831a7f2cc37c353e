"""The commands that read, on Iceberg tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from parquet_bloomwriter import BloomFile, bloomify, find_files, inspect, verify
from parquet_bloomwriter.errors import ColumnNotFound
from tests.support.iceberg_reading import append_stored, new_catalog, paths_of

if TYPE_CHECKING:
    from pyiceberg.table import Table

    from tests.cli.conftest import Invoke

URL = "iceberg://lake/shop.orders"


@pytest.fixture
def table(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    """A table of two files; `name` became `title` between them. The older one has a filter."""
    table = new_catalog(monkeypatch, folder).create_table(
        "shop.orders", pa.schema([("id", pa.int64()), ("name", pa.string())])
    )
    names = [f"n{one}" for one in range(400)]
    table.append(pa.table({"id": range(0, 800, 2), "name": names}))
    bloomify(paths_of(table)[0], ["id", "name"], force=True)
    with table.update_schema() as update:
        update.rename_column("name", "title")
    table.append(pa.table({"id": range(1000, 1800, 2), "title": names}))
    return table


def test_inspect_shows_the_files_of_a_snapshot(table: Table, invoke: Invoke) -> None:
    newer, older = paths_of(table)
    last = table.current_snapshot()
    assert last is not None
    shown = invoke("inspect", URL)
    assert (shown.exit_code, shown.stderr) == (0, "")
    first, *rest = shown.stdout.splitlines()
    assert first == f"{URL}: snapshot {last.snapshot_id} of an Iceberg table, 2 files"
    assert [line.split(":")[0] for line in rest[:2]] == [newer, older]
    assert any(line.split()[:2] == ["title", "1"] for line in rest)

    parent = last.parent_snapshot_id
    found = json.loads(invoke("inspect", URL, "--snapshot", str(parent), "--json").stdout)
    assert found["tables"] == [{"path": URL, "snapshot_id": parent, "branch": None, "num_files": 1}]
    assert [one["path"] for one in found["files"]] == [older]
    assert [one["name"] for one in found["files"][0]["columns"]] == ["id", "name"]


@pytest.mark.usefixtures("table")
def test_columns_are_those_of_the_table(invoke: Invoke) -> None:
    found = json.loads(invoke("inspect", URL, "--columns", "title", "--json").stdout)
    assert [[one["name"] for one in file["columns"]] for file in found["files"]] == [["title"]] * 2
    refused = invoke("inspect", URL, "--columns", "name")
    assert 'there is no column "name"' in refused.stderr
    _, file = find_files(URL)
    assert [one.name for one in inspect(file).columns] == ["id", "title"]
    assert verify(file, "title").passed
    with pytest.raises(ColumnNotFound):
        verify(file, "name")
    with BloomFile(file) as opened:
        assert opened.might_contain("title", "n7")
        assert not opened.might_contain("title", "absent")


@pytest.mark.usefixtures("table")
def test_verify_and_advise(invoke: Invoke) -> None:
    checked = json.loads(invoke("verify", URL, "--json").stdout)
    assert [len(one["checks"]) for one in checked["files"]] == [0, 2]
    advice = invoke("advise", URL)
    assert advice.exit_code == 0
    assert "of an Iceberg table, 2 files" in advice.stdout.splitlines()[0]


def test_advice_becomes_properties(table: Table, invoke: Invoke) -> None:
    rows = 20_000
    scattered = pa.table(
        {"id": [i * 1237 % rows for i in range(rows)], "title": [f"t{i % 3}" for i in range(rows)]}
    )
    stored = scattered.cast(table.schema().as_arrow())
    append_stored(table, stored, row_group_size=rows // 4, use_dictionary=False)
    advice = invoke("advise", URL, "--write")
    assert "the table asks for id from now on" in advice.stderr.replace(", title", "")
    properties = table.refresh().properties
    assert properties["write.parquet.bloom-filter-enabled.column.id"] == "true"
    assert "the table's properties say so already" in invoke("advise", URL, "--write").stderr


def test_probe(table: Table, invoke: Invoke) -> None:
    newer, older = paths_of(table)
    found = invoke("probe", URL, "--where", "title = 'n7'", "--files")
    assert found.stdout.splitlines() == [newer, older]
    found = invoke("probe", URL, "--where", "id = 301", "--files")
    assert (found.exit_code, found.stdout) == (1, "")
    found = invoke("probe", URL, "--where", "id = 300", "--branch", "main", "--files")
    assert found.stdout.splitlines() == [older]


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--version", "1"], "has snapshots and branches, not versions"),
        (["--snapshot", "5"], "there is no snapshot 5"),
        (["--branch", "nowhere"], 'there is no branch "nowhere"'),
        (["--snapshot", "5", "--branch", "main"], "need not agree"),
    ],
)
@pytest.mark.parametrize("command", ["inspect", "verify", "advise", "probe"])
def test_states_that_are_not_there(
    command: str, options: list[str], words: str, invoke: Invoke
) -> None:
    where = ["--where", "id = 1"] if command == "probe" else []
    shown = invoke(command, URL, *where, *options)
    assert shown.exit_code == 2
    assert words in shown.stderr


def test_an_index(table: Table, invoke: Invoke) -> None:
    newer, older = paths_of(table)
    made = invoke("index", "create", URL, "--columns", "id,title", "--name", "ids")
    assert made.exit_code == 3
    assert f"every lookup has to name data/{Path(older).name}" in made.stderr  # it was changed
    found = invoke("index", "lookup", URL, "--where", "title = 'n7'", "--files")
    assert (found.exit_code, set(found.stdout.splitlines())) == (0, {newer, older})
    found = invoke("index", "lookup", URL, "--where", "title = 'absent'", "--files")
    assert found.stdout.splitlines() == [older]
    first = str(table.metadata.snapshots[0].snapshot_id)
    options = ["--where", "id = 1000", "--snapshot", first, "--files"]
    assert invoke("index", "lookup", URL, *options).stdout.splitlines() == [older]
    assert "ids" in invoke("index", "list", URL).stdout
    explained = invoke("index", "explain", URL, "--where", "title = 'absent'")
    assert "1 of 2 files" in explained.stdout
