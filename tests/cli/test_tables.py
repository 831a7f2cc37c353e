"""`bloomify` and `strip` on Delta tables: words, options, JSON and exit codes."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from deltalake import DeltaTable

from bloomify.main import cli
from tests.support.delta_tables import listing, make_table, versions

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of three files."""
    return make_table(tmp_path / "events")


def run(*arguments: str | Path) -> Result:
    """Run the command."""
    return CliRunner().invoke(cli, [os.fspath(one) for one in arguments], prog_name="bloomify")


def test_filters_for_a_table(table: Path) -> None:
    result = run(table, "--columns", "id,email")
    assert result.exit_code == 0, result.output
    assert f"{table}: 6 filters added, in 3 of 3 files, by version 3" in result.stdout
    assert "email" in result.stdout
    assert "until VACUUM" in result.stdout
    assert "nothing to do" in run(table, "--columns", "id,email").stdout


def test_strip(table: Path) -> None:
    run(table, "--columns", "id")
    result = run("strip", table)
    assert result.exit_code == 0
    assert "3 filters taken out, in 3 of 3 files, by version 4" in result.stdout


def test_a_dry_run(table: Path) -> None:
    before = listing(table)
    result = run(table, "--columns", "id", "--commit-every", "2", "--dry-run")
    assert "3 filters would be added, in 3 of 3 files, by 2 commits" in result.stdout
    assert "must be repeated" in result.stdout.replace("\n", " ")
    assert listing(table) == before


def test_json(table: Path) -> None:
    result = run(table, "--columns", "id", "--max-files", "2", "--json")
    document = json.loads(result.stdout)
    assert document["command"] == "add"
    assert document["failed"] == []
    found = document["table"]
    assert found["commits"] == [3]
    assert found["num_waiting"] == 1
    assert [one["fate"] for one in found["changes"]] == ["replaced", "replaced"]


def test_the_table_asks(table: Path) -> None:
    result = run(table)
    assert result.exit_code == 2
    assert "bloomify.columns" in result.stderr
    wanted = {"bloomify.columns": "id"}
    DeltaTable(os.fspath(table)).alter.set_table_properties(wanted, raise_if_not_exists=False)
    result = run(table)
    assert result.exit_code == 0
    assert "by the table's own properties" in result.stdout


@pytest.mark.parametrize(
    "options",
    [
        ["-o", "elsewhere"],
        ["--overwrite"],
        ["--backup", ".old"],
        ["--backup-dir", "old"],
        ["--force"],
        ["--regenerate-crc"],
        ["--placement", "row-group"],
        ["--dialect", "murmur3"],
        ["--commit-every", "often"],
        ["--ndv", "id=3"],
    ],
)
def test_options_that_say_nothing_of_a_table(table: Path, options: list[str]) -> None:
    before = listing(table)
    result = run(table, "--columns", "id", *options)
    assert result.exit_code == 2, result.output
    assert listing(table) == before


def test_options_that_say_nothing_of_files(table: Path) -> None:
    (table / "_delta_log").rename(table.parent / "log")
    result = run(table, "--columns", "id", "--newest-first")
    assert result.exit_code == 2
    assert "--newest-first" in result.stderr


def test_one_table_at_a_time(table: Path, tmp_path: Path) -> None:
    other = make_table(tmp_path / "other", num_files=1)
    result = run(table, other, "--columns", "id")
    assert result.exit_code == 2
    assert versions(table) == [0, 1, 2]


def test_a_file_of_a_table_names_the_way(table: Path) -> None:
    [first, *_] = sorted(table.glob("*.parquet"))
    result = run(first, "--columns", "id")
    assert result.exit_code == 5
    assert "Name the table's folder" in result.stderr


def test_a_feature_that_is_refused(table: Path) -> None:
    log = table / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for one in lines:
        if "metaData" in one:
            one["metaData"]["configuration"]["delta.enableIcebergCompatV2"] = "true"
    log.write_text("".join(json.dumps(one) + "\n" for one in lines))
    before = listing(table)
    result = run(table, "--columns", "id")
    assert result.exit_code == 5
    assert "delta.enableIcebergCompatV2" in result.stderr
    assert listing(table) == before


def test_a_file_that_fails(table: Path) -> None:
    [first, *_] = sorted(table.glob("*.parquet"))
    first.write_bytes(b"no Parquet")
    result = run(table, "--columns", "id")
    assert result.exit_code == 3
    assert "2 of 3 files" in result.stdout
    assert first.name in result.stdout


def test_advise_writes_what_it_advises(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", num_files=2, rows=120_000)  # too many for dictionaries
    result = run("advise", table, "--write", "--fpp", "0.02")
    assert result.exit_code == 0, result.output
    properties = DeltaTable(os.fspath(table)).metadata().configuration
    assert properties["bloomify.columns"].split(", ") == asked_in(result.stderr)
    assert properties["bloomify.fpp"] == "0.02"
    assert "email" in properties["bloomify.columns"]
    assert versions(table) == [0, 1, 2]
    assert "say so already" in run("advise", table, "--write", "--fpp", "0.02").stderr
    assert versions(table) == [0, 1, 2]
    assert run(table).exit_code == 0
    assert DeltaTable(os.fspath(table)).to_pyarrow_table().num_rows == 240_000


def asked_in(text: str) -> list[str]:
    """Return the columns that the command says the table asks for."""
    return text.split("the table asks for ")[1].split(" from version", maxsplit=1)[0].split(", ")


def test_repair_says_what_to_do_instead(table: Path, tmp_path: Path) -> None:
    before = listing(table)
    result = run("repair", table)
    assert result.exit_code == 2
    assert "is a Delta table" in result.stderr
    assert "--replace" in result.stderr
    assert listing(table) == before
    assert run("repair", table, "-o", tmp_path / "new").exit_code == 0
    assert listing(table) == before
