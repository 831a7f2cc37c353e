"""What is refused before the first file is touched: mistyped commands, missing files, pipes."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

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
        ("help", ""),
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


def test_a_file_may_be_called_as_it_likes(events: Path, invoke: Invoke) -> None:
    for name in ("verfy", "x", "verify.d"):
        shutil.copy(events, name)
        assert invoke(name, "--columns", "id").exit_code == 0
    assert invoke("nothing*", "--columns", "id").stderr == 'bloomify: no file matches "nothing*".\n'
    for name in ("./verfi", "evnts.parquet"):
        result = invoke(name, "--columns", "id")
        message = f"bloomify: {name}: there is no such file. Check the name.\n"
        assert (result.exit_code, result.stderr) == (6, message)


def test_a_mistyped_command_on_indexes(events: Path, invoke: Invoke) -> None:
    result = invoke("index", "crate", events.name)
    message = 'there is no command of the name "crate". Did you mean create?'
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"bloomify: {message} See bloomify index --help.\n"


@pytest.mark.usefixtures("events")
def test_a_mistyped_option(invoke: Invoke) -> None:
    result = invoke("events.parquet", "--placment", "end")
    message = "no such option '--placment'. Did you mean --placement? See bloomify add --help."
    assert (result.exit_code, result.stderr) == (2, f"bloomify: {message}\n")


@pytest.mark.parametrize("verb", REWRITING)
@pytest.mark.parametrize("missing", ["gone.parquet", "folder/gone.parquet", "gone/"])
def test_one_missing_input_stops_all(
    events: Path, invoke: Invoke, listing: Listing, verb: list[str], missing: str
) -> None:
    invoke("events.parquet", "--columns", "email")
    before = listing()
    result = invoke(verb[0], events.name, missing, *verb[1:])
    assert (result.exit_code, result.stdout) == (6, "")
    assert result.stderr == (
        f"bloomify: {missing}: there is no such file. Check the name.\n"
        "bloomify: no file was changed, as not all of them are there.\n"
    )
    assert listing() == before


def test_missing_inputs_are_in_the_json(events: Path, invoke: Invoke, listing: Listing) -> None:
    before = listing()
    result = invoke("a.parquet", events.name, "b.parquet", "--columns", "id", "--json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["files"]) == (6, [])
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


def test_a_file_called_minus(events: Path, invoke: Invoke) -> None:
    result = invoke(events.name, "--columns", "id", "-o", "./-")
    assert (result.exit_code, result.stderr) == (0, "")
    assert invoke("strip", "./-").exit_code == 0
    assert events.with_name("-").read_bytes() == events.read_bytes()


@pytest.mark.parametrize("option", ["-o", "--backup-dir"])
def test_urls_are_no_place_for_results(
    events: Path, invoke: Invoke, listing: Listing, option: str
) -> None:
    before = listing()
    result = invoke(events.name, "--columns", "id", option, "s3://bucket/x.parquet")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'s3://bucket/x.parquet' is a URL, and only local files are rewritten" in result.stderr
    assert listing() == before
