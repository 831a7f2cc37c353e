"""Fresh processes whose threads import libraries at the same time: no healthy file fails by it."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.delta_tables import make_table
from tests.support.draws import drawn
from tests.support.first_use import USES
from tests.support.iceberg_tables import plain

if TYPE_CHECKING:
    from tests.support.iceberg_tables import Warehouse

ROOT = Path(__file__).parents[3]
PATH = os.pathsep.join((str(ROOT), str(ROOT / "cli")))
HEALTHY = [f"part-{number:02}.parquet" for number in (0, 3, 6, 9)]
SLOWLY = "from tests.support import slow_imports; slow_imports.install(1); "
COMMAND = "import sys; sys.argv[0] = 'bloomify'; from bloomify.main import main; main()"
LOOP = """
import sys
from parquet_bloomwriter import bloomify, for_each_file
for outcome in for_each_file(sys.argv[1], lambda path: bloomify(path, ["id"]), jobs=4):
    print(outcome.path.rpartition("/")[2], type(outcome.error).__name__)
"""
ONE_CORE = """
import os, sys
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
sys.setswitchinterval(1e-5)
"""
DURING_AN_IMPORT = """
import time
from tests.support import slow_imports
slow_imports.install(1, ["pyarrow"], most_s=0.05)

def add(path, columns):
    while "part-00" not in path and "pyarrow" not in sys.modules:
        time.sleep(0.001)
    return bloomify(path, columns)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four files with the column `id`, and eight that are refused early, as they have none."""
    path = tmp_path / "parts"
    path.mkdir()
    for number in range(12):
        name = "a" if number % 3 else "id"
        rows = pa.table({name: range(50), "t": [f"x{row}" for row in range(50)]})
        pq.write_table(rows, path / f"part-{number:02}.parquet")
    return path


def run(program: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": PATH},
        check=False,
    )


def check_loop(folder: Path, program: str = LOOP) -> None:
    done = run(program, folder)
    assert (done.returncode, done.stderr) == (0, "")
    names = sorted(path.name for path in folder.glob("*.parquet"))
    kinds = {True: "NoneType", False: "ColumnNotFound"}
    assert done.stdout.splitlines() == [f"{name} {kinds[name in HEALTHY]}" for name in names]


def check_command(folder: Path, before: str) -> None:
    done = run(before + COMMAND, folder, "--columns", "id", "--jobs", "4", "--json")
    said = json.loads(done.stdout)
    assert [Path(one["path"]).name for one in said["files"]] == HEALTHY
    assert {one["exit_code"] for one in said["failed"]} == {2}
    assert (len(said["failed"]), done.returncode) == (8, 3)


def test_files_that_begin_while_pyarrow_is_imported(folder: Path) -> None:
    check_loop(folder, DURING_AN_IMPORT + LOOP.replace(": bloomify(", ": add("))


def test_first_use_of_the_library(folder: Path) -> None:
    """Let threads use the library, each in another way; imports are slow."""
    seed, names = str(secrets.randbelow(1000)), drawn(sorted(USES), 8)
    arguments = (seed, str(folder / HEALTHY[0]), *names)
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.first_use", *arguments],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": PATH},
        check=False,
    )
    assert (done.stdout, done.stderr) == ("{}\n", ""), f"again: first_use {' '.join(arguments)}"


def test_a_busy_machine(folder: Path) -> None:
    """Threads take turns on one core, and each turn is short."""
    check_loop(folder, ONE_CORE + LOOP)
    check_command(folder, ONE_CORE)


@pytest.mark.shares
def test_commands_say_what_one_thread_says(
    folder: Path, tmp_path: Path, warehouse: Warehouse
) -> None:
    """Each verb of one of three tables, drawn anew in each run."""
    delta = make_table(tmp_path / "delta", num_files=6, rows=50)
    iceberg = warehouse.url(plain(warehouse).name)
    tables = (str(folder), str(delta), iceberg)
    options = {"add": ("--columns", "id", "--dry-run"), "strip": ("--dry-run",)}
    for verb in ("inspect", "verify", "advise", "add", "strip"):
        command = (verb, drawn(tables, 1)[0], *options.get(verb, ()))
        said = [document(*command, jobs=jobs) for jobs in (1, 4)]
        assert said[0] == said[1], command


def document(*command: str, jobs: int) -> Any:  # noqa: ANN401  JSON
    before = SLOWLY if jobs > 1 else ""
    done = run(before + COMMAND, *command, "--jobs", str(jobs), "--json")
    assert done.returncode in {0, 1, 3}, (command, done.stdout, done.stderr)
    said = json.loads(done.stdout)
    del said["seconds"]
    return done.returncode, said
