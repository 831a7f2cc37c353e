"""`bloomify advise`: one line per column, and a command that can be copied."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter.verbs.advise import advise
from parquet_bloomwriter.verbs.inspect import inspect

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Invoke


@pytest.fixture
def users(folder: Path) -> Path:
    """Write users.parquet: ids in no order, names of 3, flags; 4 row groups of 5,000 rows."""
    rows = 20_000
    table = pa.table(
        {
            "id": [i * 1237 % rows for i in range(rows)],
            "kind": [f"kind {i % 3}" for i in range(rows)],
            "flag": [True] * rows,
        }
    )
    path = folder / "users.parquet"
    pq.write_table(table, path, row_group_size=rows // 4, use_dictionary=["kind"])
    return path


def test_one_file(users: Path, invoke: Invoke) -> None:
    report = advise(users)
    result = invoke("advise", "users.parquet")
    assert (result.exit_code, result.stderr) == (0, "")
    headline, listing, reasons, conclusion, command = result.stdout.rstrip("\n").split("\n\n")
    assert headline.startswith("users.parquet: 20,000 rows in 4 row groups, ")
    rows = [line.split() for line in listing.splitlines()[1:]]
    assert [row[:2] for row in rows] == [[one.name, one.verdict] for one in report.columns]
    assert [row[1] for row in rows] == ["ADD", "SKIP", "SKIP"]
    for line, one in zip(reasons.splitlines(), report.columns, strict=False):
        assert line == f"reason    {one.name}: {one.reason}"
    assert conclusion.startswith("1 column would get filters, ")
    assert command == "bloomify users.parquet --columns id"


@pytest.mark.usefixtures("users")
@pytest.mark.parametrize("options", [[], ["--fpp", "0.001"]])
def test_the_last_line_can_be_run(users: Path, invoke: Invoke, options: list[str]) -> None:
    users.rename("it's $users.parquet")
    command = invoke("advise", "it's $users.parquet", *options).stdout.splitlines()[-1]
    function = f'bloomify() {{ "{sys.executable}" -m bloomify "$@"; }}\n'
    subprocess.run(["/bin/sh", "-ec", function + command], check=True, capture_output=True)
    (column,) = inspect("it's $users.parquet").columns
    assert (column.name, len(column.filters)) == ("id", 4)
    assert all((one.fpp or 1) <= (0.001 if options else 0.01) for one in column.filters)
    again = invoke("advise", "it's $users.parquet")
    assert again.exit_code == 0
    assert again.stdout.endswith("\n\nNo other column deserves a filter.\n")
    assert "HAS_FILTER" in again.stdout


def test_many_files_are_judged_together(users: Path, invoke: Invoke) -> None:
    data = users.read_bytes()
    (users.parent / "more").mkdir()
    for name in ("a", "b"):
        (users.parent / f"more/{name}.parquet").write_bytes(data)
    result = invoke("advise", "more", "users.parquet")
    assert result.exit_code == 0
    assert result.stdout.startswith("3 files: 60,000 rows in 12 row groups, ")
    assert result.stdout.count("\nid ") == 1
    assert result.stdout.endswith("; 3 files read.\n\nbloomify more users.parquet --columns id\n")
    folder = invoke("advise", "more").stdout
    assert folder.startswith("more: 2 files, 40,000 rows in 8 row groups, ")


def test_a_file_that_cannot_be_read_is_left_out(users: Path, invoke: Invoke) -> None:
    (users.parent / "text.parquet").write_text("this is no Parquet file, but long enough")
    result = invoke("advise", ".")
    assert result.exit_code == 3
    assert result.stdout.startswith(".: 20,000 rows in 4 row groups, ")
    assert "; 1 of 2 files failed, see above.\n\nbloomify . --columns id\n" in result.stdout
    result = invoke("advise", "text.parquet")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (4, "", 1)


def test_queries_come_from_a_file_and_the_engine_is_in_the_json(
    users: Path, invoke: Invoke
) -> None:
    (users.parent / "asked.sql").write_text("SELECT * FROM users WHERE kind = 'kind 1';\nid > 3")
    options = ("--where", "@asked.sql", "--engine", "duckdb", "--json")
    found = json.loads(invoke("advise", "users.parquet", *options).stdout)
    reasons = {column["name"]: column["reason"] for column in found["columns"]}
    assert found["engine"] == "duckdb"
    assert found["index_shell_command"] is None
    assert reasons["id"].startswith("asked for in 1 of 2 queries, but by <")
    for wrong, says in (
        ("@", "the name of a file is missing after @"),
        ("@nosuch.sql", "nosuch.sql: No such file"),
        ("id = =", "id = ="),
    ):
        done = invoke("advise", "users.parquet", "--where", wrong)
        assert (done.exit_code, says in done.stderr) == (2, True), done.stderr


@pytest.mark.usefixtures("users")
def test_queries_that_ask_for_no_column_are_refused(invoke: Invoke) -> None:
    """A query may join other tables; but if all its names are unknown, one is misspelled."""
    done = invoke("advise", "users.parquet", "--where", "u.idd = 3 OR nothing IN (1, 2)")
    assert done.exit_code == 2
    assert done.stderr == (
        'bloomify: no query asks for a column of these files: there is no "nothing", "u.idd". '
        "The columns are: " + ", ".join(pq.read_schema("users.parquet").names) + ".\n"
    )
    done = invoke("advise", "users.parquet", "--where", "idd = 3", "--json")
    assert done.exit_code == 2
    assert done.stderr.endswith('there is no "idd". Did you mean id?\n')
    asked = "SELECT * FROM users JOIN others ON users.x = others.y WHERE users.id = 3"
    assert invoke("advise", "users.parquet", "--where", asked).exit_code == 0


def test_only_the_columns_named(users: Path, invoke: Invoke) -> None:
    assert users.exists()
    shown = invoke("advise", "users.parquet", "--columns", "kind").stdout
    assert "\nkind " in shown
    assert "\nid " not in shown
    assert shown.endswith("\nNo column deserves a filter.\n")


def test_the_json_is_the_report(users: Path, invoke: Invoke) -> None:
    report = advise(users, fpp=0.02)
    result = invoke("advise", "users.parquet", "--fpp", "0.02", "--json")
    document = json.loads(result.stdout)
    assert document["files"] == [
        {
            "path": "users.parquet",
            "size": users.stat().st_size,
            "num_rows": 20_000,
            "num_row_groups": 4,
        }
    ]
    assert document["shell_command"] == "bloomify users.parquet --columns id --fpp 0.02"
    assert (document["fpp"], document["num_filter_bytes"]) == (0.02, report.num_filter_bytes)
    for shown, column in zip(document["columns"], report.columns, strict=True):
        facts = ("name", "reason", "ndv", "num_filter_bytes", "skipped_present", "holding")
        assert {name: shown[name] for name in facts} == {
            name: getattr(column, name) for name in facts
        }
        assert shown["verdict"] == column.verdict
        assert "evidence" not in shown


def test_urls_and_what_may_be_printed_of_them(users: Path, invoke: Invoke) -> None:
    url = users.as_uri()
    result = invoke("advise", url)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == f"bloomify {url} --columns id"
    assert result.stderr == (
        "bloomify: name local files by their paths, not by URLs, to add filters to them.\n"
    )
    refused = invoke("gs://key:secret@bucket/x.parquet?region=y", "--columns", "id")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert '"gs://bucket/x.parquet" is given with a password' in refused.stderr
    assert "secret" not in refused.stderr
    refused = invoke("s3://key:secret@bucket/x.parquet", "--columns", "id")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "the URL has a user or a password in it" in refused.stderr
    assert "secret" not in refused.stderr


def test_what_identifies_somebody_in_a_url_is_not_printed(users: Path, invoke: Invoke) -> None:
    store = fsspec.filesystem("memory")
    store.pipe("/secret@users.parquet", users.read_bytes())
    result = invoke("advise", "memory://secret@users.parquet")
    store.rm("/secret@users.parquet")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "bloomify memory://users.parquet --columns id"
    assert "secret" not in result.output


@pytest.mark.usefixtures("users")
def test_a_pattern_with_a_question_mark_is_no_url(invoke: Invoke) -> None:
    shown = invoke("advise", "user?.parquet").stdout
    assert shown.splitlines()[-1] == "bloomify 'user?.parquet' --columns id"


def test_columns_that_might_pay_have_a_command_too(folder: Path, invoke: Invoke) -> None:
    ids = [float(n * 7_919 % 200_003) for n in range(100_000)]
    pq.write_table(pa.table({"id": ids}), folder / "d.parquet", row_group_size=20_000)
    done = invoke("advise", "d.parquet")
    assert done.exit_code == 0
    assert "1 column might, see above" in done.stdout
    command = "bloomify d.parquet --columns id"
    assert done.stderr == f"bloomify: to add those that might pay, type: {command}\n"


def _emails(path: Path, column: str, values: object) -> None:
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({column: values}), path, row_group_size=1000, use_dictionary=False)


def test_a_column_of_two_types(folder: Path, invoke: Invoke) -> None:
    ids = [i * 7_919 % 200_003 for i in range(4000)]
    for name in "abc":
        _emails(folder / "p" / f"{name}.parquet", "id", ids)
    _emails(folder / "p" / "s.parquet", "id", list(map(str, ids)))
    result = invoke("advise", "p")
    reason = "its type differs between files: INT64 in 3, STRING in 1 (p/s.parquet)"
    assert reason in result.stdout
    assert "SKIP" in result.stdout
    assert json.loads(invoke("advise", "p", "--json").stdout)["columns"][0]["reason"] == reason
    first = [f"p/{name}.parquet" for name in "sabc"]
    assert reason in invoke("advise", *first).stdout


def test_integers_of_two_widths_are_judged_together(folder: Path, invoke: Invoke) -> None:
    ids = [i * 7_919 % 200_003 for i in range(4000)]
    _emails(folder / "p" / "a.parquet", "id", ids)
    _emails(folder / "p" / "b.parquet", "id", pa.array(ids, pa.int32()))
    result = invoke("advise", "p")
    assert (
        "note      id: its type differs between files: INT64 in 1, INT32 in 1 (p/b."
        in result.stdout
    )
    assert "ADD" in result.stdout


def test_a_recommended_column_that_some_files_lack(folder: Path, invoke: Invoke) -> None:
    values = [f"user{i * 7_919 % 200_003}@mail.example" for i in range(4000)]
    for name in ("a", "b"):
        _emails(folder / "lake" / f"{name}.parquet", "email", values)
    _emails(folder / "lake" / "diff.parquet", "mail", values[:1])
    result = invoke("advise", "lake")
    note = (
        "note      email: not in 1 of 3 files (lake/diff.parquet); --skip-missing passes over "
        "these files"
    )
    assert note in result.stdout
    assert result.stdout.splitlines()[-1] == "bloomify lake --columns email --skip-missing"
    before = (folder / "lake/diff.parquet").read_bytes()
    assert invoke("lake", "--columns", "email", "--skip-missing").exit_code == 0
    assert (folder / "lake/diff.parquet").read_bytes() == before
