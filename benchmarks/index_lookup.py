"""Lookups in an index of very many files: `python -m benchmarks.index_lookup [FILES ...]`.

The index is made directly, without data files: for each entry a filter of 4 KiB that is as full as
1 % false positives ask for, in parts of 16,384 filters. Asked is in processes of their own, with
the machine code of the kernels on disk. "Cold" is the first lookup of a process, opening included,
with the index's files in the page cache, or dropped from it. "Warm" are later ones, each of another
value, and each opens the snapshot as rules do for every query.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import DATA, Figure, below, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from parquet_bloomwriter.index.entry import IndexFile

_SIZES = (100_000,)
_FILTER_BYTES = 4096
_VALUES_PER_FILE = 3000
_FILES_PER_PART = 16_384
_WARM = 30
_LIST = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class Synthetic:
    """An index of so many files."""

    num_files: int

    @property
    def folder(self) -> Path:
        """Where it is."""
        return DATA / f"index-{self.num_files}"

    def ensure(self) -> None:
        """Write it, unless it is there."""
        if self.folder.exists():
            return
        print(f"writing {self.folder.name}, once", file=sys.stderr)
        partial = self.folder.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        (partial / "_log").mkdir(parents=True)
        _write(partial, self.num_files)
        partial.rename(self.folder)


def _write(folder: Path, num_files: int) -> None:
    import pyarrow as pa

    from parquet_bloomwriter.index.entry import Entry, IndexedColumn, State
    from parquet_bloomwriter.index.format.manifest import FileTable, write_manifest
    from parquet_bloomwriter.index.log.log import IndexLog

    version = folder / "v__=0"
    version.mkdir()
    ids = np.arange(num_files)
    names = [_name(file_id) for file_id in range(num_files)]
    sizes, moments, rows = 10_000_000 + ids, 1_700_000_000_000 + ids, np.full(num_files, 3000)
    files = FileTable(
        ids=ids, paths=pa.array(names), sizes=sizes, modified_ms=moments, num_rows=rows
    )
    manifest = write_manifest(str(version / "manifest.bfindex"), files)
    starts = range(0, num_files, _FILES_PER_PART)
    parts = [_part(version, range(at, min(at + _FILES_PER_PART, num_files))) for at in starts]
    entry = Entry(
        id=0,
        name=folder.name,
        state=State.ACTIVE,
        version=0,
        root="/nowhere",
        columns=(IndexedColumn(name="id", fpp=0.01, parts=tuple(parts)),),
        manifest=manifest,
        next_file_id=num_files,
        num_files=num_files,
    )
    if not IndexLog(str(folder)).write(entry):
        raise RuntimeError("somebody else writes the same index")


def _name(file_id: int) -> str:
    return f"day={file_id % 1000:04d}/part-{file_id:08d}-8f6ab7f4-0f0c.snappy.parquet"


def _part(version: Path, file_ids: range) -> IndexFile:
    from parquet_bloomwriter.index.files import FileId
    from parquet_bloomwriter.index.format.columns import column_type
    from parquet_bloomwriter.index.format.part_writer import PartRow, PartWriter
    from parquet_bloomwriter.metadata import Leaf, PhysicalType, Repetition
    from parquet_bloomwriter.sbbf import Sbbf

    rng = np.random.default_rng(file_ids.start)
    filter_ = Sbbf.empty(_FILTER_BYTES // 32)
    filter_.insert_hashes(rng.integers(0, 1 << 64, _VALUES_PER_FILE, dtype=np.uint64))
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
    with PartWriter(str(version), "id") as writer:
        for file_id in file_ids:
            turned = Sbbf(np.roll(filter_.blocks, int(rng.integers(128)), axis=0))
            row = PartRow(
                file_id=file_id,
                file=FileId(_name(file_id), 10_000_000 + file_id, 1_700_000_000_000 + file_id),
                row_group=-1,
                column_type=column_type(leaf),
                num_values=_VALUES_PER_FILE,
                ndv=_VALUES_PER_FILE,
                data=turned.to_bytes(),
            )
            writer.append(row)
        info = writer.close()
    if info is None:
        raise RuntimeError("nothing was written")
    return info.file


def ask(folder: str) -> None:
    """Look up in this process, and print figures: seconds, bytes, files kept."""
    import pyarrow.parquet  # noqa: F401

    from parquet_bloomwriter.index.query.snapshot import Snapshot, open_snapshot
    from parquet_bloomwriter.predicate import parse

    def look(predicate: str) -> tuple[float, int]:
        began = time.perf_counter()
        snapshot = open_snapshot(folder)
        if not isinstance(snapshot, Snapshot):
            raise TypeError(snapshot.text)
        might = snapshot.might_match(parse(predicate))
        return time.perf_counter() - began, int(might.sum())

    before = _resident()
    cold, kept = look("id = 5")
    busy = time.process_time()
    warm = sorted(look(f"id = {1000 + i}")[0] for i in range(_WARM))
    busy = time.process_time() - busy
    numbers = ", ".join(str(7 * i) for i in range(_LIST))
    many = min(look(f"id IN ({numbers})")[0] for _ in range(3))
    held = open_snapshot(folder)
    figures = {
        "cold": cold,
        "warm": warm[len(warm) // 2],
        "busy": busy / _WARM,
        "many": many,
        "kept": kept,
        "held": getattr(held, "num_bytes_held", 0),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before,
    }
    print(json.dumps(figures))


def first(folder: str) -> None:
    """Look one value up, and nothing more: what a process takes from its start to its end."""
    from parquet_bloomwriter.index.query.snapshot import Snapshot, open_snapshot
    from parquet_bloomwriter.predicate import parse

    snapshot = open_snapshot(folder)
    if not isinstance(snapshot, Snapshot):
        raise TypeError(snapshot.text)
    began = time.perf_counter()
    print(int(snapshot.might_match(parse("id = 5")).sum()), time.perf_counter() - began)


def _resident() -> int:
    """Bytes in memory now."""
    with open("/proc/self/statm") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * resource.getpagesize()


def _drop(folder: Path) -> None:
    """Take the files of an index out of the page cache."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def figures(num_files: int) -> Iterator[Figure]:
    """Measure one index."""
    index = Synthetic(num_files=num_files)
    index.ensure()
    folder = str(index.folder)
    command = (sys.executable, "-m", "benchmarks.index_lookup", "ask", folder)
    alone = (sys.executable, "-m", "benchmarks.index_lookup", "first", folder)
    run(command)
    runs = [json.loads(run(command).output) for _ in range(3)]
    best = {name: min(one[name] for one in runs) for name in runs[0]}
    whole = min(run(alone).seconds for _ in range(3))
    _drop(index.folder)
    dropped = json.loads(run(command).output)["cold"]
    what = f"{num_files:,} files, filters of {_FILTER_BYTES:,} bytes:"
    share = max(1.0, num_files / 100_000)
    yield below(
        f"{what} first lookup of a process, without imports", best["cold"], limit=share, unit="s"
    )
    yield below(
        f"{what} a process with one lookup, from start to end", whole, limit=share, unit="s"
    )
    yield Figure(what=f"{what} first lookup, nothing in the page cache", figure=f"{dropped:.2f} s")
    yield below(f"{what} another value", 1000 * best["warm"], limit=50 * share, unit="ms")
    busy = f"{1000 * best['busy']:.0f} ms"
    yield Figure(what=f"{what} another value, CPU time of all threads", figure=busy)
    yield Figure(what=f"{what} IN of {_LIST} values", figure=f"{1000 * best['many']:.0f} ms")
    yield Figure(what=f"{what} memory kept", figure=f"{best['held'] / 1e6:.0f} MB")
    yield Figure(
        what=f"{what} highest memory, with the code of kernels",
        figure=f"{best['peak'] / 1e6:.0f} MB",
    )
    kept = best["kept"] / num_files
    yield below(f"{what} files kept for an absent value", 100 * kept, limit=2, unit="%")


def main() -> None:
    """Print the figures."""
    for num_files in [int(one) for one in sys.argv[1:]] or _SIZES:
        for figure in figures(num_files):
            target = f" ({figure.target}: {'met' if figure.met else 'MISSED'})"
            print(f"{figure.what}: {figure.figure}{target if figure.target else ''}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["ask"]:
        ask(sys.argv[2])
    elif sys.argv[1:2] == ["first"]:
        first(sys.argv[2])
    else:
        main()
