"""The commands and programs of the README, run as they stand."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()
SHELL, PYTHON = (
    re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    for language in ("sh", "python")
)
COMMANDS = [
    line.partition("  #")[0].rstrip()
    for block in SHELL
    for line in block.splitlines()
    if line.startswith("bloomify ")
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
    (folder / "warehouse/2026").mkdir(parents=True)
    shutil.copy(folder / "events.parquet", folder / "warehouse/2026/november.parquet")
    return folder


def run(command: str) -> str:
    """Run one line in a shell where `bloomify` is this one."""
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
    assert {"events.parquet", "warehouse/", "strip", "repair"} <= verbs
    assert len(PYTHON) == 3


@pytest.mark.usefixtures("sample")
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_works(command: str) -> None:
    assert run(command) != ""


def test_the_first_block_in_order(sample: Path) -> None:
    original = (sample / "events.parquet").read_bytes()
    for command in (line for line in SHELL[0].splitlines() if line.startswith("bloomify ")):
        run(command)
    assert (sample / "events.parquet").read_bytes() == original
    assert (sample / "new.parquet").exists()


@pytest.mark.usefixtures("sample")
@pytest.mark.parametrize("program", PYTHON)
def test_each_program_works(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("target", re.findall(r"\]\(([^):]+)\)", README))
def test_links_lead_somewhere(target: str) -> None:
    assert (Path(__file__).resolve().parents[2] / target).is_file()
