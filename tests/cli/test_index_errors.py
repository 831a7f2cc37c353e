"""`bloomify index` given what cannot be: whose fault, where, what next; and nothing is written."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from bloomify.commands.index import VERBS
from bloomify.commands.index.create import DEFAULT_FPP, create
from bloomify.exits import ExitCode, exit_code_of
from parquet_bloomwriter import errors, index
from parquet_bloomwriter.index import config
from parquet_bloomwriter.index.entry import State
from parquet_bloomwriter.index.log.log import IndexLog
from tests.cli.index_tables import found, write_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Invoke

NAME = ["--name", "ids"]
CREATE = ["index", "create", "events", *NAME]
ON_ONE = ["refresh", "show", "optimize", "delete", "restore", "vacuum", "cancel"]


@pytest.fixture
def table(folder: Path) -> Path:
    """Write the table `events` without an index."""
    return write_table(folder / "events")


@pytest.fixture
def indexed(table: Path) -> Path:
    """Index it."""
    index.create(table, ["id", "email"], name="ids")
    return table


@pytest.fixture
def refuses(invoke: Invoke, listing: Callable[[], dict[str, bytes]]) -> Callable[..., str]:
    """Return a function that runs a command line that fails, and returns what it complains of."""

    def run(*arguments: str, code: int = 2) -> str:
        before = listing()
        status, shown, complaint = found(invoke(*arguments))
        assert (status, shown) == (code, "")
        assert complaint.startswith("bloomify: ")
        assert "Traceback" not in complaint
        assert listing() == before
        return complaint.removeprefix("bloomify: ").rstrip("\n")

    return run


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("verb", VERBS)
def test_no_such_folder(refuses: Callable[..., str], folder: Path, verb: str) -> None:
    options = {
        "create": ["--columns", "id", *NAME],
        "lookup": ["--where", "id = 1"],
        "explain": ["--where", "id = 1"],
        "list": [],
    }.get(verb, NAME)
    message = refuses("index", verb, "nosuch", *options)
    assert message == (
        f'there is no folder or file "{folder}/nosuch". Name the folder of the table.'
    )


@pytest.mark.parametrize("columns", [["--columns", "id"], []])
def test_an_empty_folder(folder: Path, refuses: Callable[..., str], columns: list[str]) -> None:
    (folder / "events").mkdir()
    message = refuses(*CREATE, *columns)
    assert "there are no Parquet files " in message
    assert "events" in message


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("verb", ["create", "list", "lookup"])
def test_a_url(refuses: Callable[..., str], verb: str) -> None:
    options = {
        "create": ["--columns", "id", *NAME],
        "lookup": ["--where", "id = 1"],
    }.get(verb, [])
    message = refuses("index", verb, "sftp://host/events", *options)
    assert message == (
        '"sftp://host/events" is not a local path, and indexes are kept on disks, '
        "S3, GCS, Azure or HDFS. Mount the store, or add Bloom filters to the files themselves."
    )


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("verb", ["create", "list", "lookup"])
def test_a_catalog_that_is_not_there(refuses: Callable[..., str], verb: str) -> None:
    options = {
        "create": ["--columns", "id", *NAME],
        "lookup": ["--where", "id = 1"],
    }.get(verb, [])
    message = refuses("index", verb, "iceberg://nowhere/sales.orders", *options)
    assert 'no catalog "nowhere"' in message


@pytest.mark.usefixtures("table")
def test_a_column_that_is_not_there(refuses: Callable[..., str]) -> None:
    message = refuses(*CREATE, "--columns", "id,emial")
    assert 'there is no column "emial"' in message
    assert message.endswith("Did you mean email?")


@pytest.mark.usefixtures("table")
def test_a_column_that_is_named_twice(refuses: Callable[..., str]) -> None:
    message = refuses(*CREATE, "--columns", "id,address.city,Address.City")
    assert 'one column is named more than once, as "address.city" and "Address.City"' in message


@pytest.mark.usefixtures("table")
def test_a_name_of_folders_is_no_column(refuses: Callable[..., str]) -> None:
    message = refuses(*CREATE, "--columns", "kind")
    hint = "There are folders for that (kind=a): readers choose among them by themselves."
    assert message == f'events: there is no column "kind". {hint}'


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("column", "words"),
    [("active", ["BOOLEAN"]), ("address", ["address.city"])],
)
def test_a_column_that_cannot_be_indexed(
    refuses: Callable[..., str], column: str, words: list[str]
) -> None:
    message = refuses(*CREATE, "--columns", f"id,{column}")
    assert [word for word in [column, *words] if word not in message] == []


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("name", ["a/b", "..", ".hidden", "_log", "", "a b", "ä"])
def test_a_name_that_is_no_segment_of_a_path(refuses: Callable[..., str], name: str) -> None:
    message = refuses("index", "create", "events", "--columns", "id", "--name", name)
    assert message.startswith("events: an index cannot have the name ")
    assert "Take letters, digits, _ . and -" in message


def test_words_of_the_library_in_the_name_of_a_folder(
    table: Path, refuses: Callable[..., str]
) -> None:
    """Only what the library proposes is said with its option."""
    folder = table.rename(table.parent / "take another name")
    index.create(folder, ["id"], name="ids")
    message = refuses("index", "create", "take another name", "--columns", "id", *NAME)
    assert message == (
        f'{folder}/_bloom_index/ids: there is an index "ids" already, which is ACTIVE. '
        "Refresh it, or take another name (--name)."
    )


@pytest.mark.usefixtures("indexed")
def test_a_name_that_is_taken(refuses: Callable[..., str]) -> None:
    assert "ids" in refuses(*CREATE, "--columns", "id")


@pytest.mark.usefixtures("table")
def test_too_large_an_index(refuses: Callable[..., str]) -> None:
    message = refuses(*CREATE, "--columns", "id", "--max-index-size", "100")
    assert "100 bytes" in message
    options = ("(--expected-items)", "(--fpp)", "(--max-index-size)")
    assert [option for option in options if option not in message] == []


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("verb", ["lookup", "explain"])
def test_there_is_no_index_to_ask(refuses: Callable[..., str], verb: str) -> None:
    message = refuses("index", verb, "events", "--where", "id = 1")
    assert "there is no index" in message
    assert message.endswith("Type: bloomify index create events --columns ...")


@pytest.mark.usefixtures("indexed")
@pytest.mark.parametrize("verb", ON_ONE)
def test_there_is_no_index_of_that_name(refuses: Callable[..., str], verb: str) -> None:
    message = refuses("index", verb, "events", "--name", "mails")
    assert message.endswith('there is no index "mails". There are: ids.')


@pytest.mark.parametrize("verb", ["delete", "restore", "vacuum", "cancel"])
def test_no_name_is_given(indexed: Path, refuses: Callable[..., str], verb: str) -> None:
    index.create(indexed, ["email"], name="mails")
    index.delete(indexed, name="mails")
    message = refuses("index", verb, "events")
    choice = "there are ids (ACTIVE), mails (DELETED)"
    assert message == f"say which index with --name; {choice}. See bloomify index {verb} --help."


@pytest.mark.parametrize("verb", ["refresh", "show", "optimize"])
def test_the_only_index_that_is_not_deleted_is_meant(
    indexed: Path, invoke: Invoke, verb: str
) -> None:
    index.create(indexed, ["email"], name="mails")
    index.delete(indexed, name="mails")
    code, shown, errors = found(invoke("index", verb, "events"))
    assert (code, errors) == (0, "")
    assert shown.startswith("ids: ")
    index.delete(indexed, name="ids")
    code, _, errors = found(invoke("index", verb, "events"))
    assert (code, "there are ids (DELETED), mails (DELETED)" in errors) == (2, True)


@pytest.mark.usefixtures("table")
def test_no_name_is_given_and_there_is_none(refuses: Callable[..., str]) -> None:
    message = refuses("index", "refresh", "events")
    command = "bloomify index create events --columns ..."
    assert message.startswith(f"the table has no index. Type: {command}")


@pytest.mark.usefixtures("table")
def test_a_name_is_given_and_there_is_none(refuses: Callable[..., str]) -> None:
    message = refuses("index", "refresh", "events", "--name", "mails")
    assert message.endswith("Type: bloomify index create events --name mails --columns ...")


@pytest.mark.usefixtures("table")
def test_no_columns_are_given(invoke: Invoke) -> None:
    code, shown, complaint = found(invoke(*CREATE))
    assert (code, shown) == (2, "")
    first, _, choice = complaint.rstrip("\n").partition("\n")
    title, columns, example = choice.split("\n\n")
    assert first == "bloomify: name the columns to index with --columns."
    assert title == "The columns of events/kind=a/part-0.parquet:"
    assert ["active", "BOOLEAN", "(no", "filters)"] in [
        line.split() for line in columns.splitlines()
    ]
    assert example == "For example: bloomify index create events --columns id --name ids"


@pytest.mark.usefixtures("indexed")
@pytest.mark.parametrize("verb", ["lookup", "explain"])
def test_nothing_is_looked_for(refuses: Callable[..., str], verb: str) -> None:
    message = refuses("index", verb, "events")
    assert message.startswith('say what to look for, as in --where "id = 42" or --eq id=42. ')


@pytest.mark.usefixtures("indexed")
def test_what_is_no_condition(refuses: Callable[..., str]) -> None:
    assert "cannot be parsed" in refuses("index", "lookup", "events", "--where", "id = = 3")
    message = refuses("index", "lookup", "events", "--where", "id = 1", "--null")
    assert message.startswith("--null goes with --files. ")
    options = ["--where", "id = 1", "--files", "--json"]
    assert "--files and --json exclude each other" in refuses("index", "lookup", "events", *options)


@pytest.mark.usefixtures("table")
def test_rates_of_columns_that_are_not_indexed(refuses: Callable[..., str]) -> None:
    message = refuses(*CREATE, "--columns", "id", "--fpp", "email=0.1")
    assert message.startswith("--fpp speaks of the column 'email', --columns does not. ")
    assert "not a probability" in refuses(*CREATE, "--columns", "id", "--fpp", "id=2")
    assert "more than one" in refuses(*CREATE, "--columns", "id", "--fpp", "0.1", "--fpp", "0.2")


@pytest.mark.usefixtures("table")
def test_a_folder_in_the_place_of_a_command(refuses: Callable[..., str]) -> None:
    message = refuses("index", "events")
    proposal = 'as in "bloomify index list events"'
    assert message == f"say what to do with the table, {proposal}. See bloomify index --help."
    assert refuses("index", "creat", "events") == (
        'there is no command of the name "creat". Did you mean create? See bloomify index --help.'
    )


@pytest.mark.usefixtures("folder")
def test_no_command_at_all_gets_help(invoke: Invoke) -> None:
    code, shown, help_ = found(invoke("index"))
    assert (code, shown) == (2, "")
    assert help_.startswith("Usage: bloomify index COMMAND DIR [OPTIONS]\n")


def test_files_called_index_are_still_files(events: Path, invoke: Invoke) -> None:
    for name in ("index.parquet", "index"):
        events.with_name(name).write_bytes(events.read_bytes())
    assert invoke("index.parquet", "--columns", "id").stdout.startswith("index.parquet: 2 filters")
    assert invoke("./index", "--columns", "id").stdout.startswith("./index: 2 filters added")


def test_a_list_of_none_says_how_to_make_one(table: Path, invoke: Invoke) -> None:
    code, shown, note = found(invoke("index", "list", "events"))
    assert (code, shown) == (0, "")
    assert note == (
        "bloomify: events: there is no index. Type: bloomify index create events --columns ...\n"
    )
    index.create(table, ["id"], name="ids")
    note = invoke("index", "list", "events/kind=a").stderr
    assert note == (
        f"bloomify: events/kind=a: there is no index here, but there are indexes of {table}.\n"
    )
    for verb in ("delete", "vacuum"):
        assert invoke("index", verb, "events", "--name", "ids").exit_code == 0
    for place in ("events", "events/kind=a"):
        assert "Type: bloomify index create" in invoke("index", "list", place).stderr


def begin(table: Path, state: State) -> None:
    """Leave the index as a process does that is killed at work."""
    log = IndexLog(str(table / "_bloom_index/ids"))
    stable = log.latest_stable()
    assert stable is not None
    begun = replace(stable, id=stable.id + 1, state=state, action="refresh incremental")
    assert log.write(begun)


@pytest.mark.parametrize("verb", ["refresh", "optimize", "delete", "vacuum"])
def test_somebody_else_is_at_work(indexed: Path, refuses: Callable[..., str], verb: str) -> None:
    begin(indexed, State.REFRESHING)
    message = refuses("index", verb, "events", *NAME, code=5)
    assert 'the index "ids" is REFRESHING since ' in message
    assert message.endswith("Type: bloomify index cancel events --name ids")


def test_what_a_killed_command_leaves_is_cancelled(indexed: Path, invoke: Invoke) -> None:
    begin(indexed, State.REFRESHING)
    listed = invoke("index", "list", "events").stdout
    (busy,) = [line for line in listed.splitlines() if line.startswith("busy ")]
    assert busy.startswith("busy       ids: REFRESHING since ")
    command = "bloomify index cancel events --name ids"
    assert busy.endswith(f"; if that command has died: {command}")
    assert invoke("index", "lookup", "events", "--where", "id = 5000").exit_code == 1
    shown = invoke(*command.split()[1:]).stdout
    assert shown == "ids: cancelled; the last stable version is in force, ACTIVE\n"
    assert invoke("index", "refresh", "events", *NAME).exit_code == 0


def test_an_error_as_json(indexed: Path, invoke: Invoke) -> None:
    begin(indexed, State.OPTIMIZING)
    result = invoke("index", "refresh", "events", *NAME, "--json")
    whole = json.loads(result.stdout)
    assert result.exit_code == 5
    assert sorted(whole) == ["command", "failed", "seconds", "version"]
    assert whole["command"] == "index refresh"
    (failed,) = whole["failed"]
    assert (failed["path"], failed["error"], failed["exit_code"]) == ("events", "IndexBusy", 5)
    assert result.stderr == f"bloomify: {failed['message']}\n"


def test_a_log_that_cannot_be_read(indexed: Path, invoke: Invoke) -> None:
    for entry in (indexed / "_bloom_index/ids/_log").iterdir():
        entry.write_text("{")
    code, shown, errors_ = found(invoke("index", "list", "events"))
    assert (code, errors_) == (0, "")
    assert [line.split()[:2] for line in shown.splitlines()[1:2]] == [["ids", "-"]]
    assert any(line.startswith("problem    ids: ") for line in shown.splitlines())
    assert invoke("index", "refresh", "events", *NAME).exit_code == 5
    result = invoke("index", "lookup", "events", "--where", "id = 5000")
    assert (result.exit_code, "(INDEX_BROKEN)" in result.stderr) == (0, True)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_the_index_cannot_be_written(
    table: Path, refuses: Callable[..., str], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), str(table / "_bloom_index"))

    monkeypatch.setattr(index, "create", fail, raising=False)
    message = refuses(*CREATE, "--columns", "id", code=6)
    assert message.startswith(f"{table}/_bloom_index: {os.strerror(number).lower()}. ")
    assert message.endswith("An index can also be created elsewhere, with --home.")
    assert "unchanged" not in message


def test_a_bug(refuses: Callable[..., str], indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("unthought of")

    monkeypatch.setattr(index, "lookup", fail, raising=False)
    message = refuses("index", "lookup", "events", "--where", "id = 1", code=70)
    hint = "This is a bug; BLOOMIFY_DEBUG=1 shows where."
    assert message == f"events: RuntimeError: unthought of. {hint}"
    assert indexed.exists()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.IndexNotFound("x"), ExitCode.USAGE),
        (errors.IndexBusy("x"), ExitCode.REFUSED),
        (errors.IndexProblem("x"), ExitCode.REFUSED),
    ],
)
def test_each_error_has_its_code(error: Exception, code: ExitCode) -> None:
    assert exit_code_of(error) is code


def test_the_defaults_are_those_of_the_library() -> None:
    parameters = {one.name: one for one in create.params}
    sizes = [parameters[name].default for name in ("max_filter_size", "max_index_size")]
    assert sizes == [f"{config.MAX_FILE_BYTES >> 20}MiB", f"{config.MAX_TOTAL_BYTES >> 30}GiB"]
    assert DEFAULT_FPP == config.DEFAULT_FPP


def test_a_table_of_another_format(table: Path, refuses: Callable[..., str]) -> None:
    (table / "_delta_log").mkdir()
    message = refuses(*CREATE, "--columns", "id")
    assert f"events: the files belong to a table of another format: {table}/_delta" in message
    assert "cannot be indexed" in message


def test_a_folder_may_be_called_like_a_remedy(folder: Path, invoke: Invoke) -> None:
    write_table(folder / "take another name")
    line = ["index", "create", "take another name", "--columns", "id", *NAME]
    assert invoke(*line).exit_code == 0
    where = folder / "take another name" / "_bloom_index" / "ids"
    remedy = "Refresh it, or take another name (--name)."
    complaint = f'{where}: there is an index "ids" already, which is ACTIVE. {remedy}'
    assert found(invoke(*line)) == (2, "", f"bloomify: {complaint}\n")
