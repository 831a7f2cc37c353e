"""What is refused before the first file is touched: mistyped commands, missing files, pipes."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from typing import TYPE_CHECKING

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Invoke

    Listing = Callable[[], dict[str, bytes]]

REWRITING = (["add", "--columns", "id"], ["strip"], ["repair"])
WHY = "a pipe can be neither read from its end nor verified nor replaced"


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("verfy", " Did you mean verify?"),
        ("PROBE", " Did you mean probe?"),
        ("insp", " Did you mean inspect?"),
        ("probe.pq", " Did you mean probe?"),
        ("events", ""),
        ("lookup", " Did you mean index lookup?"),
        ("refrsh", " Did you mean index refresh?"),
    ],
)
@pytest.mark.parametrize("options", [["--columns", "email"], ["--where", "id = 1"], []])
def test_a_mistyped_command_rewrites_nothing(  # noqa: PLR0913, PLR0917
    events: Path,
    invoke: Invoke,
    listing: Listing,
    typed: str,
    sentence: str,
    options: list[str],
) -> None:
    before = listing()
    result = invoke(typed, events.name, *options)
    message = f'there is neither a command nor a file of the name "{typed}".{sentence}'
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"bloomify: {message} See bloomify --help.\n"
    assert listing() == before


@pytest.mark.parametrize(
    ("arguments", "near"),
    [
        (["--json", "verify"], "verify"),
        (["--columns", "id", "verfy"], "verify"),
        (["events.parquet", "lookup"], "index lookup"),
    ],
)
def test_a_command_in_another_place_is_no_file(
    events: Path, invoke: Invoke, listing: Listing, arguments: list[str], near: str
) -> None:
    before = listing()
    result = invoke(*arguments, events.name)
    assert (result.exit_code, result.stdout) == (2, "")
    message = f'bloomify: there is no file of the name "{arguments[-1]}". '
    assert (
        result.stderr
        == message + f"Commands stand first: bloomify {near} ... See bloomify --help.\n"
    )
    assert listing() == before
    shutil.copy(events, arguments[-1])
    assert invoke(*arguments, events.name, "--columns", "id", "--quiet").exit_code == 0


@pytest.mark.parametrize("missing", ["verify.parquet", "./verify", "events2"])
def test_a_missing_file_behind_an_option(events: Path, invoke: Invoke, missing: str) -> None:
    result = invoke("--columns", "id", missing, events.name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no such file" in result.stderr


def test_a_file_may_be_called_as_it_likes(events: Path, invoke: Invoke) -> None:
    for name in ("verfy", "x", "verify.d"):
        shutil.copy(events, name)
        assert invoke(name, "--columns", "id").exit_code == 0
    assert invoke("nothing*", "--columns", "id").stderr == (
        'bloomify: no file matches "nothing*". To look into the folders below, write '
        '"**/nothing*".\n'
    )
    none = invoke("a/**/nothing*", "--columns", "id").stderr
    assert none == 'bloomify: no file matches "a/**/nothing*".\n'
    for name in ("./verfi", "evnts.parquet"):
        result = invoke(name, "--columns", "id")
        message = f"bloomify: {name}: there is no such file. Check the name.\n"
        assert (result.exit_code, result.stderr) == (2, message)


def test_a_mistyped_command_on_indexes(events: Path, invoke: Invoke) -> None:
    result = invoke("index", "crate", events.name)
    message = 'there is no command of the name "crate". Did you mean create?'
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"bloomify: {message} See bloomify index --help.\n"


@pytest.mark.usefixtures("events")
def test_words_that_are_no_files(invoke: Invoke) -> None:
    complaint = invoke("events.parquet", "--columns", "id", "email").stderr
    assert 'there is no file "email"; commas separate columns: --columns id,email' in complaint
    complaint = invoke("events.parquet", "id", "email").stderr
    assert 'there is no file "id"; to name columns: --columns id,email' in complaint
    complaint = invoke("probe", "events.parquet", "id = 42").stderr
    assert 'no file "id = 42"; if it is a condition, write --where before it' in complaint


@pytest.mark.usefixtures("events")
def test_a_mistyped_option(invoke: Invoke) -> None:
    result = invoke("events.parquet", "--placment", "end")
    message = "no such option '--placment'. Did you mean --placement? See bloomify add --help."
    assert (result.exit_code, result.stderr) == (2, f"bloomify: {message}\n")
    for wrong, right in (("--cols", "columns"), ("--col", "columns"), ("--out", "output")):
        assert f"Did you mean --{right}?" in invoke("events.parquet", wrong, "id").stderr
    for words, option in ((("inspect", "x.parquet"), "--html"), (("index", "create"), "--name")):
        message = f"option '{option}' requires an argument. See bloomify {' '.join(words[:2])}"
        shown = invoke(*words, option).stderr
        assert shown.removesuffix(" --help.\n") == f"bloomify: {message.removesuffix(' x.parquet')}"


def test_a_number_that_is_none(invoke: Invoke) -> None:
    message = "invalid value for '--version': '2026-01-01' is not a whole number."
    shown = invoke("inspect", "table", "--version", "2026-01-01").stderr
    assert shown == f"bloomify: {message} See bloomify inspect --help.\n"


def test_a_space_after_a_comma(invoke: Invoke) -> None:
    shown = invoke("x.parquet", "--columns", "id,", "email").stderr
    assert "an empty name is among the columns; write no space after a comma: id,email" in shown


@pytest.mark.parametrize("verb", REWRITING)
@pytest.mark.parametrize("missing", ["gone.parquet", "folder/gone.parquet", "gone/"])
def test_one_missing_input_stops_all(
    events: Path, invoke: Invoke, listing: Listing, verb: list[str], missing: str
) -> None:
    invoke("events.parquet", "--columns", "email")
    before = listing()
    result = invoke(verb[0], events.name, missing, *verb[1:])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"bloomify: {missing}: there is no such file{' or folder' * missing.endswith('/')}. Check "
        "the name.\n"
        "bloomify: no file was changed, as not all of them are there.\n"
    )
    assert listing() == before


def test_missing_inputs_are_in_the_json(events: Path, invoke: Invoke, listing: Listing) -> None:
    before = listing()
    result = invoke("a.parquet", events.name, "b.parquet", "--columns", "id", "--json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["files"]) == (2, [])
    assert [one["path"] for one in document["failed"]] == ["a.parquet", "b.parquet"]
    assert listing() == before


@pytest.mark.parametrize("verb", [*REWRITING, ["verify"], ["inspect"], ["advise"]])
def test_standard_input_is_refused(
    events: Path, invoke: Invoke, listing: Listing, verb: list[str]
) -> None:
    before = listing()
    result = invoke(verb[0], events.name, "-", *verb[1:])
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"'-' would be standard input, and {WHY}; name a file (./- for" in result.stderr
    assert listing() == before


@pytest.mark.parametrize("verb", REWRITING)
@pytest.mark.parametrize("option", ["-o", "--backup-dir"])
def test_standard_output_is_refused(
    events: Path, invoke: Invoke, listing: Listing, verb: list[str], option: str
) -> None:
    before = listing()
    result = invoke(*verb, events.name, option, "-")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"'-' would be standard output, and {WHY}" in result.stderr
    assert listing() == before


def test_pages_do_not_go_to_standard_output(events: Path, invoke: Invoke, listing: Listing) -> None:
    before = listing()
    result = invoke("inspect", events.name, "--html", "-")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'-' would be standard output" in result.stderr
    assert listing() == before


@pytest.mark.parametrize("verb", REWRITING)
def test_pipes_are_refused(events: Path, invoke: Invoke, verb: list[str]) -> None:
    os.mkfifo("pipe")
    before = events.read_bytes()
    for arguments in (["pipe"], [events.name, "-o", "pipe", "--overwrite"]):
        result = invoke(verb[0], *arguments, *verb[1:])
        assert (result.exit_code, result.stdout) == (5, "")
        assert result.stderr.startswith("bloomify: pipe: this is a FIFO. ")
        assert "A pipe can be neither read from its end nor verified nor replaced" in result.stderr
    assert events.read_bytes() == before
    assert sorted(os.listdir()) == ["events.parquet", "pipe"]  # noqa: PTH208


@pytest.mark.parametrize("verb", REWRITING)
@pytest.mark.parametrize("option", ["--output", "--backup-dir"])
def test_an_empty_path_is_not_the_current_folder(
    events: Path, invoke: Invoke, listing: Listing, verb: list[str], option: str
) -> None:
    before = listing()
    result = invoke(verb[0], events.name, option, "", *verb[1:])
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{option}': the path is empty" in result.stderr
    assert listing() == before


def test_an_empty_path_is_no_home_and_no_table(
    events: Path, invoke: Invoke, listing: Listing
) -> None:
    before = listing()
    for arguments in (["", "--name", "x"], [events.name, "--home", ""]):
        result = invoke("index", "create", *arguments, "--columns", "id")
        assert (result.exit_code, result.stdout) == (2, "")
        assert "the path is empty" in result.stderr
    assert listing() == before


def test_a_file_called_minus(events: Path, invoke: Invoke) -> None:
    result = invoke(events.name, "--columns", "id", "-o", "./-")
    assert (result.exit_code, result.stderr) == (0, "")
    assert invoke("strip", "./-").exit_code == 0
    assert events.with_name("-").read_bytes() == events.read_bytes()


@pytest.mark.parametrize(
    ("option", "url", "problem"),
    [
        ("-o", "file:///x.parquet", "'file:///x.parquet' is a URL, and a local path is needed"),
        ("-o", "s3://u:word@bucket/x", "the URL has a user or a password in it"),
        ("-o", "sftp://u:word@host/x", '"sftp://host/x" is given with a password'),
        ("--backup-dir", "s3://bucket/x", "'s3://bucket/x' is a URL, and a local path is needed"),
    ],
)
def test_urls_that_are_no_place_for_results(  # noqa: PLR0913, PLR0917  fixtures
    events: Path, invoke: Invoke, listing: Listing, option: str, url: str, problem: str
) -> None:
    before = listing()
    result = invoke(events.name, "--columns", "id", option, url)
    assert (result.exit_code, result.stdout) == (2, "")
    assert problem in result.stderr
    assert "word" not in result.stderr.replace("password", "")
    assert listing() == before


def test_files_on_other_stores_are_rewritten(events: Path, invoke: Invoke) -> None:
    store = fsspec.filesystem("memory")
    store.pipe("/rewritten/a.parquet", events.read_bytes())
    try:
        result = invoke("memory://rewritten/", "--columns", "id", "-o", "out")
        assert (result.exit_code, result.stderr) == (0, "")
        assert (events.parent / "out" / "a.parquet").exists()
        assert invoke("memory://rewritten/a.parquet", "--columns", "id").exit_code == 5
        named = ("--columns", "id", "-o", "memory://rewritten/b.parquet", "--json")
        document = json.loads(invoke("memory://rewritten/a.parquet", *named).stdout)
        (file,) = document["files"]
        assert (file["output"], file["written"]) == ("memory://rewritten/b.parquet", True)
        assert file["store"]["up"] == store.size("/rewritten/b.parquet")
    finally:
        store.rm("/rewritten", recursive=True)


def test_names_with_commas_are_offered_by_ordinal(folder: Path, invoke: Invoke) -> None:
    names = ["id", "a,b", " edge", "city"]
    pq.write_table(pa.table({name: [1, 2] for name in names}), folder / "t.parquet")
    wrong = invoke("t.parquet", "--columns", "'a,c'")
    typed = re.search(
        r"Did you mean (\S+) \(a,b\)\?", invoke("t.parquet", "--columns", "ab").stderr
    )
    assert typed
    pasted = shlex.split(f"t.parquet --columns {typed[1]}", comments=True)
    result = invoke(*pasted)
    assert (wrong.exit_code, result.exit_code) == (2, 0)
    assert "a,b" in result.stdout
    choice = invoke("t.parquet").stderr
    assert "  a,b    INT64  (type '#1')\n" in choice
    assert "   edge  INT64  (type '#2')\n" in choice
    pq.write_table(pa.table({"a,b": [1, 2]}), folder / "t.parquet")
    example = invoke("t.parquet").stderr.rpartition("For example: bloomify ")[2]
    example = example.splitlines()[0]
    assert invoke(*shlex.split(example, comments=True)).exit_code == 0


def test_indexes_learn_nothing_by_themselves(events: Path, invoke: Invoke) -> None:
    assert invoke("index", "create", ".", "--columns", "id", "--name", "ids").exit_code == 0
    words = "bloomify index refresh . --name ids"
    note = f"bloomify: the index ids knows the files as they were. Type: {words}\n"
    assert invoke(".", "--columns", "id", "--dry-run").stderr == ""
    assert invoke(".", "--columns", "id").stderr == note
    assert invoke(".", "--columns", "id").stderr == ""
    assert invoke("strip", events.name, "-o", "other").stderr == ""
    assert invoke("strip", f"./{events.name}").stderr == note
    assert invoke(*shlex.split(words)[1:]).exit_code == 0


def test_far_options_are_not_proposed(invoke: Invoke) -> None:
    assert (
        invoke("--nope").stderr == "bloomify: no such option '--nope'. See bloomify add --help.\n"
    )


def test_plans_are_shown_on_request(events: Path, invoke: Invoke, listing: Listing) -> None:
    shutil.copy(events, "other.parquet")
    before = listing()
    summary = invoke(".", "--columns", "id", "--dry-run")
    assert (summary.exit_code, summary.stderr) == (0, "")
    assert summary.stdout.count("2 filters would be added") == 2
    assert summary.stdout.endswith("\n4 filters would be added; 2 files looked at.\n")
    assert "old file from" not in summary.stdout
    plan = invoke(".", "--columns", "id", "--dry-run", "--plan")
    assert plan.stdout.count("old file from") == 2
    single = invoke(events.name, "--columns", "id", "--dry-run")
    assert "FPP asked" in single.stdout
    assert "old file from" not in single.stdout
    refused = invoke(".", "--columns", "id", "--plan")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "--plan goes with --dry-run" in refused.stderr
    assert listing() == before


@pytest.mark.parametrize(
    ("options", "warning"),
    [
        (
            ["--max-bytes", "64"],
            "half of the absent values or more pass: --max-bytes is too small for its values",
        ),
        (["--fpp", "1e-30", "--max-bytes", "1M"], " times as large: take a higher --fpp, "),
        (["--fpp", "0.001"], None),
        (["--max-bytes", "128"], None),
    ],
)
def test_options_that_defeat_their_end_get_a_warning(
    events: Path, invoke: Invoke, options: list[str], warning: str | None
) -> None:
    pq.write_table(pa.table({"id": range(200)}), events)
    shutil.copy(events, "other.parquet")
    for inputs in (["events.parquet"], ["events.parquet", "other.parquet"]):
        result = invoke(*inputs, "--columns", "id", "--dry-run", *options)
        assert result.exit_code == 0
        assert ("\nwarning   " in result.stdout) is (warning is not None)
        assert warning is None or warning in result.stdout
        document = invoke(*inputs, "--columns", "id", "--dry-run", "--json", *options).stdout
        assert all(
            bool(file["warnings"]) is (warning is not None)
            for file in json.loads(document)["files"]
        )


@pytest.mark.parametrize(
    "verb", [["add", "--columns", "id"], ["verify"], ["probe", "--where", "id = 5"]]
)
def test_equal_errors_are_told_once(events: Path, invoke: Invoke, verb: list[str]) -> None:
    for i in range(6):
        events.with_name(f"bad{i}.parquet").write_text("this is no Parquet file, but long enough")
    result = invoke(verb[0], ".", *verb[1:])
    assert result.exit_code == 3
    assert result.stderr.count("the last four bytes are not") == 1
    assert (
        "bloomify: 5 other files failed in the same way as ./bad0.parquet: "
        "./bad1.parquet, ./bad2.parquet, ./bad3.parquet and 2 more; --verbose names them.\n"
    ) in result.stderr
    every = invoke(verb[0], ".", *verb[1:], "--verbose").stderr
    assert (
        "./bad1.parquet, ./bad2.parquet, ./bad3.parquet, ./bad4.parquet, ./bad5.parquet.\n" in every
    )


@pytest.mark.parametrize("words", [("strip", "--overwrite"), ("add", "-c", "id", "--dry-run")])
@pytest.mark.parametrize(
    ("given", "output"),
    [
        ("events.parquet", "events.parquet"),
        ("events.parquet", "./x/../events.parquet"),
        ("events.parquet", "link.parquet"),
        ("link.parquet", "events.parquet"),
        ("events.parquet", "hard.parquet"),
        ("events.parquet", "."),
        (".", "."),
    ],
)
def test_an_output_that_is_the_input(
    events: Path, invoke: Invoke, given: str, output: str, words: tuple[str, ...]
) -> None:
    (events.parent / "x").mkdir()
    if "hard" in output:
        (events.parent / "hard.parquet").hardlink_to(events)
    if "link" in output + given:
        (events.parent / "link.parquet").symlink_to(events)
    before = events.read_bytes()
    result = invoke(*words, given, "-o", output)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(
        "bloomify: -o names the input itself. Leave out -o to replace it in place. See "
    )
    assert events.read_bytes() == before
