"""Our kernels against plain loops in C (`kernels.c`) that are compiled for this machine alone.

    python -m benchmarks.kernels

Prints a Markdown table: nanoseconds per value, the minimum of many short runs in which both
take turns, and the ratio to the faster C. Both results are compared before anything is
timed. Needs gcc.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from parquet_bloomwriter import kernels
from parquet_bloomwriter.hashing import hash_array
from parquet_bloomwriter.sbbf import Sbbf

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

SOURCE = Path(__file__).with_suffix(".c")
GCC = ("gcc", "-O3", "-march=native", "-shared", "-fPIC")
COUNT = 1 << 20
BATCH = 1 << 17
"""Values that are hashed and inserted at once when a filter is built: see `values.stream`."""

ROUNDS = 25
CHECKED = ", ours with a lookup of all values"
STRING_BYTES = 17
FILTER_KIB = (512, 16 * 1024, 128 * 1024)
BUILT_KIB = (2 * 1024, 64 * 1024)
"""A filter of 1 % for a million values, and one for a whole table."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Contest:
    """One loop, ours and in C; each callable handles `COUNT` values."""

    name: str
    """What the table calls it."""
    ours: Callable[[], object]
    """Our kernel."""
    others: tuple[Callable[[], object], ...]
    """The C versions."""
    results: Callable[[], tuple[NDArray[np.generic], ...]]
    """What all of them produced, in the same order; to be equal."""


def compiled(folder: Path) -> ctypes.CDLL:
    """Compile the C source."""
    library = folder / "kernels.so"
    subprocess.run([*GCC, "-o", str(library), str(SOURCE)], check=True)
    return ctypes.CDLL(str(library))


def call(function: object, *args: NDArray[np.generic] | int) -> Callable[[], object]:
    """Bind a C function to arrays (as addresses) and counts."""
    values = [address(a) if isinstance(a, np.ndarray) else a for a in args]
    words = [ctypes.c_int64(value) for value in values]
    return lambda: function(*words)  # type: ignore[operator]


def address(array: NDArray[np.generic]) -> int:
    """Address of the first element."""
    return int(array.ctypes.data)


def hash_contests(c: ctypes.CDLL) -> list[Contest]:
    """Hash int64, and strings of a fixed number of bytes."""
    rng = np.random.default_rng(1)
    numbers = rng.integers(-(2**62), 2**62, COUNT)
    text = np.frombuffer(rng.bytes(STRING_BYTES * COUNT), dtype=np.uint8)
    offsets = np.arange(COUNT + 1, dtype=np.int32) * STRING_BYTES
    a, b, d, e = (np.empty(COUNT, dtype=np.uint64) for _ in range(4))
    return [
        Contest(
            name="hash int64",
            ours=lambda: kernels.xxh64_fixed(numbers, 8, 0, COUNT, None, a),
            others=(call(c.hash_int64, numbers, COUNT, b),),
            results=lambda: (a, b),
        ),
        Contest(
            name=f"hash strings of {STRING_BYTES} bytes",
            ours=lambda: kernels.xxh64_variable(text, offsets, 4, 0, COUNT, None, d),
            others=(call(c.hash_strings, text, offsets, COUNT, e),),
            results=lambda: (d, e),
        ),
    ]


def filter_contests(c: ctypes.CDLL, kib: int) -> list[Contest]:
    """Insert into, and check against, a filter of the given size."""
    num_blocks = kib * 1024 // 32
    inserted = hash_array(pa.array(np.arange(COUNT)))
    asked = hash_array(pa.array(np.arange(COUNT // 2, COUNT // 2 * 3)))
    ours, words, vector = (Sbbf.empty(num_blocks) for _ in range(3))
    flags = [np.empty(COUNT, dtype=np.bool_) for _ in range(3)]

    def check() -> None:
        flags[0] = ours.check_hashes(asked)

    size = f"{kib} KiB" if kib < 1024 else f"{kib // 1024} MiB"
    return [
        Contest(
            name=f"insert, {size}",
            ours=lambda: ours.insert_hashes(inserted),
            others=(
                call(c.insert_words, words.blocks, num_blocks, inserted, COUNT),
                call(c.insert_vector, vector.blocks, num_blocks, inserted, COUNT),
            ),
            results=lambda: (ours.blocks, words.blocks, vector.blocks),
        ),
        Contest(
            name=f"check, {size}",
            ours=check,
            others=(
                call(c.check_words, words.blocks, num_blocks, asked, COUNT, flags[1]),
                call(c.check_vector, vector.blocks, num_blocks, asked, COUNT, flags[2]),
            ),
            results=lambda: tuple(flags),
        ),
    ]


def build_contests(c: ctypes.CDLL, kib: int) -> list[Contest]:
    """Build a filter of values in memory; ours also looks every value up again, as always."""
    num_blocks = kib * 1024 // 32
    rng = np.random.default_rng(1)
    numbers = rng.integers(-(2**62), 2**62, COUNT)
    text = np.frombuffer(rng.bytes(STRING_BYTES * COUNT), dtype=np.uint8)
    offsets = np.arange(COUNT + 1, dtype=np.int32) * STRING_BYTES
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    strings = pa.Array.from_buffers(pa.binary(), COUNT, buffers)

    def ours(values: pa.Array, filter_: Sbbf, *, checks: bool) -> None:
        for start in range(0, COUNT, BATCH):
            hashes = hash_array(values[start : start + BATCH])
            filter_.insert_hashes(hashes)
            if checks and not filter_.contains_all(hashes):
                raise AssertionError("a value is missing")

    def contest(name: str, values: pa.Array, plain: object, *args: NDArray[np.generic]) -> Contest:
        mine, theirs = Sbbf.empty(num_blocks), Sbbf.empty(num_blocks)
        checked = name.endswith(CHECKED)
        return Contest(
            name=name,
            ours=lambda: ours(values, mine, checks=checked),
            others=(call(plain, theirs.blocks, num_blocks, *args, COUNT),),
            results=lambda: (mine.blocks, theirs.blocks),
        )

    size = f"{kib} KiB" if kib < 1024 else f"{kib // 1024} MiB"
    return [
        contest(f"build of int64, {size}{more}", pa.array(numbers), c.build_int64, numbers)
        for more in ("", CHECKED)
    ] + [
        contest(f"build of strings, {size}{more}", strings, c.build_strings, text, offsets)
        for more in ("", CHECKED)
    ]


def nanoseconds(contest: Contest) -> tuple[float, ...]:
    """Minimum time per value of ours and each of the others, after comparing them."""
    runners = (contest.ours, *contest.others)
    for run in runners:
        run()
    first, *rest = contest.results()
    if not all(np.array_equal(first, other) for other in rest):
        message = f"{contest.name}: the results differ"
        raise SystemExit(message)
    best = [float("inf")] * len(runners)
    for _ in range(ROUNDS):
        for i, run in enumerate(runners):
            start = time.perf_counter()
            run()
            best[i] = min(best[i], time.perf_counter() - start)
    return tuple(seconds / COUNT * 1e9 for seconds in best)


def row(contest: Contest) -> str:
    """Time one contest and format its line of the table."""
    ours, *others = nanoseconds(contest)
    plain = f"{others[0]:.2f}"
    vector = f"{others[1]:.2f}" if len(others) > 1 else ""
    return f"| {contest.name} | {ours:.2f} | {plain} | {vector} | {ours / min(others):.2f} |"


def main() -> None:
    """Compile, compare, time and print."""
    print("| 1 Mi values, ns per value | ours | C | C, vectors | ours / best C |")
    print("|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        c = compiled(Path(folder))
        for contest in hash_contests(c):
            print(row(contest), flush=True)
        for kib in FILTER_KIB:
            for contest in filter_contests(c, kib):
                print(row(contest), flush=True)
        for kib in BUILT_KIB:
            for contest in build_contests(c, kib):
                print(row(contest), flush=True)


if __name__ == "__main__":
    main()
