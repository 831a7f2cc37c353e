"""A shortened `make demo` and the kernels' callers do the same on the reference as on the C."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from parquet_bloomwriter.kernels import CHOICE

pytestmark = pytest.mark.shares

ROOT = Path(__file__).resolve().parents[2]
DEMO = """
from fixtures import demo, sample
sample.ROWS, sample.ROWS_PER_GROUP, demo.FILES = 12_000, 1_200, 10
sample.table.__defaults__ = (sample.ROWS,)
demo.main()
"""
CALLERS = ("tests/sbbf", "tests/hashing", "tests/index/query/test_probe.py")
_VARYING = (
    re.compile(r"\d+(\.\d+)? m?s\b| +[\d,.]+ +[\d,.]+$| +(?= )", re.MULTILINE),
    re.compile(r"(?<= indexed, ).*|(?<= 0\.01 )[\d,]+"),
)
"""Seconds, the bytes that DuckDB read, which vary a little, and the space between; then the bytes
of an index, which holds times."""


def run(*command: str, choice: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env={**os.environ, CHOICE: choice, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_demo_says_the_same(tmp_path: Path) -> None:
    said = []
    for choice in ("compiled", "reference"):
        (tmp_path / choice).mkdir()
        done = run("-c", DEMO, choice=choice, cwd=tmp_path / choice)
        assert done.returncode == 0, done.stderr
        assert "equal, byte for byte" in done.stdout
        text = done.stdout
        for varying in _VARYING:
            text = varying.sub("", text)
        said.append(text)
    assert said[0] == said[1]


def test_the_callers_work_on_the_reference() -> None:
    options = ("-q", "-p", "no:cacheprovider", "-m", "not shares")
    done = run("-m", "pytest", *options, *CALLERS, choice="reference", cwd=ROOT)
    assert done.returncode == 0, done.stdout
