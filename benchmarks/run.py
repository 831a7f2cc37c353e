"""Measure, and write `docs/benchmarks.md`: `python -m benchmarks.run [--only build,copy,...]`.

With `--only` the tables are printed and the page is left as it is.
"""

from __future__ import annotations

import argparse
import compileall
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import (
    dictionaries,
    effect,
    index_figures,
    lake,
    lookup_figures,
    polars_scans,
    report,
    scans,
    spark_figures,
    stores,
    tables,
)
from benchmarks.measure import (
    BLOOMIFY,
    DATA,
    OUTPUT,
    REFERENCE,
    SINGLE,
    Figure,
    alternate,
    at_least,
    at_most,
    below,
    read_timings,
    run,
    task,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_PROJECT = Path(__file__).parent.parent
PAGE = _PROJECT / "docs" / "benchmarks.md"
_SOURCES = (_PROJECT / "parquet_bloomwriter", _PROJECT / "cli", _PROJECT / "benchmarks")
_REFERENCE, _SINGLE, _OUTPUT = str(REFERENCE), str(SINGLE), str(OUTPUT)


def _bloomify(source: str, *options: str, columns: str = "id,email") -> tuple[str, ...]:
    return (BLOOMIFY, source, "--columns", columns, "--fpp", "0.01", "-o", _OUTPUT, *options)


def build(repeats: int) -> Iterator[Figure]:
    """Building the filters, against decoding the columns."""
    timings = read_timings(run(task("build_and_decode", _REFERENCE, str(repeats))).output)
    yield at_most(
        "Building both filters, nothing written, against pyarrow decoding the two columns with "
        "two threads (within one process)",
        timings["build"],
        base=timings["decode"],
        limit=1.8,
    )


def copy(repeats: int) -> Iterator[Figure]:
    """The whole command, against copying and decoding."""
    timings = alternate(
        {
            "end": _bloomify(_REFERENCE, "--placement", "end"),
            "default": _bloomify(_REFERENCE),
            "plain": task("copy_decode", _REFERENCE, _OUTPUT),
            "fsync": task("copy_fsync_decode", _REFERENCE, _OUTPUT),
            "copy": task("copy", _REFERENCE, _OUTPUT),
            "copy_fsync": task("copy_fsync", _REFERENCE, _OUTPUT),
            "decode": task("decode", _REFERENCE),
        },
        repeats=repeats,
    )
    for placement, limit in (("end", 1.1), ("default", 1.2)):
        for base, words in (("fsync", "copy flushed to disk"), ("plain", "copy not flushed")):
            what = (
                "`bloomify` against copying the file and decoding the two columns: "
                f"placement {placement}, {words}"
            )
            yield at_most(what, timings[placement], base=timings[base], limit=limit)
    for name, what in (
        ("copy", "Copying the file, not flushed"),
        ("copy_fsync", "Copying the file, flushed to disk"),
        ("decode", "Decoding the two columns"),
    ):
        yield Figure(what=what, figure=str(timings[name]))


def rewrite(repeats: int) -> Iterator[Figure]:
    """The whole command, against writing the file anew with another tool."""
    timings = alternate(
        {"bloomify": _bloomify(_REFERENCE)}
        | {
            name: task(name, _REFERENCE, _OUTPUT)
            for name in ("pyarrow_rewrite", "duckdb_copy", "duckdb_plain", "datafusion_copy")
        },
        repeats=repeats,
    )
    for name, words, limit in (
        ("pyarrow_rewrite", "pyarrow read + write with `bloom_filter_options`", 4),
        ("duckdb_copy", "DuckDB COPY with dictionaries, without which it writes no filters", 5),
        ("duckdb_plain", "DuckDB COPY by default settings: no filters on the two columns", 5),
        ("datafusion_copy", "DataFusion COPY with Bloom filters on the two columns", 5),
    ):
        base = timings[name]
        yield at_least(
            f"`bloomify` against another program: {words}",
            timings["bloomify"],
            base=base,
            limit=limit,
        )


def memory(repeats: int) -> Iterator[Figure]:
    """Peak memory of the whole command: the greatest of all runs."""
    for source, what, limit in (
        (_REFERENCE, "reference file", 220),
        (_SINGLE, "the same rows in one row group", 250),
    ):
        peak = max(run(_bloomify(source)).peak_mb for _ in range(repeats))
        yield below(f"Peak memory, {what}", peak, limit=limit, unit="MB")


def rate(_repeats: int) -> Iterator[Figure]:
    """False positive rates, counted."""
    absent, rows = 1_000_000, 1_000_000
    for asked in (0.1, 0.01, 0.001, 0.0001):
        # The count scatters around the true rate: three standard deviations are allowed for.
        most = asked * absent + 3 * (asked * absent) ** 0.5
        for sizing, words in (("exact", "exact size"), ("pow2", "power of two")):
            result = json.loads(run(task("fpp", str(rows), str(asked), sizing)).output)
            yield Figure(
                what=f"False positives of {absent:,} absent values, {rows:,} values in the filter, "
                f"with room for chance: asked {asked:.2%}, {words}",
                figure=f"{result['hits'] / absent:.4%}; "
                f"{result['bytes'] * 8 / rows:.1f} bits per value",
                target=f"at most {asked:.2%}",
                met=result["hits"] <= most,
            )


def start(repeats: int) -> Iterator[Figure]:
    """What a short run takes."""
    with tempfile.TemporaryDirectory() as scratch:
        small = str(Path(scratch, "small.parquet"))
        run(task("small", small))
        kilobytes = Path(small).stat().st_size / 1000
        commands = {"help": (BLOOMIFY, "--help"), "small": _bloomify(small)}
        timings = alternate(commands, repeats=max(repeats, 5))
        yield below("`bloomify --help`", timings["help"].best, limit=0.2, unit="s")
        what = f"`bloomify` on a file of {kilobytes:,.0f} kB"
        yield below(what, timings["small"].best, limit=1, unit="s")


def small_files(repeats: int) -> Iterator[Figure]:
    """Many small files: processor time, as the wall clock is that of the disk's flushes."""
    num_files = 2000
    with tempfile.TemporaryDirectory(dir=DATA) as scratch:
        inputs, outputs = Path(scratch, "in"), Path(scratch, "out")
        inputs.mkdir()
        run(task("many_small", str(inputs), str(num_files)))
        library, command, wall = [], [], []
        for _ in range(min(repeats, 3)):
            shutil.rmtree(outputs, ignore_errors=True)
            library.append(float(run(task("bloomify_each", str(inputs), str(outputs))).output))
            shutil.rmtree(outputs)
            options = ("--columns", "id,email", "--fpp", "0.01", "-o", str(outputs), "--quiet")
            ended = run((BLOOMIFY, str(inputs), *options))
            command.append(ended.cpu_seconds)
            wall.append(ended.seconds)
    what = f"{num_files:,} files of 1,000 rows, filters on two columns:"
    for through, seconds in (("the library", library), ("the command", command)):
        each = 1000 * min(seconds) / num_files
        yield below(f"{what} CPU per file, through {through}", each, limit=4, unit="ms")
    each = 1000 * min(wall) / num_files
    label = f"{what} wall clock per file, through the command"
    yield Figure(what=label, figure=f"{each:.2f} ms")


def kernels() -> str:
    """Return the table that `benchmarks.kernels` prints."""
    return run((sys.executable, "-m", "benchmarks.kernels")).output


SECTIONS: dict[str, tuple[str, Callable[[int], Iterator[Figure]]]] = {
    "effect": ("What filters save, and what adding them costs", effect.figures),
    "build": ("Building", build),
    "dictionaries": ("Building from dictionaries", dictionaries.figures),
    "copy": ("Against the limits", copy),
    "rewrite": ("Against rewriting", rewrite),
    "memory": ("Memory", memory),
    "fpp": ("Rates", rate),
    "start": ("Short runs", start),
    "small-files": ("Many small files", small_files),
    "lookup": ("Looking up in many files", lookup_figures.lookup),
    "single": ("Looking up in one file", lookup_figures.single),
    "reading": ("Reading what survives", lookup_figures.reading),
    "polars": ("Point queries of Polars", polars_scans.figures),
    "scans": ("What filters cost a scan of everything", scans.scans),
    "index": ("Making an index", index_figures.build),
    "lake": ("One id of a lake of 200 files", lake.figures),
    "index-lookup": ("Looking up in an index", index_figures.lookup),
    "spark-point": ("Point queries on Spark", spark_figures.point),
    "spark-planning": ("Planning on Spark", spark_figures.planning),
    "spark-join": ("Joins on Spark", spark_figures.join),
    "spark-shapes": ("Other queries on Spark", spark_figures.shapes),
    "stores": ("On an object store", stores.figures),
    "tables": ("Delta and Iceberg tables", tables.figures),
}
_ON_SPARK_DATA = ("index", "spark-point", "spark-planning", "spark-join", "spark-shapes")
_ON_NO_DATA = (
    "dictionaries",
    "fpp",
    "start",
    "small-files",
    "polars",
    "scans",
    "lake",
    "index-lookup",
    "stores",
    "tables",
)
"""They make what they need."""


def _measured(names: Sequence[str], repeats: int) -> dict[str, list[Figure]]:
    sections = {}
    for name in names:
        heading, measure = SECTIONS[name]
        print(f"measuring: {name}", file=sys.stderr, flush=True)
        sections[heading] = list(measure(repeats))
        print(f"\n## {heading}\n\n{report.table(sections[heading])}", flush=True)
    return sections


def _make_data(names: Sequence[str]) -> None:
    """Write the files that these sections read, unless they are there."""
    makers = ["spark_data"] if set(names) & set(_ON_SPARK_DATA) else []
    if set(names) - {*_ON_SPARK_DATA, *_ON_NO_DATA}:
        makers += ["reference", "lookups"]
    for made in makers:
        subprocess.run((sys.executable, "-m", f"benchmarks.{made}"), check=True)


def _compile() -> None:
    """Compile our modules to bytecode, as pip does when it installs the package.

    Otherwise every process compiles all of them anew where PYTHONDONTWRITEBYTECODE is set, which
    takes 0.06 s.
    """
    for folder in _SOURCES:
        if not compileall.compile_dir(folder, quiet=1):
            raise RuntimeError(f"{folder} cannot be compiled")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    pieces = (*SECTIONS, "kernels")
    parser.add_argument("--only", default="", help=f"of {','.join(pieces)}; commas between")
    parser.add_argument("--repeats", type=int, default=5, help="runs that count (default 5)")
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",") if arguments.only else []
    if unknown := set(arguments.only) - set(pieces):
        parser.error(f"no such piece: {', '.join(sorted(unknown))}")
    return arguments


def main() -> None:
    """Measure what the command line asks for."""
    arguments = _arguments()
    names = [name for name in SECTIONS if not arguments.only or name in arguments.only]
    _compile()
    _make_data(names)
    try:
        sections = _measured(names, arguments.repeats)
        table = kernels() if not arguments.only or "kernels" in arguments.only else ""
    finally:
        OUTPUT.unlink(missing_ok=True)
    if arguments.only:
        print(table)
        return
    size = REFERENCE.stat().st_size
    PAGE.write_text(report.document(sections, kernels=table, size=size))
    print(f"wrote {PAGE}", file=sys.stderr)


if __name__ == "__main__":
    main()
