"""Files that lack a column, in a folder where others have it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import inspect

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Invoke


@pytest.fixture
def lake(folder: Path) -> Path:
    """A folder with five files: all have `id`, two have `email`, one has `x_id`."""
    lake = folder / "lake"
    lake.mkdir()
    for number in range(5):
        table = pa.table({"id": range(number, number + 50)})
        if number in {0, 3}:
            table = table.append_column("email", [[f"u{n}@mail.example" for n in range(50)]])
        if number == 4:
            table = table.append_column("x_id", [list(range(50))])
        pq.write_table(table, lake / f"{number}.parquet")
    return lake


def test_files_without_a_column_are_passed_over(lake: Path, invoke: Invoke) -> None:
    before = {path.name: path.read_bytes() for path in lake.iterdir()}
    plain = invoke("lake", "--columns", "id,email", "--columns", "*_id", "--dry-run")
    assert plain.exit_code == 2
    hint = "--skip-missing passes over files without it."
    assert all(line.endswith(hint) for line in plain.stderr.splitlines() if "there is no" in line)
    assert hint in plain.stderr
    words = ["lake", "--columns", "id,email", "--columns", "*_id", "--skip-missing"]
    result = invoke(*words, "--fpp", "email=0.001", "--exclude", "nothing")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "missing   email: 3 files without it: lake/1.parquet, lake/2.parquet" in result.stdout
    assert "missing   *_id: 4 files without it: " in result.stdout
    assert result.stdout.count("and 1 more") == 1
    filters = {
        path.name: {column.name for column in inspect(path).columns if column.filters}
        for path in lake.iterdir()
    }
    assert filters == {
        "0.parquet": {"id", "email"},
        "1.parquet": {"id"},
        "2.parquet": {"id"},
        "3.parquet": {"id", "email"},
        "4.parquet": {"id", "x_id"},
    }
    assert {path.name for path in lake.iterdir()} == set(before)
    document = json.loads(invoke(*words, "--json").stdout)
    assert [one["missing_columns"] for one in document["files"]] == [
        ["*_id"],
        ["email", "*_id"],
        ["email", "*_id"],
        ["*_id"],
        ["email"],
    ]


def test_a_column_that_no_file_has(lake: Path, invoke: Invoke) -> None:
    """It may be a mistake, so a warning says so; the files may as well be those of one day."""
    result = invoke("lake", "--columns", "id,emial", "--skip-missing", "--quiet")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == 'bloomify: warning: no file has a column "emial".\n'
    before = (lake / "1.parquet").read_bytes()
    result = invoke("lake/1.parquet", "--columns", "email", "--skip-missing")
    assert (result.exit_code, (lake / "1.parquet").read_bytes()) == (0, before)
    assert "missing   email" in result.stdout


def test_what_is_no_missing_column_fails_as_before(lake: Path, invoke: Invoke) -> None:
    (lake / "9.parquet").write_text("this is no Parquet file, but long enough")
    result = invoke("lake", "--columns", "id,email", "--skip-missing")
    assert result.exit_code == 3
    assert "9.parquet" in result.stderr
    twice = pa.table([[1], [2]], names=["id", "id"])
    pq.write_table(twice, lake / "9.parquet")
    result = invoke("lake", "--columns", "id", "--skip-missing")
    assert result.exit_code == 3
    assert '2 columns are named "id"' in result.stderr
    assert "--skip-missing passes" not in result.stderr


@pytest.mark.usefixtures("lake")
def test_a_file_that_has_only_excluded_columns_is_passed_over(invoke: Invoke) -> None:
    """If it lacks a column that others have; where nothing is missing, all is excluded."""
    words = ["--columns", "id,email", "--exclude", "id", "--skip-missing", "--dry-run"]
    result = invoke("lake", *words)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "2 filters would be added; 5 files looked at." in result.stdout
    assert "email: 3 files without it" in result.stdout
    refused = invoke("lake", "--columns", "id", "--exclude", "id", "--skip-missing")
    assert refused.exit_code == 2
    assert "all columns that are chosen are excluded" in refused.stderr
