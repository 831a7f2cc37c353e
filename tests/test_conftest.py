"""What the tests' own configuration promises: new examples in each run of CI, one Spark, an end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = """
    import pytest
    from hypothesis import given, settings
    from hypothesis import strategies as st

    seen = []

    @settings(max_examples=5)
    @given(st.integers())
    def draw(number):
        seen.append(number)

    @pytest.mark.parametrize("number", [1, 2])
    def test_drawing(number):
        seen.clear()
        draw()
        pytest.fail(f"drawn: {seen}")
"""
HANGS = """
    import threading

    def test_that_hangs():
        threading.Event().wait()

    def test_behind_it():
        pass
"""
ON_SPARK = """
    import os

    import pytest

    @pytest.fixture
    def spark():
        return None

    @pytest.mark.parametrize("number", range(8))
    def test_on_spark(spark, number):
        pytest.fail("process: " + os.environ["PYTEST_XDIST_WORKER"])
"""


def run(folder: Path, source: str, *arguments: str, **environment: str) -> str:
    """Run the tests in `source` as the project runs its own, and return what pytest prints."""
    file = folder / "test_given.py"
    file.write_text(textwrap.dedent(source))
    without_ci = {name: value for name, value in os.environ.items() if name != "CI"}
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(ROOT / "pyproject.toml")]
    done = subprocess.run(
        [*command, "-p", "tests.conftest", "-p", "no:cacheprovider", *arguments, str(file)],
        cwd=folder,
        env=without_ci | {"PYTHONPATH": str(ROOT)} | environment,
        check=False,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def seeds(output: str) -> list[str]:
    return re.findall(r"--hypothesis-seed=(\d+)", output)


def drawn(output: str) -> set[str]:
    return set(re.findall(r"drawn: (\[.+\])", output))


def test_ci_draws_new_examples_and_prints_how_to_repeat_them(tmp_path: Path) -> None:
    """Tests that take the same arguments draw the same examples in all processes of a run."""
    first = run(tmp_path, EXAMPLES, "-n", "2", CI="true")
    (seed,) = seeds(first)
    assert first.startswith(f"to repeat these examples: --hypothesis-seed={seed}\n")
    assert len(drawn(first)) == 1
    second = run(tmp_path, EXAMPLES, "-n", "0", CI="true")
    assert seeds(second) != [seed]
    assert drawn(second) != drawn(first)
    again = run(tmp_path, EXAMPLES, "-n", "0", f"--hypothesis-seed={seed}", CI="true")
    assert seeds(again) == [seed]
    assert drawn(again) == drawn(first)


def test_one_process_for_spark_an_end_for_what_hangs_and_no_common_seed_elsewhere(
    tmp_path: Path,
) -> None:
    limits = ("-o", "timeout=5", "-o", "timeout_func_only=true")
    source = textwrap.dedent(EXAMPLES) + textwrap.dedent(HANGS) + textwrap.dedent(ON_SPARK)
    output = run(tmp_path, source, "-n", "2", "--dist", "loadgroup", *limits)
    assert seeds(output) == []
    assert drawn(output)
    assert "Failed: Timeout (>5.0s) from pytest-timeout" in output
    assert "11 failed, 1 passed" in output  # two that draw, one that hangs, eight on Spark
    assert len(set(re.findall(r"(?m)^E +Failed: process: (gw\d)$", output))) == 1
    assert len(re.findall(r"(?m)^E +Failed: process: ", output)) == 8
    config = (ROOT / "pyproject.toml").read_text()
    assert re.search(r"(?m)^timeout = [1-9]\d*\b", config)
    assert re.search(r"(?m)^faulthandler_timeout = [1-9]\d*\b", config)
