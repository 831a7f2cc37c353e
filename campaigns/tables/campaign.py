"""Commits to a Delta table while another process commits to it, too."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from deltalake import DeltaTable

from campaigns.harness import Campaign, Result
from campaigns.syscalls.traced import ROOT
from campaigns.tables.meddler import KINDS, ROWS
from parquet_bloomwriter.delta.commit import replace_files
from tests.support.delta_commits import data_files, open_table, replacements_of
from tests.support.delta_tables import entry, make_table, versions
from tests.support.duckdb_tables import HOME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

_RACES = 500
"""Of each kind."""

_FILES = 3
_LONGEST_S = 0.06
"""How long either side may wait before it begins."""


class Tables(Campaign):
    """KIND/N: what the other process does, and how often it was tried before."""

    part = "tables"
    title = "Delta tables that others write to"
    text = """
Three commits replace the three files of a table, while another process commits to it. Afterwards
deltalake and DuckDB must read the rows that the other commit leaves, each once. No file may be
missing, each commit that was reported must be in the log, and no version may be written twice. The
other process may lose, and must say so. deltalake's compaction can double rows, as
[tables.md](reference/tables.md#who-else-writes) warns; such races are counted apart.
"""

    def open(self) -> None:
        """Make the table, and start the other process and the reader."""
        self._base = make_table(self.plan.scratch / "base", num_files=_FILES, rows=ROWS)
        self._meddler = self._start("campaigns.tables.meddler")
        environment = {"PYTHONPATH": os.pathsep.join((os.fspath(HOME), os.fspath(ROOT)))}
        self._reader = self._start("campaigns.tables.reader", os.fspath(HOME), **environment)
        self._rows = {kind: self._rows_after(kind) for kind in KINDS}
        self._before = self._ask(self._reader, os.fspath(self._base))

    def cases(self) -> Iterable[str]:
        """Take a share of the races of each kind."""
        return [f"{kind}/{number}" for number in range(self.plan.some(_RACES)) for kind in KINDS]

    def attempt(self, name: str, show: Callable[[str], None]) -> Iterable[Result]:
        """Try one race."""
        kind = name.partition("/")[0]
        chance = random.Random(f"{self.plan.seed} {name}")  # noqa: S311  no secret
        path = self.plan.scratch / "table"
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self._base, path)
        snapshot = open_table(path)
        replacements = replacements_of(snapshot, filters=False)
        reported: dict[int, int] = {}
        dropped = 0
        self._tell(self._meddler, {"path": os.fspath(path), "kind": kind})
        time.sleep(chance.uniform(0, _LONGEST_S))
        for one in replacements:
            committed = replace_files(snapshot, [one])
            snapshot = committed.snapshot
            if committed.kept:
                reported[committed.version] = len(committed.kept)
            dropped += len(committed.dropped)
            time.sleep(chance.uniform(0, _LONGEST_S / _FILES))
        said = self._answer(self._meddler)
        show(f"{kind}: {said}; {reported} committed, {dropped} dropped")
        problems = tuple(self._problems(path, kind, said, reported))
        if kind == "compact" and removes_what_is_gone(path, ours=False):
            yield Result(name=name, seen={"deltalake doubled rows": 1}, problems=problems)
            return
        seen = "the other lost" if said != "done" else "ours dropped" if dropped else "both won"
        yield Result(name=name, seen={seen: 1}, problems=problems)

    def _problems(
        self, path: Path, kind: str, said: str, reported: dict[int, int]
    ) -> Iterable[str]:
        numbers = versions(path)
        if numbers != list(range(len(numbers))):
            yield f"versions {numbers}"
        entries = {number: entry(path, number) for number in numbers[_FILES:]}
        adds = {
            number: sum("add" in one for one in lines)
            for number, lines in entries.items()
            if is_ours(lines)
        }
        if kind != "second" and adds != reported:
            yield f"{reported} was reported, the log has {adds}"
        rows = self._ask(self._reader, os.fspath(path))
        if kind != "by-hand" and rows != (found := rows_by_deltalake(path)):
            yield f"DuckDB reads {len(rows)} rows, deltalake {len(found)}"
        if removes_what_is_gone(path, ours=True):
            yield "a commit of ours removes what was gone"
        if kind == "compact" and removes_what_is_gone(path, ours=False):
            return
        expected = self._rows[kind] if said == "done" else self._before
        if rows != expected:
            yield f"{len(rows)} rows, not {len(expected)} ({said}); {rows[:2]}"
        missing = {key.path for key in open_table(path).files} - data_files(path)
        if missing:
            yield f"files are missing: {missing}"

    def _rows_after(self, kind: str) -> list[str]:
        """Return the rows that the other process leaves where nobody disturbs it."""
        path = self.plan.scratch / "alone"
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self._base, path)
        said = self._ask(self._meddler, {"path": os.fspath(path), "kind": kind})
        if said != "done":
            raise AssertionError(said)
        found: list[str] = self._ask(self._reader, os.fspath(path))
        return found

    def _start(self, module: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", module, *arguments],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.stack.enter_context(process)
        self.stack.callback(process.kill)
        return process

    def _ask(self, process: subprocess.Popen[str], task: object) -> Any:  # noqa: ANN401  JSON
        self._tell(process, task)
        return self._answer(process)

    @staticmethod
    def _tell(process: subprocess.Popen[str], task: object) -> None:
        assert process.stdin is not None
        process.stdin.write(json.dumps(task) + "\n")
        process.stdin.flush()

    @staticmethod
    def _answer(process: subprocess.Popen[str]) -> Any:  # noqa: ANN401  JSON
        assert process.stdout is not None
        return json.loads(process.stdout.readline())


def rows_by_deltalake(path: Path) -> list[str]:
    """Return the rows of a table as DuckDB's reader gives them."""
    table = DeltaTable(os.fspath(path)).to_pyarrow_table(columns=["id", "email", "day"])
    return sorted(repr(tuple(row.values())) for row in table.to_pylist())


def is_ours(lines: list[dict[str, Any]]) -> bool:
    """Whether an entry is of this package."""
    return str(lines[0].get("commitInfo", {}).get("engineInfo", "")).startswith("parquet-bloom")


def removes_what_is_gone(path: Path, *, ours: bool) -> bool:
    """Whether an entry of ours, or of another, removes a file that the version before lacks."""
    active: set[tuple[str, str]] = set()
    found = False
    for number in versions(path):
        lines = entry(path, number)
        removed = {_key(one["remove"]) for one in lines if "remove" in one}
        found = found or (is_ours(lines) == ours and not removed <= active)
        active -= removed
        active |= {_key(one["add"]) for one in lines if "add" in one}
    return found


def _key(file: dict[str, Any]) -> tuple[str, str]:
    return file["path"], json.dumps(file.get("deletionVector"))
