"""Which kernels are taken, and what is said where the C is missing."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from parquet_bloomwriter import kernels as chosen
from parquet_bloomwriter.kernels import CHOICE, layout, reference

Kernels: TypeAlias = Any
"""The reference or the compiled module, which carries no types."""

MISSING = "import sys; sys.modules['parquet_bloomwriter.kernels._compiled'] = None\n"
ASK = "from parquet_bloomwriter import kernels; print(kernels.COMPILED, kernels.MISSING is None)"


def run(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_tests_run_on_the_compiled_kernels() -> None:
    assert (os.environ.get(CHOICE) != "reference") == chosen.COMPILED


def test_an_installation_takes_the_compiled_kernels() -> None:
    done = run(ASK)
    assert (done.stdout, done.stderr) == ("True True\n", "")


def test_the_reference_can_be_asked_for() -> None:
    done = run(ASK, **{CHOICE: "reference"})
    assert (done.stdout, done.stderr) == ("False True\n", "")


def test_missing_kernels_are_said_once_with_the_remedy() -> None:
    done = run(f"{MISSING}{ASK}; import parquet_bloomwriter.sbbf")
    assert done.stdout == "False False\n"
    assert done.stderr.count("the C kernels are not compiled") == 1
    assert f"SlowKernels: {chosen_sentence()}" in done.stderr


def test_a_package_that_is_installed_is_to_be_installed_again(tmp_path: Path) -> None:
    assert chosen.why_missing(tmp_path) == (
        "the C kernels are not compiled, so filters take far longer. Install a C compiler, and "
        "then the package again."
    )


def test_a_checkout_is_to_be_left_or_compiled(tmp_path: Path) -> None:
    home = tmp_path / "a clone"
    home.mkdir()
    (home / "pyproject.toml").touch()
    assert chosen.why_missing(home) == (
        f"Python has taken the package from {home}, where the C kernels are not compiled, so "
        "filters take far longer. Change to another folder, or type: pip install -e "
        f"'{home}'"
    )


def test_missing_kernels_that_are_asked_for_fail() -> None:
    assert "ModuleNotFoundError" in run(MISSING + ASK, **{CHOICE: "compiled"}).stderr
    assert 'must be "compiled" or "reference"' in run(ASK, **{CHOICE: "fast"}).stderr


STALE = """
import pathlib, types
real = pathlib.Path.stat
def stat(path, **options):
    is_old = path.name.startswith("_compiled")
    return types.SimpleNamespace(st_mtime_ns=1) if is_old else real(path, **options)
pathlib.Path.stat = stat
"""
"""Lets the extension look as if it were compiled in 1970."""


def test_kernels_older_than_their_sources_are_not_taken() -> None:
    done = run(STALE + ASK)
    assert done.stdout == "False False\n"
    assert "older than their sources" in done.stderr
    assert "older than their sources" in run(STALE + ASK, **{CHOICE: "compiled"}).stderr


COMMAND = MISSING + "import sys; from bloomify.main import main; sys.argv[1:] = {}; main()"


@pytest.mark.parametrize("options", [[], ["--quiet"]])
def test_the_command_says_it_in_one_line(tmp_path: Path, options: list[str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = tmp_path / "file.parquet"
    pq.write_table(pa.table({"id": [1, 2, 3]}), file)
    done = run(COMMAND.format([str(file), "--columns", "id", *options]))
    assert done.returncode == 0
    assert done.stderr.splitlines() == ([] if options else [f"bloomify: {chosen_sentence()}"])


def chosen_sentence() -> str:
    home = Path(chosen.__file__).parents[2]  # The tests run in a checkout.
    return (
        f"Python has taken the package from {home}, where the C kernels are not compiled, so "
        f"filters take far longer. Change to another folder, or type: pip install -e {home}"
    )


def test_the_version_says_it() -> None:
    done = run(COMMAND.format(["--version"]))
    assert (done.stdout.splitlines()[1:], done.stderr) == ([chosen_sentence()], "")
    asked = run(COMMAND.format(["--version"]), **{CHOICE: "reference"})
    assert CHOICE in asked.stdout.splitlines()[1]


def test_both_have_the_same_functions_but_those_that_read_files(compiled: Kernels) -> None:
    functions = {name for name in dir(compiled) if inspect.isbuiltin(getattr(compiled, name))}
    functions -= {"variants", "choose_variant"}
    read_files = {"walk_file", "read_pieces", "probe_usual", "probe_groups"}
    theirs = {name for name, value in vars(reference).items() if inspect.isfunction(value)}
    assert functions - read_files == theirs
    assert functions <= set(dir(chosen))


def test_both_have_the_same_numbers(compiled: Kernels) -> None:
    numbers = {name: value for name, value in vars(compiled).items() if name.isupper()}
    assert len(numbers) == 21
    assert numbers == {name: getattr(layout, name) for name in numbers}


def test_the_first_kernel_imports_little() -> None:
    done = run("import sys; from parquet_bloomwriter import kernels; print('numpy' in sys.modules)")
    assert done.stdout == "False\n"
