"""`bloomify index`: what its commands do and print, on a real table."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import bloomify, index
from parquet_bloomwriter.index.query import lookup
from parquet_bloomwriter.index.report import plain
from tests.cli.index_tables import NUM_FILES, found, name_of, write_file, write_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Invoke

ABSENT = "id = 5000"
PRESENT = "id = 83"
"""In part-3."""


@pytest.fixture
def table(folder: Path) -> Path:
    """Write the table `events` without an index."""
    return write_table(folder / "events")


@pytest.fixture
def indexed(table: Path) -> Path:
    """Index it, so well that nothing passes by chance."""
    index.create(table, ["id", "email"], name="ids", fpp=1e-6)
    return table


def data_files(table: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(table.rglob("*.parquet"))}


def test_why_an_index_has_no_filter_for_joins(table: Path, invoke: Invoke) -> None:
    for path in table.rglob("*.parquet"):
        bloomify(path, ["id"], fpp=0.9)
    options = ["--columns", "id", "--name", "ids", "--from", "embedded"]
    assert invoke("index", "create", "events", *options).exit_code == 0
    shown = invoke("index", "show", "events", "--name", "ids").stdout
    (line,) = [one for one in shown.splitlines() if one.startswith("joins ")]
    words = "bloomify index create events --name ids-values --columns id --from values"
    assert re.fullmatch(
        r"joins      no filter for joins on Spark: id \(made of the files' own filters, it would "
        r"let [\d.]+ % of all absent values pass\)\. To get one, type: " + words,
        line,
    )
    assert invoke(*shlex.split(words)[1:]).exit_code == 0
    assert index.index(table, name="ids-values").columns[0].no_global == ""


# create


def test_create(table: Path, invoke: Invoke) -> None:
    before = data_files(table)
    result = invoke("index", "create", "events", "--columns", "id,address.city", "--name", "ids")
    code, shown, errors = found(result)
    assert (code, errors) == (0, "")
    headline, listing, following = shown.rstrip("\n").split("\n\n")
    assert following == "next       bloomify index lookup events --where 'id = ...'"
    assert headline.startswith("ids: created; 8 files indexed, ")
    heading, *rows = [line.split() for line in listing.splitlines()]
    assert heading[:3] == ["column", "FPP", "asked"]
    info = index.index(table, name="ids")
    assert [row[:4] for row in rows] == [
        [column.name, "0.01", f"{column.part_bytes:,}", f"{column.global_ndv:,}"]
        for column in info.columns
    ]
    assert [row[0] for row in rows] == ["id", "address.city"]
    assert (info.state, info.num_files, info.appended, info.deleted) == ("ACTIVE", 8, 0, 0)
    assert data_files(table) == before
    assert sorted(path.name for path in table.iterdir()) == ["_bloom_index", "kind=a", "kind=b"]


@pytest.mark.usefixtures("table")
def test_each_column_has_its_rate_and_size(invoke: Invoke) -> None:
    options = ["--fpp", "0.05,id=0.001", "--expected-items", "id=1,000", "--from", "values"]
    invoke("index", "create", "events", "--columns", "id,email", "--name", "ids", *options)
    info = index.index("events", name="ids")
    assert {c.name: (c.fpp, c.expected_num_items) for c in info.columns} == {
        "id": (0.001, 1000),
        "email": (0.05, None),
    }
    assert info.options["source"] == "values"


def test_create_from_embedded_filters(table: Path, invoke: Invoke) -> None:
    for path in table.rglob("*.parquet"):
        bloomify(path, ["id"])
    options = ["--columns", "id", "--name", "ids", "--from", "embedded"]
    assert invoke("index", "create", "events", *options).exit_code == 0
    lines = found(invoke("index", "lookup", "events", "--where", PRESENT, "--files"))[1].split()
    assert f"events/{name_of(3)}" in lines
    assert len(lines) < NUM_FILES


def test_a_file_that_cannot_be_indexed_is_named(table: Path, invoke: Invoke) -> None:
    (table / "text.parquet").write_text("this is no Parquet file, but long enough")
    result = invoke("index", "create", "events", "--columns", "id,email", "--name", "ids")
    code, shown, errors = found(result)
    assert code == 3
    assert errors == (
        "bloomify: every lookup has to name text.parquet, which has no filter at all: the last "
        'four bytes are not "PAR1".\n'
    )
    (remark,) = [line for line in shown.splitlines() if "text" in line]
    assert remark == 'left out   text.parquet: the last four bytes are not "PAR1"'
    listed = found(invoke("index", "lookup", "events", "--where", ABSENT, "--files"))
    assert listed[:2] == (0, "events/text.parquet\n")
    again = invoke("index", "refresh", "events", "--name", "ids")
    assert again.exit_code == 3
    assert again.stdout.splitlines() == [
        "ids: nothing to do; the index knows all files that can be indexed",
        "",
        remark,
    ]


def test_a_file_without_the_column_is_named(table: Path, invoke: Invoke) -> None:
    pq.write_table(pa.table({"id": [7]}), table / "old.parquet")
    options = ["--columns", "id,email", "--name", "both"]
    code, shown, errors = found(invoke("index", "create", "events", *options))
    assert (code, errors) == (0, "")
    (remark,) = [line for line in shown.splitlines() if "old.parquet, email: " in line]
    assert remark.startswith("no filter  old.parquet, email: ")
    options = ["--columns", "email", "--name", "mails"]
    code, shown, errors = found(invoke("index", "create", "events", *options))
    assert code == 3
    assert errors == (
        "bloomify: every lookup has to name old.parquet, which has no filter at all: there is no "
        'column "email".\n'
    )
    assert "no filter  old.parquet: " in shown
    where = "email = 'nobody'"
    listed = invoke("index", "lookup", "events", "--where", where, "--name", "mails", "--files")
    assert "events/old.parquet" in listed.stdout.splitlines()


def test_create_as_json(table: Path, invoke: Invoke) -> None:
    (table / "text.parquet").write_text("this is no Parquet file, but long enough")
    options = ["--columns", "id", "--name", "ids", "--json"]
    result = invoke("index", "create", "events", *options)
    whole = json.loads(result.stdout)
    assert {key: whole[key] for key in ("version", "command", "failed")} == {
        "version": 1,
        "command": "index create",
        "failed": [],
    }
    assert (whole["index"]["num_files"], whole["index"]["changed"]) == (NUM_FILES, True)
    assert [one["path"] for one in whole["index"]["left_out"]] == ["text.parquet"]
    assert [column["name"] for column in whole["index"]["columns"]] == ["id"]


@pytest.mark.parametrize(
    ("columns", "name"),
    [("id", "id"), ("id,address.city", "id-address.city"), ("_größe", "gr-e"), ("名", "index")],
)
def test_an_index_is_named_after_its_columns(
    table: Path, invoke: Invoke, columns: str, name: str
) -> None:
    pq.write_table(pa.table({"_größe": [1], "名": [2], "id": [3]}), table / "more.parquet")
    result = invoke("index", "create", "events", "--columns", columns)
    assert (result.exit_code in {0, 3}, result.stdout.split(":")[0]) == (True, name)
    assert [one.name for one in index.indexes(table)] == [name]


def test_the_only_index_needs_no_name(table: Path, invoke: Invoke) -> None:
    def run(verb: str, *options: str) -> str:
        code, shown, errors = found(invoke("index", verb, "events", *options))
        assert (verb, code, errors) == (verb, 0, "")
        return shown.split(":")[0]

    index.create(table, ["email"], name="mails")
    index.delete(table, name="mails")
    index.vacuum(table, name="mails")  # what is gone for good does not count
    assert run("create", "--columns", "id") == "id"
    write_file(table / "more.parquet", 8)
    verbs = ["refresh", "optimize", "show", "delete", "restore", "cancel", "delete", "vacuum"]
    assert [run(verb) for verb in verbs] == ["id"] * len(verbs)
    assert index.indexes(table) == ()


def test_quiet_says_nothing(table: Path, invoke: Invoke) -> None:
    options = ["--columns", "id", "--name", "ids", "--quiet"]
    assert found(invoke("index", "create", str(table), *options)) == (0, "", "")
    assert found(invoke("index", "lookup", "events", "--where", PRESENT, "--quiet")) == (0, "", "")
    assert found(invoke("index", "lookup", "events", "--where", ABSENT, "--quiet")) == (1, "", "")


@pytest.mark.parametrize("contract", ["checked", "immutable"])
def test_the_contract_is_asked_for_and_shown(table: Path, invoke: Invoke, contract: str) -> None:
    asked = [] if contract == "checked" else ["--contract", contract]
    result = invoke("index", "create", "events", "--columns", "id", "--name", "ids", *asked)
    assert result.exit_code == 0
    assert index.index(table, name="ids").options["contract"] == contract
    _, shown, _ = found(invoke("index", "show", "events", "--name", "ids"))
    assert ("immutable: files are not looked at" in shown) == bool(asked)


def test_an_index_kept_elsewhere(table: Path, folder: Path, invoke: Invoke) -> None:
    home = ["--home", str(folder / "indexes")]
    invoke("index", "create", "events", "--columns", "id", "--name", "ids", *home)
    assert sorted(path.name for path in table.iterdir()) == ["kind=a", "kind=b"]
    lookup = ["index", "lookup", "events", "--where", ABSENT]
    assert invoke(*lookup, *home).exit_code == 1
    assert invoke(*lookup).exit_code == 2
    assert "ids" in invoke("index", "list", "events", *home).stdout


# lookup


@pytest.mark.usefixtures("indexed")
def test_lookup(invoke: Invoke) -> None:
    code, shown, errors = found(invoke("index", "lookup", "events", "--where", PRESENT))
    assert (code, errors) == (0, "")
    headline, paths, totals = shown.rstrip("\n").split("\n\n")
    assert headline == "1 of 8 files might match id = 83"
    assert paths == f"  events/{name_of(3)}"
    assert totals.endswith(" need not be read; index ids excluded 7 of 8.")


@pytest.mark.usefixtures("indexed")
def test_nothing_can_match(invoke: Invoke) -> None:
    code, shown, errors = found(invoke("index", "lookup", "events/", "--where", ABSENT))
    assert (code, errors) == (1, "")
    headline, totals = shown.rstrip("\n").split("\n\n")
    assert headline == "none of 8 files can match id = 5000"
    assert totals.startswith("100 % of ")
    assert totals.endswith(" need not be read; index ids excluded 8 of 8.")


@pytest.mark.usefixtures("indexed")
@pytest.mark.parametrize("given", ["events", "events/", "./events", "events/kind=b"])
def test_paths_are_spelled_like_the_folder(invoke: Invoke, given: str) -> None:
    result = invoke("index", "lookup", given, "--where", PRESENT, "--files")
    inside = name_of(3).removeprefix("kind=b/" if "kind" in given else "")
    assert found(result) == (0, f"{given.rstrip('/')}/{inside}\n", "")


def test_a_single_file_and_a_url(indexed: Path, invoke: Invoke) -> None:
    given = f"events/{name_of(3)}"
    assert found(invoke("index", "lookup", given, "--where", PRESENT, "--files"))[1] == f"{given}\n"
    assert invoke("index", "lookup", given, "--where", "id = 84", "--files").exit_code == 1
    result = invoke("index", "lookup", indexed.as_uri(), "--where", PRESENT, "--files")
    assert found(result) == (0, f"{indexed / name_of(3)}\n", "")


@pytest.mark.usefixtures("indexed")
def test_paths_that_end_with_a_zero_byte(invoke: Invoke) -> None:
    where = "id IN (83, 84)"
    result = invoke("index", "lookup", "events", "--where", where, "--files", "-0")
    names = sorted([f"events/{name_of(3)}", f"events/{name_of(4)}"])
    assert found(result) == (0, "".join(f"{name}\0" for name in names), "")


@pytest.mark.usefixtures("indexed")
def test_all_conditions_must_hold(invoke: Invoke) -> None:
    email = ["--eq", "email=user84@mail.example"]
    both = invoke("index", "lookup", "events", "--where", "id IN (83, 84)", *email)
    assert both.stdout.startswith("1 of 8 files might match id IN (83, 84) AND email = ")
    assert name_of(4) in both.stdout
    assert invoke("index", "lookup", "events", "--where", PRESENT, *email).exit_code == 1


def test_an_index_that_knows_no_file_any_more(indexed: Path, invoke: Invoke) -> None:
    for path in indexed.rglob("*.parquet"):
        if "_bloom_index" not in path.parts:
            os.utime(path, (0, 0))
    code, shown, errors = found(invoke("index", "lookup", "events", "--where", ABSENT))
    assert (code, shown.splitlines()[0]) == (0, "8 of 8 files might match id = 5000")
    assert errors.endswith("(NO_COMMON_FILES). Type: bloomify index refresh events --name ids\n")


def test_lookup_as_json_is_the_report(indexed: Path, invoke: Invoke) -> None:
    result = invoke("index", "lookup", "events", "--where", PRESENT, "--json")
    expected = plain(index.lookup(indexed, PRESENT))
    facts = {"version": 1, "command": "index lookup", "failed": []}
    shown = json.loads(result.stdout)
    assert shown.pop("seconds") >= 0
    assert shown == json.loads(json.dumps({**facts, **expected}))
    assert (expected["num_excluded"], expected["num_kept"]) == (7, 1)


def test_a_file_that_is_new_is_always_there(indexed: Path, invoke: Invoke) -> None:
    write_file(indexed / "new.parquet", 3)
    (indexed / name_of(5)).unlink()
    code, shown, errors = found(invoke("index", "lookup", "events", "--where", ABSENT, "--files"))
    assert (code, shown) == (0, "events/new.parquet\n")
    command = "bloomify index refresh events --name ids"
    message = f"1 file unknown to the index might match. Type: {command}"
    assert errors == f"bloomify: events: {message}\n"
    assert invoke(*command.split()[1:]).exit_code == 0
    assert found(invoke("index", "lookup", "events", "--where", ABSENT, "--files")) == (1, "", "")


def test_the_command_proposed_is_on_the_table_of_the_index(indexed: Path, invoke: Invoke) -> None:
    write_file(indexed / "kind=b/new.parquet", 3)
    result = invoke("index", "lookup", "events/kind=b", "--where", ABSENT)
    assert result.stderr.endswith(f"Type: bloomify index refresh {indexed} --name ids\n")


@pytest.mark.parametrize(
    ("where", "complaint"),
    [
        (
            "active = true",
            "no index has filters of active, only of id, email (MISSING_INDEXED_COL).",
        ),
        (
            "kind = 'a'",
            (
                "no index has filters of kind, only of id, email (MISSING_INDEXED_COL). "
                "There are folders for that (kind=a): readers choose among them by themselves."
            ),
        ),
        (
            "1 = 1",
            (
                "the condition compares no column with a value, such as 42, 'text' or '2026-01-31' "
                "(MISSING_INDEXED_COL)."
            ),
        ),
        (
            "id > 3",
            (
                "index ids: a filter answers only = and IN, with values of the column's own type "
                "(NO_USABLE_CONDITION)."
            ),
        ),
    ],
)
@pytest.mark.usefixtures("indexed")
def test_conditions_that_an_index_cannot_answer(invoke: Invoke, where: str, complaint: str) -> None:
    code, shown, errors = found(invoke("index", "lookup", "events", "--where", where))
    assert (code, errors) == (0, f"bloomify: events: {complaint}\n")
    assert shown.startswith("8 of 8 files might match")
    assert shown.endswith("\n\nindex ids excluded 0 of 8.\n")


def test_a_column_that_no_file_has_is_refused(indexed: Path, invoke: Invoke) -> None:
    """A column that only the last file has is not."""
    verbs = (("probe",), ("index", "lookup"), ("index", "explain"))
    wrong = {
        "idd = 3": "Did you mean id?",
        "EMAIL = 'a'": "Did you mean email?",
        "id = 42 AND zzz = 3": "The columns are: ",
        'id = 1 AND email = "x@y.example"': "Strings take single quotes: 'x@y.example'; ",
    }
    for where, remedy in wrong.items():
        for verb in verbs:
            code, shown, errors = found(invoke(*verb, "events", "--where", where))
            assert (code, shown) == (2, ""), (verb, where)
            assert errors.startswith('bloomify: there is no column "')
            assert remedy in errors
            assert errors.count("\n") == 1
    pq.write_table(pa.table({"zzz": [3]}), indexed / "z.parquet")
    for verb in verbs:
        assert found(invoke(*verb, "events", "--where", "zzz = 3"))[0] == 0
    (indexed / "broken.parquet").write_bytes(b"PAR1")
    assert found(invoke("index", "lookup", "events", "--where", "idd = 3"))[0] == 0


def test_a_refusal_reads_no_file_that_the_index_knows(
    indexed: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, schema_of = list[str](), lookup._schema_of  # noqa: SLF001  what reads footers

    def watched(path: str) -> object:
        read.append(os.path.basename(path))  # noqa: PTH119  a path or a URL
        return schema_of(path)

    monkeypatch.setattr(lookup, "_schema_of", watched)
    for verb in ("lookup", "explain"):
        for where, remedy in {"idd = 3": "Did you mean id?", "day = 'x'": "The columns"}.items():
            code, _, errors = found(invoke("index", verb, "events", "--where", where))
            assert (code, remedy in errors) == (2, True)
    assert read == []
    pq.write_table(pa.table({"zzz": [3]}), indexed / "z.parquet")
    assert found(invoke("index", "lookup", "events", "--where", "zzz = 3"))[0] == 0
    assert found(invoke("index", "lookup", "events", "--where", "zz = 3"))[0] == 2
    assert set(read) == {"z.parquet"}
    read.clear()
    index.refresh(indexed, "ids")
    assert found(invoke("index", "lookup", "events", "--where", "zzz = 3"))[0] == 0
    assert found(invoke("index", "lookup", "events", "--where", "zz = 3"))[0] == 2
    assert read == []


def test_one_index_is_about_it_and_another_is_not(indexed: Path, invoke: Invoke) -> None:
    index.create(indexed, ["address.city"], name="cities")
    result = invoke("index", "lookup", f"events/{name_of(3)}", "--where", PRESENT)
    assert (result.exit_code, result.stderr) == (0, "")
    result = invoke("index", "lookup", "events", "--where", "id > 3")
    assert result.stderr.count("\n") == 1
    assert "index ids: " in result.stderr


def test_two_indexes_are_asked_together(indexed: Path, invoke: Invoke) -> None:
    index.create(indexed, ["address.city"], name="cities", fpp=1e-6)
    where = "id = 83 AND address.city = 'city 4'"
    both = invoke("index", "lookup", "events", "--where", where)
    assert (both.exit_code, both.stderr) == (1, "")
    one = invoke("index", "lookup", "events", "--where", where, "--name", "ids")
    assert one.stdout.startswith("1 of 8 files might match")


def test_a_broken_index_excludes_nothing(indexed: Path, invoke: Invoke) -> None:
    for part in indexed.rglob("part-*.bfindex"):
        part.write_bytes(part.read_bytes()[:-1])
    result = invoke("index", "lookup", "events", "--where", ABSENT, "--files")
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, NUM_FILES)
    assert "(INDEX_BROKEN)" in result.stderr
    shown = invoke("index", "explain", "events", "--where", ABSENT).stdout
    assert "INDEX_BROKEN: " in shown


# refresh and the rest


def test_refresh(indexed: Path, invoke: Invoke) -> None:
    code, shown, errors = found(invoke("index", "refresh", "events", "--name", "ids"))
    assert (code, errors) == (0, "")
    assert shown == "ids: nothing to do; the index knows all files as they are\n"
    write_file(indexed / "new.parquet", 3)
    (indexed / name_of(5)).unlink()
    shown = invoke("index", "show", "events", "--name", "ids").stdout
    (changes,) = [line for line in shown.splitlines() if line.startswith("changes ")]
    assert changes.startswith("changes    1 new file, ")
    assert changes.endswith("; 1 file gone or replaced: bloomify index refresh events --name ids")
    shown = invoke("index", "refresh", "events", "--name", "ids").stdout
    assert shown.startswith("ids: refreshed; 1 file indexed, 1 file forgotten, ")
    shown = invoke("index", "show", "events", "--name", "ids").stdout
    assert "changes    none: the index knows all files of the table as they are now\n" in shown


@pytest.mark.parametrize("mode", ["incremental", "full", "quick"])
def test_modes_of_refresh(indexed: Path, invoke: Invoke, mode: str) -> None:
    write_file(indexed / "new.parquet", 3)
    options = ["--name", "ids", "--mode", mode, "--json"]
    report = json.loads(invoke("index", "refresh", "events", *options).stdout)["index"]
    assert report["action"] == f"refresh {mode}"
    assert report["appended"] == (9 if mode == "full" else 1)
    assert report["num_files"] == 9
    lines = invoke("index", "lookup", "events", "--where", PRESENT, "--files").stdout.split()
    assert lines == [f"events/{name_of(3)}", "events/new.parquet"]


def test_optimize_and_vacuum(indexed: Path, invoke: Invoke) -> None:
    for number in (1, 2):
        write_file(indexed / f"new-{number}.parquet", number)
        invoke("index", "refresh", "events", "--name", "ids")
    before = index.index(indexed, name="ids")
    assert all(column.num_parts > 1 for column in before.columns)
    shown = invoke("index", "optimize", "events", "--name", "ids").stdout
    assert shown.startswith("ids: optimized; 2 parts, ")
    again = invoke("index", "optimize", "events", "--name", "ids").stdout
    assert again.startswith("ids: nothing to do; ")
    shown = invoke("index", "vacuum", "events", "--name", "ids").stdout
    assert shown.startswith("ids: vacuumed; ")
    assert not shown.startswith("ids: vacuumed; 0 files")
    again = invoke("index", "vacuum", "events", "--name", "ids").stdout
    assert again == "ids: nothing to do; all files of the index are needed\n"
    result = invoke("index", "lookup", "events", "--where", PRESENT, "--files")
    assert result.stdout == f"events/{name_of(3)}\n"


def test_delete_restore_and_vacuum(indexed: Path, invoke: Invoke) -> None:
    name = ["--name", "ids"]
    shown = invoke("index", "delete", "events", *name).stdout
    assert shown.splitlines() == [
        f"ids: deleted; lookups do without it, and its files stay in {indexed}/_bloom_index/ids",
        "",
        "next       bloomify index restore events --name ids brings it back",
        "           bloomify index vacuum events --name ids removes its files for good",
    ]
    result = invoke("index", "lookup", "events", "--where", ABSENT)
    assert (result.exit_code, "(INDEX_NOT_ACTIVE)" in result.stderr) == (0, True)
    listed = invoke("index", "list", "events").stdout
    assert listed.splitlines()[1].split()[:4] == ["ids", "DELETED", "id,", "email"]
    assert (
        invoke("index", "restore", "events", *name).stdout == "ids: restored; 8 files known to it\n"
    )
    assert invoke("index", "lookup", "events", "--where", ABSENT).exit_code == 1
    invoke("index", "delete", "events", *name)
    shown = invoke("index", "vacuum", "events", *name).stdout
    assert shown.startswith("ids: vacuumed; ")
    home = indexed / "_bloom_index" / "ids"
    assert shown.endswith(f"; the index does not exist any more, its log stays in {home}\n")
    assert [path.name for path in home.iterdir()] == ["_log"]
    assert list(indexed.rglob("*.bfindex")) == []
    assert invoke("index", "show", "events", *name).exit_code == 2
    assert invoke("index", "list", "events").stdout == ""


def test_cancel_with_nobody_at_work(indexed: Path, invoke: Invoke) -> None:
    before = sorted(indexed.rglob("*"))
    shown = invoke("index", "cancel", "events", "--name", "ids").stdout
    assert shown == "ids: nothing to do; no other command is changing the index\n"
    assert sorted(indexed.rglob("*")) == before


def test_list_and_show(indexed: Path, invoke: Invoke) -> None:
    index.create(indexed, ["address.city"], name="cities")
    code, shown, errors = found(invoke("index", "list", "events"))
    assert (code, errors) == (0, "")
    _, *rows = [line.split() for line in shown.splitlines()]
    assert [row[:2] for row in rows] == [["cities", "ACTIVE"], ["ids", "ACTIVE"]]
    infos = json.loads(invoke("index", "list", "events", "--json").stdout)["indexes"]
    assert infos == json.loads(json.dumps([plain(info) for info in index.indexes(indexed)]))
    shown = invoke("index", "show", "events", "--name", "ids").stdout
    assert shown.startswith(f"ids: ACTIVE, 8 files of {indexed}, ")
    headings = shown.splitlines()[2].split("  ")
    assert [one.strip() for one in headings if one][-3:] == [
        "joins: NDV",
        "joins: bytes",
        "joins: FPP",
    ]
    one = json.loads(invoke("index", "show", "events", "--name", "ids", "--json").stdout)["index"]
    assert one == json.loads(json.dumps(plain(index.index(indexed, name="ids"))))


# explain


def test_explain(indexed: Path, invoke: Invoke) -> None:
    index.create(indexed, ["address.city"], name="cities", fpp=1e-6)
    where = "id = 83 AND email > 'a' AND active = true"
    code, shown, errors = found(invoke("index", "explain", "events", "--where", where))
    assert (code, errors) == (0, "")
    headline, indexes, conditions = shown.rstrip("\n").split("\n\n")
    assert headline == "1 of 8 files might match id = 83 AND email > 'a' AND active = TRUE"
    heading, cities, ids = [line.split() for line in indexes.splitlines()]
    assert heading == ["index", "columns", "files", "known", "excluded", "why", "not"]
    assert cities[:5] == ["cities", "address.city", "8", "0", "MISSING_INDEXED_COL:"]
    assert ids == ["ids", "id,", "email", "8", "7"]
    last = conditions.splitlines()[-1].split()
    assert last[:6] == ["active", "=", "TRUE", "-", "-", "MISSING_INDEXED_COL:"]
    by_ids = [line.split("  ") for line in conditions.splitlines() if " ids " in line]
    facts = {cells[0]: " ".join(cells[1:]).split()[:3] for cells in by_ids}
    assert facts == {
        "id = 83": ["ids", "7"],
        "email > 'a'": ["ids", "0", "NO_USABLE_CONDITION:"],
    }


def test_explain_as_json(indexed: Path, invoke: Invoke) -> None:
    where = "id = 83 OR id = 84"
    whole = json.loads(invoke("index", "explain", "events", "--where", where, "--json").stdout)
    lookup = json.loads(json.dumps(plain(index.lookup(indexed, where))))
    assert {key: whole[key] for key in lookup} == lookup
    conditions = [(one["predicate"], one["num_excluded"]) for one in whole["conditions"]]
    assert conditions == [("id = 83", 7), ("id = 84", 7)]
    assert [one["name"] for one in whole["conditions"][0]["indexes"]] == ["ids"]


@pytest.mark.usefixtures("indexed")
def test_explain_says_so_if_nothing_can_match(invoke: Invoke) -> None:
    code, shown, _ = found(invoke("index", "explain", "events", "--where", ABSENT))
    assert (code, shown.splitlines()[0]) == (0, "none of 8 files can match id = 5000")
    assert "condition" not in shown


@pytest.mark.usefixtures("indexed")
def test_explain_of_a_mistyped_column(invoke: Invoke) -> None:
    notes = invoke("index", "explain", "events", "--where", "emial = 'a'").stderr
    assert "Did you mean email?" in notes


def test_a_filter_of_all_values_that_grows_full(folder: Path, invoke: Invoke) -> None:
    (folder / "few").mkdir()
    pq.write_table(pa.table({"id": list(range(800))}), folder / "few/1.parquet")
    created = invoke("index", "create", "few", "--columns", "id", "--from", "values").stdout
    assert "grows full" not in created
    pq.write_table(pa.table({"id": list(range(10**6, 10**6 + 2000))}), folder / "few/2.parquet")
    remedy = "bloomify index refresh few --name id --mode full"
    refreshed = invoke("index", "refresh", "few", "--name", "id").stdout
    assert f"note       id: the filter of all values grows full: {remedy}" in refreshed
    assert "grows full" not in invoke(*remedy.split()[1:]).stdout


def test_a_filter_of_all_values_made_of_the_files_own(folder: Path, invoke: Invoke) -> None:
    (folder / "own").mkdir()
    for n in range(4):
        path = folder / f"own/{n}.parquet"
        pq.write_table(pa.table({"id": list(range(1000 * n, 1000 * n + 1000))}), path)
        bloomify(path, ["id"])
    created = invoke("index", "create", "own", "--columns", "id").stdout
    assert "note       id: the filter of all values is made of the files' own filters" in created
    from_values = ["--columns", "id", "--name", "v", "--from", "values"]
    assert "own filters" not in invoke("index", "create", "own", *from_values).stdout


# the documented commands


def test_the_examples_of_the_help_pages_work(
    folder: Path, invoke: Invoke, listing: Callable[[], dict[str, bytes]]
) -> None:
    write_table(folder / "warehouse")
    before = listing()
    text = invoke("index", "--help-all").stdout.partition("Examples:")[2]
    commands = [line.strip() for line in text.splitlines() if line.strip()]
    assert len(commands) == 9
    function = f'bloomify() {{ "{sys.executable}" -m bloomify "$@"; }}\n'
    for line in commands:
        if "|" in line:
            code = subprocess.run(["/bin/sh", "-c", function + line], check=False).returncode
        else:
            code = invoke(*shlex.split(line)[1:]).exit_code
        assert (line, code) == (line, 0)
    after = listing()
    assert {path: data for path, data in after.items() if "_bloom_index" not in path} == before


def test_a_column_that_only_its_ordinal_can_name(folder: Path, invoke: Invoke) -> None:
    (folder / "commas").mkdir()
    pq.write_table(pa.table({"a,b": [1, 2, 3]}), folder / "commas/1.parquet")
    status, shown, choice = found(invoke("index", "create", "commas"))
    assert (status, shown) == (2, "")
    assert "a,b  INT64  (type '#0')" in choice
    words = shlex.split(choice.rpartition("For example: ")[2])
    assert words[1:] == ["index", "create", "commas", "--columns", "#0", "--name", "ids"]
    assert found(invoke(*words[1:], "--fpp", "#0=0.001"))[0] == 0
    info = index.index("commas", name="ids")
    assert [one.name for one in info.columns] == ["a,b"]
    assert invoke("index", "lookup", "commas", "--eq", "a,b=7").exit_code == 1


@pytest.mark.parametrize("more", [[], ["--columns", "id", "--name", "ids"]])
def test_a_file_gets_no_index_in_its_folder(
    table: Path, invoke: Invoke, more: list[str], tmp_path: Path
) -> None:
    file = str(path := min(table.rglob("*.parquet")))
    code, shown, complaint = found(invoke("index", "create", file, *more))
    assert (code, shown) == (2, "")
    refused = "an index is of all files of a folder, and this is a file"
    assert complaint.endswith(f'{refused}. Name its folder, "{path.parent}".\n')
    assert not list(table.rglob("_bloom_index"))
    home = str(tmp_path / "home")
    assert invoke("index", "create", file, "--columns", "id", "--home", home).exit_code == 0


@pytest.mark.usefixtures("table")
def test_patterns_and_what_is_excluded(invoke: Invoke) -> None:
    options = ["--columns", "*i*", "--exclude", "address,tags", "--fpp", "*=5%", "--fpp", "e*=0.1%"]
    report = json.loads(invoke("index", "create", "events", *options, "--json").stdout)["index"]
    assert (report["name"], report["left_out"]) == ("id-email", [])
    assert [(one["name"], one["fpp"]) for one in report["columns"]] == [
        ("id", 0.05),
        ("email", 0.001),
    ]
    code, shown, errors = found(invoke("index", "create", "events", "--columns", "*_mail"))
    assert (code, shown) == (2, "")
    assert errors == 'bloomify: events: no column matches "*_mail". Did you mean email?\n'
    none = found(invoke("index", "create", "events", "--columns", "id", "--exclude", "i*"))
    assert none[:2] == (2, "")
    assert "are excluded, too" in none[2]


def test_an_ordinal_that_no_column_has(indexed: Path, invoke: Invoke) -> None:
    status, _, complaint = found(invoke("index", "create", indexed.name, "--columns", "#99"))
    assert status == 2
    assert 'there is no column "#99"' in complaint
