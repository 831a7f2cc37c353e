"""Several commands work on one file at the same time.

Each either finishes, or gives way because another was first. Those that finish must have done it
one after the other: what the file holds is what they make of it in some order, and nobody's work is
lost.
"""

from __future__ import annotations

import functools
import io
import itertools
import random
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from campaigns.races.commands import PATIENCE_SECONDS, ROOT, Ended, Job
from campaigns.races.files import check_filters, check_names, sample
from parquet_bloomwriter import bloomify, inspect, strip

if TYPE_CHECKING:
    from pathlib import Path

    from campaigns.races.commands import Warm
    from campaigns.races.files import Tries

REFUSED = 5
MANY = 8

Arguments = tuple[str, ...]

WORK: tuple[Arguments, ...] = (
    ("--columns", "id"),
    ("--columns", "name", "--placement", "end"),
    ("--columns", "id,name", "--placement", "row-group"),
    ("--columns", "id,name", "--replace", "--fpp", "0.2"),
    ("strip",),
    ("strip", "--columns", "id"),
)
"""Arguments of the command, but for the file."""


def pairs(warm: Warm, number: int) -> Tries:
    """Two commands on one file, with filters or without."""
    return {f"writers/two/{seed}": functools.partial(_pair, warm, seed) for seed in range(number)}


def crowds(warm: Warm, number: int) -> Tries:
    """Eight commands on one file, each for a column of its own."""
    return {
        f"writers/eight/{seed}": functools.partial(_crowd, warm, seed) for seed in range(number)
    }


def cold_pairs(number: int) -> Tries:
    """Two commands on one file, in processes begun for them."""
    return {f"writers/cold/{seed}": functools.partial(_pair, None, seed) for seed in range(number)}


def _pair(warm: Warm | None, seed: int, folder: Path) -> str:
    random_ = random.Random(seed)  # noqa: S311  tries, not secrets
    before = random_.choice((sample().plain, sample().bloomed))
    work = [random_.choice(WORK) for _ in range(2)]
    path = folder / "a.parquet"
    path.write_bytes(before)
    ended = _cold(path, work) if warm is None else _warm(warm, path, work)
    done = [one for one, end in zip(work, ended, strict=True) if _has_finished(end)]
    found = path.read_bytes()
    orders = {_made(before, order) for order in itertools.permutations(done)}
    assert found in orders, f"{done} in some order do not make what is there, of {work}"
    check_filters(found, f"after {work}")
    check_names(folder, "a.parquet")
    return "both finished" if len(done) > 1 else "one gave way"


def _crowd(warm: Warm, seed: int, folder: Path) -> str:
    plain = _wide(seed)
    path = folder / "a.parquet"
    path.write_bytes(plain)
    names = [f"c{place}" for place in range(MANY)]
    ended = _warm(warm, path, [("--columns", name) for name in names])
    done = {name for name, end in zip(names, ended, strict=True) if _has_finished(end)}
    found = path.read_bytes()
    having = {one.name for one in inspect(found).columns if one.filters}
    assert having == done, f"{done} were added, and {having} are there"
    check_filters(found, f"after {done}")
    assert strip(found).data == plain, "the data are others"
    check_names(folder, "a.parquet")
    return f"{len(done)} of {MANY} finished"


def _has_finished(ended: Ended) -> bool:
    if ended.code == 0:
        return True
    ended.expect(REFUSED, "Run the command again")
    return False


def _arguments(path: Path, work: Arguments) -> list[str]:
    verb, rest = (work[:1], work[1:]) if work[0] == "strip" else ((), work)
    return [*verb, str(path), *rest, "--jobs", "1"]


def _warm(warm: Warm, path: Path, work: list[Arguments]) -> list[Ended]:
    return warm.run_all([Job(arguments=_arguments(path, one)) for one in work])


def _cold(path: Path, work: list[Arguments]) -> list[Ended]:
    begun = [
        subprocess.Popen(
            [sys.executable, "-m", "bloomify", *_arguments(path, one)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for one in work
    ]
    texts = [one.communicate(timeout=PATIENCE_SECONDS) for one in begun]
    return [
        Ended(code=one.returncode, out=out, err=err)
        for one, (out, err) in zip(begun, texts, strict=True)
    ]


@functools.cache
def _made(data: bytes, order: tuple[Arguments, ...]) -> bytes:
    """What the library makes of a file by doing one thing after the other."""
    for work in order:
        options = dict(zip(work[0::2], work[1::2], strict=False)) if work[0] != "strip" else {}
        if work[0] == "strip":
            made = strip(data, work[2].split(",") if len(work) > 1 else None).data
        else:
            made = bloomify(
                data,
                options["--columns"].split(","),
                placement=options.get("--placement", "column-chunk"),  # type: ignore[arg-type]
                replace="--replace" in work,
                fpp=float(work[-1]) if "--fpp" in work else 0.01,
            ).data
        data = data if made is None else made
    return data


@functools.cache
def _wide(seed: int) -> bytes:
    """A file of eight columns."""
    random_ = random.Random(seed)  # noqa: S311  values, not secrets
    values = {f"c{place}": random_.sample(range(10_000), 500) for place in range(MANY)}
    out = io.BytesIO()
    pq.write_table(pa.table(values), out, row_group_size=250)
    return out.getvalue()
