"""Tables for Spark, made once and reproducible: 1.7 GB below `benchmarks/data/spark`.

    many            2,000 files x 5,000 rows; ids random and even, so that odd ones are in no file
                    although they lie between every file's minimum and maximum
    many_filtered   the same with Bloom filters on `id`, added by `bloomify`
    many_linked     the files of `many` by other names, for a second index
    facts           20 M rows in 16 files; one `key` in a hundred is in `keys_few`, others in none
    keys_few        500 K keys in 4 files
    keys_many       8 M keys in 16 files, the 500 K among them
    stars           4 M rows in 4 files; `key` as in `facts`, every `few` is in `keys_few`, every
                    `many` in `keys_many`, and each file has each of the five values of `kind`
    small           20 K rows in 2 files, as in `stars`
    ids             64 files x 500 K random ids, with Bloom filters on `id`
    links           10,000 names of 100 files of 100 rows

Ids and keys are not dictionary-encoded: Spark reads a dictionary before it looks at a filter, and
prunes by it, so that it would be dictionaries that are measured.

The environment variable `BENCHMARK_SCALE`, 1 by default, multiplies the number of rows, or of files
where there are many; tables of another scale lie in a folder of their own.
"""

from __future__ import annotations

import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import DATA
from parquet_bloomwriter import bloomify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    Tables = Callable[[int], pa.Table]
    """The rows of the file of this number."""

SCALE: Final = float(os.environ.get("BENCHMARK_SCALE", "1"))
FOLDER: Final = DATA / ("spark" if SCALE == 1 else f"spark-{SCALE:g}")

MANY, MANY_FILTERED = FOLDER / "many", FOLDER / "many_filtered"
MANY_LINKED = FOLDER / "many_linked"
FACTS, STARS, SMALL = FOLDER / "facts", FOLDER / "stars", FOLDER / "small"
KEYS_FEW, KEYS_MANY = FOLDER / "keys_few", FOLDER / "keys_many"
IDS, LINKS = FOLDER / "ids", FOLDER / "links"

NUM_MANY: Final = round(2000 * SCALE)
NUM_LINKS: Final = round(10_000 * SCALE)
NUM_FACTS: Final = round(20_000_000 * SCALE)
NUM_FEW: Final = round(500_000 * SCALE)
NUM_KEYS: Final = round(8_000_000 * SCALE)

_FPP = 0.01
LOW_FPP: Final = 0.001
"""Of the index of `MANY_LINKED`."""

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_KEY_BITS = 62
_ABSENT_FROM = 1 << 40
"""Keys of numbers from here on are in no table of keys."""

_ONE_IN = 100
_TEXTS = pa.array([f"some text, number {i:04d}" for i in range(1000)])


def keys(numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the key of each number, unique, in no order."""
    return ((numbers * _MULTIPLIER) & np.uint64((1 << _KEY_BITS) - 1)).astype(np.int64)


def ensure() -> None:
    """Make the tables, unless they are there."""
    few, many, stars = round(NUM_FEW / 4), round(NUM_KEYS / 16), round(1_000_000 * SCALE)
    _made(MANY, NUM_MANY, lambda i: _ids(i, 5000))
    _made(MANY_FILTERED, NUM_MANY, lambda i: _ids(i, 5000), filtered=True)
    _made(FACTS, 16, lambda i: _facts(i, round(NUM_FACTS / 16)))
    _made(KEYS_FEW, 4, lambda i: _keys(i * few, few))
    _made(KEYS_MANY, 16, lambda i: _keys(i * many, many))
    _made(STARS, 4, lambda i: _stars(i, stars))
    _made(SMALL, 2, lambda i: _stars(10 + i, 10_000))
    _made(IDS, 64, lambda i: _ids(10_000 + i, round(500_000 * SCALE)), filtered=True)
    _link()


def _made(folder: Path, num_files: int, rows: Tables, *, filtered: bool = False) -> None:
    """Write a table, in full or not at all."""
    if folder.exists():
        return
    print(f"writing {folder.relative_to(DATA)}, once", file=sys.stderr)
    unfinished = folder.with_suffix(".partial")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)

    def write(number: int) -> None:
        path = unfinished / f"part-{number:05d}.parquet"
        pq.write_table(rows(number), path, use_dictionary=["text", "kind", "quantity"])
        if filtered:
            bloomify(path, ["id"], fpp=_FPP, jobs=1)

    with ThreadPoolExecutor() as pool:
        for _ in pool.map(write, range(num_files)):
            pass
    unfinished.rename(folder)


def _ids(number: int, count: int) -> pa.Table:
    rng = np.random.default_rng(number)
    return pa.table(
        {
            "id": 2 * rng.integers(0, 1 << _KEY_BITS, count),
            "value": rng.random(count),
            "quantity": rng.integers(0, 100, count, dtype=np.int32),
            "text": _texts(rng, count),
        }
    )


def _facts(number: int, count: int) -> pa.Table:
    rng = np.random.default_rng(number)
    columns = {"key": _mostly_absent(rng, count), "value": rng.random(count)}
    return pa.table(columns | {"text": _texts(rng, count)})


def _keys(first: int, count: int) -> pa.Table:
    numbers = np.arange(first, first + count, dtype=np.uint64)
    return pa.table({"key": keys(numbers), "weight": (numbers % np.uint64(1000)).astype(np.int32)})


def _stars(number: int, count: int) -> pa.Table:
    rng = np.random.default_rng(number)
    return pa.table(
        {
            "key": _mostly_absent(rng, count),
            "few": keys(rng.integers(0, NUM_FEW, count, dtype=np.uint64)),
            "many": keys(rng.integers(0, NUM_KEYS, count, dtype=np.uint64)),
            "kind": rng.integers(0, 5, count, dtype=np.int32),
            "value": rng.random(count),
            "text": _texts(rng, count),
        }
    )


def _mostly_absent(rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    present = rng.integers(0, NUM_FEW, count, dtype=np.uint64)
    absent = rng.integers(_ABSENT_FROM, 2 * _ABSENT_FROM, count, dtype=np.uint64)
    return keys(np.where(rng.integers(0, _ONE_IN, count) == 0, present, absent))


def _texts(rng: np.random.Generator, count: int) -> pa.Array:
    places = pa.array(rng.integers(0, len(_TEXTS), count, dtype=np.int32))
    return pa.DictionaryArray.from_arrays(places, _TEXTS).cast(pa.string())


def _link() -> None:
    originals, num_originals = FOLDER / "linked", 100
    _made(originals, num_originals, lambda i: _ids(20_000 + i, 100))
    _linked(LINKS, originals, num_links=NUM_LINKS, num_originals=num_originals)
    _linked(MANY_LINKED, MANY, num_links=NUM_MANY, num_originals=NUM_MANY)


def _linked(folder: Path, originals: Path, *, num_links: int, num_originals: int) -> None:
    """Make a table of links to the files of another, in full or not at all."""
    if folder.exists():
        return
    unfinished = folder.with_suffix(".partial")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    for number in range(num_links):
        original = originals / f"part-{number % num_originals:05d}.parquet"
        (unfinished / f"part-{number:05d}.parquet").hardlink_to(original)
    unfinished.rename(folder)


if __name__ == "__main__":
    ensure()
