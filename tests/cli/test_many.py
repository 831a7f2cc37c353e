"""Folders, patterns, several files: each on its own, and a summary of all."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter import strip
from parquet_bloomwriter.text import growth

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Invoke


PASSED_OVER = (
    "bloomify: passed over: 1 hidden (warehouse/_metadata.parquet); "
    "1 not Parquet (warehouse/notes.txt).\n"
)


@pytest.fixture
def warehouse(events: Path) -> Path:
    """Make a folder with two good files, one that is none, and two that nobody asks for."""
    folder = events.with_name("warehouse")
    (folder / "day=1").mkdir(parents=True)
    (folder / "day=2").mkdir()
    shutil.copy(events, folder / "day=1/a.parquet")
    shutil.copy(events, folder / "day=2/b.parquet")
    (folder / "day=2/bad.parquet").write_text("this is no Parquet file, but long enough to be one")
    (folder / "_metadata.parquet").write_text("hidden")
    (folder / "notes.txt").write_text("something else")
    events.unlink()
    return folder


@pytest.mark.parametrize("inputs", [["warehouse"], ["warehouse/**/[ab]*.parquet"]])
@pytest.mark.parametrize("jobs", ["1", "4"])
@pytest.mark.usefixtures("warehouse")
def test_one_bad_file_does_not_stop_the_others(
    invoke: Invoke,
    listing: Callable[[], dict[str, bytes]],
    inputs: list[str],
    jobs: str,
) -> None:
    before = listing()
    result = invoke(*inputs, "--all-columns", "--jobs", jobs)
    after = listing()
    assert result.exit_code == 3
    a, b = "warehouse/day=1/a.parquet", "warehouse/day=2/b.parquet"
    sizes = growth(len(before[a]), len(after[a]))
    assert result.stdout == (
        f"{a}: 3 filters added, {sizes}\n"
        f"{b}: 3 filters added, {sizes}\n"
        "\n"
        "column  row groups  NDV  bytes  bits/value  FPP asked  worst FPP\n"
        "id          4 of 4  400    832        15.4       0.01     0.0094\n"
        "email       2 of 4  200    288        10.2       0.01     0.0091\n"
        "active      0 of 4    -      -           -       0.01          -\n"
        "\n"
        "empty     email (2 row groups): no values, so no filter\n"
        "skipped   active (4 row groups): "
        "BOOLEAN columns get no filters: readers and writers disagree on them\n"
        "\n"
        "6 filters added; 1 of 3 files failed, see above.\n"
    )
    assert result.stderr == (
        'bloomify: warehouse/day=2/bad.parquet: byte 46: the last four bytes are not "PAR1". '
        "The file was left unchanged. Check that it is a Parquet file, and was copied whole.\n"
        + (PASSED_OVER if inputs == ["warehouse"] else "")
    )
    assert {name for name in after if after[name] != before.get(name)} == {a, b}
    assert strip(after[a]).data == before[a]


def test_all_files_failed(warehouse: Path, invoke: Invoke) -> None:
    before = {path: path.read_bytes() for path in warehouse.rglob("*.parquet")}
    result = invoke("warehouse", "--columns", "nothing")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines()[-1] == "bloomify: 3 of 3 files failed."
    assert {path: path.read_bytes() for path in warehouse.rglob("*.parquet")} == before
    shutil.copy(warehouse / "day=2/bad.parquet", "empty.parquet")
    first_is_bad = invoke("empty.parquet", "warehouse/day=1", "--columns", "nothing")
    assert first_is_bad.exit_code == 4


def test_all_files_done(warehouse: Path, invoke: Invoke) -> None:
    (warehouse / "day=2/bad.parquet").unlink()
    result = invoke("warehouse", "--columns", "id")
    assert (result.exit_code, result.stderr) == (0, PASSED_OVER)
    assert result.stdout.endswith("\n4 filters added; 2 files done.\n")
    assert invoke("strip", "warehouse").stdout.endswith("\n4 filters taken out; 2 files done.\n")


def test_failures_are_in_the_json(warehouse: Path, invoke: Invoke) -> None:
    result = invoke("warehouse", "--columns", "id", "--json", "-o", "new")
    document = json.loads(result.stdout)
    assert result.exit_code == 3
    assert result.stderr.endswith(PASSED_OVER)
    assert document["passed_over"] == [
        {"why": "hidden", "num_names": 1, "first": ["warehouse/_metadata.parquet"]},
        {"why": "not Parquet", "num_names": 1, "first": ["warehouse/notes.txt"]},
    ]
    assert [file["output"] for file in document["files"]] == [
        "new/day=1/a.parquet",
        "new/day=2/b.parquet",
    ]
    assert document["failed"] == [
        {
            "path": "warehouse/day=2/bad.parquet",
            "output": "new/day=2/bad.parquet",
            "error": "NotParquet",
            "message": result.stderr.splitlines()[0].removeprefix("bloomify: "),
            "exit_code": 4,
            "problem": 'the last four bytes are not "PAR1"',
            "row_group": None,
            "column": None,
            "byte": 46,
            "remedy": "Check that it is a Parquet file, and was copied whole.",
        }
    ]
    assert warehouse.is_dir()


@pytest.mark.parametrize("given", ["warehouse/day=1", "warehouse/day=1/*"])
def test_a_folder_of_one_file_goes_to_a_folder(warehouse: Path, invoke: Invoke, given: str) -> None:
    assert invoke(given, "--columns", "id", "-o", "new").exit_code == 0
    assert [path.name for path in warehouse.with_name("new").iterdir()] == ["a.parquet"]


def test_a_file_named_twice_is_worked_on_once(warehouse: Path, invoke: Invoke) -> None:
    a = str(warehouse / "day=1/a.parquet")
    result = invoke(a, "warehouse/day=1", "warehouse/day=1/a.parquet", "--columns", "id")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.endswith("\n2 filters added; 1 file done.\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["empty"],
            (
                'there are no Parquet files in the folder "empty". '
                "Name another folder, or the files."
            ),
        ),
        (["*.orc"], 'no file matches "*.orc". To look into the folders below, write "**/*.orc".'),
        (
            ["warehouse", "-o", "file.txt"],
            '"file.txt" is a file, but there are 3 inputs. Name a folder.',
        ),
        (
            ["warehouse/day=1/a.parquet", "other/a.parquet", "-o", "new"],
            (
                'several inputs would be written to "new/a.parquet". '
                "Name one folder as the input, or write to several folders."
            ),
        ),
    ],
)
def test_inputs_that_cannot_be(
    warehouse: Path, invoke: Invoke, arguments: list[str], message: str
) -> None:
    for name in ("empty", "other"):
        warehouse.with_name(name).mkdir()
    warehouse.with_name("file.txt").write_text("precious")
    shutil.copy(warehouse / "day=1/a.parquet", "other/a.parquet")
    result = invoke(*arguments, "--columns", "id")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"bloomify: {message}\n"
    assert warehouse.with_name("file.txt").read_text() == "precious"


def test_a_bug_in_one_file_does_not_stop_the_others(
    warehouse: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: str, *_: object, **__: object) -> None:
        if "bad" not in path:
            raise FileNotFoundError(2, "No such file or directory", path)
        raise RuntimeError("unthought of")

    monkeypatch.setattr("parquet_bloomwriter.strip", fail)
    result = invoke("strip", str(warehouse / "day=2/bad.parquet"), str(warehouse))
    assert result.exit_code == 70
    assert result.stderr.splitlines()[0] == (
        f"bloomify: {warehouse}/day=2/bad.parquet: RuntimeError: unthought of. "
        "The file was left unchanged. This is a bug; BLOOMIFY_DEBUG=1 shows where."
    )
    assert result.stderr.splitlines()[-1] == "bloomify: 3 of 3 files failed."
