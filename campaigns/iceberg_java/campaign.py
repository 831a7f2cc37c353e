"""Tables with filters, as Iceberg's own implementation (Java) reads and changes them."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from campaigns.harness import Campaign, Result
from campaigns.iceberg_java import environment
from parquet_bloomwriter import bloomify_table
from tests.support.iceberg_tables import MAKERS, make_warehouse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.support.iceberg_tables import Made

_SKIPPED = ("without_snapshot", "deletion_vectors")
"""Makers of tables that get no filters: of no files, and of format version 3."""


class IcebergJava(Campaign):
    """NAME: a maker of a table."""

    part = "iceberg-java"
    title = "Iceberg's own implementation on tables with filters"
    text = """
Spark 3.5 with Iceberg 1.10 (Java) must see the same rows as before in tables of all kinds that got
filters, also after it deleted rows, wrote all data files and manifests anew, and expired old
snapshots. At the end no file may be in no snapshot.
"""

    def open(self) -> None:
        """Start Spark."""
        self._folder = self.plan.scratch / "java"
        self._spark: subprocess.Popen[str] | None = None
        self.stack.callback(self._stop)

    def cases(self) -> Iterable[str]:
        """Take all kinds of tables, or the first ones."""
        names = [name for name in MAKERS if name not in _SKIPPED]
        return names[: self.plan.some(len(names))]

    def attempt(self, name: str, show: Callable[[str], None]) -> Iterable[Result]:
        """Try one kind of table."""
        shutil.rmtree(self._folder, ignore_errors=True)
        with pytest.MonkeyPatch.context() as patch:
            warehouse = make_warehouse(self._folder, patch)
            patch.setenv("XDG_CACHE_HOME", str(self._folder / "cache"))
            made = MAKERS[name](warehouse)
            head = made.load().current_snapshot()
            assert head is not None
            report = bloomify_table(made.url, made.column)
            metadata = made.load().metadata_location.removeprefix("file://")
            question = {
                "table": f"db.{made.name}",
                "metadata": metadata,
                "snapshot": head.snapshot_id,
            }
            answer = self._ask(question)
            show(json.dumps({step: len(found) for step, found in answer.items()}))
            problems = tuple(_problems(made, answer, Path(metadata).parents[1]))
        seen = "all files stay" if not report.commits else "files replaced"
        yield Result(name=name, line="tables", seen={seen: 1}, problems=problems)

    def _ask(self, question: dict[str, Any]) -> dict[str, list[str]]:
        if self._spark is None:
            root = environment.ROOT
            worker = root / "campaigns" / "iceberg_java" / "worker.py"
            command = (environment.python(), str(worker), str(self._folder / "warehouse"))
            self._spark = subprocess.Popen(
                [*command, *environment.jars()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self._spark.stdin is not None
        assert self._spark.stdout is not None
        self._spark.stdin.write(json.dumps(question) + "\n")
        self._spark.stdin.flush()
        line = self._spark.stdout.readline()
        if not line:
            self._stop()
            raise AssertionError("Spark ended; see what it wrote above")
        found: dict[str, list[str]] = json.loads(line)
        return found

    def _stop(self) -> None:
        if self._spark is not None:
            with contextlib.suppress(OSError):
                self._spark.communicate()
            self._spark = None


def _problems(made: Made, answer: dict[str, list[str]], table: Path) -> Iterator[str]:
    if answer["now"] != answer["before"]:
        yield "other rows than in the snapshot before"
    if len(answer["now"]) != len(made.rows):
        yield f"{len(answer['now'])} rows, not {len(made.rows)}"
    left = [row for row in answer["now"] if json.loads(row)["id"] % 7 != 3]
    for step in ("deleted", "rewritten", "expired"):
        if answer[step] != left:
            yield f"{step}: {len(answer[step])} rows, not {len(left)}"
    if answer["gone"]:
        yield "deleted rows are found by a condition"
    there = {str(one) for one in (table / "data").rglob("*.parquet")}
    named = {one.removeprefix("file://").removeprefix("file:") for one in answer["files"]}
    if there != named:
        yield f"{len(there - named)} files are left over, {len(named - there)} are missing"
