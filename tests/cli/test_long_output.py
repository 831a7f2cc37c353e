"""Output that fits: runs over many files, lists, lines, and JSON in lines."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bloomify.console import table as drawn
from bloomify.console.console import LONGEST_LINE, Console
from parquet_bloomwriter import clear_cache, inspect
from parquet_bloomwriter.column_names import patterns_for

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Invoke

NUM_FILES = 30


@pytest.fixture(autouse=True)
def _short_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawn, "LONGEST_LINE", LONGEST_LINE)


@pytest.fixture
def lake(events: Path) -> Path:
    """Make a folder of 30 equal files."""
    folder = events.with_name("lake")
    folder.mkdir()
    for number in range(NUM_FILES):
        shutil.copy(events, folder / f"{number:02d}.parquet")
    return folder


@pytest.fixture
def wide(folder: Path) -> Path:
    """Write wide.parquet: 100 columns that deserve filters, 30 that are sorted."""
    ids = [number * 7_919 % 100_003 for number in range(2_000)]
    columns = {f"attr_{at:03d}": [(one + at) ** 2 % 100_003 for one in ids] for at in range(100)}
    columns |= {f"sorted_{at}": sorted(ids) for at in range(30)}
    path = folder / "wide.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=200, use_dictionary=False)
    return path


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_run_names_what_it_changed_and_counts_the_rest(lake: Path, invoke: Invoke) -> None:
    first = invoke("lake", "--columns", "id").stdout
    assert first.count(": 2 filters added, ") == NUM_FILES
    for verb, nothing in (
        (["add", "--columns", "id"], "no filter to add"),
        (["strip", "--columns", "email"], "there is no filter to take out"),
        (["repair"], "no length of a filter is missing"),
    ):
        shown = invoke(verb[0], "lake", *verb[1:]).stdout
        assert f"{NUM_FILES} files: {nothing}; --verbose names them\n" in shown
        assert shown.count(".parquet") == 0
        assert (
            invoke(verb[0], "lake", *verb[1:], "--verbose").stdout.count(".parquet: ") == NUM_FILES
        )
    shutil.copy(lake.with_name("events.parquet"), lake / "00.parquet")
    (lake / "bad.parquet").write_text("this is no Parquet file, but long enough to be one")
    result = invoke("lake", "--columns", "id")
    assert result.exit_code == 3
    assert [line for line in result.stdout.splitlines() if ".parquet" in line] == [
        line for line in first.splitlines() if line.startswith("lake/00.parquet")
    ]
    assert "lake/bad.parquet: " in result.stderr
    assert "1 of 31 files failed" in result.stdout


def test_commands_that_read_name_some_files_and_all_that_are_faulty(
    lake: Path, invoke: Invoke
) -> None:
    invoke("lake", "--columns", "id", "--quiet")
    data = bytearray((lake / "29.parquet").read_bytes())
    one = inspect(lake / "29.parquet").filters[0]
    assert one.length is not None
    assert one.num_bytes is not None
    data[one.offset + one.length - one.num_bytes : one.offset + one.length] = bytes(one.num_bytes)
    (lake / "29.parquet").write_bytes(data)
    for verb, named in (("inspect", 20), ("verify", 21)):
        shown = invoke(verb, "lake").stdout
        assert sum(line.startswith("lake/") for line in shown.splitlines()) == named
        assert f"... and {NUM_FILES - named} more files; --verbose names them\n" in shown
        assert invoke(verb, "lake", "--verbose").stdout.count("\nlake/") >= NUM_FILES - 1


def test_json_in_lines(lake: Path, invoke: Invoke) -> None:
    (lake / "05.parquet").write_text("this is no Parquet file, but long enough to be one")
    for words in (
        ["add", "--columns", "id"],
        ["inspect"],
        ["verify"],
        ["advise"],
        ["probe", "--where", "id = 3"],
        ["repair"],
        ["strip"],
    ):
        words.insert(1, "lake")
        whole = json.loads(invoke(*words, "--json", *DRY.get(words[0], [])).stdout)
        clear_cache()
        result = invoke(*words, "--jsonl", *DRY.get(words[0], []))
        *files, run = lines_of(result.stdout)
        assert result.exit_code == 3
        assert (run.pop("kind"), run["version"], run["command"]) == ("run", 1, words[0])
        for kind, name in (("file", "files"), ("failed", "failed")):
            of_kind = [line for line in files if line["kind"] == kind]
            assert [{"kind": kind} | one for one in whole.pop(name)] == of_kind
        assert (run.pop("num_done"), run.pop("num_failed")) == (NUM_FILES - 1, 1)
        assert run | {"seconds": 0} == whole | {"seconds": 0}


DRY = {verb: ["--dry-run"] for verb in ("add", "strip", "repair")}


def test_a_line_is_printed_as_soon_as_its_file_is_done(
    lake: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    look, result = inspect, Console.result

    def looked(*arguments: object) -> object:
        events.append("read")
        return look(*arguments)  # type: ignore[arg-type]

    def printed(console: Console, text: str) -> None:
        events.append(json.loads(text)["kind"])
        result(console, text)

    monkeypatch.setattr("parquet_bloomwriter.verbs.inspect.inspect", looked)
    monkeypatch.setattr(Console, "result", printed)
    assert invoke("inspect", str(lake), "--jsonl", "--jobs", "1").exit_code == 0
    assert events == ["read", "file"] * NUM_FILES + ["run"]


def test_json_in_lines_of_inputs_that_are_missing(events: Path, invoke: Invoke) -> None:
    result = invoke(events.name, "none.parquet", "--columns", "id", "--jsonl")
    failed, run = lines_of(result.stdout)
    assert (failed["kind"], failed["path"], failed["exit_code"]) == ("failed", "none.parquet", 2)
    assert (run["kind"], run["num_failed"]) == ("run", 1)
    assert invoke("probe", ".", "--eq", "id=1", "--files", "--jsonl").exit_code == 2


def test_advice_on_many_columns_fits_a_screen_and_proposes_a_pattern(
    wide: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawn, "LONGEST_LINE", 80)
    result = invoke("advise", wide.name)
    lines = result.stdout.splitlines()
    assert lines[-1] == "bloomify wide.parquet --columns 'attr_*'"
    assert "... and 110 more columns; --verbose lists them" in lines
    assert any("(and 29 columns like it): sorted" in line for line in lines)
    assert len(lines) <= 40
    assert [line for line in lines if len(line) > 80] == []
    every = invoke("advise", wide.name, "--verbose").stdout
    assert all(f"\nattr_{at:03d} " in every for at in range(100))
    some = ",".join(f"attr_{at:03d}" for at in range(30))
    of_some = invoke("advise", wide.name, "--columns", some).stdout.splitlines()[-1]
    assert set(of_some.rpartition(" ")[2].split(",")) == set(some.split(","))
    shell_command = json.loads(invoke("advise", wide.name, "--json").stdout)["shell_command"]
    assert invoke(*shell_command.replace("'", "").split()[1:]).exit_code == 0
    kept = {one.name for one in inspect(wide).columns}
    assert kept == {f"attr_{at:03d}" for at in range(100)}


def test_all_columns_are_proposed_if_all_deserve_filters(wide: Path, invoke: Invoke) -> None:
    table = pq.read_table(wide)
    chosen = [name for name in table.column_names if name.startswith("attr")][:30]
    pq.write_table(table.select(chosen), wide, row_group_size=200, use_dictionary=False)
    invoke(wide.name, "--columns", chosen[0], "--quiet")
    assert invoke("advise", wide.name).stdout.endswith("\nbloomify wide.parquet --all-columns\n")


def test_long_tables_are_cut_and_plans_are_not(wide: Path, invoke: Invoke) -> None:
    words = (wide.name, "--all-columns", "--dry-run")
    for option, listed in (((), 20), (("--verbose",), 130)):
        shown = invoke(*words, *option).stdout
        assert len(re.findall(r"^(?:attr|sorted)_\d+  ", shown, re.MULTILINE)) == listed
        assert ("... and 110 more columns; --verbose lists them" in shown) is (listed == 20)
    assert invoke(*words, "--plan").stdout.count("\nfilter ") > 100
    choice = invoke(wide.name)
    assert choice.exit_code == 2
    assert "\n  ... and 110 more columns; --verbose lists them\n" in choice.stderr
    assert invoke(wide.name, "--verbose").stderr.count("  INT64\n") == 130


@pytest.mark.usefixtures("lake")
def test_answers_of_many_files_are_cut(invoke: Invoke) -> None:
    assert invoke("index", "create", "lake", "--columns", "id", "--name", "ids").exit_code == 0
    for words in (["probe", "lake"], ["index", "lookup", "lake"]):
        shown = invoke(*words, "--eq", "id=3").stdout
        assert shown.count(".parquet") == 20
        assert "... and 10 more files; --files lists them\n" in shown
        assert invoke(*words, "--eq", "id=3", "--files").stdout.count(".parquet\n") == NUM_FILES


@pytest.mark.usefixtures("lake")
def test_no_line_is_longer_than_100_columns(wide: Path, invoke: Invoke) -> None:
    """But for commands and paths, which are there to be copied."""
    names = "--columns", "attr_001,sorted_1"
    for words in (
        ["advise", wide.name],
        ["advise", "lake"],
        [wide.name, *names],
        [wide.name, *names, "--fpp", "0.5"],
        ["lake", "--all-columns"],
        ["inspect", wide.name],
        ["inspect", "lake", "--row-groups"],
        ["verify", "lake"],
        ["probe", wide.name, "--where", "attr_001 = 1 AND sorted_1 = 2 AND attr_002 > 'a'"],
        ["probe", "lake", "--where", "id = 5 OR email = 'x'"],
        ["strip", "lake", "--dry-run", "--plan"],
        ["index", "create", "lake", "--columns", "id,email", "--name", "ids"],
        ["index", "show", "lake", "--name", "ids"],
        ["index", "explain", "lake", "--where", "id = 5 AND active = true AND email > 'a'"],
        ["index", "lookup", "lake", "--where", "id = 5"],
    ):
        for line in invoke(*words).stdout.splitlines():
            assert len(line) <= 100 or re.search(r"bloomify |\S{60}", line), (words, line)


def test_a_command_in_a_remark_is_in_one_line() -> None:
    command = "bloomify index refresh " + "a/" * 40 + " --name ids"
    shown = drawn.labelled("changes", f"1 new file, 6 bytes: {command}", columns=None)
    assert shown.splitlines() == ["changes   1 new file, 6 bytes:", f"          {command}"]


def test_patterns_match_the_names_and_no_others() -> None:
    names = ["user_id", "order_id", "item_id", "at", "x1", "x2", "x3", "x10"]
    assert patterns_for(names, ["kind"]) == ("x*", "*_id", "at")
    assert patterns_for(names, ["xyz", "void_id"]) == tuple(names)
    assert patterns_for(["a*1", "a*2", "a*3"], []) == ("a*1", "a*2", "a*3")
