"""A folder with a small file, and the command, run in this process or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from bloomify.main import cli
from parquet_bloomwriter import bloomify, strip

if TYPE_CHECKING:
    from pathlib import Path

Invoke = Callable[..., Result]
Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def _whole_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sentences be as long as they are, so that tests need not know where lines end."""
    monkeypatch.setattr("bloomify.console.table.LONGEST_LINE", 10_000)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def events(folder: Path) -> Path:
    """Write events.parquet: 200 rows in two row groups, the second without e-mail addresses."""
    rows = 200
    email = [f"user{i}@mail.example" if i < rows // 2 else None for i in range(rows)]
    table = pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "email": pa.array(email, pa.string()),
            "active": [i % 2 == 0 for i in range(rows)],
        }
    )
    path = folder / "events.parquet"
    pq.write_table(table, path, row_group_size=rows // 2)
    return path


@pytest.fixture
def invoke() -> Invoke:
    """Return a function that runs a command line in this process."""

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(cli, list(arguments), prog_name="bloomify")

    return run


@pytest.fixture
def command() -> Command:
    """Return a function that runs a command line in its own process."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "bloomify", *arguments],
            check=False,
            capture_output=True,
            encoding="utf-8",
            env=os.environ | environment,
        )

    return run


@pytest.fixture
def listing(folder: Path) -> Callable[[], dict[str, bytes]]:
    """Return a function that takes the folder's whole state: every name and every byte."""

    def take() -> dict[str, bytes]:
        return {
            str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
            for path in sorted(folder.rglob("*"))
        }

    return take


@pytest.fixture
def orders(folder: Path) -> Path:
    """Write orders.parquet: 400 rows in 4 row groups, filters on id and email.

    Ids are even and in no order, so that minimum and maximum exclude no odd one between them. Each
    row group has 100 of them.
    """
    rows = 400
    ids = [i * 37 % rows * 2 for i in range(rows)]
    table = pa.table({"id": ids, "email": [f"user{i}@mail.example" for i in ids]})
    path = folder / "orders.parquet"
    pq.write_table(table, path, row_group_size=rows // 4, use_dictionary=False)
    bloomify(path, ["id", "email"])
    return path


@pytest.fixture
def shop(orders: Path) -> Path:
    """Return the folder of orders.parquet, a copy without filters, and one that fails."""
    (orders.parent / "plain.parquet").write_bytes(strip(orders.read_bytes()).data or b"")
    (orders.parent / "text.parquet").write_text("this is no Parquet file, but long enough")
    return orders.parent
