"""`bloomify index` in processes of its own: signals, terminals, and what starting it costs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter import index
from tests.cli.index_tables import NUM_FILES, write_file, write_table
from tests.cli.test_streams import (
    IMPATIENT,
    on_a_terminal,
    several_on_a_terminal,
    without_bar,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Invoke

CREATE = ["index", "create", "events", "--columns", "id", "--name", "ids"]
REFRESH = ["index", "refresh", "events", "--name", "ids"]

WAIT_AT_WORK = """
import os, time
from parquet_bloomwriter.progress import Bar
done = Bar.done

def wait(self, **done_now):
    os.write(2, b"working\\n")
    for _ in range(3000):  # not for ever, should nobody stop it
        if self._stopped is not None:
            break
        time.sleep(0.01)
    done(self, **done_now)

Bar.done = wait
from bloomify.main import main
main()
"""


@pytest.fixture
def table(folder: Path) -> Path:
    """Write the table `events` without an index."""
    return write_table(folder / "events")


@pytest.fixture
def indexed(table: Path) -> Path:
    """Index it."""
    index.create(table, ["id"], name="ids", fpp=1e-6)
    return table


def interrupted(arguments: list[str], number: signal.Signals) -> tuple[int, str, str]:
    """Run a command line, and send it a signal while it is at work."""
    words = [sys.executable, "-c", WAIT_AT_WORK, *arguments]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "working\n"
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=60)
    return process.returncode, stdout, stderr.replace("working\n", "")


def data_of(listing: dict[str, bytes]) -> dict[str, bytes]:
    """All but the log of the index, which keeps what was begun and given up."""
    return {path: data for path, data in listing.items() if "/_log" not in path}


def test_a_refresh_is_interrupted(indexed: Path, listing: Callable[[], dict[str, bytes]]) -> None:
    write_file(indexed / "new.parquet", 3)
    before, info = listing(), index.index(indexed, name="ids")
    status, shown, complaint = interrupted(REFRESH, signal.SIGTERM)
    assert (status, shown) == (143, "")
    assert complaint == "bloomify: interrupted. The last stable version is in force.\n"
    assert data_of(listing()) == data_of(before)
    after = index.index(indexed, name="ids")
    facts = ("state", "busy", "version", "num_files", "columns", "appended")
    assert [getattr(after, fact) for fact in facts] == [getattr(info, fact) for fact in facts]
    assert index.refresh(indexed, name="ids").appended == 1


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_create_is_interrupted(
    table: Path, listing: Callable[[], dict[str, bytes]], jobs: str
) -> None:
    before = listing()
    status, shown, complaint = interrupted([*CREATE, "--jobs", jobs], signal.SIGINT)
    assert (status, shown) == (130, "")
    assert complaint == "bloomify: interrupted. No index was made.\n"
    assert index.indexes(table) == ()
    left = {path for path in data_of(listing()) if path not in before}
    assert left <= {"events/_bloom_index", "events/_bloom_index/ids"}
    assert index.create(table, ["id"], name="ids").num_files == NUM_FILES


def test_a_killed_refresh_says_how_to_go_on(indexed: Path, invoke: Invoke) -> None:
    write_file(indexed / "new.parquet", 3)
    status, _, _ = interrupted(REFRESH, signal.SIGKILL)
    assert status == -signal.SIGKILL
    refused = invoke(*REFRESH)
    assert refused.exit_code == 5
    _, _, command = refused.stderr.rstrip("\n").partition("Type: bloomify ")
    assert invoke(*command.split()).exit_code == 0
    assert index.refresh(indexed, name="ids").appended == 1


def test_a_bar_shows_on_a_terminal_and_goes_away(table: Path) -> None:
    shown = on_a_terminal(*CREATE, program=("-c", IMPATIENT))
    bar, _, rest = shown.rpartition("\r\x1b[K")
    assert "\r\x1b[Kbloomify   [" in bar
    assert f" of {NUM_FILES} files" in bar
    assert rest.startswith("\x1b[1mids:\x1b[0m created; 8 files indexed")
    index.delete(table, name="ids")
    index.vacuum(table, name="ids")
    assert on_a_terminal(*CREATE, "--quiet", program=("-c", IMPATIENT)) == ""


@pytest.mark.usefixtures("indexed")
def test_what_is_shown_fits_a_terminal() -> None:
    lines = [
        ["index", "lookup", "events", "--where", "id = 83"],
        ["index", "explain", "events", "--where", "id = 83 AND email = 'user83@mail.example'"],
        ["index", "list", "events"],
        ["index", "show", "events", "--name", "ids"],
        ["index", "optimize", "events", "--name", "ids"],
        ["index", "delete", "events", "--name", "ids"],
    ]
    for line, shown in zip(lines, several_on_a_terminal(lines, NO_COLOR="1"), strict=True):
        plain = without_bar(shown)
        assert "\x1b" not in plain, line
        first, *rest = plain.splitlines()  # the first one has the condition, or the folder
        assert first != "", line
        assert max(map(len, rest), default=0) <= 80, line


def test_a_terminal_is_not_told_to_obey_paths(indexed: Path) -> None:
    write_file(indexed / "a\x1b[31m.parquet", 3)
    arguments = ["index", "lookup", "events", "--where", "id = 5000", "--files"]
    shown = without_bar(on_a_terminal(*arguments))
    assert "events/a\\x1b[31m.parquet" in shown.splitlines()
    raw = subprocess.run(
        [sys.executable, "-m", "bloomify", *arguments], check=True, capture_output=True
    )
    assert raw.stdout == b"events/a\x1b[31m.parquet\n"


HEAVY = """
import json, sys
import bloomify.main
bloomify.main._leave = sys.exit
for arguments in json.loads(sys.argv[1]):
    sys.argv[1:] = ["index", *arguments]
    try:
        bloomify.main.main()
    except SystemExit:
        pass
heavy = {"numpy", "pyarrow", "pyspark", "sqlglot", "thrift"}
print(json.dumps(sorted(heavy & set(sys.modules))), file=sys.stderr)
"""


def loaded_by(*lines: list[str]) -> list[str]:
    """Run command lines in one process, and return the heavy modules that they have loaded."""
    result = subprocess.run(
        [sys.executable, "-c", HEAVY, json.dumps(lines)],
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    modules = json.loads(result.stderr.splitlines()[-1])
    assert isinstance(modules, list)
    return modules


def test_help_does_not_load_what_it_does_not_need() -> None:
    assert loaded_by(["--help"], ["create", "--help"], ["lookup", "--help"]) == []


@pytest.mark.usefixtures("indexed")
def test_a_lookup_does_not_load_the_compiler() -> None:
    modules = loaded_by(["lookup", "events", "--where", "id = 83"])
    assert {"pyspark"} & set(modules) == set()
