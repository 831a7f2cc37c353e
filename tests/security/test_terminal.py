"""No text from a file, a path or a command line reaches a terminal as anything but text.

Commands and options are those that click knows: one that comes later is tried as well.
"""

from __future__ import annotations

import os
import pty
import random
import select
import shutil
import subprocess
import sys
from operator import itemgetter
from typing import TYPE_CHECKING

import pytest

from bloomify.console.table import table
from campaigns.security.commands import (
    EVIL,
    INDEX,
    Printed,
    base,
    commands,
    lines_of,
    run,
    takes_json,
)
from campaigns.security.hostile import MARK, PAYLOADS, faults, names
from campaigns.security.logs import append, index_folder, make_hostile
from campaigns.security.tables import Table, hostile_table
from parquet_bloomwriter import index
from parquet_bloomwriter.reports.summary import Column
from parquet_bloomwriter.reports.summary import Table as Shown
from tests.support.draws import drawn

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.xdist_group("terminal")  # what is made once takes seconds

HANG_SECONDS = 60


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Table:
    made = hostile_table(tmp_path_factory.mktemp("original"))
    index.create(made.folder, [made.column, "id"], name=INDEX)
    return made


@pytest.fixture
def hostile(original: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    """Return a copy, which may be changed; the current folder is an empty one."""
    folder = tmp_path / original.folder.parent.name / original.folder.name
    shutil.copytree(original.folder, folder)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    file = folder / original.file.name
    return Table(folder=folder, file=file, column=original.column, value=original.value)


@pytest.mark.parametrize("words", commands())
def test_every_command_with_every_option(hostile: Table, words: str) -> None:
    """With half of the options in each run; the torture takes all."""
    command = commands()[words]
    usual, *others = lines_of(words, command, hostile)
    for line in (usual, *random.sample(others, len(others) // 2)):
        assert run(line).faults() == [], line
    if takes_json(command):
        shown = run([*base(words, hostile), "--json"], is_terminal=False)
        assert shown.faults(as_json=True) == []


@pytest.mark.parametrize("words", [words for words in commands() if words.startswith("index")])
def test_an_index_whose_log_is_hostile(hostile: Table, words: str) -> None:
    """In one of three states, another in each run."""
    (state,) = drawn(["ACTIVE", "DELETED", "REFRESHING"], 1)
    folder = index_folder(hostile.folder, INDEX)
    make_hostile(folder, EVIL)
    append(folder, state=state, action=f"busy {EVIL}")
    line = base(words, hostile)
    for shown in (run(line), run([*line, "--json"], is_terminal=False)):
        assert shown.faults(as_json=not shown.is_terminal) == []
        assert shown.status != 70


@pytest.mark.parametrize("field", ["id", "state", "root", "kind", "manifest", "columns", "format"])
def test_a_log_that_cannot_be_read_is_told_of_safely(hostile: Table, field: str) -> None:
    append(index_folder(hostile.folder, INDEX), **{field: EVIL})
    for words in ("index list", "index show", "index refresh", "index lookup", "index cancel"):
        shown = run(base(words, hostile))
        assert shown.faults() == []
        assert shown.status != 70


def test_each_payload_as_column_path_and_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for kind, text in PAYLOADS.items():
        for line in (
            ["add", f"./{text}", "--columns", names()[kind]],
            ["probe", text, "--eq", f"{text}={text}"],
            ["inspect", f"file://{tmp_path}/{text}"],
            ["index", "lookup", ".", "--where", f'"{text}" = {text!r}'],
            [text, text],
        ):
            assert run(line).faults() == [], line
        assert run(["inspect", f"./{text}"], is_terminal=False).faults() == [], kind


def test_paths_for_programs_are_bytes_and_for_people_text(hostile: Table) -> None:
    line = [*base("index lookup", hostile), "--files"]
    assert run(line).faults() == []
    piped = run([*line, "--null"], is_terminal=False)
    assert os.fsencode(piped.out).endswith(b".parquet\0")
    assert str(hostile.file) in piped.out.split("\0")


@pytest.mark.parametrize("words", ["verify", "index list", "add"])
def test_a_real_terminal(hostile: Table, words: str) -> None:
    shown = _on_a_terminal(base(words, hostile))
    assert shown.status in {0, 1, 3}
    assert "\x1b[1m" in shown.out
    assert shown.faults() == []


def _on_a_terminal(line: list[str]) -> Printed:
    """Run a command in its own process, whose streams are a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "bloomify", *line], stdout=theirs, stderr=theirs, stdin=theirs
    )
    os.close(theirs)
    read = b""
    try:
        while select.select([ours], [], [], HANG_SECONDS)[0]:
            read += os.read(ours, 1 << 16)
    except OSError:  # what Linux says at the end of a terminal
        pass
    finally:
        os.close(ours)
    status = process.wait(HANG_SECONDS)
    out = read.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    return Printed(status=status, out=out, err="", is_terminal=True)


def test_dangers_are_found() -> None:
    dangerous = set(PAYLOADS) - {"formats", "shell", "option", "long", "wide", "combining"}
    dangerous -= {"right to left", "markup", "empty", "blanks"}
    assert {kind for kind, text in PAYLOADS.items() if faults(text)} == dangerous
    assert faults(f"a table\n{MARK} of contents") == ["a name begins a line of its own"]
    assert faults("\x1b[1mours\x1b[0m", is_terminal=True) == []


def test_a_long_name_makes_no_table_much_larger_than_itself() -> None:
    rows = [["n" * 100_000, "1"], *[[f"column{i}", "2"] for i in range(1_000)]]
    columns = (Column("column", itemgetter(0), is_text=True), Column("n", itemgetter(1)))
    shown = table(Shown(columns=columns, rows=rows), columns=None)
    assert rows[0][0] in shown
    assert len(shown) < 1_000_000
