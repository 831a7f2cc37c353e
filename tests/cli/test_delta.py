"""The commands that read, on Delta tables: the files of a version, by the table's names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from parquet_bloomwriter import BloomFile, bloomify, find_files, inspect, probe, read_table, verify
from parquet_bloomwriter.errors import ColumnNotFound, InvalidArgument
from tests.support.delta_files import Writer, column

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Invoke

FIELDS = [column("id", "long", 1), column("late", "string", 2), column("kind", "string", 3)]


@pytest.fixture
def table(folder: Path) -> Path:
    """A table with mapped columns: version 0 has one file, version 1 two more and a stray one."""
    writer = Writer(folder / "shop", FIELDS, ["kind"], "name")
    first = writer.add(pa.table({"id": range(0, 800, 2)}), partition={"kind": "a"})
    bloomify(first, ["col-1"], force=True)
    writer.commit()
    second = pa.table({"id": range(1000, 1800, 2), "late": ["x"] * 400})
    for kind in ("a", "b"):
        writer.add(second, partition={"kind": kind}, deleted=range(10), folder=f"kind={kind}/")
    root = writer.commit()
    (root / "stray.parquet").write_bytes(b"in no version")
    return root


@pytest.mark.usefixtures("table")
def test_inspect_shows_the_files_of_a_version(invoke: Invoke) -> None:
    shown = invoke("inspect", "shop")
    assert (shown.exit_code, shown.stderr) == (0, "")
    first, *rest = shown.stdout.splitlines()
    assert first == "shop: version 1 of a Delta table, 3 files"
    assert [line.split(":")[0] for line in rest[:3]] == [
        "shop/part-00001.parquet",
        "shop/kind=a/part-00002.parquet",
        "shop/kind=b/part-00003.parquet",
    ]
    assert any(line.split()[:2] == ["id", "1"] for line in rest)
    assert "col-1" not in shown.stdout
    assert "stray" not in shown.stdout

    found = json.loads(invoke("inspect", "shop", "--version", "0", "--json").stdout)
    assert found["tables"] == [{"path": "shop", "version": 0, "num_files": 1}]
    assert [one["path"] for one in found["files"]] == ["shop/part-00001.parquet"]
    assert [one["name"] for one in found["files"][0]["columns"]] == ["id"]


@pytest.mark.usefixtures("table")
def test_columns_are_those_of_the_table(invoke: Invoke) -> None:
    found = json.loads(invoke("inspect", "shop", "--columns", "late", "--json").stdout)
    names = [[one["name"] for one in file["columns"]] for file in found["files"]]
    assert names == [[], ["late"], ["late"]]
    refused = invoke("inspect", "shop", "--columns", "col-1")
    assert refused.exit_code != 0
    assert 'there is no column "col-1"' in refused.stderr
    refused = invoke("advise", "shop", "--columns", "kind")
    assert "is a partition column" in refused.stderr


@pytest.mark.usefixtures("table")
def test_verify_and_advise(invoke: Invoke) -> None:
    checked = json.loads(invoke("verify", "shop", "--json").stdout)
    assert [len(one["checks"]) for one in checked["files"]] == [1, 0, 0]
    assert checked["files"][0]["checks"][0]["column"] == "id"
    advice = invoke("advise", "shop")
    assert advice.stdout.splitlines()[0] == "shop: version 1 of a Delta table, 3 files"
    assert advice.exit_code == 0


@pytest.mark.usefixtures("table")
def test_probe_prunes_by_the_log_by_filters_and_by_what_files_lack(invoke: Invoke) -> None:
    absent = invoke("probe", "shop", "--where", "id = 401")
    assert absent.exit_code == 1
    asked = json.loads(invoke("probe", "shop", "--where", "id = 1002", "--json").stdout)
    assert [one["verdict"] for one in asked["files"]] == ["CANNOT_MATCH"] + ["MIGHT_MATCH"] * 2
    assert asked["files"][1]["row_groups"][0]["checks"][0]["column"] == "id"

    late = invoke("probe", "shop", "--where", "late = 'x'", "--files")
    assert [line.split("/")[1] for line in late.stdout.splitlines()] == ["kind=a", "kind=b"]
    kind = json.loads(invoke("probe", "shop", "--where", "kind = 'b'", "--json").stdout)
    for name in ("excluded_by_path", "is_excluded"):
        assert [one[name] for one in kind["files"]] == [True, True, False]
    text = invoke("probe", "shop", "--where", "kind = 'b' AND id > 5").stdout
    assert text.startswith("shop: version 1 of a Delta table, 3 files\n")
    assert "2 files excluded by their partitions" in text


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("condition", ['"col-1" = 2', "nothing = 2"])
def test_probe_knows_no_other_names(invoke: Invoke, condition: str) -> None:
    shown = invoke("probe", "shop", "--where", condition)
    assert shown.exit_code not in (0, 1)
    assert "there is no column" in shown.stderr


@pytest.mark.usefixtures("table")
def test_versions_that_are_not_there(invoke: Invoke) -> None:
    for command in (["inspect"], ["verify"], ["advise"], ["probe", "--where", "id = 1"]):
        shown = invoke(*command, "shop", "--version", "7")
        assert shown.exit_code == 2, shown.stderr
        assert "7" in shown.stderr
        shown = invoke(*command, "shop/part-00001.parquet", "--version", "0")
        assert shown.exit_code == 2, shown.stderr
        assert "is no table, so it has no versions" in shown.stderr


def test_the_library_takes_tables(table: Path) -> None:
    assert read_table(table, version=0).num_rows == 400
    assert read_table(table, filters="id >= 1000").num_rows == 780
    assert read_table(table, columns="kind", filters="id = 1798").to_pylist() == [
        {"kind": "a"},
        {"kind": "b"},
    ]
    assert len(probe(table, "id = 1798").might_match) == 2
    assert len(probe(table, "id = 1798", version=0).might_match) == 0
    first, *_ = find_files(table)
    assert inspect(first).columns[0].name == "id"
    assert verify(first, ["id"]).checks[0].column == "id"
    with BloomFile(first) as file:
        assert file.columns == ("id",)
        assert not file.might_contain("id", 401)
    for version, given in ((0, b"bytes"), (0, table / "part-00001.parquet")):
        with pytest.raises(InvalidArgument, match="no table"):
            probe(given, "id = 1", version=version)
    with pytest.raises(InvalidArgument, match="partitioning has no meaning"):
        read_table(table, partitioning=None)
    with pytest.raises(InvalidArgument, match="schema has no meaning"):
        read_table(table, schema=pa.schema([]))
    with pytest.raises(ColumnNotFound, match="col-1"):
        read_table(table, columns=["col-1"])


def test_a_folder_and_a_file_inside_a_table_are_as_any_others(table: Path, invoke: Invoke) -> None:
    shown = invoke("probe", f"{table}/kind=a", "--where", '"col-1" = 1002')
    assert shown.exit_code == 0
    assert "Delta" not in shown.stdout
    assert inspect(table / "part-00001.parquet").columns[0].name == "col-1"


def test_a_table_without_files(folder: Path, invoke: Invoke) -> None:
    root = Writer(folder / "none", FIELDS, ["kind"]).commit()
    assert read_table(root, filters="id = 1 AND kind = 'a'").column_names == ["id", "late", "kind"]
    shown = invoke("inspect", "none")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout.startswith("none: version 0 of a Delta table, 0 files\n")
    shown = invoke("probe", "none", "--where", "id = 1")
    assert (shown.exit_code, shown.stderr) == (1, "")
    assert shown.stdout == "none: version 0 of a Delta table, 0 files\n"
