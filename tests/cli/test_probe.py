"""`bloomify probe`: verdicts, paths for pipes, and codes like those of grep."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import strip
from parquet_bloomwriter.text import row_groups
from parquet_bloomwriter.verbs.probe import probe

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Command, Invoke

ABSENT = "id = 401"
"""Between the smallest and the largest id, and in no row group."""

PRESENT = "id = 400"
"""In one row group."""


def found(result: object) -> tuple[int, str, str]:
    return result.exit_code, result.stdout, result.stderr  # type: ignore[attr-defined]


def test_a_column_without_filters_is_named_with_the_command_that_judges_it(
    orders: Path, invoke: Invoke
) -> None:
    plain = strip(orders.read_bytes()).data or b""
    (orders.parent / "plain file.parquet").write_bytes(plain)
    shown = invoke("probe", "plain file.parquet", "--where", ABSENT).stdout
    assert "why       id has no Bloom filter here" in shown
    assert shown.count("MIGHT_MATCH  -") == 4
    words = "bloomify advise 'plain file.parquet' --columns id"
    assert f"next      to see whether a filter would help, type: {words}\n" in shown
    advice = invoke(*shlex.split(words)[1:]).stdout.splitlines()[-1]
    assert advice == "bloomify 'plain file.parquet' --columns id"
    assert invoke(*shlex.split(advice)[1:]).exit_code == 0
    assert invoke("probe", "plain file.parquet", "--where", ABSENT).exit_code == 1


def test_why_ranges_exclude_nothing(orders: Path, invoke: Invoke) -> None:
    shown = invoke("probe", orders.name, "--where", "id > 5").stdout
    assert "why       filters answer = and IN; here only minimum and maximum were asked" in shown


@pytest.mark.parametrize(
    ("condition", "remedy"),
    [
        ("email = 42", "write text in single quotes, as in '42'"),
        ("id = 'abc'", "write a number without quotes, as in 42"),
    ],
)
@pytest.mark.usefixtures("orders")
def test_literals_of_another_type(condition: str, remedy: str, invoke: Invoke) -> None:
    shown = invoke("probe", "orders.parquet", "--where", condition).stdout
    assert f": {remedy}\n" in shown
    assert "next " not in shown


@pytest.mark.usefixtures("orders")
def test_nothing_can_match(invoke: Invoke) -> None:
    code, shown, errors = found(invoke("probe", "orders.parquet", "--where", ABSENT))
    assert (code, errors) == (1, "")
    headline, picture, listing, totals = shown.split("\n\n")
    assert headline == "orders.parquet: none of 4 row groups can match id = 401"
    assert picture == "▒▒▒▒   █ might match  ▒ cannot match"
    rows = [line.split() for line in listing.splitlines()[1:]]
    assert [row[:4] for row in rows] == [[str(i), "CANNOT_MATCH", "bloom", "100"] for i in range(4)]
    assert totals.startswith("100 % of ")
    assert "; 4 filters looked into, " in totals


def test_something_might_match(orders: Path, invoke: Invoke) -> None:
    surviving = probe(orders, PRESENT).files[0].surviving
    assert len(surviving) == 1
    code, shown, _ = found(invoke("probe", "orders.parquet", "--where", PRESENT))
    assert code == 0
    headline, picture, listing, _ = shown.split("\n\n")
    assert headline == "orders.parquet: 1 of 4 row groups might match id = 400"
    assert picture[:4] == "▒" * surviving[0] + "█" + "▒" * (3 - surviving[0])
    verdicts = [line.split()[1] for line in listing.splitlines()[1:]]
    assert [i for i, verdict in enumerate(verdicts) if verdict == "MIGHT_MATCH"] == [*surviving]


def test_what_excludes_a_row_group_and_what_says_nothing(orders: Path, invoke: Invoke) -> None:
    where = "id = 401 AND email = 'user400@mail.example'"
    shown = invoke("probe", "orders.parquet", "--where", where).stdout
    (home,) = probe(orders, PRESENT).files[0].surviving
    others = [one for one in range(4) if one != home]
    assert "why " not in shown
    assert [line for line in shown.splitlines() if line.startswith("excluded ")] == [
        f"excluded  {row_groups(others)} by id = 401; email = 'user400@mail.example'",
        f"excluded  row group {home} by id = 401",
    ]
    shown = invoke("probe", "orders.parquet", "--where", "id = 401 AND id > 0").stdout
    assert "excluded  all row groups by id = 401\n" in shown
    shown = invoke("probe", "orders.parquet", "--where", "lower(email) = 'a'").stdout
    (reason,) = [line for line in shown.splitlines() if line.startswith("why ")]
    assert reason == (
        "why       filters answer = and IN, statistics also <, > and BETWEEN, of a column and "
        "values; LIKE and functions exclude nothing"
    )


@pytest.mark.usefixtures("orders")
def test_all_conditions_must_hold(invoke: Invoke) -> None:
    both = invoke("probe", "orders.parquet", "--where", PRESENT, "--where", "id > 1000")
    assert both.exit_code == 1
    assert "id = 400 AND id > 1000" in both.stdout
    mixed = invoke("probe", "orders.parquet", "--where", PRESENT, "--eq", "email=a")
    assert mixed.exit_code == 1
    assert "id = 400 AND email = 'a'" in mixed.stdout


def test_eq_takes_any_characters_as_they_are(folder: Path, invoke: Invoke) -> None:
    names = ["O'Brien", 'say "x" OR 1 = 1', "a=b", ""]
    for name in names:
        pq.write_table(pa.table({"name": [name]}), folder / "names.parquet")
        assert invoke("probe", "names.parquet", "--eq", f"name={name}").exit_code == 0
        assert invoke("probe", "names.parquet", "--eq", f"name={name}x").exit_code == 1


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize("given", ["--eq=id", "--eq==5"])
def test_eq_needs_a_column_and_a_value(invoke: Invoke, given: str) -> None:
    code, shown, errors = found(invoke("probe", "orders.parquet", given))
    assert (code, shown) == (2, "")
    assert "give a column and a value, as in id=42" in errors


def test_of_many_files_those_are_shown_that_might_match(shop: Path, invoke: Invoke) -> None:
    (shop / "text.parquet").unlink()
    code, shown, errors = found(invoke("probe", ".", "--where", ABSENT))
    assert (code, errors) == (0, "")
    headline, listing, why, totals = shown.split("\n\n")
    assert why == "why       id = 401: id has no Bloom filter here (1 file)"
    assert headline == "1 of 2 files might match id = 401"
    assert [line.split()[0] for line in listing.splitlines()] == ["file", "./plain.parquet"]
    report = probe(shop, ABSENT)
    assert totals.startswith(f"{report.num_surviving} of 8 row groups might match; ")
    code, shown, _ = found(invoke("probe", ".", "--where", "id = 5000"))
    assert code == 1
    assert shown.startswith("none of 2 files can match id = 5000\n\n0 of 8 row groups might match")


def test_of_many_files_each_reason_is_told_once(folder: Path, invoke: Invoke) -> None:
    zoned = pa.table({"t": pa.array([1, 2], pa.timestamp("us", "UTC")), "id": [1, 2]})
    for name in ("a", "b", "c"):
        pq.write_table(zoned, folder / f"{name}.parquet", row_group_size=1)
    pq.write_table(pa.table({"id": [1]}), folder / "d.parquet")

    shown = invoke("probe", ".", "--where", "t = '2024-01-01' AND id > 0").stdout

    no_zone = (
        "the literal has no time zone, and the column's values are points in time: write it with a "
        "zone, as in '2026-01-31 12:30:00Z'"
    )
    assert [line for line in shown.splitlines() if line.startswith("why")] == [
        f"why       t = '2024-01-01': {no_zone} (3 files)",
        "why       t = '2024-01-01': there is no such column (1 file)",
    ]


def test_folders_of_partitions_are_left_out(folder: Path, invoke: Invoke) -> None:
    for year in (2022, 2023):
        (folder / f"year={year}").mkdir()
        pq.write_table(pa.table({"id": [1]}), folder / f"year={year}" / "x.parquet")

    result = invoke("probe", ".", "--where", "year = 2023", "--files")
    assert (result.exit_code, result.stdout) == (0, "./year=2023/x.parquet\n")
    code, shown, _ = found(invoke("probe", ".", "--where", "year = 1999"))
    assert code == 1
    assert "2 files excluded by their paths, and not opened; " in shown
    totals = json.loads(invoke("probe", ".", "--where", "year = 2022", "--json").stdout)
    assert totals["num_excluded"] == 1
    assert [one["is_excluded"] for one in totals["files"]] == [False, True]


@pytest.mark.usefixtures("orders")
def test_strings_in_double_quotes_get_a_hint(invoke: Invoke) -> None:
    code, shown, errors = found(invoke("probe", "orders.parquet", "--where", 'email = "ada"'))
    assert (code, shown) == (2, "")
    assert errors.startswith(
        "bloomify: there is no column \"ada\". Strings take single quotes: 'ada'"
    )


@pytest.mark.usefixtures("shop")
def test_files_that_cannot_be_read_might_match(invoke: Invoke) -> None:
    code, shown, errors = found(invoke("probe", ".", "--where", "id = 5000"))
    assert code == 3
    assert errors == (
        'bloomify: ./text.parquet: byte 36: the last four bytes are not "PAR1". '
        "Check that it is a Parquet file, and was copied whole. It might match.\n"
    )
    assert [line.split() for line in shown.splitlines() if "text.parquet" in line] == [
        ["./text.parquet", "unread", "-", "-"]
    ]
    listed = invoke("probe", ".", "--where", "id = 5000", "--files")
    assert (listed.exit_code, listed.stdout) == (3, "./text.parquet\n")


@pytest.mark.usefixtures("folder")
def test_if_all_files_fail_the_code_is_that_of_the_first(folder: Path, invoke: Invoke) -> None:
    (folder / "text.parquet").write_text("this is no Parquet file, but long enough")
    shutil.copy(folder / "text.parquet", folder / "more.parquet")
    result = invoke("probe", "text.parquet", "more.parquet", "--where", "id = 1")
    assert (result.exit_code, result.stdout) == (4, "")
    result = invoke("probe", "none.parquet", "text.parquet", "--where", "id = 1", "--files")
    assert (result.exit_code, result.stdout) == (2, "none.parquet\ntext.parquet\n")


@pytest.mark.usefixtures("folder")
def test_a_single_file_that_is_not_there(invoke: Invoke) -> None:
    message = "bloomify: none.parquet: there is no such file. Check the name.\n"
    assert found(invoke("probe", "none.parquet", "--where", "id = 1")) == (2, "", message)


@pytest.mark.usefixtures("shop")
def test_paths_for_pipes(shop: Path, invoke: Invoke) -> None:
    (shop / "text.parquet").unlink()
    lines = invoke("probe", ".", "--where", PRESENT, "--files")
    assert found(lines) == (0, "./orders.parquet\n./plain.parquet\n", "")
    zeros = invoke("probe", ".", "--where", PRESENT, "--files", "-0")
    assert zeros.stdout == "./orders.parquet\0./plain.parquet\0"
    assert found(invoke("probe", ".", "--where", "id = 5000", "--files")) == (1, "", "")


def test_paths_are_spelled_as_the_system_spells_them(orders: Path, invoke: Invoke) -> None:
    raw = b"not UTF-8 \xff\n\x1b[31m.parquet"
    orders.rename(os.fsdecode(raw))
    assert (
        invoke("probe", ".", "--where", PRESENT, "--files", "-0").stdout_bytes
        == b"./" + raw + b"\0"
    )
    shown = invoke("probe", ".", "--where", PRESENT).stdout
    assert "./not UTF-8 \\udcff\\n\\x1b[31m.parquet" in shown


def test_in_a_real_pipe(shop: Path) -> None:
    (shop / "text.parquet").unlink()
    (shop / "plain.parquet").rename(shop / "two\nlines.parquet")
    command = f'"{sys.executable}" -m bloomify probe . --where "{PRESENT}" --files -0'
    pipe = f"{command} | xargs -0 -n 1 wc -c | wc -l"
    result = subprocess.run(["/bin/sh", "-c", pipe], check=True, capture_output=True)
    assert (result.stdout.strip(), result.stderr) == (b"2", b"")


@pytest.mark.usefixtures("orders")
def test_quiet_tells_by_the_code_alone(invoke: Invoke) -> None:
    assert found(invoke("probe", "orders.parquet", "--where", PRESENT, "--quiet")) == (0, "", "")
    assert found(invoke("probe", "orders.parquet", "--where", ABSENT, "--quiet")) == (1, "", "")


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--where", "id = = 5"], "the condition cannot be parsed, at character 6"),
        (["--where", "idd = 5"], 'there is no column "idd". Did you mean id?'),
        (["--where", "x = 5"], 'there is no column "x". The columns are: id, email.'),
        (["--where", ""], "no condition is given"),
        (["--where", PRESENT, "--null"], "--null goes with --files"),
        (["--where", PRESENT, "--files", "--json"], "--files and --json exclude each other"),
        (["nothing*.parquet", "--where", PRESENT], 'no file matches "nothing*.parquet"'),
    ],
)
def test_what_cannot_be_asked(invoke: Invoke, arguments: list[str], message: str) -> None:
    code, shown, errors = found(invoke("probe", "orders.parquet", *arguments))
    assert (code, shown) == (2, "")
    assert errors.startswith("bloomify: ")
    assert errors.count("\n") == 1
    assert message in errors


@pytest.mark.usefixtures("folder")
def test_sql_is_looked_at_before_any_file(invoke: Invoke) -> None:
    code, _, errors = found(invoke("probe", "none.parquet", "--where", "id ="))
    assert code == 2
    assert "none.parquet" not in errors


@pytest.mark.usefixtures("orders")
def test_without_a_condition_there_is_a_choice(invoke: Invoke) -> None:
    code, shown, errors = found(invoke("probe", "orders.parquet"))
    assert (code, shown) == (2, "")
    assert errors == (
        "bloomify: say what to look for with --where or --eq.\n"
        "The columns of orders.parquet:\n\n"
        "  id     INT64\n"
        "  email  STRING\n\n"
        'For example: bloomify probe orders.parquet --where "id = 42"\n'
    )
    assert found(invoke("probe", "none.parquet")) == (
        2,
        "",
        "bloomify: none.parquet: there is no such file. Check the name.\n",
    )


@pytest.mark.parametrize("name", ["User Name", "select", 'a"b', "$x"])
def test_the_example_can_be_run(folder: Path, invoke: Invoke, name: str) -> None:
    pq.write_table(pa.table({name: ["value"]}), folder / "a b.parquet")
    example = invoke("probe", "a b.parquet").stderr.rpartition("For example: ")[2]
    words = ["/bin/sh", "-c", f"printf '%s\\0' {example}"]  # as a shell splits it
    program, *arguments = subprocess.check_output(words, text=True).split("\0")[:-1]
    assert (program, found(invoke(*arguments))[::2]) == ("bloomify", (0, ""))


@pytest.mark.usefixtures("shop")
def test_the_json_is_the_report(shop: Path, invoke: Invoke) -> None:
    where = "id = 401 AND email = 'a'"
    result = invoke("probe", "orders.parquet", "text.parquet", "--where", where, "--json")
    assert result.exit_code == 3
    document = json.loads(result.stdout)
    report = probe([shop / "orders.parquet"], where)
    (file,) = report.files
    totals = ("predicate", "num_row_groups", "num_surviving", "num_skipped_bytes", "num_filters")
    assert {name: document[name] for name in totals} == {
        name: getattr(report, name) for name in totals
    }
    assert (document["command"], document["verdict"]) == ("probe", "MIGHT_MATCH")
    (found_file,) = document["files"]
    assert found_file["path"] == "orders.parquet"
    assert found_file["verdict"] == file.verdict == "CANNOT_MATCH"
    assert found_file["surviving"] == list(file.surviving)
    for shown, one in zip(found_file["row_groups"], file.row_groups, strict=True):
        assert shown["num_rows"] == one.num_rows
        assert shown["num_bytes"] == one.num_bytes
        assert (shown["verdict"], shown["evidence"]) == (one.verdict, one.evidence)
        assert [check["text"] for check in shown["checks"]] == ["id = 401", "email = 'a'"]
    (failed,) = document["failed"]
    assert (failed["path"], failed["error"], failed["exit_code"]) == (
        "text.parquet",
        "NotParquet",
        4,
    )


def test_row_groups_are_listed_up_to_a_limit(folder: Path, invoke: Invoke) -> None:
    pq.write_table(pa.table({"id": range(60)}), folder / "many.parquet", row_group_size=1)
    brief = invoke("probe", "many.parquet", "--where", "id >= 58").stdout
    assert [line.split()[:2] for line in brief.splitlines() if "_MATCH" in line] == [
        ["58", "MIGHT_MATCH"],
        ["59", "MIGHT_MATCH"],
    ]
    assert "... and 58 row groups more; --row-groups lists them" in brief
    assert "▒" * 48 + "██   " in brief
    full = invoke("probe", "many.parquet", "--where", "id >= 58", "--row-groups").stdout
    assert full.count("_MATCH") == 60


@pytest.mark.usefixtures("shop")
def test_row_groups_of_many_files(invoke: Invoke) -> None:
    shown = invoke("probe", ".", "--where", PRESENT, "--row-groups").stdout
    assert shown.count("_MATCH") == 8
    assert "\n\n./orders.parquet: 1 of 4 row groups might match id = 400\n\n" in shown


def test_by_url(orders: Path, invoke: Invoke) -> None:
    url = orders.as_uri()
    code, shown, _ = found(invoke("probe", url, "--where", ABSENT))
    assert code == 1
    assert shown.startswith(f"{url}: none of 4 row groups can match")
    code, shown, errors = found(invoke("probe", "nosuch://a/b", "--where", ABSENT))
    assert (code, shown) == (2, "")
    assert 'can open "nosuch://a/b"' in errors


def test_nothing_is_written(
    shop: Path, listing: Callable[[], dict[str, bytes]], invoke: Invoke
) -> None:
    before = listing()
    invoke("probe", str(shop), "--where", PRESENT)
    assert listing() == before


@pytest.mark.usefixtures("orders")
def test_pictures_are_ascii_where_the_stream_knows_no_more(command: Command) -> None:
    arguments = ("probe", "orders.parquet", "--where", PRESENT)
    result = command(*arguments, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (result.returncode, result.stderr) == (0, "")
    assert "# might match  . cannot match" in result.stdout
    assert result.stdout.isascii()
    assert "\\u" not in result.stdout


@pytest.mark.usefixtures("orders")
def test_pyarrow_is_not_loaded() -> None:
    script = f"""
import json, sys
sys.argv = ["bloomify", "probe", "orders.parquet", "--where", "{PRESENT}"]
import bloomify.main
bloomify.main._leave = sys.exit
try:
    bloomify.main.main()
except SystemExit:
    heavy = {{"pyarrow", "pandas", "fsspec"}}
    print(json.dumps(sorted(heavy & set(sys.modules))), file=sys.stderr)
"""
    result = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, encoding="utf-8"
    )
    assert json.loads(result.stderr) == []


def test_a_file_without_row_groups(folder: Path, invoke: Invoke) -> None:
    pq.write_table(pa.table({"id": pa.array([], pa.int64())}), folder / "empty.parquet")
    code, shown, _ = found(invoke("probe", "empty.parquet", "--where", "id = 1"))
    assert code == 1
    assert shown.startswith("empty.parquet: no row group can match id = 1\n")


def test_strip_and_probe_speak_of_the_same_file(orders: Path, invoke: Invoke) -> None:
    strip(orders)
    assert invoke("probe", "orders.parquet", "--where", "id = 5000").exit_code == 1
