"""The commands and programs of the README, run as they stand; all links."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Invoke

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    """The blocks of code in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


SHELL = blocks(README, "sh")
PROGRAMS = blocks(README, "python")
COMMANDS = [
    line.partition("  #")[0].rstrip()
    for block in SHELL
    for line in block.splitlines()
    if line.startswith("bloomify ") and not line.startswith("bloomify index ")
]


@pytest.fixture
def sample(folder: Path) -> Path:
    """Make what the README speaks of: events.parquet and a folder warehouse."""
    table = pa.table(
        {
            "id": range(100),
            "email": [f"user{i}@mail.example" for i in range(100)],
            "address": [{"city": f"city {i}"} for i in range(100)],
        }
    )
    pq.write_table(table, folder / "events.parquet")
    (folder / "warehouse/year=2026").mkdir(parents=True)
    shutil.copy(folder / "events.parquet", folder / "warehouse/year=2026/november.parquet")
    return folder


def run(command: str) -> str:
    """Run one line in a shell where `bloomify` is this one, in a process of its own."""
    function = f'bloomify() {{ "{sys.executable}" -m bloomify "$@"; }}\n'
    result = subprocess.run(
        ["/bin/sh", "-ec", function + command],
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    assert result.stderr == ""
    return result.stdout


def test_there_are_commands_to_test() -> None:
    verbs = {command.split()[1] for command in COMMANDS}
    assert {"events.parquet", "warehouse/", "strip", "probe"} <= verbs
    assert len(PROGRAMS) == 1


@pytest.mark.usefixtures("sample")
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_works(invoke: Invoke, command: str) -> None:
    done = invoke(*shlex.split(command)[1:])
    assert (done.exit_code, done.stdout != "") == (0, True)
    assert done.stderr == ""


def test_the_first_block_in_order(sample: Path) -> None:
    original = (sample / "events.parquet").read_bytes()
    for command in (line for line in SHELL[0].splitlines() if line.startswith("bloomify ")):
        run(command)
    assert (sample / "events.parquet").read_bytes() == original
    assert (sample / "new.parquet").exists()


@pytest.mark.usefixtures("sample")
def test_the_programs_work_in_order() -> None:
    """In one process, but each without the names of those before it."""
    every = f"for program in {PROGRAMS!r}:\n    exec(program, {{'__name__': '__main__'}})"
    command = [sys.executable, "-c", every]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    (shown,) = blocks(README, "text")
    assert shown in printed


@pytest.mark.usefixtures("sample")
def test_the_commands_for_an_index_in_order(invoke: Invoke) -> None:
    lines = (line for block in SHELL for line in block.splitlines())
    commands = [line for line in lines if line.startswith("bloomify index ")]
    assert [command.split()[2] for command in commands] == ["create", "lookup"]
    for command in commands:
        done = invoke(*shlex.split(command)[1:])
        assert (done.exit_code, done.stdout != "", done.stderr) == (0, True, "")


PAGES = sorted(
    str(page.relative_to(ROOT)) for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
)


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^):]+)\)", (ROOT / page).read_text()):
            path, _, heading = target.partition("#")
            text = ((ROOT / page).parent / path).read_text() if path else (ROOT / page).read_text()
            anchors = {_anchor(line) for line in text.splitlines() if line.startswith("#")}
            assert not heading or heading in anchors, (page, target)


MAPS = ("CONTRIBUTING.md", "docs/how-it-works/design.md", "docs/reference/glossary.md")
BASES = (ROOT, ROOT / "parquet_bloomwriter")


@pytest.mark.parametrize("page", MAPS)
def test_files_that_pages_name_are_there(page: str) -> None:
    named = re.findall(r"`(\w+/[\w./]+)`", (ROOT / page).read_text())
    ours = [one for one in named if "NAME" not in one]
    assert ours
    assert [one for one in ours if not any((base / one).exists() for base in BASES)] == []


def _anchor(heading: str) -> str:
    """What GitHub makes of a heading."""
    return re.sub(r"[^\w -]", "", heading.lstrip("#").strip().lower()).replace(" ", "-")


def test_figures_are_those_of_the_benchmarks() -> None:
    """What the tables at the beginning say was measured, `make bench` has measured."""
    page = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    section = page.partition("## What filters save")[2].partition("\n## ")[0]
    for text in (README, (ROOT / "docs" / "index.md").read_text("utf-8")):
        tables = text.partition("Measured on one file")[2].partition("\n## ")[0]
        tables = re.sub(r"^[^|].*$", "", tables, flags=re.MULTILINE)
        figures = re.findall(r"\d[\d,.]* (?:ms|s|MB|%)", tables)
        assert len(figures) >= 18
        assert [figure for figure in figures if figure not in section] == []
