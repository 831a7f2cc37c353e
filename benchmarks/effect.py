"""What filters save a point query, and what adding them costs beside the alternatives.

python -m benchmarks.effect FILE present|absent      asks DuckDB, and prints what it took
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.measure import BLOOMIFY, FILTERED, OUTPUT, REFERENCE, Figure, run, task

if TYPE_CHECKING:
    from collections.abc import Iterator

_QUERIES = 20
_MB = 1e6
_ALTERNATIVES = {
    "pyarrow_rewrite": "pyarrow: read, and write with `bloom_filter_options`",
    "duckdb_copy": "DuckDB: COPY with dictionaries, without which it writes no filters",
    "datafusion_copy": "DataFusion: COPY with filters on the two columns",
}


def figures(repeats: int) -> Iterator[Figure]:
    """DuckDB's point query before and after, and adding the filters against writing anew."""
    for kind, words in (("present", "that is there"), ("absent", "that is in no row")):
        before, after = _asked(REFERENCE, kind, repeats), _asked(FILTERED, kind, repeats)
        what = f"DuckDB looks up an e-mail address {words}"
        yield Figure(what=f"{what}: CPU time", figure=_pair(before, after, "cpu_ms", "ms"))
        yield Figure(what=f"{what}: bytes read", figure=_pair(before, after, "read_mb", "MB"))
    sizes = REFERENCE.stat().st_size, FILTERED.stat().st_size
    yield Figure(
        what="Size of the file, with filters on both columns",
        figure=f"{sizes[0] / _MB:.0f} MB → {sizes[1] / _MB:.0f} MB "
        f"(+{100 * (sizes[1] / sizes[0] - 1):.1f} %)",
    )
    commands = {
        "bloomify": (BLOOMIFY, str(REFERENCE), "-c", "id,email", "-o", str(OUTPUT), "--quiet")
    } | {name: task(name, str(REFERENCE), str(OUTPUT)) for name in _ALTERNATIVES}
    least = dict.fromkeys(commands, (float("inf"), 0.0))
    for _ in range(repeats):
        for name, command in commands.items():
            done = run(command)
            seconds, peak_mb = least[name]
            least[name] = min(seconds, done.seconds), max(peak_mb, done.peak_mb)
    for name, words in {"bloomify": "`bloomify`", **_ALTERNATIVES}.items():
        seconds, peak_mb = least[name]
        yield Figure(
            what=f"Adding both filters: {words}", figure=f"{seconds:.1f} s, {peak_mb:,.0f} MB"
        )


def _asked(path: Path, kind: str, repeats: int) -> dict[str, float]:
    """Return the least of what some processes measure."""
    command = (sys.executable, "-m", "benchmarks.effect", str(path), kind)
    found = [json.loads(run(command).output) for _ in range(min(repeats, 3))]
    return {name: min(one[name] for one in found) for name in found[0]}


def _pair(before: dict[str, float], after: dict[str, float], name: str, unit: str) -> str:
    return f"{_rounded(before[name])} {unit} → {_rounded(after[name])} {unit}"


def _rounded(number: float) -> str:
    return f"{number:.0f}" if number >= 10 else f"{number:.1f}"


def _ask(path: str, kind: str) -> dict[str, float]:
    """Ask DuckDB for several addresses, after one that loads what it needs.

    Returns:
        For one query: processor time of all threads, milliseconds, and what system calls read,
        megabytes.
    """
    import duckdb
    import pyarrow.parquet as pq

    group = pq.ParquetFile(path).read_row_group(4, columns=["email"]).column(0)
    there = [group[n * 7919 % len(group)].as_py() for n in range(_QUERIES + 1)]
    asked = there if kind == "present" else [f"{one}~" for one in there]
    connection = duckdb.connect()
    query = f"SELECT count(*) FROM '{path}' WHERE email = ?"
    cpu_s, read = 0.0, 0
    for n, email in enumerate(asked):
        cpu, bytes_read = time.process_time(), _bytes_read()
        [(rows,)] = connection.execute(query, [email]).fetchall()
        if bool(rows) is not (kind == "present"):
            raise RuntimeError(f"{rows} rows of {email}")
        if n:
            cpu_s += time.process_time() - cpu
            read += _bytes_read() - bytes_read
    return {"cpu_ms": 1000 * cpu_s / _QUERIES, "read_mb": read / _MB / _QUERIES}


def _bytes_read() -> int:
    """Return what this process has read by system calls, the disk cache included. Linux."""
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("rchar:")).split()[1])


if __name__ == "__main__":
    print(json.dumps(_ask(sys.argv[1], sys.argv[2])))
