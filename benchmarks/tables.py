"""Filters for Delta and Iceberg tables: `python -m benchmarks.tables [--files 200]`.

The table has files of about 50 MB, all of the same content, each written by itself. Each run starts
from a fresh copy.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.measure import BLOOMIFY, DATA, Figure, Timing, at_least, at_most, below, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.measure import Command

_NUM_FILES = 20
"""In `make bench`; the ratios hold for 200, too."""

_NUM_SMALL = 100_000
_ICEBERG = "iceberg://bench/ns.t"
_COLUMNS = ("--columns", "id,email", "--fpp", "0.01", "--quiet")


class _Bench:
    """The files, and copies of them."""

    def __init__(self, folder: Path, num_files: int) -> None:
        self._folder = folder
        self.num_files = num_files
        self._first = DATA / "table_file.parquet"
        if not self._first.exists():
            DATA.mkdir(exist_ok=True)
            partial = self._first.with_suffix(".partial")
            run(_task("write_file", str(partial)))
            partial.replace(self._first)

    @property
    def num_bytes(self) -> int:
        """Bytes of all files."""
        return self.num_files * self._first.stat().st_size

    def seconds(self, command: Command, *, kind: str) -> float:
        """Run a command on a fresh folder, or a table of its files: "folder", "delta", "iceberg".

        "FOLDER" and "TABLE" in the command stand for the folder's path, and the table's name.
        """
        folder = self._folder / "table"
        folder.mkdir()
        for number in range(self.num_files):
            shutil.copyfile(self._first, folder / f"part-{number:05}.parquet")
        environment = _catalog(self._folder)
        table = str(folder)
        if kind == "delta":
            run(_task("write_log", str(folder)))
        elif kind == "iceberg":
            run(_task("write_iceberg", str(folder)), environment=environment)
            table = _ICEBERG
        names = {"FOLDER": str(folder), "TABLE": table}
        try:
            words = [names.get(word, word) for word in command]
            return run(words, environment=environment).seconds
        finally:
            shutil.rmtree(folder)
            shutil.rmtree(self._folder / "warehouse", ignore_errors=True)
            (self._folder / "catalog.db").unlink(missing_ok=True)


def figures(_repeats: int) -> Iterator[Figure]:
    """Measure all."""
    yield from measured(_NUM_FILES, repeats=2)


def measured(num_files: int, *, repeats: int) -> Iterator[Figure]:
    """Measure tables of so many files, and some of many small ones."""
    with tempfile.TemporaryDirectory(dir=_data()) as name:
        bench = _Bench(Path(name), num_files)
        bloomify = (BLOOMIFY, "TABLE", *_COLUMNS)
        cases = {
            "folder": (bloomify, "folder"),
            "Delta": (bloomify, "delta"),
            "Iceberg": (bloomify, "iceberg"),
            "deltalake": (_task("rewrite", "FOLDER"), "delta"),
            "pyiceberg": (_task("rewrite_iceberg", "FOLDER"), "iceberg"),
        }
        found: dict[str, list[float]] = {case: [] for case in cases}
        for _ in range(repeats):
            for case, (command, kind) in cases.items():
                found[case].append(bench.seconds(command, kind=kind))
        timings = {case: Timing(seconds=tuple(seconds)) for case, seconds in found.items()}
        size = f"{num_files} files, {bench.num_bytes / 1e9:.1f} GB, two columns"
        for kind, library in (("Delta", "deltalake"), ("Iceberg", "pyiceberg")):
            yield at_most(
                f"`bloomify TABLE`, {size}: {kind}, against the same files as a plain folder",
                timings[kind],
                base=timings["folder"],
                limit=1.2,
            )
            yield at_least(
                f"`bloomify TABLE`, {size}: {kind}, against reading and writing by {library}",
                timings[kind],
                base=timings[library],
                limit=5,
            )
        for kind in ("Delta", "Iceberg"):
            yield from _many(Path(name), kind)


def _many(folder: Path, kind: str) -> Iterator[Figure]:
    root = folder / f"many-{kind}"
    environment = {"XDG_CACHE_HOME": str(folder / "notes"), **_catalog(folder)}
    task, table = ("small_table", str(root)) if kind == "Delta" else ("small_iceberg", _ICEBERG)
    run(_task(task, str(root), str(_NUM_SMALL)), environment=environment)
    # The files are too small to be worth filters of `id`: none has one, and 1,000 get some.
    command = (BLOOMIFY, table, *_COLUMNS, "--max-files", "1000")
    first = run(command, environment=environment)
    yield Figure(
        what=f"{kind}, first run over {_NUM_SMALL:,} files: each footer is read, 1,000 get filters",
        figure=f"{first.seconds:.1f} s, {first.peak_mb:.0f} MB at most",
    )
    run((BLOOMIFY, table, *_COLUMNS), environment=environment)
    again = run((BLOOMIFY, table, *_COLUMNS), environment=environment)
    yield below(
        f"{kind}, run over {_NUM_SMALL:,} files that all have their filters",
        again.seconds,
        limit=5,
        unit="s",
    )


def _catalog(folder: Path) -> dict[str, str]:
    """Return the environment that describes the catalog of Iceberg tables to pyiceberg."""
    facts = {
        "TYPE": "sql",
        "URI": f"sqlite:///{folder}/catalog.db",
        "WAREHOUSE": f"file://{folder}/warehouse",
    }
    return {f"PYICEBERG_CATALOG__BENCH__{name}": text for name, text in facts.items()}


def _data() -> Path:
    DATA.mkdir(exist_ok=True)
    return DATA


def _task(name: str, *arguments: str) -> Command:
    return (sys.executable, "-m", "benchmarks.table_tasks", name, *arguments)


def main() -> None:
    """Measure what the command line asks for, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=_NUM_FILES, help="files of 50 MB")
    parser.add_argument("--repeats", type=int, default=2)
    arguments = parser.parse_args()
    figures = []
    for figure in measured(arguments.files, repeats=arguments.repeats):
        print(figure, file=sys.stderr, flush=True)
        figures.append(figure)
    print(report.table(figures))


if __name__ == "__main__":
    main()
