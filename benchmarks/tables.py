"""Filters for a Delta table: `python -m benchmarks.tables [--files 200]`.

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

    def seconds(self, command: Command, *, is_table: bool, num_files: int | None = None) -> float:
        """Run a command on a fresh folder, whose name stands for "FOLDER" in it."""
        folder = self._folder / "table"
        folder.mkdir()
        for number in range(num_files or self.num_files):
            shutil.copyfile(self._first, folder / f"part-{number:05}.parquet")
        if is_table:
            run(_task("write_log", str(folder)))
        try:
            return run([str(folder) if word == "FOLDER" else word for word in command]).seconds
        finally:
            shutil.rmtree(folder)


def figures(_repeats: int) -> Iterator[Figure]:
    """Measure all."""
    yield from measured(_NUM_FILES, repeats=2)


def measured(num_files: int, *, repeats: int) -> Iterator[Figure]:
    """Measure a table of so many files, and one of many small ones."""
    with tempfile.TemporaryDirectory(dir=_data()) as name:
        bench = _Bench(Path(name), num_files)
        bloomify = (BLOOMIFY, "FOLDER", *_COLUMNS)
        cases = {
            "table": (bloomify, True),
            "folder": (bloomify, False),
            "deltalake": (_task("rewrite", "FOLDER"), True),
        }
        found: dict[str, list[float]] = {case: [] for case in cases}
        for _ in range(repeats):
            for case, (command, is_table) in cases.items():
                found[case].append(bench.seconds(command, is_table=is_table))
        timings = {case: Timing(seconds=tuple(seconds)) for case, seconds in found.items()}
        size = f"{num_files} files, {bench.num_bytes / 1e9:.1f} GB, two columns"
        yield at_most(
            f"`bloomify TABLE` against the same files as a plain folder ({size})",
            timings["table"],
            base=timings["folder"],
            limit=1.2,
        )
        yield at_least(
            f"`bloomify TABLE` against reading and writing by deltalake ({size})",
            timings["table"],
            base=timings["deltalake"],
            limit=5,
        )
        yield from _many(Path(name))


def _many(folder: Path) -> Iterator[Figure]:
    table, notes = folder / "many", {"XDG_CACHE_HOME": str(folder / "notes")}
    run(_task("small_table", str(table), str(_NUM_SMALL)))
    # The files are too small to be worth filters of `id`: none has one, and 1,000 get some.
    command = (BLOOMIFY, str(table), *_COLUMNS, "--max-files", "1000")
    first = run(command, environment=notes)
    yield Figure(
        what=f"First run over {_NUM_SMALL:,} files: each footer is read, 1,000 get filters",
        figure=f"{first.seconds:.1f} s, {first.peak_mb:.0f} MB at most",
    )
    run((BLOOMIFY, str(table), *_COLUMNS), environment=notes)
    again = run((BLOOMIFY, str(table), *_COLUMNS), environment=notes)
    yield below(
        f"Run over {_NUM_SMALL:,} files that all have their filters",
        again.seconds,
        limit=5,
        unit="s",
    )


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
