"""The Parquet files of the tries, what must be in them, and what may lie in a folder afterwards."""

from __future__ import annotations

import functools
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from parquet_bloomwriter import bloomify, verify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Tries: TypeAlias = "dict[str, Callable[[Path], str]]"
"""By name: what is done in an empty folder of its own; returns in a few words what happened, and
raises AssertionError if that must not be. Names are paths: the kind of fault, what it is done to,
and the number of the step or the seed."""

ROWS = 4_000
ROW_GROUPS = 4
COLUMNS = ("id", "name")
PLACEMENTS = ("column-chunk", "row-group", "end")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A small file, and the same with filters."""

    plain: bytes
    bloomed: bytes
    """With filters of all of COLUMNS, where the command puts them by default."""


@functools.cache
def sample(seed: int = 0, rows: int = ROWS) -> Sample:
    """Make a file of random rows, the same for the same seed."""
    plain = _plain(seed, rows)
    return Sample(plain=plain, bloomed=with_filters(plain))


def with_filters(plain: bytes, columns: tuple[str, ...] = COLUMNS, place: str = "") -> bytes:
    """What `bloomify` makes of a file; the same if it has them all."""
    chosen = place or PLACEMENTS[0]
    data = bloomify(plain, list(columns), placement=chosen).data  # type: ignore[arg-type]
    return plain if data is None else data


def table(seed: int = 0, rows: int = ROWS) -> pa.Table:
    """The rows; ids are even numbers, so that odd ones are absent."""
    random = np.random.default_rng(seed)
    names = random.integers(0, 1 << 32, rows)
    return pa.table(
        {
            "id": random.permutation(rows) * 2,
            "name": [f"n{number:08x}" for number in names],
            "value": random.random(rows),
        }
    )


def check_filters(data: bytes, problem: str) -> None:
    """Look up every value in its filter."""
    report = verify(data)
    assert report.passed, f"{problem}: {report}"


def names_in(folder: Path) -> list[str]:
    """Everything below a folder, hidden names too."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def check_names(folder: Path, *expected: str) -> None:
    """Check that nothing was left behind, and nothing is gone."""
    found = names_in(folder)
    assert found == sorted(expected), f"in the folder lie {found}, not {sorted(expected)}"


def _plain(seed: int, rows: int) -> bytes:
    out = io.BytesIO()
    pq.write_table(
        table(seed, rows), out, row_group_size=-(-rows // ROW_GROUPS), write_page_index=True
    )
    return out.getvalue()
