"""Lookups by slices and by parts: `python -m benchmarks.slices [FILES ...]`.

The index is made directly, without data files: for each entry a filter of 4 KiB that keeps a few
files in 100,000, contract `immutable`. Slices are written by the code of `create`. Asked is by
`index.lookup` in processes of their own, imports done, with the index's files in the page cache or
dropped from it; by parts in the same way, but slices left aside. With 1,000,000 files, the index
takes 8.3 GB of disk, which are given back.

Beside the lookup of another value stands what no bit-sliced index can do without: a plain loop in C
(`kernels.c`) that ANDs 8 rows of a bit for each file, as COBS does it, mapped from the slices that
were just read, other rows each time, and makes a list of the files that are left.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from benchmarks.measure import DATA, Figure, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from parquet_bloomwriter.index.entry import IndexFile

_SIZES = (100_000,)
_FILTER_BYTES = 4096
_VALUES_PER_FILE = 900
_FILES_PER_PART = 16_384
_VALUES = 15
_LIST = 100
_FLOOR_BYTES = 256_000_000

How = Literal["slices", "parts", "cold"]


def figures(num_files: int) -> Iterator[Figure]:
    """Measure one index."""
    table = DATA / f"sliced-{num_files}"
    shutil.rmtree(table, ignore_errors=True)
    try:
        made = json.loads(run(_command("make", table, num_files)).output)
        found = {how: json.loads(run(_command(how, table)).output) for how in ("slices", "parts")}
        _drop(table)
        cold = json.loads(run(_command("slices", table)).output)
    finally:
        shutil.rmtree(table, ignore_errors=True)
    slices, parts = found["slices"], found["parts"]
    if slices["kept"] != parts["kept"]:
        raise AssertionError("slices and parts give different answers")
    what, share = f"{num_files:,} files, by slices:", num_files / 1_000_000

    def time_of(label: str, name: str, limit: float) -> Figure:
        by_parts = f"{1000 * parts[name]:.0f} by parts"
        return _figure(f"{what} {label} ({by_parts})", 1000 * slices[name], limit, "ms")

    yield time_of("first lookup of a process", "first", 300)
    yield time_of("another value", "other", max(2, 10 * share))
    floor, ratio = 1000 * slices["floor"], slices["other"] / slices["floor"]
    yield Figure(
        what=f"{what} the AND of 8 rows of {num_files:,} bits by a loop in C",
        figure=f"{floor:.3f} ms; our lookup of another value takes {ratio:.1f}x",
    )
    yield time_of(f"IN of {_LIST}", "many", 150)
    yield _figure(
        f"{what} first lookup, nothing in the page cache", 1000 * cold["first"], 500, "ms"
    )
    yield _figure(f"{what} bytes read for a value", slices["read"] / 1e6, 1.2, "MB")
    yield _figure(f"{what} memory kept", slices["memory"] / 1e6, 100, "MB")
    sizes = "bytes of parts and slices, divided by bytes of parts"
    yield _figure(f"{what} {sizes}", made["size"], 2.05, "x")
    kept = ", ".join(map(str, slices["kept"]))
    yield Figure(what=f"{what} files kept for four values and an IN", figure=kept)
    yield Figure(what=f"{what} time to write them", figure=f"{made['seconds']:.1f} s")
    yield Figure(what=f"{what} memory to write them", figure=f"{made['peak'] / 1e6:.0f} MB")


def _figure(what: str, value: float, limit: float, unit: str) -> Figure:
    figure, target = f"{value:.2f} {unit}", f"at most {limit:g} {unit}"
    return Figure(what=what, figure=figure, target=target, met=value <= limit)


def make(table: Path, num_files: int) -> None:
    """Write the index."""
    import pyarrow as pa

    from parquet_bloomwriter.index.build.slices import plan_slices, write_slices
    from parquet_bloomwriter.index.entry import Entry, IndexedColumn, State
    from parquet_bloomwriter.index.format.manifest import FileTable, write_manifest
    from parquet_bloomwriter.index.log.log import IndexLog

    folder = table / "_bloom_index/ids"
    (folder / "_log").mkdir(parents=True)
    version = folder / "v__=0"
    version.mkdir()
    ids = np.arange(num_files)
    files = FileTable(
        ids=ids,
        paths=pa.array(map(_name, range(num_files)), pa.string()),
        sizes=10_000_000 + ids,
        modified_ms=1_700_000_000_000 + ids,
        num_rows=np.full(num_files, _VALUES_PER_FILE),
    )
    manifest = write_manifest(str(version / "manifest.bfindex"), files)
    starts = range(0, num_files, _FILES_PER_PART)
    parts = [_part(version, range(at, min(at + _FILES_PER_PART, num_files))) for at in starts]
    began = time.perf_counter()
    plan = plan_slices(str(folder), parts, files)
    if plan is None:
        raise RuntimeError("there are too few files")
    slices = write_slices(str(version), "id", plan, stop=num_files)
    seconds = time.perf_counter() - began
    entry = Entry(
        id=0,
        name="ids",
        state=State.ACTIVE,
        version=0,
        root=None,
        columns=(IndexedColumn(name="id", fpp=0.01, parts=tuple(parts), slices=slices),),
        manifest=manifest,
        next_file_id=num_files,
        num_files=num_files,
        source_bytes=int(files.sizes.sum()),
        options={"contract": "immutable"},
    )
    if not IndexLog(str(folder)).write(entry):
        raise RuntimeError("the log has an entry already")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    share = 1 + slices.file.size / sum(part.size for part in parts)
    print(json.dumps({"seconds": seconds, "peak": peak, "size": share}))


def _name(file_id: int) -> str:
    return f"day={file_id % 1000:04d}/part-{file_id:08d}-8f6ab7f4-0f0c.snappy.parquet"


def _part(version: Path, file_ids: range) -> IndexFile:
    from parquet_bloomwriter.index.files import FileId
    from parquet_bloomwriter.index.format.columns import column_type
    from parquet_bloomwriter.index.format.part_writer import PartRow, PartWriter
    from parquet_bloomwriter.metadata import Leaf, PhysicalType, Repetition
    from parquet_bloomwriter.sbbf import Sbbf

    rng = np.random.default_rng(file_ids.start)
    kinds = []
    for _ in range(16):
        kind = Sbbf.empty(_FILTER_BYTES // 32)
        kind.insert_hashes(rng.integers(0, 1 << 64, _VALUES_PER_FILE, dtype=np.uint64))
        kinds.append(kind.blocks)
    leaf = Leaf(
        ordinal=0,
        path=("id",),
        repetitions=(Repetition.OPTIONAL,),
        physical_type=PhysicalType.INT64,
        type_length=None,
        converted_type=None,
        scale=None,
        precision=None,
        logical_type=b"",
    )
    first = PartRow(
        file_id=0,
        file=FileId("", 0, 0),
        row_group=-1,
        column_type=column_type(leaf),
        num_values=_VALUES_PER_FILE,
        ndv=_VALUES_PER_FILE,
        data=b"",
    )
    with PartWriter(str(version), "id") as writer:
        for file_id in file_ids:
            turned = Sbbf(np.roll(kinds[file_id % 16], int(rng.integers(128)), axis=0))
            file = FileId(_name(file_id), 10_000_000 + file_id, 1_700_000_000_000 + file_id)
            writer.append(replace(first, file_id=file_id, file=file, data=turned.to_bytes()))
        info = writer.close()
    if info is None:
        raise RuntimeError("nothing was written")
    return info.file


def ask(table: str, how: How) -> None:
    """Look up in this process, and print figures: seconds, bytes, files kept."""
    import pyarrow.parquet  # noqa: F401

    from parquet_bloomwriter import index
    from parquet_bloomwriter.index.query import lookup, snapshot  # noqa: F401
    from parquet_bloomwriter.predicate import parse

    parse("id = 1")
    if how == "parts":
        snapshot.Snapshot._by_slices = lambda *_: None  # type: ignore[method-assign]  # noqa: SLF001

    def look(predicate: str) -> tuple[float, int, int]:
        read, began = _read(), time.perf_counter()
        found = index.lookup(table, predicate)
        return time.perf_counter() - began, _read() - read, found.num_kept

    before = _resident()
    first = look("id = 12345")
    values = _VALUES if how == "slices" else 3
    others = [look(f"id = {7919 * number + 1}") for number in range(values)]
    numbers = ", ".join(str(1_000_003 + number) for number in range(_LIST))
    many = look(f"id IN ({numbers})")
    print(
        json.dumps(
            {
                "first": first[0],
                "other": statistics.median(one[0] for one in others),
                "read": statistics.median(one[1] for one in others),
                "many": many[0],
                "kept": [one[2] for one in (first, *others[:3], many)],
                "memory": _resident() - before,
                "floor": _floor(table) if how == "slices" else 0,
            }
        )
    )


def _floor(table: str) -> float:
    """Return the seconds that the AND of 8 rows of a bit for each file takes in C, the median.

    A row of the page cache was read a moment ago: rows are drawn from the first that fit 256 MB.
    """
    import ctypes
    import mmap
    import tempfile
    from pathlib import Path

    from benchmarks.kernels import call, compiled

    (path,) = Path(table).rglob("slices-*")
    num_files = int(Path(table).name.rpartition("-")[2])
    num_words = num_files // 64
    with path.open("rb") as file, tempfile.TemporaryDirectory() as folder:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        data = np.frombuffer(mapped, np.uint8)
        library = compiled(Path(folder))
        library.and_rows.restype = ctypes.c_int64
        num_rows = min(len(data), _FLOOR_BYTES) // (8 * num_words)
        rng, found = np.random.default_rng(1), np.empty(64 * num_words, np.int64)
        seconds = []
        for _ in range(_VALUES):
            starts = 8 * num_words * rng.choice(num_rows, 8, replace=False)
            for start in starts.tolist():  # in memory and mapped, as after a read
                data[start : start + 8 * num_words : mmap.PAGESIZE].sum()
            ask_rows = call(library.and_rows, data, starts, num_words, found)
            began = time.perf_counter()
            ask_rows()
            seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def _command(verb: str, table: Path, *more: int) -> tuple[str, ...]:
    return (sys.executable, "-m", "benchmarks.slices", verb, str(table), *map(str, more))


def _resident() -> int:
    """Bytes in memory now."""
    with open("/proc/self/statm") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * resource.getpagesize()


def _read() -> int:
    """Bytes that this process has read so far, also from the page cache."""
    with open("/proc/self/io") as file:  # noqa: PTH123
        return int(file.readline().split()[1])


def _drop(folder: Path) -> None:
    """Take the files of an index out of the page cache."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main() -> None:
    """Print the figures."""
    for num_files in [int(one) for one in sys.argv[1:]] or _SIZES:
        for figure in figures(num_files):
            target = f" ({figure.target}: {'met' if figure.met else 'MISSED'})"
            print(f"{figure.what}: {figure.figure}{target if figure.target else ''}")


if __name__ == "__main__":
    from pathlib import Path

    match sys.argv[1:]:
        case ["make", table, num_files]:
            make(Path(table), int(num_files))
        case ["slices" | "parts" as how, table]:
            ask(table, how)
        case _:
            main()
